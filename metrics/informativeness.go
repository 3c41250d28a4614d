package metrics

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/metrics/internal/pairs"
	"github.com/unravel-ml/unravel/metrics/internal/predict"
)

// Contraction is the informativeness metric of Zhang and Sugiyama 2024, equation 27 and table 2, 0 or more. It measures
// how much smaller the distance of a pair is in the codes than in the factors:
//
//	aggregate over ordered pairs of rows of max(d(y, y') - d(z, z'), 0),
//
// where the aggregate is the maximum or the mean (which includes each row paired with itself). It is 0 if the codes
// preserve or enlarge all distances; the codes then determine the factors. d(z, z') is the Euclidean distance of codes,
// over all or some columns. d(y, y') is the distance over all or some factors: the root of the sum of squared
// differences of their values, in the [Units] of the settings. For circular factors the difference is the shorter arc,
// in turns; two different values of a categorical factor have the difference 1. The part score is e^-value.
type Contraction struct {
	allLevels
	loss

	Max   bool  `yaml:"-"` // the maximum instead of the mean
	Pairs int   `yaml:"pairs" doc:"number of random row pairs to measure, for sets with over 32 times this number; 0: all pairs"`
	Units Units `yaml:"units" doc:"units of continuous factors: as-given, or range (maps the range over all rows to [0, 1]); levels are always mapped to [0, 1]"`

	Columns []int    `yaml:"columns,omitempty" doc:"code columns to compare; none: all"`
	Factors []string `yaml:"factors,omitempty" doc:"names of the factors to compare; none: all"`

	numbers bool // for factors of every kind, the distance is the difference of values
}

// allForRandom is the number of pairs that can be measured in tiles in the time of one random pair.
const allForRandom = 32

func (c *Contraction) Validate() error {
	if c.Pairs < 0 {
		return config.Invalid("pairs", "%d is negative; want 0 (all) or more", c.Pairs)
	}
	for i, column := range c.Columns {
		if column < 0 || slices.Contains(c.Columns[:i], column) {
			return config.Invalid("columns", "%v; want distinct columns, numbered from 0", c.Columns)
		}
	}
	for i, name := range c.Factors {
		if slices.Contains(c.Factors[:i], name) {
			return config.Invalid("factors", "%s is named twice", name)
		}
	}
	return c.Units.validate()
}

func (c *Contraction) Suits(in *Input) error {
	for _, column := range c.Columns {
		if column >= in.Codes.Cols {
			return config.Invalid("columns", "there is no column %d; codes have columns 0 to %d", column, in.Codes.Cols-1)
		}
	}
	_, err := c.factors(in)
	return err
}

// factors returns the numbers of the compared factors (nil: all).
func (c *Contraction) factors(in *Input) ([]int, error) {
	names := factor.Names(in.Factors)
	var list []int
	for _, name := range c.Factors {
		j := slices.Index(names, name)
		if j < 0 {
			return nil, config.Invalid("factors", "there is no factor %q; the factors are %s", name, strings.Join(names, ", "))
		}
		list = append(list, j)
	}
	return list, nil
}

// Compute measures all pairs, or Pairs random pairs, and returns the part score, e^-value.
func (c *Contraction) Compute(ctx context.Context, in *Input) (Result, error) {
	if err := ready(ctx, c, in); err != nil {
		return Result{}, err
	}
	if list, _ := c.factors(in); list != nil {
		in = in.withKnownLevels(list)
	}
	if len(c.Columns) > 0 {
		selected := *in
		selected.Codes = in.Codes.Columns(c.Columns)
		in = &selected
	}
	n := in.Codes.Rows
	var r Result
	if len(in.table().Varying(n)) == 0 {
		r.Notes = in.constantNotes()
	}
	s := &pairs.Contraction{Codes: in.Codes, Factors: in.Factors, Positions: in.factorRows(c.Units), Numbers: c.numbers}
	possible := float64(n) * float64(n-1) / 2
	if c.Pairs > 0 && possible > allForRandom*float64(c.Pairs) {
		if in.Stream == nil {
			return Result{}, fmt.Errorf("%d of %.0f pairs of rows: %w", c.Pairs, possible, errNoStream)
		}
		r.note("measured on %d random pairs of rows out of %.0f", c.Pairs, possible)
		for pair := range c.Pairs {
			if err := stops(ctx, pair, 1<<16); err != nil {
				return Result{}, err
			}
			i, j := in.Stream.IntN(n), in.Stream.IntN(n-1)
			if j >= i {
				j++
			}
			s.Add(i, j)
		}
	} else if err := s.All(ctx, c.Max); err != nil {
		return Result{}, err
	}
	if r.Value = s.Most; !c.Max && s.Pairs > 0 {
		r.Value = s.Sum / s.Pairs * float64(n-1) / float64(n) // a row paired with itself adds 0
	}
	return r.withScore()
}

