package lsbd

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/datasets/factor/rotation"
	"github.com/unravel-ml/unravel/internal/geometry"
	"github.com/unravel-ml/unravel/internal/numeric"
	"github.com/unravel-ml/unravel/metrics/matrix"
)

// irreducible is an irreducible representation of a factor's group: rotation by w times an angle, or the action of
// rotations on the 2 l + 1 spherical harmonics of degree l.
type irreducible struct {
	name      string
	dims      int
	harmonics []func(level int) float64 // with mean square 1
	element   []int                     // dims x dims: an element is the harmonic with this number, over sqrt(dims)
	sign      []float64                 // sign of each element; nil: 1
}

// irreducibles returns the representations that may be summed: up to omega turns, or degrees 1 and 2.
func irreducibles(f factor.Factor, omega int) (all []irreducible) {
	if f.Rotations != nil {
		vector, second := irreducible{name: "degree 1", dims: 3}, irreducible{name: "degree 2", dims: 5}
		for e := range 9 {
			vector.harmonics = append(vector.harmonics, func(level int) float64 { return math.Sqrt(3) * f.Rotations[level][e] })
			vector.element = append(vector.element, e)
		}
		turned := make([][25]float64, f.Size)
		for l, g := range f.Rotations {
			turned[l] = secondDegree(&g)
		}
		for e := range 25 {
			second.harmonics = append(second.harmonics, func(level int) float64 { return math.Sqrt(5) * turned[level][e] })
			second.element = append(second.element, e)
		}
		return []irreducible{vector, second}
	}
	for w := 1; w <= omega && (f.Angles != nil || 2*w < f.Size); w++ {
		turn := func(level int) float64 { return float64(w) * f.Angle(level) }
		all = append(all, irreducible{name: fmt.Sprintf("omega %d", w), dims: 2, harmonics: []func(int) float64{
			func(level int) float64 { return math.Sqrt2 * math.Cos(turn(level)) },
			func(level int) float64 { return math.Sqrt2 * math.Sin(turn(level)) },
		}, element: []int{0, 1, 1, 0}, sign: []float64{1, -1, 1, 1}})
	}
	return all
}

// traceless is an orthonormal basis of the symmetric 3 x 3 matrices with trace 0.
var traceless = [5][9]float64{
	{0, math.Sqrt2 / 2, 0, math.Sqrt2 / 2, 0, 0, 0, 0, 0}, {0, 0, math.Sqrt2 / 2, 0, 0, 0, math.Sqrt2 / 2, 0, 0},
	{0, 0, 0, 0, 0, math.Sqrt2 / 2, 0, math.Sqrt2 / 2, 0}, {math.Sqrt2 / 2, 0, 0, 0, -math.Sqrt2 / 2, 0, 0, 0, 0},
	{1 / math.Sqrt(6), 0, 0, 0, 1 / math.Sqrt(6), 0, 0, 0, -2 / math.Sqrt(6)},
}

// secondDegree returns the representation of degree 2 of a rotation g: the matrix of X -> g X g^T on symmetric matrices
// with trace 0.
func secondDegree(g *[9]float64) (d [25]float64) {
	back := rotation.Inverse(g)
	for b := range traceless {
		part := rotation.Product(g, &traceless[b])
		turned := rotation.Product(&part, &back)
		for a := range traceless {
			d[5*a+b] = numeric.Dot(traceless[a][:], turned[:])
		}
	}
	return d
}

// sumOfRepresentations is D_k of an orbit's codes, rotated back by the sum of representations that leaves the smallest
// value. The sum acts on all principal components that the factor changes significantly. It returns the
// representations. It returns false if there are no more components than one representation has, or if the rows do not
// determine the fit.
//
// The search is greedy. It starts with the representation that explains most of the whitened codes, in an orthonormal
// frame found as in [geometry.FollowRotations]. It continues with the remaining components.
func (o *orbit) sumOfRepresentations(z []float64, d, omega int) (value float64, names []string, found bool) {
	all := irreducibles(o.factor, omega)
	if len(all) == 0 {
		return 0, nil, false
	}
	u := stacked(all, o.factor.Size)
	n := len(o.rows)
	if float64(n)*o.freedom() < 3*float64(u.h) {
		return 0, nil, false
	}
	f, err := o.fitAll(z, d, u)
	if err != nil || f == nil {
		return 0, nil, false
	}
	dims := o.significant(f, d, u.h)
	if dims <= all[0].dims {
		return 0, nil, false
	}
	c, err := o.components(f.b, f.noise, d)
	if err != nil {
		return 0, nil, false
	}
	products, first := make([][]*mat.Dense, len(all)), 0
	for r, rep := range all {
		products[r] = rep.products(f.b[first*d:], d, dims, c)
		first += len(rep.harmonics)
	}
	value = float64(n-1) / float64(n) // the components have n-1 degrees of freedom
	for left := dims; left > 1; {
		best, explained, frame := -1, 1e-3, (*mat.Dense)(nil)
		for r, rep := range all {
			if rep.dims > left {
				continue
			}
			if square, q := framed(products[r], rep.dims); square > explained {
				best, explained, frame = r, square, q
			}
		}
		if best < 0 {
			break
		}
		value -= explained
		left -= all[best].dims
		names = append(names, all[best].name)
		for _, each := range products {
			for _, t := range each {
				var inside, part mat.Dense
				inside.Mul(frame.T(), t)
				part.Mul(frame, &inside)
				t.Sub(t, &part)
			}
		}
	}
	return max(value, 0), names, true
}

