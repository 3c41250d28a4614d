package report

import (
	"cmp"
	"fmt"
	"image/color"
	"io"
	"maps"
	"math"
	"slices"

	"github.com/unravel-ml/unravel/internal/numeric"
	"github.com/unravel-ml/unravel/internal/wording"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/colours"
	"github.com/unravel-ml/unravel/metrics/matrix"
	"github.com/unravel-ml/unravel/models/hierarchy/mimosa"
)

// Limits of the figure of components.
const (
	maxGroupDots      = 6000
	componentColumns  = 3
	maxComponentViews = 12
)

// Manifolds are the components that an algorithm such as MIMOSA has found in codes.
type Manifolds struct {
	Codes      matrix.Matrix
	Components Grouping
	Parts      Grouping // components before merging; without labels: unknown
	Truth      Grouping // true dimensions; without labels: unknown
}

// Grouping assigns codes to groups.
type Grouping struct {
	Labels []int    // by code: group from 0; -1: none
	Names  []string // names of the groups
}

// NumberedGroups returns a grouping with groups named by number, dimension (unless nil or 0) and size.
func NumberedGroups(labels, dims []int) Grouping {
	g := Grouping{Labels: labels}
	sizes := make([]int, max(len(dims), slices.Max(append([]int{-1}, labels...))+1))
	for _, l := range labels {
		if l >= 0 {
			sizes[l]++
		}
	}
	for i, size := range sizes {
		name := fmt.Sprintf("%d: %s", i, wording.Count(size, "code"))
		if i < len(dims) && dims[i] > 0 {
			name = fmt.Sprintf("%d: dimension %d, %s", i, dims[i], wording.Count(size, "code"))
		}
		g.Names = append(g.Names, name)
	}
	return g
}

// BySize renumbers groups, starting with the largest, and drops empty groups.
func BySize(labels, dims []int) (sorted, dimensions []int) {
	sizes := map[int]int{}
	for _, l := range labels {
		if l >= 0 {
			sizes[l]++
		}
	}
	order := slices.SortedFunc(maps.Keys(sizes), func(a, b int) int { return cmp.Or(sizes[b]-sizes[a], a-b) })
	number := map[int]int{-1: -1}
	for n, l := range order {
		number[l] = n
		if l < len(dims) {
			dimensions = append(dimensions, dims[l])
		}
	}
	for _, l := range labels {
		sorted = append(sorted, number[l])
	}
	return sorted, dimensions
}

// Components draws codes along their principal axes (Ross and Doshi-Velez 2021, figure 3), coloured by true dimensions,
// by components before merging and by components after merging. It also draws components alone along their own axes,
// at most 12 of them.
func Components(w io.Writer, title string, m Manifolds) error {
	rows := sampleIndices(m.Codes.Rows)
	axes := projectOnAxes(m.Codes, rows, numeric.UpTo(m.Codes.Rows))
	var table []GroupRow
	planes := func(name string, g Grouping) {
		if g.Labels == nil {
			return
		}
		row := GroupRow{Names: g.Names}
		for _, pair := range [][2]int{{0, 1}, {0, 2}, {1, 2}} {
			if pair[1] < len(axes) {
				row.Views = append(row.Views,
					View{Name: name, X: axes[pair[0]], Y: axes[pair[1]], Groups: valuesAt(g.Labels, rows)})
			}
		}
		table = append(table, row)
	}
	planes("true dimensions", m.Truth)
	planes("before merging", m.Parts)
	planes("components", m.Components)
	shown := m.Truth
	if shown.Labels == nil {
		shown = m.Components
	}
	if n := len(m.Components.Names); n > maxComponentViews {
		title += fmt.Sprintf("; alone: the first %d of %d components", maxComponentViews, n)
	}
	for i := range m.Components.Names[:min(len(m.Components.Names), maxComponentViews)] {
		if i%componentColumns == 0 {
			table = append(table, GroupRow{Names: shown.Names})
		}
		var points []int
		for code, l := range m.Components.Labels {
			if l == i {
				points = append(points, code)
			}
		}
		shownRows := valuesAt(points, sampleIndices(len(points)))
		componentAxes := projectOnAxes(m.Codes, shownRows, points)
		last := &table[len(table)-1]
		view := View{Name: fmt.Sprintf("component %d alone", i), X: componentAxes[0], Y: componentAxes[1]}
		view.Groups = valuesAt(shown.Labels, shownRows)
		last.Views = append(last.Views, view)
	}
	return groups(w, title, table)
}

