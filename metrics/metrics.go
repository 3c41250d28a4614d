// Package metrics measures how well representations separate the factors of
// variation of their data.
//
// A metric is a pure function. It takes codes (one row per image), the levels of the factors of the same images, and a
// stream of random numbers if it draws any. It never touches a model. The settings structs in [Registry] are the
// metrics; [Evaluate] runs several of them. Codes come from [FromRows], [FromMat] or [FromTensor], and with the levels
// of their factors from [NewInput].
package metrics

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/metrics/interval"
	"github.com/unravel-ml/unravel/metrics/mutual"
	"github.com/unravel-ml/unravel/models/hierarchy"
)

// Input holds the codes that a metric measures, and the knowledge about their images.
type Input struct {
	Codes   Matrix          // n x d: the representation of n images
	Levels  []int           // n x k: the levels of their factors, image by image; [factor.Unknown] where one is not known
	Factors []factor.Factor // k

	// Classes says that Levels number equivalence classes: rows of a class agree in the factor, and rows of different
	// classes may agree too. Only metrics that are [Equational], or need no levels, can measure them.
	Classes bool

	// Differ holds, by factor, the pairs of rows that an answer calls different, if Levels number classes. nil: no such
	// pairs are known.
	Differ [][][2]int

	// Exact holds, by continuous factor (of kind ordinal), the value of every image; its levels are bins (see [Bin]).
	// Metrics of values use Exact, metrics of levels the bins. If Exact or a factor's entry is nil, the factor has
	// levels only. Where a level is unknown, so is the value: NaN.
	Exact [][]float64

	// Hierarchy and TrueHierarchy are the hierarchies of the codes and of the factors; nil: not known. With a
	// hierarchy, columns have the layout of [hierarchy.Hierarchy.Row]: categorical dimensions first, as 1 + the option
	// chosen, then continuous dimensions. Inactive dimensions are 0.
	Hierarchy, TrueHierarchy hierarchy.Hierarchy

	// Components holds, by image, the component of its code, or -1 if the code was discarded. Paths holds the image's
	// path through the true hierarchy. nil: not known; the categorical factors then determine paths.
	Components, Paths []int

	// Spaces lists the code columns of each latent space of the model, such as a sphere; nil: not known.
	Spaces [][]int

	// Explored holds the images that the components were learned on. nil: the images of the codes.
	Explored *Explored

	Stream *rng.Stream // for metrics that draw random numbers; Evaluate sets it

	arcs int // number of arcs of a circular factor with few rows for each angle, for metrics of levels (see inArcs); 0: arcs only if the factor has Angles

	principal bool // the columns are principal components (see Reduction)

	shared *mutual.Shared // bins of the halves of an [Interval]; nil: not a half
	spans  []span         // ranges, by factor, of the Exact values of all rows, in the halves of an [Interval]; nil: the ranges of these rows
}

// Explored holds components and paths of the images that a hierarchy was learned on, if a run measures held-out images.
type Explored struct {
	Components []int // as in an Input
	Paths      []int // as in an Input; nil: not known
}

// Validate checks that there are codes and factors, shapes agree, levels are in range and codes are finite. Evaluate
// calls it; a Metric may rely on it.
func (in *Input) Validate() error {
	if in == nil {
		return fmt.Errorf("there is no input; want one of NewInput")
	}
	n, d, k := in.Codes.Rows, in.Codes.Cols, len(in.Factors)
	switch {
	case n < 1 || d < 1:
		return fmt.Errorf("codes are %d x %d; want at least one row and one column", n, d)
	case len(in.Codes.Data) != n*d:
		return fmt.Errorf("codes hold %d numbers; want %d x %d", len(in.Codes.Data), n, d)
	case k < 1:
		return fmt.Errorf("there are no factors; want at least one")
	case len(in.Levels) != n*k:
		return fmt.Errorf("there are %d factor levels; want %d, %d factors of %d codes", len(in.Levels), n*k, k, n)
	}
	if err := in.Codes.Finite("codes: row %d, column %d is %v"); err != nil {
		return err
	}
	for j, f := range in.Factors {
		if f.Size < 1 {
			return fmt.Errorf("factor %q has %d levels; want at least one", f.Name, f.Size)
		}
		if err := validGroup(f); err != nil {
			return err
		}
		for i := range n {
			if level := in.Levels[i*k+j]; level < factor.Unknown || level >= f.Size {
				return fmt.Errorf("factors: row %d has level %d of factor %q; want 0 to %d, or -1 where it is unknown", i, level, f.Name, f.Size-1)
			}
		}
	}
	if err := in.validExact(); err != nil {
		return err
	}
	return in.validHierarchical()
}

