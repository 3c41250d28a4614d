package metrics

import (
	"context"
	"fmt"
	"math"

	"github.com/unravel-ml/unravel/models/hierarchy"
)

// inactive is the largest absolute value of a dimension that counts as inactive, as in the
// code of Ross and Doshi-Velez 2021.
const inactive = 1e-10

// validHierarchical checks the hierarchies, components and paths of an input.
func (in *Input) validHierarchical() error {
	for _, h := range []struct {
		whose string
		hierarchy.Hierarchy
	}{{"the codes", in.Hierarchy}, {"the factors", in.TrueHierarchy}} {
		if err := h.Hierarchy.Validate(); err != nil {
			return fmt.Errorf("hierarchy of %s: %w", h.whose, err)
		}
	}
	if in.Explored != nil {
		if err := validFound(in.Explored.Components, in.Explored.Paths, len(in.Explored.Components)); err != nil {
			return fmt.Errorf("explored images: %w", err)
		}
	}
	return validFound(in.Components, in.Paths, in.Codes.Rows)
}

// validFound checks components and paths, one for each row; either may be nil.
func validFound(components, paths []int, rows int) error {
	for _, ids := range []struct {
		name  string
		of    []int
		least int
		want  string
	}{{"component", components, -1, "0 or more, or -1 (discarded)"}, {"path", paths, 0, "0 or more"}} {
		if ids.of != nil && len(ids.of) != rows {
			return fmt.Errorf("there are %ss of %d rows; want one for each of the %d codes", ids.name, len(ids.of), rows)
		}
		for i, id := range ids.of {
			if id < ids.least {
				return fmt.Errorf("%ss: row %d has %d; want %s", ids.name, i, id, ids.want)
			}
		}
	}
	return nil
}

// Missing is the error of a metric for an unset field of [Input] that it needs.
type Missing string

// The fields of [Input] that can be missing.
const (
	MissingHierarchy     Missing = "the hierarchy of the codes is not known"
	MissingTrueHierarchy Missing = "the true hierarchy is not known"
	MissingComponents    Missing = "the components of the codes are not known"
	MissingCircular      Missing = "there is no circular factor; want at least one"
	MissingFactors       Missing = "no factor of several levels is known of the images"

	// MissingLevels is the error of metrics that need levels, not only which rows agree.
	MissingLevels Missing = "it needs the levels of factors, and pairs only say which rows agree; want a metric of modularity, such as variance, mad, radius, diameter or mpd, or factors"
)

func (m Missing) Error() string { return string(m) }

// fits checks that a hierarchy is known and has one dimension for each of cols columns.
func fits(h hierarchy.Hierarchy, whose string, cols int) error {
	categorical, continuous := len(h.Categoricals()), h.Continuous()
	switch {
	case h == nil:
		if whose == "factor" {
			return MissingTrueHierarchy
		}
		return MissingHierarchy
	case categorical+continuous != cols:
		return fmt.Errorf("the hierarchy of the %ss has %d dimensions (%d categorical, then %d continuous), but there are %d %s columns; want one for each",
			whose, categorical+continuous, categorical, continuous, cols, whose)
	}
	return nil
}

// optionsFit checks that the categorical columns of the codes hold options, from 1, or 0.
func (in *Input) optionsFit() error {
	for c, options := range in.Hierarchy.Categoricals() {
		for i := range in.Codes.Rows {
			if v := in.Codes.Row(i)[c]; v != math.Trunc(v) || v < 0 || v > float64(options) {
				return fmt.Errorf("codes: row %d, column %d is %v; want an option of its categorical dimension, 1 to %d, or 0 (inactive)", i, c, v, options)
			}
		}
	}
	return nil
}

// FactorValues returns the value of a factor for every image: the Exact value, or otherwise the value of the level. An
// unknown level gives NaN.
func (in *Input) FactorValues(factor int) []float64 {
	if in.Exact != nil && in.Exact[factor] != nil {
		return in.Exact[factor]
	}
	f, k := in.Factors[factor], len(in.Factors)
	values := make([]float64, in.Codes.Rows)
	for i := range values {
		if l := in.Levels[i*k+factor]; l >= 0 {
			values[i] = f.Value(l)
		} else {
			values[i] = math.NaN()
		}
	}
	return values
}

// paths numbers the paths of the images through the true hierarchy, from 0. Without Paths, images with equal values of
// all categorical factors have the same path.
func (in *Input) paths() (ids []int, count int, err error) {
	if in.Paths != nil {
		ids, count = renumber(in.Paths)
		return ids, count, nil
	}
	categorical, err := in.categoricalFactors()
	if err != nil {
		return nil, 0, err
	}
	type step struct {
		before int
		value  float64
	}
	ids, count = make([]int, in.Codes.Rows), 1
	for _, j := range categorical {
		steps := make([]step, len(ids))
		for i, v := range in.FactorValues(j) {
			steps[i] = step{ids[i], v}
		}
		ids, count = renumber(steps)
	}
	return ids, count, nil
}

// categoricalFactors lists the categorical factors of the true hierarchy; without one, all factors without Exact
// values.
func (in *Input) categoricalFactors() (list []int, err error) {
	if in.TrueHierarchy != nil {
		if err := fits(in.TrueHierarchy, "factor", len(in.Factors)); err != nil {
			return nil, err
		}
		for j := range in.TrueHierarchy.Categoricals() {
			list = append(list, j)
		}
		return list, nil
	}
	for j := range in.Factors {
		if in.Exact == nil || in.Exact[j] == nil {
			list = append(list, j)
		}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("all factors are continuous; want a categorical one, or the true hierarchy, to know which rows belong together")
	}
	return list, nil
}

// renumber numbers distinct ids from 0, in the order of their first occurrence.
func renumber[T comparable](ids []T) (numbers []int, count int) {
	known := make(map[T]int)
	numbers = make([]int, len(ids))
	for i, id := range ids {
		number, ok := known[id]
		if !ok {
			number = len(known)
			known[id] = number
		}
		numbers[i] = number
	}
	return numbers, len(known)
}

// HError is the H-error of Ross and Doshi-Velez 2021, section 6.2 and appendix A.3, in edits, 0 or more. It is the edit
// distance between the canonical trees of the hierarchy of the codes and of the true hierarchy (see
// [hierarchy.Distance]). It uses neither codes nor factors.
type HError struct{}

// Needs returns NoLevels.
func (*HError) Needs() Needs { return NoLevels }

// Better returns LowerIsBetter.
func (*HError) Better() Direction { return LowerIsBetter }

// Range implements Bounded.
func (*HError) Range() (least, most float64) { return 0, math.Inf(1) }

// Validate checks the settings: there are none.
func (*HError) Validate() error { return nil }

// Suits implements Selective.
func (*HError) Suits(in *Input) error {
	switch {
	case in.Hierarchy == nil:
		return MissingHierarchy
	case in.TrueHierarchy == nil:
		return MissingTrueHierarchy
	}
	return nil
}

// Compute returns the edit distance, without parts.
func (m *HError) Compute(ctx context.Context, in *Input) (Result, error) {
	if err := ready(ctx, m, in); err != nil {
		return Result{}, err
	}
	return Result{Value: float64(hierarchy.Distance(in.Hierarchy, in.TrueHierarchy))}, nil
}
