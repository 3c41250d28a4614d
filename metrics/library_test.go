package metrics_test

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/must"
	. "github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/metrics/matrix"
)

// libraryValue is an expected value of disentanglement_lib.
type libraryValue struct {
	Value     any
	Tolerance float64
	Settings  struct {
		TrainRows   int    `json:"train_rows"`
		TestRows    string `json:"test_rows"`
		TiesPresent bool   `json:"ties_present"`
	}
}

func (v libraryValue) number() float64 { return v.Value.(float64) }

// eachLibraryCase runs a test for every case with a key, and checks their number.
func eachLibraryCase(t *testing.T, key string, cases int, test func(t *testing.T, in *Input, want map[string]libraryValue)) {
	t.Helper()
	dirs, err := filepath.Glob("testdata/library/*")
	if err != nil || len(dirs) != 21 {
		t.Fatalf("%d cases, %v; want 21", len(dirs), err)
	}
	for _, dir := range dirs {
		var want map[string]libraryValue
		readJSON(t, filepath.Join(dir, "expected.json"), &want)
		if _, ok := want[key]; !ok {
			continue
		}
		cases--
		t.Run(filepath.Base(dir), func(t *testing.T) {
			at := dir
			if _, err := os.Stat(filepath.Join(at, "codes.npy")); err != nil {
				at = filepath.Join("testdata/mig", filepath.Base(dir))
			}
			codes := golden[float64](t, at, "codes.npy")
			test(t, &Input{Codes: matrix.Matrix{Rows: codes.Shape[0], Cols: codes.Shape[1], Data: codes.Data},
				Levels: golden[int](t, at, "factors.npy").Data, Factors: ordinals(golden[int](t, at, "factor_sizes.npy").Data...),
				Stream: rng.New(1, "library")}, want)
		})
	}
	must.Equal(t, cases, 0, "cases", key, "are missing")
}

func named(name string) Metric { return choice(name).Value }

func TestModularityGolden(t *testing.T) {
	eachLibraryCase(t, "modularity", 21, func(t *testing.T, in *Input, want map[string]libraryValue) {
		shuffleRows(in)
		near(t, "modularity", compute(t, named("modularity"), in).Value, want["modularity"].number(), 1e-9)
	})
}

func TestUnsupervisedGolden(t *testing.T) {
	for key, test := range map[string]struct {
		name  string
		cases int
	}{
		"mean_mi_between_codes":            {"mutual-information", 9},
		"gaussian_total_correlation":       {"total-correlation", 7},
		"gaussian_wasserstein_correlation": {"wasserstein-correlation", 7},
	} {
		eachLibraryCase(t, key, test.cases, func(t *testing.T, in *Input, want map[string]libraryValue) {
			near(t, key, compute(t, named(test.name), in).Value, want[key].number(), want[key].Tolerance)
		})
	}
}

func TestModularityOracles(t *testing.T) {
	factors := ordinals(4, 3, 5)
	for _, test := range []struct {
		name string
		d    int
		code func(l []int, z []float64)
		want float64
	}{
		{"perfect", 3, func(l []int, z []float64) { z[0], z[1], z[2] = float64(l[0]), -float64(l[1]), 1e9*float64(l[2]) }, 1},
		{"duplicated", 6, func(l []int, z []float64) {
			for k, v := range l {
				z[k], z[5-k] = float64(v), float64(v)
			}
		}, 1},
		{"constant", 3, func(l []int, z []float64) { z[0] = 7 }, 0},
		{"one column, one factor", 1, func(l []int, z []float64) { z[0] = float64(l[1]) }, 1},
		{"half dead", 2, func(l []int, z []float64) { z[0] = float64(l[1]) }, 0.5},
		{"two factors in one", 1, func(l []int, z []float64) { z[0] = float64(l[0] + 4*l[2]) },
			1 - math.Pow(math.Log(4)/math.Log(5), 2)/2},
	} {
		r := compute(t, named("modularity"), gridInput(factors, test.d, test.code))
		near(t, test.name, r.Value, test.want, 1e-12)
		if strings.Contains(test.name, "dead") != (len(r.Notes) > 0) && test.name != "constant" {
			t.Errorf("%s: notes %v", test.name, r.Notes)
		}
	}
	one := gridInput(ordinals(4), 1, func(l []int, z []float64) { z[0] = float64(l[0]) })
	must.ErrorOf(named("modularity").Compute(ctx, one))(t, "there is 1 factor; want at least 2")
	single := subset(gridInput(factors, 2, func(l []int, z []float64) { z[0] = 1 }), []int{3})
	must.ErrorOf(named("modularity").Compute(ctx, single))(t, "0 of 3 factors have several levels in the 1 rows")
}

