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

// cylinder has a circle, S^2 and the plane. The known codes have the numbers 0 to 100 in the first column of the plane,
// and 0 to -10 in the second column.
func cylinder() *Codes {
	known := matrix.Matrix{Rows: 101, Cols: 7}
	for i := range 101 {
		v := float64((37 * i) % 101)
		known.Data = append(known.Data, 1, 0, 0, 0, 1, v, -v/10)
	}
	return &Codes{Known: known, Spaces: []models.Space{
		{First: 0, Width: 2, Circle: true, Unit: true}, {First: 2, Width: 3, Sphere: true, Unit: true}, {First: 5, Width: 2}}}
}

// tree has a choice and a dimension at the top. One option of the choice opens a dimension, and another option opens a
// choice of two.
func tree() *Codes {
	h := hierarchy.Hierarchy{{Options: []hierarchy.Hierarchy{{{}}, {{Options: []hierarchy.Hierarchy{{}, {{}}}}}}}, {}}
	rows := [][]float64{ // a0 a1 | z under a0=1, z under a1=2, z at the top
		{1, 0, 0.5, 0, 10}, {1, 0, 1.5, 0, 20}, {1, 0, 2.5, 0, 30}, {2, 1, 0, 0, 40}, {2, 2, 0, 7, 50}, {2, 2, 0, 9, 11},
	}
	return &Codes{Hierarchy: h, Spaces: []models.Space{{Width: 5}}, Known: matrix.Matrix{Rows: 6, Cols: 5, Data: slices.Concat(rows...)}}
}

func near(a, b []float64) bool {
	for i := range a {
		if !(math.Abs(a[i]-b[i]) <= 1e-12) {
			return false
		}
	}
	return len(a) == len(b)
}

func names(c *Codes) string {
	var list []string
	for _, p := range c.Parts() {
		list = append(list, p.Name)
	}
	return strings.Join(list, " ")
}

func TestParts(t *testing.T) {
	twoSpheres := &Codes{Spaces: []models.Space{{Width: 3, Sphere: true}, {First: 3, Width: 3, Sphere: true},
		{First: 6, Width: 4, Unit: true}}}
	for want, c := range map[string]*Codes{
		"circle1 sphere1.x sphere1.y sphere1.z z5 z6": cylinder(),
		"a0 a1 z0 z1 z2": tree(),
		"sphere1.x sphere1.y sphere1.z sphere2.x sphere2.y sphere2.z sphere3.0 sphere3.1 sphere3.2 sphere3.3 spheres.x spheres.y spheres.z": twoSpheres,
	} {
		must.Equal(t, names(c), want, "parts")
	}
	must.ErrorOf(cylinder().Part("circle2"))(t, `no part "circle2"`)
}

