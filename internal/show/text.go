package show

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"gonum.org/v1/gonum/stat"

	"github.com/unravel-ml/unravel/internal/plain"
	"github.com/unravel-ml/unravel/internal/wording"
	"github.com/unravel-ml/unravel/results/tables"
)

func differenceLabel(t *tables.Table) string {
	if t.Timed() {
		return printedLabel(t) + " / ours"
	}
	return "difference"
}

// Text writes the table as text with a maximum line width where possible. Groups of columns that do not fit follow
// below. A row has three lines: our values, the published values and the differences. Without published values, a row
// has one line.
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

func printedLabel(t *tables.Table) string { return cmp.Or(t.Printed.Label, "paper") }

// grid returns the lines of the table. A row with published values has three lines: ours, theirs and differences.
func (l *layout) grid() *grid {
	g := &grid{}
	for _, h := range l.Heads {
		g.Heads = append(g.Heads, head{h.Group, h.Label})
	}
	for _, row := range l.Lines {
		ours, printed, differences := []string{row.Label}, []string{"  " + printedLabel(l.Table)},
			[]string{"  " + differenceLabel(l.Table)}
		for _, s := range row.Cells {
			ours, printed, differences = append(ours, s.Ours+s.Mark), append(printed, s.Theirs), append(differences, s.Third)
		}
		if g.Lines, g.signs = append(g.Lines, ours), append(g.signs, false); row.Compared {
			g.Lines, g.signs = append(g.Lines, printed, differences), append(g.signs, false, true)
		}
	}
	return g
}

func runeCount(s string) int { return utf8.RuneCountInString(s) }

func padRight(s string, width int) string { return s + strings.Repeat(" ", max(width-runeCount(s), 0)) }

// wrap writes a footnote with a maximum line width.
func wrap(b *strings.Builder, mark, text string, width int) {
	column := runeCount(mark)
	b.WriteString(mark)
	for _, word := range strings.Fields(text) {
		if n := runeCount(word); column+1+n > width && column > 2 {
			b.WriteString("\n ")
			column = 1
		}
		space := min(column, 1) // none before the first word without a mark
		b.WriteString(strings.Repeat(" ", space) + word)
		column += space + runeCount(word)
	}
	b.WriteString("\n")
}

// CSV writes a line for each cell, with full precision.
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
				digits(cmp.Or(c.Ratio, c.Difference)), string(c.Status),
				strings.Join(slices.DeleteFunc(slices.Concat([]string{c.Reason}, c.Notes), func(s string) bool { return s == "" }),
					"; ")}
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

type grid struct {
	Title string
	Heads []head
	Lines [][]string // a label and the cells
	signs []bool     // whether a line has signs before the digits; nil: no line has signs
}

type head struct{ Group, Label string }

// widths returns the widths of the columns; column 0 contains the labels.
func (g *grid) widths() []int {
	list := make([]int, 1+len(g.Heads))
	for c, h := range g.Heads {
		list[c+1] = runeCount(h.Label)
	}
	for _, line := range g.Lines {
		for c, cell := range line {
			list[c] = max(list[c], runeCount(cell))
		}
	}
	return list
}

// groupEnd returns the end of the adjacent columns with the same group as column from.
func (g *grid) groupEnd(from int) (after int) {
	for after = from; after <= len(g.Heads) && g.Heads[after-1].Group == g.Heads[from-1].Group; {
		after++
	}
	return after
}

// columnsThatFit returns the end of the columns that fit: whole groups if possible, and at least one column.
func (g *grid) columnsThatFit(from, width int, widths []int) (after int) {
	left := width - widths[0]
	for after = from; after <= len(g.Heads); {
		end := g.groupEnd(after)
		for c := after; c < end; c++ {
			if left -= widths[c] + 2; left < 0 && after > from {
				return after
			} else if left < 0 {
				return max(c, from+1)
			}
		}
		after = end
	}
	return after
}

// print writes the grid with a maximum line width where possible. Columns that do not fit follow below.
func (g *grid) print(b *strings.Builder, width int) {
	widths := g.widths()
	for from := 1; from <= len(g.Heads); {
		after := g.columnsThatFit(from, width, widths)
		line := func(label string, cell func(c int) string) {
			text := padRight(label, widths[0])
			for c := from; c < after; c++ {
				text += padRight(cell(c), widths[c]+2)
			}
			if text = strings.TrimRight(text, " "); text != "" {
				b.WriteString(text + "\n")
			}
		}
		b.WriteString("\n")
		above := strings.Repeat(" ", widths[0])
		for c := from; c < after; {
			name, room := g.Heads[c-1].Group, 0
			for end := min(g.groupEnd(c), after); c < end; c++ {
				room += widths[c] + 2
			}
			above += padRight("  "+name, room)
		}
		line(above, func(int) string { return "" })
		line("", func(c int) string { return "  " + g.Heads[c-1].Label })
		for i, cells := range g.Lines {
			line(cells[0], func(c int) string {
				if s := cells[c]; g.signs != nil && g.signs[i] && s != none && strings.ContainsAny(s[:min(1, len(s))], "+-") {
					return " " + s
				}
				return "  " + cells[c]
			})
		}
		from = after
	}
}

