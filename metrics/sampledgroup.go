package metrics

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/unravel-ml/unravel/factor"
	"github.com/unravel-ml/unravel/internal/geometry"
)

// sampling holds codes with known group elements that do not form a grid: some are missing or repeated. It replaces
// [torus]. Per object and factor k, the codes are modelled as
//
//	z = B u(g_k) + f(other factors) + noise,
//
// where u are the harmonics of the group element: cosine and sine of w times an angle, or the nine elements of a
// rotation. B is the least-squares fit within rows that share the other factors, so that f is arbitrary. Mean and
// covariance of B u are those over all levels of the factor, also levels without rows; the noise is scaled as if the
// mean over all levels had been subtracted. On a grid this equals the computation of [torus], to rounding; perfect
// codes score 0 wherever the rows determine B.
type sampling struct {
	in      *Input
	moving  []int    // factors that turn
	objects [][]int  // rows of each object
	names   []string // of the objects
	left    int      // number of objects left out, with too few rows
}

// The smallest number of distinct levels of an object that is measured, or all levels of a factor with fewer.
const (
	leastAngles    = 5
	leastRotations = 20
)

func newSampling(in *Input, together bool) (*sampling, error) {
	s := &sampling{in: in}
	var held []int
	for j, f := range in.Factors {
		switch {
		case f.Turns():
			s.moving = append(s.moving, j)
		case !together:
			held = append(held, j)
		}
	}
	if s.moving == nil {
		return nil, MissingCircular
	}
	ids, count := in.group(held, nil)
	groups := make([][]int, count)
	for i, g := range ids {
		groups[g] = append(groups[g], i)
	}
	var reason error
	for _, rows := range groups {
		if err := s.measurable(rows); err != nil {
			reason = err
			s.left++
			continue
		}
		var factors []factor.Factor
		var levels []int
		for _, j := range held {
			factors, levels = append(factors, in.Factors[j]), append(levels, in.Levels[rows[0]*len(in.Factors)+j])
		}
		s.objects, s.names = append(s.objects, rows), append(s.names, factor.Describe(factors, levels))
	}
	if len(s.objects) == 0 {
		if len(groups) > 1 {
			reason = fmt.Errorf("none of the %d objects (combinations of factors that do not turn) has enough rows, %.3g on average: %w; want more rows, or objects: together",
				len(groups), float64(in.Codes.Rows)/float64(len(groups)), reason)
		}
		return nil, reason
	}
	return s, nil
}

// measurable returns an error if the rows of an object do not determine how its codes turn.
func (s *sampling) measurable(rows []int) error {
	k := len(s.in.Factors)
	for _, j := range s.moving {
		f, seen := s.in.Factors[j], map[int]bool{}
		for _, i := range rows {
			seen[s.in.Levels[i*k+j]] = true
		}
		least := min(f.Size, leastAngles)
		if f.Rotations != nil {
			least = min(f.Size, leastRotations)
		}
		if len(seen) < least {
			return fmt.Errorf("factor %q has %d different levels; want %d at least", f.Name, len(seen), least)
		}
		if o := s.orbit(rows, j); o.freedom() <= 0 {
			return fmt.Errorf("factor %q: hardly two rows agree in the other factors; want more rows", f.Name)
		}
	}
	return nil
}

// group numbers the combinations of levels of some factors, in lexicographic order, over some rows (nil: all).
func (in *Input) group(factors, rows []int) (ids []int, count int) {
	k := len(in.Factors)
	n := len(rows)
	if rows == nil {
		n = in.Codes.Rows
	}
	keys, at := make([]string, n), map[string]int{}
	var key []byte
	for i := range keys {
		row := i
		if rows != nil {
			row = rows[i]
		}
		key = key[:0]
		for _, j := range factors {
			key = binary.BigEndian.AppendUint64(key, uint64(in.Levels[row*k+j]))
		}
		keys[i] = string(key)
		at[keys[i]] = 0
	}
	order := make([]string, 0, len(at))
	for key := range at {
		order = append(order, key)
	}
	slices.Sort(order)
	for g, key := range order {
		at[key] = g
	}
	ids = make([]int, n)
	for i, key := range keys {
		ids[i] = at[key]
	}
	return ids, len(order)
}

