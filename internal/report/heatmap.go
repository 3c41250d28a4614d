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
	"strings"

	"github.com/unravel-ml/unravel/internal/numeric"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/unravel-ml/unravel/internal/colours"
	"github.com/unravel-ml/unravel/metrics"
)

// Limits of a heatmap: the maximum number of cells with written numbers, and sizes in inches.
const (
	maxWritten       = 24
	maxHeatmapHeight = 24.0
	maxHeatmapWidth  = 16.0
	maxHeatmapLabel  = 2.2
	minBarHeight     = 1.6 // minimum height of the colour bar
)

// Heat is a heatmap: a matrix as coloured cells with a colour bar. It shows numbers and all labels if they fit. NaN and
// infinite cells are grey.
type Heat struct {
	Title                 string
	Rows, Columns         []string
	Values                [][]float64
	RowTitle, ColumnTitle string // titles of the axes
	Unit                  string // quantity, next to the colour bar

	// Signed uses a diverging colour map from minus to plus the largest absolute value, with white at 0. Without
	// Signed, this also happens if a number is negative. Otherwise, colours go from 0 up, darker for larger numbers.
	Signed bool

	Framed []int // framed rows; their labels take precedence if not all labels fit

	// Sort groups rows that have their largest absolute value in the same column, in descending order of this value,
	// and notes this in the title. Rows with only zeros or without numbers come last.
	Sort bool
}

func (h *Heat) WritePNG(w io.Writer) error {
	m, err := h.heatmap()
	if err != nil {
		return err
	}
	width := m.left + m.width*float64(len(h.Columns)) + heatBarRoom
	height := m.top + max(m.height*float64(len(h.Rows)), minBarHeight) + 0.6
	return figure{m.Title, width, height, vg.Points(8)}.render(w, m.draw)
}

// heatmap is a heatmap with the sizes of its cells and labels, in inches.
type heatmap struct {
	Heat
	scale         // colour scale of the cells
	width, height float64
	left, top     float64
	upright       bool // column labels are upright
}

func (h *Heat) heatmap() (*heatmap, error) {
	if len(h.Rows) == 0 || len(h.Columns) == 0 {
		return nil, errors.New("report: want at least one row and one column")
	}
	if len(h.Values) != len(h.Rows) {
		return nil, fmt.Errorf("report: %d rows of values, but %d labels", len(h.Values), len(h.Rows))
	}
	m := &heatmap{Heat: *h, scale: scale{high: math.Inf(-1), label: h.Unit}}
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
	case m.high < m.low: // no numbers
		m.low, m.high = 0, 1
	case m.low < 0 || h.Signed:
		m.signed = true
		m.high = max(m.high, -m.low)
		m.low = -m.high
	}
	if h.Sort {
		m.sort()
	}
	m.Rows, m.Columns = fitAll(cellText(ink), m.Rows, maxHeatmapLabel*vg.Inch),
		fitAll(cellText(ink), m.Columns, maxHeatmapLabel*vg.Inch)
	m.size()
	return m, nil
}

// size determines the size of cells. It turns the column labels upright if cells would otherwise be wide.
func (m *heatmap) size() {
	label := inches(maxWidth(cellText(ink), m.Columns)) + 0.12
	m.width, m.top = max(0.62, label), 0.3
	if m.width > 1.5 || m.width*float64(len(m.Columns)) > maxHeatmapWidth {
		m.upright, m.width, m.top = true, min(0.62, maxHeatmapWidth/float64(len(m.Columns))), label
	}
	m.height = min(0.34, maxHeatmapHeight/float64(len(m.Rows)))
	m.left = inches(maxWidth(cellText(ink), m.Rows)) + 0.12
	if m.RowTitle != "" {
		m.left += 0.22
	}
	if m.ColumnTitle != "" {
		m.top += 0.22
	}
	if minWidth := 3.2 - m.left; m.width*float64(len(m.Columns)) < minWidth && len(m.Columns) < 4 { // space for the title
		m.width = max(m.width, min(minWidth/float64(len(m.Columns)), 1.2))
	}
}

func inches(l vg.Length) float64 { return l.Points() / 72 }

// sort sorts rows by the column of their largest absolute value (ties: the first), and then by this value.
func (m *heatmap) sort() {
	order, strongest, size := numeric.UpTo(len(m.Rows)), make([]int, len(m.Rows)), make([]float64, len(m.Rows))
	for i, row := range m.Values {
		strongest[i] = len(m.Columns)
		for j, v := range row {
			if a := math.Abs(v); finite(v) && a > size[i] {
				strongest[i], size[i] = j, a
			}
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(strongest[a]-strongest[b], cmp.Compare(size[b], size[a]))
	})
	if slices.IsSorted(order) {
		return
	}
	rows, values, framed := make([]string, len(order)), make([][]float64, len(order)), []int(nil)
	for position, i := range order {
		rows[position], values[position] = m.Rows[i], m.Values[i]
		if slices.Contains(m.Framed, i) {
			framed = append(framed, position)
		}
	}
	m.Rows, m.Values, m.Framed = rows, values, framed
	axis := cmp.Or(m.ColumnTitle, "column")
	m.Title += ", sorted by the " + axis + " that they follow"
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
			c.FillPolygon(fill, rectangle(x, y, x+width, y+height))
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
	m.scale.draw(bar, right+vg.Points(14), min(max(bottom, top-2.6*vg.Inch), top-minBarHeight*vg.Inch), top)
}

