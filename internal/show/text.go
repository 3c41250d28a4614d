package show

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/unravel-ml/unravel/internal/plain"
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
	for from := 0; from < len(l.Heads); {
		after := l.fitting(from, width)
		l.block(&b, from, after)
		from = after
	}
	if len(l.Footnotes) > 0 {
		b.WriteString("\n")
	}
	for _, f := range l.Footnotes {
		wrap(&b, f.Mark, f.Text, width)
	}
	for _, g := range l.Grids {
		g.print(&b, width)
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("table %s: %w", r.Name, err)
	}
	return nil
}

// theirs returns the label of the printed values.
func theirs(t *tables.Table) string {
	return cmp.Or(t.Printed.Label, "paper")
}

// labelWidth returns the width of the column of labels.
func (l *layout) labelWidth() int {
	most := 0
	if l.Compared {
		most = max(letterCount(differenceLabel(l.Table)), letterCount(theirs(l.Table))) + 2
	}
	for _, row := range l.Lines {
		most = max(most, letterCount(row.Label))
	}
	return most
}

// columnWidth returns the width of a column with its marks.
func (l *layout) columnWidth(c int) int {
	most := letterCount(l.Heads[c].Label)
	for _, row := range l.Lines {
		s := row.Cells[c]
		most = max(most, letterCount(s.Ours+s.Mark), letterCount(s.Theirs), letterCount(s.Third))
	}
	return most
}

func letterCount(s string) int { return utf8.RuneCountInString(s) }

// fitting returns the end of the columns that fit next to each other. It takes whole groups, part of a group that is
// too wide alone, and at least one column.
func (l *layout) fitting(from, width int) (after int) {
	left := width - l.labelWidth()
	for _, g := range l.groupsIn(from, len(l.Heads)) {
		for c := g.First; c < g.After; c++ {
			if left -= l.columnWidth(c) + 2; left < 0 && after > 0 {
				return after
			} else if left < 0 {
				return max(c, from+1)
			}
		}
		after = g.After
	}
	return after
}

// block writes some columns.
func (l *layout) block(b *strings.Builder, first, after int) {
	var above, heads strings.Builder
	for _, g := range l.groupsIn(first, after) {
		room := 0
		for c := g.First; c < g.After; c++ {
			room += l.columnWidth(c) + 2
			heads.WriteString(padded("  "+l.Heads[c].Label, l.columnWidth(c)+2))
		}
		above.WriteString(padded("  "+g.Name, room))
	}
	line := func(label, cells string) {
		b.WriteString(strings.TrimRight(padded(label, l.labelWidth())+cells, " ") + "\n")
	}
	b.WriteString("\n")
	if strings.TrimSpace(above.String()) != "" {
		line("", above.String())
	}
	line("", heads.String())
	for _, row := range l.Lines {
		var ours, printed, differences strings.Builder
		for c := first; c < after; c++ {
			s, room := row.Cells[c], l.columnWidth(c)+2
			sign := "  " // a minus or plus stands left of the digits
			if strings.HasPrefix(s.Third, "-") && s.Third != none || strings.HasPrefix(s.Third, "+") {
				sign = " "
			}
			ours.WriteString(padded("  "+s.Ours+s.Mark, room))
			printed.WriteString(padded("  "+s.Theirs, room))
			differences.WriteString(padded(sign+s.Third, room))
		}
		line(row.Label, ours.String())
		if !row.Compared {
			continue
		}
		line("  "+theirs(l.Table), printed.String())
		line("  "+differenceLabel(l.Table), differences.String())
	}
}

func padded(s string, width int) string {
	return s + strings.Repeat(" ", max(width-letterCount(s), 0))
}

// compared returns the difference or the ratio; nil if the cell has none.
func compared(c *tables.Cell) *float64 {
	if c.Ratio != nil {
		return c.Ratio
	}
	return c.Difference
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
				digits(compared(&c)), string(c.Status), strings.Join(slices.DeleteFunc(slices.Concat([]string{c.Reason}, c.Notes), func(s string) bool { return s == "" }), "; ")}
			if c.Ours != nil {
				record[4] = digits(&c.Deviation)
			}
			if c.Theirs != nil {
				record[6] = c.Printed
			}
			records = append(records, record)
		}
	}
	if err := plain.WriteCSV(w, records); err != nil {
		return fmt.Errorf("table %s: %w", r.Name, err)
	}
	return nil
}