// Walk takes every step of every kind of part, and does not change other parts.
func TestWalk(t *testing.T) {
	s := math.Sqrt(0.5)
	base := []float64{0, 1, 0, 0, 1, 3, 4}
	for name, want := range map[string][][]float64{
		"circle1":   {{1, 0, 0, 0, 1, 3, 4}, {0, 1, 0, 0, 1, 3, 4}, {-1, 0, 0, 0, 1, 3, 4}, {0, -1, 0, 0, 1, 3, 4}},
		"sphere1.x": {{0, 1, 0, 0, 1, 3, 4}, {0, 1, 1, 0, 0, 3, 4}, {0, 1, 0, 0, -1, 3, 4}, {0, 1, -1, 0, 0, 3, 4}},
		"sphere1.z": {{0, 1, 0, 0, 1, 3, 4}, {0, 1, 1, 0, 0, 3, 4}, {0, 1, 0, 0, -1, 3, 4}, {0, 1, -1, 0, 0, 3, 4}}, // on the axis: uses the next axis
		"z5":        {{0, 1, 0, 0, 1, 1, 4}, {0, 1, 0, 0, 1, 1 + 98./3, 4}, {0, 1, 0, 0, 1, 1 + 196./3, 4}, {0, 1, 0, 0, 1, 99, 4}},
		"z6":        {{0, 1, 0, 0, 1, 3, -9.9}, {0, 1, 0, 0, 1, 3, -9.9 + 9.8/3}, {0, 1, 0, 0, 1, 3, -9.9 + 19.6/3}, {0, 1, 0, 0, 1, 3, -0.1}},
	} {
		c := cylinder()
		p := must.Get(c.Part(name))(t)
		r, labels := c.Walk(base, p, 4)
		if len(r.Codes) != 4 || len(labels) != 4 || r.Cyclic != p.Round() || p.Turns() != (name == "circle1") {
			t.Errorf("%s: %d codes, %d labels, cyclic %v", name, len(r.Codes), len(labels), r.Cyclic)
		}
		for i, code := range r.Codes {
			if !near(code, want[i]) {
				t.Errorf("%s: step %d is %v, want %v", name, i, code, want[i])
			}
		}
	}
	if !near(base, []float64{0, 1, 0, 0, 1, 3, 4}) {
		t.Errorf("the code itself moved: %v", base)
	}
	two := &Codes{Spaces: []models.Space{{Width: 3, Sphere: true}, {First: 3, Width: 3, Sphere: true}}}
	p, _ := two.Part("spheres.z")
	r, _ := two.Walk([]float64{1, 0, 0, 0, s, s}, p, 4)
	if want := []float64{0, 1, 0, -s, 0, s}; !near(r.Codes[1], want) {
		t.Errorf("a quarter turn about z: %v, want %v", r.Codes[1], want)
	}
	if r, labels := (&Codes{Spaces: []models.Space{{Width: 1}}}).Walk([]float64{9}, Part{Name: "z0", width: 1},
		3); !near(slices.Concat(r.Codes...), []float64{-2, 0, 2}) || labels[0] != "-2" {
		t.Errorf("without known codes %v, %v", r, labels)
	}
}

// Options open and close dimensions. The values come from the code itself, or from the nearest known code with the
// option.
func TestWalkOptions(t *testing.T) {
	c := tree()
	for _, x := range []struct {
		part       string
		base, want []float64 // all steps in order
	}{
		{"a0", []float64{1, 0, 0.7, 0, 12}, []float64{1, 0, 0.7, 0, 12, 2, 2, 0, 9, 12}},
		{"a0", []float64{2, 2, 0, 8, 28}, []float64{1, 0, 2.5, 0, 28, 2, 2, 0, 8, 28}},
		{"a1", []float64{2, 1, 0, 0, 45}, []float64{2, 1, 0, 0, 45, 2, 2, 0, 7, 45}},
		{"z0", []float64{1, 0, 1, 0, 12}, []float64{1, 0, 0.52, 0, 12, 1, 0, 1.5, 0, 12, 1, 0, 2.48, 0, 12}},
		{"z1", []float64{2, 2, 0, 8, 12}, []float64{2, 2, 0, 7.02, 12, 2, 2, 0, 8, 12, 2, 2, 0, 8.98, 12}},
		{"z2", []float64{2, 1, 0, 0, 40}, []float64{2, 1, 0, 0, 10.05, 2, 1, 0, 0, 30, 2, 1, 0, 0, 49.5}}, // the only code with these options: range over all codes
	} {
		p := must.Get(c.Part(x.part))(t)
		r, _ := c.Walk(x.base, p, 3)
		got := slices.Concat(r.Codes...)
		if x.part == "z2" {
			got[9], x.want[9] = 0, 0 // the middle of the range
		}
		if !near(got, x.want) {
			t.Errorf("%s of %v: %v, want %v", x.part, x.base, got, x.want)
		}
	}
	s, _ := c.Traversals(Point{"4", []float64{2, 2, 0, 8, 28}}, 3, 32)
	var labels []string
	for _, r := range s.Rows {
		labels = append(labels, r.Label)
	}
	must.Equal(t, strings.Join(labels, "; "), "a0, 2 options; a1, 2 options; z1 7.02 to 8.98; z2 11.4 to 49.6", "rows")
}

