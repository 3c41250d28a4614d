package conformance_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/conformance"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/metrics"
)

// Match is a custom metric: the frequency with which the first code column equals the level of the first factor.
type Match struct{}

func (*Match) Better() metrics.Direction { return metrics.HigherIsBetter }

func (*Match) Compute(ctx context.Context, in *metrics.Input) (metrics.Result, error) {
	right := 0.0
	for i := range in.Codes.Rows {
		if slices.Contains(in.Codes.Row(i), float64(in.Levels[i*len(in.Factors)])) {
			right++
		}
	}
	return metrics.Result{Value: right / float64(in.Codes.Rows)}, ctx.Err()
}

var calls atomic.Int64

// faultyMetric is a metric with one fault.
type faultyMetric struct {
	Match
	Fault string `yaml:"fault" doc:"what is wrong"`
	Calls int    `yaml:"calls" doc:"how often it was called"`
}

func (m *faultyMetric) Better() metrics.Direction {
	if m.Fault == "direction" {
		return metrics.LowerIsBetter
	}
	return metrics.HigherIsBetter
}

func (m *faultyMetric) Suits(in *metrics.Input) error {
	if m.Fault == "unsuited" {
		return fmt.Errorf("%d factors", len(in.Factors))
	}
	return nil
}

func (m *faultyMetric) Range() (least, most float64) { return 0, 1 }

func (m *faultyMetric) Compute(ctx context.Context, in *metrics.Input) (metrics.Result, error) {
	if m.Fault == "ignores its context" {
		ctx = context.Background()
	}
	r, err := m.Match.Compute(ctx, in)
	first := in.Codes.Data[0]
	switch m.Fault {
	case "clock":
		r.Value = float64(clock()%9973) / 9973
	case "global":
		r.Value = 1 / float64(calls.Add(1)+2)
	case "input":
		in.Codes.Data[0]++
	case "settings":
		m.Calls++
	case "range":
		r.Value++
	case "NaN":
		r.Value = math.NaN()
	case "rows":
		r.Value = 0.5 + math.Tanh(first)/2
	case "columns":
		r.Value = 0
		for i := range in.Codes.Rows {
			r.Value += 0.5 / float64(in.Codes.Rows) * (1 + math.Tanh(in.Codes.Row(i)[0]))
		}
	case "panics on constant codes":
		if slices.Max(in.Codes.Data) == slices.Min(in.Codes.Data) {
			panic("no range")
		}
	case "labels":
		r.Parts = []metrics.Part{{Name: "per_factor", Values: []float64{1, 2, 3}}}
	case "grid":
		r.Grids = []metrics.Grid{{Name: "g", Rows: []string{"z0"}, Columns: []string{"x"}}}
	case "JSON":
		r.Grids = []metrics.Grid{{Name: "g", Rows: []string{"z0"}, Columns: []string{"x"}, Values: [][]float64{{math.NaN()}}}}
	case "swallows":
		err = nil
	}
	return r, err
}

func TestMetricsFindFaults(t *testing.T) {
	long.NotShort(t)
	own := registry.Entry[metrics.Metric]{Name: "match", Doc: "an own metric", Units: "none: 0 to 1",
		New: func() metrics.Metric { return &Match{} }}
	if err := conformance.CheckMetric(own); err != nil {
		t.Errorf("an own metric: %v", err)
	}
	for fault, want := range map[string]string{
		"":                         "",
		"clock":                    "two results for one input and one stream differ",
		"global":                   "two results for one input and one stream differ",
		"input":                    "it changes its input",
		"settings":                 "its settings change from",
		"direction":                "perfect ones 1, and lower is better; want Better the other way",
		"range":                    "the value 2 is not within its range, 0 to 1",
		"NaN":                      "the value is NaN; want a finite number, or an error",
		"rows":                     "and in another order of images",
		"columns":                  "and in another order of columns",
		"panics on constant codes": "it panics: no range",
		"labels":                   "part per_factor has 3 values and 0 labels",
		"grid":                     "grid g does not have 1 x 1 values",
		"JSON":                     "the result has numbers that JSON lacks",
		"unsuited":                 "it suits no input of the test: metric faulty: 3 factors\nmetric faulty: 2 factors",
		"swallows":                 "the context has ended, and Compute returns the error <nil>",
		"ignores its context":      "the context has ended, and Compute returns the error <nil>",
	} {
		e := registry.Entry[metrics.Metric]{Name: "faulty", Doc: "a metric with a fault", Units: "none",
			New: func() metrics.Metric { return &faultyMetric{Fault: fault} }}
		wantFinding(t, fault, conformance.CheckMetric(e), "metric faulty: ", want)
	}
	own.Units = ""
	wantFinding(t, "no units", conformance.CheckMetric(own), "metric match: ", "it has no Units")
}

// The defaults of logic are not valid settings, so CheckMetric checks its variants.
func TestLogicMetricIsTested(t *testing.T) {
	long.NotShort(t)
	e := must.Get(metrics.Registry.Lookup("logic"))(t)
	must.Equal(t, len(e.New().(metrics.Varied).Variants()), 2, "variants")
	if err := conformance.CheckMetric(e); err != nil {
		t.Error(err)
	}
}

// variedMatch is a metric with a fault in one variant only.
type variedMatch struct{ faultyMetric }

func (*variedMatch) Variants() []metrics.Metric {
	return []metrics.Metric{&variedMatch{}, &variedMatch{faultyMetric{Fault: "clock"}}}
}

func TestVariantsOfMetrics(t *testing.T) {
	err := conformance.CheckMetric(registry.Entry[metrics.Metric]{Name: "varied", Doc: "a match", Units: "none",
		New: func() metrics.Metric { return &variedMatch{} }})
	must.Error(t, err, "metric varied: variant 2: ")
}
