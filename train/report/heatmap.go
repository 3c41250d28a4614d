package report

import (
	"cmp"
	"errors"
	"fmt"
	"image/color"
	"io"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/unravel-ml/unravel/internal/colours"
)

// The limits of a heatmap: cells that are written out, sizes in inches.
const (
	maxWritten       = 24
	maxHeatmapHeight = 24.0
	maxHeatmapWidth  = 16.0
	maxHeatmapLabel  = 2.2
	leastBar         = 1.6 // height of the colour bar
)

// Heat is a heatmap: a matrix as coloured cells with a colour bar. Numbers and all labels are written where there is room for
// them; cells that are not finite are grey.
type Heat struct {
	Title                 string
	Rows, Columns         []string
	Values                [][]float64
	RowTitle, ColumnTitle string // what rows and columns are
	Unit                  string // what the numbers are, beside the colour bar

	// Signed draws numbers from minus to plus the largest size, white at 0, also where none is negative. Without it this is so
	// where one is, and otherwise they go from 0 up, darker the larger.
	Signed bool

	Framed []int // rows with a frame, whose labels come first where there is no room for all

	// Sort puts rows with the same column of the largest size together, the largest first, and says so in the title. Rows without
	// numbers but 0 come last.
	Sort bool
}

// WritePNG draws the heatmap.
func (h *Heat) WritePNG(w io.Writer) error {
	m, err := h.heatmap()
	if err != nil {
		return err
	}
	return figure{m.Title, m.left + m.width*float64(len(h.Columns)) + heatBarRoom, m.top + max(m.height*float64(len(h.Rows)), leastBar) + 0.6, vg.Points(8)}.
		render(w, m.draw)
}

// heatmap is a heatmap with the size of its cells, and of the labels beside and above them, in inches.
type heatmap struct {
	Heat
	low, high     float64
	width, height float64
	left, top     float64
	upright       bool // labels of columns
}

func (h *Heat) heatmap() (*heatmap, error) {
	if len(h.Rows) == 0 || len(h.Columns) == 0 {
		return nil, errors.New("report: want at least one row and one column")
	}
	if len(h.Values) != len(h.Rows) {
		return nil, fmt.Errorf("report: %d rows of values, but %d labels", len(h.Values), len(h.Rows))
	}
	m := &heatmap{Heat: *h, high: math.Inf(-1)}
	for i, row := range h.Values {
		if len(row) != len(h.Columns) {
			return nil, fmt.Errorf("report: %d values in row %s, but %d columns", len(row), h.Rows[i], len(h.Columns))
		}
		for _, v := range row {
			if finite(v) {
				m.low, m.high = min(m.low, v), max(m.high, v)
			}
		}
	}
	for _, i := range h.Framed {
		if i < 0 || i >= len(h.Rows) {
			return nil, fmt.Errorf("report: a frame around row %d of %d", i, len(h.Rows))
		}
	}
	switch {
	case m.high < m.low: // no number
		m.low, m.high = 0, 1
	case m.low < 0 || h.Signed:
		m.Signed = true
		m.high = max(m.high, -m.low)
		m.low = -m.high
	}
	if h.Sort {
		m.sort()
	}
	m.Rows, m.Columns = fitted(cellText(ink), m.Rows, maxHeatmapLabel*vg.Inch), fitted(cellText(ink), m.Columns, maxHeatmapLabel*vg.Inch)
	m.size()
	return m, nil
}

// size chooses the size of cells. Labels of columns are upright where cells would be wide otherwise.
func (m *heatmap) size() {
	label := inches(widest(cellText(ink), m.Columns)) + 0.12
	m.width, m.top = max(0.62, label), 0.3
	if m.width > 1.5 || m.width*float64(len(m.Columns)) > maxHeatmapWidth {
		m.upright, m.width, m.top = true, min(0.62, maxHeatmapWidth/float64(len(m.Columns))), label
	}
	m.height = min(0.34, maxHeatmapHeight/float64(len(m.Rows)))
	m.left = inches(widest(cellText(ink), m.Rows)) + 0.12
	if m.RowTitle != "" {
		m.left += 0.22
	}
	if m.ColumnTitle != "" {
		m.top += 0.22
	}
	if least := 3.2 - m.left; m.width*float64(len(m.Columns)) < least && len(m.Columns) < 4 { // room for the title
		m.width = max(m.width, min(least/float64(len(m.Columns)), 1.2))
	}
}

func inches(l vg.Length) float64 { return l.Points() / 72 }

// sort orders rows by the column of their largest size, and by that; the order of columns decides between equal ones.
func (m *heatmap) sort() {
	follows, size := make([]int, len(m.Rows)), make([]float64, len(m.Rows))
	order := make([]int, len(m.Rows))
	for i, row := range m.Values {
		order[i], follows[i] = i, len(m.Columns)
		for j, v := range row {
			if a := math.Abs(v); finite(v) && a > size[i] {
				follows[i], size[i] = j, a
			}
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Or(follows[a]-follows[b], cmp.Compare(size[b], size[a])) })
	if slices.IsSorted(order) {
		return
	}
	rows, values, framed := make([]string, len(order)), make([][]float64, len(order)), []int(nil)
	for at, i := range order {
		rows[at], values[at] = m.Rows[i], m.Values[i]
		if slices.Contains(m.Framed, i) {
			framed = append(framed, at)
		}
	}
	m.Rows, m.Values, m.Framed = rows, values, framed
	by := cmp.Or(m.ColumnTitle, "column")
	m.Title += ", sorted by the " + by + " that they follow"
}

