package metrics

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/internal/geometry"
	"github.com/unravel-ml/unravel/internal/parallel"
	"github.com/unravel-ml/unravel/metrics/internal/levels"
	"github.com/unravel-ml/unravel/metrics/matrix"
)

// subCodeDeviation is the summand of one factor in [SubCodeDeviation]. S(v) are the sub-codes, of columns numbers each,
// of the rows with level v of the factor:
//
//	aggregate over levels v of deviation(S(v))
func subCodeDeviation(ctx context.Context, points []float64, columns int, levels *levels.Groups, d deviation, a factor.Aggregate) (float64, error) {
	values, err := levelDeviations(ctx, points, columns, levels, d)
	return a.Of(values), err
}

// levelDeviations returns deviation(S(v)) of the levels v that occur.
func levelDeviations(ctx context.Context, points []float64, columns int, levels *levels.Groups, d deviation) (values []float64, err error) {
	group := make([]float64, 0, levels.Largest()*columns)
	for level := range levels.Count {
		members := levels.Members(level)
		if len(members) == 0 {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		group = group[:0]
		if columns == 1 {
			for _, i := range members {
				group = append(group, points[i])
			}
		} else {
			for _, i := range members {
				group = append(group, points[i*columns:(i+1)*columns]...)
			}
		}
		value, err := d(group, levels.Count[level])
		if err != nil {
			return nil, fmt.Errorf("level %d: %w", level, err)
		}
		values = append(values, value)
	}
	return values, nil
}

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
	if err := validAggregate(s.Aggregate); err != nil {
		return err
	}
	if s.Samples < 0 {
		return config.Invalid("samples", "%d is negative; want 0 (all) or more", s.Samples)
	}
	if err := s.Assign.validate(); err != nil {
		return err
	}
	return s.Project.validate(s.Codes, s.Assign)
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
		parts[i].Values, err = levelDeviations(ctx, s.subCode(codes, b.Columns), k, in.table().Groups(b.Factor, nil), newDeviation(ctx, s.Deviation, k))
		return err
	})
}

// fractions returns the part fraction: the mean variance of each sub-code while its factor is fixed over its variance.
// No scale of the codes changes it; constant sub-codes have 0.
func (s *SubCodeDeviation) fractions(ctx context.Context, in *Input, codes matrix.Matrix, blocks []factor.Block, left []float64) (Part, error) {
	part := Part{Name: "fraction"}
	k := len(in.Factors)
	for i, b := range blocks {
		columns := len(b.Columns)
		points := s.subCode(codes, b.Columns)
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
			if all := s.Aggregate.Of([]float64{variance(known, columns)}); all > 0 {
				share = left[i] / all
			}
		}
		part.Labels, part.Values = append(part.Labels, in.Factors[b.Factor].Name), append(part.Values, share)
	}
	return part, nil
}

