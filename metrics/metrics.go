// Package metrics measures how well representations separate the factors of variation.
//
// A metric is a pure function. It takes codes (one row per image), the levels of the images' factors, and a random
// stream if it draws random numbers. It never uses a model. Each metric is a settings struct that [Registry] lists;
// [Evaluate] runs several metrics. [FromRows], [FromMat] and [FromTensor] read codes, and [NewInput] combines them with
// the levels of their factors.
package metrics

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/unravel-ml/unravel/internal/numeric"
)

// Direction says whether larger or smaller values of a metric are better.
type Direction uint8

// The two directions.
const (
	HigherIsBetter Direction = iota
	LowerIsBetter
)

func (d Direction) String() string {
	if d == LowerIsBetter {
		return "lower"
	}
	return "higher"
}

func (d Direction) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

func (d *Direction) UnmarshalText(text []byte) error {
	switch string(text) {
	case "higher":
		*d = HigherIsBetter
	case "lower":
		*d = LowerIsBetter
	default:
		return fmt.Errorf("unknown direction %q; want higher or lower", text)
	}
	return nil
}

// Metric is a metric with its settings.
type Metric interface {
	// Better returns whether larger or smaller values are better.
	Better() Direction

	// Compute measures an input and does not modify it. It is pure: the result depends only on the settings, the input
	// and the input's Stream. Its errors are:
	//   - settings out of range, by key (see [config.Invalid]);
	//   - an input that [Input.Validate] rejects, such as an input without factors, or with unknown levels that the
	//     metric needs (see [Needs]);
	//   - an input that the metric cannot measure: the error from Suits of a [Selective] metric, or a [Missing] field;
	//   - a missing Stream, if the metric draws random numbers;
	//   - a value or a fit that is NaN or infinite, does not exist, or does not converge;
	//   - the end of the context, which the metric checks often: the error wraps ctx.Err().
	Compute(ctx context.Context, in *Input) (Result, error)
}

// Bounded is implemented by metrics with bounded values; a value without a bound has an infinite one.
type Bounded interface {
	Range() (least, most float64)
}

// Selective is implemented by metrics that cannot measure every input.
type Selective interface {
	// Suits returns an error with the reason if the metric cannot measure an input with these factors, levels and
	// shape. It does not read the codes.
	Suits(in *Input) error
}

// Titled is implemented by metrics whose results may have a different name.
type Titled interface {
	Title() string // empty: the metric's name
}

// Varied is implemented by metrics that need tests with other settings than the defaults.
type Varied interface {
	Variants() []Metric // settings for tests
}

// Metrics embed a type for the levels that they need ([Needy]) and a type for the bounds of their values ([Bounded]).
type (
	allLevels   struct{}
	eachLevel   struct{}
	knownLevels struct{}
	noLevels    struct{}

	twoFactors struct{} // requires at least two factors that vary

	share struct{} // 0 to 1, higher is better
	loss  struct{} // 0 or more, lower is better
)

func (allLevels) Needs() Needs   { return AllLevels }
func (eachLevel) Needs() Needs   { return EachLevel }
func (knownLevels) Needs() Needs { return KnownLevels }
func (noLevels) Needs() Needs    { return NoLevels }

func (twoFactors) Suits(in *Input) error {
	if err := wantFactors(in, 2); err != nil {
		return err
	}
	if n := len(in.table().Varying(in.Codes.Rows)); n < 2 {
		return fmt.Errorf("%d of %d factors have several levels in the %d rows; want at least 2",
			n, len(in.Factors), in.Codes.Rows)
	}
	return nil
}

func (share) Better() Direction            { return HigherIsBetter }
func (share) Range() (least, most float64) { return 0, 1 }
func (loss) Better() Direction             { return LowerIsBetter }
func (loss) Range() (least, most float64)  { return 0, math.Inf(1) }

// bounds returns the bounds of a metric's values; infinite if the metric states none.
func bounds(m Metric) (least, most float64) {
	if b, ok := m.(Bounded); ok {
		return b.Range()
	}
	return math.Inf(-1), math.Inf(1)
}

// ready checks the settings of a metric, the input, whether the metric suits the input, and the context.
func ready(ctx context.Context, m Metric, in *Input) error {
	if err := validate(m); err != nil { // before errors of the input
		return err
	}
	if err := in.Validate(); err != nil {
		return err
	}
	if n, ok := m.(Needy); ok && n.Needs() < KnownLevels {
		if err := in.wantKnown(); err != nil {
			return err
		}
	}
	if err := suits(m, in); err != nil {
		return err
	}
	return ctx.Err()
}

