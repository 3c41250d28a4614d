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
	type place struct{ part, position int }
	var places []place
	trees := make([]*tree, len(parts))
	labels := r.labels(parts)
	parallel.For(len(parts), func(_, p int) { trees[p] = newTree(r.codes, r.d, parts[p]) })
	for p, part := range parts {
		for position := range part {
			places = append(places, place{p, position})
		}
	}
	edge := make([]bool, len(places))
	err := r.each(ctx, "edges", len(places), 32, func(from, to int) {
		var h hull
		nearest := knn{k: r.o.Neighbors - 1}
		var flatPoints []float64
		for i := from; i < to; i++ {
			p := places[i]
			t := trees[p.part]
			code := t.number[p.position]
			numbers := r.neighborsInPart(labels, code, &nearest)
			if len(numbers) < nearest.k {
				nearest.skip = code
				numbers, _ = t.find(r.row(int(code)), &nearest)
			}
			flatPoints = r.project(int(code), numbers, flatPoints[:0])
			edge[i] = isEdge(flatPoints, int(r.dim[code]), &h)
		}
	})
	edges := make([][]int32, len(parts))
	for i, p := range places {
		if edge[i] {
			edges[p.part] = append(edges[p.part], trees[p.part].number[p.position])
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

// neighborsInPart returns up to nearest.k neighbours of a code in the same part, the nearest first. They come from the
// stored neighbours of the code, which often suffice.
func (r *run) neighborsInPart(labels []int, code int32, nearest *knn) []int32 {
	k := r.o.Neighbors
	nearest.numbers = nearest.numbers[:0]
	for _, j := range r.neighbors[int(code)*k : (int(code)+1)*k] {
		if j != code && labels[j] == labels[code] && len(nearest.numbers) < nearest.k {
			nearest.numbers = append(nearest.numbers, j)
		}
	}
	return nearest.numbers
}

// project appends the coordinates of other codes in the tangent plane of code i, relative to it.
func (r *run) project(i int, others []int32, coordinates []float64) []float64 {
	d, m := r.d, int(r.dim[i])
	axes, origin := r.axes[i*d*d:(i+1)*d*d], r.row(i)
	for _, j := range others {
		for a := range m {
			coordinates = append(coordinates, coordinate(axes[a*d:(a+1)*d], r.row(int(j)), origin))
		}
	}
	return coordinates
}

// isEdge reports whether the origin is an edge point of points in m dimensions.
func isEdge(points []float64, m int, h *hull) bool {
	if len(points)/m <= m {
		return true
	}
	if m == 1 {
		return slices.Min(points) >= 0 || slices.Max(points) <= 0
	}
	return !h.containsOrigin(points, m) && !isFlat(points, m)
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
	err := r.each(ctx, "merging", len(pairs), 4, func(from, group int) {
		nearest := knn{k: 1, skip: -1}
		scratch := make([]float64, r.d*r.d)
		for i, p := range pairs[from:group] {
			common := (r.overlap(edges[p.a], trees[p.b], &nearest, scratch) + r.overlap(edges[p.b], trees[p.a], &nearest,
				scratch)) / 2
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
		group := find(p)
		groups[group] = append(groups[group], part...)
	}
	groups = slices.DeleteFunc(groups, func(g []int32) bool { return g == nil })
	for _, g := range groups {
		slices.Sort(g)
	}
	return groups, nil
}

// overlap returns the fraction of edge codes with a similar plane at their nearest edge code in another part.
func (r *run) overlap(edges []int32, otherTree *tree, nearest *knn, scratch []float64) float64 {
	common := 0
	for _, i := range edges {
		numbers, _ := otherTree.find(r.row(int(i)), nearest)
		if r.similarPlanes(int(i), int(numbers[0]), scratch) {
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
	assigned := make([]bool, r.n)
	visits := make([]int32, r.n) // by code outside the component: number of codes inside with this similar neighbour
	var parts [][]int32
	var stack, visited []int32
	for i := range r.n {
		if assigned[i] {
			continue
		}
		part := r.seed(i, assigned)
		stack = append(stack[:0], part...)
		visited = visited[:0]
		for len(stack) > 0 {
			p := int(stack[len(stack)-1])
			stack = stack[:len(stack)-1]
			for pair := p * k; pair < (p+1)*k; pair++ {
				j := r.neighbors[pair]
				if assigned[j] || !r.similar[pair] {
					continue
				}
				if visits[j]++; visits[j] == 1 {
					visited = append(visited, j)
				}
				if int(visits[j]) >= r.o.Contagion {
					assigned[j] = true
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
func (r *run) seed(i int, assigned []bool) []int32 {
	k := r.o.Neighbors
	part := []int32{int32(i)}
	assigned[i] = true
	for pair := i * k; pair < (i+1)*k; pair++ {
		if j := r.neighbors[pair]; r.similar[pair] && !assigned[j] {
			assigned[j] = true
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
	linkParents(components, lengths, r.o.MaxLengths)
	buildHierarchy(result)
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
		ownDistance, err := r.meanDistance(ctx, t, result.Labels, c, groups[c])
		if err != nil {
			return nil, err
		}
		for lower := range components {
			if components[lower].Dim >= components[c].Dim {
				lengths[c][lower] = math.Inf(1)
				continue
			}
			mean, err := r.meanDistance(ctx, t, result.Labels, c, groups[lower])
			if err != nil {
				return nil, err
			}
			if lengths[c][lower] = mean / ownDistance; mean == 0 { // repeated codes may give 0/0
				lengths[c][lower] = 0
			}
		}
	}
	return lengths, nil
}

// meanDistance returns the mean distance of codes to the nearest other code of a component.
func (r *run) meanDistance(ctx context.Context, t *tree, labels []int, component int, codes []int32) (float64, error) {
	distances := make([]float64, len(codes))
	err := r.each(ctx, "enclosures", len(codes), 256, func(from, to int) {
		nearest := knn{k: 1}
		for i := from; i < to; i++ {
			distances[i] = r.distance(t, labels, component, codes[i], &nearest)
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
func (r *run) distance(t *tree, labels []int, component int, code int32, nearest *knn) float64 {
	k := r.o.Neighbors
	q := r.row(int(code))
	for _, j := range r.neighbors[int(code)*k : (int(code)+1)*k] {
		if j != code && labels[j] == component {
			return math.Sqrt(squareDistance(r.row(int(j)), q))
		}
	}
	nearest.skip = code
	if _, squares := t.find(q, nearest); len(squares) > 0 {
		return math.Sqrt(squares[0])
	}
	return 0
}

// linkParents sets the parent of every component, in order of dimension. The parent is the nearest enclosed component
// that is not an ancestor of another enclosed component.
func linkParents(components []Component, lengths [][]float64, maxLength float64) {
	isAncestor := func(ancestor, c int) bool { // a proper ancestor
		for c = components[c].Parent; c >= 0; c = components[c].Parent {
			if c == ancestor {
				return true
			}
		}
		return false
	}
	for c := range components {
		var candidates []int
		for lower, v := range lengths[c] {
			if v <= maxLength {
				candidates = append(candidates, lower)
			}
		}
		for _, p := range candidates {
			redundant := slices.ContainsFunc(candidates, func(other int) bool { return isAncestor(p, other) })
			if parent := components[c].Parent; !redundant && (parent < 0 || lengths[c][p] < lengths[c][parent]) {
				components[c].Parent = p
			}
		}
		if p := components[c].Parent; p >= 0 {
			components[c].Lengths = lengths[c][p]
		}
	}
}

// buildHierarchy sets the hierarchy of linked components, and the choices of all codes.
func buildHierarchy(result *Result) {
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

// categorical returns a dimension with an option for each component in list. If self has a component, it is the first
// option, without dimensions.
func (b *builder) categorical(self, list []int, dim int, path map[int]int) hierarchy.Node {
	dimension := b.categoricals
	b.categoricals++
	withOption := func(option int) map[int]int {
		extended := map[int]int{dimension: option}
		maps.Copy(extended, path)
		return extended
	}
	var n hierarchy.Node
	for _, c := range self {
		b.paths[c] = withOption(0)
		n.Options = append(n.Options, hierarchy.Hierarchy{})
	}
	for _, c := range list {
		n.Options = append(n.Options, b.group(c, dim, withOption(len(n.Options))))
	}
	return n
}
