package metrics

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/internal/parallel"
	"github.com/unravel-ml/unravel/metrics/internal/deviation"
	"github.com/unravel-ml/unravel/metrics/matrix"
)

// SubCodeDeviation is the modularity metric of Zhang and Sugiyama 2024, sections 3.1 (variance, mad, radius) and 3.2
// (diameter, mpd), as in table 2. For factor i and its level v, let S(i, v) be the sub-codes z_i of all rows with that
// level. The value is
//
//	sum over factors i of aggregate over levels v of measure(S(i, v))
//
// over the levels that occur, 0 or more. It is 0 if every sub-code depends on its factor only, and also for constant
// codes. The default aggregate is the maximum for radius and diameter and the mean for the others. It has the units of
// the codes (variance: squared units), and is not divided by the number of columns. The part score is e^-value.
//
// With Assign best every factor has one column; the other columns are not measured. The assignment minimises the sum
// over factors of the fraction of the column's variance that remains while the factor is fixed.
//
// Project finds sub-codes in codes without columns assigned to factors (appendix F.3: "linear projection to find the
// most informative representations for each factor"):
//
//   - linear: the sub-code of factor i is h_i(z), its best affine prediction from all columns in mean square, over the
//     rows in which the factor is known. It has the units of the factor, mapped to [0, 1]: levels as in [LeftInverse],
//     continuous factors by their range. The part explained is the fraction of the variance of each factor that h_i
//     explains.
//   - best: one column for each factor, the assignment with the largest sum of their mutual information, in nats and 20
//     bins of equal width.
//   - blocks: the columns are cut into equal shares of adjacent columns, one for each factor. The assignment has the
//     largest sum of the mutual information of a factor with the columns of its share.
//
// A sub-code of one column takes time n log n. For sub-codes of several columns, diameter and mpd take time n^2, and
// Samples bounds n; fewer rows make diameter and radius smaller.
type SubCodeDeviation struct {
	knownLevels
	loss

	Deviation   factor.Deviation `yaml:"-"`
	Codes       factor.SubCodes  `yaml:"codes" doc:"columns of each factor's sub-code, such as {shape: [0, 1]}; empty: see assign"`
	Assign      Assign           `yaml:"assign" doc:"without codes: order (equal shares, in order) or best (the best column for each factor); empty: order if the shares come out equal, otherwise best"`
	Project     Projection       `yaml:"project" doc:"instead of codes and assign: linear (each factor's best affine prediction from all columns, in [0, 1]), or by most mutual information: best (one column per factor) or blocks (equal shares)"`
	Aggregate   factor.Aggregate `yaml:"aggregate" doc:"aggregate over a factor's levels: mean, max, sum or mean-square"`
	Standardise bool             `yaml:"standardise" doc:"divide every column by its standard deviation first"`
	Samples     int              `yaml:"samples" doc:"largest number of random rows to measure, for sub-codes with several columns; 0: all rows"`
}

// NewSubCodeDeviation returns the metric of a deviation with its defaults.
func NewSubCodeDeviation(d factor.Deviation) *SubCodeDeviation {
	s := &SubCodeDeviation{Deviation: d}
	if d == factor.Radius || d == factor.Diameter {
		s.Aggregate = factor.Max
	}
	if d == factor.Diameter || d == factor.MPD {
		s.Samples = 10000
	}
	return s
}

// SetCodes implements SubCoded.
func (s *SubCodeDeviation) SetCodes(c factor.SubCodes, a Assign) {
	if s.Project == projectNone {
		s.Codes, s.Assign = c, a
	}
}

// Validate checks the settings.
func (s *SubCodeDeviation) Validate() error {
	return cmp.Or(
		validAggregate(s.Aggregate),
		notNegative("samples", s.Samples, "all"),
		s.Assign.validate(),
		s.Project.validate(s.Codes, s.Assign),
	)
}

// Suits implements Selective.
func (s *SubCodeDeviation) Suits(in *Input) error {
	if s.Project != projectNone {
		return s.Project.suits(in.Codes.Cols, len(in.Factors))
	}
	_, err := planBlocks(in, s.Codes, s.Assign)
	return err
}

