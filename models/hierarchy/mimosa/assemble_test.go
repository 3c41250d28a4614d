package mimosa

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
)

// The parent is the nearest enclosed component that is not an ancestor of another enclosed component.
func TestLink(t *testing.T) {
	inf := math.Inf(1)
	dims := []int{1, 1, 2, 2, 3, 3}
	components := make([]Component, len(dims))
	for i, d := range dims {
		components[i] = Component{Dim: d, Parent: -1}
	}
	linkParents(components, [][]float64{
		{inf, inf, inf, inf, inf, inf},
		{inf, inf, inf, inf, inf, inf},
		{2, 1, inf, inf, inf, inf},   // encloses both lines; the second line is nearer
		{10, 11, inf, inf, inf, inf}, // encloses the first line just barely
		{0.1, 1, 9, 20, inf, inf},    // the first line is near, but its plane is far
		{inf, 1, 9, 8, inf, inf},     // encloses two planes, and the second is nearer; the line belongs to the first plane
	}, 10)
	for i, want := range []int{-1, -1, 1, 0, 0, 3} {
		must.Equal(t, components[i].Parent, want, "component", i, "encloses")
	}
	if components[3].Lengths != 10 || components[5].Lengths != 8 || components[0].Lengths != 0 {
		t.Errorf("%+v", components)
	}
}

func TestBuild(t *testing.T) {
	r := &Result{Labels: []int{0, 1, 2, 3, 4, -1}, Components: []Component{
		{Dim: 1, Parent: -1}, {Dim: 2, Parent: -1}, {Dim: 2, Parent: 0}, {Dim: 4, Parent: 0}, {Dim: 5, Parent: 3},
	}}
	buildHierarchy(r)
	want := parse(t, `[`+cat(
		`[`+c+`,`+cat(`[]`, `[`+c+`]`, `[`+c+`,`+c+`,`+c+`,`+cat(`[]`, `[`+c+`]`)+`]`)+`]`,
		`[`+c+`,`+c+`]`)+`]`)
	if !r.Hierarchy.Equal(want) {
		t.Errorf("%v, want\n%v", r.Hierarchy, want)
	}
	must.EqualSlices(t, r.Choices, []int{0, 0, -1, 1, -1, -1, 0, 1, -1, 0, 2, 0, 0, 2, 1, -1, -1, -1}, "choices")
	checkChoices(t, r)
}

// Parts merge, transitively, if the mean of both overlaps of their edges is large enough.
func TestMerge(t *testing.T) {
	const x, y = 0, 1 // directions of planes
	type edge struct {
		at        float64
		direction int
	}
	for _, test := range []struct {
		name  string
		parts [][]edge // all their codes are edge codes
		want  [][]int32
	}{
		{"one direction", [][]edge{{{0, x}}, {{1, y}, {5, y}}}, [][]int32{{0}, {1, 2}}},
		{"1/4 and 1/2", [][]edge{{{0, x}, {1, y}, {2, y}, {3, y}}, {{0, x}, {3, x}}}, [][]int32{{0, 1, 2, 3, 4, 5}}},
		{"1/4 and 1/3", [][]edge{{{0, x}, {1, y}, {2, y}, {3, y}}, {{0, x}, {3, x}, {4, x}}}, [][]int32{{0, 1, 2, 3}, {4, 5, 6}}},
		{"a chain, its ends in front", [][]edge{{{0, x}}, {{100, x}}, {{0.1, y}, {0.2, x}, {0.3, y}, {9, x}}, {{0.4, x}, {60, y}}},
			[][]int32{{0, 1, 2, 3, 4, 5, 6, 7}}},
	} {
		r := &run{progress: func(string, int, int) {}, o: Defaults(), d: 2}
		var parts [][]int32
		for _, list := range test.parts {
			var part []int32
			for _, e := range list {
				part = append(part, int32(r.n))
				r.n++
				r.codes, r.dim = append(r.codes, e.at, 0), append(r.dim, 1)
				axes := [4]float64{0, 0, 0, 0}
				axes[e.direction] = 1
				r.axes = append(r.axes, axes[:]...)
			}
			parts = append(parts, part)
		}
		got, err := r.merge(context.Background(), parts, parts)
		if err != nil || !slices.EqualFunc(got, test.want, slices.Equal) {
			t.Errorf("%s: %v, %v, want %v", test.name, got, err, test.want)
		}
	}
}

// Distances of repeated codes may be 0/0, which counts as near, or more than 0, which counts as far.
func TestEnclosuresOfRepeatedCodes(t *testing.T) {
	r := &run{progress: func(string, int, int) {}, d: 1, n: 10, codes: []float64{0, 5, 0, 0, 5, 5, 1, 1, 2, 6}}
	groups := [][]int32{{0, 1}, {2, 3, 4, 5}, {6, 7}, {8, 9}}
	result := &Result{Components: []Component{{Dim: 1}, {Dim: 2}, {Dim: 2}, {Dim: 3}}, Labels: []int{0, 0, 1, 1, 1, 1, 2, 2, 3, 3}}
	got := must.Get(r.enclosures(context.Background(), result, groups))(t)
	inf := math.Inf(1)
	want := [][]float64{{inf, inf, inf, inf}, {0, inf, inf, inf}, {inf, inf, inf, inf},
		{(2 + 1) / 2.0 / 4, (2 + 2 + 1 + 1) / 4.0 / 4, 1 / 4.0, inf}}
	if !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("%v, want %v", got, want)
	}
}