func TestBetween(t *testing.T) {
	s := math.Sqrt(0.5)
	c := cylinder()
	a, b := []float64{1, 0, 0, 0, 1, 0, 2}, []float64{0, -1, 1, 0, 0, 4, 0}
	for name, x := range map[string]struct {
		moves func(models.Space) bool
		half  []float64
	}{
		"all":      {nil, []float64{s, -s, s, 0, s, 2, 1}},
		"straight": {func(s models.Space) bool { return !s.Unit }, []float64{1, 0, 0, 0, 1, 2, 1}},
		"round":    {unit, []float64{s, -s, s, 0, s, 0, 2}},
	} {
		got := c.Between(a, b, 3, x.moves)
		if !near(got[0], a) || !near(got[1], x.half) || x.moves == nil && !near(got[2], b) {
			t.Errorf("%s: %v, want %v half way", name, got, x.half)
		}
	}
	if two := c.Between(a, b, 2, nil); len(two) != 2 || !near(two[0], a) || !near(two[1], b) {
		t.Errorf("two steps: %v", two)
	}
	if one := c.Between(a, b, 1, nil); len(one) != 1 || !near(one[0], a) {
		t.Errorf("one step: %v", one)
	}
	opposite := c.Between([]float64{1, 0, 0, 0, 1, 0, 0}, []float64{-1, 0, 0, 0, -1, 0, 0}, 3, nil)
	if want := []float64{0, 1, 1, 0, 0, 0, 0}; !near(opposite[1], want) || !near(opposite[2], []float64{-1, 0, 0, 0, -1, 0, 0}) {
		t.Errorf("to the opposite point by %v, want %v", opposite, want)
	}
	mixed := tree().Between([]float64{1, 0, 3, 0, 10}, []float64{2, 2, 0, 8, 20}, 5, nil)
	if want := []float64{1, 0, 3, 0, 12.5, 2, 2, 0, 8, 15}; !near(slices.Concat(mixed[1:3]...), want) {
		t.Errorf("between options %v, want %v", mixed[1:3], want)
	}
}

func TestMean(t *testing.T) {
	s := math.Sqrt(0.5)
	got := cylinder().Mean([][]float64{{1, 0, 0, 0, 1, 1, 2}, {0, 1, 0, 0, -1, 3, 6}})
	if want := []float64{s, s, 0, 0, 1, 2, 4}; !near(got, want) { // the second sphere has no mean direction
		t.Errorf("mean %v, want %v", got, want)
	}
	got = tree().Mean([][]float64{{1, 0, 2, 0, 1}, {2, 2, 0, 5, 100}, {1, 0, 4, 0, 3}})
	if want := []float64{1, 0, 3, 0, 2}; !near(got, want) {
		t.Errorf("mean of the most frequent options %v, want %v", got, want)
	}
	one := []float64{2, 1, 0, 0, 7}
	if got := tree().Mean([][]float64{one}); !near(got, one) {
		t.Errorf("mean of one code %v, want %v", got, one)
	}
}