// Compute returns the parts per_factor and score. The mean variance adds fraction, the remaining part of each
// sub-code's variance. Assign best, and Project best and blocks, add columns (the first column of each factor). Project
// linear adds explained.
func (s *SubCodeDeviation) Compute(ctx context.Context, in *Input) (Result, error) {
	if err := ready(ctx, s, in); err != nil {
		return Result{}, err
	}
	codes, blocks, r, err := s.subCodes(ctx, in)
	if err != nil {
		return Result{}, err
	}
	if s.Deviation == factor.Variance && !s.Standardise {
		if err := codes.WantSquares(); err != nil {
			return Result{}, err
		}
	}
	var rows []int // nil: all
	if s.Samples > 0 && in.Codes.Rows > s.Samples && slices.ContainsFunc(blocks, func(b factor.Block) bool { return len(b.Columns) > 1 }) {
		if rows, err = in.sample(s.Samples); err != nil {
			return Result{}, err
		}
		r.Basis.Rows = s.Samples
	}
	perFactor := Part{Name: "per_factor"}
	values := make([]float64, len(blocks))
	err = parallel.Each(ctx, len(blocks), func(i int) (err error) {
		if values[i], err = s.factor(ctx, in, codes, blocks[i], rows); err != nil {
			return fmt.Errorf("factor %q: %w", in.Factors[blocks[i].Factor].Name, err)
		}
		return nil
	})
	if err != nil {
		return Result{}, err
	}
	for i, b := range blocks {
		perFactor.Labels = append(perFactor.Labels, in.Factors[b.Factor].Name)
		perFactor.Values = append(perFactor.Values, values[i])
		r.Value += values[i]
	}
	r.Parts = append([]Part{perFactor}, r.Parts...)
	if r, err = r.scored(); err != nil || s.Deviation != factor.Variance || s.Aggregate != factor.Mean || rows != nil {
		return r, err
	}
	fraction, err := s.fractions(ctx, in, codes, blocks, values)
	r.Parts = append(r.Parts, fraction)
	return r, err
}

// Levels returns a part for every factor: the deviations of its sub-code at the levels that occur. The metric joins
// these. Errors are the same as for Compute.
func (s *SubCodeDeviation) Levels(ctx context.Context, in *Input) ([]Part, error) {
	if err := ready(ctx, s, in); err != nil {
		return nil, err
	}
	codes, blocks, _, err := s.subCodes(ctx, in)
	if err != nil {
		return nil, err
	}
	parts := make([]Part, len(blocks))
	return parts, parallel.Each(ctx, len(blocks), func(i int) (err error) {
		b, k := blocks[i], len(blocks[i].Columns)
		parts[i].Name = in.Factors[b.Factor].Name
		points, groups := deviation.Points(codes, b.Columns, s.Standardise), in.table().Groups(b.Factor, nil)
		parts[i].Values, err = deviation.ByLevel(ctx, points, k, groups, deviation.New(ctx, s.Deviation, k))
		return err
	})
}

// fractions returns the part fraction: the mean variance of each sub-code while its factor is fixed over its variance.
// No scale of the codes changes it; constant sub-codes have 0.
func (s *SubCodeDeviation) fractions(
	ctx context.Context, in *Input, codes matrix.Matrix, blocks []factor.Block, left []float64,
) (Part, error) {
	part := Part{Name: "fraction"}
	k := len(in.Factors)
	for i, b := range blocks {
		columns := len(b.Columns)
		points := deviation.Points(codes, b.Columns, s.Standardise)
		known := points[:0]
		for row := range codes.Rows {
			if in.Levels[row*k+b.Factor] != factor.Unknown {
				known = append(known, points[row*columns:(row+1)*columns]...)
			}
		}
		share := 0.0
		if len(known) > 0 {
			if err := ctx.Err(); err != nil {
				return part, fmt.Errorf("factor %q: %w", in.Factors[b.Factor].Name, err)
			}
			if all := s.Aggregate.Of([]float64{deviation.Variance(known, columns)}); all > 0 {
				share = left[i] / all
			}
		}
		part.Labels, part.Values = append(part.Labels, in.Factors[b.Factor].Name), append(part.Values, share)
	}
	return part, nil
}

// subCodes returns the codes to measure, the columns of each factor, and a result that records the choice.
func (s *SubCodeDeviation) subCodes(
	ctx context.Context, in *Input,
) (codes matrix.Matrix, blocks []factor.Block, r Result, err error) {
	if s.Project == projectNone {
		if blocks, err = planBlocks(in, s.Codes, s.Assign); err != nil || blocks != nil {
			return in.Codes, blocks, r, err
		}
		if blocks, err = in.assigned(ctx); err != nil {
			return in.Codes, nil, r, err
		}
		return in.Codes, blocks, Result{Parts: []Part{columnsPart(in, blocks)}, Notes: []string{describe(in, blocks)}}, nil
	}
	if codes, blocks, r.Parts, err = s.Project.project(ctx, in); err != nil {
		return codes, nil, r, err
	}
	r.Basis.fittedToAll(s.Project, in)
	if s.Project != projectLinear {
		r.Notes = append(r.Notes, describe(in, blocks))
	}
	return codes, blocks, r, nil
}

// factor measures the sub-code of one factor: on the given rows (nil: all) if it has several columns, otherwise on all
// rows.
func (s *SubCodeDeviation) factor(
	ctx context.Context, in *Input, codes matrix.Matrix, b factor.Block, rows []int,
) (float64, error) {
	if len(b.Columns) == 1 {
		rows = nil
	}
	k := len(b.Columns)
	points, groups := deviation.Points(codes, b.Columns, s.Standardise), in.table().Groups(b.Factor, rows)
	values, err := deviation.ByLevel(ctx, points, k, groups, deviation.New(ctx, s.Deviation, k))
	return s.Aggregate.Of(values), err
}
