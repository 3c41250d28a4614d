package hierarchy

import (
	"fmt"
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
	g := &group{label: offset + h.leastContinuous()}
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
	g.key = g.text()
	return g
}

// text returns the labels and then, to break ties, the tree.
func (g *group) text() string {
	var labels, below []string
	for _, l := range g.labels {
		labels = append(labels, strconv.Itoa(l))
	}
	for _, c := range g.children {
		_, tree, _ := strings.Cut(c.key, " ")
		below = append(below, tree)
	}
	return fmt.Sprintf("%s %d(%s)", strings.Join(labels, ","), g.label, strings.Join(below, " "))
}

// leastContinuous returns the minimum number of continuous dimensions of a point.
func (h Hierarchy) leastContinuous() int {
	count := 0
	for _, n := range h {
		if !n.Categorical() {
			count++
			continue
		}
		least := -1
		for _, option := range n.Options {
			if c := option.leastContinuous(); least < 0 || c < least {
				least = c
			}
		}
		count += max(least, 0)
	}
	return count
}
