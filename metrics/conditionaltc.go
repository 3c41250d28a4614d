package metrics

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/metrics/internal/dependence"
)

// ActiveCodes is a rule: its code columns are active in rows where a factor has one of the given levels. They are
// inactive in all other rows, including rows where the factor is unknown.
type ActiveCodes struct {
	Columns []int  `yaml:"columns" doc:"columns of the codes"`
	Factor  string `yaml:"factor" doc:"name of the factor"`
	Levels  []int  `yaml:"levels" doc:"levels of the factor at which the columns are active"`
}

// ConditionalTC is the total correlation, in nats, of codes with inactive columns (Ross and Doshi-Velez 2021, section
// 5.2). It is the metric of the loss of the same name, with normal distributions of the codes' covariances instead of a
// discriminator. Let m_p of n rows have the same active columns A_p. Let u be the codes minus the mean of their column,
// over its standard deviation, both over the rows where the column is active. The value is
//
//	sum over p of m_p/n (sum over d in A_p of mean_p u_d^2 - |A_p| - ln det cov_p u) / 2
//
// A set of active columns adds 0 if fewer than two of them vary, or if it has no more rows than such columns. Where all
// columns are active it is [TotalCorrelation]. It is 0 if columns that are active together are not correlated. It can
// be slightly below 0 if their variances differ between sets of active columns.
//
// Active determines the active columns. Without it the hierarchy of the codes does: a column is inactive where it is 0.
type ConditionalTC struct {
	noLevels

	Active []ActiveCodes `yaml:"active" doc:"factor levels at which columns are active, such as [{columns: [2, 3], factor: shape, levels: [0]}]; unlisted columns are always active. Empty: a column is inactive where its code is 0, as in hierarchical codes"`
}

// Better returns LowerIsBetter.
func (*ConditionalTC) Better() Direction { return LowerIsBetter }

// Range implements Bounded.
func (*ConditionalTC) Range() (least, most float64) { return math.Inf(-1), math.Inf(1) }

// Validate checks the settings.
func (m *ConditionalTC) Validate() error {
	for i, a := range m.Active {
		if len(a.Columns) == 0 || len(a.Levels) == 0 {
			return config.Invalid(fmt.Sprintf("active.%d", i), "want at least one column and one level")
		}
	}
	return nil
}

// Suits implements Selective.
func (m *ConditionalTC) Suits(in *Input) error {
	if len(m.Active) == 0 && in.Hierarchy == nil {
		return MissingHierarchy
	}
	names := factor.Names(in.Factors)
	for i, a := range m.Active {
		k := slices.Index(names, a.Factor)
		if k < 0 {
			return config.Invalid(fmt.Sprintf("active.%d.factor", i), "there is no factor %q; the factors are %s", a.Factor, strings.Join(names, ", "))
		}
		for _, c := range a.Columns {
			if c < 0 || c >= in.Codes.Cols {
				return config.Invalid(fmt.Sprintf("active.%d.columns", i), "there is no column %d; codes have columns 0 to %d", c, in.Codes.Cols-1)
			}
		}
		for _, l := range a.Levels {
			if l < 0 || l >= in.Factors[k].Size {
				return config.Invalid(fmt.Sprintf("active.%d.levels", i), "there is no level %d; %s has levels 0 to %d", l, a.Factor, in.Factors[k].Size-1)
			}
		}
	}
	return nil
}

// Compute returns the part per_pattern, by active columns: the total correlation of the rows.
func (m *ConditionalTC) Compute(ctx context.Context, in *Input) (Result, error) {
	if err := ready(ctx, m, in); err != nil {
		return Result{}, err
	}
	patterns, few, err := dependence.ConditionalTC(ctx, in.Codes, m.mask(in), in.columnName)
	if err != nil {
		return Result{}, err
	}
	var r Result
	part := Part{Name: "per_pattern"}
	for _, p := range patterns {
		r.Value += p.Value * float64(p.Rows) / float64(in.Codes.Rows)
		part.Labels, part.Values = append(part.Labels, p.Name), append(part.Values, p.Value)
		r.Basis.count([]int{p.Rows})
	}
	if r.Basis.Groups == 0 {
		r.Notes = append(r.Notes, "no two columns are active together and vary")
	}
	if few > 0 {
		r.Basis.Rows = in.Codes.Rows - few
		r.Basis.Excluded = []Exclusion{{Rows: few, Why: "with active columns of too few rows"}}
	}
	r.Parts = []Part{part}
	return r, nil
}

// mask returns the active columns of every row.
func (m *ConditionalTC) mask(in *Input) [][]bool {
	mask, k := make([][]bool, in.Codes.Rows), len(in.Factors)
	names := factor.Names(in.Factors)
	for i := range mask {
		mask[i] = make([]bool, in.Codes.Cols)
		for c := range mask[i] {
			mask[i][c] = len(m.Active) > 0 || math.Abs(in.Codes.Row(i)[c]) > inactive
		}
		for _, a := range m.Active {
			on := slices.Contains(a.Levels, in.Levels[i*k+slices.Index(names, a.Factor)])
			for _, c := range a.Columns {
				mask[i][c] = mask[i][c] && on
			}
		}
	}
	return mask
}
