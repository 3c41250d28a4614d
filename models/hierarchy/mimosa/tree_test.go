package mimosa

import (
	"math"
	"reflect"
	"runtime"
	"testing"

	"github.com/unravel-ml/unravel/graph/rng"
)

// A tree of several branches is equal for any number of threads. Its nodes have the order of sequential growth.
func TestTreeThreads(t *testing.T) {
	const n, d = 5*branchSize + 7, 3
	s := rng.New(1, "tree")
	points := make([]float64, n*d)
	for i := range points {
		points[i] = math.Round(20 * s.NormFloat64())
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var want *tree
	for _, threads := range []int{1, 2, 16} {
		runtime.GOMAXPROCS(threads)
		tr := newTree(points, d, upTo(n))
		if want == nil {
			want = tr
		} else if !reflect.DeepEqual(tr, want) {
			t.Errorf("%d threads grow another tree", threads)
		}
	}
	one := &tree{d: d, points: make([]float64, n*d), number: upTo(n), nodes: make([]treeNode, nodeCount(n)),
		boxes: make([]float64, 2*d*nodeCount(n))}
	one.grow(points, branch{0, 0, n})
	if !reflect.DeepEqual(one, want) {
		t.Error("branches of levels are not those of one thread")
	}
	next := 0
	var visit func()
	visit = func() {
		node := want.nodes[next]
		if next++; node.right > 0 {
			visit()
			if next != int(node.right) {
				t.Fatalf("the second child is node %d, want %d", node.right, next)
			}
			visit()
		}
	}
	if visit(); next != len(want.nodes) {
		t.Errorf("%d of %d nodes hang together", next, len(want.nodes))
	}
}
