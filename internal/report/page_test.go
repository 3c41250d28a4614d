package report

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/report/sheet"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/models/hierarchy"
	"github.com/unravel-ml/unravel/train/rundir"
)

// A page shows all rows of a small table and a sample of a large one. Wide tables have smaller samples. Every beginning
// of a sample is a sample too.
func TestPageRows(t *testing.T) {
	for _, c := range []struct{ n, width, want int }{{0, 4, 0}, {1, 4, 1}, {50, 4, 50}, {100000, 4, maxPagePoints},
		{100000, 1000, 120}, {100000, 4096, minPoints}, {60, 4096, 60}} {
		rows := PageRows(c.n, c.width)
		must.Equal(t, len(rows), c.want, c.n, "codes", c.width, "columns: rows")
		sorted := slices.Compact(slices.Sorted(slices.Values(rows)))
		if len(sorted) != len(rows) || len(rows) > 0 && (sorted[0] < 0 || sorted[len(sorted)-1] >= c.n) {
			t.Errorf("%d codes: rows twice, or out of range", c.n)
		}
	}
	var sum float64
	for _, r := range PageRows(100000, 4)[:400] {
		sum += float64(r) / 400
	}
	if !(math.Abs(sum-50000) <= 5000) {
		t.Errorf("the mean of the first rows is %.0f", sum)
	}
}

// In a page's codes, unknown levels are NaN, factors with one level are missing, and circles are spaces. There are two
// components.
func TestPageCodes(t *testing.T) {
	in, d, rows, spaces := coded(t, 6, nil)
	in.Factors[0].Size = 1
	c, err := PageCodes(in, d, rows, nil, spaces)
	must.OK(t, err)
	if len(c.Factors) != 2 || c.Factors[1].Name != "corner" || c.Factors[1].Kind != "categorical" || len(c.Columns) != 6 ||
		len(c.Spaces) != 2 || c.Spaces[1].Name != "circle 2" || !slices.Equal(c.Spaces[1].Columns, []int{2, 3}) {
		t.Errorf("%+v", c.Spaces)
	}
	if bits := c.Factors[1].Values.Data[:4]; !bytes.Equal(bits, []byte{0, 0, 0xc0, 0x7f}) { // row 0 has an unknown corner
		t.Errorf("the first level is % x, want NaN", bits)
	}
	if c.Components == nil || len(c.Components.Names) != 2 || c.Components.Values.Shape[0] != len(rows) {
		t.Errorf("components %+v", c.Components)
	}
	in.Codes.Data[7] = math.NaN()
	if c, err = PageCodes(in, d, rows, nil, nil); err != nil || c.Components != nil {
		t.Errorf("codes with NaN: %v, components %v", err, c.Components)
	}
	if c, err = PageCodes(&metrics.Input{}, d, nil, nil, nil); c != nil || err != nil {
		t.Errorf("no codes: %v, %v", c, err)
	}
}

// A page uses the names of levels and files. Without names, it uses values and numbers.
func TestPageNames(t *testing.T) {
	in, d, rows, spaces := coded(t, 2, nil)
	in.Factors[2].Names = []string{"left", "right", "top"}
	in.Factors[1].Size, in.Factors[1].Values = 2, []float64{0.5, 1}
	c, err := PageCodes(in, inFiles{d}, rows, nil, spaces)
	must.OK(t, err)
	if f := c.Factors; len(f[0].Levels) != f[0].Size || !slices.Equal(f[1].Levels, []string{"0.5", "1"}) ||
		!slices.Equal(f[2].Levels, in.Factors[2].Names) {
		t.Errorf("levels %q, %q, %q", f[0].Levels, f[1].Levels, f[2].Levels)
	}
	if len(c.Names) != len(rows) || c.Names[1] != fmt.Sprint(rows[1], ".png") {
		t.Errorf("files %q", c.Names)
	}
	if c, err = PageCodes(in, d, rows, nil, spaces); err != nil || c.Names != nil {
		t.Errorf("error %v, files %q of images without files", err, c.Names)
	}
	must.Equal(t, sheet.Level(in.Factors[2], 1), "right", "figures call a level")
}

// inFiles is a data set of files.
type inFiles struct{ datasets.Dataset }

func (inFiles) FileName(i int) string { return fmt.Sprint(i, ".png") }

// The codes of a page have the names of its maps and of its decoder's controls.
func TestNamesOfPageCodes(t *testing.T) {
	in, d, rows, _ := coded(t, 2, []string{"x"})
	in.Hierarchy = hierarchy.Hierarchy{{}, {Options: make([]hierarchy.Hierarchy, 2)}}
	c, err := PageCodes(in, d, rows, nil, nil)
	if err != nil || !slices.Equal(c.Columns, []string{"a0", "z0"}) {
		t.Errorf("columns %q, %v", c.Columns, err)
	}
}