// validGroup checks the angles or rotations of a factor's levels.
func validGroup(f factor.Factor) error {
	if f.Angles != nil && (len(f.Angles) != f.Size || f.Kind != factor.Circular) {
		return fmt.Errorf("factor %q, %s with %d levels, has %d angles; want one for each level of a circular factor", f.Name, f.Kind, f.Size, len(f.Angles))
	}
	if f.Rotations == nil {
		return nil
	}
	if len(f.Rotations) != f.Size || f.Kind != factor.Categorical {
		return fmt.Errorf("factor %q, %s with %d levels, has %d rotations; want one for each level of a categorical factor", f.Name, f.Kind, f.Size, len(f.Rotations))
	}
	for l, g := range f.Rotations {
		if !factor.IsRotation(&g) {
			return fmt.Errorf("factor %q: level %d has the matrix %v; want a rotation, with orthonormal rows and determinant 1", f.Name, l, g)
		}
	}
	return nil
}

// Direction says whether a metric improves upwards or downwards.
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

// MarshalText makes a Direction its name in JSON.
func (d Direction) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText is the inverse of MarshalText.
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

// Metric is a measure with its settings.
type Metric interface {
	// Better returns the direction of better values.
	Better() Direction

	// Compute measures an input, which it does not change. It is pure: its result depends on the settings, the input
	// and its Stream alone. Its errors are:
	//   - settings out of range, by key (see [config.Invalid]);
	//   - an input that [Input.Validate] rejects, such as an input without factors, or with unknown levels that the
	//     metric needs (see [Needs]);
	//   - an input that does not suit the metric: the error from Suits of a [Selective] metric, or a [Missing] for
	//     something unknown;
	//   - no Stream, if the metric draws random numbers;
	//   - a value or a fit that is NaN or infinite, does not exist or does not converge;
	//   - the end of the context, which the metric checks often: the error wraps ctx.Err().
	Compute(ctx context.Context, in *Input) (Result, error)
}

// Bounded is implemented by metrics with bounded values; an infinite bound means none.
type Bounded interface {
	Range() (least, most float64)
}

// Selective is implemented by metrics that cannot measure every input.
type Selective interface {
	// Suits returns an error that says why the metric cannot measure an input, judged by its factors, levels and shape.
	// It does not read the codes.
	Suits(in *Input) error
}

// Titled is implemented by metrics whose results can have another name than the metric's.
type Titled interface {
	Title() string // empty: no other name
}

// Varied is implemented by metrics with defaults that measure nothing, and by metrics that are also tested with other
// settings.
type Varied interface {
	Variants() []Metric // settings for tests
}

