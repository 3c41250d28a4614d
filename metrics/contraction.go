package metrics

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/internal/kernel"
	"github.com/unravel-ml/unravel/internal/parallel"
)

// shrink is the contraction of one pair (Zhang and Sugiyama 2024, equation 27), from the distances d(y, y') of the
// factors and d(z, z') of the codes:
//
//	max(d(y, y') - d(z, z'), 0)
func shrink(factors, codes float64) float64 { return max(factors-codes, 0) }

// Contraction is the informativeness metric of Zhang and Sugiyama 2024, equation 27 and table 2, 0 or more: the
// distance that pairs lose from factors to codes,
//
//	aggregate over ordered pairs of rows of max(d(y, y') - d(z, z'), 0),
//
// where the aggregate is the maximum or the mean (pairs of a row with itself included). It is 0 if the codes keep or
// enlarge all distances; the codes then determine the factors. d(z, z') is the Euclidean distance of codes, over all or
// some columns. d(y, y') is the distance over all or some factors: the root of the sum of the squared differences of
// their values, in the [Units] of the settings. Circular factors take the shorter arc in turns; different values of a
// categorical factor have the difference 1. The part score is e^-value.
type Contraction struct {
	allLevels
	loss

	Max   bool  `yaml:"-"` // the maximum, not the mean
	Pairs int   `yaml:"pairs" doc:"number of random row pairs to measure, for sets with over 32 times this number; 0: all pairs"`
	Units Units `yaml:"units" doc:"units of continuous factors: as-given, or range (maps the range over all rows to [0, 1]); levels are always mapped to [0, 1]"`

	Columns []int    `yaml:"columns,omitempty" doc:"code columns to compare; none: all"`
	Factors []string `yaml:"factors,omitempty" doc:"names of the factors to compare; none: all"`

	numbers bool // distances of factors of all kinds are differences of their values
}

// allForRandom is the number of pairs measured in tiles in the time of one random pair.
const allForRandom = 32

// ofNumbers returns the metric of factors that are numbers in [0, 1], their values or levels.
func (c *Contraction) ofNumbers() Metric {
	numbers := *c
	numbers.Units, numbers.numbers = unitsRange, true
	return &numbers
}

// Validate checks the settings.
func (c *Contraction) Validate() error {
	if c.Pairs < 0 {
		return config.Invalid("pairs", "%d is negative; want 0 (all) or more", c.Pairs)
	}
	for i, column := range c.Columns {
		if column < 0 || slices.Contains(c.Columns[:i], column) {
			return config.Invalid("columns", "%v; want different columns from 0 on", c.Columns)
		}
	}
	for i, name := range c.Factors {
		if slices.Contains(c.Factors[:i], name) {
			return config.Invalid("factors", "%s is named twice", name)
		}
	}
	return c.Units.validate()
}

// Suits implements Selective.
func (c *Contraction) Suits(in *Input) error {
	for _, column := range c.Columns {
		if column >= in.Codes.Cols {
			return config.Invalid("columns", "there is no column %d; codes have columns 0 to %d", column, in.Codes.Cols-1)
		}
	}
	_, err := c.factors(in)
	return err
}

// factors returns the numbers of the factors to compare; nil: all.
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

// Compute measures all pairs, or Pairs random ones, and returns the part score, e^-value.
func (c *Contraction) Compute(ctx context.Context, in *Input) (Result, error) {
	if err := ready(ctx, c, in); err != nil {
		return Result{}, err
	}
	if list, _ := c.factors(in); list != nil {
		in = in.restrict(list)
	}
	if c.Columns != nil {
		some := *in
		some.Codes = in.Codes.Columns(c.Columns)
		in = &some
	}
	n := in.Codes.Rows
	var r Result
	s := &shrinkage{in: in, numbers: c.numbers, positions: in.factorRows(c.Units)}
	possible := float64(n) * float64(n-1) / 2
	if c.Pairs > 0 && possible > allForRandom*float64(c.Pairs) {
		if in.Stream == nil {
			return Result{}, fmt.Errorf("there are %.0f pairs of rows, and no stream of random numbers to choose %d of them", possible, c.Pairs)
		}
		r.Notes = append(r.Notes, fmt.Sprintf("measured on %d random pairs of rows of %.0f", c.Pairs, possible))
		for pair := range c.Pairs {
			if err := stops(ctx, pair, 1<<16); err != nil {
				return Result{}, err
			}
			i, j := in.Stream.IntN(n), in.Stream.IntN(n-1)
			if j >= i {
				j++
			}
			s.add(i, j)
		}
	} else if err := s.all(ctx, c.Max); err != nil {
		return Result{}, err
	}
	if r.Value = s.most; !c.Max && s.pairs > 0 {
		r.Value = s.sum / s.pairs * float64(n-1) / float64(n) // pairs of a row with itself shrink by 0
	}
	return r.scored()
}

