package gbt

import (
	"math/rand/v2"

	"github.com/unravel-ml/unravel/internal/kernel"
)

// closest is the largest distance at which two values of a column count as equal,
// and least the variance below which a node is not split, both as in scikit-learn.
const (
	closest float32 = 1e-7
	least           = 0x1p-52
)

// node is a split, or a leaf if column is negative. The right child follows the left.
type node struct {
	column, left int32
	threshold    float64
	value        float64 // of a leaf
}

type tree []node

// leaf is the node in which a row ends.
func (t tree) leaf(values [][]float32, i int) *node {
	at := &t[0]
	for at.column >= 0 {
		next := at.left
		if float64(values[at.column][i]) > at.threshold {
			next++
		}
		at = &t[next]
	}
	return at
}

// span is a node whose rows are [low, high) of every column's order.
type span struct {
	node, low, high int
	sum             float64 // of the targets
}

// split is a cut of a span after its first count rows in a column's order.
type split struct {
	gain      float64 // (n sum of the left - count sum of all)^2 / (count (n - count)); negative: none
	sum       float64 // of the targets on the left
	count     int
	threshold float64
}

// grower grows trees, one at a time, and keeps the memory for the next.
type grower struct {
	x        *Columns
	depth    int
	parallel bool // over columns
	orders   [2][][]int32
	right    []uint8 // by row: 1 if it goes to the right child
	splits   []split // by span and column
	visit    []int   // columns, as ties are broken

	leaves     []int32   // by row: the node in which it ended
	importance []float64 // by column: decrease of the sum of squares, added up over trees
}

func newGrower(x *Columns, depth int, parallel bool) *grower {
	d := len(x.values)
	g := &grower{x: x, depth: depth, parallel: parallel, right: make([]uint8, x.rows), visit: make([]int, d),
		leaves: make([]int32, x.rows), importance: make([]float64, d)}
	for b := range g.orders {
		g.orders[b] = make([][]int32, d)
		for j := range d {
			g.orders[b][j] = make([]int32, x.rows)
		}
	}
	return g
}

// each calls body for every column.
func (g *grower) each(columns int, body func(_, j int)) {
	if g.parallel {
		kernel.For(columns, body)
		return
	}
	for j := range columns {
		body(0, j)
	}
}

// grow fits a tree to targets, level by level, without values in its leaves. The
// generator breaks ties between columns; nil: the first column wins.
func (g *grower) grow(target []float64, random *rand.Rand) tree {
	t := make(tree, 1, 1<<(min(g.depth, 6)+1))
	from, d := g.x.order, len(g.x.values)
	all := span{high: g.x.rows}
	for _, v := range target {
		all.sum += v
	}
	level := []span{all}
	for depth := 0; len(level) > 0; depth++ {
		var open []span
		for _, s := range level {
			if depth == g.depth || pure(from[0][s.low:s.high], target, s.sum) {
				g.end(t, s, from[0])
			} else {
				open = append(open, s)
			}
		}
		g.search(open, from, target)
		var cut []span
		level = level[:0]
		for a, s := range open {
			best, j := g.choose(g.splits[a*d:(a+1)*d], random)
			if j < 0 {
				g.end(t, s, from[0])
				continue
			}
			g.importance[j] += best.gain / float64(s.high-s.low)
			t[s.node] = node{column: int32(j), left: int32(len(t)), threshold: best.threshold}
			middle := s.low + best.count
			for _, i := range from[j][s.low:middle] {
				g.right[i] = 0
			}
			for _, i := range from[j][middle:s.high] {
				g.right[i] = 1
			}
			cut = append(cut, s)
			level = append(level, span{len(t), s.low, middle, best.sum}, span{len(t) + 1, middle, s.high, s.sum - best.sum})
			t = append(t, node{}, node{})
		}
		to, wanted := g.orders[depth%2], d
		if depth+1 == g.depth {
			wanted = 1 // the rows of leaves are needed, no order of theirs
		}
		g.each(wanted, func(_, j int) {
			for a, s := range cut {
				partition(to[j][s.low:s.high], from[j][s.low:s.high], g.right, level[2*a].high-s.low)
			}
		})
		from = to
	}
	return t
}

// search finds the best split of every span by every column.
func (g *grower) search(spans []span, orders [][]int32, target []float64) {
	d := len(g.x.values)
	for len(g.splits) < len(spans)*d {
		g.splits = append(g.splits, split{})
	}
	g.each(d, func(_, j int) {
		for a, s := range spans {
			g.splits[a*d+j] = scan(orders[j][s.low:s.high], g.x.values[j], target, s.sum)
		}
	})
}

// end makes a span a leaf.
func (g *grower) end(t tree, s span, rows []int32) {
	t[s.node] = node{column: -1}
	for _, i := range rows[s.low:s.high] {
		g.leaves[i] = int32(s.node)
	}
}

// choose is the split with the largest gain and its column, negative if there is none.
func (g *grower) choose(splits []split, random *rand.Rand) (split, int) {
	for j := range g.visit {
		g.visit[j] = j
	}
	if random != nil {
		random.Shuffle(len(g.visit), func(a, b int) { g.visit[a], g.visit[b] = g.visit[b], g.visit[a] })
	}
	best, column := split{gain: -1}, -1
	for _, j := range g.visit {
		if splits[j].gain > best.gain {
			best, column = splits[j], j
		}
	}
	return best, column
}

// pure says whether targets vary too little, or are too few, to be split.
func pure(rows []int32, target []float64, sum float64) bool {
	if len(rows) < 2 {
		return true
	}
	squares := 0.0
	for _, i := range rows {
		squares += target[i] * target[i]
	}
	mean := sum / float64(len(rows))
	return squares/float64(len(rows))-mean*mean <= least
}

// scan finds the cut of sorted rows with the largest gain, the first of equals.
func scan(rows []int32, values []float32, target []float64, sum float64) split {
	best := split{gain: -1}
	n, left, count := float64(len(rows)), 0.0, 0.0
	for at, i := range rows[:len(rows)-1] {
		left += target[i]
		count++
		d := n*left - count*sum
		// The division is left to the few cuts that are better than all before.
		weight := count * (n - count)
		if d*d <= best.gain*weight {
			continue
		}
		low, high := values[i], values[rows[at+1]]
		if high <= low+closest {
			continue
		}
		threshold := float64(low)/2 + float64(high)/2
		if threshold == float64(high) {
			threshold = float64(low)
		}
		if gain := d * d / weight; gain > best.gain {
			best = split{gain: gain, sum: left, count: at + 1, threshold: threshold}
		}
	}
	return best
}

// partition copies rows, those that go left first, in their order.
func partition(to, from []int32, right []uint8, count int) {
	l, r := 0, count
	for _, i := range from {
		// Without a branch, which would be mispredicted half of the time.
		b := int(right[i])
		to[l^((l^r)&-b)] = i
		l += 1 - b
		r += b
	}
}
