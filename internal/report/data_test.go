package report

import (
	"errors"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/internal/decode"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/metrics/matrix"
	"github.com/unravel-ml/unravel/models"
	"github.com/unravel-ml/unravel/models/hierarchy"
	"github.com/unravel-ml/unravel/train/rundir"
)

// codesOfGrid are codes of 6 x 6 images with a circular and an ordinal factor: a circle and two coordinates.
func codesOfGrid() *metrics.Input {
	in := &metrics.Input{Codes: matrix.Matrix{Rows: 36, Cols: 4}, Factors: []factor.Factor{
		{Name: "turn", Size: 6, Kind: factor.Circular}, {Name: "size", Size: 6, Kind: factor.Ordinal}}}
	for i := range 36 {
		turn, size := i/6, i%6
		x, y := []float64{1, .5, -.5, -1, -.5, .5}[turn], []float64{0, .87, .87, 0, -.87, -.87}[turn]
		in.Codes.Data = append(in.Codes.Data, x, y, float64(size), float64(turn*size))
		in.Levels = append(in.Levels, turn, size)
	}
	return in
}

// circleAndPlane are the spaces of codesOfGrid.
var circleAndPlane = []models.Space{{Width: 2, Circle: true, Unit: true}, {First: 2, Width: 2}}

// flat are codes in R^n.
func flat(codes matrix.Matrix) *decode.Codes {
	return &decode.Codes{Known: codes, Spaces: []models.Space{{Width: codes.Cols}}}
}

// A single objective needs no name in a legend: "unsupervised" would be wrong for losses from labels.
func TestLossSeries(t *testing.T) {
	log := []rundir.Line{{Epoch: 1, Losses: rundir.Losses{"supervised": {"loss": 3}, "unsupervised": {"loss": 3}}}}
	objectives := []LossNames{{"supervised", []string{"loss"}}, {"unsupervised", []string{"loss"}}}
	for n, want := range []string{"", "loss", "supervised loss, unsupervised loss"} {
		var names []string
		for _, s := range lossSeries(objectives[:n], log) {
			names = append(names, s.Name)
		}
		must.Equal(t, strings.Join(names, ", "), want, n, "objectives: curves")
	}
}

// Figures are drawn from data alone, and nothing is where they do not apply.
func TestFromData(t *testing.T) {
	long.NotShort(t)
	in := codesOfGrid()
	grey := Decoder{Height: 4, Width: 4, Channels: 1,
		Decode: func(codes []float32) ([]float32, error) { return make([]float32, len(codes)/4*16), nil }}
	log := []rundir.Line{
		{Epoch: 1, Losses: rundir.Losses{"all": {"loss": 3}}}, {Epoch: 1, Metrics: map[string]float64{"mig": 1}},
		{Epoch: 2, Losses: rundir.Losses{"all": {"loss": 2}}},
	}
	scores := []metrics.Result{
		{Name: "r4", Parts: []metrics.Part{{Name: "per_factor", Values: []float64{0.1, 0.9}}}},
		{Name: "r4c", Parts: []metrics.Part{{Name: "per_factor", Values: []float64{0.25, 1}}}},
	}
	names := []LossNames{{Objective: "all", Names: []string{"loss"}}}
	for name, figure := range map[string]func(w io.Writer) error{
		"torus":      func(w io.Writer) error { return LatentTorus(w, "torus", in, []int{0}) },
		"codes":      func(w io.Writer) error { return TrainedCodes(w, "codes", in.Codes, in) },
		"histograms": func(w io.Writer) error { return CodeHistograms(w, "histograms", in, scores) },
		"circles": func(w io.Writer) error {
			return CodeTraversals(w, &decode.Codes{Known: in.Codes, Spaces: circleAndPlane}, nil, grey)
		},
		"traversals": func(w io.Writer) error { return CodeTraversals(w, flat(in.Codes), nil, grey) },
		"paths":      func(w io.Writer) error { return PathTraversals(w, in.Codes, make(hierarchy.Hierarchy, 4), grey) },
		"losses":     func(w io.Writer) error { return LossCurves(w, "losses", names, log) },
	} {
		show(t, name+" of data", figure)
	}
	single := &metrics.Input{Codes: matrix.Matrix{Rows: 1, Cols: 1, Data: []float64{0}}}
	for name, nothing := range map[string]error{
		"no circle":  LatentTorus(failing{}, "", in, nil),
		"no epoch":   LossCurves(failing{}, "", names, log[1:2]),
		"one column": TrainedCodes(failing{}, "", matrix.Matrix{}, single),
	} {
		if nothing != nil {
			t.Errorf("%s: %v", name, nothing)
		}
	}
	broken := errors.New("broken")
	grey.Decode = func([]float32) ([]float32, error) { return nil, broken }
	if err := CodeTraversals(io.Discard, flat(in.Codes), nil, grey); !errors.Is(err, broken) {
		t.Errorf("a decoder that fails: %v", err)
	}
}