// subCodes returns the codes to measure, the columns of each factor, and a result that records the choice.
func (s *SubCodeDeviation) subCodes(ctx context.Context, in *Input) (codes matrix.Matrix, blocks []factor.Block, r Result, err error) {
	if s.Project == projectNone {
		if blocks, err = planBlocks(in, s.Codes, s.Assign); err != nil || blocks != nil {
			return in.Codes, blocks, r, err
		}
		if blocks, err = assigned(ctx, in); err != nil {
			return in.Codes, nil, r, err
		}
		columns := Part{Name: "columns"}
		for _, b := range blocks {
			columns.Labels = append(columns.Labels, in.Factors[b.Factor].Name)
			columns.Values = append(columns.Values, float64(b.Columns[0]))
		}
		return in.Codes, blocks, Result{Parts: []Part{columns}, Notes: []string{describe(in, blocks)}}, nil
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
func (s *SubCodeDeviation) factor(ctx context.Context, in *Input, codes matrix.Matrix, b factor.Block, rows []int) (float64, error) {
	if len(b.Columns) == 1 {
		rows = nil
	}
	k := len(b.Columns)
	return subCodeDeviation(ctx, s.subCode(codes, b.Columns), k, in.table().Groups(b.Factor, rows), newDeviation(ctx, s.Deviation, k), s.Aggregate)
}

// subCode copies columns of codes, and standardises them if the settings say so.
func (s *SubCodeDeviation) subCode(codes matrix.Matrix, columns []int) []float64 {
	k := len(columns)
	points := make([]float64, codes.Rows*k)
	if !s.Standardise {
		for i := range codes.Rows {
			row := codes.Row(i)
			for at, c := range columns {
				points[i*k+at] = row[c]
			}
		}
		return points
	}
	column := make([]float64, codes.Rows)
	for at, c := range columns {
		codes.UnitColumn(c, column)
		for i, v := range column {
			points[i*k+at] = v
		}
	}
	return points
}

// The deviations of n points p_i (Zhang and Sugiyama 2024, sections 3.1 and 3.2): the variance of points of any width,
// and the others of numbers x_i. They may reorder their argument. [newDeviation] adds the others for points.

// variance is the sum over columns of the variance (example 4):
//
//	1/n sum_i |p_i - mean|^2
func variance(points []float64, columns int) (sum float64) {
	n := float64(len(points) / columns)
	for c := range columns {
		var mean, square, rest float64
		for i := c; i < len(points); i += columns {
			mean += (points[i] - points[c]) / n // from the first point: less rounding
		}
		for i := c; i < len(points); i += columns {
			d := points[i] - points[c] - mean
			square += d * d
			rest += d
		}
		sum += (square - rest*rest/n) / n
	}
	return sum
}

// madOfLine is the mean absolute deviation from the median (example 3):
//
//	min_c 1/n sum_i |x_i - c|
func madOfLine(x []float64) float64 {
	slices.Sort(x)
	median, n := x[len(x)/2], float64(len(x))
	var sum float64
	for _, v := range x {
		sum += math.Abs(v-median) / n
	}
	return sum
}

// radiusOfLine is half the range (example 2):
//
//	min_c max_i |x_i - c| = (max x - min x)/2
func radiusOfLine(x []float64) float64 { return slices.Max(x)/2 - slices.Min(x)/2 }

// diameterOfLine is the range (example 7):
//
//	max_ij |x_i - x_j| = max x - min x
func diameterOfLine(x []float64) float64 { return slices.Max(x) - slices.Min(x) }

// mpdOfLine is half the mean pairwise distance (section 3.2), in time n log n:
//
//	1/(2 n^2) sum_ij |x_i - x_j| = 1/n^2 sum_i (2i - n + 1) x_i,  x sorted, i from 0
func mpdOfLine(x []float64) float64 {
	slices.Sort(x)
	n := float64(len(x))
	var sum float64
	for i, v := range x {
		sum += (float64(2*i+1) - n) / n * (v - x[0]) / n
	}
	return sum
}

// deviation measures points, row by row, and may reorder them. They may be a random sample of a group of count points.
type deviation func(points []float64, count int) (float64, error)

// newDeviation returns the measure d of points with columns numbers each.
func newDeviation(ctx context.Context, d factor.Deviation, columns int) deviation {
	if columns == 1 {
		switch d {
		case factor.MAD:
			return ofLine(madOfLine)
		case factor.Radius:
			return ofLine(radiusOfLine)
		case factor.Diameter:
			return ofLine(diameterOfLine)
		case factor.MPD:
			return ofLine(mpdOfLine)
		}
	}
	switch d {
	case factor.MAD:
		median := &geometry.Median{Interrupt: ctx.Err}
		return func(points []float64, _ int) (float64, error) {
			err := median.Fit(points, columns)
			return median.MeanDistance, err
		}
	case factor.Radius:
		ball := &geometry.Ball{Interrupt: ctx.Err}
		return func(points []float64, _ int) (float64, error) {
			err := ball.Enclose(points, columns)
			return ball.Radius, err
		}
	case factor.Diameter:
		pairs := &geometry.Pairs{Interrupt: ctx.Err}
		return func(points []float64, _ int) (float64, error) {
			if err := pairs.Set(points, columns); err != nil {
				return 0, err
			}
			distance, _, _, err := pairs.Diameter()
			return distance, err
		}
	case factor.MPD:
		pairs := &geometry.Pairs{Interrupt: ctx.Err}
		return func(points []float64, count int) (float64, error) {
			if err := pairs.Set(points, columns); err != nil {
				return 0, err
			}
			// pairs of a point with itself, at distance 0, are 1/count of all pairs of the group, and a larger part of
			// a sample's pairs
			mean, err := pairs.Mean()
			return mean / 2 * float64(count-1) / float64(count), err
		}
	}
	return func(points []float64, _ int) (float64, error) { return variance(points, columns), nil }
}

// ofLine makes a deviation of a measure of numbers.
func ofLine(measure func(x []float64) float64) deviation {
	return func(points []float64, _ int) (float64, error) { return measure(points), nil }
}
