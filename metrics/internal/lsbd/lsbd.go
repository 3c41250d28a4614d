// Package lsbd measures linear symmetry-based disentanglement: whether codes rotate, in a separate subspace, as a
// circular factor or a rotation in space changes.
//
// [New] arranges codes by the levels of their factors, as a [Grid] or as a [Sample]. [Design.Measure] computes the D_k
// of Tonnaer et al. 2022, equations 6 and 7, or of Pérez Rey et al. 2020. The metrics dlsbd and dlsbd-workshop
// aggregate them.
package lsbd

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/geometry"
	"github.com/unravel-ml/unravel/internal/numeric"
	"github.com/unravel-ml/unravel/metrics/internal/levels"
	"github.com/unravel-ml/unravel/metrics/matrix"
)

var errNoTurns = errors.New("no factor turns; want a circular factor, or a factor of rotations")

// Settings are the settings of D_LSBD.
type Settings struct {
	Form     Form
	Omega    int  // largest number of turns
	Shared   bool // all objects have the same number of turns
	Together bool // all objects of a sample have one plane in common, each with its own centre
}

// Form is a variant of D_LSBD, defined by the scaling of the two principal components.
type Form uint8

// The forms.
const (
	Whitened             Form = iota // variance 1/2; vanishing components count as noise (Tonnaer et al. 2022)
	Standardised                     // standardised columns, times 1/sqrt(2) (Pérez Rey et al. 2020, equation 8)
	StandardisedWhitened             // as before, but with variance 1/2 (equation 18)
)

// Design is a grid or a sample of codes that is ready to measure.
type Design struct {
	Factors []factor.Factor // moving factors
	Names   []string        // names of objects
	Objects []int           // number of rows of each object
	Notes   []string

	// Measure returns D_k of every object for factor k of the design, from some columns of the codes.
	Measure func(ctx context.Context, codes matrix.Matrix, k int) (*Measured, error)
}

// New returns the design of codes: a [Grid] if the codes form one, and otherwise a [Sample]. The standardised forms can
// only measure grids of circular factors. Errors: codes that form neither.
func New(e levels.Table, s Settings) (*Design, error) {
	grid, err := NewGrid(e, s.Form == Whitened)
	if s.Form != Whitened && err != nil {
		return nil, err
	}
	if err == nil && (s.Form != Whitened || grid.uniform() && (!s.Together || grid.objects == 1)) {
		return grid.Design(s), nil
	}
	sample, err := NewSample(e, s)
	if err != nil {
		return nil, err
	}
	return sample.Design(), nil
}

// Design returns the design of the grid.
func (t *Grid) Design(s Settings) *Design {
	return &Design{Factors: t.circles, Names: t.objectNames, Objects: slices.Repeat([]int{t.cells}, t.objects),
		Measure: func(ctx context.Context, codes matrix.Matrix, k int) (*Measured, error) {
			return t.subgroup(ctx, codes, s, k)
		}}
}

// Design returns the design of the sample.
func (s *Sample) Design() *Design {
	d := &Design{Names: s.names, Notes: s.notes(), Measure: s.measure}
	for _, j := range s.moving {
		d.Factors = append(d.Factors, s.elements.Factors[j])
	}
	for _, rows := range s.objects {
		d.Objects = append(d.Objects, len(rows))
	}
	return d
}

// turnedScatter is the D_k of a circular factor for one omega w (Tonnaer et al. 2022, equations 6 and 7, section 4.3).
// Each of n whitened points p_i is rotated back by w times the angle theta_i of its level; the value is the mean
// squared distance of the points from their mean,
//
//	1/n sum_i |q_i - 1/n sum_j q_j|^2,  q_i = R(w theta_i)^T p_i
//
// where angle returns sine and cosine of w theta_i. D_k is the minimum over w. Two passes make it exact near 0.
// [geometry.RotationScatter] is the same for rotations in space.
func turnedScatter(points [][2]float64, angle func(i int) (sin, cos float64)) float64 {
	n := float64(len(points))
	var mx, my, sum float64
	for i, p := range points {
		sin, cos := angle(i)
		x, y := turnBack(p, sin, cos)
		mx, my = mx+x/n, my+y/n
	}
	for i, p := range points {
		sin, cos := angle(i)
		x, y := turnBack(p, sin, cos)
		sum += (x-mx)*(x-mx) + (y-my)*(y-my)
	}
	return sum / n
}

// turnBack is R^T p, where R is the rotation of a plane with the given sine and cosine.
func turnBack(p [2]float64, sin, cos float64) (x, y float64) {
	return cos*p[0] + sin*p[1], cos*p[1] - sin*p[0]
}

