package metrics

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/metrics/internal/pairs"
)

// Separation measures the informativeness of sub-codes from pairs of rows that are known to differ, 0 or more. It is
// the loss of the same name:
//
//	sum over factors i of the aggregate, over pairs of rows r, s that differ in factor i, of max(margin - |z_i(r) - z_i(s)|, 0)
//
// It is [Contraction] when only the answer different is known: the margin stands for the unknown distance of the
// factors. |.| is the Euclidean norm of the sub-code. It is 0 if all these pairs are at least the margin apart. For
// constant codes, which modularity cannot tell from perfect codes, it is the sum of the margins. It has the units of
// the codes.
//
// With [Input.Classes] the pairs are [Input.Differ], which an answer calls different. With levels they are all pairs of
// rows with different known levels, or Pairs random ones of them. The part score is e^-value.
//
// Source: Zhang and Sugiyama 2024, definition 9 and equation 27; the hinge of Hadsell et al. 2006.
type Separation struct {
	knownLevels
	loss

	Margin    float64          `yaml:"margin" doc:"distance required between sub-codes of rows that differ, in units of the codes"`
	Aggregate factor.Aggregate `yaml:"aggregate" doc:"aggregate over a factor's pairs: mean, max, sum or mean-square"`
	Codes     factor.SubCodes  `yaml:"codes" doc:"columns of each factor's sub-code, such as {shape: [0, 1]}; empty: see assign"`
	Assign    Assign           `yaml:"assign" doc:"without codes: order (equal shares, in order) or best (the best column for each factor); empty: order if the shares come out equal, otherwise best"`
	Pairs     int              `yaml:"pairs" doc:"number of random row pairs to measure for factors with levels, from a larger set"`
}

// newSeparation returns the metric with the defaults of the loss.
func newSeparation() *Separation {
	return &Separation{Margin: 1, Aggregate: factor.Mean, Pairs: 1 << 20}
}

const maxSeparated = 1 << 24

// SetCodes implements SubCoded.
func (m *Separation) SetCodes(c factor.SubCodes, a Assign) { m.Codes, m.Assign = c, a }

// FromClasses implements Equational.
func (*Separation) FromClasses() bool { return true }

// Validate checks the settings.
func (m *Separation) Validate() error {
	return cmp.Or(
		rule(m.Margin > 0 && m.Margin <= 1e6, "margin", "%v is out of range; want more than 0 and at most 1e6", m.Margin),
		within("pairs", m.Pairs, 1, maxSeparated),
		validAggregate(m.Aggregate),
		m.Assign.validate(),
	)
}

// Suits implements Selective.
func (m *Separation) Suits(in *Input) error {
	known := false
	for _, pairs := range in.Differ {
		known = known || len(pairs) > 0
	}
	if in.Classes && !known {
		return errors.New("no two rows are known to differ; want at least one answer different")
	}
	if !in.Classes && len(in.table().Varying(in.Codes.Rows)) == 0 {
		return errors.New("no two rows differ in a factor; want a factor that varies")
	}
	_, err := planBlocks(in, m.Codes, m.Assign)
	return err
}

// Compute returns the parts per_factor, pairs (each factor's number of differing pairs), score and, if the metric
// assigns columns, columns.
func (m *Separation) Compute(ctx context.Context, in *Input) (Result, error) {
	if err := ready(ctx, m, in); err != nil {
		return Result{}, err
	}
	s := &SubCodeDeviation{Codes: m.Codes, Assign: m.Assign}
	codes, blocks, r, err := s.subCodes(ctx, in)
	if err != nil {
		return Result{}, err
	}
	differ := in.Differ
	if !in.Classes {
		if n := in.Codes.Rows; in.Stream == nil && n*(n-1)/2 > m.Pairs {
			return Result{}, errNoStream
		}
		if differ, err = in.table().Differing(ctx, m.Pairs, in.Stream); err != nil {
			return Result{}, err
		}
	}
	per, counts := Part{Name: "per_factor"}, Part{Name: "pairs"}
	for _, b := range blocks {
		name, apart := in.Factors[b.Factor].Name, differ[b.Factor]
		if len(apart) == 0 {
			r.Notes = append(r.Notes, fmt.Sprintf("no two rows are known to differ in %s, which adds 0", name))
		}
		hinges := make([]float64, len(apart))
		for at, p := range apart {
			if err := stops(ctx, at, 1<<16); err != nil {
				return Result{}, err
			}
			hinges[at] = pairs.Shrink(m.Margin, pairs.Distance(codes, b.Columns, p))
		}
		per.Labels, per.Values = append(per.Labels, name), append(per.Values, m.Aggregate.Of(hinges))
		counts.Labels, counts.Values = append(counts.Labels, name), append(counts.Values, float64(len(apart)))
	}
	r.Value, r.Parts = factor.Sum.Of(per.Values), append([]Part{per, counts}, r.Parts...)
	return r.scored()
}
