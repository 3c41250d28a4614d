package lsbd

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/internal/numeric"
	"github.com/unravel-ml/unravel/metrics/internal/levels"
	"github.com/unravel-ml/unravel/metrics/matrix"
)

// Grid is a regular grid of codes: for each object it has every combination of the levels of the moving factors; the
// last factor varies fastest.
type Grid struct {
	levels.Table
	moving, fixed []int // moving factors, and factors that define objects

	circles     []factor.Factor // the moving factors
	objects     int
	objectNames []string
	cells       int   // number of codes of one object
	order       []int // order[o*cells+c] is the code of object o in cell c
}

// NewGrid sorts codes in any order into a grid; a repeated or missing combination of levels is an error. If rotations
// is true, factors of rotations are moving factors; otherwise they define objects.
func NewGrid(e levels.Table, rotations bool) (*Grid, error) {
	t := &Grid{Table: e, cells: 1}
	if err := t.sortFactors(e.Rows(), rotations); err != nil {
		return nil, err
	}
	t.order = numeric.UpTo(e.Rows())
	slices.SortStableFunc(t.order, func(a, b int) int {
		if c := t.compare(t.fixed, a, b); c != 0 {
			return c
		}
		return t.compare(t.moving, a, b)
	})
	if err := t.checkGrid(); err != nil {
		return nil, err
	}
	t.objects = len(t.order) / t.cells
	for o := range t.objects {
		t.objectNames = append(t.objectNames, objectName(e, t.fixed, t.order[o*t.cells]))
	}
	return t, nil
}

// sortFactors separates moving factors from others, and counts the codes of an object.
func (t *Grid) sortFactors(n int, rotations bool) error {
	for j, f := range t.Factors {
		if f.Kind != factor.Circular && !(rotations && f.Rotations != nil) {
			t.fixed = append(t.fixed, j)
			continue
		}
		if f.Angles != nil {
			return fmt.Errorf("the angles of circular factor %q are not evenly spaced over a full turn", f.Name)
		}
		if f.Size < 2 {
			return fmt.Errorf("circular factor %q has %d level; want at least 2", f.Name, f.Size)
		}
		if t.cells > n/f.Size {
			t.cells = n + 1 // more combinations than codes
		} else {
			t.cells *= f.Size
		}
		t.moving, t.circles = append(t.moving, j), append(t.circles, f)
	}
	if t.moving == nil {
		return errNoTurns
	}
	return nil
}

// compare orders two codes by some of their factors.
func (t *Grid) compare(factors []int, a, b int) int {
	for _, j := range factors {
		if d := t.Row(a)[j] - t.Row(b)[j]; d != 0 {
			return d
		}
	}
	return 0
}

// checkGrid returns an error for the first repeated or missing code in the sorted order.
func (t *Grid) checkGrid() error {
	for i := 1; i < len(t.order); i++ {
		if a, b := t.order[i-1], t.order[i]; t.compare(t.fixed, a, b) == 0 && t.compare(t.moving, a, b) == 0 {
			return fmt.Errorf("codes %d and %d both have %s; want every combination once",
				a, b, factor.Describe(t.Factors, t.Row(a)))
		}
	}
	grid, at := factor.Grid(t.circles), make([]int, len(t.circles))
	for i, row := range t.order {
		for c, j := range t.moving {
			at[c] = t.Row(row)[j]
		}
		object := t.order[i-i%t.cells]
		if t.compare(t.fixed, object, row) != 0 || grid.Index(at) != i%t.cells {
			return t.missing(i%t.cells, object)
		}
	}
	if n := len(t.order); n%t.cells != 0 {
		return t.missing(n%t.cells, t.order[n-n%t.cells])
	}
	return nil
}

// missing returns the error for a missing cell of an object; object is one of the object's codes.
func (t *Grid) missing(cell, object int) error {
	want := slices.Clone(t.Row(object))
	for c := len(t.moving) - 1; c >= 0; c-- {
		want[t.moving[c]] = cell % t.circles[c].Size
		cell /= t.circles[c].Size
	}
	return fmt.Errorf("there is no code for %s; want every combination of the circular factors' levels",
		factor.Describe(t.Factors, want))
}

