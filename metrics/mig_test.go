package metrics_test

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/must"
	. "github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/metrics/matrix"
	"github.com/unravel-ml/unravel/metrics/mutual"
)

func mig() *MIG {
	return &MIG{Histogram: mutual.Histogram{Bins: 20, Binning: mutual.EqualWidth}, Gap: "columns"}
}

func ordinals(sizes ...int) (factors []factor.Factor) {
	for i, n := range sizes {
		factors = append(factors, factor.Factor{Name: fmt.Sprint("f", i), Size: n, Kind: factor.Ordinal})
	}
	return factors
}

// gridInput returns a full grid with codes that are a function of the levels.
func gridInput(factors []factor.Factor, d int, code func(levels []int, z []float64)) *Input {
	grid := factor.Grid(factors)
	in := &Input{Codes: matrix.Matrix{Rows: grid.Len(), Cols: d, Data: make([]float64, grid.Len()*d)}, Factors: factors}
	levels := make([]int, len(grid))
	for i := range grid.Len() {
		grid.At(i, levels)
		in.Levels = append(in.Levels, levels...)
		code(levels, in.Codes.Row(i))
	}
	return in
}

func TestMIGGolden(t *testing.T) {
	dirs, err := filepath.Glob("testdata/mig/*")
	if err != nil || len(dirs) < 17 {
		t.Fatalf("%d cases, %v", len(dirs), err)
	}
	for _, dir := range dirs {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			var want map[string]struct {
				Value     any
				Tolerance float64
			}
			readJSON(t, filepath.Join(dir, "expected.json"), &want)
			codes := golden[float64](t, dir, "codes.npy")
			in := &Input{Codes: matrix.Matrix{Rows: codes.Shape[0], Cols: codes.Shape[1], Data: codes.Data},
				Levels: golden[int](t, dir, "factors.npy").Data, Factors: ordinals(golden[int](t, dir, "factor_sizes.npy").Data...)}
			shuffleRows(in)
			r := compute(t, mig(), in)
			near(t, "mig", r.Value, want["mig"].Value.(float64), want["mig"].Tolerance)
			if len(r.Grids) != 1 || r.Grids[0].Name != "mutual_information" {
				t.Fatalf("%+v", r.Grids)
			}
			for c, row := range want["mutual_information_nats"].Value.([]any) {
				for j, w := range row.([]any) {
					near(t, fmt.Sprintf("information of %s about %s", r.Grids[0].Rows[c], r.Grids[0].Columns[j]),
						r.Grids[0].Values[c][j], w.(float64), 1e-9)
				}
			}
		})
	}
}

func TestMIGOracles(t *testing.T) {
	factors := ordinals(4, 3, 5)
	stream := rng.New(1, "mig")
	tests := []struct {
		name string
		d    int
		code func(levels []int, z []float64)
		want float64
	}{
		{"perfect", 3, func(l []int, z []float64) { z[0], z[1], z[2] = float64(l[0]), -float64(l[1]), 1e9*float64(l[2]) }, 1},
		{"permuted", 3, func(l []int, z []float64) { z[1], z[2], z[0] = float64(l[0]), float64(l[1]), float64(l[2]) }, 1},
		{"duplicated", 6, func(l []int, z []float64) {
			for k, v := range l {
				z[k], z[k+3] = float64(v), float64(v)
			}
		}, 0},
		{"constant", 3, func(l []int, z []float64) { z[0] = 7 }, 0},
		{"one of three", 3, func(l []int, z []float64) { z[2] = float64(l[1]) }, 1.0 / 3},
		{"two factors in one column", 2, func(l []int, z []float64) { z[0], z[1] = float64(3*l[0]+l[1]), float64(l[2]) }, 1},
		{"noise", 3, func(l []int, z []float64) { z[0], z[1], z[2] = stream.Float64(), stream.Float64(), stream.Float64() }, math.NaN()},
		{"huge range", 3, func(l []int, z []float64) {
			z[0], z[1], z[2] = []float64{-1.7e308, -5e307, 5e307, 1.7e308}[l[0]], float64(l[1])*1e-320, 5+1e-9*float64(l[2])
		}, 1},
	}
	for _, test := range tests {
		for _, binning := range []mutual.Binning{mutual.EqualWidth, mutual.EqualCount} {
			r := compute(t, &MIG{Histogram: mutual.Histogram{Bins: 20, Binning: binning}, Gap: "columns"}, gridInput(factors, test.d, test.code))
			switch {
			case math.IsNaN(test.want):
				if !(r.Value >= 0 && r.Value <= 0.25) {
					t.Errorf("%s: %v", test.name, r.Value)
				}
			default:
				near(t, test.name+", bins of equal "+string(binning), r.Value, test.want, 1e-9)
			}
		}
	}
}

