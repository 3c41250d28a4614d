package metrics

import (
	"context"
	"fmt"

	"github.com/unravel-ml/unravel/config"
	"github.com/unravel-ml/unravel/factor"
)

// MIG is the mutual information gap of Chen et al. 2018, section 4.1: the mean over
// factors of
//
//	(largest - second largest mutual information with a code column) / entropy of the factor
//
// from the frequencies of the factors' levels and of binned code columns. It is 1
// if every factor determines, and is determined by, one bin of one column, and 0 if
// no column tells more about a factor than the next.
//
// With Gap factors it is the mean over code columns of (largest - second largest
// mutual information with a factor) / entropy of the factor that has the largest,
// which is what table 2 of Zhang and Sugiyama 2024 calls MIG.
type MIG struct {
	Bins      int     `yaml:"bins" doc:"bins of a code column"`
	Binning   Binning `yaml:"binning" doc:"bins of equal width, or of equal count of rows"`
	Gap       Gap     `yaml:"gap" doc:"between columns, for every factor; or between factors, for every column"`
	Reduction `yaml:",inline"`
}

// Gap says what a mutual information gap is between.
type Gap string

// The gaps.
const (
	GapColumns Gap = "columns"
	GapFactors Gap = "factors"
)

// Better says that higher values are better.
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
	return validBins(m.Bins, m.Binning)
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
	return Split{}.wantVarying(in)
}

// Compute returns the part per_factor (with Gap factors: per_column), and the grid
// mutual_information in nats.
func (m *MIG) Compute(ctx context.Context, in *Input) (Result, error) {
	if err := ready(ctx, m, in); err != nil {
		return Result{}, err
	}
	reduced := m.reduces(in)
	in, err := m.reduce(in)
	if err != nil {
		return Result{}, err
	}
	x, err := newInformation(ctx, in, m.Bins, m.Binning)
	if err != nil {
		return Result{}, err
	}
	part := Part{Name: "per_factor"}
	var r Result
	if m.Gap == GapFactors {
		part.Name = "per_column"
		for c, row := range x.mutual {
			best, gap := topGap(row)
			part.Labels = append(part.Labels, columnName(c))
			if x.entropy[best] > 0 {
				gap /= x.entropy[best]
			}
			part.Values = append(part.Values, gap)
		}
	} else {
		for j, f := range in.Factors {
			if x.entropy[j] == 0 {
				r.Notes = append(r.Notes, fmt.Sprintf("factor %s has one level only and is left out", f.Name))
				continue
			}
			column := make([]float64, len(x.mutual))
			for c := range column {
				column[c] = x.mutual[c][j]
			}
			_, gap := topGap(column)
			part.Labels = append(part.Labels, f.Name)
			part.Values = append(part.Values, gap/x.entropy[j])
		}
	}
	if len(part.Values) == 0 {
		return Result{}, fmt.Errorf("every factor has one level only; want one that varies")
	}
	r.Value, r.Parts = factor.Mean.Of(part.Values), []Part{part}
	r.Grids = []Grid{x.grid(in)}
	if reduced {
		m.rename(&r)
	}
	return r, nil
}

// topGap is the position of the largest value, and its distance from the second largest.
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
