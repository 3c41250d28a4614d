package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/internal/npy"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/train"
)

// evalCommand is `unravel eval (--run DIR | --codes F --factors F)`.
type evalCommand struct {
	Dir     string   `name:"run" xor:"source" placeholder:"DIR" help:"A run's folder: its model is evaluated on its data set."`
	Codes   string   `xor:"source" placeholder:"FILE" help:"Codes made elsewhere: a .npy array [n, d] of any number type."`
	Factors string   `placeholder:"FILE" help:"The factors of those codes: a .npy array [n, k] of integers; all are taken as circular."`
	Metrics []string `placeholder:"NAME" help:"Metrics to compute, separated by commas; all: every one. If absent, those of the run, or all."`
	JSON    bool     `name:"json" help:"Print one JSON object on standard output."`
}

// Run measures.
func (c *evalCommand) Run(ctx context.Context, s *streams) error {
	chosen, err := chooseMetrics(c.Metrics)
	if err != nil {
		return err
	}
	var results []metrics.Result
	switch {
	case c.Dir != "" && c.Factors != "":
		return usagef("--factors belongs to --codes: a run has its own")
	case c.Dir != "":
		results, err = evaluateRun(ctx, c.Dir, chosen, s)
	case c.Codes == "":
		return usagef("nothing to evaluate: want --run DIR, or --codes FILE and --factors FILE")
	case c.Factors == "":
		return usagef("--codes needs --factors: the factors of the same rows")
	default:
		results, err = evaluateFiles(c.Codes, c.Factors, chosen)
	}
	if err != nil {
		return err
	}
	if c.JSON {
		all := map[string]metrics.Result{}
		for _, r := range results {
			all[r.Name] = r
		}
		return json.NewEncoder(s.out).Encode(map[string]any{"metrics": all})
	}
	return metrics.Print(s.out, results)
}

// chooseMetrics returns the metrics of the given names with their defaults; nil if there are no names.
func chooseMetrics(names []string) ([]metrics.Choice, error) {
	if len(names) == 1 && names[0] == "all" {
		names = metrics.Table.Names()
	}
	var list []metrics.Choice
	for _, name := range names {
		entry, err := metrics.Table.Lookup(name)
		if err != nil {
			return nil, usageError{err}
		}
		list = append(list, metrics.Choice{Name: name, Value: entry.New()})
	}
	return list, nil
}

func evaluateRun(ctx context.Context, dir string, chosen []metrics.Choice, s *streams) ([]metrics.Result, error) {
	e, warning, err := train.OpenExperiment(dir)
	if err != nil {
		return nil, err
	}
	if warning != "" {
		fmt.Fprintln(s.log, warning)
	}
	if chosen == nil {
		chosen = e.Config.Metrics
	}
	codes, err := e.Codes(ctx)
	if err != nil {
		return nil, err
	}
	return e.Evaluate(codes, chosen)
}

func evaluateFiles(codesFile, factorsFile string, chosen []metrics.Choice) ([]metrics.Result, error) {
	codes, err := npy.ReadFile[float64](codesFile)
	if err != nil {
		return nil, fmt.Errorf("codes: %w", err)
	}
	factors, err := npy.ReadFile[int64](factorsFile)
	if err != nil {
		return nil, fmt.Errorf("factors: %w", err)
	}
	if len(codes.Shape) != 2 {
		return nil, fmt.Errorf("%s: codes have shape %v, want [n, d]", codesFile, codes.Shape)
	}
	if len(factors.Shape) != 2 || factors.Shape[0] != codes.Shape[0] {
		return nil, fmt.Errorf("%s: factors have shape %v, want [%d, k], a row for each row of %s", factorsFile, factors.Shape, codes.Shape[0], codesFile)
	}
	in := &metrics.Input{Codes: metrics.Matrix{Rows: codes.Shape[0], Cols: codes.Shape[1], Data: codes.Data}}
	in.Levels, in.Factors = levelsOf(factors.Data, factors.Shape[1])
	if chosen == nil {
		if chosen, err = chooseMetrics([]string{"all"}); err != nil {
			return nil, err
		}
	}
	return metrics.Evaluate(in, 0, chosen)
}

// levelsOf numbers the distinct values of each of k factors in ascending order.
func levelsOf(values []int64, k int) ([]int, []datasets.Factor) {
	levels := make([]int, len(values))
	factors := make([]datasets.Factor, k)
	for j := range k {
		distinct := map[int64]int{}
		var order []int64
		for i := j; i < len(values); i += k {
			if _, ok := distinct[values[i]]; !ok {
				distinct[values[i]] = 0
				order = append(order, values[i])
			}
		}
		slices.Sort(order)
		names := make([]float64, len(order))
		for n, v := range order {
			distinct[v], names[n] = n, float64(v)
		}
		for i := j; i < len(values); i += k {
			levels[i] = distinct[values[i]]
		}
		factors[j] = datasets.Factor{Name: fmt.Sprintf("factor%d", j), Size: len(order), Kind: datasets.Circular, Values: names}
	}
	return levels, factors
}
