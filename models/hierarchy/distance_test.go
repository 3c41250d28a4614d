package hierarchy

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
)

// options returns a categorical dimension.
func options(groups ...Hierarchy) Node { return Node{Options: groups} }

var (
	c    Node // a continuous dimension
	none = Hierarchy{}
)

// randomTree returns a tree of n nodes with few labels.
func randomTree(r *rand.Rand, nodes int) *group {
	g := &group{label: r.IntN(3)}
	for nodes--; nodes > 0; {
		n := 1 + r.IntN(nodes)
		g.children = append(g.children, randomTree(r, n))
		nodes -= n
	}
	return g
}

// slowDistance returns the distance of two forests by definition. It deletes or inserts the last root of either forest,
// or changes one last root into the other.
func slowDistance(a, b []*group, known map[string]int) int {
	switch {
	case len(a) == 0 && len(b) == 0:
		return 0
	case len(a) == 0:
		last := b[len(b)-1]
		return 1 + slowDistance(a, without(b, last), known)
	case len(b) == 0:
		last := a[len(a)-1]
		return 1 + slowDistance(without(a, last), b, known)
	}
	key := forestText(a) + "|" + forestText(b)
	if d, ok := known[key]; ok {
		return d
	}
	x, y := a[len(a)-1], b[len(b)-1]
	change := 0
	if x.label != y.label {
		change = 1
	}
	d := min(
		1+slowDistance(without(a, x), b, known),
		1+slowDistance(a, without(b, y), known),
		change+slowDistance(x.children, y.children, known)+slowDistance(a[:len(a)-1], b[:len(b)-1], known),
	)
	known[key] = d
	return d
}

// without replaces the last root by its children.
func without(forest []*group, last *group) []*group {
	return append(slices.Clone(forest[:len(forest)-1]), last.children...)
}

func forestText(forest []*group) string {
	text := ""
	for _, g := range forest {
		text += fmt.Sprintf("%d(%s)", g.label, forestText(g.children))
	}
	return text
}

func TestTreeDistance(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	largest := 0
	for range 400 {
		a, b := randomTree(r, 1+r.IntN(11)), randomTree(r, 1+r.IntN(11))
		want := slowDistance([]*group{a}, []*group{b}, map[string]int{})
		largest = max(largest, want)
		if got := treeDistance(a.tree(), b.tree()); got != want {
			t.Fatalf("%s to %s: %d, want %d", forestText([]*group{a}), forestText([]*group{b}), got, want)
		}
		if got := treeDistance(b.tree(), a.tree()); got != want {
			t.Fatalf("%s from %s: %d, want %d", forestText([]*group{a}), forestText([]*group{b}), got, want)
		}
	}
	if largest < 8 {
		t.Errorf("the largest distance is %d", largest)
	}
}

// The example of Zhang and Shasha 1989, figure 4: f(d(a c(b)) e) and f(c(d(a b)) e).
func TestTreeDistanceExample(t *testing.T) {
	node := func(label rune, children ...*group) *group { return &group{label: int(label), children: children} }
	a := node('f', node('d', node('a'), node('c', node('b'))), node('e'))
	b := node('f', node('c', node('d', node('a'), node('b'))), node('e'))
	must.Equal(t, treeDistance(a.tree(), b.tree()), 2, "distance")
}

// randomHierarchy returns a hierarchy of at most the given number of dimensions.
func randomHierarchy(r *rand.Rand, dimensions, depth int) Hierarchy {
	h := Hierarchy{}
	for range r.IntN(dimensions + 1) {
		if depth == 0 || r.IntN(3) > 0 {
			h = append(h, c)
			continue
		}
		var n Node
		for range 1 + r.IntN(3) {
			n.Options = append(n.Options, randomHierarchy(r, dimensions-1, depth-1))
		}
		h = append(h, n)
	}
	return h
}

