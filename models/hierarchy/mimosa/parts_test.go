package mimosa

import (
	"math"
	"slices"
	"testing"

	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/models/hierarchy"
)

// Each part lies within one component and has its dimension. Crossing planes split into parts.
func TestParts(t *testing.T) {
	s := rng.New(1, "shapes")
	zero := []float64{0, 0, 0}
	codes := append(cloud(s, 3000, zero, []float64{1, 1, 0}), cloud(s, 3000, zero, []float64{1, 0, 1})...)
	o := quick()
	o.MinMerged = 1000
	progress, timings := Timed(nil)
	r := must.Get(Run(t.Context(), codes, 3, o, progress))(t)
	of := r.PartOf()
	if len(r.Parts) != r.Merging || len(r.Parts) <= len(r.Components) || len(of) != 6000 {
		t.Fatalf("%d parts of %d, %d components, %d labels", len(r.Parts), r.Merging, len(r.Components), len(of))
	}
	for p, part := range r.Parts {
		if part.Parent != -1 || len(part.Points) < o.MinInitial || !slices.IsSorted(part.Points) {
			t.Errorf("part %d: parent %d, %d codes", p, part.Parent, len(part.Points))
		}
		component := r.Labels[part.Points[0]]
		if component >= 0 && r.Components[component].Dim != part.Dim {
			t.Errorf("part %d of dimension %d is in component %d of dimension %d", p, part.Dim, component, r.Components[component].Dim)
		}
		for _, i := range part.Points {
			if of[i] != p || r.Labels[i] != component {
				t.Fatalf("code %d of part %d: part %d, component %d, want %d", i, p, of[i], r.Labels[i], component)
			}
		}
	}
	for i, label := range r.Labels {
		if label >= 0 && of[i] < 0 {
			t.Fatalf("code %d is in component %d and in no part", i, label)
		}
	}
	var stages []string
	for _, timing := range timings() {
		stages = append(stages, timing.Stage)
		if timing.Seconds < 0 {
			t.Errorf("%s took %v s", timing.Stage, timing.Seconds)
		}
	}
	must.EqualSlices(t, stages, []string{"tangent planes", "similar planes", "components", "edges", "merging", "enclosures"}, "stages")
}

// A code with a component takes 1 or 2 numbers of 32 bits and the bit of its option. A code without a component takes
// all its columns. Every code takes one more bit, which says whether it has a component.
func TestDescribe(t *testing.T) {
	r := &Result{Labels: []int{0, 1, 1, -1}, Choices: []int{0, 1, 1, -1},
		Hierarchy: hierarchy.Hierarchy{{}, {Options: []hierarchy.Hierarchy{{}, {{}}}}}}
	d := r.Describe(3)
	if d.Options != 3 || d.Values != 32*5 || d.Outside != 32*3+4 || d.Flat != 32*3*4 || !(math.Abs(d.PerCode()-263./4) <= 1e-12) {
		t.Errorf("%+v: %v bits a code", d, d.PerCode())
	}
}
