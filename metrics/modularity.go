package metrics

import (
	"cmp"
	"context"
	"fmt"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/metrics/internal/information"
	"github.com/unravel-ml/unravel/metrics/mutual"
)

// Modularity is the modularity score of Ridgeway and Mozer 2018, section 2, as
// disentanglement_lib computes it: the mean over code columns of
//
//	1 - (sum over the other factors of m^2) / ((K - 1) max m^2)
//
// where m is the mutual information of the binned column with each of the K factors, and the maximum is over factors.
// It is 1 if every column is informative of one factor only, and 0 at least. A column without information counts as 0.
type Modularity struct {
	knownLevels
	share

	mutual.Histogram `yaml:",inline"`
}

// Validate checks the settings.
func (m *Modularity) Validate() error { return m.Histogram.Check() }

// Suits implements Selective.
func (*Modularity) Suits(in *Input) error { return wantFactors(in, 2) }

// wantFactors returns an error if there are fewer than least factors.
func wantFactors(in *Input, least int) error {
	if k := len(in.Factors); k < least {
		return fmt.Errorf("there is %d factor; want at least %d", k, least)
	}
	return nil
}

// Compute returns the part per_column and the part per_factor: the mean over the columns with the largest mutual
// information for the factor, or 0 without such columns. The grid mutual_information is in nats.
func (m *Modularity) Compute(ctx context.Context, in *Input) (Result, error) {
	if err := ready(ctx, m, in); err != nil {
		return Result{}, err
	}
	x, err := in.information(ctx, m.Histogram)
	if err != nil {
		return Result{}, err
	}
	columns, factors := Part{Name: "per_column", Labels: in.columnNames(nil)}, in.perFactor(make([]float64, len(in.Factors)))
	counts := make([]float64, len(in.Factors))
	dead := 0
	for _, row := range x.Mutual {
		best, value := information.Modularity(row)
		columns.Values = append(columns.Values, value)
		if row[best] == 0 {
			dead++
			continue
		}
		factors.Values[best] += value
		counts[best]++
	}
	for j, n := range counts {
		factors.Values[j] /= max(n, 1)
	}
	r := Result{Value: factor.Mean.Of(columns.Values), Parts: []Part{columns, factors}}
	r.Grids = []Grid{in.byFactor("mutual_information", x.Mutual)}
	if dead > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("%d of %d columns have no information on a factor and count as 0", dead, in.Codes.Cols))
	}
	return r, nil
}

// responds reports whether a code column responds to a factor: their mutual information is at least a threshold t of
// the factor's entropy,
//
//	I(z_i; y_j) / H(y_j) >= t
func responds(information, entropy, t float64) bool { return entropy > 0 && information/entropy >= t }

// Responses counts the code columns that respond to one factor, to several and to none, as Cao et al. 2022 (section 5.4
// and figure 5) count them by eye in latent traversals. A column responds to a factor if their mutual information is at
// least the Threshold of the factor's entropy. The value is the fraction of the responding columns that respond to one
// factor only, and 0 if none responds.
//
// The mutual information of a sample of n rows is too large by about (bins-1)(levels-1)/2n nats.
type Responses struct {
	knownLevels
	share

	mutual.Histogram `yaml:",inline"`
	Threshold        float64 `yaml:"threshold" doc:"smallest mutual information at which a column responds to a factor, as a fraction of its entropy, above 0 and at most 1"`
}

// Validate checks the settings.
func (m *Responses) Validate() error {
	return cmp.Or(
		rule(m.Threshold > 0 && m.Threshold <= 1, "threshold",
			"%v is out of range; want more than 0 and at most 1", m.Threshold),
		m.Histogram.Check(),
	)
}

// Suits implements Selective.
func (*Responses) Suits(in *Input) error { return wantFactors(in, 2) }

// Compute returns two parts and a grid. columns has the numbers of columns that respond to one factor, to several and
// to none. per_column has the number of factors that each column responds to. The grid information is mutual
// information over entropy.
func (m *Responses) Compute(ctx context.Context, in *Input) (Result, error) {
	if err := ready(ctx, m, in); err != nil {
		return Result{}, err
	}
	x, err := in.information(ctx, m.Histogram)
	if err != nil {
		return Result{}, err
	}
	g := in.byFactor("information", nil)
	each := Part{Name: "per_column", Labels: g.Rows}
	count := map[int]float64{} // by number of factors, 2 for several
	for _, row := range x.Mutual {
		share, factors := make([]float64, len(row)), 0
		for j, v := range row {
			if x.Entropy[j] > 0 {
				share[j] = v / x.Entropy[j]
			}
			if responds(v, x.Entropy[j], m.Threshold) {
				factors++
			}
		}
		g.Values = append(g.Values, share)
		each.Values = append(each.Values, float64(factors))
		count[min(factors, 2)]++
	}
	r := Result{Grids: []Grid{g}}
	if some := count[1] + count[2]; some > 0 {
		r.Value = count[1] / some
	}
	r.Parts = []Part{{Name: "columns", Labels: []string{"one", "several", "none"}, Values: []float64{count[1], count[2], count[0]}}, each}
	return r, nil
}
