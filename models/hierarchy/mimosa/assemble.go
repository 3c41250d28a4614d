package mimosa

import (
	"context"
	"maps"
	"math"
	"slices"

	"github.com/unravel-ml/unravel/models/hierarchy"
)

// assemble finds the parents of components and the hierarchy (algorithm 7).
func (r *run) assemble(ctx context.Context, result *Result, groups [][]int32) error {
	components := r.components(groups)
	result.Components = components
	result.Labels = r.labels(groups)
	result.Coverage = float64(len(slices.Concat(groups...))) / float64(r.n)
	lengths, err := r.enclosures(ctx, result, groups)
	if err != nil {
		return err
	}
	link(components, lengths, r.o.MaxLengths)
	build(result)
	return nil
}

// enclosures returns, for each component, the mean distance from every lower-dimensional component to it. The unit is
// the mean distance between neighbours within the component. Other components have an infinite distance. (Line 5 of
// algorithm 7 swaps the two; appendix A.5 and the paper's code do not.)
func (r *run) enclosures(ctx context.Context, result *Result, groups [][]int32) ([][]float64, error) {
	components := result.Components
	lengths := make([][]float64, len(components))
	for c := range components {
		lengths[c] = make([]float64, len(components))
		t := newTree(r.codes, r.d, groups[c])
		own, err := r.meanDistance(ctx, t, result.Labels, c, groups[c])
		if err != nil {
			return nil, err
		}
		for below := range components {
			if components[below].Dim >= components[c].Dim {
				lengths[c][below] = math.Inf(1)
				continue
			}
			mean, err := r.meanDistance(ctx, t, result.Labels, c, groups[below])
			if err != nil {
				return nil, err
			}
			if lengths[c][below] = mean / own; mean == 0 { // repeated codes may give 0/0
				lengths[c][below] = 0
			}
		}
	}
	return lengths, nil
}

// meanDistance returns the mean distance of codes to the nearest other code of a component.
func (r *run) meanDistance(ctx context.Context, t *tree, labels []int, component int, codes []int32) (float64, error) {
	distances := make([]float64, len(codes))
	err := r.each(ctx, "enclosures", len(codes), 256, func(from, to int) {
		found := nearest{k: 1}
		for at := from; at < to; at++ {
			distances[at] = r.distance(t, labels, component, codes[at], &found)
		}
	})
	sum := 0.0
	for _, v := range distances {
		sum += v
	}
	return sum / float64(len(codes)), err
}

// distance returns the distance from a code to the nearest other code of a component. It first looks among the code's
// neighbours, and otherwise searches the tree.
func (r *run) distance(t *tree, labels []int, component int, code int32, found *nearest) float64 {
	k := r.o.Neighbors
	q := r.row(int(code))
	for _, j := range r.neighbors[int(code)*k : (int(code)+1)*k] {
		if j != code && labels[j] == component {
			return math.Sqrt(squareDistance(r.row(int(j)), q))
		}
	}
	found.skip = code
	if _, squares := t.find(q, found); len(squares) > 0 {
		return math.Sqrt(squares[0])
	}
	return 0
}

// link sets the parent of every component, in order of dimension. The parent is the nearest enclosed component that
// is not an ancestor of another enclosed component.
func link(components []Component, lengths [][]float64, most float64) {
	above := func(ancestor, c int) bool { // a proper ancestor
		for c = components[c].Parent; c >= 0; c = components[c].Parent {
			if c == ancestor {
				return true
			}
		}
		return false
	}
	for c := range components {
		var candidates []int
		for below, v := range lengths[c] {
			if v <= most {
				candidates = append(candidates, below)
			}
		}
		for _, p := range candidates {
			redundant := slices.ContainsFunc(candidates, func(other int) bool { return above(p, other) })
			if parent := components[c].Parent; !redundant && (parent < 0 || lengths[c][p] < lengths[c][parent]) {
				components[c].Parent = p
			}
		}
		if p := components[c].Parent; p >= 0 {
			components[c].Lengths = lengths[c][p]
		}
	}
}

// build sets the hierarchy of linked components, and the choices of all codes.
func build(result *Result) {
	children := make([][]int, len(result.Components))
	var roots []int
	for c, component := range result.Components {
		if component.Parent < 0 {
			roots = append(roots, c)
		} else {
			children[component.Parent] = append(children[component.Parent], c)
		}
	}
	b := &builder{result: result, children: children, paths: make([]map[int]int, len(result.Components))}
	switch len(roots) {
	case 0:
		result.Hierarchy = hierarchy.Hierarchy{}
	case 1:
		result.Hierarchy = b.group(roots[0], 0, nil)
	default:
		result.Hierarchy = hierarchy.Hierarchy{b.categorical(nil, roots, 0, nil)}
	}
	k := b.categoricals
	result.Choices = slices.Repeat([]int{-1}, len(result.Labels)*k)
	for i, c := range result.Labels {
		if c >= 0 {
			for j, option := range b.paths[c] {
				result.Choices[i*k+j] = option
			}
		}
	}
}

// builder turns the tree of components into a hierarchy.
type builder struct {
	result       *Result
	children     [][]int
	categoricals int           // number so far, in pre-order
	paths        []map[int]int // by component: categorical dimensions and their options
}

// group returns the dimensions of component c beyond the already active ones, and the children of c.
func (b *builder) group(c, already int, path map[int]int) hierarchy.Hierarchy {
	dim := b.result.Components[c].Dim
	h := make(hierarchy.Hierarchy, dim-already)
	b.paths[c] = path
	if list := b.children[c]; len(list) > 0 {
		h = append(h, b.categorical([]int{c}, list, dim, path))
	}
	return h
}

// categorical returns a dimension with an option for each component in list. self, if any, is the first option,
// without dimensions.
func (b *builder) categorical(self, list []int, dim int, path map[int]int) hierarchy.Node {
	at := b.categoricals
	b.categoricals++
	with := func(option int) map[int]int {
		longer := map[int]int{at: option}
		maps.Copy(longer, path)
		return longer
	}
	var n hierarchy.Node
	for _, c := range self {
		b.paths[c] = with(0)
		n.Options = append(n.Options, hierarchy.Hierarchy{})
	}
	for _, c := range list {
		n.Options = append(n.Options, b.group(c, dim, with(len(n.Options))))
	}
	return n
}
