package metrics

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/metrics/internal/pairs"
)

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
	s := &pairs.Contraction{Codes: in.Codes, Factors: in.Factors, Positions: in.factorRows(c.Units), Numbers: c.numbers}
	possible := float64(n) * float64(n-1) / 2
	if c.Pairs > 0 && possible > allForRandom*float64(c.Pairs) {
		if in.Stream == nil {
			return Result{}, fmt.Errorf("%d of %.0f pairs of rows: %w", c.Pairs, possible, errNoStream)
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
			s.Add(i, j)
		}
	} else if err := s.All(ctx, c.Max); err != nil {
		return Result{}, err
	}
	if r.Value = s.Most; !c.Max && s.Pairs > 0 {
		r.Value = s.Sum / s.Pairs * float64(n-1) / float64(n) // pairs of a row with itself shrink by 0
	}
	return r.scored()
}
