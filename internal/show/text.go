package show

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/unravel-ml/unravel/results/tables"
)

// differenceLabel returns the label of the third line.
func differenceLabel(t *tables.Table) string {
	if t.Timed() {
		return theirs(t) + " / ours"
	}
	return "difference"
}

// Text writes the table as text, in lines of at most width letters where possible. Groups of columns that do not fit
// follow below. A row has three lines: our values, the printed values and the differences. Without printed values a
// row has one line.
func Text(w io.Writer, r *tables.Result, width int) error {
	l := layoutOf(r)
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s)\n%s\n", r.Title, r.Provenance(), r.Summary())
	if standing := r.StandsOn(); standing != "" {
		wrap(&b, "", standing, width)
	}
	l.grid().print(&b, width)
	if len(l.Footnotes) > 0 {
		b.WriteString("\n")
	}
	for _, f := range l.Footnotes {
		wrap(&b, f.Mark, f.Text, width)
	}
	for _, g := range l.Grids {
		fmt.Fprintf(&b, "\n%s\n", g.Title)
		g.print(&b, width)
	}
	return send(w, r, b.String())
}

// theirs returns the label of the printed values.
func theirs(t *tables.Table) string {
	return cmp.Or(t.Printed.Label, "paper")
}

// grid returns the cells: for each row a line with our values, and if it has printed values a line with these and a line
// with the differences.
func (l *layout) grid() *grid {
	g := &grid{}
	for _, h := range l.Heads {
		g.Heads = append(g.Heads, head{h.Group, h.Label})
	}
	for _, row := range l.Lines {
		ours, printed, differences := []string{row.Label}, []string{"  " + theirs(l.Table)}, []string{"  " + differenceLabel(l.Table)}
		for _, s := range row.Cells {
			ours, printed, differences = append(ours, s.Ours+s.Mark), append(printed, s.Theirs), append(differences, s.Third)
		}
		if g.Lines, g.signs = append(g.Lines, ours), append(g.signs, false); row.Compared {
			g.Lines, g.signs = append(g.Lines, printed, differences), append(g.signs, false, true)
		}
	}
	return g
}

func letterCount(s string) int { return utf8.RuneCountInString(s) }

func padded(s string, width int) string {
	return s + strings.Repeat(" ", max(width-letterCount(s), 0))
}

// wrap writes a footnote in lines of a width.
func wrap(b *strings.Builder, mark, text string, width int) {
	at := letterCount(mark)
	b.WriteString(mark)
	for _, word := range strings.Fields(text) {
		if n := letterCount(word); at+1+n > width && at > 2 {
			b.WriteString("\n ")
			at = 1
		}
		space := min(at, 1) // none before the first word without a mark
		b.WriteString(strings.Repeat(" ", space) + word)
		at += space + letterCount(word)
	}
	b.WriteString("\n")
}

// CSV writes a line for each cell, with all digits.
func CSV(w io.Writer, r *tables.Result) error {
	comparison := "difference"
	if r.Table.Timed() {
		comparison = "ratio"
	}
	records := [][]string{{"table", "row", "column", "ours", "std", "n", "theirs", comparison, "status", "reason"}}
	digits := func(v *float64) string {
		if v == nil {
			return ""
		}
		return strconv.FormatFloat(*v, 'g', -1, 64)
	}
	for _, row := range r.Rows {
		for _, c := range row.Cells {
			record := []string{r.Name, row.Label, c.Column, digits(c.Ours), "", strconv.Itoa(c.Draws), "",
				digits(cmp.Or(c.Ratio, c.Difference)), string(c.Status), strings.Join(slices.DeleteFunc(slices.Concat([]string{c.Reason}, c.Notes), func(s string) bool { return s == "" }), "; ")}
			if c.Ours != nil {
				record[4] = digits(&c.Deviation)
			}
			if c.Theirs != nil {
				record[6] = c.Printed
			}
			records = append(records, record)
		}
	}
	return writeRecords(w, r, records)
}
