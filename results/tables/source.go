package tables

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/configs/registry"
	drawnsets "github.com/unravel-ml/unravel/datasets/drawn"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/models/hierarchy/mimosa"
	"github.com/unravel-ml/unravel/results/tables/internal/analysis"
	"github.com/unravel-ml/unravel/results/tables/internal/codes"
	"github.com/unravel-ml/unravel/train"
	"github.com/unravel-ml/unravel/train/sweep"
)

// Source provides the values of a row. Every source also implements [Sampled], [Scored] or [Trained]. A program adds a
// source with [RegisterSource] before it opens tables that name the source.
type Source interface {
	// Random reports whether different seeds give different codes, or different scores.
	Random() bool
}

// Sampled is a Source that computes codes directly, without training.
type Sampled interface {
	Source

	// Sample returns the codes and factors for a seed. An error that wraps ErrNotRun skips the seed.
	Sample(ctx context.Context, seed uint64) (*Sample, error)
}

// Scored is a Source without codes. It computes the results of metrics from assumed or printed numbers.
type Scored interface {
	Source

	// Score returns the result of a metric for a seed, or an error if the metric needs codes.
	Score(ctx context.Context, c metrics.Choice, seed uint64) (metrics.Result, error)
}

// Trained is a Source with codes from the runs of a sweep.
type Trained interface {
	Source

	// Plan lists the runs of a row for a seed, each made by Planner.Run.
	Plan(p *Planner, row string, seed uint64) ([]sweep.Run, error)

	// Results returns the results of the metrics for a seed from the finished runs of Plan, and the fit of the chosen
	// run, or nil. An error that wraps ErrNotRun skips the seed.
	Results(ctx context.Context, runs []sweep.Entry, choices []metrics.Choice, o Options) ([]metrics.Result, *train.Fit,
		error)
}

// ErrNotRun is the error of [Trained] sources for a seed without codes. Train the runs of the table, or show the cell
// as missing.
var ErrNotRun = analysis.ErrNotRun

// Sample holds the codes and factors that the metrics of a row measure.
type Sample struct {
	Input *metrics.Input
	Codes factor.SubCodes // columns of each factor's sub-code; nil: the metrics' default
	Timed bool            // the cells show the computation times of the metrics in seconds
}

// Sources lists the sources that a table can name.
var Sources = &registry.Registry[Source]{Kind: "source of codes", Entries: []registry.Entry[Source]{
	{Name: "entangled", Doc: "codes of a hand-made encoder of three factors",
		Source: "Zhang and Sugiyama 2024, appendix F.1",
		New:    func() Source { return &codes.Entangled{Entangled: drawnsets.Entangled{Levels: 11}} }},
	{Name: "linear", Doc: "weighted sums of factors, with every combination of levels once: an exactly known joint distribution",
		Source: "Cao et al. 2022, appendix F.2", New: func() Source { return &codes.Linear{Levels: 2} }},
	{Name: "importances", Doc: "assumed importances of code columns for factors, instead of codes; only dci can score them",
		Source: "Cao et al. 2022, appendix F.2.2", New: func() Source { return &codes.Importances{} }},
	{Name: "printed-tau", Doc: "Kendall's tau between the columns of another table as the paper prints it",
		Source: "Zhang and Sugiyama 2024, table 6", New: func() Source { return &printedTau{} }},
	{Name: "printed-product",
		Doc:    "products of another table's printed numbers over its columns of a metric, with random digits after the printed digits",
		Source: "Zhang and Sugiyama 2024, tables 5 and 8 to 11", New: func() Source { return &printedProduct{} }},
	{Name: "timed", Doc: "seconds that metrics take on random codes of a given shape",
		New: func() Source { return &codes.Timed{Rows: 10000, Columns: 10} }},
	{Name: "runs", Doc: "codes of trained models: a run for each seed, or the best of a grid",
		New: func() Source { return &Runs{} }},
	{Name: "top", Doc: "best columns of every factor in trained models' codes, as chosen by med",
		Source: "Cao et al. 2022, section 3.3 and table 4", New: func() Source { return &top{Best: analysis.Best{K: 2}} }},
	{Name: "tau", Doc: "Kendall's tau between a column of another table and this table's metrics, on the other table's runs",
		Source: "Zhang and Sugiyama 2024, table 6", New: func() Source { return &tau{} }},
	{Name: "mimosa", Doc: "components and hierarchy that MIMOSA learns from trained autoencoders' codes",
		Source: "Ross and Doshi-Velez 2021, section 5.1",
		New:    func() Source { return &explored{Mimosa: analysis.Mimosa{Options: mimosa.Defaults()}} }},
	{Name: "cells", Doc: "cells of a row of another table, at the same scale",
		New: func() Source { return &cellsSource{} }},
	{Name: "binned", Doc: "means of columns over the runs or rows of other tables with one column's value in a range",
		New: func() Source { return &binned{Over: Over{Of: ofRuns}} }},
	{Name: "ranked", Doc: "Kendall's tau-b between one column and the others, over the runs or rows of other tables",
		New: func() Source { return &ranked{Over{Of: ofRuns}} }},
}}

