package tables

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

// Top measures only the K best code columns of every factor of trained models. The metric med chooses them from all
// measured images (Cao et al. 2022, section 3.3). All metrics then see these columns, in their order. The option k of
// med normalises by all columns, as the authors' code does. mig and sap use no principal components here.
type Top struct {
	Runs `yaml:",inline"`
	K    int `yaml:"k" doc:"number of best columns of every factor"`
}

// Validate checks the settings.
func (s *Top) Validate() error {
	if s.K < 1 {
		return config.Invalid("k", "%d columns; want 1 or more", s.K)
	}
	return s.Runs.Validate()
}

// topped holds the chosen columns of a run and their results, as stored in the run's folder.
type topped struct {
	Run     string           `json:"run"` // hash of its config
	Columns []int            `json:"columns"`
	Results []metrics.Result `json:"results"`
}

// Results implements Trained.
func (s *Top) Results(ctx context.Context, runs []sweep.Entry, choices []metrics.Choice, o Options) ([]metrics.Result, *train.Fit, error) {
	run := s.choose(runs)
	names := metrics.ResultNames(choices)
	stored, err := s.stored(run)
	if err != nil {
		return nil, nil, err
	}
	if results, ok := stored.of(names); ok {
		return results, run.Fit, nil
	}
	if !o.Explore || run.Dir == "" {
		return nil, nil, fmt.Errorf("%w (the model is trained, and its best columns are not measured)", ErrNotRun)
	}
	whole, _, err := train.OpenExperiment(run.Dir)
	if err != nil {
		return nil, nil, err
	}
	e := whole.Sample()
	codes, err := e.Codes(ctx)
	if err != nil {
		return nil, nil, err
	}
	x := &topped{Run: run.Hash}
	if x.Columns, x.Results, err = s.measure(ctx, e.Input(codes), run.Config.Seed, choices); err != nil {
		return nil, nil, err
	}
	results, _ := x.of(names)
	return results, run.Fit, writeStored(run.Dir, s.file(), x)
}

// measure computes metrics of the best columns of codes.
func (s *Top) measure(ctx context.Context, in *metrics.Input, seed uint64, choices []metrics.Choice) (columns []int, results []metrics.Result, err error) {
	named, err := metrics.Named(medName)
	if err != nil {
		return nil, nil, err
	}
	med, ok := named.Value.(*metrics.MED)
	if !ok {
		return nil, nil, fmt.Errorf("the metric %s is a %T; want Unravel's metric, which chooses columns", medName, named.Value)
	}
	med.TopK = s.K
	if _, columns, err = med.Select(ctx, in); err != nil {
		return nil, nil, err
	}
	if len(columns) == 0 {
		return nil, nil, errors.New("no column tells anything about a factor")
	}
	chosen := *in
	chosen.Codes, chosen.Spaces = in.Codes.Columns(columns), nil
	for _, c := range s.settings(choices) { // one by one, because each has its own columns
		of := &chosen
		if c.Name == medName {
			of = in
		}
		r, err := metrics.Evaluate(ctx, of, seed, []metrics.Choice{c})
		if err != nil {
			return nil, nil, err
		}
		results = append(results, r...)
	}
	for i, name := range metrics.ResultNames(choices) {
		results[i].Name = name
	}
	return columns, results, nil
}

// medName is the name of the metric that chooses.
const medName = "med"

// settings returns the metrics with their settings for chosen columns.
func (s *Top) settings(choices []metrics.Choice) []metrics.Choice {
	list := slices.Clone(choices)
	for i, c := range list {
		switch m := c.Value.(type) {
		case *metrics.MED:
			one := *m
			one.TopK = s.K
			list[i].Value = &one
		case *metrics.MIG:
			one := *m
			one.Components = 0
			list[i].Value = &one
		case *metrics.SAP:
			one := *m
			one.Components = 0
			list[i].Value = &one
		}
	}
	return list
}

// of returns the named results; all is false if one is missing.
func (x *topped) of(names []string) (list []metrics.Result, all bool) {
	if x == nil {
		return nil, false
	}
	for _, name := range names {
		at := slices.IndexFunc(x.Results, func(r metrics.Result) bool { return r.Name == name })
		if at < 0 {
			return nil, false
		}
		list = append(list, x.Results[at])
	}
	return list, true
}

// file returns the name of the file in the run's folder.
func (s *Top) file() string { return fmt.Sprintf("top-%d.json", s.K) }

// stored reads an earlier result; nil if the file is missing, damaged, or from another run.
func (s *Top) stored(run sweep.Entry) (*topped, error) {
	var x topped
	if ok, err := readStored(run, s.file(), &x); err != nil || !ok || x.Run != run.Hash {
		return nil, err
	}
	return &x, nil
}
