// Package mimosa learns a hierarchy of dimensions from codes alone: "multi-manifold synthesis and assembly" (Ross and
// Doshi-Velez 2021, section 5.1 and appendix A.5).
//
// Codes of data with inactive dimensions lie on manifolds of different dimensions, the lower within the higher. [Run]
// fits the tangent plane at every code (algorithm 3), and grows components of codes with similar planes (algorithm
// 5). It merges components with common edges (algorithm 6), and derives the hierarchy from the enclosures of
// components (algorithm 7).
//
// Results are deterministic and do not depend on the number of threads.
package mimosa

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/internal/parallel"
	"github.com/unravel-ml/unravel/models/hierarchy"
)

// Options holds the hyperparameters. [Defaults] returns the values of appendix A.5.
type Options struct {
	Equalize       float64 `yaml:"equalize" doc:"divide codes along each principal axis by this power of the standard deviation; 0: no division, as in the paper; 1: whitening"`
	Neighbors      int     `yaml:"neighbors" doc:"codes in a neighbourhood, including its centre; must exceed the number of code columns"`
	RansacFraction float64 `yaml:"ransac_fraction" doc:"fraction of best-explained codes in a neighbourhood to refit its plane to; 1: fit once to all codes"`
	MinVariance    float64 `yaml:"min_variance" doc:"smallest fraction of the variance that a plane must explain"`
	MinDecay       float64 `yaml:"min_decay" doc:"smallest ratio of the variance along a plane's last axis to the variance along the next axis"`
	MinCosine      float64 `yaml:"min_cosine" doc:"smallest cosine between similar planes; 0.95 for spaceshapes, less for noisy or few codes"`
	Contagion      int     `yaml:"contagion" doc:"neighbours with similar planes that a component must hold to take a code; 3 for spaceshapes"`
	MinInitial     int     `yaml:"min_initial" doc:"smaller components are dropped before merging"`
	MinMerged      float64 `yaml:"min_merged" doc:"smallest size of a component after merging; below 1: a fraction of the codes, from 1: a number of codes"`
	MinCommonEdges float64 `yaml:"min_common_edges" doc:"fraction of edges, times 2^m, that two components of dimension m must share to merge"`
	MaxLengths     float64 `yaml:"max_lengths" doc:"largest mean distance of a component to an enclosing component, in mean neighbour distances of the enclosing component"`
}

// Defaults returns the options of Ross and Doshi-Velez 2021 for Chopsticks.
func Defaults() Options {
	return Options{
		Neighbors: 40, RansacFraction: 0.6667, MinVariance: 0.95, MinDecay: 4, MinCosine: 0.99, Contagion: 5,
		MinInitial: 20, MinMerged: 0.02, MinCommonEdges: 0.75, MaxLengths: 10,
	}
}

const maxNeighbors = 1000

// Validate checks the ranges of the options. Errors name the key.
func (o *Options) Validate() error {
	switch {
	case !(o.Equalize >= 0 && o.Equalize <= 1):
		return config.Invalid("equalize", "%v is out of range; want 0 to 1", o.Equalize)
	case o.Neighbors < 3 || o.Neighbors > maxNeighbors:
		return config.Invalid("neighbors", "%d is out of range; want 3 to %d", o.Neighbors, maxNeighbors)
	case !(o.RansacFraction > 0 && o.RansacFraction <= 1):
		return config.Invalid("ransac_fraction", "%v is out of range; want more than 0 and at most 1", o.RansacFraction)
	case !(o.MinVariance > 0 && o.MinVariance <= 1):
		return config.Invalid("min_variance", "%v is out of range; want more than 0 and at most 1", o.MinVariance)
	case !(o.MinDecay >= 1) || math.IsInf(o.MinDecay, 0):
		return config.Invalid("min_decay", "%v is out of range; want 1 or more", o.MinDecay)
	case !(o.MinCosine >= 0 && o.MinCosine <= 1):
		return config.Invalid("min_cosine", "%v is out of range; want 0 to 1", o.MinCosine)
	case o.Contagion < 1 || o.Contagion > o.Neighbors:
		return config.Invalid("contagion", "%d is out of range; want 1 to neighbors, %d", o.Contagion, o.Neighbors)
	case o.MinInitial < 1:
		return config.Invalid("min_initial", "%d is out of range; want 1 or more", o.MinInitial)
	case !(o.MinMerged > 0 && o.MinMerged <= math.MaxInt32):
		return config.Invalid("min_merged", "%v is out of range; want a fraction of the codes below 1, or a number of codes",
			o.MinMerged)
	case o.MinMerged > 1 && o.MinMerged != math.Trunc(o.MinMerged):
		return config.Invalid("min_merged",
			"%v codes is not a whole number; want a whole number, or a fraction of the codes below 1", o.MinMerged)
	case !(o.MinCommonEdges > 0) || math.IsInf(o.MinCommonEdges, 0):
		return config.Invalid("min_common_edges", "%v is out of range; want more than 0", o.MinCommonEdges)
	case !(o.MaxLengths >= 0) || math.IsInf(o.MaxLengths, 0):
		return config.Invalid("max_lengths", "%v is out of range; want 0 or more", o.MaxLengths)
	}
	return nil
}

