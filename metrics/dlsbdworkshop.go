package metrics

import (
	"context"
	"math"
	"slices"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/metrics/lsbd"
)

// DLSBDWorkshop is the earlier form of D_LSBD (Pérez Rey et al. 2020, equations 6 to 12). Code columns are divided by
// their standard deviation before the principal components are taken. The components are scaled by 1/sqrt(2) alone, and
// subgroups are summed. The subtracted mean is over the subgroup's levels, as in the paper's text, not over the other
// subgroups' levels, as in its equation 6.
//
// Without Whiten this is equation 8 to the letter, and contradicts the rest of the paper. It is not invariant under
// linear maps, and columns that carry a factor add up, which can lift one subgroup above 1. Whiten divides the
// components by their standard deviations (n degrees of freedom). Perfect codes then stay at 0 under invertible linear
// maps, as section 5 reports. The mean square of a subgroup's points is 1, as equation 18 demands. The value is at most
// the number of subgroups. In either form noise in columns that do not depend on a factor is enlarged.
type DLSBDWorkshop struct {
	Omega       int              `yaml:"omega" doc:"largest |omega| tried: turns of the code per turn of the factor, all integers from -omega to omega"`
	Aggregate   factor.Aggregate `yaml:"aggregate" doc:"how subgroups are joined: sum as in the paper, or mean"`
	SharedOmega bool             `yaml:"shared_omega" doc:"use one omega for all objects instead of the best one for each"`
	Whiten      bool             `yaml:"whiten" doc:"divide the two principal components by their standard deviations, as equation 18 and the invariance of section 5 require; false: equation 8 literally"`
}

// Needs returns AllLevels.
func (*DLSBDWorkshop) Needs() Needs { return AllLevels }

// Better returns LowerIsBetter.
func (*DLSBDWorkshop) Better() Direction { return LowerIsBetter }

// Range implements Bounded.
func (*DLSBDWorkshop) Range() (least, most float64) { return 0, math.Inf(1) }

// Validate checks the settings.
func (m *DLSBDWorkshop) Validate() error { return validTurns(m.Omega, m.Aggregate) }

// Suits implements Selective.
func (m *DLSBDWorkshop) Suits(in *Input) error {
	_, err := m.design(in)
	return err
}

func (m *DLSBDWorkshop) design(in *Input) (*lsbd.Design, error) {
	if !slices.ContainsFunc(in.Factors, func(f factor.Factor) bool { return f.Kind == factor.Circular }) {
		return nil, MissingCircular
	}
	s := lsbd.Settings{Form: lsbd.Standardised, Omega: m.Omega, Shared: m.SharedOmega}
	if m.Whiten {
		s.Form = lsbd.StandardisedWhitened
	}
	return lsbd.New(in.elements(), s)
}

// Compute returns the same parts as DLSBD.
func (m *DLSBDWorkshop) Compute(ctx context.Context, in *Input) (Result, error) {
	if err := ready(ctx, m, in); err != nil {
		return Result{}, err
	}
	d, err := m.design(in)
	if err != nil {
		return Result{}, err
	}
	r, err := collect(d, m.Aggregate, func(k int) (*lsbd.Measured, error) { return d.Measure(ctx, in.Codes, k) })
	r.Basis = turningBasis(d.Objects, m.Omega)
	return r, err
}

func validTurns(omega int, a factor.Aggregate) error {
	switch {
	case omega < 1 || omega > 1000:
		return config.Invalid("omega", "%d is out of range; want 1 to 1000", omega)
	case a != factor.Mean && a != factor.Sum:
		return config.Invalid("aggregate", "%v; want mean or sum", a)
	}
	return nil
}
