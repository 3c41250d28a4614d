// Package metrics measures how well representations separate the factors of
// variation of their data.
//
// A metric is a pure function: it sees codes (one row per image), the levels of the
// factors of the same images, and a stream of random numbers where it needs one. It
// never touches a model. The settings structs in [Registry] are the metrics;
// [Evaluate] runs several of them. Codes come from [FromRows], [FromMat] or [FromTensor], and
// with the levels of their factors from [NewInput].
package metrics

import (
	"context"
	"fmt"

	"github.com/unravel-ml/unravel/factor"
	"github.com/unravel-ml/unravel/hierarchy"
	"github.com/unravel-ml/unravel/rng"
)

// Input is what a metric measures.
type Input struct {
	Codes   Matrix          // n x d: the representation of n images
	Levels  []int           // n x k: the levels of their factors, image by image
	Factors []factor.Factor // k

	// Exact holds, by factor, the value of every image, for ordinal factors that are continuous:
	// their levels are bins of it (see [Bin]). Metrics of values use it, metrics of levels
	// the bins. nil: the levels tell all, of one factor or of all of them.
	Exact [][]float64

	// Hierarchy is that of the codes, TrueHierarchy that of the factors; nil: not known. With
	// one, columns are laid out as [hierarchy.Hierarchy.Row] does it: categorical dimensions
	// first, as 1 + the option chosen, then continuous ones, and 0 for what is inactive.
	Hierarchy, TrueHierarchy hierarchy.Hierarchy

	// Components holds, by image, the component of the codes that it was found in, or -1 if it was
	// discarded; Paths the group of dimensions that it truly has. nil: not known; paths are
	// then told by the categorical factors.
	Components, Paths []int

	// Spaces lists the columns of the parts of a code that a model declares, such as its latent
	// spheres; nil: not known.
	Spaces [][]int

	// Explored are the images that Components are of, if they are others than those of the codes; nil: the same.
	Explored *Explored

	Stream *rng.Stream // for metrics that draw random numbers; Evaluate sets it
}

// Explored says in which components images were found that need not be those measured: of a run that
// holds images out, those that its hierarchy was learned from.
type Explored struct {
	Components []int // as in an Input
	Paths      []int // as in an Input; nil: not known
}

// Validate checks that shapes agree, levels are in range and codes are finite.
// Evaluate calls it; a Metric may rely on it.
func (in *Input) Validate() error {
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
	if err := in.Codes.finite("codes: row %d, column %d is %v"); err != nil {
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
			if level := in.Levels[i*k+j]; level < 0 || level >= f.Size {
				return fmt.Errorf("factors: row %d has level %d of factor %q; want 0 to %d", i, level, f.Name, f.Size-1)
			}
		}
	}
	if err := in.validExact(); err != nil {
		return err
	}
	return in.validHierarchical()
}

// Direction says which values of a metric are better.
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
	// Better says which direction of Result.Value is better.
	Better() Direction

	// Compute measures an input, which it does not change. It is pure: its result depends on the settings, the input and
	// its Stream alone. Its errors are:
	//   - settings out of range, by key (see [config.Invalid]);
	//   - an input that [Input.Validate] rejects, such as one without factors;
	//   - an input that does not suit the metric: what Suits of a [Selective] metric says, a [Missing] for what is not known of it;
	//   - no Stream, if the metric draws random numbers;
	//   - a value or a fit that is not finite, does not exist or does not converge;
	//   - the end of the context, which is looked at often: the error wraps ctx.Err().
	Compute(ctx context.Context, in *Input) (Result, error)
}

// Bounded is implemented by metrics whose values have bounds; infinite ones are none.
type Bounded interface {
	Range() (least, most float64)
}

// Selective is implemented by metrics that not every data set suits.
type Selective interface {
	// Suits says why an input cannot be measured, from its factors, levels and
	// number of codes; it does not look at the codes.
	Suits(in *Input) error
}

// ready checks a metric's settings, its input, that they go together, and that the context has not ended.
func ready(ctx context.Context, m interface {
	Selective
	Validate() error
}, in *Input) error {
	if err := m.Validate(); err != nil {
		return err
	}
	if err := in.Validate(); err != nil {
		return err
	}
	if err := m.Suits(in); err != nil {
		return err
	}
	return ctx.Err()
}

// Result is the outcome of a metric.
type Result struct {
	Name   string    `json:"name"` // set by Evaluate
	Value  float64   `json:"value"`
	Better Direction `json:"better"` // set by Evaluate
	Parts  []Part    `json:"parts,omitempty"`
	Grids  []Grid    `json:"grids,omitempty"`
	Notes  []string  `json:"notes,omitempty"` // remarks, such as degenerate codes
}

// Part is a list of numbers behind a result: one per factor, per code column, ...
type Part struct {
	Name   string    `json:"name"`             // "per_subgroup"
	Labels []string  `json:"labels,omitempty"` // what the values belong to; empty for a single value
	Values []float64 `json:"values"`
}

// Grid is a matrix behind a result, such as mutual information of code columns
// and factors.
type Grid struct {
	Name    string      `json:"name"`
	Rows    []string    `json:"rows"`
	Columns []string    `json:"columns"`
	Values  [][]float64 `json:"values"` // by row
}

// Part finds a part by name; nil when there is none.
func (r *Result) Part(name string) []float64 {
	for _, p := range r.Parts {
		if p.Name == name {
			return p.Values
		}
	}
	return nil
}

// Suits says whether metrics can be computed, as far as that is known before there are codes.
func Suits(in *Input, choices []Choice) error {
	for _, c := range choices {
		if s, ok := c.Value.(Selective); ok {
			if err := s.Suits(in); err != nil {
				return fmt.Errorf("metric %s: %w", c.Name, err)
			}
		}
	}
	return nil
}

// ResultNames are the names of the results of choices: those of the metrics, with -2, -3, ... for a metric that
// comes again, with other options.
func ResultNames(choices []Choice) []string {
	names, count := make([]string, len(choices)), map[string]int{}
	for i, c := range choices {
		count[c.Name]++
		if names[i] = c.Name; count[c.Name] > 1 {
			names[i] = fmt.Sprintf("%s-%d", c.Name, count[c.Name])
		}
	}
	return names
}

// Evaluate computes metrics in order, with the names of [ResultNames]. Every metric draws from its own stream of the
// seed, so that its value does not depend on which others are computed; one that comes again draws the same.
// If the context ends, so does the metric that is computed, and the error wraps that of the context.
func Evaluate(ctx context.Context, in *Input, seed uint64, choices []Choice) ([]Result, error) {
	return EvaluateWatched(ctx, in, seed, choices, func(int, string) {})
}

// EvaluateWatched is [Evaluate], and calls watch before every metric.
func EvaluateWatched(ctx context.Context, in *Input, seed uint64, choices []Choice, watch func(i int, name string)) ([]Result, error) {
	if err := in.Validate(); err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	results, names := make([]Result, len(choices)), ResultNames(choices)
	for i, c := range choices {
		watch(i, names[i])
		mine := *in
		mine.Stream = rng.New(seed, "metric/"+c.Name)
		r, err := c.Value.Compute(ctx, &mine)
		if err != nil {
			return nil, fmt.Errorf("metric %s: %w", names[i], err)
		}
		r.Name, r.Better = names[i], c.Value.Better()
		results[i] = r
	}
	return results, nil
}