// orbit holds the rows of one object whose codes show how one factor turns.
type orbit struct {
	factor  factor.Factor
	rows    []int
	levels  []int     // of the factor, by row
	effects [][]int   // groupings of the rows, by all other factors together or by each; group means are subtracted
	counts  []int     // number of groups, by grouping
	weights []float64 // by row, with mean 1
	redrawn bool      // bootstrap weights: subtracted means take the same fraction of the noise once more
}

// orbit groups rows by all other factors and leaves out rows alone in their group. If that leaves fewer than half of
// the rows, it keeps all and groups by each other factor, for a sum of effects.
func (s *sampling) orbit(rows []int, factor int) *orbit {
	k := len(s.in.Factors)
	var others []int
	for j := range k {
		if j != factor {
			others = append(others, j)
		}
	}
	ids, count := s.in.group(others, rows)
	members := make([]int, count)
	for _, g := range ids {
		members[g]++
	}
	var kept []int
	for i, g := range ids {
		if members[g] > 1 {
			kept = append(kept, rows[i])
		}
	}
	o := &orbit{factor: s.in.Factors[factor]}
	if 2*len(kept) >= len(rows) {
		o.rows = kept
		ids, count = s.in.group(others, kept)
		o.effects, o.counts = [][]int{ids}, []int{count}
	} else {
		o.rows = rows
		for _, j := range others {
			ids, count := s.in.group([]int{j}, rows)
			o.effects, o.counts = append(o.effects, ids), append(o.counts, count)
		}
	}
	o.weights = make([]float64, len(o.rows))
	for i, row := range o.rows {
		o.levels = append(o.levels, s.in.Levels[row*k+factor])
		o.weights[i] = 1
	}
	return o
}

// freedom returns the fraction of the noise that remains after subtracting the effects.
func (o *orbit) freedom() float64 {
	taken := 1
	for _, c := range o.counts {
		taken += c - 1
	}
	return 1 - float64(taken)/float64(len(o.rows))
}

// subtract removes the effects of the other factors from rows x of d numbers, by weighted least squares: the group
// means of one grouping, or of several in turn until they vanish.
func (o *orbit) subtract(x []float64, d int) {
	const sweeps = 2000
	for range sweeps {
		most, size := 0.0, 0.0
		for e, ids := range o.effects {
			sums, mass := make([]float64, o.counts[e]*d), make([]float64, o.counts[e])
			for i, g := range ids {
				mass[g] += o.weights[i]
				for j, v := range x[i*d : (i+1)*d] {
					sums[g*d+j] += o.weights[i] * v
				}
			}
			for i, g := range ids {
				for j := range d {
					mean := sums[g*d+j] / mass[g]
					x[i*d+j] -= mean
					most, size = max(most, math.Abs(mean)), max(size, math.Abs(x[i*d+j]))
				}
			}
		}
		if len(o.effects) == 1 || most <= 1e-15*size {
			return
		}
	}
}

// harmonics holds the harmonics of a factor's levels, h numbers each, minus their mean over all levels, and their
// second moments.
type harmonics struct {
	h       int
	values  []float64 // by level
	moments []float64 // h x h
}

// harmonicsOf returns the harmonics of a circle for w turns, or those of rotations.
func harmonicsOf(f factor.Factor, w int) *harmonics {
	u := &harmonics{h: 2}
	if f.Rotations != nil {
		u.h = 9
	}
	for l := range f.Size {
		if f.Rotations != nil {
			u.values = append(u.values, f.Rotations[l][:]...)
			continue
		}
		angle := float64(w) * f.Angle(l)
		if f.Angles == nil { // exact at angles of levels
			angle = f.Angle(w * l % f.Size)
		}
		sin, cos := math.Sincos(angle)
		u.values = append(u.values, cos, sin)
	}
	u.moments = make([]float64, u.h*u.h)
	if f.Angles != nil { // the levels are a sample of the circle: use its moments
		if w != 0 {
			u.moments[0], u.moments[3] = 0.5, 0.5
		} else {
			clear(u.values)
		}
		return u
	}
	n := float64(f.Size)
	mean := make([]float64, u.h)
	for i, v := range u.values {
		mean[i%u.h] += v / n
	}
	for i := range u.values {
		u.values[i] -= mean[i%u.h]
	}
	for l := 0; l < len(u.values); l += u.h {
		for a := range u.h {
			for b := range u.h {
				u.moments[a*u.h+b] += u.values[l+a] * u.values[l+b] / n
			}
		}
	}
	return u
}

