package lsbd

import (
	"context"
	"fmt"
	"math"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/internal/geometry"
	"github.com/unravel-ml/unravel/internal/numeric"
	"github.com/unravel-ml/unravel/metrics/matrix"
)

// turnedApart is the contribution of the fitted codes to D_k, from the 2 x 2 matrix M of their plane. M u, u = sqrt(2)
// (cos wt, sin wt), is rotated back by wt or by -wt; the smaller variance over all angles t is
//
//	min(|M_+|^2, |M_-|^2)/2,  |M_+-|^2 = (M_11 +- M_22)^2 + (M_12 -+ M_21)^2
//
// M is the sum of two maps: one commutes with rotations, so rotating back makes it constant; the other rotates the
// opposite way and remains. The residual noise of the fit adds its variance ([orbit.dispersion]).
func turnedApart(f factor.Factor, m []float64, w int) float64 {
	if f.Angles == nil && 2*w%f.Size == 0 { // full and half turns leave the points where they are, or negate them
		return 0
	}
	same := (m[0]+m[3])*(m[0]+m[3]) + (m[1]-m[2])*(m[1]-m[2])
	other := (m[0]-m[3])*(m[0]-m[3]) + (m[1]+m[2])*(m[1]+m[2])
	return min(same, other) / 2
}

// notes returns the remarks on rows and objects left out.
func (s *Sample) notes() (notes []string) {
	if n := len(s.objects) + s.excluded; s.excluded > 0 {
		notes = append(notes, fmt.Sprintf("%d of %d objects have too few rows and are left out", s.excluded, n))
	}
	for k, j := range s.moving {
		dropped, effects := 0, 0
		for object, rows := range s.objects {
			o := s.orbits[object][k]
			dropped += len(rows) - len(o.rows)
			effects = max(effects, len(o.effects)+o.width)
		}
		name := s.elements.Factors[j].Name
		if dropped > 0 {
			notes = append(notes, fmt.Sprintf("%s: %d rows do not count, as no other row has the same other factors",
				name, dropped))
		}
		if effects > 1 {
			notes = append(notes, fmt.Sprintf("%s: too few rows agree in all other factors; an additive effect of each other factor is subtracted", name))
		}
	}
	return notes
}

// dispersion is the D_k of an orbit for given turns.
type dispersion struct {
	value  float64
	choice float64 // the value that decides the number of turns
	rank   int
	near   bool
	cover  float64 // see fitted
}

// measure returns D_k of every object of a sample, for the moving factor k.
func (s *Sample) measure(ctx context.Context, codes matrix.Matrix, k int) (*Measured, error) {
	codes, _ = codes.ForSquares()
	n := len(s.objects)
	r := &Measured{Values: make([]float64, n), Turns: make([]float64, n), cover: 1}
	tolerance := 1e-12 * rootMeanSquare(codes.Data)
	last := s.settings.Omega
	if s.elements.Factors[s.moving[k]].Rotations != nil {
		last = 0
	}
	all, curves := make([][]dispersion, n), make([][]float64, n)
	for i := range s.objects {
		o := s.orbits[i][k]
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		z := o.centred(codes)
		for w := range last + 1 {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			d, err := o.dispersion(z, codes.Cols, w, tolerance)
			if err != nil {
				return nil, err
			}
			all[i], curves[i] = append(all[i], d), append(curves[i], d.choice)
		}
	}
	mean := meanCurve(curves)
	for i, curve := range curves {
		if s.settings.Shared {
			curve = mean
		}
		w := bestTurns(curve)
		d := all[i][w]
		r.Values[i], r.Turns[i] = d.value, float64(w)
		if last == 0 {
			r.Turns[i] = 1
		}
		r.count(d.rank, d.near)
		r.cover = min(r.cover, d.cover)
	}
	return r, nil
}

// count counts an object of the given rank for the notes.
func (s *Measured) count(rank int, near bool) {
	switch rank {
	case 0:
		s.constant++
	case 1:
		s.line++
	}
	if near {
		s.Near++
	}
}

// centred returns the codes of an orbit minus the effects of other factors.
func (o *orbit) centred(codes matrix.Matrix) []float64 {
	z := make([]float64, 0, len(o.rows)*codes.Cols)
	for _, row := range o.rows {
		z = append(z, codes.Row(row)...)
	}
	o.subtract(z, codes.Cols)
	return z
}

// dispersion returns the smaller D_k of centred codes z, rotated back by w or by -w turns. If the rows cover little of
// the circle, a few turns of a large circle fit many turns. The choice of w therefore counts at most the variance that
// the rows have.
func (o *orbit) dispersion(z []float64, d, w int, tolerance float64) (dispersion, error) {
	const little = 0.5
	f, err := o.fit(z, d, harmonicsOf(o.factor, w))
	if err != nil {
		return dispersion{}, err
	}
	r, err := o.turnedBack(f.b, f.noise, d, w, tolerance)
	if err != nil {
		return dispersion{}, err
	}
	r.cover, r.choice = f.coverage, r.value
	if f.bounded != nil && f.coverage < little {
		shown, err := o.turnedBack(f.bounded, f.noise, d, w, tolerance)
		if err != nil {
			return dispersion{}, err
		}
		r.choice = shown.value
	}
	return r, nil
}

