package modularity

import (
	"cmp"
	"slices"

	"github.com/unravel-ml/unravel/graph"
)

// grouping groups rows by a column of labels: rows with equal non-negative numbers form a group. Groups are in the
// order of their numbers. The rows of a group keep their order.
type grouping[T graph.Float] struct {
	factor, factors int

	order  []int // rows that belong to a group
	starts []int // start of each group, and the end of the last one

	labels  []T
	next    []int // for each small label, the position of its next row
	compare func(a, b int) int
}

func (g *grouping[T]) label(row int) T    { return g.labels[row*g.factors+g.factor] }
func (g *grouping[T]) count() int         { return len(g.starts) - 1 }
func (g *grouping[T]) rows(group int) int { return g.starts[group+1] - g.starts[group] }

func (g *grouping[T]) read(labels []T) {
	g.labels = labels
	g.starts = append(g.starts[:0], 0)
	if g.levels() {
		return
	}
	g.order = g.order[:0]
	for i := range len(labels) / g.factors {
		if g.label(i) >= 0 {
			g.order = append(g.order, i)
		}
	}
	slices.SortFunc(g.order, g.compare)
	for i, row := range g.order {
		if i > 0 && g.label(row) != g.label(g.order[i-1]) {
			g.starts = append(g.starts, i)
		}
	}
	if len(g.order) > 0 {
		g.starts = append(g.starts, len(g.order))
	}
}

// levels groups by counting. It reports false if labels are not small whole numbers.
func (g *grouping[T]) levels() bool {
	rows, known, top := len(g.labels)/g.factors, 0, 0
	for i := range rows {
		switch l := g.label(i); {
		case !(l >= 0):
			continue
		case l >= T(len(g.next)) || l != T(int(l)):
			return false
		default:
			known++
			top = max(top, int(l)+1)
		}
	}
	next := g.next[:top]
	clear(next)
	for i := range rows {
		if l := g.label(i); l >= 0 {
			next[int(l)]++
		}
	}
	at := 0
	for l, n := range next {
		next[l] = at
		if n > 0 {
			at += n
			g.starts = append(g.starts, at)
		}
	}
	g.order = g.order[:known]
	for i := range rows {
		if l := g.label(i); l >= 0 {
			g.order[next[int(l)]] = i
			next[int(l)]++
		}
	}
	return true
}

func newGrouping[T graph.Float](factor, factors, rows int) *grouping[T] {
	g := &grouping[T]{factor: factor, factors: factors}
	g.order, g.starts = make([]int, 0, rows), make([]int, 0, rows+1)
	g.next = make([]int, 4*rows+1000)
	g.compare = func(a, b int) int {
		if c := cmp.Compare(g.label(a), g.label(b)); c != 0 {
			return c
		}
		return a - b
	}
	return g
}
