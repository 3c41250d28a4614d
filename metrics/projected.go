package metrics

import (
	"context"
	"fmt"
	"math"

	"github.com/unravel-ml/unravel/configs/config"
)

// Projected is another metric on codes with one column for each factor: "linear projection to find the most informative
// representations for each factor" (Zhang and Sugiyama 2024, appendix F.3). With Project linear, column i is the best
// affine prediction h_i(z) of factor i from all columns in mean square, in units of the factor mapped to [0, 1]. With
// Project best, an assignment with the largest sum of mutual information gives a code column to each factor (see
// [SubCodeDeviation]).
//
// The contraction of affine predictions maps factors of any kind and units to [0, 1], as the projection does. Otherwise
// it would call even a perfect prediction of categorical or circular levels contracted.
//
// The projection is fitted to the measured rows. A row with an unknown level is left out.
type Projected struct {
	Project Projection `yaml:"project" doc:"linear (column i is the best affine prediction of factor i from all columns, mapped to [0, 1]) or best (the column of the most mutual information)"`
	Of      Choice     `yaml:"of" doc:"the metric of the projected codes"`
}

// distant is implemented by metrics that depend on distances between factors of different kinds.
type distant interface {
	ofNumbers() Metric // the same metric of factors that are numbers in [0, 1], their values or levels
}

// newProjected returns the metric with its defaults, which name no metric.
func newProjected() *Projected { return &Projected{Project: ProjectLinear} }

// Variants implements Varied.
func (*Projected) Variants() []Metric {
	return []Metric{
		&Projected{Project: ProjectLinear, Of: Choice{"contraction-mean", &Contraction{Pairs: 1 << 23, Units: UnitsAsGiven}}},
		&Projected{Project: ProjectBest, Of: Choice{"factor-vae", &FactorVAE{Batch: 8, Train: 1000, Test: 500, Direct: true, Raw: true}}},
	}
}

// Title implements Titled.
func (m *Projected) Title() string {
	if m.Of.Name == "" {
		return ""
	}
	return "projected-" + m.Of.Name
}

// Needs returns AllLevels.
func (*Projected) Needs() Needs { return AllLevels }

// Better implements Metric: the direction of the other metric.
func (m *Projected) Better() Direction {
	if m.Of.Value == nil {
		return HigherIsBetter
	}
	return m.Of.Value.Better()
}

// Range implements Bounded: it returns the range of the other metric.
func (m *Projected) Range() (least, most float64) {
	if b, ok := m.Of.Value.(Bounded); ok {
		return b.Range()
	}
	return math.Inf(-1), math.Inf(1)
}

// Validate checks the settings.
func (m *Projected) Validate() error {
	if m.Project != ProjectLinear && m.Project != ProjectBest {
		return config.Invalid("project", "unknown projection %q; want linear or best", string(m.Project))
	}
	if m.Of.Value == nil {
		return config.Invalid("of", "there is no metric; want one of the projected codes, such as mig")
	}
	if _, again := m.Of.Value.(*Projected); again {
		return config.Invalid("of", "the codes are projected already; want another metric than projected")
	}
	if v, ok := m.Of.Value.(interface{ Validate() error }); ok {
		return v.Validate()
	}
	return nil
}

// Suits implements Selective.
func (m *Projected) Suits(in *Input) error {
	if m.Of.Value == nil {
		return m.Validate()
	}
	if len(in.Factors) == 0 {
		return fmt.Errorf("there are no factors; want at least one")
	}
	if err := m.Project.suits(in.Codes.Cols, len(in.Factors)); err != nil {
		return err
	}
	return suits(m.Of.Value, projectedInput(in, Matrix{Rows: in.Codes.Rows, Cols: len(in.Factors)}))
}

// projectedInput is the input with other codes for the same rows. It drops the knowledge about the old codes' columns.
func projectedInput(in *Input, codes Matrix) *Input {
	other := *in
	other.Codes, other.Hierarchy, other.Spaces, other.shared = codes, nil, nil, nil
	return &other
}

// Compute returns the parts and grids of the other metric, and the projection's part explained (linear) or columns
// (best).
func (m *Projected) Compute(ctx context.Context, in *Input) (Result, error) {
	if err := ready(ctx, m, in); err != nil {
		return Result{}, err
	}
	codes, blocks, parts, err := m.Project.project(ctx, in)
	if err != nil {
		return Result{}, err
	}
	if m.Project == ProjectBest {
		whole := codes
		codes = Matrix{Rows: whole.Rows, Cols: len(blocks), Data: make([]float64, whole.Rows*len(blocks))}
		for _, b := range blocks {
			for i := range whole.Rows {
				codes.Data[i*codes.Cols+b.Factor] = whole.Data[i*whole.Cols+b.Columns[0]]
			}
		}
	}
	other := m.Of.Value
	if n, ok := other.(distant); ok && m.Project == ProjectLinear {
		other = n.ofNumbers()
	}
	r, err := other.Compute(ctx, projectedInput(in, codes))
	if err != nil {
		return Result{}, fmt.Errorf("%s of projected codes: %w", m.Of.Name, err)
	}
	r.Parts = append(r.Parts, parts...)
	r.Basis.fittedToAll(m.Project, in)
	return r, nil
}
