package gbt

import (
	"math/rand/v2"

	"github.com/unravel-ml/unravel/internal/parallel"
)

// tieTolerance is the maximum difference of two values that count as equal. minVariance is the minimum variance of
// a node that is split. Both are as in scikit-learn.
const (
	tieTolerance float32 = 1e-7
	minVariance  float64 = 0x1p-52
)

// node is a split, or a leaf if column is negative. The right child is next to the left child.
type node struct {
	column, leftChild int32
	threshold         float64
	value             float64 // value of a leaf
}

type tree []node

func (t tree) leaf(values [][]float32, i int) *node {
	n := &t[0]
	for n.column >= 0 {
		child := n.leftChild
		if float64(values[n.column][i]) > n.threshold {
			child++
		}
		n = &t[child]
	}
	return n
}

// span is a node during growth. Its rows are [low, high) in every column's order.
type span struct {
	node, low, high int
	sum             float64 // sum of the targets
}

// cut is a span after its split: the rows from middle on go to the right child.
type cut struct{ low, middle, high int }

// split is a candidate split of a span after its first count rows in a column's order.
type split struct {
	gain      float64 // decrease of the sum of squares; negative: no split exists
	sum       float64 // sum of the targets in the left child
	count     int
	threshold float64
	bin       uint8 // with bins: last bin of the left child
}

// grower grows trees one after another and reuses its memory.
type grower struct {
	x           *Columns
	depth       int
	parallel    bool // in parallel over columns
	orders      [2][][]int32
	goesRight   []uint8 // by row: 1 if the row goes to the right child
	splits      []split // by span and column
	columnOrder []int   // columns in order of preference for ties

	leaves     []int32   // leaf of each row
	importance []float64 // by column: decrease of the sum of squares over all trees
}

func newGrower(x *Columns, depth int, parallel bool) *grower {
	d := len(x.values)
	g := &grower{x: x, depth: depth, parallel: parallel, goesRight: make([]uint8, x.rows), columnOrder: make([]int, d),
		leaves: make([]int32, x.rows), importance: make([]float64, d)}
	for b := range g.orders {
		g.orders[b] = make([][]int32, len(x.order))
		for j := range x.order {
			g.orders[b][j] = make([]int32, x.rows)
		}
	}
	return g
}

func (g *grower) forColumns(columns int, body func(_, j int)) {
	if g.parallel {
		parallel.For(columns, body)
		return
	}
	for j := range columns {
		body(0, j)
	}
}

// grow fits a tree to targets, level by level, without leaf values. random breaks ties between columns; nil: the first
// column wins.
func (g *grower) grow(target []float64, random *rand.Rand) tree {
	t := make(tree, 1, 1<<(min(g.depth, 6)+1))
	all := span{high: g.x.rows}
	for _, v := range target {
		all.sum += v
	}
	from, d := g.x.order, len(g.x.values)
	pending := g.enqueue(nil, t, all, from[0], target, g.depth)
	var cuts []cut
	for depth := 1; len(pending) > 0; depth++ {
		next := from
		if depth > 1 {
			next = g.orders[depth%2]
		}
		g.searchSplits(pending, cuts, next, from, target)
		from = next
		spans := pending
		pending, cuts = nil, cuts[:0]
		for a, s := range spans {
			best, j := g.bestSplit(g.splits[a*d:(a+1)*d], random)
			if j < 0 {
				g.makeLeaf(t, s, from[0][s.low:s.high])
				continue
			}
			g.importance[j] += best.gain
			t[s.node] = node{column: int32(j), leftChild: int32(len(t)), threshold: best.threshold}
			middle, count := s.low+best.count, len(pending)
			left := span{len(t), s.low, middle, best.sum}
			right := span{len(t) + 1, middle, s.high, s.sum - best.sum}
			t = append(t, node{}, node{})
			rows := g.childRows(s, from, j, best, depth)
			pending = g.enqueue(pending, t, left, rows[:best.count], target, g.depth-depth)
			pending = g.enqueue(pending, t, right, rows[best.count:], target, g.depth-depth)
			if len(pending) > count && g.x.bins == nil {
				cuts = append(cuts, cut{s.low, middle, s.high})
				g.markRight(rows, best.count)
			}
		}
	}
	return t
}

// childRows returns the rows of a span, left child first. They are sorted, or for bins partitioned in the list of the
// next level.
func (g *grower) childRows(s span, orders [][]int32, column int, best split, depth int) []int32 {
	if g.x.bins == nil {
		return orders[column][s.low:s.high]
	}
	from, to := orders[0][s.low:s.high], g.orders[(depth+1)%2][0][s.low:s.high]
	for _, i := range from {
		g.goesRight[i] = 0
		if g.x.bins[column][i] > best.bin {
			g.goesRight[i] = 1
		}
	}
	partition(to, from, g.goesRight, best.count)
	return to
}

// enqueue queues a span for a split, or makes it a leaf.
func (g *grower) enqueue(spans []span, t tree, s span, rows []int32, target []float64, depth int) []span {
	if depth == 0 || isPure(rows, target, s.sum) {
		g.makeLeaf(t, s, rows)
		return spans
	}
	return append(spans, s)
}

// markRight records the rows that go right: all except the first count rows.
func (g *grower) markRight(rows []int32, count int) {
	for _, i := range rows[:count] {
		g.goesRight[i] = 0
	}
	for _, i := range rows[count:] {
		g.goesRight[i] = 1
	}
}

