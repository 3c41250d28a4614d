package analysis

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/unravel-ml/unravel/internal/numeric"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/metrics/matrix"
	"github.com/unravel-ml/unravel/models/hierarchy"
	"github.com/unravel-ml/unravel/models/hierarchy/mimosa"
	"github.com/unravel-ml/unravel/train"
	"github.com/unravel-ml/unravel/train/rundir"
	"github.com/unravel-ml/unravel/train/sweep"
)

// Mimosa learns components and a hierarchy from the codes of training images, and compares both with the truth.
type Mimosa struct {
	mimosa.Options `yaml:",inline"`
}

// explored is the result of MIMOSA, as stored in the run's folder.
type explored struct {
	Options    mimosa.Options      `json:"options"`
	Run        string              `json:"run"` // hash of the run's config
	Hierarchy  hierarchy.Hierarchy `json:"hierarchy"`
	Components []int               `json:"components"` // by training image; -1: no component
	Results    []metrics.Result    `json:"results"`
}

// Results returns the results of metrics for a finished run. If there is no stored result, it only runs MIMOSA if
// explore is true.
func (m *Mimosa) Results(ctx context.Context, run sweep.Entry, list []metrics.Choice, explore bool) ([]metrics.Result, error) {
	x, err := m.stored(run)
	if err != nil {
		return nil, err
	}
	if results, ok := x.resultsOf(list); x != nil && ok {
		return results, nil
	}
	if !explore || run.Dir == "" {
		return nil, fmt.Errorf("%w (the autoencoder is trained, and its codes are not explored)", ErrNotRun)
	}
	e, _, err := train.OpenExperiment(run.Dir)
	if err != nil {
		return nil, err
	}
	images := e.TrainingImages()
	if x == nil || len(x.Components) != len(images) {
		r, err := m.explore(ctx, e, images)
		if err != nil {
			return nil, err
		}
		x = &explored{Options: m.Options, Run: run.Hash, Hierarchy: r.Hierarchy, Components: r.Labels}
	}
	in := e.InputOf(matrix.Matrix{Rows: len(images), Cols: 1, Data: make([]float64, len(images))}, images)
	in.Hierarchy, in.Components = x.Hierarchy, x.Components
	if x.Results, err = metrics.Evaluate(ctx, in, run.Config.Seed, x.definedMetrics(list)); err != nil {
		return nil, err
	}
	results, _ := x.resultsOf(list)
	return results, writeStored(run.Dir, m.file(), x)
}

func (m *Mimosa) explore(ctx context.Context, e *train.Experiment, images []int) (*mimosa.Result, error) {
	codes, err := e.Encode(ctx, images)
	if err != nil {
		return nil, err
	}
	r, err := mimosa.Run(ctx, numeric.Convert[float64](codes), e.Coder.Width(), m.Options, nil)
	if ctx.Err() != nil {
		return nil, fmt.Errorf("mimosa: %w", train.ErrStopped)
	}
	if err != nil {
		return nil, fmt.Errorf("mimosa: %w", err)
	}
	return r, nil
}

// definedMetrics returns the metrics that have a value: without components there is no purity.
func (x *explored) definedMetrics(choices []metrics.Choice) []metrics.Choice {
	if !x.noComponents() {
		return choices
	}
	return slices.DeleteFunc(slices.Clone(choices), func(c metrics.Choice) bool { return c.Name == purity })
}

const purity = "purity"

func (x *explored) noComponents() bool {
	return !slices.ContainsFunc(x.Components, func(c int) bool { return c >= 0 })
}

// resultsOf returns the results of metrics. An undefined purity is NaN.
func (x *explored) resultsOf(choices []metrics.Choice) (list []metrics.Result, all bool) {
	if x == nil {
		return nil, false
	}
	results, names := slices.Clip(x.Results), metrics.ResultNames(choices)
	for i, c := range choices {
		if c.Name == purity && x.noComponents() {
			none := metrics.Result{Name: names[i], Value: math.NaN(), Notes: []string{"there is no component"}}
			results = append(results, none)
		}
	}
	return selectResults(results, names)
}

// file returns the name of the file in the run's folder for a result with these options.
func (m *Mimosa) file() string {
	return "mimosa-" + rundir.FileHash(fmt.Appendf(nil, "%+v", m.Options))[:8] + ".json"
}

// stored reads a stored result. It returns nil if the file is missing, damaged, or from another run.
func (m *Mimosa) stored(run sweep.Entry) (*explored, error) {
	var x explored
	if ok, err := readStored(run, m.file(), &x); err != nil || !ok || x.Run != run.Hash || x.Options != m.Options {
		return nil, err
	}
	return &x, nil
}
