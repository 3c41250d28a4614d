// Package show writes the results of tables as text, Markdown, CSV, LaTeX and HTML, with figures.
package show

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/unravel-ml/unravel/results/tables"
)

// layout is a result as text, in a common form for all writers: cells with marks, and footnotes.
type layout struct {
	*tables.Result
	Heads     []tables.Column // the columns to show
	Groups    []group
	Parts     []group // a page has one table, or one for each group of data sets
	Compared  bool    // some cell has a published value
	Lines     []Line
	Footnotes []Footnote
	Columns   []columnDoc
	Remarks   []string
	Grids     []grid // tables of the agreement between columns
}

// group is a heading above adjacent columns.
type group struct {
	Name         string
	First, After int // range of columns
}

type columnDoc struct{ Label, Doc string }

// Marks other than letters.
const (
	nearMark    = "~"
	differsMark = "!"
	unfitMark   = "×"
	none        = "-"
	plusMinus   = "±" // between mean and standard deviation
)

var commonMarks = []struct {
	status tables.Status
	Footnote
}{
	{tables.Near, Footnote{nearMark, "agrees within two standard errors of the difference"}},
	{tables.Differs, Footnote{differsMark, "differs, and the cause is not known"}},
	{tables.Unfit, Footnote{unfitMark, "would agree, but its runs have not learned the images"}},
	{tables.Stale, Footnote{"?", "agrees, although the table has a note that it does not"}},
}

func layoutOf(r *tables.Result) *layout {
	t := r.Table
	l := &layout{Result: r, Remarks: t.Remarks, Heads: t.Columns, Compared: r.Printed > 0}
	if len(t.DataSets) > 0 { // each column becomes a group with a column per data set
		l.Heads = nil
		for _, c := range t.Columns {
			for _, d := range t.DataSets {
				head := c
				head.Group, head.Label = c.Label, d.Label
				l.Heads = append(l.Heads, head)
			}
		}
	}
	if r.Remark != "" {
		l.Remarks = append([]string{r.Remark}, t.Remarks...)
	}
	if standing := r.StandsOn(); standing != "" {
		l.Remarks = append([]string{standing}, l.Remarks...)
	}
	for i, c := range l.Heads {
		if n := len(l.Groups); n > 0 && l.Groups[n-1].Name == c.Group {
			l.Groups[n-1].After = i + 1
		} else {
			l.Groups = append(l.Groups, group{c.Group, i, i + 1})
		}
	}
	for _, c := range t.Columns {
		if c.Doc != "" {
			l.Columns = append(l.Columns, columnDoc{c.Label, c.Doc})
		}
	}
	if r.Agreement != nil {
		l.Grids = grids(r)
	}
	if l.Parts = l.Groups; len(t.DataSets) == 0 {
		l.Parts = []group{{"", 0, len(l.Heads)}}
	}
	for _, m := range commonMarks {
		if r.Count(m.status) > 0 {
			l.Footnotes = append(l.Footnotes, m.Footnote)
		}
	}
	common := len(l.Footnotes)
	for _, row := range r.Rows {
		shownRow := Line{Label: row.Label}
		for i, c := range row.Cells {
			decimals := *cmp.Or(l.Heads[i].Decimals, &r.Table.Decimals)
			shownRow.Cells = append(shownRow.Cells, l.show(c, common, decimals))
			shownRow.Compared = shownRow.Compared || c.Theirs != nil
		}
		l.Lines = append(l.Lines, shownRow)
	}
	return l
}

func (l *layout) groupsIn(first, after int) (list []group) {
	for _, g := range l.Groups {
		if g.First, g.After = max(g.First, first), min(g.After, after); g.First < g.After {
			list = append(list, g)
		}
	}
	return list
}

