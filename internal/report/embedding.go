package report

import (
	"errors"
	"fmt"
	"image/color"
	"io"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/colours"
	"github.com/unravel-ml/unravel/internal/geometry"
	"github.com/unravel-ml/unravel/internal/report/sheet"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/metrics/matrix"
)

// Limits of the figure of principal components.
const (
	maxEmbedded       = 4000 // maximum number of points
	maxEmbeddedPanels = 12   // maximum number of factors
	embeddedColumns   = 3
	maxKeyNames       = 12 // maximum number of categories in a key
)

// Embedding draws codes along their first two principal components, with one panel per factor, coloured by level.
// Circular factors have a cyclic colour map, categorical factors the palette, and other factors a map from light to
// dark. Codes of one column are drawn against the number of their row. If no factor varies, there is one panel in one colour. For
// fewer than two finite codes, Embedding writes nothing.
func Embedding(w io.Writer, title string, in *metrics.Input) error {
	rows := rng.New(0, "figure/embedding").Perm(in.Codes.Rows)
	rows = slices.DeleteFunc(rows, func(i int) bool { return !allFinite(in.Codes.Row(i)) })
	rows = rows[:min(len(rows), maxEmbedded)]
	if len(rows) < 2 {
		return nil
	}
	slices.Sort(rows)
	plane, err := principalPlane(in.Codes, rows)
	if err != nil {
		return err
	}
	panels := variedFactors(in, maxEmbeddedPanels, false)
	if panels == nil {
		panels = []int{-1} // one panel without a factor
	}
	if n := len(in.Factors); len(panels) == maxEmbeddedPanels && n > maxEmbeddedPanels {
		title += fmt.Sprintf(" (%d of %d factors)", len(panels), n)
	}
	if len(rows) < in.Codes.Rows {
		title += fmt.Sprintf(", %d of %d codes", len(rows), in.Codes.Rows)
	}
	columns := min(embeddedColumns, len(panels))
	count := (len(panels) + columns - 1) / columns
	return figure{title, 4.1*float64(columns) + 0.2, 3.3*float64(count) + 0.6, vg.Points(6)}.render(w, func(c draw.Canvas) {
		tiles := draw.Tiles{Rows: count, Cols: columns, PadX: vg.Points(10), PadY: vg.Points(12)}
		for i, k := range panels {
			tile := tiles.At(c, i%columns, i/columns)
			key := keyOf(in, k)
			p := plane.plot(in, rows, k, key)
			p.Draw(draw.Crop(tile, 0, -vg.Length(embeddedKey)*vg.Inch, 0, 0))
			key.draw(tile, tile.Max.X-vg.Length(embeddedKey-0.06)*vg.Inch)
		}
	})
}

const embeddedKey = 1.05 // width of a key, in inches

type plane struct {
	x, y  []float64
	names [2]string
}

// principalPlane projects rows onto the two axes with the largest variances; see [geometry.PCA].
func principalPlane(codes matrix.Matrix, rows []int) (*plane, error) {
	n, d := len(rows), codes.Cols
	p := &plane{x: make([]float64, n), y: make([]float64, n)}
	if d == 1 {
		p.names = [2]string{"z0", "image"}
		for r, i := range rows {
			p.x[r], p.y[r] = codes.Row(i)[0], float64(i)
		}
		return p, nil
	}
	x := codes.Take(rows)
	scale := 1.0 // keeps squares finite
	if largest := math.Max(floats.Max(x), -floats.Min(x)); largest > 0 {
		scale = largest
	}
	for i := range x {
		x[i] /= scale
	}
	c, err := geometry.PCA(x, d)
	if err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	for r, coordinate := range c.Project(x, 2) {
		if coordinate *= scale; !finite(coordinate) {
			return nil, errors.New("report: the codes are too large for principal components")
		}
		[][]float64{p.x, p.y}[r%2][r/2] = coordinate
	}
	total := floats.Dot(c.Sigma, c.Sigma)
	for a := range p.names {
		p.names[a] = fmt.Sprintf("principal component %d", a+1)
		if total > 0 {
			p.names[a] += fmt.Sprintf(" (%.0f %%)", 100*c.Sigma[a]*c.Sigma[a]/total)
		}
	}
	return p, nil
}

// plot draws the points in the colours of a factor. Points without a level are behind the others.
func (p *plane) plot(in *metrics.Input, rows []int, k int, key *factorKey) *plot.Plot {
	name, levels := "codes", slices.Repeat([]int{factor.Unknown}, len(rows))
	if k >= 0 {
		name = "coloured by " + in.Factors[k].Name
		for r, i := range rows {
			levels[r] = in.Levels[i*len(in.Factors)+k]
		}
	}
	points := &cloud{radius: vg.Points(1.5)}
	for _, unknown := range []bool{true, false} {
		for r, level := range levels {
			if (level == factor.Unknown) == unknown {
				points.add(p.x[r], p.y[r], key.colour(level))
			}
		}
	}
	return pointPlot(name, p.names[0], p.names[1], points)
}

// factorKey maps the levels of a factor to colours, and draws the key.
type factorKey struct {
	f       factor.Factor
	single  bool
	missing bool
	scale   scale
}

// keyOf returns the key of a factor; -1 means no factor.
func keyOf(in *metrics.Input, k int) *factorKey {
	if k < 0 {
		return &factorKey{single: true}
	}
	key := &factorKey{f: in.Factors[k], scale: scale{label: in.Factors[k].Name, low: math.Inf(1), high: math.Inf(-1),
		points: true}}
	for level := range key.f.Size {
		v := key.f.Value(level)
		key.scale.low, key.scale.high = min(key.scale.low, v), max(key.scale.high, v)
	}
	for r := range in.Codes.Rows {
		key.missing = key.missing || in.Levels[r*len(in.Factors)+k] == factor.Unknown
	}
	return key
}

func (key *factorKey) colour(level int) color.RGBA {
	switch {
	case key.single:
		return palette[0]
	case level == factor.Unknown:
		return colours.Light.Missing
	case key.f.Kind == factor.Circular:
		return colours.Cyclic(key.f.Angle(level) / (2 * math.Pi))
	case key.f.Kind == factor.Categorical:
		return groupColour(level)
	}
	return key.scale.colour(key.f.Value(level))
}

func (key *factorKey) draw(c draw.Canvas, left vg.Length) {
	if key.single {
		return
	}
	top, bottom := c.Max.Y-vg.Points(24), c.Min.Y+vg.Points(40)
	if key.missing {
		bottom += vg.Points(16)
		dotWithName(c, vg.Point{X: left + vg.Points(5), Y: c.Min.Y + vg.Points(40)}, colours.Light.Missing, "unknown")
	}
	switch key.f.Kind {
	case factor.Categorical:
		names := make([]string, key.f.Size)
		for i := range names {
			names[i] = sheet.Level(key.f, i)
		}
		if len(names) > maxKeyNames {
			names = append(names[:maxKeyNames-1:maxKeyNames-1], fmt.Sprintf("%d more", key.f.Size-maxKeyNames+1))
		}
		for i, name := range names {
			dotWithName(c, vg.Point{X: left + vg.Points(5), Y: top - vg.Points(13*float64(i))}, groupColour(i),
				fit(textStyle(9), name, 0.8*vg.Inch))
		}
	case factor.Circular:
		s := scale{low: 0, high: 360, cyclic: true, label: key.f.Name + ", degrees"}
		s.draw(c, left, bottom, top)
	default:
		key.scale.draw(c, left, bottom, top)
	}
}