// Measured holds D_k and the number of turns for one subgroup, by object.
type Measured struct {
	Values, Turns []float64
	constant      int     // number of objects with codes that do not depend on the factor
	line          int     // number of objects with codes that the factor moves along a line
	Near          int     // number of objects with an arbitrary plane
	cover         float64 // smallest fraction of the group's moments that the rows of an object have
	Remark        string
}

// leastCover is a fraction of a group's moments; below it a note says that the rows cover little of the group.
const leastCover = 0.1

// Notes returns the remarks on a factor.
func (s *Measured) Notes(factor string) (notes []string) {
	if s.constant > 0 {
		notes = append(notes, fmt.Sprintf("codes do not depend on %s%s", factor, counted(s.constant, len(s.Values))))
	}
	if s.line > 0 {
		notes = append(notes, fmt.Sprintf("codes depend on %s only along a line%s", factor, counted(s.line, len(s.Values))))
	}
	if s.Near > 0 {
		notes = append(notes, fmt.Sprintf("the plane of the codes for %s is arbitrary: the next principal component has nearly the same standard deviation%s; name its columns (codes, or --blocks of eval)", factor, counted(s.Near, len(s.Values))))
	}
	if s.cover < leastCover {
		notes = append(notes, fmt.Sprintf("the rows cover only a part of %s; the fit is extrapolated to the whole group, so noise has more effect", factor))
	}
	if s.Remark != "" {
		notes = append(notes, s.Remark)
	}
	return notes
}

// counted formats a count of objects for a note, or returns "" for one object.
func counted(count, objects int) string {
	if objects == 1 {
		return ""
	}
	return fmt.Sprintf(" (%d of %d objects)", count, objects)
}

// Subgroup holds D_k of one factor from some columns.
type Subgroup struct {
	*Measured
	Columns []int // nil: all
}

// Choose measures factor k in the given columns (nil: all). If the plane of all columns is arbitrary, or always, it
// then takes the best of several spaces of the codes, each a list of columns.
func (d *Design) Choose(
	ctx context.Context, codes matrix.Matrix, k int, columns []int, spaces [][]int, always bool,
) (*Subgroup, error) {
	s, err := d.Measure(ctx, codes.Columns(columns), k)
	if err != nil {
		return nil, err
	}
	if columns != nil || len(spaces) < 2 || s.Near == 0 && !always {
		return &Subgroup{s, columns}, nil
	}
	best := &Subgroup{}
	for _, space := range spaces {
		s, err := d.Measure(ctx, codes.Columns(space), k)
		if err != nil {
			return nil, err
		}
		if best.Measured == nil || factor.Mean.Of(s.Values) < factor.Mean.Of(best.Values)-1e-12 {
			best = &Subgroup{s, space}
		}
	}
	best.Remark = fmt.Sprintf("%s is measured in each space of the codes separately; the best has the columns %v",
		d.Factors[k].Name, best.Columns)
	return best, nil
}

// Bootstrap returns the 95 % percentile interval of the aggregate over factors (Bayesian bootstrap, Rubin 1981).
func (s *Sample) Bootstrap(
	ctx context.Context, codes matrix.Matrix, chosen []*Subgroup, a factor.Aggregate, draws int, stream *rng.Stream,
) (low, high float64, err error) {
	values, weights := make([]float64, draws), make([]float64, codes.Rows)
	for b := range values {
		for i := range weights {
			weights[i] = stream.ExpFloat64()
		}
		each := make([]float64, len(chosen))
		for k, c := range chosen {
			if each[k], err = s.weighted(ctx, codes.Columns(c.Columns), k, c.Turns, weights); err != nil {
				return 0, 0, err
			}
		}
		values[b] = a.Of(each)
	}
	slices.Sort(values)
	return numeric.Quantile(values, 0.025), numeric.Quantile(values, 0.975), nil
}

// projection holds points on two principal components.
type projection struct {
	points [][2]float64
	rank   int  // number of components, at most 2, that are not 0
	near   bool // the second and the third component have nearly the same standard deviation, so the plane is arbitrary
}

// nearly is a ratio of standard deviations; if consecutive components have a smaller ratio, their order is arbitrary.
const nearly = 1.1

// nearAfter reports whether the standard deviations k and k+1 nearly agree.
func nearAfter(sigma []float64, k int, tolerance float64) bool {
	return len(sigma) > k && sigma[k] > tolerance && sigma[k-1] < nearly*sigma[k]
}

