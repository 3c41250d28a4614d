package tables

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/metrics/matrix"
	"github.com/unravel-ml/unravel/models/hierarchy"
	"github.com/unravel-ml/unravel/models/hierarchy/mimosa"
	"github.com/unravel-ml/unravel/train"
	"github.com/unravel-ml/unravel/train/rundir"
	"github.com/unravel-ml/unravel/train/sweep"
)

// mimosaSource trains an autoencoder for each seed. MIMOSA then learns components and a hierarchy from the codes of the
// training images. Metrics compare both with the true ones.
type mimosaSource struct {
	Config         string         `yaml:"config" doc:"config of the autoencoder: a .yaml file or the name of a built-in config"`
	Set            sweep.Settings `yaml:"set" doc:"key.path: value; overrides the config; the scale's set overrides this key"`
	ByScale        ScaleSettings  `yaml:"by_scale" doc:"scale: {key.path: value}; overrides all other settings"`
	mimosa.Options `yaml:",inline"`
}

// Validate checks the settings.
func (m *mimosaSource) Validate() error {
	if m.Config == "" {
		return config.Invalid("config", "want a .yaml file, or a name of unravel list configs")
	}
	return m.Options.Validate()
}

// Random implements Source.
func (m *mimosaSource) Random() bool { return true }

// Plan implements Trained. The run measures nothing itself.
func (m *mimosaSource) Plan(p *Planner, row string, seed uint64) ([]sweep.Run, error) {
	run, err := p.Run(p.Name(row, seed), RunSettings{Config: m.Config, Set: m.Set, ByScale: m.ByScale}, seed)
	return []sweep.Run{run}, err
}

// explored is the result of MIMOSA, as stored in the run's folder.
type explored struct {
	Options    mimosa.Options      `json:"options"`
	Run        string              `json:"run"` // hash of its config
	Hierarchy  hierarchy.Hierarchy `json:"hierarchy"`
	Components []int               `json:"components"` // by training image; -1: in no component
	Results    []metrics.Result    `json:"results"`
}

// Results implements Trained.
func (m *mimosaSource) Results(ctx context.Context, runs []sweep.Entry, choices []metrics.Choice, o Options) ([]metrics.Result, *train.Fit, error) {
	run := runs[0]
	x, err := m.stored(run)
	if err != nil {
		return nil, nil, err
	}
	if x != nil {
		if results, ok := x.of(choices); ok {
			return results, run.Fit, nil
		}
	}
	if !o.Explore || run.Dir == "" {
		return nil, nil, fmt.Errorf("%w (the autoencoder is trained, and its codes are not explored)", ErrNotRun)
	}
	e, _, err := train.OpenExperiment(run.Dir)
	if err != nil {
		return nil, nil, err
	}
	images := e.TrainingImages()
	if x == nil || len(x.Components) != len(images) {
		r, err := m.explore(ctx, e, images)
		if err != nil {
			return nil, nil, err
		}
		x = &explored{Options: m.Options, Run: run.Hash, Hierarchy: r.Hierarchy, Components: r.Labels}
	}
	in := e.InputOf(matrix.Matrix{Rows: len(images), Cols: 1, Data: make([]float64, len(images))}, images)
	in.Hierarchy, in.Components = x.Hierarchy, x.Components
	if x.Results, err = metrics.Evaluate(ctx, in, run.Config.Seed, x.defined(choices)); err != nil {
		return nil, nil, err
	}
	results, _ := x.of(choices)
	return results, run.Fit, writeStored(run.Dir, m.file(), x)
}

// explore runs MIMOSA on the codes of images.
func (m *mimosaSource) explore(ctx context.Context, e *train.Experiment, images []int) (*mimosa.Result, error) {
	codes, err := e.Encode(ctx, images)
	if err != nil {
		return nil, err
	}
	wide := make([]float64, len(codes))
	for i, v := range codes {
		wide[i] = float64(v)
	}
	r, err := mimosa.Run(ctx, wide, e.Coder.Width(), m.Options, nil)
	if ctx.Err() != nil {
		return nil, fmt.Errorf("mimosa: %w", train.ErrStopped)
	}
	if err != nil {
		return nil, fmt.Errorf("mimosa: %w", err)
	}
	return r, nil
}

// defined returns the metrics that have a value: without components there is no purity.
func (x *explored) defined(choices []metrics.Choice) []metrics.Choice {
	if !x.empty() {
		return choices
	}
	return slices.DeleteFunc(slices.Clone(choices), func(c metrics.Choice) bool { return c.Name == purity })
}

// purity is the name of the metric.
const purity = "purity"

// empty reports that MIMOSA found no component.
func (x *explored) empty() bool {
	return !slices.ContainsFunc(x.Components, func(c int) bool { return c >= 0 })
}

// of returns the results of metrics; an undefined purity is NaN.
func (x *explored) of(choices []metrics.Choice) (list []metrics.Result, all bool) {
	for i, name := range metrics.ResultNames(choices) {
		at := slices.IndexFunc(x.Results, func(r metrics.Result) bool { return r.Name == name })
		switch {
		case at >= 0:
			list = append(list, x.Results[at])
		case choices[i].Name == purity && x.empty():
			list = append(list, metrics.Result{Name: name, Value: math.NaN(), Notes: []string{"there is no component"}})
		default:
			return nil, false
		}
	}
	return list, true
}

// file returns the name of the file for a result with these options. The file lies in the run's folder.
func (m *mimosaSource) file() string {
	return "mimosa-" + rundir.FileHash(fmt.Appendf(nil, "%+v", m.Options))[:8] + ".json"
}

// stored reads an earlier result; nil if the file is missing, damaged, or from another run.
func (m *mimosaSource) stored(run sweep.Entry) (*explored, error) {
	var x explored
	if ok, err := readStored(run, m.file(), &x); err != nil || !ok || x.Run != run.Hash || x.Options != m.Options {
		return nil, err
	}
	return &x, nil
}
