package report

import (
	"bytes"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
)

// Quartiles are interpolated like NumPy's percentiles, and whiskers end at values.
func TestFiveNumbers(t *testing.T) {
	for name, test := range map[string]struct {
		values []float64
		want   boxSummary
	}{
		"one":      {[]float64{3}, boxSummary{3, 3, 3, 3, 3}},
		"two":      {[]float64{4, 2}, boxSummary{2, 2.5, 3, 3.5, 4}},
		"five":     {[]float64{5, 1, 4, 2, 3}, boxSummary{1, 2, 3, 4, 5}},
		"outliers": {[]float64{0, 10, 11, 12, 13, 14, 100}, boxSummary{10, 10.5, 12, 13.5, 14}},
		"edge":     {[]float64{-2, 1, 2, 3, 6}, boxSummary{-2, 1, 2, 3, 6}}, // exactly 1.5 times the distance away
	} {
		must.Equal(t, (&Box{Values: test.values}).fiveNumbers(), test.want, name)
	}
}

func TestBoxRange(t *testing.T) {
	at := func(v float64) *float64 { return &v }
	for name, test := range map[string]struct {
		values    []float64
		line      *float64
		low, high float64
	}{
		"nothing":          {nil, nil, 0, 1},
		"from 0":           {[]float64{0.1, 1}, nil, 0, 1.04},
		"far from 0":       {[]float64{9, 10}, nil, 9, 10.04},
		"below 0":          {[]float64{-1, 1}, nil, -1, 1.08},
		"the line above":   {[]float64{0.1}, at(2), 0, 2.08},
		"one value":        {[]float64{5}, nil, 0, 5.2},
		"all 0":            {[]float64{0, 0}, nil, 0, 1.04},
		"one, less than 0": {[]float64{-5}, nil, -5, -3.96},
	} {
		low, high := (&BoxPlot{Boxes: []Box{{Values: test.values}}, Line: test.line}).yRange()
		if low != test.low || !(math.Abs(high-test.high) <= 1e-12) {
			t.Errorf("%s: %v to %v, want %v to %v", name, low, high, test.low, test.high)
		}
	}
}

func TestBoxPlot(t *testing.T) {
	line := 0.4
	p := &BoxPlot{Title: "values", X: "labelled pairs", Y: "D", Line: &line, LineLabel: "best of the others", Boxes: []Box{
		{"0", []float64{0.01, 0.48, 0.2, 0.3}}, {"256", []float64{0.01, 0, 0.9}}, {"none", nil}, {"a label that is too long to be shown", []float64{0.1}},
	}}
	show(t, "boxes", p.WritePNG)
	show(t, "boxes one", (&BoxPlot{Boxes: []Box{{"a", []float64{0}}}}).WritePNG)
	show(t, "boxes empty", (&BoxPlot{Boxes: make([]Box, 12)}).WritePNG)
	for _, bad := range []*BoxPlot{{}, {Boxes: []Box{{"a", []float64{1, math.NaN()}}}}, {Boxes: []Box{{"a", []float64{math.Inf(1)}}}}} {
		if err := bad.WritePNG(io.Discard); err == nil || !strings.HasPrefix(err.Error(), "report: ") {
			t.Error(err)
		}
	}
	var with, without bytes.Buffer
	must.OK(t, p.WritePNG(&with))
	p.Line = nil
	if err := p.WritePNG(&without); err != nil || bytes.Equal(with.Bytes(), without.Bytes()) {
		t.Error("the line is not drawn", err)
	}
}