// sampleIndices returns a random sample of n indices, at most maxGroupDots.
func sampleIndices(n int) []int {
	return rng.New(0, "figure/components").Perm(n)[:min(n, maxGroupDots)]
}

// projectOnAxes projects rows of codes onto the first three principal axes of the reference rows, two columns or more.
func projectOnAxes(codes matrix.Matrix, rows, reference []int) []Column {
	d := codes.Cols
	p := mimosa.Principal(codes.Take(reference), d)
	list := make([]Column, max(2, min(d, 3)))
	for a := range list {
		list[a] = Column{Name: fmt.Sprint("axis ", a+1), Values: make([]float64, len(rows))}
		if a >= d {
			continue
		}
		for n, i := range rows {
			for c, v := range codes.Row(i) {
				list[a].Values[n] += (v - p.Mean[c]) * p.Axes[a*d+c]
			}
		}
	}
	return list
}

func valuesAt(values, rows []int) []int {
	list := make([]int, len(rows))
	for n, i := range rows {
		list[n] = values[i]
	}
	return list
}

// View is a panel of points. Each point is in at most one group.
type View struct {
	Name   string
	X, Y   Column
	Groups []int // group of each point; -1: none
}

// GroupRow is a row of panels with the names of their groups.
type GroupRow struct {
	Names []string
	Views []View
}

const maxLegend = 14 // maximum number of names in a legend

// groups draws rows of panels with every point in the colour of its group. Points without a group are grey and behind.
func groups(w io.Writer, title string, rows []GroupRow) error {
	columns := 0
	for _, r := range rows {
		columns = max(columns, len(r.Views))
	}
	plots := make([][]*plot.Plot, len(rows))
	letters := 0
	for i, r := range rows {
		plots[i] = make([]*plot.Plot, columns)
		for j, v := range r.Views {
			plots[i][j] = groupPlot(v)
		}
		for _, name := range legend(r.Names) {
			letters = max(letters, len([]rune(name)))
		}
	}
	right := 0.35 + 0.078*float64(letters) // inches
	return figure{title, 3.1*float64(columns) + right + 0.2, 3.2*float64(len(rows)) + 0.6, vg.Points(6)}.render(w, func(c draw.Canvas) {
		panels(plots)(draw.Crop(c, 0, -vg.Length(right)*vg.Inch, 0, 0))
		height := (c.Max.Y - c.Min.Y) / vg.Length(len(rows))
		for i, r := range rows {
			at := vg.Point{X: c.Max.X - vg.Length(right)*vg.Inch + vg.Points(8),
				Y: c.Max.Y - vg.Length(i)*height - vg.Points(34)}
			for g, name := range legend(r.Names) {
				dotWithName(c, vg.Point{X: at.X, Y: at.Y - vg.Points(13*float64(g))}, groupColour(g), name)
			}
		}
	})
}

func legend(names []string) []string {
	if len(names) <= maxLegend {
		return names
	}
	return append(append([]string(nil), names[:maxLegend-1]...), fmt.Sprintf("and %d more", len(names)-maxLegend+1))
}

// groupColour returns the colour of a group; -1 means no group.
func groupColour(g int) color.RGBA {
	switch {
	case g < 0:
		return colours.Light.Missing
	case g < len(palette):
		return palette[g]
	}
	_, turn := math.Modf(float64(g) * (math.Sqrt(5) - 1) / 2)
	return colours.Cyclic(turn)
}

func groupPlot(v View) *plot.Plot {
	points := &cloud{radius: vg.Points(1.1)}
	for _, ungrouped := range []bool{true, false} {
		for i, g := range v.Groups {
			if (g < 0) == ungrouped {
				points.add(v.X.Values[i], v.Y.Values[i], groupColour(g))
			}
		}
	}
	return pointPlot(v.Name, v.X.Name, v.Y.Name, points)
}