// columnLabels draws as many column names as fit.
func (m *heatmap) columnLabels(c draw.Canvas, top vg.Length) {
	style, step := cellText(ink), labelStep(inches(maxWidth(cellText(ink), m.Columns))+0.12, m.width)
	y := top + vg.Points(7)
	if m.upright {
		style.Rotation, style.XAlign, step = math.Pi/2, draw.XLeft, labelStep(0.16, m.width)
		y = top + vg.Points(3)
	}
	for j := 0; j < len(m.Columns); j += step {
		c.FillText(style, vg.Point{X: c.Min.X + vg.Length((float64(j)+0.5)*m.width)*vg.Inch, Y: y}, m.Columns[j])
	}
}

func (m *heatmap) label(c draw.Canvas, row int, y vg.Length) {
	style := cellText(ink)
	style.XAlign = draw.XRight
	c.FillText(style, vg.Point{X: c.Min.X - vg.Points(4), Y: y}, m.Rows[row])
}

// frames draws the frames and, in a heatmap with frames, the row labels. Framed rows get labels first; among several
// close rows, only one gets a label. Other rows get the remaining space.
func (m *heatmap) frames(c draw.Canvas, top vg.Length, rowStep int) {
	if len(m.Framed) == 0 {
		return
	}
	width, height := vg.Length(len(m.Columns))*vg.Length(m.width)*vg.Inch, vg.Length(m.height)*vg.Inch
	labelled := make([]bool, len(m.Rows)+2*rowStep)
	var margin vg.Length // frames inside thin rows would hide the rows
	if height < vg.Points(8) {
		margin = vg.Points(0.8)
	}
	left, right := c.Min.X-margin, c.Min.X+width+margin
	for _, i := range m.Framed {
		y := top - vg.Length(i+1)*height
		outline(c, draw.LineStyle{Color: palette[1], Width: vg.Points(1.6) - margin},
			rectangle(left, y-margin, right, y+height+margin))
		if !labelled[i+rowStep] {
			m.label(c, i, y+height/2)
			for n := range 2*rowStep - 1 {
				labelled[i+1+n] = true
			}
		}
	}
	for i := 0; i < len(m.Rows); i += rowStep {
		if !labelled[i+rowStep] {
			m.label(c, i, top-(vg.Length(i)+0.5)*height)
		}
	}
}

// labelStep returns the interval between labels of a length on cells of a size.
func labelStep(label, size float64) int { return max(1, int(math.Ceil(label/size))) }

// cellNumber formats a number for a cell: as an integer from 100 on, and otherwise with two significant digits.
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

type gridText struct {
	title         string // title of the heatmap
	unit          string
	rows, columns string
	signed        bool
}

// gridTexts describes matrices by name. A key for a single metric starts with the metric's name.
var gridTexts = map[string]gridText{
	"mutual_information":                    {"mutual information of code columns and factors", "mutual information, nats", codeColumn, factorAxis, false},
	"mutual-information/mutual_information": {"mutual information of pairs of code columns", "mutual information, nats", codeColumn, codeColumn, false},
	"importance":                            {"importance of code columns where factors are predicted", "importance", codeColumn, factorAxis, false},
	"R":                                     {"mutual information of code columns and factors, as shares of each factor's sum (R)", "share of the factor's sum, R", codeColumn, factorAxis, false},
	"score":                                 {"how well each code column alone predicts a factor", "score", codeColumn, factorAxis, false},
	"correlation":                           {"correlation of code columns", "correlation", codeColumn, codeColumn, true},
	"covariance":                            {"covariance of code columns", "covariance", codeColumn, codeColumn, true},
	"co_occurrence":                         {"how much factors share their code columns", "cosine", factorAxis, factorAxis, false},
	"accuracy":                              {"accuracy of predicted factors by the number of training rows", "accuracy", "training rows", factorAxis, false},
	"irs":                                   {"interventional robustness of code columns by factor", "robustness", codeColumn, factorAxis, false},
	"votes":                                 {"votes of the least varying column where one factor is fixed", "votes", codeColumn, factorAxis, false},
	"r2":                                    {"R² of code columns and factors, both ways", "R²", codeColumn, factorAxis, false},
	"r2_from_factor":                        {"R² of code columns predicted from factors", "R²", codeColumn, factorAxis, false},
	"r2_from_code":                          {"R² of factors predicted from code columns", "R²", codeColumn, factorAxis, false},
	"rows":                                  {"images in which both are active", "images", codeColumn, factorAxis, false},
	"purity/rows":                           {"images of each component by true path", "images", "component", "path of the true hierarchy", false},
	"hsic":                                  {"dependence of sub-codes, 0 for independent ones", "HSIC", "sub-code", "", false},
	"information":                           {"mutual information of code columns and factors, as fractions of the factor's entropy", "fraction of the entropy", codeColumn, factorAxis, false},
	"manipulation":                          {"variance of code columns while one factor moves", "variance", codeColumn, factorAxis, false},
}

