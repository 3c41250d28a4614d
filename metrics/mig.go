package metrics

import (
	"cmp"
	"context"
	"fmt"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/metrics/internal/information"
	"github.com/unravel-ml/unravel/metrics/mutual"
)

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
	knownLevels
	share

	mutual.Histogram `yaml:",inline"`
	Gap              Gap `yaml:"gap" doc:"columns (gap between code columns, for every factor) or factors (gap between factors, for every column)"`
	Reduction        `yaml:",inline"`
}

// Gap names the sides of a mutual information gap.
type Gap string

// The gaps.
const (
	gapColumns Gap = "columns"
	gapFactors Gap = "factors"
)

// Validate checks the settings.
func (m *MIG) Validate() error {
	return cmp.Or(oneOf("gap", "gap", m.Gap, gapColumns, gapFactors), m.Reduction.validate(), m.Histogram.Check())
}

// Suits implements Selective.
func (m *MIG) Suits(in *Input) error {
	switch {
	case m.Gap == gapColumns && m.columns(in) < 2:
		return fmt.Errorf("there is %d code column; want at least two, to have a gap between them", m.columns(in))
	case m.Gap == gapFactors && len(in.Factors) < 2:
		return fmt.Errorf("there is %d factor; want at least two, to have a gap between them", len(in.Factors))
	}
	if m.Gap == gapFactors {
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
	in, err := m.reduce(in)
	if err != nil {
		return Result{}, err
	}
	x, err := in.information(ctx, m.Histogram)
	if err != nil {
		return Result{}, err
	}
	r := Result{Grids: []Grid{in.byFactor("mutual_information", x.Mutual)}}
	part := Part{Name: "per_factor"}
	if m.Gap == gapFactors {
		part.Name = "per_column"
		for c, shared := range x.Mutual {
			best, gap := information.Gap(shared)
			if x.Entropy[best] > 0 {
				gap /= x.Entropy[best]
			}
			part.Labels, part.Values = append(part.Labels, in.columnName(c)), append(part.Values, gap)
		}
	} else {
		for j, shared := range mutual.Transposed(x.Mutual) {
			if x.Entropy[j] == 0 {
				r.Notes = append(r.Notes, fmt.Sprintf("factor %s has only one level and is left out", in.Factors[j].Name))
				continue
			}
			_, gap := information.Gap(shared)
			part.Labels, part.Values = append(part.Labels, in.Factors[j].Name), append(part.Values, gap/x.Entropy[j])
		}
	}
	if len(part.Values) == 0 {
		return Result{}, fmt.Errorf("every factor has only one level; want a factor that varies")
	}
	r.Value, r.Parts = factor.Mean.Of(part.Values), []Part{part}
	return r, nil
}

// columnName returns the name of a code column: z0, z1, ..., or pc0, pc1, ... of principal components.
func (in *Input) columnName(c int) string {
	if in.principal {
		return fmt.Sprint("pc", c)
	}
	return fmt.Sprint("z", c)
}

// columnNames returns the names of some code columns; nil: of all.
func (in *Input) columnNames(columns []int) (names []string) {
	if columns == nil {
		columns = numbers(in.Codes.Cols)
	}
	for _, c := range columns {
		names = append(names, in.columnName(c))
	}
	return names
}

// perFactor returns the part of a number for each factor.
func (in *Input) perFactor(values []float64) Part {
	return Part{Name: "per_factor", Labels: factor.Names(in.Factors), Values: values}
}

// selected returns the part of the numbers of some code columns.
func (in *Input) selected(name string, columns []int) Part {
	p := Part{Name: name}
	for _, c := range columns {
		p.Labels, p.Values = append(p.Labels, in.columnName(c)), append(p.Values, float64(c))
	}
	return p
}

// byFactor returns a grid of code columns and factors.
func (in *Input) byFactor(name string, values [][]float64) Grid {
	return Grid{Name: name, Rows: in.columnNames(nil), Columns: factor.Names(in.Factors), Values: values}
}

// information returns the mutual information of code columns with factors. Halves of an [Interval] share bins, and count
// the same pairs as independent.
func (in *Input) information(ctx context.Context, h mutual.Histogram) (*mutual.Information, error) {
	return mutual.New(ctx, in.Codes, in.Factors, in.Levels, h, in.shared)
}
