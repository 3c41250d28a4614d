package metrics_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/npy"
	. "github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/metrics/matrix"
	"github.com/unravel-ml/unravel/models/hierarchy"
)

// hierarchicalValue is an expected value from the code of Ross and Doshi-Velez.
type hierarchicalValue struct {
	Value     any
	Tolerance float64
	Settings  struct{ Hierarchy hierarchy.Hierarchy }
}

func (v hierarchicalValue) numbers() []float64 { return expectation{Value: v.Value}.values() }

// exactInput returns an input of continuous factors.
func exactInput(t testing.TB, codes, factors *npy.Array[float64]) *Input {
	t.Helper()
	n, k := factors.Shape[0], factors.Shape[1]
	in := &Input{Codes: matrix.Matrix{Rows: n, Cols: codes.Shape[1], Data: codes.Data}, Levels: make([]int, n*k), Stream: rng.New(1, "exact")}
	for j := range k {
		values := make([]float64, n)
		for i := range values {
			values[i] = factors.Data[i*k+j]
		}
		levels, centres, err := Bin(values, 20)
		must.OK(t, err)
		for i, l := range levels {
			in.Levels[i*k+j] = l
		}
		in.Factors = append(in.Factors, factor.Factor{Name: fmt.Sprint("v", j), Kind: factor.Ordinal, Size: len(centres), Values: centres})
		in.Exact = append(in.Exact, values)
	}
	return in
}

func TestR4Golden(t *testing.T) {
	long.NotShort(t)
	dirs, err := filepath.Glob("testdata/hierarchical/r4_*")
	if err != nil || len(dirs) != 8 {
		t.Fatalf("%d cases, %v; want 8", len(dirs), err)
	}
	for _, dir := range long.Sample(dirs, 4) {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			var want map[string]hierarchicalValue
			readJSON(t, filepath.Join(dir, "expected.json"), &want)
			in := exactInput(t, golden[float64](t, dir, "codes.npy"), golden[float64](t, dir, "factors.npy"))
			in.Hierarchy = want["r4c"].Settings.Hierarchy
			for _, name := range []string{"r4", "r4c"} {
				in.Stream = rng.New(1, name)
				r := compute(t, named(name), in)
				near(t, name, r.Value, want[name].numbers()[0], want[name].Tolerance)
				each := want[name+"_per_dim"]
				for j, w := range each.numbers() {
					near(t, fmt.Sprintf("%s of factor %d", name, j), r.Part("per_factor")[j], w, each.Tolerance)
				}
				t.Logf("%s %.4f, want %.4f; per factor %.3f, want %.3f", name, r.Value, want[name].Value, r.Part("per_factor"), each.numbers())
			}
		})
	}
}

func TestPurityGolden(t *testing.T) {
	const dir = "testdata/hierarchical/purity_coverage"
	var want map[string]hierarchicalValue
	readJSON(t, filepath.Join(dir, "expected.json"), &want)
	paths, labels := golden[int](t, dir, "factors.npy"), golden[int](t, dir, "component_label.npy")
	n := len(labels.Data)
	in := &Input{Codes: matrix.Matrix{Rows: n, Cols: 1, Data: make([]float64, n)}, Levels: paths.Data,
		Factors: ordinals(4), Components: labels.Data}
	purity := compute(t, named("purity"), in)
	near(t, "purity", purity.Value, want["purity"].numbers()[0], want["purity"].Tolerance)
	near(t, "coverage", compute(t, named("coverage"), in).Value, want["coverage"].numbers()[0], want["coverage"].Tolerance)
	for c, w := range want["component_purities"].numbers() {
		near(t, fmt.Sprint("purity of component ", c), purity.Part("per_component")[c], w, want["component_purities"].Tolerance)
	}
	given := *in
	given.Paths, given.Levels = paths.Data, make([]int, n)
	near(t, "purity of given paths", compute(t, named("purity"), &given).Value, purity.Value, 0)
}