// ready checks the settings of a metric, its input, that the input suits it, and the context.
func ready(ctx context.Context, m Metric, in *Input) error {
	if v, ok := m.(interface{ Validate() error }); ok {
		if err := v.Validate(); err != nil {
			return err
		}
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

// Result is the outcome of a metric.
type Result struct {
	Name   string    `json:"name"` // set by Evaluate
	Value  float64   `json:"value"`
	Better Direction `json:"better"` // set by Evaluate
	Basis  Basis     `json:"basis"`  // the rows behind the value

	// Scale is the root of the mean variance of the code columns, if the value depends on it: values of codes with
	// different scales are not comparable. 0: the value does not depend on it, or the codes are constant.
	Scale float64 `json:"scale,omitempty"`

	Parts []Part   `json:"parts,omitempty"`
	Grids []Grid   `json:"grids,omitempty"`
	Notes []string `json:"notes,omitempty"` // remarks, such as degenerate codes

	Chance   *Chance            `json:"chance,omitempty"`   // set by [Chances.Add]
	Interval *interval.Interval `json:"interval,omitempty"` // set by [Intervals.Add]

	Options map[string]any `json:"options,omitempty"` // all options of the metric, as a config has them; set by Evaluate
	Like    []string       `json:"like,omitempty"`    // the [Dialects] that define the metric with these options; set by Evaluate

	// Sentence is the sentence of a [Logic]. Truth is equivalent (a Value of 0 is equivalent to the sentence being
	// true), implied (at 0 the sentence is true) or undecided.
	Sentence string `json:"sentence,omitempty"`
	Truth    string `json:"truth,omitempty"`
}

// finite returns an error for the first number of a result that is NaN or infinite.
func (r *Result) finite() error {
	lists := map[string][]float64{"value": {r.Value}}
	for _, p := range r.Parts {
		lists["part "+p.Name] = p.Values
	}
	for _, g := range r.Grids {
		lists["grid "+g.Name] = slices.Concat(g.Values...)
	}
	for _, name := range slices.Sorted(maps.Keys(lists)) {
		for i, v := range lists[name] {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return fmt.Errorf("the %s, number %d, is %v: the codes or the factors are too large or too small", name, i, v)
			}
		}
	}
	return nil
}

// Part is a list of numbers behind a result, such as one per factor or code column.
type Part struct {
	Name   string    `json:"name"`             // "per_subgroup"
	Labels []string  `json:"labels,omitempty"` // names of the values; empty for a single value
	Values []float64 `json:"values"`
}

// Grid is a matrix behind a result, such as the mutual information of code columns with factors.
type Grid struct {
	Name    string      `json:"name"`
	Rows    []string    `json:"rows"`
	Columns []string    `json:"columns"`
	Values  [][]float64 `json:"values"` // by row
}

// Part returns the values of a part by name, or nil.
func (r *Result) Part(name string) []float64 {
	for _, p := range r.Parts {
		if p.Name == name {
			return p.Values
		}
	}
	return nil
}

// Suits returns the error of the first metric that cannot measure an input, as far as this is known before there are
// codes. It asks each metric's Suits about the rows and factors that [Evaluate] gives it.
func Suits(in *Input, choices []Choice) error {
	for _, c := range choices {
		if _, err := inputsFor(c.Value, in); err != nil {
			return fmt.Errorf("metric %s: %w", c.Name, err)
		}
	}
	return nil
}

// ResultNames returns the names of the results of choices: the names of the metrics, or their titles (see [Titled]),
// with -2, -3, ... for a repeated one.
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
// a separate stream of the seed, which makes its value independent of the others; a repeated metric draws the same
// numbers. The first error ends it, and names the metric; the error of a context that ends wraps ctx.Err().
//
// With unknown levels, a metric gets the rows with the levels that it [Needs], without the factors that have no known
// level. Notes of its result say how many rows were left out.
func Evaluate(ctx context.Context, in *Input, seed uint64, choices []Choice) ([]Result, error) {
	return EvaluateWatched(ctx, in, seed, choices, func(int, string) {})
}

// EvaluateWatched is [Evaluate] with a call of watch before every metric.
func EvaluateWatched(ctx context.Context, in *Input, seed uint64, choices []Choice, watch func(i int, name string)) ([]Result, error) {
	if err := in.Validate(); err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	if ctx == nil {
		return nil, fmt.Errorf("metrics: the context is nil; want one, such as context.Background()")
	}
	results, names := make([]Result, len(choices)), ResultNames(choices)
	for i, c := range choices {
		if c.Value == nil {
			return nil, fmt.Errorf("metrics: metric %d is not chosen; want, for example, Named(\"mig\")", i)
		}
		watch(i, names[i])
		x, err := inputsFor(c.Value, in)
		if err != nil {
			return nil, fmt.Errorf("metric %s: %w", names[i], err)
		}
		r, err := x.compute(ctx, c.Value, seed, "metric/"+c.Name)
		if err == nil {
			err = r.finite()
		}
		if err != nil {
			return nil, fmt.Errorf("metric %s: %w", names[i], err)
		}
		r.Name, r.Better = names[i], c.Value.Better()
		if ofScale(c.Value) {
			r.Scale = in.Codes.Scale()
		}
		r.define(c)
		results[i] = r
	}
	return results, nil
}
