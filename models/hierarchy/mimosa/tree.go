package mimosa

import (
	"cmp"
	"math"
	"slices"

	"github.com/unravel-ml/unravel/internal/parallel"
)

// leafSize is the largest number of points in a leaf.
const leafSize = 32

// tree is a k-d tree for exact nearest neighbours. Among points at equal distance, the lower number is nearer.
type tree struct {
	d      int
	points []float64 // in the order of the leaves
	number []int32   // numbers of the points, in the same order
	nodes  []treeNode
	boxes  []float64 // by node: d least and d largest coordinates
}

type treeNode struct {
	from, to  int32 // its points
	minNumber int32 // the lowest number of its points
	right     int32 // the second child; the first child follows the node; 0: a leaf
}

func newTree(codes []float64, d int, rows []int32) *tree {
	nodes := nodeCount(len(rows))
	t := &tree{
		d: d, points: make([]float64, len(rows)*d), number: slices.Clone(rows),
		nodes: make([]treeNode, nodes), boxes: make([]float64, 2*d*nodes),
	}
	if len(rows) == 0 {
		return t
	}
	level := []branch{{0, 0, len(rows)}}
	for len(level) > 0 { // branches of a level share no points and no nodes
		children := make([][2]branch, len(level))
		parallel.For(len(level), func(_, i int) {
			if b := level[i]; b.to-b.from <= branchSize {
				t.grow(codes, b)
			} else {
				children[i][0], children[i][1] = t.divide(codes, b)
			}
		})
		level = level[:0]
		for _, pair := range children {
			if pair[0].to > 0 {
				level = append(level, pair[0], pair[1])
			}
		}
	}
	return t
}

// branchSize is the number of points up to which one thread grows a branch.
const branchSize = 1024

// branch is a part of a tree to grow: its first node and its points.
type branch struct{ node, from, to int }

// nodeCount returns the number of nodes of a tree of n points.
func nodeCount(n int) int {
	switch {
	case n == 0:
		return 0
	case n <= leafSize:
		return 1
	}
	return 1 + nodeCount(n/2) + nodeCount(n-n/2)
}

// grow sets all nodes of a branch, and its points.
func (t *tree) grow(codes []float64, b branch) {
	left, right := t.divide(codes, b)
	if right.node > 0 {
		t.grow(codes, left)
		t.grow(codes, right)
		return
	}
	for i := b.from; i < b.to; i++ {
		copy(t.points[i*t.d:(i+1)*t.d], codes[int(t.number[i])*t.d:])
	}
}

// divide sets the first node of a branch, and returns the branches below it; a leaf has none.
func (t *tree) divide(codes []float64, b branch) (left, right branch) {
	d, node, from, to := t.d, b.node, b.from, b.to
	t.nodes[node] = treeNode{from: int32(from), to: int32(to), minNumber: t.number[from]}
	low, high := t.boxes[2*d*node:2*d*node+d], t.boxes[2*d*node+d:2*d*node+2*d]
	for c := range low {
		low[c], high[c] = math.Inf(1), math.Inf(-1)
	}
	for _, r := range t.number[from:to] {
		t.nodes[node].minNumber = min(t.nodes[node].minNumber, r)
		for c, v := range codes[int(r)*d : (int(r)+1)*d] {
			low[c], high[c] = min(low[c], v), max(high[c], v)
		}
	}
	if to-from <= leafSize {
		return branch{}, branch{}
	}
	widest := 0
	for c := range low {
		if high[c]-low[c] > high[widest]-low[widest] {
			widest = c
		}
	}
	middle := (from + to) / 2
	quickselect(t.number[from:to], middle-from, func(a, b int32) int {
		return cmp.Or(cmp.Compare(codes[int(a)*d+widest], codes[int(b)*d+widest]), cmp.Compare(a, b))
	})
	left = branch{node + 1, from, middle}
	right = branch{left.node + nodeCount(middle-from), middle, to}
	t.nodes[node].right = int32(right.node)
	return left, right
}

// quickselect moves the k smallest elements to the front.
func quickselect(list []int32, k int, compare func(a, b int32) int) {
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

// knn collects the k nearest points of a search, except one that is skipped.
type knn struct {
	k       int
	skip    int32 // -1: none
	squares []float64
	numbers []int32
}

// find returns the numbers of the k points nearest to q, or of all points if the tree has fewer, the nearest first.
// It also returns the squares of their distances. The lists are valid until the next call.
func (t *tree) find(q []float64, n *knn) (numbers []int32, squares []float64) {
	n.squares, n.numbers = n.squares[:0], n.numbers[:0]
	if len(t.nodes) > 0 && n.k > 0 {
		t.search(0, t.boxSquare(0, q), q, n)
	}
	return n.numbers, n.squares
}

func (t *tree) search(index int, square float64, q []float64, n *knn) {
	node := &t.nodes[index]
	if !n.accepts(square, node.minNumber) {
		return
	}
	d := t.d
	if node.right == 0 {
		for i := int(node.from); i < int(node.to); i++ {
			sum := squareDistance(t.points[i*d:(i+1)*d], q)
			if number := t.number[i]; number != n.skip && n.accepts(sum, number) {
				n.insert(sum, number)
			}
		}
		return
	}
	left, right := index+1, int(node.right)
	a, b := t.boxSquare(left, q), t.boxSquare(right, q)
	if b < a {
		left, right, a, b = right, left, b, a
	}
	t.search(left, a, q, n)
	t.search(right, b, q, n)
}

func squareDistance(a, b []float64) float64 {
	sum := 0.0
	for c, v := range a {
		sum += (v - b[c]) * (v - b[c])
	}
	return sum
}

// boxSquare returns the squared distance of q to a node's box. It never exceeds the squared distance to a point in
// the box, also after rounding: no term exceeds the point's term, and the order of the sum is the same.
func (t *tree) boxSquare(node int, q []float64) float64 {
	d := t.d
	box := t.boxes[2*d*node : 2*d*(node+1)]
	low, high := box[:len(q)], box[len(q):][:len(q)]
	sum := 0.0
	for c, v := range q {
		e := max(low[c]-v, v-high[c], 0)
		sum += e * e
	}
	return sum
}

// accepts reports whether a point at this squared distance is among the nearest so far.
func (n *knn) accepts(square float64, number int32) bool {
	last := len(n.squares) - 1
	if last+1 < n.k {
		return true
	}
	return square < n.squares[last] || square == n.squares[last] && number < n.numbers[last]
}

func (n *knn) insert(square float64, number int32) {
	if len(n.squares) < n.k {
		n.squares, n.numbers = append(n.squares, 0), append(n.numbers, 0)
	}
	i := len(n.squares) - 1
	for ; i > 0 && (square < n.squares[i-1] || square == n.squares[i-1] && number < n.numbers[i-1]); i-- {
		n.squares[i], n.numbers[i] = n.squares[i-1], n.numbers[i-1]
	}
	n.squares[i], n.numbers[i] = square, number
}