func (g *grid) markdown(b *strings.Builder) {
	escape := markdownEscapes.Replace
	fmt.Fprintf(b, "\n## %s\n\n| |", escape(g.Title))
	for _, h := range g.Heads {
		label := h.Label
		if h.Group != "" {
			label = h.Group + ": " + label
		}
		fmt.Fprintf(b, " %s |", escape(label))
	}
	b.WriteString("\n|---|" + strings.Repeat("---:|", len(g.Heads)) + "\n")
	for _, cells := range g.Lines {
		fmt.Fprintf(b, "| **%s** |", escape(cells[0]))
		for _, cell := range cells[1:] {
			fmt.Fprintf(b, " %s |", cell)
		}
		b.WriteString("\n")
	}
}

// grids returns the agreement as tables of text: mean ranks over all columns and for each group, then Kendall's tau.
func grids(r *tables.Result) []grid {
	a := r.Agreement
	ranked, complete := 0, 0 // rows with ranks, and the ranks of a row without gaps
	list := make([][]float64, len(r.Rows))
	for i, row := range r.Rows {
		for _, c := range row.Cells {
			if c.Rank > 0 {
				list[i] = append(list[i], c.Rank)
			}
		}
		if complete = max(complete, len(list[i])); list[i] != nil {
			ranked++
		}
	}
	ranks := grid{Title: "Mean ranks by group of columns, 1 for the best of " + wording.Count(ranked, "row")}
	for _, g := range a.Groups {
		for _, set := range dataSetLabels(r.Table) {
			ranks.Heads = append(ranks.Heads, head{g, cmp.Or(set, "rank")})
		}
	}
	ranks.Heads = append(ranks.Heads, head{"all", "mean"})
	for i, row := range r.Rows {
		cells := []string{row.Label}
		for g := range a.Groups {
			for _, v := range a.Ranks[g][i] {
				cells = append(cells, number(v, 1))
			}
		}
		mean := number(stat.Mean(list[i], nil), 1)
		if n := len(list[i]); n > 0 && n < complete {
			mean += fmt.Sprintf(" (%d of %d)", n, complete)
		}
		ranks.Lines = append(ranks.Lines, append(cells, mean))
	}
	tau := grid{Title: "Kendall's tau between columns, 1 for the same order of the rows from good to bad"}
	for i, name := range a.Columns {
		tau.Heads = append(tau.Heads, head{"", name})
		cells := []string{name}
		for _, v := range a.Tau[i] {
			cells = append(cells, number(v, 2))
		}
		tau.Lines = append(tau.Lines, cells)
	}
	return []grid{ranks, tau}
}

// number formats a number with the given number of decimals. NaN becomes a dash.
func number(v float64, decimals int) string {
	if math.IsNaN(v) {
		return none
	}
	return fixed(v, decimals)
}

func ranks(w io.Writer, r *tables.Result) error {
	records := [][]string{{"table", "row", "column", "rank"}}
	for _, row := range r.Rows {
		for _, c := range row.Cells {
			if c.Rank > 0 {
				records = append(records, []string{r.Name, row.Label, c.Column, strconv.FormatFloat(c.Rank, 'g', -1, 64)})
			}
		}
	}
	return writeRecords(w, r, records)
}

// tau writes Kendall's tau for every pair of columns, one per line. It skips pairs without a tau.
func tau(w io.Writer, r *tables.Result) error {
	records := [][]string{{"table", "column", "other", "tau"}}
	for i, a := range r.Agreement.Columns {
		for j, b := range r.Agreement.Columns[:i] {
			if v := r.Agreement.Tau[i][j]; !math.IsNaN(v) {
				records = append(records, []string{r.Name, a, b, strconv.FormatFloat(v, 'g', -1, 64)})
			}
		}
	}
	return writeRecords(w, r, records)
}

func writeRecords(w io.Writer, r *tables.Result, records [][]string) error {
	if err := plain.WriteCSV(w, records); err != nil {
		return fmt.Errorf("table %s: %w", r.Name, err)
	}
	return nil
}
