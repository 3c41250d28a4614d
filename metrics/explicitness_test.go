package metrics_test

import (
	"math"
	"strings"
	"testing"

	. "github.com/unravel-ml/unravel/metrics"
)

// explicitness returns the metric of disentanglement_lib, which draws rows.
func explicitness() *Explicitness {
	m := named("explicitness").(*Explicitness)
	m.TestShare = 0
	return m
}

func TestExplicitnessGolden(t *testing.T) {
	eachLibraryCase(t, "explicitness_test", 20, func(t *testing.T, in *Input, want map[string]libraryValue) {
		m := explicitness()
		m.TrainTest = want["explicitness_test"].split()
		r := compute(t, m, in)
		tolerance := 5e-6 // the reference's solvers differ by 1e-4 in probabilities, so nearly equal scores may swap
		if in.Codes.Cols > m.TrainRows {
			tolerance = want["explicitness_test"].Tolerance // codes distinguish all rows, and single pairs may swap
		}
		near(t, "test", r.Value, want["explicitness_test"].number(), tolerance)
		near(t, "train", average(r.Part("train")), want["explicitness_train"].number(), want["explicitness_train"].Tolerance)
	})
}

func TestExplicitnessOracles(t *testing.T) {
	factors := ordinals(4, 2)
	for _, test := range []struct {
		name string
		d    int
		code func(l []int, z []float64)
		want float64
	}{
		{"one hot", 5, func(l []int, z []float64) { z[l[0]], z[4] = 1e200, 1e-200*float64(l[1])+1e-200 }, 1},
		{"constant", 3, func(l []int, z []float64) { z[0] = 7 }, 0.5},
		{"one column", 1, func(l []int, z []float64) { z[0] = float64(l[1]) }, 0.75},
		{"duplicated", 3, func(l []int, z []float64) { z[0], z[1], z[2] = float64(l[1]), float64(l[1]), -float64(l[1]) }, 0.75},
	} {
		m := explicitness()
		m.TrainTest = TrainTest{TrainRows: 8}
		r := compute(t, m, gridInput(factors, test.d, test.code))
		near(t, test.name, r.Value, test.want, 1e-12)
		if len(r.Notes) > 0 {
			t.Errorf("%s: notes %v", test.name, r.Notes)
		}
	}
}

func TestExplicitnessErrors(t *testing.T) {
	in := gridInput(ordinals(4, 1), 2, func(l []int, z []float64) { z[0] = float64(l[0]) })
	refuses(t, in, explicitness, map[string]func(*Explicitness){
		"c: 0 is not a positive":    func(m *Explicitness) { m.C = 0 },
		"c: NaN is not a positive":  func(m *Explicitness) { m.C = math.NaN() },
		"iterations: 0 is too few":  func(m *Explicitness) { m.Iterations = 0 },
		"train: 0 is out":           func(m *Explicitness) { m.Train = 0 },
		"the input's Stream is nil": func(m *Explicitness) {},
		"no factor has two levels ": func(m *Explicitness) { m.TrainTest = TrainTest{TrainRows: 3} },
	})
	// the last row's level is unknown, and level 0 has no test row
	m := explicitness()
	m.TrainTest = TrainTest{TrainRows: 4}
	some := subset(in, []int{0, 1, 2, 1, 1, 2, 3})
	if r := compute(t, m, some); len(r.Notes) != 2 || !strings.Contains(r.Notes[0], "1 of 3 levels of f0") {
		t.Errorf("%+v", r)
	}
	m.Iterations = 1
	if r := compute(t, m, some); !strings.Contains(strings.Join(r.Notes, ";"), "has not converged") {
		t.Errorf("%+v", r.Notes)
	}
}
