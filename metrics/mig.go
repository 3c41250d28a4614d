package metrics

import (
	"context"
	"fmt"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets/factor"
)

// informationGap is the MIG of one factor y (Chen et al. 2018, section 4.1), from its entropy H(y) and its mutual
// information I with every code column. I is largest for column a and second largest for b:
//
//	(I(z_a; y) - I(z_b; y)) / H(y)
func informationGap(information []float64, entropy float64) float64 {
	_, gap := topGap(information)
	return gap / entropy
}

// topGap returns the index of the largest value, and its difference from the second largest.
func topGap(values []float64) (best int, gap float64) {
	for i, v := range values {
		if v > values[best] {
			best = i
		}
	}
	second := 0.0
	for i, v := range values {
		if i != best {
			second = max(second, v)
		}
	}
	return best, values[best] - second
}

// MIG is the mutual information gap of Chen et al. 2018, section 4.1: the mean over
// factors of
//
//	(largest - second largest mutual information with a code column) / entropy of the factor
//
// from the frequencies of levels and of bins of code columns. It is 1 if the bin of one column determines each factor
// and all other columns are independent of the factor. It is 0 if the two most informative columns of each factor are
// equally informative.
//
// Gap factors gives the MIG of table 2 of Zhang and Sugiyama 2024: the mean over code columns of (largest - second
// largest mutual information with a factor) / entropy of the factor with the largest.
type MIG struct {
	Histogram `yaml:",inline"`
	Gap       Gap `yaml:"gap" doc:"columns (gap between code columns, for every factor) or factors (gap between factors, for every column)"`
	Reduction `yaml:",inline"`
}

// Gap names the sides of a mutual information gap.
type Gap string

// The gaps.
const (
	GapColumns Gap = "columns"
	GapFactors Gap = "factors"
)

// Needs returns KnownLevels.
func (*MIG) Needs() Needs { return KnownLevels }

// Better returns HigherIsBetter.
func (*MIG) Better() Direction { return HigherIsBetter }

// Range implements Bounded.
func (*MIG) Range() (least, most float64) { return 0, 1 }

// Validate checks the settings.
func (m *MIG) Validate() error {
	if m.Gap != GapColumns && m.Gap != GapFactors {
		return config.Invalid("gap", "unknown gap %q; want columns or factors", string(m.Gap))
	}
	if err := m.Reduction.validate(); err != nil {
		return err
	}
	return m.Histogram.validate()
}

// Suits implements Selective.
func (m *MIG) Suits(in *Input) error {
	switch {
	case m.Gap == GapColumns && m.columns(in) < 2:
		return fmt.Errorf("there is %d code column; want at least two, to have a gap between them", m.columns(in))
	case m.Gap == GapFactors && len(in.Factors) < 2:
		return fmt.Errorf("there is %d factor; want at least two, to have a gap between them", len(in.Factors))
	}
	if m.Gap == GapFactors {
		return nil
	}
	return TrainTest{}.wantVarying(in)
}

// Compute returns the part per_factor (with Gap factors: per_column), and the grid
// mutual_information in nats.
func (m *MIG) Compute(ctx context.Context, in *Input) (Result, error) {
	if err := ready(ctx, m, in); err != nil {
		return Result{}, err
	}
	return m.reduced(in, func(in *Input) (Result, error) {
		x, err := newInformation(ctx, in, m.Histogram)
		if err != nil {
			return Result{}, err
		}
		part, notes := x.columnGaps(), []string(nil)
		if m.Gap == GapColumns {
			part, notes = x.factorGaps(in)
		}
		if len(part.Values) == 0 {
			return Result{}, fmt.Errorf("every factor has one level only; want one that varies")
		}
		return Result{Value: factor.Mean.Of(part.Values), Parts: []Part{part}, Grids: []Grid{x.grid(in)}, Notes: notes}, nil
	})
}

// factorGaps returns the gap between code columns of every factor that varies, and notes of the others.
func (x *information) factorGaps(in *Input) (part Part, notes []string) {
	part.Name = "per_factor"
	columns := transposed(x.mutual)
	for j, f := range in.Factors {
		if x.entropy[j] == 0 {
			notes = append(notes, fmt.Sprintf("factor %s has one level only and is left out", f.Name))
			continue
		}
		part.Labels = append(part.Labels, f.Name)
		part.Values = append(part.Values, informationGap(columns[j], x.entropy[j]))
	}
	return part, notes
}

// columnGaps returns the gap between factors of every code column; 0 if no factor varies.
func (x *information) columnGaps() Part {
	part := Part{Name: "per_column"}
	for c, row := range x.mutual {
		best, gap := topGap(row)
		if x.entropy[best] > 0 {
			gap = informationGap(row, x.entropy[best])
		}
		part.Labels = append(part.Labels, columnName(c))
		part.Values = append(part.Values, gap)
	}
	return part
}

func columnName(c int) string { return fmt.Sprint("z", c) }

func (x *information) grid(in *Input) Grid {
	g := Grid{Name: "mutual_information", Values: x.mutual}
	for c := range x.mutual {
		g.Rows = append(g.Rows, columnName(c))
	}
	for _, f := range in.Factors {
		g.Columns = append(g.Columns, f.Name)
	}
	return g
}