// A column has one outlier. Bins of equal width keep no information. Bins of equal count lose only the information in
// the outlier's bin.
func TestBinning(t *testing.T) {
	in := gridInput(ordinals(10, 10), 2, func(l []int, z []float64) {
		if z[0], z[1] = float64(l[0]), float64(l[1]); l[0] == 9 {
			z[0] = 1e6
		}
	})
	gapOf := func(bins int, binning mutual.Binning) float64 {
		r := compute(t, &MIG{Histogram: mutual.Histogram{Bins: bins, Binning: binning}, Gap: "columns"}, in)
		return r.Part("per_factor")[0]
	}
	width, count := gapOf(10, mutual.EqualWidth), gapOf(10, mutual.EqualCount)
	want := (0.1*math.Log(10) + 0.9*math.Log(1/0.9)) / math.Log(10)
	near(t, "equal width", width, want, 1e-12)
	near(t, "equal count", count, 1, 1e-12)
	near(t, "one bin", compute(t, &MIG{Histogram: mutual.Histogram{Bins: 1, Binning: mutual.EqualCount}, Gap: "columns"}, in).Value, 0, 0)
	// the largest possible codes
	huge := gridInput(ordinals(2), 2, func(l []int, z []float64) { z[0] = math.MaxFloat64 * float64(2*l[0]-1) })
	near(t, "largest codes", compute(t, &MIG{Histogram: mutual.Histogram{Bins: 2, Binning: mutual.EqualWidth},
		Gap: "columns"}, huge).Value, 1, 1e-12)
	// two bins of equal count split ten levels in halves
	near(t, "two bins", compute(t, &MIG{Histogram: mutual.Histogram{Bins: 2, Binning: mutual.EqualCount}, Gap: "columns"},
		in).Value, math.Log(2)/math.Log(10), 1e-12)
}

// Between factors, the gap is divided by the largest entropy of the factors.
func TestGapOfFactors(t *testing.T) {
	in := gridInput(ordinals(2, 8), 3, func(l []int, z []float64) {
		z[0], z[1], z[2] = float64(l[1]), float64(l[0]), float64(l[0]+10*(l[1]/4)) // bits: 3 of f1; 1 of f0; 1 of each
	})
	r := compute(t, &MIG{Histogram: mutual.Histogram{Bins: 20, Binning: mutual.EqualWidth}, Gap: "factors"}, in)
	for c, want := range []float64{1, 1, 0} {
		near(t, r.Parts[0].Labels[c], r.Part("per_column")[c], want, 1e-12)
	}
	in = gridInput(ordinals(2, 8), 1, func(l []int, z []float64) { z[0] = float64(l[0] + 2*(l[1]/2)) }) // 1 bit of f0, 2 of f1's 3 bits
	near(t, "one column", compute(t, &MIG{Histogram: mutual.Histogram{Bins: 20, Binning: mutual.EqualWidth},
		Gap: "factors"}, in).Value, 1.0/3, 1e-12)
	in = gridInput(ordinals(1, 8), 1, func(_ []int, z []float64) { z[0] = 7 })
	near(t, "a constant column and a factor of one level",
		compute(t, &MIG{Histogram: mutual.Histogram{Bins: 20, Binning: mutual.EqualWidth}, Gap: "factors"}, in).Value, 0, 0)
}

func TestMIGErrors(t *testing.T) {
	one := gridInput(ordinals(4), 1, func(l []int, z []float64) { z[0] = float64(l[0]) })
	for m, want := range map[*MIG]string{
		mig(): "want at least two, to have a gap",
		{Histogram: mutual.Histogram{Bins: 20, Binning: "w"}, Gap: "columns"}:              `unknown binning "w"`,
		{Histogram: mutual.Histogram{Bins: 0, Binning: mutual.EqualWidth}, Gap: "x"}:       `unknown gap "x"`,
		{Histogram: mutual.Histogram{Binning: mutual.EqualWidth}, Gap: "columns"}:          "bins: 0 is out of range",
		{Histogram: mutual.Histogram{Bins: 9, Binning: mutual.EqualWidth}, Gap: "factors"}: "there is 1 factor",
	} {
		must.ErrorOf(m.Compute(ctx, one))(t, want, m)
	}
	still := gridInput(ordinals(1, 4), 2, func(l []int, z []float64) { z[0] = float64(l[1]) })
	r := compute(t, mig(), still)
	near(t, "with a factor of one level", r.Value, 1, 1e-12)
	if len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "f0") || len(r.Part("per_factor")) != 1 {
		t.Errorf("%+v", r)
	}
	if _, err := mig().Compute(ctx, subset(still, []int{1})); err == nil {
		t.Error("no factor varies: no error")
	}
}

// large returns the grid of dSprites with codes of ten columns.
func large() *Input {
	factors := ordinals(3, 6, 40, 32, 32)
	factors[0].Kind, factors[2].Kind = factor.Categorical, factor.Circular
	stream := rng.New(2, "large")
	return gridInput(factors, 10, func(l []int, z []float64) {
		for c := range z {
			z[c] = stream.NormFloat64()
			if c < 5 {
				z[c] = float64(l[c]) + 0.1*z[c]
			}
		}
	})
}

func BenchmarkLarge(b *testing.B) {
	in := large()
	choices := []Choice{}
	for _, e := range entries() {
		if strings.HasPrefix(e.Name, "dlsbd") {
			continue
		}
		choices = append(choices, Choice{Name: e.Name, Value: e.New()})
	}
	best := NewSubCodeDeviation(factor.MPD)
	best.Assign = AssignBest
	choices = append(choices, Choice{Name: "mpd-best", Value: best})
	for _, c := range choices {
		b.Run(c.Name, func(b *testing.B) {
			for b.Loop() {
				must.Get(Evaluate(ctx, in, 0, []Choice{c}))(b)
			}
		})
	}
}