// turnedBack returns D_k for codes b^T u + noise.
func (o *orbit) turnedBack(b, rest []float64, d, w int, tolerance float64) (r dispersion, err error) {
	c, err := o.components(b, rest, d)
	if err != nil {
		return r, err
	}
	n, planes, h := float64(len(o.rows)), 2, len(b)/d
	if o.factor.Rotations != nil {
		planes = 3
	}
	turned, noise := make([]float64, planes*h), 0.0 // planes x h
	for a := range min(planes, len(c.Axes)) {
		if c.Sigma[a] <= tolerance {
			break
		}
		r.rank++
		scale := 1 / (math.Sqrt(float64(planes)) * c.Sigma[a])
		for j, v := range c.Axes[a] {
			for e := range h {
				turned[a*h+e] += scale * v * b[e*d+j]
			}
		}
		for i, weight := range o.weights {
			sum := numeric.Dot(c.Axes[a], rest[i*d:(i+1)*d])
			noise += weight * scale * scale * sum * sum / n
		}
	}
	r.near = r.rank == planes && nearAfter(c.Sigma, planes, tolerance)
	switch {
	case r.rank == 0:
		r.value = 1
		return r, nil
	case planes == 3:
		r.value = noise + groupScatter(turned)
	default:
		r.value = noise + turnedApart(o.factor, turned, w)
	}
	if o.factor.Size > planes {
		r.value += float64(planes-r.rank) * (n - 1) / (float64(planes) * n)
	}
	return r, nil
}

// tetrahedral holds the rotations of the tetrahedron.
var tetrahedral = [12][9]float64{
	{1, 0, 0, 0, 1, 0, 0, 0, 1}, {1, 0, 0, 0, -1, 0, 0, 0, -1}, {-1, 0, 0, 0, 1, 0, 0, 0, -1},
	{-1, 0, 0, 0, -1, 0, 0, 0, 1},
	{0, 1, 0, 0, 0, 1, 1, 0, 0}, {0, 1, 0, 0, 0, -1, -1, 0, 0}, {0, -1, 0, 0, 0, 1, -1, 0, 0},
	{0, -1, 0, 0, 0, -1, 1, 0, 0},
	{0, 0, 1, 1, 0, 0, 0, 1, 0}, {0, 0, 1, -1, 0, 0, 0, -1, 0}, {0, 0, -1, 1, 0, 0, 0, -1, 0},
	{0, 0, -1, -1, 0, 0, 0, 1, 0},
}

// groupScatter returns [geometry.RotationScatter] of the points M u(g) over all rotations g. The twelve rotations of
// the tetrahedron have the same moments as all rotations.
func groupScatter(m []float64) float64 {
	var points []float64
	for _, g := range &tetrahedral {
		for a := range 3 {
			sum := 0.0
			for b, v := range g {
				sum += m[a*9+b] * math.Sqrt(3) * v
			}
			points = append(points, sum)
		}
	}
	return geometry.RotationScatter(points, func(i int) *[9]float64 { return &tetrahedral[i] })
}

// weighted returns the mean over objects of D_k for weighted rows, with the given turns of each object.
func (s *Sample) weighted(ctx context.Context, codes matrix.Matrix, k int, turns, weights []float64) (float64, error) {
	codes, _ = codes.ForSquares()
	tolerance, sum, mass := 1e-12*rootMeanSquare(codes.Data), 0.0, 0.0
	for i := range s.objects {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		o, total := s.orbits[i][k].reweighted(), 0.0
		for at, row := range o.rows {
			o.weights[at] = weights[row]
			total += weights[row]
		}
		for at := range o.weights {
			o.weights[at] *= float64(len(o.weights)) / total
		}
		d, err := o.dispersion(o.centred(codes), codes.Cols, int(turns[i]), tolerance)
		if err != nil {
			return 0, err
		}
		weight := total / float64(len(o.rows))
		sum, mass = sum+weight*d.value, mass+weight
	}
	return sum / mass, nil
}

// rotated measures D_k of the centred codes z of object o, on a grid of rotations.
func (s *Measured) rotated(o int, z []float64, d int, tolerance float64, rotation func(i int) *[9]float64) error {
	c, err := geometry.PCA(z, d)
	if err != nil {
		return err
	}
	n := len(z) / d
	points, rank := c.Project(z, 3), 0
	for a := range 3 {
		f := 0.0
		if a < len(c.Sigma) && c.Sigma[a] > tolerance {
			f, rank = 1/(math.Sqrt(3)*c.Sigma[a]), rank+1
		}
		for i := a; i < len(points); i += 3 {
			points[i] *= f
		}
	}
	s.count(rank, rank == 3 && nearAfter(c.Sigma, 3, tolerance))
	s.Turns[o], s.Values[o] = 1, 1
	if rank > 0 {
		s.Values[o] = geometry.RotationScatter(points, rotation) + float64(3-rank)*float64(n-1)/float64(3*n)
	}
	return nil
}