// For very large matrices, a page shows the rows and columns with the largest numbers in their original order.
func TestGridMap(t *testing.T) {
	g := metrics.Grid{Name: "mutual_information"}
	for i := range 600 {
		g.Rows = append(g.Rows, fmt.Sprint("z", i))
		g.Values = append(g.Values, []float64{float64(i % 3), math.NaN()})
	}
	g.Columns = []string{"a", "b"}
	m := gridMap("mig", g)
	if len(m.Rows) != maxMapSide || m.Rows[0] != "z1" || m.Rows[1] != "z2" || len(m.Columns) != 2 || m.Signed ||
		!m.Sorted || !strings.Contains(m.Unit, "nats") || !strings.Contains(m.Title, "the largest of 600 x 2") {
		t.Errorf("%d rows, first %s: %s", len(m.Rows), m.Rows[0], m.Title)
	}
	if m = gridMap("x", metrics.Grid{Name: "c", Rows: []string{"a"}, Columns: []string{"b"}, Values: [][]float64{{-1}}}); !m.Signed || m.Sorted {
		t.Errorf("%+v", m)
	}
}

// Maps come from results and from cheap metrics. Each matrix appears once, and inapplicable metrics are missing.
func TestPageHeat(t *testing.T) {
	in, _, _, _ := coded(t, 4, nil)
	results, err := metrics.Evaluate(t.Context(), in, 0, []metrics.Choice{{Name: "mig", Value: metricNamed(t, "mig")}})
	must.OK(t, err)
	h, err := PageHeat(t.Context(), in, append(results, metrics.Result{Name: "again", Grids: results[0].Grids}))
	if err != nil || len(h.Maps) != 3 || !strings.HasPrefix(h.Maps[0].Title, "mig: mutual information") {
		t.Fatalf("%v, %d maps", err, len(h.Maps))
	}
	if want := fmt.Sprintf("1000 draws of %d images)", in.Codes.Rows); !strings.HasSuffix(h.Maps[2].Title, want) {
		t.Errorf("title %q; want %s", h.Maps[2].Title, want)
	}
	turned := results[0].Grids[0]
	turned.Rows = append([]string{"other"}, turned.Rows[1:]...)
	if h, err = PageHeat(t.Context(), nil, []metrics.Result{{Name: "one", Grids: results[0].Grids[:1]},
		{Name: "two", Grids: []metrics.Grid{turned}}}); err != nil || len(h.Maps) != 2 {
		t.Errorf("maps of other rows: %v, %+v", err, h)
	}
	in.Codes.Data[0] = math.NaN()
	if h, err = PageHeat(t.Context(), in, nil); h != nil || err != nil {
		t.Errorf("codes that are no numbers: %v, %v", h, err)
	}
	if h, err = PageHeat(t.Context(), nil, nil); h != nil || err != nil {
		t.Errorf("no codes: %v, %v", h, err)
	}
}

func metricNamed(t *testing.T, name string) metrics.Metric {
	t.Helper()
	e := must.Get(metrics.Registry.Lookup(name))(t)
	return e.New()
}

func TestRunCurves(t *testing.T) {
	if c := RunCurves(nil, nil); c != nil {
		t.Errorf("%+v of an empty log", c)
	}
	log := []rundir.Line{{Epoch: 1, Losses: rundir.Losses{"b": {"loss": 2, "kl": 1, "aux": 3}, "a": {"loss": 1}}},
		{Epoch: 1, Metrics: map[string]float64{"mig": 0.1}},
		{Epoch: 1, Metrics: map[string]float64{"mig": 0.2}},
		{Epoch: 2, Losses: rundir.Losses{"b": {"loss": math.NaN(), "kl": 1}}}}
	one := []rundir.Line{{Epoch: 1, Losses: rundir.Losses{"unsupervised": {"loss": 1}}}}
	must.Equal(t, RunCurves(nil, one).Panels[0].Title, "Losses", "one objective")
	c := RunCurves([]string{"loss", "kl"}, log)
	if mig := c.Panels[len(c.Panels)-1].Series[0]; fmt.Sprint(mig.X.Shape) != "[1]" {
		t.Errorf("mig of epoch 1 during training and at the end: %v points; want the first", mig.X.Shape)
	}
	if len(c.Panels) != 3 || c.Panels[0].Title != "Losses, a" || c.Panels[0].Lines || !c.Panels[2].Lines { // one evaluation gives no curve
		t.Fatalf("%+v", c.Panels)
	}
	var names []string
	for _, s := range c.Panels[1].Series {
		names = append(names, fmt.Sprint(s.Name, s.X.Shape))
	}
	must.Equal(t, strings.Join(names, " "), "loss[2] kl[2] aux[1]")
}
