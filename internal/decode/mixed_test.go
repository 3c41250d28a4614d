package decode

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/metrics/matrix"
	"github.com/unravel-ml/unravel/models"
	"github.com/unravel-ml/unravel/models/hierarchy"
)

// mix has a choice of three, a circle, two spheres S^2 and a line.
func mix() *Codes {
	h := hierarchy.Hierarchy{{Options: make([]hierarchy.Hierarchy, 3)}}
	known := matrix.Matrix{Rows: 101, Cols: 10}
	for i := range 101 {
		known.Data = append(known.Data, float64(1+i%2), 1, 0, 0, 0, 1, 1, 0, 0, float64(i))
	}
	return &Codes{Hierarchy: append(h, make(hierarchy.Hierarchy, 9)...), Known: known, Spaces: []models.Space{
		{Width: 1, Options: 3}, {First: 1, Width: 2, Circle: true, Unit: true}, {First: 3, Width: 3, Sphere: true, Unit: true},
		{First: 6, Width: 3, Sphere: true, Unit: true}, {First: 9, Width: 1}}}
}

func TestMixedParts(t *testing.T) {
	c := mix()
	must.Equal(t, names(c), "a0 circle1 sphere1.x sphere1.y sphere1.z sphere2.x sphere2.y sphere2.z z8 spheres.x spheres.y spheres.z", "parts")
	base := []float64{1, 0, 1, 0, 0, 1, 1, 0, 0, 5}
	for name, want := range map[string][]float64{ // the second of four steps
		"a0":        {2, 0, 1, 0, 0, 1, 1, 0, 0, 5},
		"circle1":   {1, 0, 1, 0, 0, 1, 1, 0, 0, 5},
		"sphere1.y": {1, 0, 1, 0, 1, 0, 1, 0, 0, 5},
		"sphere2.z": {1, 0, 1, 0, 0, 1, 0, 0, 1, 5},
		"spheres.z": {1, 0, 1, 0, 0, 1, 0, 1, 0, 5},
		"z8":        {1, 0, 1, 0, 0, 1, 1, 0, 0, 1 + 98./3}, // among the codes with the same option: 0, 2, ..., 100
	} {
		p := must.Get(c.Part(name))(t)
		r, _ := c.Walk(base, p, 4)
		if !near(r.Codes[1], want) {
			t.Errorf("%s: %v, want %v", name, r.Codes[1], want)
		}
	}
	none := slices.Clone(base)
	none[0] = 0
	if s, _ := c.Traversals(Point{"1", none}, 4, 32); len(s.Rows) != 11 || s.Rows[10].Label != "spheres.z" {
		t.Errorf("%d rows of a code without an option, want all but that of the choice", len(s.Rows))
	}
	together, _ := c.Part("spheres.x")
	circle, _ := c.Part("circle1")
	if p, _ := c.Liveliest(base, together, circle, Part{kind: option, width: 1}); p.Name != "z8" {
		t.Errorf("what moves beside the choice, the circle and all spheres: %s, want z8", p.Name)
	}
}

// A grid has the values of its columns in each row, although codes with option 1 have other values than codes with
// option 2. A row that does not use the column keeps its code.
func TestMixedGrid(t *testing.T) {
	c := tree()
	top, _ := c.Part("z2")
	a, b := []float64{1, 0, 0.7, 0, 12}, []float64{2, 2, 0, 8, 28}
	s := c.Grid([]Point{{"1", a}, {"2", b}}, top, 3)
	for _, r := range s.Rows {
		for i, code := range r.Codes {
			if got := valueLabel(code[4], 10.04, 49.6, 3); got != s.Columns[i] {
				t.Errorf("row %s: %s in the column %s of %v", r.Label, got, s.Columns[i], s.Columns)
			}
		}
	}
	choice, _ := c.Part("a0")
	for want, code := range map[string][]float64{"z2": a, "a1": b} { // option 1 of a0 closes a1
		if p, ok := c.Liveliest(code, choice); !ok || p.Name != want {
			t.Errorf("beside a0 of %v: %s, want %s", code, p.Name, want)
		}
	}
	opened, _ := c.Part("z0")
	s = c.Grid([]Point{{"1", a}, {"2", b}}, opened, 3)
	if got := s.Rows[1].Codes[2]; !near(got, b) || strings.Join(s.Columns, " ") != "0.52 1.5 2.5" {
		t.Errorf("columns %v, and the code %v of a row that does not use the part; want %v", s.Columns, got, b)
	}
}

func TestMixedPoints(t *testing.T) {
	s := math.Sqrt(0.5)
	c := mix()
	a, b := []float64{1, 1, 0, 0, 0, 1, 1, 0, 0, 0}, []float64{3, 0, 1, 0, 1, 0, 1, 0, 0, 8}
	for label, want := range map[string][]float64{
		"1 to 2":                {3, s, s, 0, s, s, 1, 0, 0, 4},
		"1 to 2, R^n alone":     {1, 1, 0, 0, 0, 1, 1, 0, 0, 4},
		"1 to 2, spheres alone": {1, s, s, 0, s, s, 1, 0, 0, 0},
	} {
		rows := c.BetweenImages([]Point{{"1", a}, {"2", b}}, 3).Rows
		i := slices.IndexFunc(rows, func(r Row) bool { return r.Label == label })
		if i < 0 || !near(rows[i].Codes[1], want) {
			t.Errorf("%q half way: row %d of %v, want %v", label, i, rows, want)
		}
	}
	if got := c.Mean([][]float64{a, b, {1, 0, 1, 0, 1, 0, 1, 0, 0, 2}}); !near(got, []float64{1, s, s, 0, s, s, 1, 0, 0, 1}) {
		t.Errorf("mean %v", got)
	}
	if n, err := c.Settle(matrix.Matrix{Rows: 1, Cols: 10, Data: []float64{2, 3, 4, 0, 0, 1, 1, 0, 0, 7}}); n != 1 || err != nil {
		t.Errorf("%d projected, %v", n, err)
	}
}

// Labels of a narrow range tell its steps apart.
func TestValueLabels(t *testing.T) {
	for want, x := range map[string]struct{ low, high float64 }{
		"-1.1005 -1.0999": {-1.1005, -1.0993}, "-2 0": {-2, 2}, "0 50": {0, 100}, "-1000 0": {-1000, 1000}, "3 3": {3, 3}, "0 5e-07": {0, 1e-6},
	} {
		c := &Codes{Spaces: []models.Space{{Width: 1}}, Known: matrix.Matrix{Rows: 2, Cols: 1, Data: []float64{x.low, x.high}}}
		low, high := c.rangeOf([][]float64{{0}}, 0)
		if !(math.Abs(low-x.low) <= 0.011*(x.high-x.low)) || !(math.Abs(high-x.high) <= 0.011*(x.high-x.low)) {
			t.Errorf("range %v to %v", low, high)
		}
		labels := []string{valueLabel(x.low, x.low, x.high, 3), valueLabel((x.low+x.high)/2, x.low, x.high, 3)}
		must.Equal(t, strings.Join(labels, " "), want, "labels")
	}
}
