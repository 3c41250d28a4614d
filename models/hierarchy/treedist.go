package hierarchy

import "slices"

// tree is an ordered labelled tree, with its nodes in post-order.
type tree struct {
	labels []int
	first  []int // by node: its first leaf; for a leaf, the leaf itself
	roots  []int // nodes with a left sibling, and the root, ascending
}

// tree flattens a group and its descendants.
func (g *group) tree() *tree {
	t := &tree{}
	t.add(g)
	last := map[int]int{} // by first leaf: the highest node
	for i, f := range t.first {
		last[f] = i
	}
	for _, i := range last {
		t.roots = append(t.roots, i)
	}
	slices.Sort(t.roots)
	return t
}

func (t *tree) add(g *group) (first int) {
	first = -1
	for _, c := range g.children {
		if f := t.add(c); first < 0 {
			first = f
		}
	}
	if first < 0 {
		first = len(t.labels)
	}
	t.labels, t.first = append(t.labels, g.label), append(t.first, first)
	return first
}

// treeDistance returns the minimum number of insertions, deletions and changes of labels that turn tree a into tree b
// (Zhang and Shasha 1989, section 4).
func treeDistance(a, b *tree) int {
	n, m := len(a.labels), len(b.labels)
	between := make([]int32, n*m) // distance of the subtrees of two nodes
	forest := make([]int32, (n+1)*(m+1))
	for _, i := range a.roots {
		for _, j := range b.roots {
			forestDistances(a, b, i, j, between, forest)
		}
	}
	return int(between[n*m-1])
}

// forestDistances sets the distances of all subtrees on the leftmost paths of nodes i and j.
func forestDistances(a, b *tree, i, j int, between, forest []int32) {
	m, low, left := len(b.labels), a.first[i], b.first[j]
	wide := j - left + 2
	for y := range wide {
		forest[y] = int32(y)
	}
	for x := low; x <= i; x++ {
		above, row := forest[(x-low)*wide:], forest[(x-low+1)*wide:]
		row[0] = int32(x - low + 1)
		for y := left; y <= j; y++ {
			at := y - left + 1
			best := min(above[at], row[at-1]) + 1 // delete x, insert y
			if a.first[x] == low && b.first[y] == left {
				change := above[at-1]
				if a.labels[x] != b.labels[y] {
					change++
				}
				best = min(best, change)
				between[x*m+y] = best
			} else {
				before := forest[(a.first[x]-low)*wide+b.first[y]-left]
				best = min(best, before+between[x*m+y])
			}
			row[at] = best
		}
	}
}