// fitted is the model of an orbit: codes minus the effects of other factors = B^T u + noise.
type fitted struct {
	b     []float64 // h x d
	noise []float64 // rows x d, scaled
}

// fit fits the model to codes z, rows x d, without the effects of other factors.
func (o *orbit) fit(z []float64, d int, u *harmonics) (*fitted, error) {
	n, h := len(o.rows), u.h
	x := make([]float64, n*h)
	for i, l := range o.levels {
		copy(x[i*h:], u.values[l*h:(l+1)*h])
	}
	o.subtract(x, h)
	gram, right := mat.NewSymDense(h, nil), make([]float64, h*d)
	for i, w := range o.weights {
		for a, v := range x[i*h : (i+1)*h] {
			for b := a; b < h; b++ {
				gram.SetSym(a, b, gram.At(a, b)+w*v*x[i*h+b])
			}
			for j, c := range z[i*d : (i+1)*d] {
				right[a*d+j] += w * v * c
			}
		}
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(gram, true) {
		return nil, fmt.Errorf("the harmonics' moments have no eigenvalues")
	}
	var vectors mat.Dense
	eigen.VectorsTo(&vectors)
	f := &fitted{b: make([]float64, h*d), noise: slices.Clone(z)}
	for e, value := range eigen.Values(nil) {
		if value <= 1e-10*float64(n) { // the rows do not determine this direction
			continue
		}
		for j := range d {
			sum := 0.0
			for a := range h {
				sum += vectors.At(a, e) * right[a*d+j]
			}
			for a := range h {
				f.b[a*d+j] += vectors.At(a, e) * sum / value
			}
		}
	}
	scale := math.Sqrt((1 - 1/float64(o.factor.Size)) / o.freedom())
	if o.redrawn {
		scale /= math.Sqrt(o.freedom())
	}
	for i := range n {
		for a, v := range x[i*h : (i+1)*h] {
			for j := range d {
				f.noise[i*d+j] -= v * f.b[a*d+j]
			}
		}
	}
	for i := range f.noise {
		f.noise[i] *= scale
	}
	return f, nil
}

// components returns the principal components of B^T u + noise over all levels.
func (o *orbit) components(f *fitted, d int, u *harmonics) (*geometry.Components, error) {
	n := len(o.rows)
	var root mat.EigenSym
	if !root.Factorize(mat.NewSymDense(u.h, u.moments), true) {
		return nil, fmt.Errorf("the harmonics' moments have no eigenvalues")
	}
	var vectors mat.Dense
	root.VectorsTo(&vectors)
	// Points with opposites, so that their mean is 0.
	points := make([]float64, 0, 2*(n+u.h)*d)
	for i, w := range o.weights {
		scale := math.Sqrt(w / 2)
		for _, v := range f.noise[i*d : (i+1)*d] {
			points = append(points, scale*v)
		}
	}
	for e, value := range root.Values(nil) {
		scale := math.Sqrt(max(value, 0) * float64(n) / 2)
		for j := range d {
			sum := 0.0
			for a := range u.h {
				sum += vectors.At(a, e) * f.b[a*d+j]
			}
			points = append(points, scale*sum)
		}
	}
	for _, v := range points[:len(points):len(points)] {
		points = append(points, -v)
	}
	c, err := geometry.PCA(points, d)
	if err != nil {
		return nil, err
	}
	total := float64(len(points)/d - 1)
	for i := range c.Sigma {
		c.Sigma[i] *= math.Sqrt(total / float64(max(n-1, 1)))
	}
	return c, nil
}