func (m *heatmap) draw(c draw.Canvas) {
	bar := c
	c = draw.Crop(c, vg.Length(m.left)*vg.Inch, 0, 0, 0)
	width, height := vg.Length(m.width)*vg.Inch, vg.Length(m.height)*vg.Inch
	top, right := c.Max.Y-vg.Length(m.top)*vg.Inch, c.Min.X+width*vg.Length(len(m.Columns))
	bottom := top - height*vg.Length(len(m.Rows))
	written := len(m.Rows) <= maxWritten && len(m.Columns) <= maxWritten
	rowStep := labelStep(0.16, m.height)
	for i, row := range m.Values {
		y := top - vg.Length(i+1)*height
		for j, v := range row {
			x := c.Min.X + vg.Length(j)*width
			fill := m.colour(v)
			c.FillPolygon(fill, []vg.Point{{X: x, Y: y}, {X: x + width, Y: y}, {X: x + width, Y: y + height}, {X: x, Y: y + height}})
			if written {
				c.FillText(cellText(colours.On(fill)), vg.Point{X: x + width/2, Y: y + height/2}, cellNumber(v))
			}
		}
		if len(m.Framed) == 0 && i%rowStep == 0 {
			m.label(c, i, y+height/2)
		}
	}
	m.frames(c, top, rowStep)
	m.columnLabels(c, top)
	style := textStyle(9)
	if m.ColumnTitle != "" {
		c.FillText(style, vg.Point{X: (c.Min.X + right) / 2, Y: c.Max.Y - vg.Points(4)}, m.ColumnTitle)
	}
	if m.RowTitle != "" {
		style.Rotation = math.Pi / 2
		c.FillText(style, vg.Point{X: bar.Min.X + vg.Points(4), Y: (top + bottom) / 2}, m.RowTitle)
	}
	s := scale{low: m.low, high: m.high, signed: m.Signed, label: m.Unit}
	s.draw(bar, right+vg.Points(14), min(max(bottom, top-2.6*vg.Inch), top-leastBar*vg.Inch), top)
}

// columnLabels writes the names of columns, those that there is room for.
func (m *heatmap) columnLabels(c draw.Canvas, top vg.Length) {
	style, step := cellText(ink), labelStep(inches(widest(cellText(ink), m.Columns))+0.12, m.width)
	y := top + vg.Points(7)
	if m.upright {
		style.Rotation, style.XAlign, step = math.Pi/2, draw.XLeft, labelStep(0.16, m.width)
		y = top + vg.Points(3)
	}
	for j := 0; j < len(m.Columns); j += step {
		c.FillText(style, vg.Point{X: c.Min.X + vg.Length((float64(j)+0.5)*m.width)*vg.Inch, Y: y}, m.Columns[j])
	}
}

// label writes the name of a row.
func (m *heatmap) label(c draw.Canvas, row int, y vg.Length) {
	style := cellText(ink)
	style.XAlign = draw.XRight
	c.FillText(style, vg.Point{X: c.Min.X - vg.Points(4), Y: y}, m.Rows[row])
}

// frames draws the frames, and the labels of a heatmap that has some: those of framed rows, one above the
// other where they are close, and of the others what leaves these room.
func (m *heatmap) frames(c draw.Canvas, top vg.Length, rowStep int) {
	if len(m.Framed) == 0 {
		return
	}
	width, height := vg.Length(len(m.Columns))*vg.Length(m.width)*vg.Inch, vg.Length(m.height)*vg.Inch
	taken := make([]bool, len(m.Rows)+2*rowStep)
	var outside vg.Length // frames around thin rows would hide them
	if height < vg.Points(8) {
		outside = vg.Points(0.8)
	}
	left, right := c.Min.X-outside, c.Min.X+width+outside
	for _, i := range m.Framed {
		y := top - vg.Length(i+1)*height
		low, high := y-outside, y+height+outside
		corners := []vg.Point{{X: left, Y: low}, {X: right, Y: low}, {X: right, Y: high}, {X: left, Y: high}, {X: left, Y: low}}
		c.StrokeLines(draw.LineStyle{Color: palette[1], Width: vg.Points(1.6) - outside}, corners)
		if !taken[i+rowStep] {
			m.label(c, i, y+height/2)
			for n := range 2*rowStep - 1 {
				taken[i+1+n] = true
			}
		}
	}
	for i := 0; i < len(m.Rows); i += rowStep {
		if !taken[i+rowStep] {
			m.label(c, i, top-(vg.Length(i)+0.5)*height)
		}
	}
}

// labelStep is the step between labels of a length on cells of a size.
func labelStep(label, size float64) int { return max(1, int(math.Ceil(label/size))) }

// colour of a cell.
func (m *heatmap) colour(v float64) color.RGBA {
	s := scale{low: m.low, high: m.high, signed: m.Signed}
	return s.colour(v)
}

// cellNumber is a number in a cell: whole from 100 on, else with two digits that count.
func cellNumber(v float64) string {
	if a := math.Abs(v); a >= 99.5 && a < 99999.5 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	if math.IsNaN(v) {
		return "–"
	}
	return strconv.FormatFloat(v, 'g', 2, 64)
}

func cellText(c color.RGBA) draw.TextStyle {
	style := textStyle(8)
	style.Color = c
	return style
}
