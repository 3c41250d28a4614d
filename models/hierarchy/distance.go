package hierarchy

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Distance returns the H-error of Ross and Doshi-Velez 2021, section 6.2 and appendix A.3, 0 or more: the edit distance
// of the canonical trees of two hierarchies, in insertions, deletions and changes of labels. It does not depend on the
// order of options, nor on whether dimensions common to all options are listed in each option or above them.
//
// The canonical tree has a node for each group of dimensions. The label of a node is the minimum number of continuous
// dimensions of a point in the group, including the enclosing groups. Its children are the options of all categorical
// dimensions in the group, also empty options. Children are sorted by the text of their subtree's labels (ascending,
// separated by commas); ties are broken by the text of the whole subtree.
//
// For n groups each and depth h, it needs memory n^2 and time up to n^2 h^2 (Zhang and Shasha 1989).
func Distance(a, b Hierarchy) int {
	return treeDistance(canonical(a, 0).tree(), canonical(b, 0).tree())
}

// group is a node of a canonical tree.
type group struct {
	label    int
	children []*group
	labels   []int  // labels of the subtree, ascending
	key      string // sorts the options
}

// canonical returns the tree of a group. The enclosing groups have offset continuous dimensions.
func canonical(h Hierarchy, offset int) *group {
	g := &group{label: offset + h.minContinuous()}
	for _, n := range h {
		if !n.Categorical() {
			offset++
		}
	}
	g.labels = []int{g.label}
	for _, n := range h {
		for _, option := range n.Options {
			c := canonical(option, offset)
			g.children = append(g.children, c)
			g.labels = append(g.labels, c.labels...)
		}
	}
	slices.Sort(g.labels)
	slices.SortFunc(g.children, func(a, b *group) int { return strings.Compare(a.key, b.key) })
	g.key = g.sortKey()
	return g
}

// sortKey returns the labels and then, to break ties, the tree.
func (g *group) sortKey() string {
	var labels, subtrees []string
	for _, l := range g.labels {
		labels = append(labels, strconv.Itoa(l))
	}
	for _, c := range g.children {
		_, tree, _ := strings.Cut(c.key, " ")
		subtrees = append(subtrees, tree)
	}
	return fmt.Sprintf("%s %d(%s)", strings.Join(labels, ","), g.label, strings.Join(subtrees, " "))
}

// minContinuous returns the minimum number of continuous dimensions of a point.
func (h Hierarchy) minContinuous() int {
	count := 0
	for _, n := range h {
		if !n.Categorical() {
			count++
			continue
		}
		minimum := -1
		for _, option := range n.Options {
			if c := option.minContinuous(); minimum < 0 || c < minimum {
				minimum = c
			}
		}
		count += max(minimum, 0)
	}
	return count
}

// tree is an ordered labelled tree, with its nodes in post-order.
type tree struct {
	labels    []int
	firstLeaf []int // by node: its first leaf; for a leaf, the leaf itself
	roots     []int // nodes with a left sibling, and the root, ascending
}

// tree flattens a group and its descendants.
func (g *group) tree() *tree {
	t := &tree{}
	t.add(g)
	highest := map[int]int{} // by first leaf: the highest node
	for i, f := range t.firstLeaf {
		highest[f] = i
	}
	t.roots = slices.Sorted(maps.Values(highest))
	return t
}

func (t *tree) add(g *group) (firstLeaf int) {
	firstLeaf = -1
	for _, c := range g.children {
		if f := t.add(c); firstLeaf < 0 {
			firstLeaf = f
		}
	}
	if firstLeaf < 0 {
		firstLeaf = len(t.labels)
	}
	t.labels, t.firstLeaf = append(t.labels, g.label), append(t.firstLeaf, firstLeaf)
	return firstLeaf
}

// treeDistance returns the minimum number of insertions, deletions and changes of labels that turn tree a into tree b
// (Zhang and Shasha 1989, section 4).
func treeDistance(a, b *tree) int {
	n, m := len(a.labels), len(b.labels)
	subtreeDistance := make([]int32, n*m) // distance of the subtrees of two nodes
	forest := make([]int32, (n+1)*(m+1))
	for _, i := range a.roots {
		for _, j := range b.roots {
			forestDistances(a, b, i, j, subtreeDistance, forest)
		}
	}
	return int(subtreeDistance[n*m-1])
}

// forestDistances sets the distances of all subtrees on the leftmost paths of nodes i and j.
func forestDistances(a, b *tree, i, j int, subtreeDistance, forest []int32) {
	m, firstA, firstB := len(b.labels), a.firstLeaf[i], b.firstLeaf[j]
	width := j - firstB + 2
	for y := range width {
		forest[y] = int32(y)
	}
	for x := firstA; x <= i; x++ {
		above, row := forest[(x-firstA)*width:], forest[(x-firstA+1)*width:]
		row[0] = int32(x - firstA + 1)
		for y := firstB; y <= j; y++ {
			column := y - firstB + 1
			best := min(above[column], row[column-1]) + 1 // delete x, insert y
			if a.firstLeaf[x] == firstA && b.firstLeaf[y] == firstB {
				change := above[column-1]
				if a.labels[x] != b.labels[y] {
					change++
				}
				best = min(best, change)
				subtreeDistance[x*m+y] = best
			} else {
				prefix := forest[(a.firstLeaf[x]-firstA)*width+b.firstLeaf[y]-firstB]
				best = min(best, prefix+subtreeDistance[x*m+y])
			}
			row[column] = best
		}
	}
}
