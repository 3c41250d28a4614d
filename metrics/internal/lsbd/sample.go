package lsbd

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/internal/numeric"
	"github.com/unravel-ml/unravel/metrics/internal/levels"
)

// Sample holds codes with known group elements that do not form a grid. Combinations of levels are missing or repeated,
// or the angles and rotations are a sample of their group. For each object and factor k, the codes are modelled as
//
//	z = B u(g_k) + f(other factors) + noise,
//
// where u are the harmonics of the group element: cosine and sine of w times an angle, or the nine elements of a
// rotation. [orbit.fit] finds B by least squares. The mean and the covariance of B u are taken over the whole group
// even if the rows cover only a part of it. The noise is scaled as if the mean over the group had been subtracted. For
// a grid the value equals the value of [Grid], up to rounding. Perfect codes score 0 on every sample.
//
// If rows agree in all other factors, f can be any function of them. Otherwise f is a sum of functions, one for each
// other factor. Each can be any function of the factor's levels, or a combination of harmonics up to omega turns if
// these are fewer than the levels.
type Sample struct {
	elements levels.Table
	settings Settings
	moving   []int      // moving factors
	objects  [][]int    // rows, by object
	orbits   [][]*orbit // by object and by moving factor
	names    []string   // names of the objects
	excluded int        // number of objects left out because they have too few rows
}

// The minimum number of distinct levels of a measured object, or all levels of a [complete] factor with fewer.
const (
	leastAngles    = 5
	leastRotations = 20
)

// NewSample groups the rows of codes by object and by moving factor. Objects with too few rows are left out. It is an
// error if there is no moving factor, or if no object has enough rows.
func NewSample(e levels.Table, set Settings) (*Sample, error) {
	s := &Sample{elements: e, settings: set}
	var fixed []int
	for j, f := range e.Factors {
		switch {
		case f.Turns():
			s.moving = append(s.moving, j)
		case !set.Together:
			fixed = append(fixed, j)
		}
	}
	if s.moving == nil {
		return nil, errNoTurns
	}
	ids, count := e.Combinations(fixed, nil)
	groups := make([][]int, count)
	for i, g := range ids {
		groups[g] = append(groups[g], i)
	}
	var reason error
	for _, rows := range groups {
		orbits, err := s.measurable(rows)
		if err != nil {
			reason = err
			s.excluded++
			continue
		}
		s.objects, s.orbits = append(s.objects, rows), append(s.orbits, orbits)
		s.names = append(s.names, objectName(e, fixed, rows[0]))
	}
	if len(s.objects) == 0 {
		if len(groups) > 1 {
			reason = fmt.Errorf("none of the %d objects (combinations of the other factors) has enough rows, %.3g on average: %w, or objects: together",
				len(groups), float64(e.Rows())/float64(len(groups)), reason)
		}
		return nil, reason
	}
	return s, nil
}

// measurable returns the orbits of an object, or an error if the object's rows do not determine how its codes rotate.
func (s *Sample) measurable(rows []int) (orbits []*orbit, err error) {
	for _, j := range s.moving {
		f, seen := s.elements.Factors[j], map[int]bool{}
		for _, i := range rows {
			seen[s.elements.Row(i)[j]] = true
		}
		least := leastAngles
		if f.Rotations != nil {
			least = leastRotations
		}
		if complete(f) {
			least = min(f.Size, least)
		}
		if n := different(f, slices.Collect(maps.Keys(seen))); n < least {
			merged := ""
			if n < len(seen) {
				merged = " (angles closer than a hundredth of their range count as one)"
			}
			return nil, fmt.Errorf("factor %q has %d different levels%s; want at least %d", f.Name, n, merged, least)
		}
		o := s.orbit(rows, j)
		if o.freedom() <= 0 {
			return nil, fmt.Errorf("factor %q: the other factors explain every row of %d; want more rows", f.Name, len(rows))
		}
		if f.Rotations != nil && o.oneAxis() {
			return nil, fmt.Errorf("factor %q: all rotations turn about one axis; want their angle as a circular factor", f.Name)
		}
		orbits = append(orbits, o)
	}
	return orbits, nil
}

// complete reports whether the levels of a factor are a full turn in equal steps, or rotations with the moments of the
// whole group. Other levels are a sample of the circle, or of all rotations.
func complete(f factor.Factor) bool {
	return f.Angles == nil && (f.Rotations == nil || uniform(f.Rotations))
}

// different returns the number of different levels. Measured angles of few positions differ by small errors, so angles
// closer than a hundredth of their range count as one.
func different(f factor.Factor, seen []int) (count int) {
	if f.Rotations != nil {
		return len(seen)
	}
	turns := make([]float64, 0, len(seen)+1)
	for _, l := range seen {
		t := f.Angle(l) / (2 * math.Pi)
		turns = append(turns, t-math.Floor(t))
	}
	slices.Sort(turns)
	turns = append(turns, turns[0]+1)
	start, gap := 0, 0.0 // the arc of all angles starts after the largest gap
	for i, t := range turns[1:] {
		if t-turns[i] > gap {
			start, gap = i+1, t-turns[i]
		}
	}
	last := math.Inf(-1)
	for i := range seen {
		t := turns[(start+i)%len(seen)]
		if start+i >= len(seen) {
			t++
		}
		if t-last > (1-gap)/100 {
			count, last = count+1, t
		}
	}
	return count
}