func TestSettle(t *testing.T) {
	m := matrix.Matrix{Rows: 3, Cols: 7, Data: []float64{3, 4, 0, 0, 1, 9, 9, 1, 0, 0, 0, 1, 9, 9, 1, 1e-6, 0, 1, 0, 9, 9}}
	n, err := cylinder().Settle(m)
	if err != nil || n != 1 || !near(m.Row(0), []float64{0.6, 0.8, 0, 0, 1, 9, 9}) || !near(m.Row(1), []float64{1, 0, 0, 0, 1, 9, 9}) {
		t.Errorf("%d projected, %v, %v", n, err, m.Data)
	}
	options := matrix.Matrix{Rows: 2, Cols: 5, Data: []float64{1.0009, -0.0009, 3, 0, 1, 1.9995, 2, 0, 4, 1}}
	n, err = tree().Settle(options)
	if err != nil || n != 0 || !near(options.Data, []float64{1, 0, 3, 0, 1, 2, 2, 0, 4, 1}) {
		t.Errorf("%d projected, %v, %v", n, err, options.Data)
	}
	for want, bad := range map[string]struct {
		of  *Codes
		row []float64
	}{
		"codes of 2 columns; want 7":                         {cylinder(), []float64{1, 2}},
		"row 0, columns 2 to 4 are a point at 0":             {cylinder(), []float64{1, 0, 0, 0, 0, 9, 9}},
		"row 0, column 5 is NaN":                             {cylinder(), []float64{1, 0, 0, 0, 1, math.NaN(), 9}},
		"row 0, column 6 is 1e+39":                           {cylinder(), []float64{1, 0, 0, 0, 1, 2, 1e39}},
		"row 0, column 0 is 1.5; want an option":             {tree(), []float64{1.5, 0, 0, 0, 1}},
		"row 0, column 1 is -1; want an option":              {tree(), []float64{1, -1, 0, 0, 1}},
		"row 0, column 1 is 3; want an option, 1 to 2, or 0": {tree(), []float64{2, 3, 0, 0, 1}},
	} {
		must.ErrorOf(bad.of.Settle(matrix.Matrix{Rows: 1, Cols: len(bad.row), Data: bad.row}))(t, want, bad.row)
	}
}

// The nearest code with an option is near in the columns that both codes use. Of equally near codes it is the first.
func TestNearest(t *testing.T) {
	for last, want := range map[float64][]float64{30.4: {2, 2, 0, 9, 11}, 30.5: {2, 2, 0, 7, 50}, 30.6: {2, 2, 0, 7, 50}} {
		if got := tree().nearest([]float64{2, 1, 0, 0, last}, 1, 1); !near(got, want) {
			t.Errorf("nearest to %v: %v, want %v", last, got, want)
		}
	}
}

// Sheets have a row for each part, point or angle, with codes in order.
func TestSheets(t *testing.T) {
	c := cylinder()
	base := []float64{0, 1, 0, 0, 1, 3, 4}
	s, dropped := c.Traversals(Point{"7", base}, 5, 5)
	if len(s.Rows) != 5 || dropped != 1 || s.Count() != 25 || len(s.Codes()) != 175 || s.Name != "traversals-7" ||
		len(s.Columns) != 5 || s.Columns[4] != "5" {
		t.Errorf("traversals %+v, %d dropped", s, dropped)
	}
	only := &Codes{Spaces: c.Spaces[:1]}
	if s, _ := only.Traversals(Point{"7", []float64{1, 0}}, 16, 4); s.Columns[1] != "22.5" || s.ColumnTitle != "angle, degrees" {
		t.Errorf("a circle alone: columns %v", s.Columns)
	}
	circle, _ := c.Part("circle1")
	far := []float64{0, 1, 0, 0, 1, 7, 8}
	s = c.BetweenObjects(Point{"0", base}, Point{"5", far}, circle, 4, 3)
	if s.Name != "interpolation-0-5" || len(s.Rows) != 4 || s.Rows[1].Label != "90" ||
		!near(s.Rows[2].Codes[1], []float64{-1, 0, 0, 0, 1, 5, 6}) {
		t.Errorf("between objects %+v", s)
	}
	if s = c.BetweenImages([]Point{{"1", base}, {"2", far}}, 3); len(s.Rows) != 3 ||
		s.Rows[1].Label != "1 to 2, R^n alone" || strings.Join(s.Columns, " ") != "0 0.5 1" {
		t.Errorf("between images %+v", s)
	}
	best, ok := c.Liveliest(base)
	next, _ := c.Liveliest(base, best)
	straight := &Codes{Spaces: []models.Space{{Width: 7}}, Known: c.Known}
	if z, _ := straight.Liveliest(base); !ok || best.Name != "circle1" || next.Name != "sphere1.x" || z.Name != "z5" {
		t.Errorf("liveliest parts %v, %v and %v", best, next, z)
	}
	if s := Table("samples", "x", [][]float64{{1}, {2}, {3}}, 2); len(s.Rows) != 2 || s.Rows[1].Label != "2" || s.Moves {
		t.Errorf("table %+v", s)
	}
}
