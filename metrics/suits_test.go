package metrics_test

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/long"
	. "github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/metrics/matrix"
	"github.com/unravel-ml/unravel/models/hierarchy"
)

// suitInputs are inputs that some metrics cannot measure: few rows, columns, factors or levels.
func suitInputs() map[string]*Input {
	inputs := map[string]*Input{}
	for _, n := range []int{1, 2, 40} {
		for _, d := range []int{1, 2} {
			for _, k := range []int{1, 2} {
				for _, levels := range []int{1, 2, 4} {
					for _, kind := range []factor.Kind{factor.Ordinal, factor.Circular} {
						for _, constant := range []bool{false, true} { // some levels have no rows
							if constant && levels == 1 {
								continue
							}
							inputs[fmt.Sprintf("%d rows, %d columns, %d factors of %d levels, %v, constant %v", n, d, k, levels, kind, constant)] =
								suitInput(n, d, k, levels, kind, constant)
						}
					}
				}
			}
		}
	}
	return inputs
}

func suitInput(n, d, k, levels int, kind factor.Kind, constant bool) *Input {
	s := rng.New(1, "suits")
	in := &Input{Codes: matrix.Matrix{Rows: n, Cols: d}, Hierarchy: make(hierarchy.Hierarchy, d)}
	for range n * d {
		in.Codes.Data = append(in.Codes.Data, math.Round(1e4*s.NormFloat64())/1e4)
	}
	for j := range k {
		in.Factors = append(in.Factors, factor.Factor{Name: fmt.Sprint("f", j), Size: levels, Kind: kind})
	}
	for i := range n {
		for j := range k {
			level := i % levels
			if j > 0 {
				level = i / levels % levels
			}
			if constant {
				level = 0
			}
			in.Levels = append(in.Levels, level)
		}
	}
	return in
}

// splitOf returns the split of a metric that has one.
func splitOf(m Metric) *TrainTest {
	switch m := m.(type) {
	case *DCI:
		return &m.TrainTest
	case *SAP:
		return &m.TrainTest
	case *Explicitness:
		return &m.TrainTest
	}
	return nil
}

// If Suits accepts an input, the metric can measure it for any codes.
func TestSuitsIsEnough(t *testing.T) {
	long.NotShort(t)
	inputs := suitInputs()
	for _, e := range entries() {
		t.Run(e.Name, func(t *testing.T) {
			suited, refused := 0, 0
			for name, in := range inputs {
				choice := []Choice{fewRows(e.Name)}
				if s := splitOf(choice[0].Value); s != nil && in.Codes.Rows%3 == 1 { // 1 or 40
					s.TrainRows = 30
				}
				before := *in
				before.Codes.Data = nil // before codes exist
				if err := Suits(&before, choice); err != nil {
					refused++
					continue
				}
				suited++
				if _, err := Evaluate(ctx, in, 3, choice); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
			t.Logf("suits %d inputs of %d", suited, suited+refused)
		})
	}
}

// Settings that a program leaves at zero are an error or a metric, but no panic.
func TestZeroSettings(t *testing.T) {
	in := population(60, rng.New(1, "rows"))
	for _, e := range entries() {
		zero := reflect.New(reflect.TypeOf(e.New()).Elem()).Interface().(Metric)
		if _, err := Evaluate(ctx, in, 1, []Choice{{Name: e.Name, Value: zero}}); err != nil &&
			!strings.HasPrefix(err.Error(), "metric "+e.Name) {
			t.Errorf("%s: error %v", e.Name, err)
		}
		if s, ok := zero.(Selective); ok {
			_ = s.Suits(in)
		}
	}
}

// An input without factors is an error for every metric of factors, with and without codes.
func TestNoFactors(t *testing.T) {
	in := &Input{Codes: matrix.Matrix{Rows: 2, Cols: 2, Data: []float64{1, 2, 3, 4}}, Stream: rng.New(1, "none")}
	for _, e := range entries() {
		m := e.New()
		if _, err := m.Compute(ctx, in); err == nil || err.Error() != "there are no factors; want at least one" {
			t.Errorf("%s without factors: error %v; Compute begins with ready", e.Name, err)
		}
		before := *in
		before.Codes.Data = nil
		err := Suits(&before, []Choice{{Name: e.Name, Value: m}})
		if _, blocks := m.(*SubCodeDeviation); blocks &&
			(err == nil || err.Error() != "metric "+e.Name+": there are no factors; want at least one, to have a sub-code") {
			t.Errorf("%s: %v", e.Name, err)
		}
	}
	for _, assign := range []Assign{AssignAuto, AssignOrder, AssignBest} {
		m := NewSubCodeDeviation(factor.Variance)
		for _, codes := range []factor.SubCodes{nil, {"f0": {0}}} {
			m.SetCodes(codes, assign)
			if err := m.Suits(in); err == nil {
				t.Errorf("assign %q, codes %v: no error", assign, codes)
			}
		}
	}
}