// products returns E rho_ij y_k for a representation rho and whitened codes y, as one matrix k x i for each j. b holds
// the coefficients of its harmonics, d each, and c the principal components of the codes.
func (r *irreducible) products(b []float64, d, dims int, c *geometry.Components) (list []*mat.Dense) {
	for j := range r.dims {
		t := mat.NewDense(dims, r.dims, nil)
		for i := range r.dims {
			e := i*r.dims + j
			element := b[r.element[e]*d:][:d]
			for k := range dims {
				along := numeric.Dot(c.Axes[k], element) / (c.Sigma[k] * math.Sqrt(float64(dims*r.dims)))
				if r.sign != nil {
					along *= r.sign[e]
				}
				t.Set(k, i, along)
			}
		}
		list = append(list, t)
	}
	return list
}

func stacked(all []irreducible, levels int) *harmonics {
	u := &harmonics{}
	for _, r := range all {
		u.h += len(r.harmonics)
	}
	for l := range levels {
		for _, r := range all {
			for _, of := range r.harmonics {
				u.values = append(u.values, of(l))
			}
		}
	}
	return u
}

// fitAll is [orbit.fit] for all harmonics at once, or nil if the rows cover too little of the group.
func (o *orbit) fitAll(z []float64, d int, u *harmonics) (*orbitFit, error) {
	const least = 0.1
	m, err := o.moments(z, d, u)
	if err != nil {
		return nil, err
	}
	by := mat.NewDense(u.h, d, nil)
	by.Mul(m.axes.T(), m.codes)
	for e, s := range m.values {
		if s < least {
			return nil, nil
		}
		floats.Scale(1/s, by.RawRowView(e))
	}
	var b mat.Dense
	b.Mul(m.axes, by)
	f := &orbitFit{b: b.RawMatrix().Data, noise: slices.Clone(z)}
	for i := range o.rows {
		for a, v := range m.x[i*u.h : (i+1)*u.h] {
			for j, c := range b.RawRowView(a) {
				f.noise[i*d+j] -= v * c
			}
		}
	}
	floats.Scale(1/math.Sqrt(o.freedom()-float64(u.h)/float64(len(o.rows))), f.noise)
	return f, nil
}

// significant returns the number of directions in which the factor moves codes over twice as far as noise would.
func (o *orbit) significant(f *orbitFit, d, h int) int {
	moved := mat.NewSymDense(d, nil)
	for a := range h {
		moved.SymRankOne(moved, 1, mat.NewVecDense(d, f.b[a*d:(a+1)*d]))
	}
	values, axes, err := eigen(moved)
	if err != nil {
		return 0
	}
	count, n := 0, float64(len(o.rows))
	for e, value := range values {
		axis, noise := mat.Col(nil, e, axes), 0.0
		for i := range o.rows {
			along := numeric.Dot(axis, f.noise[i*d:(i+1)*d])
			noise += along * along / n
		}
		if value > 1e-9*values[d-1] && value > 4*noise*float64(h)/n {
			count++
		}
	}
	return count
}

// framed returns the orthonormal frame Q that maximises |m|^2, m_j = sum_ik Q_ki T_jki, and the maximum.
func framed(products []*mat.Dense, dims int) (square float64, frame *mat.Dense) {
	for start := range dims {
		e := make([]float64, dims)
		e[start] = 1
		last := -1.0
		for range 1000 {
			var sum mat.Dense
			sum.Scale(e[0], products[0])
			for j := 1; j < dims; j++ {
				var part mat.Dense
				part.Scale(e[j], products[j])
				sum.Add(&sum, &part)
			}
			var svd mat.SVD
			if !svd.Factorize(&sum, mat.SVDThin) {
				break
			}
			var u, v, q mat.Dense
			svd.UTo(&u)
			svd.VTo(&v)
			q.Mul(&u, v.T())
			length := 0.0
			for j, t := range products {
				var turned mat.Dense
				turned.Mul(q.T(), t)
				e[j] = mat.Trace(&turned)
				length += e[j] * e[j]
			}
			if length > square {
				square, frame = length, &q
			}
			if length == 0 || length <= last*(1+1e-12) {
				break
			}
			last = length
			floats.Scale(1/math.Sqrt(length), e)
		}
	}
	return square, frame
}

// SumNote returns a note if, for most objects, a sum of representations lowers D_k by more than .02.
func (s *Sample) SumNote(codes matrix.Matrix, k int, values []float64) string {
	const better, most = 0.02, 32
	dims := 2
	if s.elements.Factors[s.moving[k]].Rotations != nil {
		dims = 3
	}
	if codes.Cols <= dims {
		return ""
	}
	codes, _ = codes.ForSquares()
	sum, names, count, tried := 0.0, []string(nil), 0, min(len(s.objects), most)
	for i := range tried {
		if values[i] < better {
			continue
		}
		o := s.orbits[i][k]
		value, of, found := o.sumOfRepresentations(o.centred(codes), codes.Cols, s.settings.Omega)
		if found && value < values[i]-better {
			sum, count = sum+value, count+1
			if len(of) > len(names) {
				names = of
			}
		}
	}
	if 2*count <= tried {
		return ""
	}
	return fmt.Sprintf("codes turn with %s in more columns than D_LSBD measures: for the sum of representations %s, D_LSBD is %.3f%s",
		s.elements.Factors[s.moving[k]].Name, strings.Join(names, " + "), sum/float64(count), counted(count, tried))
}