// show formats a cell. For a new reason, it adds a footnote.
func (l *layout) show(c tables.Cell, common, decimals int) Cell {
	s := Cell{Ours: none, Theirs: none, Third: none, Status: c.Status}
	if c.Ours != nil {
		s.Ours = fixed(*c.Ours, decimals)
	}
	if c.Theirs != nil {
		s.Theirs = c.Printed
	}
	if l.Table.Trains() || l.Table.Quotes() {
		if c.Ours != nil && c.Draws > 1 {
			s.Ours += plusMinus + fixed(c.Deviation, decimals)
		}
		if c.PrintedStd != "" {
			s.Theirs += plusMinus + c.PrintedStd
		}
	}
	if c.Ratio != nil {
		s.Third = strconv.FormatFloat(*c.Ratio, 'g', 2, 64)
		if *c.Ratio >= 10 {
			s.Third = fixed(*c.Ratio, 0)
		}
	}
	if c.Difference != nil {
		if s.Third = fixed(*c.Difference, decimals); *c.Difference > 0 && strings.Trim(s.Third, "0.") != "" {
			s.Third = "+" + s.Third
		}
	}
	for _, m := range commonMarks {
		if m.status == c.Status {
			s.Mark = m.Mark
		}
	}
	if s.Mark == "" && c.Reason != "" {
		s.Mark = l.footnote(c.Reason, common)
	}
	for _, note := range c.Notes {
		if s.Mark != "" {
			s.Mark += ","
		}
		s.Mark += l.footnote(note, common)
	}
	return s
}

// footnote returns the mark of a footnote with this text. It adds a footnote for a new text.
func (l *layout) footnote(text string, common int) string {
	notes := l.Footnotes[common:]
	index := slices.IndexFunc(notes, func(f Footnote) bool { return f.Text == text })
	if index < 0 {
		index = len(notes)
		l.Footnotes = append(l.Footnotes, Footnote{letters(index), text})
	}
	return letters(index)
}

// fixed formats a number with the given number of decimals, and never as -0.
func fixed(v float64, decimals int) string {
	text := strconv.FormatFloat(v, 'f', decimals, 64)
	if strings.Trim(text, "-0.") == "" {
		return strconv.FormatFloat(0, 'f', decimals, 64)
	}
	return text
}

// letters returns element n of a, b, ..., z, aa, ab, ...
func letters(n int) string {
	text := ""
	for n++; n > 0; n = (n - 1) / 26 {
		text = string(rune('a'+(n-1)%26)) + text
	}
	return text
}

// View is the text of a computed table, for pages.
type View struct {
	Groups    []Span // headings above neighbouring columns
	Heads     []Head
	Lines     []Line
	Footnotes []Footnote
	Third     string // meaning of a cell's third text
	Remarks   []string
}

// Span is a heading and the number of columns below it.
type Span struct {
	Name    string `json:"name"`
	Columns int    `json:"columns"`
}

// Head is the label of a column, and a definition of its values if necessary.
type Head struct {
	Label string `json:"label"`
	Doc   string `json:"doc,omitempty"`
}

// Line is a row of the table.
type Line struct {
	Label    string `json:"label"`
	Cells    []Cell `json:"cells"`
	Compared bool   `json:"-"` // some cell of the row has a published value
}

// Cell is the text of a cell: our value, the published value, and their comparison.
type Cell struct {
	Ours   string        `json:"ours"`
	Theirs string        `json:"theirs,omitempty"`
	Third  string        `json:"third,omitempty"`
	Mark   string        `json:"mark,omitempty"` // mark of a footnote
	Status tables.Status `json:"status"`
}

// Footnote is a footnote with its mark.
type Footnote struct {
	Mark string `json:"mark"`
	Text string `json:"text"`
}

// Lines returns the text of a table.
func Lines(r *tables.Result) View {
	l := layoutOf(r)
	v := View{Third: differenceLabel(r.Table), Lines: l.Lines, Footnotes: l.Footnotes, Remarks: l.Remarks}
	for _, g := range l.Groups {
		v.Groups = append(v.Groups, Span{g.Name, g.After - g.First})
	}
	for _, c := range l.Heads {
		v.Heads = append(v.Heads, Head{c.Label, c.Doc})
	}
	return v
}