// LeastMerged returns the least size of a component that is kept after merging, for n codes.
func (o *Options) LeastMerged(n int) int {
	if o.MinMerged >= 1 {
		return int(o.MinMerged)
	}
	return max(1, int(math.Round(o.MinMerged*float64(n))))
}

// Component is a manifold of codes with continuous tangent planes.
type Component struct {
	Dim    int   // its dimension
	Points []int // its codes, ascending
	Parent int   // index of the component that this one encloses and extends by dimensions; -1: none

	// Lengths is the mean distance of the parent's codes to their nearest code in this component, divided by the mean
	// distance between neighbours in this component. It is 0 without a parent.
	Lengths float64
}

// Result holds the components and the hierarchy that Run found.
type Result struct {
	Components []Component         // by dimension, then by the first row of their first part
	Parts      []Component         // components before merging, by their first row; their parents are not known
	Hierarchy  hierarchy.Hierarchy // empty without a component
	Labels     []int               // by code: its component, -1 for none

	// Choices has a row for every code: the option of each categorical dimension of the hierarchy, in pre-order, or
	// -1 for an inactive dimension. Codes without a component have rows of -1.
	Choices []int

	Initial  int // components before small ones were dropped
	Merging  int // components before merging
	Coverage float64
}

// Labelled sets dst to the labels of a code: for each categorical dimension 1 + its option, or 0 for an inactive
// dimension. If the code has no component, all labels are -1.
func (r *Result) Labelled(code int, dst []int32) {
	for c := range dst {
		dst[c] = -1
		if r.Labels[code] >= 0 {
			dst[c] = int32(1 + r.Choices[code*len(dst)+c])
		}
	}
}

// PartOf returns the part of every code, -1 for none.
func (r *Result) PartOf() []int {
	labels := slices.Repeat([]int{-1}, len(r.Labels))
	for p, part := range r.Parts {
		for _, i := range part.Points {
			labels[i] = p
		}
	}
	return labels
}

// Describe returns the length, in bits, of the description of the codes by the found hierarchy. Each code has the
// given number of columns. Codes without a component have no place in the hierarchy.
func (r *Result) Describe(columns int) hierarchy.Description {
	k := len(r.Hierarchy.Categoricals())
	return r.Hierarchy.Describe(len(r.Labels), columns, hierarchy.FloatBits, func(code int, choice []int) bool {
		copy(choice, r.Choices[code*k:(code+1)*k])
		return r.Labels[code] >= 0
	})
}

// Progress is called during a run, with the stage and its progress in codes or pairs of components.
type Progress func(stage string, done, total int)

// Run learns a hierarchy from n codes of d numbers each, row by row. The progress may be nil. Errors: options out of
// range; fewer codes than Neighbors; Neighbors not above the number of columns; codes that are not finite or all
// equal; and the end of the context.
func Run(ctx context.Context, codes []float64, d int, o Options, p Progress) (*Result, error) {
	if err := check(codes, d, o); err != nil {
		return nil, err
	}
	r := &run{progress: p, o: o, d: d, n: len(codes) / d, codes: equalizeAxes(codes, d, o.Equalize)}
	if r.progress == nil {
		r.progress = func(string, int, int) {}
	}
	for _, step := range []func(context.Context) error{r.findPlanes, r.findSimilar} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	r.progress("components", 0, r.n)
	parts := r.grow()
	r.progress("components", r.n, r.n)
	result := &Result{Initial: len(parts)}
	parts = dropSmall(parts, o.MinInitial)
	result.Merging, result.Parts = len(parts), r.components(parts)
	edges, err := r.findEdges(ctx, parts)
	if err != nil {
		return nil, err
	}
	groups, err := r.merge(ctx, parts, edges)
	if err != nil {
		return nil, err
	}
	groups = dropSmall(groups, o.LeastMerged(r.n))
	slices.SortStableFunc(groups, func(a, b []int32) int { return cmp.Compare(r.dim[a[0]], r.dim[b[0]]) })
	if err := r.assemble(ctx, result, groups); err != nil {
		return nil, err
	}
	return result, nil
}

// check returns an error for codes or options that Run cannot use.
func check(codes []float64, d int, o Options) error {
	if err := o.Validate(); err != nil {
		return fmt.Errorf("mimosa: %w", err)
	}
	if d < 1 || len(codes)%d != 0 {
		return fmt.Errorf("mimosa: %d numbers are not rows of %d", len(codes), d)
	}
	n := len(codes) / d
	if n < o.Neighbors {
		return fmt.Errorf("mimosa: %d codes; want at least %d, the number of neighbours", n, o.Neighbors)
	}
	if d >= o.Neighbors {
		return config.Invalid("neighbors", "%d are too few for codes of %d columns; want more", o.Neighbors, d)
	}
	if n > math.MaxInt32 {
		return fmt.Errorf("mimosa: %d codes are too many", n)
	}
	varies := false
	for i, v := range codes {
		if !(math.Abs(v) <= maxCode) {
			return fmt.Errorf("mimosa: codes: row %d, column %d is %v; want finite numbers of at most %g", i/d, i%d, v, maxCode)
		}
		varies = varies || v != codes[i%d]
	}
	if !varies {
		return fmt.Errorf("mimosa: all %d codes are equal; want codes that vary", n)
	}
	return nil
}

