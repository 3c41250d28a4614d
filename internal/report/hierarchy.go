package report

import (
	"fmt"
	"image/color"
	"io"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/unravel-ml/unravel/internal/colours"
	"github.com/unravel-ml/unravel/models/hierarchy"
)

// Maximum size of the tree, and sizes in points. Parts that exceed the maximum are counted in one line.
const (
	maxTreeDepth = 12
	maxTreeLines = 220
	maxTreeText  = vg.Length(200)
	maxInARow    = 6 // maximum number of consecutive continuous dimensions that are listed separately

	treeLine, treePad, treeGap = 13, 5, 9
)

// Hierarchy draws groups of dimensions from left to right. Lines connect dimensions with the groups that options open.
func Hierarchy(w io.Writer, title string, h hierarchy.Hierarchy, l hierarchy.Labels) error {
	t := &treeLayout{labels: l}
	root := t.box(h, 0)
	bottom := 0.0
	root.layOut(&bottom)
	columns := root.columns(nil)
	x := 0.0
	for i := range columns {
		x += columns[i].edge
		columns[i].left = x
		x += columns[i].width
	}
	const margin = 16
	width, height := max(x+2*margin, 260), bottom-treeGap+2*margin
	if title != "" {
		height += titleRoom
	}
	return figure{title, width / 72, height / 72, vg.Points(margin)}.render(w, func(c draw.Canvas) {
		root.draw(c, columns, 0)
	})
}

type treeBox struct {
	lines       []treeText
	edges       []treeEdge
	plain       bool // without a border
	top, height float64
}

type treeText struct {
	text   string
	colour color.RGBA
}

// treeEdge connects a line with the box of an option.
type treeEdge struct {
	line  int
	label string
	box   *treeBox
}

// treeColumn is the position of the boxes at a depth, and the width of the edges in front of them.
type treeColumn struct{ edge, left, width float64 }

type treeLayout struct {
	labels                         hierarchy.Labels
	categorical, continuous, lines int
}

func (t *treeLayout) box(h hierarchy.Hierarchy, depth int) *treeBox {
	b := &treeBox{}
	full := t.lines >= maxTreeLines
	t.lines += 2 // its border and the gap below
	switch {
	case len(h) == 0:
		b.plain = true
		b.add("nothing more", faint)
	case depth >= maxTreeDepth || full:
		b.plain = true
		t.summarise(b, h)
	default:
		t.group(b, h, depth)
	}
	b.height = float64(len(b.lines)*treeLine + 2*treePad)
	return b
}

func (t *treeLayout) group(b *treeBox, h hierarchy.Hierarchy, depth int) {
	for i := 0; i < len(h); i++ {
		if i > 0 && t.lines >= maxTreeLines {
			t.summarise(b, h[i:])
			return
		}
		if h[i].Categorical() {
			t.options(b, h[i], depth)
			continue
		}
		end := i
		for end < len(h) && !h[end].Categorical() {
			end++
		}
		name, count := t.labels.Name(false, t.continuous), 1
		if end-i > maxInARow {
			count = end - i
			name += " … " + t.labels.Name(false, t.continuous+count-1)
		}
		b.add(name, palette[0])
		t.continuous += count
		t.lines++
		i += count - 1
	}
}

// summarise adds a line with the number of dimensions in a hierarchy.
func (t *treeLayout) summarise(b *treeBox, h hierarchy.Hierarchy) {
	b.add(fmt.Sprintf("… %d dimensions", h.Dimensions()), faint)
	t.skip(h)
}

// skip advances the numbers past the dimensions of a hierarchy, which get no line.
func (t *treeLayout) skip(h hierarchy.Hierarchy) {
	t.categorical += len(h.Categoricals())
	t.continuous += h.Continuous()
}

func (t *treeLayout) options(b *treeBox, n hierarchy.Node, depth int) {
	index, line := t.categorical, len(b.lines)
	t.categorical++
	t.lines++
	b.add(t.labels.Name(true, index), palette[1])
	for o, option := range n.Options {
		if o > 0 && t.lines >= maxTreeLines {
			more := &treeBox{plain: true, height: treeLine + 2*treePad}
			more.add(fmt.Sprintf("… and %d more", len(n.Options)-o), faint)
			b.edges = append(b.edges, treeEdge{line, "", more})
			for _, option := range n.Options[o:] {
				t.skip(option)
			}
			return
		}
		b.edges = append(b.edges, treeEdge{line, t.labels.Option(index, o), t.box(option, depth+1)})
	}
}

func (b *treeBox) add(text string, colour color.RGBA) {
	b.lines = append(b.lines, treeText{fit(cellText(ink), text, maxTreeText), colour})
}

// layOut centres a box on its options, below the boxes placed before.
func (b *treeBox) layOut(bottom *float64) {
	start := *bottom
	b.top = start
	for _, e := range b.edges {
		e.box.layOut(bottom)
	}
	if n := len(b.edges); n > 0 {
		middle := (b.edges[0].box.middle() + b.edges[n-1].box.middle()) / 2
		b.top = max(start, middle-b.height/2)
	}
	*bottom = max(*bottom, b.top+b.height+treeGap)
}

func (b *treeBox) middle() float64 { return b.top + b.height/2 }

// columns widens the columns from the depth of the box on until the box and its options fit.
func (b *treeBox) columns(all []treeColumn) []treeColumn {
	var add func(b *treeBox, depth int)
	add = func(b *treeBox, depth int) {
		if depth == len(all) {
			all = append(all, treeColumn{})
		}
		for _, l := range b.lines {
			all[depth].width = max(all[depth].width, textWidth(l.text)+2*treePad+4)
		}
		for _, e := range b.edges {
			add(e.box, depth+1)
			all[depth+1].edge = max(all[depth+1].edge, textWidth(e.label)+34)
		}
	}
	add(b, 0)
	return all
}

func textWidth(text string) float64 { return cellText(ink).Width(text).Points() }

func (b *treeBox) draw(c draw.Canvas, columns []treeColumn, depth int) {
	point := func(x, y float64) vg.Point {
		return vg.Point{X: c.Min.X + vg.Points(x), Y: c.Max.Y - vg.Points(y)}
	}
	column := columns[depth]
	if !b.plain {
		low, high := point(column.left, b.top), point(column.left+column.width, b.top+b.height)
		corners := rectangle(low.X, low.Y, high.X, high.Y)
		c.FillPolygon(colours.Light.Panel, corners)
		outline(c, draw.LineStyle{Color: faint, Width: vg.Points(0.8)}, corners)
	}
	style := cellText(ink)
	style.XAlign = draw.XLeft
	for i, l := range b.lines {
		style.Color = l.colour
		c.FillText(style, point(column.left+treePad+2, b.top+treePad+(float64(i)+0.5)*treeLine), l.text)
	}
	for _, e := range b.edges {
		next := columns[depth+1]
		y, flat := e.box.middle(), next.left-textWidth(e.label)-8
		c.StrokeLines(draw.LineStyle{Color: palette[1], Width: vg.Points(0.9)}, []vg.Point{
			point(column.left+column.width, b.top+treePad+(float64(e.line)+0.5)*treeLine), point(flat, y), point(next.left, y)})
		style.Color = faint
		c.FillText(style, point(flat+3, y-6.5), e.label)
		e.box.draw(c, columns, depth+1)
	}
}
