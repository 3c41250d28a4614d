package report

import (
	"fmt"
	"io"
	"slices"
	"testing"

	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/models/hierarchy"
)

// choose is a categorical dimension.
func choose(options ...hierarchy.Hierarchy) hierarchy.Node { return hierarchy.Node{Options: options} }

func TestHierarchy(t *testing.T) {
	long.NotShort(t)
	var c hierarchy.Node
	var none hierarchy.Hierarchy
	shapes := hierarchy.Hierarchy{c, c,
		choose(hierarchy.Hierarchy{c}, hierarchy.Hierarchy{c}, hierarchy.Hierarchy{c, choose(none, hierarchy.Hierarchy{c})})}
	deep, wide := hierarchy.Hierarchy{c}, hierarchy.Hierarchy{choose(slices.Repeat([]hierarchy.Hierarchy{{c, c}}, 1000)...)}
	for range 40 {
		deep = hierarchy.Hierarchy{c, choose(none, deep)}
	}
	two := hierarchy.Hierarchy{choose(none, shapes), c, choose(hierarchy.Hierarchy{c, c, c, c, c}, shapes)}
	for name, test := range map[string]struct {
		h hierarchy.Hierarchy
		l hierarchy.Labels
	}{
		"shapes": {shapes, hierarchy.Labels{Categorical: []string{"shape", "jet"}, Continuous: []string{"x", "y", "phase", "shine", "rotation", "jet length"},
			Rows: [][]int{{20000, 20000, 20000}, {10000, 10000}}}},
		"unnamed": {shapes, hierarchy.Labels{}},
		"none":    {none, hierarchy.Labels{}},
		"flat":    {slices.Repeat(hierarchy.Hierarchy{c}, 30), hierarchy.Labels{}},
		"deep":    {deep, hierarchy.Labels{}},
		"wide":    {wide, hierarchy.Labels{}},
		"many":    {slices.Repeat(hierarchy.Hierarchy{choose(none, hierarchy.Hierarchy{c})}, 300), hierarchy.Labels{}},
		"two":     {two, hierarchy.Labels{Continuous: []string{"a dimension with a long name", "b"}}},
	} {
		show(t, "hierarchy "+name, func(w io.Writer) error { return Hierarchy(w, "hierarchy of "+name, test.h, test.l) })
	}
}

// Boxes of a column do not overlap, and the numbers of dimensions continue after a summary line.
func TestHierarchyLayout(t *testing.T) {
	var c hierarchy.Node
	tall := slices.Repeat(hierarchy.Hierarchy{c}, 5)
	h := hierarchy.Hierarchy{c, choose(tall, append(slices.Clone(tall), choose(nil)), hierarchy.Hierarchy{choose(tall, tall)}), c}
	m := &treeLayout{}
	root := m.box(h, 0)
	bottom := 0.0
	root.layOut(&bottom)
	last := map[int]float64{}
	var check func(b *treeBox, depth int)
	check = func(b *treeBox, depth int) {
		if end, ok := last[depth]; ok && !(b.top >= end) || !(b.top+b.height <= bottom) {
			t.Errorf("a box at %v begins above %v, or ends below %v", b.top, end, bottom)
		}
		last[depth] = b.top + b.height
		for _, e := range b.edges {
			check(e.box, depth+1)
		}
	}
	check(root, 0)
	var texts []string
	for _, l := range root.lines {
		texts = append(texts, l.text)
	}
	must.Equal(t, fmt.Sprint(texts), "[z0 a0 z21]", "lines")
	if m.categorical != 3 || m.continuous != 22 {
		t.Errorf("%d categorical and %d continuous dimensions", m.categorical, m.continuous)
	}
	long := (&treeLayout{}).box(append(slices.Repeat(hierarchy.Hierarchy{c}, 7), choose(nil), c), 0)
	must.Equal(t, fmt.Sprint(long.lines[0].text, ", ", long.lines[2].text), "z0 … z6, z7", long.lines)
	cut := &treeLayout{lines: maxTreeLines - 5}
	if b := cut.box(h, 0); cut.categorical != 3 || cut.continuous != 22 || b.edges[len(b.edges)-1].box.lines[0].text != "… and 2 more" {
		t.Errorf("what is summed up is not counted: %d categorical and %d continuous dimensions, %+v", cut.categorical, cut.continuous, b.edges)
	}
}
