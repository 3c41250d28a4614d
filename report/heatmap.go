package report

import (
	"errors"
	"fmt"
	"image/color"
	"io"
	"math"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// The limits of a heatmap: cells that are written out, sizes in inches.
const (
	maxWritten       = 24
	maxHeatmapHeight = 24.0
	maxHeatmapWidth  = 16.0
)

// Heatmap draws a matrix as coloured cells: the deeper the blue, the larger the
// number, from zero or the least number to the largest. Values that are not finite
// are grey. Numbers and all labels are written where there is room for them.
func Heatmap(w io.Writer, title string, rows, columns []string, values [][]float64) error {
	return HeatmapOf(w, title, rows, columns, values, nil)
}

// HeatmapOf is a heatmap with frames around some of its rows, whose labels come before those of the others where there is no room for all.
func HeatmapOf(w io.Writer, title string, rows, columns []string, values [][]float64, framed []int) error {
	if len(rows) == 0 || len(columns) == 0 {
		return errors.New("report: want at least one row and one column")
	}
	if len(values) != len(rows) {
		return fmt.Errorf("report: %d rows of values, but %d labels", len(values), len(rows))
	}
	low, high := 0.0, math.Inf(-1)
	for i, row := range values {
		if len(row) != len(columns) {
			return fmt.Errorf("report: %d values in row %s, but %d columns", len(row), rows[i], len(columns))
		}
		for _, v := range row {
			if finite(v) {
				low, high = min(low, v), max(high, v)
			}
		}
	}
	for _, i := range framed {
		if i < 0 || i >= len(rows) {
			return fmt.Errorf("report: a frame around row %d of %d", i, len(rows))
		}
	}
	h := heatmap{rows, columns, values, framed, low, high,
		min(max(0.62, labelWidth(columns)), maxHeatmapWidth/float64(len(columns))), min(0.34, maxHeatmapHeight/float64(len(rows)))}
	left := labelWidth(rows)
	width := max(left+h.width*float64(len(columns))+0.4, 4)
	height := h.height*float64(len(rows)) + 1.1
	return render(w, width, height, func(c draw.Canvas) {
		c = padded(heading(c, title), vg.Points(8))
		h.draw(draw.Crop(c, vg.Length(left)*vg.Inch, 0, 0, 0))
	})
}

// heatmap is a matrix with the size of its cells in inches.
type heatmap struct {
	rows, columns []string
	values        [][]float64
	framed        []int
	low, high     float64
	width, height float64
}

// labelWidth is the width of the longest label, in inches.
func labelWidth(labels []string) float64 {
	style := cellText(ink)
	var most vg.Length
	for _, l := range labels {
		most = max(most, style.Width(short(l)))
	}
	return most.Points()/72 + 0.12
}

func (h *heatmap) draw(c draw.Canvas) {
	width, height := vg.Length(h.width)*vg.Inch, vg.Length(h.height)*vg.Inch
	top := c.Max.Y - vg.Points(24) // below two lines of column labels
	written := len(h.rows) <= maxWritten && len(h.columns) <= maxWritten
	columnStep, rowStep := labelStep(labelWidth(h.columns), h.width), labelStep(0.16, h.height)
	for i, row := range h.values {
		y := top - vg.Length(i+1)*height
		for j, v := range row {
			x := c.Min.X + vg.Length(j)*width
			fill, ink := h.colours(v)
			c.FillPolygon(fill, []vg.Point{{X: x, Y: y}, {X: x + width, Y: y}, {X: x + width, Y: y + height}, {X: x, Y: y + height}})
			if written {
				c.FillText(cellText(ink), vg.Point{X: x + width/2, Y: y + height/2}, strconv.FormatFloat(v, 'g', 2, 64))
			}
		}
		if len(h.framed) == 0 && i%rowStep == 0 {
			h.label(c, i, y+height/2)
		}
	}
	h.frames(c, top, rowStep)
	for j := 0; j < len(h.columns); j += columnStep {
		c.FillText(cellText(ink), vg.Point{X: c.Min.X + (vg.Length(j)+0.5)*width, Y: top + vg.Points(7)}, short(h.columns[j]))
	}
}

// label writes the name of a row.
func (h *heatmap) label(c draw.Canvas, row int, y vg.Length) {
	style := cellText(ink)
	style.XAlign = draw.XRight
	c.FillText(style, vg.Point{X: c.Min.X - vg.Points(4), Y: y}, short(h.rows[row]))
}

// frames draws the frames, and the labels of a heatmap that has some: those of framed rows, one above the
// other where they are close, and of the others what leaves these room.
func (h *heatmap) frames(c draw.Canvas, top vg.Length, rowStep int) {
	if len(h.framed) == 0 {
		return
	}
	width, height := vg.Length(len(h.columns))*vg.Length(h.width)*vg.Inch, vg.Length(h.height)*vg.Inch
	taken := make([]bool, len(h.rows)+2*rowStep)
	var outside vg.Length // frames around thin rows would hide them
	if height < vg.Points(8) {
		outside = vg.Points(0.8)
	}
	left, right := c.Min.X-outside, c.Min.X+width+outside
	for _, i := range h.framed {
		y := top - vg.Length(i+1)*height
		low, high := y-outside, y+height+outside
		corners := []vg.Point{{X: left, Y: low}, {X: right, Y: low}, {X: right, Y: high}, {X: left, Y: high}, {X: left, Y: low}}
		c.StrokeLines(draw.LineStyle{Color: palette[1], Width: vg.Points(1.6) - outside}, corners)
		if !taken[i+rowStep] {
			h.label(c, i, y+height/2)
			for n := range 2*rowStep - 1 {
				taken[i+1+n] = true
			}
		}
	}
	for i := 0; i < len(h.rows); i += rowStep {
		if !taken[i+rowStep] {
			h.label(c, i, top-(vg.Length(i)+0.5)*height)
		}
	}
}

// labelStep is the step between labels of a length on cells of a size.
func labelStep(label, size float64) int { return max(1, int(math.Ceil(label/size))) }

// colours of a cell and of the number in it.
func (h *heatmap) colours(v float64) (fill, text color.RGBA) {
	if !finite(v) {
		return rule, ink
	}
	t := 0.0
	if h.high > h.low {
		t = (v/2 - h.low/2) / (h.high/2 - h.low/2) // halves, as the range may overflow
	}
	deep := palette[0]
	mixed := func(to uint8) uint8 { return uint8(math.Round(248 + t*(float64(to)-248))) }
	if fill = (color.RGBA{mixed(deep.R), mixed(deep.G), mixed(deep.B), 255}); t > 0.55 {
		return fill, color.RGBA{255, 255, 255, 255}
	}
	return fill, ink
}

func cellText(c color.RGBA) draw.TextStyle {
	return draw.TextStyle{Color: c, Font: sans(8), XAlign: draw.XCenter, YAlign: draw.YCenter, Handler: plot.DefaultTextHandler}
}

// short cuts a long label.
func short(label string) string {
	const most = 18
	if r := []rune(label); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return label
}
