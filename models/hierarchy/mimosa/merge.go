package mimosa

import (
	"context"
	"maps"
	"math"
	"slices"

	"github.com/unravel-ml/unravel/internal/numeric"
	"github.com/unravel-ml/unravel/internal/parallel"
	"github.com/unravel-ml/unravel/models/hierarchy"
)

// findEdges returns the edge codes of every part, in any order (algorithm 6, lines 2 to 5). Neighbours in the part
// are projected on the tangent plane of a code. The code is an edge code if it lies outside their convex hull. A
// degenerate neighbourhood has no edge, because it has no triangulation.
func (r *run) findEdges(ctx context.Context, parts [][]int32) ([][]int32, error) {
	type place struct{ part, at int }
	var places []place
	trees := make([]*tree, len(parts))
	in := r.labels(parts)
	parallel.For(len(parts), func(_, p int) { trees[p] = newTree(r.codes, r.d, parts[p]) })
	for p, part := range parts {
		for at := range part {
			places = append(places, place{p, at})
		}
	}
	edge := make([]bool, len(places))
	err := r.each(ctx, "edges", len(places), 32, func(from, to int) {
		var h hull
		found := nearest{k: r.o.Neighbors - 1}
		var flatPoints []float64
		for i := from; i < to; i++ {
			p := places[i]
			t := trees[p.part]
			code := t.number[p.at]
			numbers := r.within(in, code, &found)
			if len(numbers) < found.k {
				found.skip = code
				numbers, _ = t.find(r.row(int(code)), &found)
			}
			flatPoints = r.project(int(code), numbers, flatPoints[:0])
			edge[i] = isEdge(flatPoints, int(r.dim[code]), &h)
		}
	})
	edges := make([][]int32, len(parts))
	for i, p := range places {
		if edge[i] {
			edges[p.part] = append(edges[p.part], trees[p.part].number[p.at])
		}
	}
	return edges, err
}

// labels returns the part of every code, -1 for none.
func (r *run) labels(parts [][]int32) []int {
	labels := slices.Repeat([]int{-1}, r.n)
	for p, part := range parts {
		for _, i := range part {
			labels[i] = p
		}
	}
	return labels
}

// within returns up to found.k neighbours of a code in the same part, the nearest first. They come from the stored
// neighbours of the code, often all that a search would find.
func (r *run) within(labels []int, code int32, found *nearest) []int32 {
	k := r.o.Neighbors
	found.numbers = found.numbers[:0]
	for _, j := range r.neighbors[int(code)*k : (int(code)+1)*k] {
		if j != code && labels[j] == labels[code] && len(found.numbers) < found.k {
			found.numbers = append(found.numbers, j)
		}
	}
	return found.numbers
}

// project appends the coordinates of other codes in the tangent plane of code i, relative to it.
func (r *run) project(i int, others []int32, places []float64) []float64 {
	d, m := r.d, int(r.dim[i])
	axes, origin := r.axes[i*d*d:(i+1)*d*d], r.row(i)
	for _, j := range others {
		for a := range m {
			places = append(places, along(axes[a*d:(a+1)*d], r.row(int(j)), origin))
		}
	}
	return places
}

// isEdge reports whether the origin is an edge point of points in m dimensions.
func isEdge(points []float64, m int, h *hull) bool {
	if len(points)/m <= m {
		return true
	}
	if m == 1 {
		return slices.Min(points) >= 0 || slices.Max(points) <= 0
	}
	return !h.inside(points, m) && !flat(points, m)
}

// merge joins parts with common edges, transitively (algorithm 6, lines 6 to 11), ordered by their first parts.
func (r *run) merge(ctx context.Context, parts, edges [][]int32) ([][]int32, error) {
	trees := make([]*tree, len(parts))
	type pair struct{ a, b int }
	var pairs []pair
	dim := func(p int) int32 { return r.dim[parts[p][0]] }
	parallel.For(len(parts), func(_, p int) { trees[p] = newTree(r.codes, r.d, edges[p]) })
	for b := range parts {
		for a := range b {
			if dim(a) == dim(b) && len(edges[a]) > 0 && len(edges[b]) > 0 {
				pairs = append(pairs, pair{a, b})
			}
		}
	}
	joined := make([]bool, len(pairs))
	err := r.each(ctx, "merging", len(pairs), 4, func(from, to int) {
		found := nearest{k: 1, skip: -1}
		scratch := make([]float64, r.d*r.d)
		for i, p := range pairs[from:to] {
			common := (r.overlap(edges[p.a], trees[p.b], &found, scratch) + r.overlap(edges[p.b], trees[p.a], &found, scratch)) / 2
			joined[from+i] = common >= r.o.MinCommonEdges*math.Ldexp(1, -int(dim(p.a)))
		}
	})
	if err != nil {
		return nil, err
	}
	root := numeric.UpTo(len(parts)) // the first part of a group
	find := func(p int) int {
		for root[p] != p {
			p = root[p]
		}
		return p
	}
	for i, p := range pairs {
		if a, b := find(p.a), find(p.b); joined[i] {
			root[max(a, b)] = min(a, b)
		}
	}
	groups := make([][]int32, len(parts))
	for p, part := range parts {
		to := find(p)
		groups[to] = append(groups[to], part...)
	}
	groups = slices.DeleteFunc(groups, func(g []int32) bool { return g == nil })
	for _, g := range groups {
		slices.Sort(g)
	}
	return groups, nil
}

// overlap returns the fraction of edge codes with a similar plane at their nearest edge code in another part.
func (r *run) overlap(edges []int32, other *tree, found *nearest, scratch []float64) float64 {
	common := 0
	for _, i := range edges {
		numbers, _ := other.find(r.row(int(i)), found)
		if r.alike(int(i), int(numbers[0]), scratch) {
			common++
		}
	}
	return float64(common) / float64(len(edges))
}

// grow divides all codes into components (algorithm 5). It visits the codes in the order of the rows. The first code
// without a component starts one, together with its similar neighbours. A code joins once it is a similar neighbour
// of Contagion codes in the component.
func (r *run) grow() [][]int32 {
	k := r.o.Neighbors
	taken := make([]bool, r.n)
	visits := make([]int32, r.n) // by code outside the component: number of codes inside with this similar neighbour
	var parts [][]int32
	var stack, visited []int32
	for i := range r.n {
		if taken[i] {
			continue
		}
		part := r.seed(i, taken)
		stack = append(stack[:0], part...)
		visited = visited[:0]
		for len(stack) > 0 {
			p := int(stack[len(stack)-1])
			stack = stack[:len(stack)-1]
			for at := p * k; at < (p+1)*k; at++ {
				j := r.neighbors[at]
				if taken[j] || !r.similar[at] {
					continue
				}
				if visits[j]++; visits[j] == 1 {
					visited = append(visited, j)
				}
				if int(visits[j]) >= r.o.Contagion {
					taken[j] = true
					part = append(part, j)
					stack = append(stack, j)
				}
			}
		}
		for _, j := range visited {
			visits[j] = 0
		}
		slices.Sort(part)
		parts = append(parts, part)
	}
	return parts
}

// seed takes a code and its similar neighbours that no component has.
func (r *run) seed(i int, taken []bool) []int32 {
	k := r.o.Neighbors
	part := []int32{int32(i)}
	taken[i] = true
	for at := i * k; at < (i+1)*k; at++ {
		if j := r.neighbors[at]; r.similar[at] && !taken[j] {
			taken[j] = true
			part = append(part, j)
		}
	}
	return part
}

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

// categorical returns a dimension with an option for each of list; self, if any, comes first, without dimensions.
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
