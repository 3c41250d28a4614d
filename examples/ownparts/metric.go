package main

import (
	"context"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/metrics"
)

// activeUnits is a metric: the number of code columns whose variance over the images is above a
// threshold (Burda et al. 2016, section 5.2).
type activeUnits struct {
	Threshold float64 `yaml:"threshold" doc:"variance above which a column is active"`
}

func (a *activeUnits) Validate() error {
	if !(a.Threshold >= 0) {
		return config.Invalid("threshold", "got %v; want 0 or more", a.Threshold)
	}
	return nil
}

// Better implements metrics.Metric.
func (*activeUnits) Better() metrics.Direction { return metrics.HigherIsBetter }

// Needs says that the metric reads codes alone: it has no chance level, and unknown factors exclude no rows.
func (*activeUnits) Needs() metrics.Needs { return metrics.NoLevels }

// Compute implements metrics.Metric.
func (a *activeUnits) Compute(ctx context.Context, in *metrics.Input) (metrics.Result, error) {
	n, d := float64(in.Codes.Rows), in.Codes.Cols
	var r metrics.Result
	for c := range d {
		if err := ctx.Err(); err != nil { // such as Ctrl-C
			return r, err
		}
		var mean, square float64
		for i := range in.Codes.Rows {
			mean += in.Codes.Row(i)[c] / n
		}
		for i := range in.Codes.Rows {
			v := in.Codes.Row(i)[c] - mean
			square += v * v / n
		}
		if square > a.Threshold {
			r.Value++
		}
	}
	return r, nil
}
