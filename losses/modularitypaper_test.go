package losses_test

import (
	"math"
	"testing"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/datasets/drawn"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph/gradcheck"
	"github.com/unravel-ml/unravel/graph/machine"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/npy"
	"github.com/unravel-ml/unravel/losses"
)

type goldenNumber struct {
	Value     []float64
	Tolerance float64
}

// golden holds the paper's values for its encoders; see testdata/README.md.
type golden struct {
	Encoders map[string]struct {
		SubCodes [][]int
		Rad      goldenNumber `json:"rad_raw"`
		MAD      goldenNumber `json:"mad_raw"`
		Var      goldenNumber `json:"var_raw"`
		Diam     goldenNumber `json:"diam_raw"`
		MPD      goldenNumber `json:"mpd_raw"`
		MSE      goldenNumber
		MAE      goldenNumber
		ME       goldenNumber `json:"me_chebyshev_l2"`
	}
	Weakly struct {
		Subsets   [][]int
		PerSubset map[string][][]float64 `json:"per_subset"`
		Tolerance float64
	}
}

func loadGolden(t *testing.T) golden {
	t.Helper()
	var g golden
	must.ReadJSON(t, "testdata/modularity.json", &g)
	return g
}

// encoded returns the codes of an encoder in the paper, and the grid's levels.
func encoded(t *testing.T, encoder string) (z []float64, columns int, levels []float64) {
	t.Helper()
	z, columns, err := (&drawn.Entangled{Encoder: encoder, Levels: 11}).Codes(0)
	must.OK(t, err)
	if encoder == "random" {
		a := must.Get(npy.ReadFile[float64]("testdata/random.npy"))(t)
		z = a.Data
	}
	for i := range 11 * 11 * 11 {
		levels = append(levels, float64(i/121), float64(i/11%11), float64(i%11))
	}
	return z, columns, levels
}

// values runs nodes of a graph of float64 scalars.
func values(t *testing.T, nodes ...*gorgonia.Node) []float64 {
	t.Helper()
	m := must.Get(machine.New(nodes[0].Graph(), nodes...))(t)
	must.OK(t, m.RunAll())
	var v []float64
	for _, n := range nodes {
		v = append(v, m.Value(n).Data().(float64))
	}
	return v
}

// fiveOf returns radius, MAD, variance, diameter and MPD of codes.
func fiveOf(t *testing.T, z []float64, columns int, levels []float64, subCodes [][]int) []float64 {
	t.Helper()
	g := gorgonia.NewGraph()
	codes := matrix(g, "z", len(z)/columns, columns, z...)
	labels := matrix(g, "groups", len(levels)/3, 3, levels...)
	var blocks []factor.Block
	for i, c := range subCodes {
		blocks = append(blocks, factor.Block{Factor: i, Columns: c})
	}
	var nodes nodes
	for _, f := range []modularity{losses.Radius, losses.MAD, plain(factor.Variance, factor.Mean), losses.Diameter, plain(factor.MPD, factor.Mean)} {
		n := must.Get(f(codes, labels, blocks...))(t)
		nodes = append(nodes, n)
	}
	return values(t, nodes...)
}

func TestPaperModularity(t *testing.T) {
	for encoder, want := range loadGolden(t).Encoders {
		z, columns, levels := encoded(t, encoder)
		got := fiveOf(t, z, columns, levels, want.SubCodes)
		for i, w := range []goldenNumber{want.Rad, want.MAD, want.Var, want.Diam, want.MPD} {
			if !(math.Abs(got[i]-w.Value[0]) <= w.Tolerance) {
				t.Errorf("%s: radius, MAD, variance, diameter, MPD are %v; number %d should be %v", encoder, got, i, w.Value[0])
			}
		}
	}
}

// Some levels of a factor are absent, and some levels have one row.
func TestPaperModularityOfSubsets(t *testing.T) {
	g := loadGolden(t)
	for encoder, perSubset := range g.Weakly.PerSubset {
		z, columns, levels := encoded(t, encoder)
		for s, rows := range g.Weakly.Subsets {
			var some, labels []float64
			for _, i := range rows {
				some = append(some, z[i*columns:(i+1)*columns]...)
				labels = append(labels, levels[i*3:i*3+3]...)
			}
			for i, x := range fiveOf(t, some, columns, labels, g.Encoders[encoder].SubCodes) {
				if want := perSubset[s][i]; !(math.Abs(math.Exp(-x)-want) <= g.Weakly.Tolerance) {
					t.Errorf("%s, subset %d: e^-x of number %d is %v, want %v", encoder, s, i, math.Exp(-x), want)
				}
			}
			// Unknown labels outside the subset give the same values.
			if s > 0 {
				continue
			}
			partly := make([]float64, len(levels))
			for i := range partly {
				partly[i] = -1
			}
			for k, i := range rows {
				copy(partly[i*3:], labels[k*3:k*3+3])
			}
			for i, x := range fiveOf(t, z, columns, partly, g.Encoders[encoder].SubCodes) {
				if want := perSubset[s][i]; !(math.Abs(math.Exp(-x)-want) <= g.Weakly.Tolerance) {
					t.Errorf("%s, subset 0 among unknown rows: e^-x of number %d is %v, want %v", encoder, i, math.Exp(-x), want)
				}
			}
		}
	}
}

func TestModularityGradients(t *testing.T) {
	groups := gradcheck.Input{Shape: []int{18, 2}, Values: []float64{0, 0, 1, 2, 0, 1, 1, 0, 2, -1, -1, 1, 2, 2}, Constant: true}
	for name, f := range map[string]modularity{
		"variance": losses.Variance, "diameter": losses.Diameter, "mpd": losses.MPD, "radius": losses.Radius, "mad": losses.MAD,
		"plain variance": plain(factor.Variance, factor.Mean), "plain mpd": plain(factor.MPD, factor.Mean),
	} {
		for shape, blocks := range map[string][]factor.Block{"even": nil, "named": {{Factor: 1, Columns: []int{3, 0, 1}}}} {
			c := gradcheck.Case{Name: name + " of " + shape + " blocks", Inputs: []gradcheck.Input{{Shape: []int{18, 4}}, groups}, Floor32: 0.1,
				Build: func(n nodes) (*gorgonia.Node, error) { return f(n[0], n[1], blocks...) }}
			t.Run(c.Name, func(t *testing.T) { gradcheck.Check(t, c) })
		}
	}
}
