package metrics

import (
	"context"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/internal/geometry"
	"github.com/unravel-ml/unravel/metrics/matrix"
)

// Reduction replaces code columns by principal components, which makes codes of 1000 columns comparable with codes of
// 10. Cao et al. 2022, section 5.1, do so for metrics of gaps between columns. Narrower codes stay unchanged.
type Reduction struct {
	Components int `yaml:"components" doc:"number of principal components to measure for codes with more columns; 0: measure the columns"`
}

func (m Reduction) validate() error {
	if m.Components < 0 {
		return config.Invalid("components", "%d is negative; want 0 (the columns) or more", m.Components)
	}
	return nil
}

// columns returns the number of columns that are measured.
func (m Reduction) columns(in *Input) int {
	if m.Components == 0 {
		return in.Codes.Cols
	}
	return min(m.Components, in.Codes.Cols)
}

// reduces reports whether there are more columns than components.
func (m Reduction) reduces(in *Input) bool { return m.Components > 0 && in.Codes.Cols > m.Components }

// reduce returns the input with its components, named pc0, pc1, ..., if they are fewer than its columns.
func (m Reduction) reduce(in *Input) (*Input, error) {
	if !m.reduces(in) {
		return in, nil
	}
	c, err := geometry.PCA(in.Codes.Data, in.Codes.Cols)
	if err != nil {
		return nil, err
	}
	k := m.columns(in)
	reduced := *in
	reduced.shared, reduced.principal = nil, true
	reduced.Codes = matrix.Matrix{Rows: in.Codes.Rows, Cols: k, Data: c.Project(in.Codes.Data, k)}
	return &reduced, reduced.Validate()
}

// PrincipalMED is the [MED] of the first principal components of the codes instead of their columns (Cao et al. 2022,
// appendix B.4 and figure 12, which reduce a thousand columns to ten). Codes with no more columns than components are
// measured unchanged.
type PrincipalMED struct {
	MED       `yaml:",inline"`
	Reduction `yaml:",inline"`
}

// Validate checks the settings.
func (m *PrincipalMED) Validate() error {
	if err := m.Reduction.validate(); err != nil {
		return err
	}
	return m.MED.Validate()
}

// Compute returns the result of MED, with rows pc0, pc1, ... of the grid R.
func (m *PrincipalMED) Compute(ctx context.Context, in *Input) (Result, error) {
	if err := ready(ctx, m, in); err != nil {
		return Result{}, err
	}
	in, err := m.reduce(in)
	if err != nil {
		return Result{}, err
	}
	return m.MED.Compute(ctx, in)
}
