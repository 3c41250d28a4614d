package metrics

import (
	"fmt"
	"slices"

	"github.com/unravel-ml/unravel/datasets/factor"
)

// centred writes to z the codes of an object minus their mean over the n levels of circle k (Tonnaer et al. 2022,
// equation 6, step 1 of [DLSBD]). g_-k are the levels of all other factors:
//
//	z(g_k, g_-k) - 1/n sum_h z(h, g_-k)
func (t *torus) centred(codes Matrix, object, k int, z []float64) {
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

// torus is a regular grid of codes: for each object every combination of the levels of the factors that turn, the last
// fastest.
type torus struct {
	factors      []factor.Factor
	k            int   // number of factors
	levels       []int // k per code
	moving, held []int // factors that turn, others

	circles     []factor.Factor // the moving factors
	objects     int
	objectNames []string
	cells       int   // codes of one object
	order       []int // code of object o, cell c: order[o*cells+c]
}

// validGroup checks the angles or rotations of a factor's levels.
func validGroup(f factor.Factor) error {
	if f.Angles != nil && (len(f.Angles) != f.Size || f.Kind != factor.Circular) {
		return fmt.Errorf("factor %q, %s with %d levels, has %d angles; want one for each level of a circular factor", f.Name, f.Kind, f.Size, len(f.Angles))
	}
	if f.Rotations == nil {
		return nil
	}
	if len(f.Rotations) != f.Size || f.Kind != factor.Categorical {
		return fmt.Errorf("factor %q, %s with %d levels, has %d rotations; want one for each level of a categorical factor", f.Name, f.Kind, f.Size, len(f.Rotations))
	}
	for l, g := range f.Rotations {
		if !factor.IsRotation(&g) {
			return fmt.Errorf("factor %q: level %d has the matrix %v; want a rotation, with orthonormal rows and determinant 1", f.Name, l, g)
		}
	}
	return nil
}

// arrange sorts codes in any order into a grid. Factors of rotations turn if rotations is set; otherwise they
// distinguish objects.
func arrange(in *Input, rotations bool) (*torus, error) {
	t := &torus{cells: 1, k: len(in.Factors), levels: in.Levels, factors: in.Factors}
	if err := t.sortFactors(in.Codes.Rows, rotations); err != nil {
		return nil, err
	}
	t.order = make([]int, in.Codes.Rows)
	for i := range t.order {
		t.order[i] = i
	}
	slices.SortStableFunc(t.order, func(a, b int) int {
		if c := t.compare(t.held, a, b); c != 0 {
			return c
		}
		return t.compare(t.moving, a, b)
	})
	if err := t.checkGrid(); err != nil {
		return nil, err
	}
	t.objects = len(t.order) / t.cells
	for o := range t.objects {
		t.objectNames = append(t.objectNames, t.objectName(t.order[o*t.cells]))
	}
	return t, nil
}

// sortFactors separates the factors that turn from the others, and counts the codes of an object.
func (t *torus) sortFactors(n int, rotations bool) error {
	for j, f := range t.factors {
		if f.Kind != factor.Circular && !(rotations && f.Rotations != nil) {
			t.held = append(t.held, j)
			continue
		}
		if f.Angles != nil {
			return fmt.Errorf("the angles of circular factor %q are not a whole turn in equal steps", f.Name)
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
		return MissingCircular
	}
	return nil
}

// compare orders two codes by some of their factors.
func (t *torus) compare(factors []int, a, b int) int {
	for _, j := range factors {
		if d := t.levels[a*t.k+j] - t.levels[b*t.k+j]; d != 0 {
			return d
		}
	}
	return 0
}

// checkGrid returns an error for the first repeated or missing code in the sorted order.
func (t *torus) checkGrid() error {
	for i := 1; i < len(t.order); i++ {
		if a, b := t.order[i-1], t.order[i]; t.compare(t.held, a, b) == 0 && t.compare(t.moving, a, b) == 0 {
			return fmt.Errorf("codes %d and %d both have %s; want every combination once", a, b, factor.Describe(t.factors, t.levels[a*t.k:(a+1)*t.k]))
		}
	}
	grid, at := factor.Grid(t.circles), make([]int, len(t.circles))
	for i, row := range t.order {
		for c, j := range t.moving {
			at[c] = t.levels[row*t.k+j]
		}
		object := t.order[i-i%t.cells]
		if t.compare(t.held, object, row) != 0 || grid.Index(at) != i%t.cells {
			return t.missing(i%t.cells, object)
		}
	}
	if n := len(t.order); n%t.cells != 0 {
		return t.missing(n%t.cells, t.order[n-n%t.cells])
	}
	return nil
}

// missing returns the error for a missing cell of an object; it also takes one of the object's codes.
func (t *torus) missing(cell, object int) error {
	want := slices.Clone(t.levels[object*t.k : (object+1)*t.k])
	for c := len(t.moving) - 1; c >= 0; c-- {
		want[t.moving[c]] = cell % t.circles[c].Size
		cell /= t.circles[c].Size
	}
	return fmt.Errorf("there is no code for %s; want every combination of the circular factors' levels", factor.Describe(t.factors, want))
}

// objectName describes the object of a row by the factors that do not turn.
func (t *torus) objectName(row int) string {
	var factors []factor.Factor
	var levels []int
	for _, j := range t.held {
		factors, levels = append(factors, t.factors[j]), append(levels, t.levels[row*t.k+j])
	}
	return factor.Describe(factors, levels)
}

// uniform reports whether the rotations of the grid have the moments of all rotations.
func (t *torus) uniform() bool {
	return !slices.ContainsFunc(t.circles, func(f factor.Factor) bool { return f.Rotations != nil && !uniform(f.Rotations) })
}

// inner returns the stride, in cells, of the levels of circle k.
func (t *torus) inner(k int) int { return factor.Grid(t.circles[k+1:]).Len() }
