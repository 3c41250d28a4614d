package eval_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"image"
	"image/color"
	imagedraw "image/draw"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/colours"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/raster"
	"github.com/unravel-ml/unravel/metrics"
)

var drawMetrics = flag.Bool("metric-pictures", false, "draw the pictures of docs/metrics.md and print its table")

// side is the number of levels of each of the two factors.
const side = 16

// example is a code of images with two factors, a and b, of 16 levels each.
type example struct {
	name string
	code func(a, b float64, r *rng.Stream) []float64 // a and b from -1 to 1
}

// lines are codes of ordinal factors, and rings are codes of circular factors.
var lines = []example{
	{"aligned", func(a, b float64, _ *rng.Stream) []float64 { return []float64{a, b} }},
	{"warped", func(a, b float64, _ *rng.Stream) []float64 { return []float64{a * a * a, math.Tanh(3 * b)} }},
	{"rotated", func(a, b float64, _ *rng.Stream) []float64 { return []float64{(a + b) / 2, (a - b) / 2} }},
	{"swirled", func(a, b float64, _ *rng.Stream) []float64 {
		sin, cos := math.Sincos(2 * math.Hypot(a, b))
		return []float64{(a*cos - b*sin) / math.Sqrt2, (a*sin + b*cos) / math.Sqrt2}
	}},
	{"doubled", func(a, b float64, _ *rng.Stream) []float64 { return []float64{a, b, a, b} }},
	{"folded", func(a, b float64, _ *rng.Stream) []float64 { return []float64{math.Abs(a), b} }},
	{"small", func(a, b float64, _ *rng.Stream) []float64 { return []float64{a / 50, b / 50} }},
	{"random", func(_, _ float64, r *rng.Stream) []float64 {
		return []float64{2*r.Float64() - 1, 2*r.Float64() - 1}
	}},
}

var rings = []example{
	{"circles", ring(func(u, v float64) (float64, float64) { return u, v }, 1)},
	{"turned", func(a, b float64, r *rng.Stream) []float64 {
		c := ring(func(u, v float64) (float64, float64) { return u, v }, 1)(a, b, r)
		return []float64{(c[0] + c[2]) / 2, (c[1] + c[3]) / 2, (c[0] - c[2]) / 2, (c[1] - c[3]) / 2}
	}},
	{"uneven", ring(func(u, v float64) (float64, float64) { return u + 0.7*math.Sin(u), v + 0.7*math.Sin(v) }, 1)},
	{"squashed", ring(func(u, v float64) (float64, float64) { return u, v }, 0.4)},
	{"mixed", ring(func(u, v float64) (float64, float64) { return u + v, u - v }, 1)},
	{"lines", func(a, b float64, _ *rng.Stream) []float64 { return []float64{a, b} }},
	{"random", func(_, _ float64, r *rng.Stream) []float64 {
		return []float64{2*r.Float64() - 1, 2*r.Float64() - 1}
	}},
}

func ring(angles func(u, v float64) (float64, float64), height float64) func(a, b float64, _ *rng.Stream) []float64 {
	return func(a, b float64, _ *rng.Stream) []float64 {
		u, v := angles(math.Pi*a*(side-1)/side, math.Pi*b*(side-1)/side)
		return []float64{math.Cos(u), height * math.Sin(u), math.Cos(v), height * math.Sin(v)}
	}
}

// rows returns the codes of all images, and their levels.
func (e example) rows() (codes [][]float64, levels [][]int) {
	r := rng.New(1, "example/"+e.name)
	for i := range side {
		for j := range side {
			codes = append(codes, e.code(2*float64(i)/(side-1)-1, 2*float64(j)/(side-1)-1, r))
			levels = append(levels, []int{i, j})
		}
	}
	return codes, levels
}

// input returns a metric's input for an example.
func (e example) input(t *testing.T, kind factor.Kind) *metrics.Input {
	t.Helper()
	rows, levels := e.rows()
	codes := must.Get(metrics.FromRows(rows))(t)
	in, err := metrics.NewInput(codes, levels, []factor.Factor{{Name: "a", Size: side, Kind: kind}, {Name: "b", Size: side, Kind: kind}})
	must.OK(t, err)
	return in
}

// pictured lists the metrics with a picture, in the order of docs/metrics.md.
var pictured = []string{"mig", "dci", "med", "modularity", "co-occurrence", "variance", "mad", "radius", "diameter",
	"mpd", "factor-vae", "beta-vae", "irs", "sap",
	"mse", "mae", "me", "contraction-mean", "contraction-max", "explicitness", "probe", "knn", "downstream", "r4",
	"mutual-information", "total-correlation", "wasserstein-correlation", "code-spread"}

var turned = []string{"dlsbd", "dlsbd-workshop"}

// valuesOf returns the values of metrics for an example, or NaN for a metric without a value.
func valuesOf(t *testing.T, e example, kind factor.Kind, names []string) []float64 {
	t.Helper()
	values := make([]float64, len(names))
	in := e.input(t, kind)
	for i, name := range names {
		values[i] = math.NaN()
		choice := must.Get(metrics.Named(name))(t)
		if m, ok := choice.Value.(metrics.SubCoded); ok { // like eval with codes from files
			m.SetCodes(nil, metrics.AssignBest)
		}
		if r, err := metrics.Evaluate(context.Background(), in, 0, []metrics.Choice{choice}); err == nil {
			values[i] = float64(r[0].Value)
		} else {
			t.Logf("%s of %s: %v", name, e.name, err)
		}
	}
	return values
}