// maxCode limits codes, to keep squares of distances finite.
const maxCode = 1e100

// run is the state of a run.
type run struct {
	progress Progress
	o        Options
	d, n     int
	codes    []float64 // n x d

	neighbors []int32   // n x Neighbors, the nearest first
	dim       []int32   // n: dimension of the tangent plane
	axes      []float64 // n x d x d; the first dim rows count
	similar   []bool    // n x Neighbors: whether code and neighbour have similar planes
}

// each calls body for pieces of 0..n-1 on all threads, with progress. The pieces do not depend on the threads.
func (r *run) each(ctx context.Context, stage string, n, piece int, body func(from, to int)) error {
	const pieces = 64 // between checks of the context
	for from := 0; from < n; from += pieces * piece {
		r.progress(stage, from, n)
		if err := ctx.Err(); err != nil {
			return err
		}
		block := min(n-from, pieces*piece)
		parallel.For((block+piece-1)/piece, func(_, i int) {
			body(from+i*piece, from+min((i+1)*piece, block))
		})
	}
	r.progress(stage, n, n)
	return ctx.Err()
}

// findPlanes finds the neighbours of all codes and their tangent planes.
func (r *run) findPlanes(ctx context.Context) error {
	n, d, k := r.n, r.d, r.o.Neighbors
	t := newTree(r.codes, d, upTo(n))
	r.neighbors = make([]int32, n*k)
	r.dim, r.axes = make([]int32, n), make([]float64, n*d*d)
	return r.each(ctx, "tangent planes", n, 64, func(from, to int) {
		nearest := knn{k: k, skip: -1}
		f := newFitter(d, k, r.o)
		ratios := make([]float64, d)
		for position := from; position < to; position++ {
			i := int(t.number[position]) // codes of one leaf have the same neighbours
			numbers, _ := t.find(r.row(i), &nearest)
			copy(r.neighbors[i*k:(i+1)*k], numbers)
			f.points = f.points[:0]
			for _, j := range numbers {
				f.points = append(f.points, r.row(int(j))...)
			}
			r.dim[i] = int32(f.fit(r.axes[i*d*d:(i+1)*d*d], ratios))
		}
	})
}

// findSimilar compares the plane of every code with the planes of its neighbours.
func (r *run) findSimilar(ctx context.Context) error {
	k := r.o.Neighbors
	r.similar = make([]bool, r.n*k)
	return r.each(ctx, "similar planes", r.n, 64, func(from, to int) {
		scratch := make([]float64, r.d*r.d)
		for pair := from * k; pair < to*k; pair++ {
			r.similar[pair] = r.similarPlanes(pair/k, int(r.neighbors[pair]), scratch)
		}
	})
}

// similarPlanes reports whether the planes of two codes are similar.
func (r *run) similarPlanes(i, j int, scratch []float64) bool {
	if r.dim[i] != r.dim[j] {
		return false
	}
	s := r.d * r.d
	return cosine(r.axes[i*s:(i+1)*s], r.axes[j*s:(j+1)*s], int(r.dim[i]), r.d, scratch) >= r.o.MinCosine
}

func (r *run) row(i int) []float64 { return r.codes[i*r.d : (i+1)*r.d] }

// components returns groups of codes as components without parents.
func (r *run) components(groups [][]int32) []Component {
	list := make([]Component, len(groups))
	for c, g := range groups {
		list[c] = Component{Dim: int(r.dim[g[0]]), Parent: -1, Points: make([]int, len(g))}
		for k, i := range g {
			list[c].Points[k] = int(i)
		}
	}
	return list
}

func upTo(n int) []int32 {
	list := make([]int32, n)
	for i := range list {
		list[i] = int32(i)
	}
	return list
}

func dropSmall(parts [][]int32, minimum int) [][]int32 {
	return slices.DeleteFunc(slices.Clone(parts), func(p []int32) bool { return len(p) < minimum })
}

// Timing is the duration of a stage of a run.
type Timing struct {
	Stage   string
	Seconds float64
}

// Timed returns a progress that calls another progress, which may be nil. It also returns a function that lists the
// duration of each stage so far, in order. The first stage begins now.
func Timed(p Progress) (Progress, func() []Timing) {
	var list []Timing
	start := time.Now()
	end := func() {
		now := time.Now()
		if len(list) > 0 {
			list[len(list)-1].Seconds += now.Sub(start).Seconds()
			start = now
		}
	}
	timed := func(stage string, done, total int) {
		if len(list) == 0 || list[len(list)-1].Stage != stage {
			end()
			list = append(list, Timing{Stage: stage})
		}
		if p != nil {
			p(stage, done, total)
		}
	}
	return timed, func() []Timing {
		end()
		return append([]Timing(nil), list...)
	}
}