func TestUnsupervisedOracles(t *testing.T) {
	factors := ordinals(4, 5)
	independent := gridInput(factors, 3, func(l []int, z []float64) { z[0], z[1], z[2] = float64(l[0]), float64(l[1]), 3 })
	near(t, "information of independent columns", compute(t, named("mutual-information"), independent).Value, 0, 0)
	near(t, "correlation of independent columns", compute(t, named("total-correlation"), independent).Value, 0, 1e-12)
	near(t, "distance of independent columns", compute(t, named("wasserstein-correlation"), independent).Value, 0, 1e-12)

	// the covariance is {{a, c}, {c, b}}
	mixed := gridInput(factors, 2, func(l []int, z []float64) {
		z[0], z[1] = float64(l[0]), float64(l[0])+2*float64(l[1])
	})
	va, vb := 1.25*20/19, (1.25+8)*20/19
	c := va
	near(t, "total correlation", compute(t, named("total-correlation"), mixed).Value, -math.Log(1-c*c/(va*vb))/2, 1e-12)
	// the trace of D S is a^2 + b^2, and the determinant ab (ab - c^2)
	root := math.Sqrt(va*va + vb*vb + 2*math.Sqrt(va*vb*(va*vb-c*c)))
	r := compute(t, named("wasserstein-correlation"), mixed)
	near(t, "wasserstein correlation", r.Value, 2*(va+vb)-2*root, 1e-12)
	small := *mixed
	small.Codes.Data = slices.Clone(mixed.Codes.Data)
	for i := range small.Codes.Data {
		small.Codes.Data[i] *= 1e-40
	}
	near(t, "of small codes", 1e80*value(t, "wasserstein-correlation", &small), r.Value, 1e-12)
	near(t, "normalised", r.Part("normalised")[0], (2*(va+vb)-2*root)/(va+vb), 1e-12)

	twice := gridInput(factors, 2, func(l []int, z []float64) { z[0], z[1] = float64(l[0]), -float64(l[0]) })
	near(t, "information of equal columns", compute(t, named("mutual-information"), twice).Value, math.Log(4), 1e-12)
	constant := gridInput(factors, 2, func(l []int, z []float64) { z[0], z[1] = 0.83, 0.91 })
	for _, name := range []string{"mutual-information", "total-correlation", "wasserstein-correlation"} {
		r := compute(t, named(name), constant)
		if r.Value != 0 || name == "wasserstein-correlation" && r.Part("normalised")[0] != 0 {
			t.Errorf("%s of constants is %v, with parts %v; want 0", name, r.Value, r.Parts)
		}
	}
	huge := gridInput(factors, 2, func(l []int, z []float64) { z[0], z[1] = 1e200*float64(l[0]), float64(l[1]) })
	for _, test := range []struct {
		name string
		in   *Input
		want string
	}{
		{"total-correlation", twice, "infinite"},
		{"total-correlation", subset(mixed, []int{1, 2}), "2 codes of 2 columns; want at least 3"},
		{"wasserstein-correlation", subset(mixed, []int{1}), "there is 1 code"},
		{"wasserstein-correlation", huge, "too large"},
		{"mutual-information", gridInput(factors, 1, func(l []int, z []float64) {}), "there is 1 code column"},
	} {
		must.ErrorOf(named(test.name).Compute(ctx, test.in))(t, test.want, test.name)
	}
	near(t, "correlation of huge columns", compute(t, named("total-correlation"), huge).Value, 0, 1e-12)
}

// wide returns a table of n random rows with d columns and the factors of dSprites.
func wide(n, d int) *Input {
	in := &Input{Factors: ordinals(3, 6, 40, 32, 32), Codes: matrix.Matrix{Rows: n, Cols: d, Data: make([]float64, n*d)}}
	stream := rng.New(2, "wide")
	for i := range n {
		for j, f := range in.Factors {
			l := stream.IntN(f.Size)
			in.Levels = append(in.Levels, l)
			for c := j; c < d; c += 7 {
				in.Codes.Data[i*d+c] = float64(l)
			}
		}
		for c := range d {
			in.Codes.Data[i*d+c] += 0.5 * stream.NormFloat64()
		}
	}
	return in
}