// A factor with a single level takes no colour from others.
func TestLevelColumns(t *testing.T) {
	in := &metrics.Input{Codes: matrix.Matrix{Rows: 2}, Levels: []int{0, 0, 0, 1}}
	in.Factors = []factor.Factor{{Name: "one", Size: 1}, {Name: "two", Size: 2}}
	if list := levelColumns(in); len(list) != 1 || list[0].Name != "two" {
		t.Errorf("%+v; want two alone", list)
	}
	in.Factors[1].Size, in.Levels[3] = 1, 0
	if list := levelColumns(in); len(list) != 2 {
		t.Errorf("%+v; want both, as no factor varies", list)
	}
}

// A traversal moves one column from its 1st to its 99th percentile, and keeps the others constant. The traversals of a
// path use the path's percentiles.
func TestTraversalsByPercentile(t *testing.T) {
	codes := matrix.Matrix{Rows: 202, Cols: 3}
	for i := range 101 { // only option 2 has z0
		codes.Data = append(codes.Data, 1, 0, float64(i), 2, 10*float64(i), -float64(i))
	}
	var got []float32
	d := Decoder{Height: 1, Width: 1, Channels: 1, Decode: func(codes []float32) ([]float32, error) {
		got = slices.Clone(codes)
		return make([]float32, len(codes)/3), nil
	}}
	check := func(ends [][3]float32) {
		t.Helper()
		if len(got) != len(ends)/2*traversalSteps*3 {
			t.Fatalf("%d numbers, want %d rows of %d steps", len(got), len(ends)/2, traversalSteps)
		}
		for i, want := range ends {
			row := i/2*traversalSteps + i%2*(traversalSteps-1)
			for c, v := range want {
				if !(math.Abs(float64(got[3*row+c]-v)) <= 1e-4) {
					t.Errorf("row %d: %v, want %v", row, got[3*row:3*row+3], want)
					break
				}
			}
		}
	}
	must.OK(t, CodeTraversals(io.Discard, flat(codes), nil, d))
	check([][3]float32{{1, 0, 0}, {2, 0, 0}, {1, 0, 0}, {1, 979.9, 0}, {1, 0, -97.99}, {1, 0, 97.99}})
	h := hierarchy.Hierarchy{{Options: []hierarchy.Hierarchy{{}, {{}}}}, {}}
	must.OK(t, PathTraversals(io.Discard, codes, h, d))
	check([][3]float32{{1, 0, 1}, {1, 0, 99}, {2, 10, -50}, {2, 990, -50}, {2, 500, -99}, {2, 500, -1}})
}

// failing is a writer that always fails.
type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("something is drawn") }

// The title of every matrix says what it shows, and its rows have a name.
func TestGridTexts(t *testing.T) {
	long.NotShort(t)
	in, grids := codesOfGrid(), 0
	for _, e := range metrics.Registry.Entries {
		m := e.New()
		if v, ok := m.(config.Validator); ok && v.Validate() != nil {
			continue
		}
		r, err := m.Compute(t.Context(), in)
		if err != nil {
			continue // too few rows, or other factors
		}
		for _, g := range r.Grids {
			if h := GridHeat(e.Name, g); h.RowTitle == "" || h.Title == e.Name+": "+g.Name {
				t.Errorf("matrix %s of %s: title %q, rows %q", g.Name, e.Name, h.Title, h.RowTitle)
			}
			grids++
		}
	}
	if grids < 10 {
		t.Errorf("only %d matrices", grids)
	}
}
