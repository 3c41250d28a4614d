package analysis

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/train"
	"github.com/unravel-ml/unravel/train/sweep"
)

// Best only measures the K best code columns for every factor of a trained model. The metric med selects them, using
// all measured images (Cao et al. 2022, section 3.3). All metrics then use these columns, in their order. The option k
// of med normalises by all columns, as in the authors' code. Here, mig and sap use no principal components.
type Best struct {
	K int `yaml:"k" doc:"number of best columns of every factor"`
}

func (b *Best) Validate() error {
	if b.K < 1 {
		return config.Invalid("k", "%d columns; want 1 or more", b.K)
	}
	return nil
}

// selected holds the selected columns of a run and their results, as stored in the run's folder.
type selected struct {
	Run     string           `json:"run"` // hash of the run's config
	Columns []int            `json:"columns"`
	Results []metrics.Result `json:"results"`
}

// Results returns the results of metrics for a finished run. If there is no stored result, it only measures them if
// explore is true.
func (b *Best) Results(ctx context.Context, run sweep.Entry, choices []metrics.Choice, explore bool) ([]metrics.Result, error) {
	names := metrics.ResultNames(choices)
	var x selected
	if ok, err := readStored(run, b.file(), &x); err != nil {
		return nil, err
	} else if results, all := selectResults(x.Results, names); ok && all && x.Run == run.Hash {
		return results, nil
	}
	if !explore || run.Dir == "" {
		return nil, fmt.Errorf("%w (the model is trained, and its best columns are not measured)", ErrNotRun)
	}
	whole, _, err := train.OpenExperiment(run.Dir)
	if err != nil {
		return nil, err
	}
	e := whole.Sample()
	codes, err := e.Codes(ctx)
	if err != nil {
		return nil, err
	}
	if x, err = b.measure(ctx, e.Input(codes), run.Config.Seed, choices); err != nil {
		return nil, err
	}
	x.Run = run.Hash
	return x.Results, writeStored(run.Dir, b.file(), x)
}

func (b *Best) measure(ctx context.Context, in *metrics.Input, seed uint64, choices []metrics.Choice) (x selected, err error) {
	named, err := metrics.Named(medName)
	if err != nil {
		return x, err
	}
	med, ok := named.Value.(*metrics.MED)
	if !ok {
		return x, fmt.Errorf("the metric %s is a %T; want Unravel's metric, which chooses columns", medName, named.Value)
	}
	med.TopK = b.K
	if _, x.Columns, err = med.Select(ctx, in); err != nil {
		return x, err
	}
	if len(x.Columns) == 0 {
		return x, errors.New("no column tells anything about a factor")
	}
	reduced := *in
	reduced.Codes, reduced.Spaces = in.Codes.Columns(x.Columns), nil
	for _, c := range b.settings(choices) { // separately, because each metric has its own columns
		input := &reduced
		if c.Name == medName {
			input = in
		}
		r, err := metrics.Evaluate(ctx, input, seed, []metrics.Choice{c})
		if err != nil {
			return x, err
		}
		x.Results = append(x.Results, r...)
	}
	for i, name := range metrics.ResultNames(choices) {
		x.Results[i].Name = name
	}
	return x, nil
}

const medName = "med"

// settings returns the metrics with the settings for selected columns.
func (b *Best) settings(choices []metrics.Choice) []metrics.Choice {
	list := slices.Clone(choices)
	for i, c := range list {
		list[i].Value = WithComponents(c.Value, 0)
		if m, ok := c.Value.(*metrics.MED); ok {
			one := *m
			one.TopK = b.K
			list[i].Value = &one
		}
	}
	return list
}

// WithComponents returns a metric of principal components with n of them, and any other metric as it is.
func WithComponents(m metrics.Metric, n int) metrics.Metric {
	switch m := m.(type) {
	case *metrics.MIG:
		if m.Components > 0 {
			one := *m
			one.Components = n
			return &one
		}
	case *metrics.SAP:
		if m.Components > 0 {
			one := *m
			one.Components = n
			return &one
		}
	}
	return m
}

func (b *Best) file() string { return fmt.Sprintf("top-%d.json", b.K) }
