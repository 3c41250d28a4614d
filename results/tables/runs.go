package tables

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/results/tables/internal/analysis"
	"github.com/unravel-ml/unravel/train"
	"github.com/unravel-ml/unravel/train/sweep"
)

// Runs trains the codes: one run for each seed, or the best run of a grid. The config of a run includes the table's
// metrics, and the table reads their results from the run's folder.
type Runs struct {
	Config  string           `yaml:"config" doc:"config of the runs: a .yaml file or the name of a built-in config"`
	Set     sweep.Settings   `yaml:"set" doc:"key.path: value; overrides the config; the scale's set overrides this key"`
	ByScale ScaleSettings    `yaml:"by_scale" doc:"scale: {key.path: value}; overrides all other settings"`
	Also    []metrics.Choice `yaml:"also" doc:"more metrics for these runs to measure, to share the runs between tables"`
	Grid    sweep.Axes       `yaml:"grid" doc:"key.path: [values]; each seed runs every combination, and select chooses one run"`
	Select  *Selection       `yaml:"select" doc:"how to choose a run of the grid"`
}

// Selection chooses a run of a grid by quantities in fit.json. Among the runs with the lowest values of By, it takes
// the lowest value of Then.
type Selection struct {
	Keep float64  `yaml:"keep" doc:"fraction of the grid to keep, 0 to 1"`
	By   FitValue `yaml:"by" doc:"quantity to keep by; runs with the lowest values stay"`
	Then FitValue `yaml:"then" doc:"quantity to choose by; the kept run with the lowest value wins"`
}

// Validate checks the settings.
func (s *Selection) Validate() error {
	if !(s.Keep > 0 && s.Keep <= 1) {
		return config.Invalid("keep", "%v is out of range; want more than 0 and at most 1", s.Keep)
	}
	if err := s.By.valid("by"); err != nil {
		return err
	}
	return s.Then.valid("then")
}

// Validate checks the settings.
func (r *Runs) Validate() error {
	switch {
	case r.Config == "":
		return config.Invalid("config", "want a .yaml file, or a name of unravel list configs")
	case len(r.Grid) > 0 && r.Select == nil:
		return config.Invalid("select", "a grid needs a rule, such as {keep: 0.333, by: assignment, then: reconstruction}")
	case len(r.Grid) == 0 && r.Select != nil:
		return config.Invalid("select", "there is no grid to select from")
	}
	return nil
}

// Plan implements Trained: it plans one run, or all runs of the grid.
func (r *Runs) Plan(p *Planner, row string, seed uint64) ([]sweep.Run, error) {
	list := []sweep.Settings{r.Set}
	for _, axis := range r.Grid {
		var all []sweep.Settings
		for _, before := range list {
			for _, v := range axis.Values {
				all = append(all, append(before[:len(before):len(before)], sweep.Setting{Key: axis.Key, Value: v}))
			}
		}
		list = all
	}
	var runs []sweep.Run
	for i, settings := range list {
		name := p.Name(row, seed)
		if len(r.Grid) > 0 {
			name += fmt.Sprintf("_grid%d", i+1)
		}
		run, err := p.Run(name, RunSettings{Config: r.Config, Set: settings, ByScale: r.ByScale, Metrics: p.Metrics()}, seed)
		if err != nil {
			return nil, err
		}
		runs = append(runs, run)
	}
	return runs, nil
}

// Random implements Source.
func (r *Runs) Random() bool { return true }

// Results implements Trained.
func (r *Runs) Results(_ context.Context, runs []sweep.Entry, _ []metrics.Choice, _ Options) ([]metrics.Result, *train.Fit, error) {
	chosen := r.choose(runs)
	return chosen.Metrics, chosen.Fit, nil
}

// choose selects one of a seed's finished runs. Runs without the quantities come last.
func (r *Runs) choose(entries []sweep.Entry) sweep.Entry {
	if r.Select == nil || len(entries) == 1 {
		return entries[0]
	}
	by := func(v FitValue) func(a, b sweep.Entry) int {
		return func(a, b sweep.Entry) int {
			x, okX := v.of(a.Fit)
			y, okY := v.of(b.Fit)
			switch {
			case okX && (!okY || x < y):
				return -1
			case okY && (!okX || y < x):
				return 1
			}
			return 0
		}
	}
	sorted := slices.SortedStableFunc(slices.Values(entries), by(r.Select.By))
	kept := sorted[:max(1, int(math.Round(r.Select.Keep*float64(len(sorted)))))]
	return slices.MinFunc(kept, by(r.Select.Then))
}

// top measures only the best code columns of trained models.
type top struct {
	Runs          `yaml:",inline"`
	analysis.Best `yaml:",inline"`
}

// Validate checks the settings.
func (s *top) Validate() error { return cmp.Or(s.Best.Validate(), s.Runs.Validate()) }

// Results implements Trained.
func (s *top) Results(ctx context.Context, runs []sweep.Entry, choices []metrics.Choice, o Options) ([]metrics.Result, *train.Fit, error) {
	run := s.choose(runs)
	results, err := s.Best.Results(ctx, run, choices, o.Explore)
	return results, run.Fit, err
}

// explored trains an autoencoder for each seed. MIMOSA then learns components and a hierarchy from its codes.
type explored struct {
	Config          string         `yaml:"config" doc:"config of the autoencoder: a .yaml file or the name of a built-in config"`
	Set             sweep.Settings `yaml:"set" doc:"key.path: value; overrides the config; the scale's set overrides this key"`
	ByScale         ScaleSettings  `yaml:"by_scale" doc:"scale: {key.path: value}; overrides all other settings"`
	analysis.Mimosa `yaml:",inline"`
}

// Validate checks the settings.
func (m *explored) Validate() error {
	if m.Config == "" {
		return config.Invalid("config", "want a .yaml file, or a name of unravel list configs")
	}
	return m.Mimosa.Validate()
}

// Random implements Source.
func (m *explored) Random() bool { return true }

// Plan implements Trained. The run measures nothing itself.
func (m *explored) Plan(p *Planner, row string, seed uint64) ([]sweep.Run, error) {
	run, err := p.Run(p.Name(row, seed), RunSettings{Config: m.Config, Set: m.Set, ByScale: m.ByScale}, seed)
	return []sweep.Run{run}, err
}

// Results implements Trained.
func (m *explored) Results(ctx context.Context, runs []sweep.Entry, choices []metrics.Choice, o Options) ([]metrics.Result, *train.Fit, error) {
	results, err := m.Mimosa.Results(ctx, runs[0], choices, o.Explore)
	return results, runs[0].Fit, err
}