// objectName names the object of a row by the levels of its fixed factors.
func objectName(t levels.Table, fixed []int, row int) string {
	return factor.Describe(levels.Chosen(t.Factors, fixed), levels.Chosen(t.Row(row), fixed))
}

// uniform reports whether the rotations of the grid have the moments of the whole group.
func (t *Grid) uniform() bool {
	return !slices.ContainsFunc(t.circles,
		func(f factor.Factor) bool { return f.Rotations != nil && !uniform(f.Rotations) })
}

// inner returns the stride of the levels of circle k, in cells.
func (t *Grid) inner(k int) int { return factor.Grid(t.circles[k+1:]).Len() }

// centred writes to z the codes of an object minus their mean over the n levels of circle k (Tonnaer et al. 2022,
// equation 6, step 1 of the metric dlsbd). g_-k are the levels of all other factors:
//
//	z(g_k, g_-k) - 1/n sum_h z(h, g_-k)
func (t *Grid) centred(codes matrix.Matrix, object, k int, z []float64) {
	d, size, inner := codes.Cols, t.circles[k].Size, t.inner(k)
	order := t.order[object*t.cells : (object+1)*t.cells]
	mean := make([]float64, d)
	for start := range t.cells {
		if start/inner%size != 0 {
			continue
		}
		clear(mean)
		for level := range size {
			for j, v := range codes.Row(order[start+level*inner]) {
				mean[j] += v
			}
		}
		for level := range size {
			cell := start + level*inner
			row := z[cell*d : (cell+1)*d]
			for j, v := range codes.Row(order[cell]) {
				row[j] = v - mean[j]/float64(size)
			}
		}
	}
}

// subgroup measures circle k for every object.
func (t *Grid) subgroup(ctx context.Context, codes matrix.Matrix, set Settings, k int) (*Measured, error) {
	codes, _ = codes.ForSquares()
	size := t.circles[k].Size
	s := &Measured{Values: make([]float64, t.objects), Turns: make([]float64, t.objects), cover: 1}
	tolerance := 1e-12 * rootMeanSquare(codes.Data)
	z := make([]float64, t.cells*codes.Cols)
	searches, curves := make([]*search, t.objects), [][]float64(nil)
	for o := range t.objects {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		t.centred(codes, o, k, z)
		if rotations := t.circles[k].Rotations; rotations != nil {
			inner := t.inner(k)
			err := s.rotated(o, z, codes.Cols, tolerance, func(i int) *[9]float64 { return &rotations[i/inner%size] })
			if err != nil {
				return nil, err
			}
			continue
		}
		p, err := set.Form.plane(z, t.cells, codes.Cols, tolerance)
		if err != nil {
			return nil, err
		}
		s.count(p.rank, p.near)
		searches[o] = newSearch(p.points, p.rank, size, t.inner(k), set.Omega)
		curves = append(curves, searches[o].curve)
	}
	if t.circles[k].Rotations != nil {
		return s, nil
	}
	if set.Shared {
		curves = slices.Repeat([][]float64{meanCurve(curves)}, t.objects)
	}
	for o, search := range searches {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		w := bestTurns(curves[o])
		s.Turns[o] = float64(w)
		s.Values[o] = search.dispersion(w)
		switch n := float64(t.cells); {
		case set.Form == Whitened && search.rank == 0:
			s.Values[o] = 1
		case set.Form == Whitened && search.rank == 1 && size > 2: // two levels lie on a line
			s.Values[o] += (n - 1) / (2 * n)
		}
	}
	return s, nil
}

// uniform reports whether rotations have the moments of the whole group: mean 0, and E g_ij g_kl = 1/3 for equal
// elements, otherwise 0. The finite rotation groups of the regular solids do.
func uniform(rotations [][9]float64) bool {
	var mean [9]float64
	var products [81]float64
	n := float64(len(rotations))
	for _, g := range rotations {
		for a, x := range g {
			mean[a] += x / n
			for b, y := range g {
				products[9*a+b] += x * y / n
			}
		}
	}
	for a := range 9 {
		products[10*a] -= 1.0 / 3
	}
	off := func(x float64) bool { return math.Abs(x) > 1e-6 }
	return !slices.ContainsFunc(mean[:], off) && !slices.ContainsFunc(products[:], off)
}
