package tables

import (
	"fmt"
	"strings"
)

// grid is a table of text next to the table of values.
type grid struct {
	Title string
	Heads []head
	Lines [][]string // a label and the cells
}

// head is the heading of a column.
type head struct{ Group, Label string }

// width returns the width of a column; column 0 has the labels.
func (g *grid) width(c int) int {
	most := 0
	if c > 0 {
		most = letterCount(g.Heads[c-1].Label)
	}
	for _, line := range g.Lines {
		most = max(most, letterCount(line[c]))
	}
	return most
}

// print writes the grid in lines of at most width letters where possible. Columns that do not fit follow below.
func (g *grid) print(b *strings.Builder, width int) {
	fmt.Fprintf(b, "\n%s\n", g.Title)
	for from := 1; from <= len(g.Heads); {
		after, left := from, width-g.width(0)
		for after <= len(g.Heads) {
			if left -= g.width(after) + 2; left < 0 && after > from {
				break
			}
			after++
		}
		line := func(label string, cell func(c int) string) {
			text := padded(label, g.width(0))
			for c := from; c < after; c++ {
				text += padded("  "+cell(c), g.width(c)+2)
			}
			b.WriteString(strings.TrimRight(text, " ") + "\n")
		}
		b.WriteString("\n")
		above := strings.Repeat(" ", g.width(0))
		for c := from; c < after; {
			name, room := g.Heads[c-1].Group, 0
			for ; c < after && g.Heads[c-1].Group == name; c++ {
				room += g.width(c) + 2
			}
			above += padded("  "+name, room)
		}
		if above = strings.TrimRight(above, " "); above != "" {
			b.WriteString(above + "\n")
		}
		line("", func(c int) string { return g.Heads[c-1].Label })
		for _, cells := range g.Lines {
			line(cells[0], func(c int) string { return cells[c] })
		}
		from = after
	}
}

// markdown writes the grid with a heading.
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
