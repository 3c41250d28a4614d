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
	"github.com/unravel-ml/unravel/internal/npy"
	. "github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/metrics/matrix"
)

type expectation struct {
	Value     any
	Tolerance *float64
	Settings  struct{ Unique bool }
}

func (e expectation) values() (v []float64) {
	if list, ok := e.Value.([]any); ok {
		for _, x := range list {
			v = append(v, x.(float64))
		}
		return v
	}
	return []float64{e.Value.(float64)}
}

func TestGolden(t *testing.T) {
	cases, err := filepath.Glob("testdata/dlsbd/*/expected.json")
	if err != nil || len(cases) != 23 {
		t.Fatalf("%d cases, %v; want 23", len(cases), err)
	}
	for _, file := range cases {
		t.Run(filepath.Base(filepath.Dir(file)), func(t *testing.T) {
			var want map[string]expectation
			must.ReadJSON(t, file, &want)
			in := goldenInput(t, filepath.Dir(file))
			shuffleRows(in)
			for name, m := range map[string]Metric{
				"dlsbd":             dlsbd(),
				"workshop_literal":  &DLSBDWorkshop{Omega: 10, Aggregate: factor.Sum},
				"workshop_whitened": like[Metric](t, "lsbd-metric", "dlsbd-workshop"),
			} {
				r := compute(t, m, in)
				check := func(key string, got ...float64) {
					e := want[key]
					if e.Tolerance == nil || strings.HasSuffix(key, "omega") && !e.Settings.Unique {
						return
					}
					for i, w := range e.values() {
						near(t, fmt.Sprintf("%s[%d]", key, i), got[i], w, *e.Tolerance)
					}
				}
				check(name, r.Value)
				check(name+"_per_subgroup", r.Part("per_subgroup")...)
				if e, ok := want[name+"_omega"]; ok && e.Settings.Unique {
					for i, w := range e.values() {
						near(t, "|omega|", r.Part("omega")[i], math.Abs(w), 0)
					}
				}
			}
		})
	}
}

func goldenInput(t *testing.T, dir string) *Input {
	t.Helper()
	codes := golden[float64](t, dir, "codes.npy")
	levels := golden[int](t, dir, "factors.npy")
	in := &Input{Codes: matrix.Matrix{Rows: codes.Shape[0], Cols: codes.Shape[1], Data: codes.Data}, Levels: levels.Data}
	for i, n := range golden[int](t, dir, "grid_shape.npy").Data {
		in.Factors = append(in.Factors, factor.Factor{Name: fmt.Sprint("factor", i), Size: n, Kind: factor.Circular})
	}
	return in
}

func golden[T npy.Element](t *testing.T, dir, name string) *npy.Array[T] {
	t.Helper()
	return must.Get(npy.ReadFile[T](filepath.Join(dir, name)))(t)
}

// shuffleRows applies one permutation to the rows of codes and levels.
func shuffleRows(in *Input) {
	d, k := in.Codes.Cols, len(in.Factors)
	order := rng.New(3, "rows").Perm(in.Codes.Rows)
	var data []float64
	var levels []int
	for _, i := range order {
		data = append(data, in.Codes.Row(i)...)
		levels = append(levels, in.Levels[i*k:(i+1)*k]...)
	}
	in.Codes = matrix.Matrix{Rows: len(order), Cols: d, Data: data}
	in.Levels = levels
}