// shrinkage accumulates [shrink] over pairs of rows.
type shrinkage struct {
	in        *Input
	numbers   bool      // as in Contraction
	positions []float64 // of the factors, by row

	pairs, sum, most float64
}

// all adds every pair, to the maximum if largest is true, otherwise to the sum.
func (s *shrinkage) all(ctx context.Context, largest bool) error {
	n := s.in.Codes.Rows
	z, y, others := s.points()
	results := make([]float64, (n+kernel.PairLanes-1)/kernel.PairLanes) // by block of lanes
	err := parallel.Each(ctx, len(results), func(block int) error {
		lane := block * kernel.PairLanes
		a, b := make([]float64, kernel.PairLanes*kernel.PairSources), make([]float64, kernel.PairLanes*kernel.PairSources)
		var once, twice [kernel.PairLanes]float64
		kernel.PairTiles(lane, n, func(source, count int, within bool) {
			z.Squares(a, lane, source, count)
			y.Squares(b, lane, source, count)
			for _, o := range others {
				o.points.AddPremetric(b, o.distance, true, 0, lane, source, count)
			}
			switch {
			case largest:
				kernel.MaxShrinks(once[:], a, b, count)
			case within:
				kernel.SumShrinks(twice[:], a, b, count)
			default:
				kernel.SumShrinks(once[:], a, b, count)
			}
		})
		for i := range min(kernel.PairLanes, n-lane) {
			if largest {
				results[block] = max(results[block], once[i])
			} else {
				results[block] += once[i] + twice[i]/2
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	s.pairs = float64(n) * float64(n-1) / 2
	for _, v := range results {
		s.sum += v
		s.most = max(s.most, v)
	}
	return nil
}

// column is a circular or categorical factor: its distance is not a difference of positions.
type column struct {
	points   *kernel.Points[float64]
	distance kernel.Premetric
}

// points returns the codes z, the positions y of the factors that are numbers, and the other factors.
func (s *shrinkage) points() (z, y *kernel.Points[float64], others []column) {
	n, k := s.in.Codes.Rows, len(s.in.Factors)
	z = kernel.NewPoints[float64](n, s.in.Codes.Cols)
	z.Set(s.in.Codes.Data, n)
	var ordinal []int
	for j, f := range s.in.Factors {
		if s.numbers || f.Kind == factor.Ordinal {
			ordinal = append(ordinal, j)
			continue
		}
		o := column{kernel.NewPoints[float64](n, 1), kernel.Discrete()}
		if f.Kind == factor.Circular {
			o.distance = kernel.Circular(1)
		}
		o.points.Resize(n)
		for i := range n {
			o.points.Column(0)[i] = s.positions[i*k+j]
		}
		others = append(others, o)
	}
	y = kernel.NewPoints[float64](n, max(1, len(ordinal))) // a column of zeros without ordinal factors
	y.Zero(n)
	for at, j := range ordinal {
		for i := range n {
			y.Column(at)[i] = s.positions[i*k+j]
		}
	}
	return z, y, others
}

// add adds the pair of rows i and j.
func (s *shrinkage) add(i, j int) {
	k := len(s.in.Factors)
	var y, z float64
	a, b := s.positions[i*k:(i+1)*k], s.positions[j*k:(j+1)*k]
	for f := range s.in.Factors {
		d := math.Abs(a[f] - b[f])
		switch kind := s.in.Factors[f].Kind; {
		case s.numbers:
		case kind == factor.Circular:
			d = min(d, 1-d)
		case kind == factor.Categorical && d > 0:
			d = 1
		}
		y += d * d
	}
	other := s.in.Codes.Row(j)
	for c, v := range s.in.Codes.Row(i) {
		z += (v - other[c]) * (v - other[c])
	}
	shrunk := shrink(math.Sqrt(y), math.Sqrt(z))
	s.pairs++
	s.sum += shrunk
	s.most = max(s.most, shrunk)
}