// shuffled permutes the options of every categorical dimension and the dimensions of every group.
func shuffled(r *rand.Rand, h Hierarchy) Hierarchy {
	other := slices.Clone(h)
	for i, n := range h {
		if !n.Categorical() {
			continue
		}
		list := make([]Hierarchy, len(n.Options))
		for o, at := range r.Perm(len(n.Options)) {
			list[at] = shuffled(r, n.Options[o])
		}
		other[i] = options(list...)
	}
	r.Shuffle(len(other), func(i, j int) { other[i], other[j] = other[j], other[i] })
	return other
}

func TestDistanceIsMetric(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		a, b, d := randomHierarchy(r, 4, 3), randomHierarchy(r, 4, 3), randomHierarchy(r, 4, 3)
		ab, bd, ad := Distance(a, b), Distance(b, d), Distance(a, d)
		if ab != Distance(b, a) || ad > ab+bd || Distance(a, a) != 0 {
			t.Fatalf("distances %d, %d and %d of\n%v\n%v\n%v", ab, bd, ad, a, b, d)
		}
		if got := Distance(a, shuffled(r, a)); got != 0 {
			t.Fatalf("in another order, distance %d of\n%v", got, a)
		}
		if got := Distance(shuffled(r, a), shuffled(r, b)); got != ab {
			t.Fatalf("in another order, distance %d instead of %d of\n%v\n%v", got, ab, a, b)
		}
	}
}

// Dimensions may be listed in all options or above them.
func TestDistanceMerges(t *testing.T) {
	up := Hierarchy{c, c, options(none, Hierarchy{c})}
	down := Hierarchy{options(Hierarchy{c, c}, Hierarchy{c, c, c})}
	must.Equal(t, Distance(up, down), 0, "distance")
	// two options have the same labels below them, but different trees
	high, low := Hierarchy{c, options(Hierarchy{options(none, Hierarchy{c})}, Hierarchy{c})},
		Hierarchy{c, options(none, none, Hierarchy{c}, Hierarchy{c})}
	if a, b := canonical(high, 0), canonical(low, 0); !slices.Equal(a.labels, b.labels) || a.label != b.label {
		t.Fatalf("labels %v and %v", a.labels, b.labels)
	}
	must.Equal(t, Distance(Hierarchy{options(high, low)}, Hierarchy{options(low, high)}), 0, "distance")
	for _, test := range []struct {
		a, b Hierarchy
		want int
	}{
		{none, none, 0},
		{nil, none, 0},
		{none, Hierarchy{c}, 1},
		{Hierarchy{c}, Hierarchy{c, c, c}, 1},
		{Hierarchy{c}, Hierarchy{c, options(none, none)}, 2},
		{Hierarchy{options(none)}, Hierarchy{options(none), options(none)}, 1},
		{Hierarchy{options(Hierarchy{c, c}, none), c}, Hierarchy{options(none), c}, 1},
	} {
		must.Equal(t, Distance(test.a, test.b), test.want, "distance", test.a, test.b)
	}
}

func TestCanonical(t *testing.T) {
	h := Hierarchy{c, options(Hierarchy{c, c}, Hierarchy{c, options(none, Hierarchy{c})}), options(none, Hierarchy{c}), c}
	must.Equal(t, forestText([]*group{canonical(h, 0)}), "3(2()3()3(3()4())4())", "canonical tree")
	// labels are compared as text: 10 comes before 9
	tens := Hierarchy{options(slices.Repeat(Hierarchy{c}, 9), slices.Repeat(Hierarchy{c}, 10))}
	must.Equal(t, forestText([]*group{canonical(tens, 0)}), "9(10()9())", "canonical tree")
}

func BenchmarkDistance(b *testing.B) {
	h := Hierarchy{c}
	for range 7 { // 255 groups
		h = Hierarchy{c, options(h, append(Hierarchy{c}, h...))}
	}
	other := Hierarchy{c, options(h, none)}
	for b.Loop() {
		Distance(h, other)
	}
}