// validate checks the settings of a metric.
func validate(m Metric) error {
	if v, ok := m.(interface{ Validate() error }); ok {
		return v.Validate()
	}
	return nil
}

// readyWithLevels is ready for a metric that needs a known level of each factor.
func readyWithLevels(ctx context.Context, m Metric, in *Input) error {
	if err := ready(ctx, m, in); err != nil {
		return err
	}
	if j := slices.Index(in.table().Unknown(), in.Codes.Rows); j >= 0 {
		return fmt.Errorf("every level of factor %q is unknown; want some known levels, or leave the factor out, as Evaluate does", in.Factors[j].Name)
	}
	return nil
}

// Suits returns the error of the first metric that cannot measure an input. It needs no codes, so a run can check
// before training. It asks each metric's Suits about the rows and factors that [Evaluate] would give to the metric.
func Suits(in *Input, choices []Choice) error {
	if err := chosen(choices); err != nil {
		return err
	}
	for _, c := range choices {
		if _, err := inputsFor(c.Value, in); err != nil {
			return fmt.Errorf("metric %s: %w", c.Name, err)
		}
	}
	return nil
}

// chosen returns an error for a choice without a metric.
func chosen(choices []Choice) error {
	if i := slices.IndexFunc(choices, func(c Choice) bool { return c.Value == nil }); i >= 0 {
		return fmt.Errorf("metrics: metric %d is not chosen; want, for example, Named(\"mig\")", i)
	}
	return nil
}

// ResultNames returns the name or title (see [Titled]) of each metric; repeated names get the suffix -2, -3, ....
func ResultNames(choices []Choice) []string {
	names, count := make([]string, len(choices)), map[string]int{}
	for i, c := range choices {
		name := c.Name
		if t, ok := c.Value.(Titled); ok && t.Title() != "" {
			name = t.Title()
		}
		count[name]++
		if names[i] = name; count[name] > 1 {
			names[i] = fmt.Sprintf("%s-%d", name, count[name])
		}
	}
	return names
}

// Evaluate validates the input and computes metrics in order, with the names of [ResultNames]. Every metric draws from
// its own stream of the seed, so its value does not depend on the other metrics; a repeated metric draws the same
// numbers. Evaluate stops at the first error, which names the metric; if the context ends, the error wraps ctx.Err().
//
// If some levels are unknown, a metric gets the rows with the levels that it [Needs], without factors that are unknown
// in all rows. Notes of its result give the number of rows left out.
func Evaluate(ctx context.Context, in *Input, seed uint64, choices []Choice) ([]Result, error) {
	return EvaluateWatched(ctx, in, seed, choices, func(int, string) {})
}

// EvaluateWatched is [Evaluate] and calls watch before every metric.
func EvaluateWatched(
	ctx context.Context, in *Input, seed uint64, choices []Choice, watch func(i int, name string),
) ([]Result, error) {
	if err := in.Validate(); err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	if ctx == nil {
		return nil, fmt.Errorf("metrics: the context is nil; want one, such as context.Background()")
	}
	if err := chosen(choices); err != nil {
		return nil, err
	}
	results, names, sum := make([]Result, len(choices)), ResultNames(choices), numeric.Checksum(in.Codes.Data, in.Levels)
	for i, c := range choices {
		watch(i, names[i])
		x, err := inputsFor(c.Value, in)
		if err != nil {
			return nil, fmt.Errorf("metric %s: %w", names[i], err)
		}
		r, err := x.compute(ctx, c.Value, seed, "metric/"+c.Name)
		if err == nil {
			err = r.check()
		}
		if err == nil && numeric.Checksum(in.Codes.Data, in.Levels) != sum {
			err = fmt.Errorf("it changed the codes or levels of its input; want it to change a copy")
		}
		if err != nil {
			return nil, fmt.Errorf("metric %s: %w", names[i], err)
		}
		if b := r.Basis; b.Train > 0 && !b.Shared {
			r.Notes = append(r.Notes, x.list[0].repeatedRowsNote("so the predictor knows many test rows from training")...)
		}
		r.Name, r.Better = names[i], c.Value.Better()
		if traitsOf(c.Value).scaled {
			r.Scale = in.Codes.Scale()
		}
		r.define(c)
		results[i] = r
	}
	return results, nil
}

// stops returns ctx.Err() if i is a multiple of every, otherwise nil.
func stops(ctx context.Context, i, every int) error {
	if i%every != 0 {
		return nil
	}
	return ctx.Err()
}