// plane projects n points z of d dimensions to their first two principal components and scales these; it may change z.
// Whitened components have a variance of 1/2, with n-1 degrees of freedom. The standardised forms first divide the
// columns by their standard deviation, n degrees of freedom. They then divide the components by sqrt(2) or, if
// whitened, scale them to a variance of 1/2 with n degrees of freedom. Components with a standard deviation within the
// tolerance become 0.
func (f Form) plane(z []float64, n, d int, tolerance float64) (projection, error) {
	population := math.Sqrt(float64(n-1) / float64(n))
	if f != Whitened {
		tolerance = standardise(z, n, d, tolerance)
	}
	c, err := geometry.PCA(z, d)
	if err != nil {
		return projection{}, err
	}
	p := projection{points: make([][2]float64, n), near: nearAfter(c.Sigma, 2, tolerance)}
	flat, sigma := c.Project(z, 2), [2]float64{}
	copy(sigma[:], c.Sigma)
	for i := range p.points {
		p.points[i] = [2]float64(flat[2*i:])
	}
	for j, s := range sigma {
		scale := 0.0
		if s > tolerance {
			scale = [...]float64{1 / (math.Sqrt2 * s), 1 / math.Sqrt2, 1 / (math.Sqrt2 * s * population)}[f]
			p.rank++
		}
		for i := range p.points {
			p.points[i][j] *= scale
		}
	}
	return p, nil
}

// standardise divides centred columns by their population standard deviation; columns within the tolerance become 0. It
// returns the tolerance for the standardised columns.
func standardise(z []float64, n, d int, tolerance float64) float64 {
	for j := range d {
		var sum float64
		for i := range n {
			sum += z[i*d+j] * z[i*d+j]
		}
		factor := 0.0
		if sigma := math.Sqrt(sum / float64(n)); sigma > tolerance {
			factor = 1 / sigma
		}
		for i := range n {
			z[i*d+j] *= factor
		}
	}
	return 1e-12
}

// search finds the number of turns w of the points per turn of a circular factor.
type search struct {
	points [][2]float64
	rank   int
	size   int       // number of levels of the factor
	inner  int       // stride between neighbouring levels, in points
	curve  []float64 // smaller dispersion of w and -w turns, for w = 0, 1, ...
	cos    []float64 // cosines of the levels' angles
	sin    []float64
}

func newSearch(points [][2]float64, rank, size, inner, omega int) *search {
	s := &search{points: points, rank: rank, size: size, inner: inner, curve: make([]float64, omega+1),
		cos: make([]float64, size), sin: make([]float64, size)}
	for l := range size {
		s.sin[l], s.cos[l] = math.Sincos(2 * math.Pi * float64(l) / float64(size))
	}
	// rotations preserve lengths: dispersion = mean |p|^2 - |mean of rotated p|^2, from the sums over each level
	sums := make([][2]float64, size)
	var square float64
	for i, p := range points {
		l := i / inner % size
		sums[l][0] += p[0]
		sums[l][1] += p[1]
		square += p[0]*p[0] + p[1]*p[1]
	}
	n := float64(len(points))
	for w := range s.curve {
		s.curve[w] = square / n
		for _, turns := range []int{w, -w} {
			var x, y float64
			for l, p := range sums {
				sin, cos := s.angle(l, turns)
				dx, dy := turnBack(p, sin, cos)
				x, y = x+dx, y+dy
			}
			s.curve[w] = min(s.curve[w], square/n-(x*x+y*y)/(n*n))
		}
	}
	return s
}

// angle returns sine and cosine of the level's angle times turns.
func (s *search) angle(level, turns int) (sin, cos float64) {
	at := turns * level % s.size
	if at < 0 {
		at += s.size
	}
	return s.sin[at], s.cos[at]
}

// dispersion is D_k for |omega| = w, the smaller of w and -w turns, by [turnedScatter], which is exact near 0.
func (s *search) dispersion(w int) float64 {
	least := math.Inf(1)
	for _, turns := range []int{w, -w} {
		least = min(least, turnedScatter(s.points,
			func(i int) (sin, cos float64) { return s.angle(i/s.inner%s.size, turns) }))
	}
	return least
}

func meanCurve(curves [][]float64) []float64 {
	mean := make([]float64, len(curves[0]))
	for _, curve := range curves {
		for w, v := range curve {
			mean[w] += v / float64(len(curves))
		}
	}
	return mean
}

// bestTurns returns the index of the minimum; among values that differ only by rounding, it returns the first.
func bestTurns(curve []float64) int {
	best := 0
	for w, v := range curve {
		if v < curve[best]-1e-12 {
			best = w
		}
	}
	return best
}

func rootMeanSquare(x []float64) float64 {
	var sum float64
	for _, v := range x {
		sum += v * v / float64(len(x))
	}
	return math.Sqrt(sum)
}