// orbit holds the rows of one object that show how the codes follow one factor.
type orbit struct {
	factor factor.Factor
	rows   []int
	levels []int // levels of the factor, by row
	// groupings of the rows, by all other factors together or by each factor; group means are subtracted
	effects [][]int
	counts  []int       // number of groups, by grouping
	others  []float64   // rows x width: harmonics of other factors with many levels
	width   int         // number of harmonics in others
	basis   [][]float64 // orthonormal basis of others minus effects, for the weights; nil: not computed yet
	weights []float64   // by row, with mean 1
	// weights are from the bootstrap: subtracted means remove the same fraction of the noise once more
	redrawn bool
}

// orbit groups rows by all other factors and leaves out rows that are alone in their group. If fewer than half of the
// rows remain, it keeps all rows instead, and fits a sum of effects, one for each other factor.
func (s *Sample) orbit(rows []int, factor int) *orbit {
	others := slices.Delete(numeric.UpTo(len(s.elements.Factors)), factor, factor+1)
	ids, count := s.elements.Combinations(others, rows)
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
	o := &orbit{factor: s.elements.Factors[factor]}
	if 2*len(kept) >= len(rows) {
		o.rows = kept
		ids, count = s.elements.Combinations(others, kept)
		o.effects, o.counts = [][]int{ids}, []int{count}
	} else {
		o.rows = rows
		s.addEffects(o, others)
	}
	o.weights = make([]float64, len(o.rows))
	for i, row := range o.rows {
		o.levels = append(o.levels, s.elements.Row(row)[factor])
		o.weights[i] = 1
	}
	return o
}

// reweighted returns a copy for new weights.
func (o *orbit) reweighted() *orbit {
	other := *o
	other.weights, other.redrawn, other.basis = make([]float64, len(o.rows)), true, nil
	return &other
}

// addEffects adds an effect of each other factor to an orbit: any function of its levels, or its harmonics if these are
// fewer. The number of harmonics is at most half the number of rows.
func (s *Sample) addEffects(o *orbit, others []int) {
	n, order := len(o.rows), s.settings.Omega
	o.effects, o.counts = [][]int{make([]int, n)}, []int{1}
	var turning []int
	for _, j := range others {
		f := s.elements.Factors[j]
		ids, count := s.elements.Combinations([]int{j}, o.rows)
		if !f.Turns() || count <= harmonicsUpTo(f, order) {
			o.effects, o.counts = append(o.effects, ids), append(o.counts, count)
			continue
		}
		turning = append(turning, j)
	}
	width := func() (sum int) {
		for _, j := range turning {
			sum += harmonicsUpTo(s.elements.Factors[j], order)
		}
		return sum
	}
	for order > 1 && 2*width() > n {
		order--
	}
	o.width = width()
	o.others = make([]float64, n*o.width)
	at := 0
	for _, j := range turning {
		f := s.elements.Factors[j]
		for w := 1; w <= order && (w == 1 || f.Rotations == nil); w++ {
			u := harmonicsOf(f, w)
			for i, row := range o.rows {
				copy(o.others[i*o.width+at:], u.of(s.elements.Row(row)[j]))
			}
			at += u.h
		}
	}
}

// harmonicsUpTo returns the number of harmonics of a factor up to the given turns.
func harmonicsUpTo(f factor.Factor, turns int) int {
	if f.Rotations != nil {
		return 9
	}
	return 2 * turns
}

// freedom returns the fraction of the noise that remains after effects are subtracted.
func (o *orbit) freedom() float64 {
	taken := 1 + o.width
	if o.basis != nil {
		taken = 1 + len(o.basis)
	}
	for _, c := range o.counts {
		taken += c - 1
	}
	return 1 - float64(taken)/float64(len(o.rows))
}

// orthonormalise sets the basis for the current weights. It takes the harmonics of other factors minus effects, one
// after the other. It leaves out harmonics that the earlier ones determine to seven digits.
func (o *orbit) orthonormalise() {
	const determined = 1e-7
	o.basis = [][]float64{}
	x := slices.Clone(o.others)
	o.subtractMeans(x, o.width)
	for c := range o.width {
		q, before := make([]float64, len(o.rows)), 0.0
		for i := range q {
			q[i] = x[i*o.width+c]
			before += o.weights[i] * o.others[i*o.width+c] * o.others[i*o.width+c]
		}
		for range 2 { // the second pass removes rounding errors
			o.project(q, 1)
		}
		norm := 0.0
		for i, v := range q {
			norm += o.weights[i] * v * v
		}
		if norm <= determined*determined*before {
			continue
		}
		for i := range q {
			q[i] /= math.Sqrt(norm)
		}
		o.basis = append(o.basis, q)
	}
}

// subtract removes the effects of the other factors from rows x of d numbers each, by weighted least squares.
func (o *orbit) subtract(x []float64, d int) {
	if o.basis == nil {
		o.orthonormalise()
	}
	o.subtractMeans(x, d)
	for range 2 {
		o.project(x, d)
	}
}

// project removes the components of the basis from rows x of d numbers each.
func (o *orbit) project(x []float64, d int) {
	along := make([]float64, d)
	for _, q := range o.basis {
		clear(along)
		for i, v := range q {
			for j := range d {
				along[j] += o.weights[i] * v * x[i*d+j]
			}
		}
		for i, v := range q {
			for j, a := range along {
				x[i*d+j] -= v * a
			}
		}
	}
}

// subtractMeans removes group means from rows x of d numbers. It cycles through several groupings until they vanish.
func (o *orbit) subtractMeans(x []float64, d int) {
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
