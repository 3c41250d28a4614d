package tables

import (
	"context"

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

// Source provides the values of a row. Every source is also [Sampled], [Scored] or [Trained]. A program adds its own
// source with [RegisterSource], before it opens tables that name it.
type Source interface {
	// Random reports whether different seeds give different codes, or different scores.
	Random() bool
}

// Sampled is a Source that computes codes at once, without training.
type Sampled interface {
	Source

	// Sample returns the codes and factors of a seed. An error that wraps ErrNotRun leaves
	// the seed out.
	Sample(ctx context.Context, seed uint64) (*Sample, error)
}

// Scored is a Source without codes. It gives the results of metrics itself: from assumed or printed numbers.
type Scored interface {
	Source

	// Score returns the result of a metric for a seed; an error if the metric needs codes.
	Score(ctx context.Context, c metrics.Choice, seed uint64) (metrics.Result, error)
}

// Trained is a Source with codes from the runs of a sweep.
type Trained interface {
	Source

	// Plan lists the runs of a row for a seed, each made by Planner.Run.
	Plan(p *Planner, row string, seed uint64) ([]sweep.Run, error)

	// Results returns the results of the metrics for a seed from the finished runs of Plan. It also returns the fit
	// of the chosen run; nil for none. An error that wraps ErrNotRun leaves the seed out.
	Results(ctx context.Context, runs []sweep.Entry, choices []metrics.Choice, o Options) ([]metrics.Result, *train.Fit, error)
}

// ErrNotRun is the error of [Trained] sources for a seed without codes so far. Train the runs of the table, or show the
// cell as missing.
var ErrNotRun = analysis.ErrNotRun

// Sample holds the codes and factors that the metrics of a row measure.
type Sample struct {
	Input *metrics.Input
	Codes factor.SubCodes // columns of each factor's sub-code; nil: by the metrics' own rule
	Timed bool            // the cells show the computation time of the metrics in seconds
}

// Sources lists the sources that a table can name.
var Sources = &registry.Registry[Source]{Kind: "source of codes", Entries: []registry.Entry[Source]{
	{
		Name: "entangled", Doc: "codes of a hand-made encoder of three factors",
		Source: "Zhang and Sugiyama 2024, appendix F.1",
		New:    func() Source { return &codes.Entangled{Entangled: drawnsets.Entangled{Levels: 11}} },
	},
	{
		Name: "linear", Doc: "weighted sums of factors, with every combination of levels once: an exactly known joint distribution",
		Source: "Cao et al. 2022, appendix F.2", New: func() Source { return &codes.Linear{Levels: 2} },
	},
	{
		Name: "importances", Doc: "assumed importances of code columns for factors, instead of codes; only dci can score them",
		Source: "Cao et al. 2022, appendix F.2.2", New: func() Source { return &codes.Importances{} },
	},
	{
		Name: "printed-tau", Doc: "Kendall's tau between the columns of another table as the paper prints it",
		Source: "Zhang and Sugiyama 2024, table 6", New: func() Source { return &printedTau{} },
	},
	{
		Name: "printed-product", Doc: "products of another table's printed numbers over its columns of a metric, with random digits after the printed digits",
		Source: "Zhang and Sugiyama 2024, tables 5 and 8 to 11", New: func() Source { return &printedProduct{} },
	},
	{
		Name: "timed", Doc: "seconds that metrics take on random codes of a given shape",
		New: func() Source { return &codes.Timed{Rows: 10000, Columns: 10} },
	},
	{
		Name: "runs", Doc: "codes of trained models: a run for each seed, or the best of a grid", New: func() Source { return &Runs{} },
	},
	{
		Name: "top", Doc: "best columns of every factor in trained models' codes, as chosen by med",
		Source: "Cao et al. 2022, section 3.3 and table 4",
		New:    func() Source { return &top{Best: analysis.Best{K: 2}} },
	},
	{
		Name: "tau", Doc: "Kendall's tau between a column of another table and this table's metrics, on the other table's runs",
		Source: "Zhang and Sugiyama 2024, table 6", New: func() Source { return &tau{} },
	},
	{
		Name: "mimosa", Doc: "components and hierarchy that MIMOSA learns from trained autoencoders' codes",
		Source: "Ross and Doshi-Velez 2021, section 5.1",
		New:    func() Source { return &explored{Mimosa: analysis.Mimosa{Options: mimosa.Defaults()}} },
	},
	{Name: "cells", Doc: "cells of a row of another table, at the same scale", New: func() Source { return &cells{} }},
	{
		Name: "binned", Doc: "means of columns over the runs or rows of other tables with one column's value in a range",
		New: func() Source { return &binned{Over: Over{Of: ofRuns}} },
	},
	{
		Name: "ranked", Doc: "Kendall's tau-b between one column and the others, over the runs or rows of other tables",
		New: func() Source { return &ranked{Over{Of: ofRuns}} },
	},
}}

// SourceChoice is a source in a table: `{entangled: {encoder: rotation}}`.
type SourceChoice struct {
	Name  string
	Value Source
}

// DecodeConfig implements config.Decoder.
func (c *SourceChoice) DecodeConfig(n *config.Node) error {
	return config.DecodeChoice(n, Sources, (*registry.Choice[Source])(c))
}

// EncodeConfig implements config.Encoder.
func (c SourceChoice) EncodeConfig() (any, error) {
	return config.EncodeChoice(registry.Choice[Source](c))
}

// ConfigForms implements config.Former.
func (SourceChoice) ConfigForms() []any { return []any{config.ChoicesOf(Sources)} }

// RegisterSource adds a source for tables to name. Call it before a table is opened. A taken name is an error.
func RegisterSource(e registry.Entry[Source]) error { return Sources.Register(e) }