// The tables of docs/metrics.md show the values of its examples, and each metric has a picture and an entry. The
// default test measures some metrics. With -metric-pictures, the test draws all pictures and prints the tables.
func TestMetricPage(t *testing.T) {
	long.NotShort(t)
	page := string(must.Read(t, filepath.Join("..", "..", "..", "docs", "metrics.md")))
	chosen := []string{"swirled", "uneven", "mixed"}
	for _, group := range []struct {
		examples []example
		kind     factor.Kind
		names    []string
	}{{lines, factor.Ordinal, pictured}, {rings, factor.Circular, turned}} {
		columns := make([][]float64, len(group.examples))
		for i, e := range group.examples {
			if *drawMetrics || long.Enabled() || slices.Contains(chosen, e.name) {
				columns[i] = valuesOf(t, e, group.kind, group.names)
			}
		}
		for k, name := range group.names {
			values, pattern := make([]string, len(columns)), make([]string, len(columns))
			for i, c := range columns {
				if pattern[i] = "[^|]+"; c != nil {
					values[i] = short2(c[k])
					pattern[i] = regexp.QuoteMeta(values[i])
				}
			}
			file := filepath.Join("..", "..", "..", "docs", "metrics", name+".png")
			if *drawMetrics {
				fmt.Println("| `" + name + "` | " + strings.Join(values, " | ") + " |")
				must.Write(t, file, strip(t, group.examples, values))
				continue
			}
			if row := "(?m)^\\| `" + name + "` \\| " + strings.Join(pattern, ` \| `) + ` \|$`; !regexp.MustCompile(row).MatchString(page) {
				t.Errorf("docs/metrics.md does not have the row\n%s", row)
			}
			if !strings.Contains(page, "(metrics/"+name+".png)") {
				t.Errorf("docs/metrics.md does not show the picture of %s", name)
			}
			if _, err := os.Stat(file); err != nil {
				t.Error(err)
			}
		}
	}
	for _, e := range metrics.Registry.Entries {
		if !strings.Contains(page, "`"+e.Name+"`") {
			t.Errorf("docs/metrics.md does not have the metric %s", e.Name)
		}
	}
}

// short2 formats a number with two decimals.
func short2(v float64) string {
	switch {
	case math.IsNaN(v):
		return "none"
	case math.Abs(v) < 0.005:
		return "0"
	}
	return fmt.Sprintf("%.2f", v)
}

// strip draws codes side by side, each as a lattice of lines with one fixed factor, with a value below.
func strip(t *testing.T, examples []example, values []string) []byte {
	t.Helper()
	const width, height, dpi = 82, 112, 120
	c := vgimg.NewWith(vgimg.UseWH(vg.Length(width*len(examples)), height), vgimg.UseDPI(dpi), vgimg.UseBackgroundColor(colours.Light.Paper))
	all := draw.New(c)
	style := draw.TextStyle{Color: colours.Light.Ink, XAlign: draw.XCenter, YAlign: draw.YCenter, Handler: plot.DefaultTextHandler}
	style.Font.Typeface, style.Font.Variant, style.Font.Size = plot.DefaultFont.Typeface, "Sans", 9
	for i, e := range examples {
		left := vg.Length(width * i)
		box := draw.Crop(all, left+8, left+width-8-vg.Length(width*len(examples)), 24, -18)
		rows, _ := e.rows()
		lattice(box, rows, 0, 0)
		if e.name == "doubled" { // the other two columns
			lattice(box, rows, 2, 4)
		}
		style.Color, style.Font.Size, style.Font.Weight = colours.Light.Faint, 9, 0
		all.FillText(style, vg.Point{X: left + width/2, Y: height - 9}, e.name)
		style.Color, style.Font.Size, style.Font.Weight = colours.Light.Ink, 12, 2
		all.FillText(style, vg.Point{X: left + width/2, Y: 10}, values[i])
	}
	full := image.NewRGBA(c.Image().Bounds())
	imagedraw.Draw(full, full.Rect, c.Image(), image.Point{}, imagedraw.Src)
	few := image.NewPaletted(full.Rect, raster.Palette([]*image.RGBA{full}, 32))
	imagedraw.Draw(few, few.Rect, full, image.Point{}, imagedraw.Src)
	var b bytes.Buffer
	must.OK(t, (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&b, few))
	return b.Bytes()
}

// lattice draws two columns of codes, from -1 to 1, shifted by some points. b is fixed along blue lines, and a along
// orange lines.
func lattice(box draw.Canvas, rows [][]float64, first int, by vg.Length) {
	at := func(i, j int) vg.Point {
		z := rows[i*side+j]
		size := box.Max.X - box.Min.X
		return vg.Point{X: box.Min.X + size*vg.Length(z[first]+1)/2 + by, Y: box.Min.Y + size*vg.Length(z[first+1]+1)/2 + by}
	}
	line := func(c color.Color, at func(k int) vg.Point) {
		var p []vg.Point
		for k := range side {
			p = append(p, at(k))
		}
		box.StrokeLines(draw.LineStyle{Color: c, Width: 0.5}, p)
	}
	for k := range side {
		line(colours.Light.Series(0), func(i int) vg.Point { return at(i, k) })
		line(colours.Light.Series(1), func(i int) vg.Point { return at(k, i) })
	}
}
