package mimosa

import (
	"cmp"
	"math"
)

// leafSize is the largest number of points of a leaf.
const leafSize = 32

// tree is a k-d tree for exact nearest neighbours. Of points at equal distances, the lower number is nearer.
type tree struct {
	d      int
	points []float64 // in the order of the leaves
	number []int32   // of the points, in the same order
	nodes  []treeNode
	boxes  []float64 // by node: d least and d largest coordinates
}

type treeNode struct {
	from, to int32 // its points
	least    int32 // the lowest number of them
	right    int32 // the second child; the first follows the node; 0: a leaf
}

// newTree returns a tree of the given rows of all points.
func newTree(all []float64, d int, rows []int32) *tree {
	t := &tree{d: d, points: make([]float64, len(rows)*d), number: append([]int32(nil), rows...)}
	if len(rows) > 0 {
		t.grow(all, 0, len(rows))
	}
	for i, r := range t.number {
		copy(t.points[i*d:(i+1)*d], all[int(r)*d:])
	}
	return t
}

// grow adds the node of the points from..to, and those below it.
func (t *tree) grow(all []float64, from, to int) {
	d, at := t.d, len(t.nodes)
	t.nodes = append(t.nodes, treeNode{from: int32(from), to: int32(to), least: t.number[from]})
	t.boxes = append(t.boxes, make([]float64, 2*d)...)
	low, high := t.boxes[2*d*at:2*d*at+d], t.boxes[2*d*at+d:2*d*at+2*d]
	for c := range low {
		low[c], high[c] = math.Inf(1), math.Inf(-1)
	}
	for _, r := range t.number[from:to] {
		t.nodes[at].least = min(t.nodes[at].least, r)
		for c, v := range all[int(r)*d : (int(r)+1)*d] {
			low[c], high[c] = min(low[c], v), max(high[c], v)
		}
	}
	if to-from <= leafSize {
		return
	}
	widest := 0
	for c := range low {
		if high[c]-low[c] > high[widest]-low[widest] {
			widest = c
		}
	}
	middle := (from + to) / 2
	split(t.number[from:to], middle-from, func(a, b int32) int {
		return cmp.Or(cmp.Compare(all[int(a)*d+widest], all[int(b)*d+widest]), cmp.Compare(a, b))
	})
	t.grow(all, from, middle)
	t.nodes[at].right = int32(len(t.nodes))
	t.grow(all, middle, to)
}

// split moves the k least elements to the front (quickselect).
func split(list []int32, k int, compare func(a, b int32) int) {
	for len(list) > 1 {
		pivot := list[len(list)/2]
		i, j := 0, len(list)-1
		for i <= j {
			for compare(list[i], pivot) < 0 {
				i++
			}
			for compare(list[j], pivot) > 0 {
				j--
			}
			if i <= j {
				list[i], list[j] = list[j], list[i]
				i, j = i+1, j-1
			}
		}
		switch {
		case k <= j:
			list = list[:j+1]
		case k >= i:
			list, k = list[i:], k-i
		default:
			return
		}
	}
}

// nearest collects the k nearest points of a search, except one that is skipped.
type nearest struct {
	k       int
	skip    int32 // -1: none
	squares []float64
	numbers []int32
}

// find returns the numbers of the k points nearest to q, or all if there are fewer, the
// nearest first, and the squares of their distances. The lists are valid until the next call.
func (t *tree) find(q []float64, n *nearest) (numbers []int32, squares []float64) {
	n.squares, n.numbers = n.squares[:0], n.numbers[:0]
	if len(t.nodes) > 0 && n.k > 0 {
		t.search(0, t.boxSquare(0, q), q, n)
	}
	return n.numbers, n.squares
}

func (t *tree) search(at int, square float64, q []float64, n *nearest) {
	node := &t.nodes[at]
	if !n.wants(square, node.least) {
		return
	}
	d := t.d
	if node.right == 0 {
		for i := int(node.from); i < int(node.to); i++ {
			sum := 0.0
			for c, v := range t.points[i*d : (i+1)*d] {
				sum += (v - q[c]) * (v - q[c])
			}
			if number := t.number[i]; number != n.skip && n.wants(sum, number) {
				n.insert(sum, number)
			}
		}
		return
	}
	left, right := at+1, int(node.right)
	a, b := t.boxSquare(left, q), t.boxSquare(right, q)
	if b < a {
		left, right, a, b = right, left, b, a
	}
	t.search(left, a, q, n)
	t.search(right, b, q, n)
}

// boxSquare returns the squared distance of q to a node's box. It is at most that to any of its points, also after
// rounding, as every term is and the order of the sum is the same.
func (t *tree) boxSquare(at int, q []float64) float64 {
	d := t.d
	box := t.boxes[2*d*at : 2*d*(at+1)]
	low, high := box[:len(q)], box[len(q):][:len(q)]
	sum := 0.0
	for c, v := range q {
		e := max(low[c]-v, v-high[c], 0)
		sum += e * e
	}
	return sum
}

// wants reports whether a point at this squared distance is among the nearest so far.
func (n *nearest) wants(square float64, number int32) bool {
	last := len(n.squares) - 1
	if last+1 < n.k {
		return true
	}
	return square < n.squares[last] || square == n.squares[last] && number < n.numbers[last]
}

func (n *nearest) insert(square float64, number int32) {
	if len(n.squares) < n.k {
		n.squares, n.numbers = append(n.squares, 0), append(n.numbers, 0)
	}
	at := len(n.squares) - 1
	for ; at > 0 && (square < n.squares[at-1] || square == n.squares[at-1] && number < n.numbers[at-1]); at-- {
		n.squares[at], n.numbers[at] = n.squares[at-1], n.numbers[at-1]
	}
	n.squares[at], n.numbers[at] = square, number
}