// SourceChoice is a source in a table: `{entangled: {encoder: rotation}}`.
type SourceChoice struct {
	Name  string
	Value Source
}

// DecodeConfig implements config.Decoder.
func (c *SourceChoice) DecodeConfig(n *config.Node) error {
	return config.DecodeChoice(n, Sources, c)
}

// EncodeConfig implements config.Encoder.
func (c SourceChoice) EncodeConfig() (any, error) { return config.EncodeChoice(c) }

// ConfigForms implements config.Former.
func (SourceChoice) ConfigForms() []any { return []any{config.ChoicesOf(Sources)} }

// RegisterSource adds a source that tables can name. Call it before opening a table. It returns an error if the name is
// already registered.
func RegisterSource(e registry.Entry[Source]) error { return Sources.Register(e) }

// Runs trains the codes: one run per seed, or the best run of a grid. The config of a run includes the metrics of the
// table, and the table reads their results from the run's folder.
type Runs struct {
	Config  string           `yaml:"config" doc:"config of the runs: a .yaml file or the name of a built-in config"`
	Set     sweep.Settings   `yaml:"set" doc:"key.path: value; overrides the config; the scale's set overrides this key"`
	ByScale ScaleSettings    `yaml:"by_scale" doc:"scale: {key.path: value}; overrides all other settings"`
	Also    []metrics.Choice `yaml:"also" doc:"more metrics for these runs to measure, to share the runs between tables"`
	Grid    sweep.Axes       `yaml:"grid" doc:"key.path: [values]; each seed runs every combination, and select chooses one run"`
	Select  *Selection       `yaml:"select" doc:"how to choose a run of the grid"`
}

// Selection chooses a run of a grid by quantities in fit.json. It keeps the fraction Keep of the runs with the lowest
// By, and chooses the kept run with the lowest Then.
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
	if err := s.By.check("by"); err != nil {
		return err
	}
	return s.Then.check("then")
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

// Plan implements Trained. It plans one run, or all runs of the grid.
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
func (r *Runs) Results(_ context.Context, runs []sweep.Entry, _ []metrics.Choice, _ Options) ([]metrics.Result,
	*train.Fit, error) {
	chosen, err := r.choose(runs)
	return chosen.Metrics, chosen.Fit, err
}

// choose selects one of the finished runs of a seed. Runs without the quantities come last. It returns an error if all
// runs lack one.
func (r *Runs) choose(entries []sweep.Entry) (sweep.Entry, error) {
	if r.Select == nil || len(entries) == 1 {
		return entries[0], nil
	}
	for _, v := range []FitValue{r.Select.By, r.Select.Then} {
		if !slices.ContainsFunc(entries, func(e sweep.Entry) bool { _, ok := v.of(e.Fit); return ok }) {
			return sweep.Entry{}, fmt.Errorf("its select: the runs have no %s", v)
		}
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
	return slices.MinFunc(kept, by(r.Select.Then)), nil
}

// top only measures the best code columns of trained models.
type top struct {
	Runs          `yaml:",inline"`
	analysis.Best `yaml:",inline"`
}

// Validate checks the settings.
func (s *top) Validate() error { return cmp.Or(s.Best.Validate(), s.Runs.Validate()) }

func (s *top) Results(ctx context.Context, runs []sweep.Entry, choices []metrics.Choice, o Options) ([]metrics.Result,
	*train.Fit, error) {
	run, err := s.choose(runs)
	if err != nil {
		return nil, nil, err
	}
	results, err := s.Best.Results(ctx, run, choices, o.Explore)
	return results, run.Fit, err
}

// explored trains an autoencoder per seed. MIMOSA then learns components and a hierarchy from its codes.
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

func (m *explored) Random() bool { return true }

// Plan implements Trained. The run itself measures nothing.
func (m *explored) Plan(p *Planner, row string, seed uint64) ([]sweep.Run, error) {
	run, err := p.Run(p.Name(row, seed), RunSettings{Config: m.Config, Set: m.Set, ByScale: m.ByScale}, seed)
	return []sweep.Run{run}, err
}

func (m *explored) Results(ctx context.Context, runs []sweep.Entry, choices []metrics.Choice,
	o Options) ([]metrics.Result, *train.Fit, error) {
	results, err := m.Mimosa.Results(ctx, runs[0], choices, o.Explore)
	return results, runs[0].Fit, err
}