// Separation measures the informativeness of sub-codes on pairs of rows that are known to differ, 0 or more. It is the
// metric of the loss of the same name:
//
//	sum over factors i of the aggregate, over pairs of rows r, s that differ in factor i, of max(margin - |z_i(r) - z_i(s)|, 0)
//
// It is [Contraction] for pairs that are only known to differ: the margin replaces the unknown distance of the factors.
// |.| is the Euclidean norm of the sub-code. It is 0 if the two sub-codes of every such pair are at least the margin
// apart. Modularity cannot distinguish constant codes from perfect codes; for constant codes, Separation is the sum of
// the margins. It has the units of the codes.
//
// With [Input.Classes] the pairs are [Input.Differ], the pairs with the answer different. With levels they are all
// pairs of rows with different known levels, or Pairs random ones. The part score is e^-value.
//
// Source: Zhang and Sugiyama 2024, definition 9 and equation 27; the hinge of Hadsell et al. 2006.
type Separation struct {
	knownLevels
	loss

	Margin    float64          `yaml:"margin" doc:"distance required between sub-codes of rows that differ, in units of the codes"`
	Aggregate factor.Aggregate `yaml:"aggregate" doc:"aggregate over a factor's pairs: mean, max, sum or mean-square"`
	Codes     factor.SubCodes  `yaml:"codes" doc:"columns of each factor's sub-code, such as {shape: [0, 1]}; empty: see assign"`
	Assign    Assign           `yaml:"assign" doc:"without codes: order (equal shares, in order) or best (the best column for each factor); empty: order if the shares come out equal, otherwise best; eval of files takes order only for one column each"`
	Pairs     int              `yaml:"pairs" doc:"number of random row pairs to measure for factors with levels, from a larger set"`
}

const maxSeparated = 1 << 24

func (m *Separation) SetCodes(c factor.SubCodes, a Assign) { m.Codes, m.Assign = c, a }
func (*Separation) FromClasses() bool                      { return true }

func (m *Separation) Validate() error {
	return cmp.Or(
		rule(m.Margin > 0 && m.Margin <= 1e6, "margin", "%v is out of range; want more than 0 and at most 1e6", m.Margin),
		inRange("pairs", m.Pairs, 1, maxSeparated),
		validAggregate(m.Aggregate),
		m.Assign.validate(),
	)
}

func (m *Separation) Suits(in *Input) error {
	if in.Classes && !slices.ContainsFunc(in.Differ, func(pairs [][2]int) bool { return len(pairs) > 0 }) {
		return errors.New("no two rows are known to differ; want at least one answer different")
	}
	if !in.Classes && len(in.table().Varying(in.Codes.Rows)) == 0 {
		return errors.New("no two rows differ in a factor; want a factor that varies")
	}
	_, err := planBlocks(in, m.Codes, m.Assign)
	return err
}

// columnsKnown reports whether the columns of each factor are known without its classes.
func (m *Separation) columnsKnown(in *Input) bool {
	blocks, err := planBlocks(in, m.Codes, m.Assign)
	return blocks != nil || err != nil
}

// Compute returns the parts per_factor, pairs (the number of differing pairs for each factor) and score. If the metric
// assigns columns, it adds columns.
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
	perFactor, counts := Part{Name: "per_factor"}, Part{Name: "pairs"}
	for _, b := range blocks {
		name, differing := in.Factors[b.Factor].Name, differ[b.Factor]
		if len(differing) == 0 {
			r.note("no two rows are known to differ in %s, which adds 0", name)
		}
		hinges := make([]float64, len(differing))
		for i, p := range differing {
			if err := stops(ctx, i, 1<<16); err != nil {
				return Result{}, err
			}
			hinges[i] = pairs.Shrink(m.Margin, pairs.Distance(codes, b.Columns, p))
		}
		perFactor.add(name, m.Aggregate.Of(hinges))
		counts.add(name, float64(len(differing)))
	}
	r.Value, r.Parts = factor.Sum.Of(perFactor.Values), append([]Part{perFactor, counts}, r.Parts...)
	return r.withScore()
}

