package metrics

import "context"

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