const codeColumn, factorAxis = "code column", "factor"

// GridHeat returns the heatmap of a metric's matrix. It describes title and axes in words, centres signed numbers at 0,
// and sorts code columns by the factor that they follow.
func GridHeat(metric string, g metrics.Grid) *Heat {
	words, ok := gridTexts[metric+"/"+g.Name]
	if !ok {
		words, ok = gridTexts[g.Name]
	}
	switch {
	case !ok:
		words = gridText{title: strings.ReplaceAll(g.Name, "_", " "), unit: strings.ReplaceAll(g.Name, "_", " ")}
	case words.columns == factorAxis && fmt.Sprint(g.Rows) == fmt.Sprint(g.Columns): // pairs of factors in another metric
		words.columns = words.rows
	}
	h := &Heat{Title: metric + ": " + words.title, Rows: g.Rows, Columns: g.Columns, Values: g.Values,
		RowTitle: words.rows, ColumnTitle: words.columns, Unit: words.unit, Signed: words.signed}
	h.Sort = words.rows == codeColumn && words.columns == factorAxis
	return h
}

// SelectedHeat returns the heatmap of the matrix R of med, with frames around the columns that med selected.
func SelectedHeat(g metrics.Grid, selected []int) *Heat {
	h := GridHeat("med", g)
	h.Framed = selected
	h.Title = fmt.Sprintf("MED map: mutual information of code columns and factors; framed: the %d columns selected",
		len(selected))
	return h
}

// scale maps numbers to colours. Signed numbers have a diverging colour map with 0 in the middle, and other numbers a
// sequential one.
type scale struct {
	low, high float64
	signed    bool
	cyclic    bool // for angles
	points    bool // for points on a white background, without the lightest colours
	label     string
}

// colour returns the colour of a number; NaN and infinity are grey.
func (s *scale) colour(v float64) color.RGBA {
	if !finite(v) {
		return colours.Light.Missing
	}
	t := 0.0
	if s.high > s.low {
		t = (v/2 - s.low/2) / (s.high/2 - s.low/2) // halves, because the range may overflow
	}
	switch {
	case s.cyclic:
		return colours.Cyclic(t)
	case s.points:
		t = 0.12 + 0.88*t
	case s.signed:
		return colours.Light.Diverging(2*t - 1)
	}
	return colours.Light.Sequential(t)
}

const heatBarRoom = 1.25 // space for a colour bar and the margins of a figure, in inches

// draw draws a colour bar from bottom to top with ticks and the label.
func (s *scale) draw(c draw.Canvas, left, bottom, top vg.Length) {
	const steps = 96
	low, high := s.low, s.high
	if low == high {
		high = low + 1
	}
	right := left + vg.Points(10)
	for i := range steps { // each step extends to the top, because gaps would be visible
		y := bottom + (top-bottom)*vg.Length(i)/steps
		v := low + (high-low)*(float64(i)+0.5)/steps
		if !finite(high - low) {
			v = low*(1-(float64(i)+0.5)/steps) + high*(float64(i)+0.5)/steps
		}
		c.FillPolygon(s.colour(v), rectangle(left, y, right, top))
	}
	thin := draw.LineStyle{Color: axisLine, Width: vg.Points(0.6)}
	outline(c, thin, rectangle(left, bottom, right, top))
	style := textStyle(8)
	style.XAlign, style.Color = draw.XLeft, faint
	var width, last vg.Length
	last = -vg.Inch
	for _, t := range s.ticks(low, high) {
		fraction := (t.Value/2 - low/2) / (high/2 - low/2)
		y := bottom + (top-bottom)*vg.Length(fraction)
		if y-last < vg.Points(9) {
			continue
		}
		last = y
		c.StrokeLine2(thin, right, y, right+vg.Points(3), y)
		c.FillText(style, vg.Point{X: right + vg.Points(5), Y: y}, t.Label)
		width = max(width, style.Width(t.Label))
	}
	if s.label == "" {
		return
	}
	style = textStyle(9)
	style.Rotation = math.Pi / 2
	c.FillText(style, vg.Point{X: right + width + vg.Points(15), Y: (top + bottom) / 2}, fit(style, s.label, top-bottom))
}

func (s *scale) ticks(low, high float64) []plot.Tick {
	if s.cyclic {
		return circleTicks
	}
	if ticks := (linearTicks{}).Ticks(low, high); len(ticks) > 1 {
		return ticks
	}
	return []plot.Tick{{Value: low, Label: fmt.Sprintf("%.3g", low)}, {Value: high, Label: fmt.Sprintf("%.3g", high)}}
}