// LeftInverse is the informativeness metric of Zhang and Sugiyama 2024, equation 26 and table 2. It is the error, 0 or
// more, of the best affine map h from whole codes z to factors y, fitted to all rows.
//
//   - mse: the minimum mean over rows and factors of (y - h(z))^2.
//   - mae: the minimum mean over rows and factors of |y - h(z)|.
//   - me: the largest error. In the paper's computation (Fit least-squares), it is the radius of the smallest ball
//     around the vectors y - h(z), where h is the least-squares fit. In the paper's definition 8 (Fit minimax), h
//     minimises the largest length of y - h(z). With Fit minimax-by-factor, h_i minimises the largest |y_i - h_i(z)| of
//     every factor i. The value is the root of the sum of their squares, an upper bound of the minimax error.
//
// All fits are exact optima, with an intercept and without a penalty. Continuous factors are in the [Units] of the
// settings. Ordinal values, circular angles in turns (which no affine map recovers from a circle) and categorical
// levels are mapped to [0, 1]. Errors have the units of the factors, and squared errors the squared units; a mean over
// factors mixes the units of different factors. The part score is e^-value.
type LeftInverse struct {
	eachLevel
	loss

	Error   FitError `yaml:"-"`
	Samples int      `yaml:"samples" doc:"largest number of rows to measure, chosen at random; 0: all rows"`
	Units   Units    `yaml:"units" doc:"units of continuous factors: as-given, or range (maps the range over all rows to [0, 1]); levels are always mapped to [0, 1]"`
}

// MaxError is the metric me of [LeftInverse] with a choice of fits.
type MaxError struct {
	allLevels
	loss

	Fit     Fit   `yaml:"fit" doc:"fit of the affine map: least-squares (value: radius of the smallest ball around its errors), minimax (least maximum error vector) or minimax-by-factor (least maximum error of each factor)"`
	Samples int   `yaml:"samples" doc:"largest number of rows to measure, chosen at random; 0: all rows"`
	Units   Units `yaml:"units" doc:"units of continuous factors: as-given, or range (maps the range over all rows to [0, 1]); levels are always mapped to [0, 1]"`
}

// FitError is the error that a fit minimises.
type FitError uint8

// The errors.
const (
	MeanSquaredError FitError = iota
	MeanAbsoluteError
)

// Fit says how MaxError fits the affine map.
type Fit string

// The fits.
const (
	FitLeastSquares    Fit = "least-squares"
	FitMinimax         Fit = "minimax"
	FitMinimaxByFactor Fit = "minimax-by-factor"
)

func (l *LeftInverse) Validate() error {
	return cmp.Or(l.Units.validate(), notNegative("samples", l.Samples, "all"))
}

func (m *MaxError) Validate() error {
	return cmp.Or(
		oneOf("fit", "fit", m.Fit, FitLeastSquares, FitMinimax, FitMinimaxByFactor),
		m.Units.validate(),
		notNegative("samples", m.Samples, "all"),
	)
}

// Compute returns the part per_factor: the error of each factor.
func (l *LeftInverse) Compute(ctx context.Context, in *Input) (Result, error) {
	return affineError(ctx, l, in, l.Samples, l.Units, func(p *predict.Recovery) (float64, []float64, error) {
		return p.MeanError(l.Error == MeanSquaredError)
	})
}

// Compute returns the part per_factor: the largest error of each factor. With the fit minimax, the part lower_bound is
// a proven lower bound of the optimum.
func (m *MaxError) Compute(ctx context.Context, in *Input) (Result, error) {
	fit := (*predict.Recovery).BallError
	switch m.Fit {
	case FitMinimax:
		fit = (*predict.Recovery).MinimaxError
	case FitMinimaxByFactor:
		fit = (*predict.Recovery).MinimaxByFactor
	}
	var bound float64
	r, err := affineError(ctx, m, in, m.Samples, m.Units, func(p *predict.Recovery) (float64, []float64, error) {
		value, perFactor, err := fit(p)
		bound = p.Fit.Largest - p.Fit.Gap
		return value, perFactor, err
	})
	if err == nil && m.Fit == FitMinimax {
		r.Parts = append(r.Parts, Part{Name: "lower_bound", Values: []float64{bound}})
	}
	return r, err
}

// affineError fits an affine map from codes to factors. The result has the error that fit computes.
func affineError(
	ctx context.Context, m Metric, in *Input, samples int, u Units,
	fit func(p *predict.Recovery) (value float64, perFactor []float64, err error),
) (Result, error) {
	if err := ready(ctx, m, in); err != nil {
		return Result{}, err
	}
	in, sampleSize, err := in.atMostRows(samples)
	if err != nil {
		return Result{}, err
	}
	p := &predict.Recovery{Columns: in.Codes.Cols, Y: in.factorRows(u), Factors: len(in.Factors)}
	p.X, p.Fit.Interrupt = predict.Balanced(in.Codes).Data, ctx.Err
	value, errors, err := fit(p)
	if err != nil {
		return Result{}, fmt.Errorf("affine map from codes to factors: %w", err)
	}
	r := Result{Value: value, Parts: []Part{in.perFactor(errors)}, Notes: in.constantNotes()}
	r.Basis.Rows, r.Basis.Shared = sampleSize, true
	r.Basis.checkAffine(in.Codes.Rows, in.Codes.Cols)
	return r.withScore()
}