// searchSplits partitions the columns' orders, and then finds the best split of every span for every column.
func (g *grower) searchSplits(spans []span, cuts []cut, to, from [][]int32, target []float64) {
	d := len(g.x.values)
	for len(g.splits) < len(spans)*d {
		g.splits = append(g.splits, split{})
	}
	if g.x.bins != nil {
		g.forColumns(d, func(_, j int) {
			for a, s := range spans {
				g.splits[a*d+j] = scanBins(to[0][s.low:s.high], g.x.bins[j], g.x.edges[j], target, s.sum)
			}
		})
		return
	}
	g.forColumns(d, func(_, j int) {
		for _, c := range cuts {
			partition(to[j][c.low:c.high], from[j][c.low:c.high], g.goesRight, c.middle-c.low)
		}
		for a, s := range spans {
			g.splits[a*d+j] = scan(to[j][s.low:s.high], g.x.values[j], target, s.sum)
		}
	})
}

func (g *grower) makeLeaf(t tree, s span, rows []int32) {
	t[s.node] = node{column: -1}
	for _, i := range rows {
		g.leaves[i] = int32(s.node)
	}
}

// bestSplit returns the split with the largest gain, and its column or a negative number if no split exists.
func (g *grower) bestSplit(splits []split, random *rand.Rand) (split, int) {
	for j := range g.columnOrder {
		g.columnOrder[j] = j
	}
	if random != nil {
		random.Shuffle(len(g.columnOrder),
			func(a, b int) { g.columnOrder[a], g.columnOrder[b] = g.columnOrder[b], g.columnOrder[a] })
	}
	best, column := split{gain: -1}, -1
	for _, j := range g.columnOrder {
		if splits[j].gain > best.gain {
			best, column = splits[j], j
		}
	}
	return best, column
}

// isPure reports whether the targets of a node have too little variance, or are too few, for a split.
func isPure(rows []int32, target []float64, sum float64) bool {
	if len(rows) < 2 {
		return true
	}
	squares := 0.0
	for _, i := range rows {
		squares += target[i] * target[i]
	}
	mean := sum / float64(len(rows))
	return squares/float64(len(rows))-mean*mean <= minVariance
}

// scan finds the split of sorted rows with the largest gain. For ties, the first one wins.
func scan(rows []int32, values []float32, target []float64, sum float64) split {
	b := cutSearch{rows: rows, values: values, n: float64(len(rows)), gain: -1}
	mean, lastRow := sum/b.n, len(rows)-1
	// d is the sum of target - mean over the rows before the cut. Cuts are tested four at a time, because their sums
	// are then independent, and one bound excludes most groups of four.
	d, position := 0.0, 0
	for ; position+4 <= lastRow; position += 4 {
		r := rows[position : position+4 : position+4]
		t0, t1, t2, t3 := target[r[0]]-mean, target[r[1]]-mean, target[r[2]]-mean, target[r[3]]-mean
		t01 := t0 + t1
		d0, d1, d2, d3 := d+t0, d+t01, d+(t01+t2), d+(t01+(t2+t3))
		limit := b.gain * min(b.weight(position), b.weight(position+3)) // weights increase, then decrease
		if d0*d0 > limit || d1*d1 > limit || d2*d2 > limit || d3*d3 > limit {
			b.try(position, d0)
			b.try(position+1, d1)
			b.try(position+2, d2)
			b.try(position+3, d3)
		}
		d = d3
	}
	for ; position < lastRow; position++ {
		d += target[rows[position]] - mean
		b.try(position, d)
	}
	if b.gain < 0 {
		return split{gain: -1}
	}
	count := b.position + 1
	return split{gain: b.n * b.gain, sum: b.d + float64(count)*mean, count: count,
		threshold: threshold(values[rows[b.position]], values[rows[count]])}
}

// scanBins finds the split between bins with the largest gain. For ties, the first one wins.
func scanBins(rows []int32, bins []uint8, edges, target []float64, sum float64) split {
	var sums [256]float64
	var counts [256]int
	for _, i := range rows {
		b := bins[i]
		sums[b] += target[i]
		counts[b]++
	}
	best := split{gain: -1}
	n, left, count := float64(len(rows)), 0.0, 0
	for b, edge := range edges {
		left += sums[b]
		count += counts[b]
		if counts[b] == 0 || count == len(rows) {
			continue
		}
		c := float64(count)
		d := left - c*(sum/n)
		if gain := n * d * d / (c * (n - c)); gain > best.gain {
			best = split{gain: gain, sum: left, count: count, threshold: edge, bin: uint8(b)}
		}
	}
	return best
}

// cutSearch is the best cut of a span so far.
type cutSearch struct {
	rows     []int32
	values   []float32
	n        float64
	gain     float64 // d^2/weight; negative: no cut yet
	d        float64
	position int // last row before the cut
}

// weight returns the product of the numbers of rows on both sides of a cut.
func (b *cutSearch) weight(position int) float64 {
	count := float64(position + 1)
	return count * (b.n - count)
}

// try replaces the best cut if this cut is better.
func (b *cutSearch) try(position int, d float64) {
	weight := b.weight(position)
	if d*d <= b.gain*weight || b.values[b.rows[position+1]] <= b.values[b.rows[position]]+tieTolerance {
		return
	}
	if gain := d * d / weight; gain > b.gain {
		b.gain, b.d, b.position = gain, d, position
	}
}

// partition copies rows in a stable order: rows that go left, then rows that go right.
func partition(to, from []int32, right []uint8, count int) {
	l, r := 0, count
	for _, i := range from {
		// A branch would be mispredicted half of the time.
		b := int(right[i])
		to[l^((l^r)&-b)] = i
		l += 1 - b
		r += b
	}
}
