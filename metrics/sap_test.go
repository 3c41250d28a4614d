package metrics_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	. "github.com/unravel-ml/unravel/metrics"
)

func sap() *SAP { return named("sap").(*SAP) }

// stored is the split of a golden case.
func (v libraryValue) split(in *Input) Split {
	s := Split{Train: v.Settings.TrainRows, Order: OrderStored}
	if v.Settings.TestRows == "remaining rows" {
		s.Test = in.Codes.Rows - s.Train
	}
	return s
}

func TestSAPGolden(t *testing.T) {
	for key, test := range map[string]struct {
		score SAPScore
		cases int
	}{"sap_continuous": {ScoreCorrelation, 21}, "sap_discrete": {ScoreSVM, 20}} {
		eachLibraryCase(t, key, test.cases, func(t *testing.T, in *Input, want map[string]libraryValue) {
			m := sap()
			m.Score, m.Split = test.score, want[key].split(in)
			near(t, key, compute(t, m, in).Value, want[key].number(), want[key].Tolerance)
		})
	}
}

func TestSAPOracles(t *testing.T) {
	factors := ordinals(4, 5)
	for _, test := range []struct {
		name            string
		d               int
		code            func(l []int, z []float64)
		correlation     float64
		svmLow, svmHigh float64
	}{
		{"perfect", 2, func(l []int, z []float64) { z[0], z[1] = float64(l[0]), -float64(l[1]) }, 1, 0.1, 1},
		{"duplicated", 4, func(l []int, z []float64) {
			z[0], z[1], z[2], z[3] = float64(l[0]), float64(l[1]), float64(l[0]), float64(l[1])
		}, 0, 0, 0},
		{"constant", 3, func(l []int, z []float64) { z[0] = 7 }, 0, 0, 0},
		{"one factor", 2, func(l []int, z []float64) { z[0] = float64(l[0]) }, 0.5, 0.05, 1},
		{"huge", 2, func(l []int, z []float64) { z[0], z[1] = 1e300*float64(l[0]), 1e-300*float64(l[1]) }, 0.5, 0, 1},
	} {
		in := gridInput(factors, test.d, test.code)
		m := sap()
		m.Split = Split{Train: 20, Order: OrderStored}
		if r := compute(t, m, in); r.Value < test.svmLow || r.Value > test.svmHigh {
			t.Errorf("%s: %v, want %v to %v", test.name, r.Value, test.svmLow, test.svmHigh)
		}
		m.Score = ScoreCorrelation
		near(t, test.name, compute(t, m, in).Value, test.correlation, 1e-12)
	}
}

func TestSAPErrors(t *testing.T) {
	in := gridInput(ordinals(4, 1), 2, func(l []int, z []float64) { z[0] = float64(l[0]) })
	for want, change := range map[string]func(*SAP){
		"unknown score":           func(m *SAP) { m.Score = "r2" },
		"cost: 0 is not":          func(m *SAP) { m.Cost = 0 },
		"train: 0 is out":         func(m *SAP) { m.Train = 0 },
		"test: -1 is out":         func(m *SAP) { m.Test = -1 },
		"unknown order":           func(m *SAP) { m.Order = "last" },
		"no stream of random":     func(m *SAP) {},
		"every factor has one le": func(m *SAP) { m.Train, m.Test, m.Order = 1, 0, OrderStored },
	} {
		m := sap()
		change(m)
		if _, err := m.Compute(in); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: error %v, want %q", m, err, want)
		}
	}
	one := gridInput(ordinals(4), 1, func(l []int, z []float64) {})
	if _, err := sap().Compute(one); err == nil || !strings.Contains(err.Error(), "1 code column") {
		t.Error(err)
	}
	if _, err := sap().Compute(subset(in, []int{1})); err == nil || !strings.Contains(err.Error(), "there is 1 code;") {
		t.Error(err)
	}
	m := sap()
	m.Test, m.Order = 0, OrderStored
	if r := compute(t, m, in); len(r.Notes) != 2 || len(r.Part("per_factor")) != 1 {
		t.Errorf("%+v", r)
	}
}

// Rows are shared out in proportion, and chosen by the stream alone.
func TestSplit(t *testing.T) {
	in := gridInput(ordinals(10, 9), 2, func(l []int, z []float64) { z[0], z[1] = float64(l[0]), math.Sin(float64(l[1])) })
	value := func(seed uint64) Result {
		r, err := Evaluate(in, seed, []Choice{{Name: "sap", Value: sap()}})
		if err != nil {
			t.Fatal(err)
		}
		return r[0]
	}
	a, b := value(1), value(1)
	if fmt.Sprint(a) != fmt.Sprint(b) || !slices.Contains(a.Notes, "fitted to 60 rows and tested with 30") {
		t.Errorf("%+v, %+v", a, b)
	}
}
