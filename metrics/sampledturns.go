package metrics

import (
	"context"
	"fmt"
	"math"

	"github.com/unravel-ml/unravel/factor"
	"github.com/unravel-ml/unravel/internal/geometry"
)

// turnedApart is the part of D_k that the fitted codes have, from the 2 x 2 matrix M of their plane: the variance over all
// angles t of M u, u = (cos wt, sin wt), turned back by wt or by -wt, whichever is less:
//
//	min(|M_+|^2, |M_-|^2)/4,  |M_+-|^2 = (M_11 +- M_22)^2 + (M_12 -+ M_21)^2
//
// M is the sum of a map that commutes with turns, which turning back makes constant, and one that turns the other way,
// which remains. The noise that the fit leaves adds its own variance ([orbit.dispersion]).
func turnedApart(f factor.Factor, m []float64, w int) float64 {
	if f.Angles == nil && 2*w%f.Size == 0 { // turns by whole or half circles leave all in place
		return 0
	}
	same := (m[0]+m[3])*(m[0]+m[3]) + (m[1]-m[2])*(m[1]-m[2])
	other := (m[0]-m[3])*(m[0]-m[3]) + (m[1]+m[2])*(m[1]+m[2])
	return min(same, other) / 4
}

// notes returns the remarks on rows and objects left out.
func (s *sampling) notes() (notes []string) {
	if n := len(s.objects) + s.left; s.left > 0 {
		notes = append(notes, fmt.Sprintf("%d of %d objects have too few rows and are left out", s.left, n))
	}
	for _, j := range s.moving {
		dropped, effects := 0, 0
		for _, rows := range s.objects {
			o := s.orbit(rows, j)
			dropped += len(rows) - len(o.rows)
			effects = max(effects, len(o.effects))
		}
		name := s.in.Factors[j].Name
		if dropped > 0 {
			notes = append(notes, fmt.Sprintf("%s: %d rows share the other factors with no other row, and do not count", name, dropped))
		}
		if effects > 1 {
			notes = append(notes, fmt.Sprintf("%s: too few rows agree in all other factors; the sum of an effect of each is subtracted", name))
		}
	}
	return notes
}

// dispersion is the D_k of an orbit for given turns.
type dispersion struct {
	value float64
	rank  int
	near  bool
}

// sampled measures D_k of every object of a sample, for one factor.
func (m turning) sampled(ctx context.Context, codes Matrix, s *sampling, factor int) (*measured, error) {
	codes, _ = codes.sized(leastSquared, mostSquared)
	n := len(s.objects)
	r := &measured{values: make([]float64, n), turns: make([]float64, n)}
	tolerance := 1e-12 * rootMeanSquare(codes.Data)
	last := m.omega
	if s.in.Factors[factor].Rotations != nil {
		last = 0
	}
	all, curves := make([][]dispersion, n), make([][]float64, n)
	for i, rows := range s.objects {
		o := s.orbit(rows, factor)
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
			all[i], curves[i] = append(all[i], d), append(curves[i], d.value)
		}
	}
	mean := make([]float64, last+1)
	for _, c := range curves {
		for w, v := range c {
			mean[w] += v / float64(n)
		}
	}
	for i, curve := range curves {
		if m.shared {
			curve = mean
		}
		w := bestTurns(curve)
		d := all[i][w]
		r.values[i], r.turns[i] = d.value, float64(w)
		if last == 0 {
			r.turns[i] = 1
		}
		r.count(d.rank, d.near)
	}
	return r, nil
}

// count counts an object of the given rank for the notes.
func (s *measured) count(rank int, near bool) {
	switch rank {
	case 0:
		s.constant++
	case 1:
		s.line++
	}
	if near {
		s.near++
	}
}

// centred returns the codes of an orbit minus the effects of other factors.
func (o *orbit) centred(codes Matrix) []float64 {
	z := make([]float64, 0, len(o.rows)*codes.Cols)
	for _, row := range o.rows {
		z = append(z, codes.Row(row)...)
	}
	o.subtract(z, codes.Cols)
	return z
}

// dispersion returns D_k of centred codes z, turned back by w or -w turns, whichever gives less.
func (o *orbit) dispersion(z []float64, d, w int, tolerance float64) (dispersion, error) {
	u := harmonicsOf(o.factor, w)
	f, err := o.fit(z, d, u)
	if err != nil {
		return dispersion{}, err
	}
	c, err := o.components(f, d, u)
	if err != nil {
		return dispersion{}, err
	}
	n, planes := float64(len(o.rows)), 2
	if o.factor.Rotations != nil {
		planes = 3
	}
	var r dispersion
	turned, noise := make([]float64, planes*u.h), 0.0 // planes x h
	for a := range min(planes, len(c.Axes)) {
		if c.Sigma[a] <= tolerance {
			break
		}
		r.rank++
		scale := 1 / (math.Sqrt(float64(planes)) * c.Sigma[a])
		for j, v := range c.Axes[a] {
			for b := range u.h {
				turned[a*u.h+b] += scale * v * f.b[b*d+j]
			}
		}
		for i, weight := range o.weights {
			sum := 0.0
			for j, v := range c.Axes[a] {
				sum += v * f.noise[i*d+j]
			}
			noise += weight * scale * scale * sum * sum / n
		}
	}
	r.near = r.rank == planes && nearAfter(c.Sigma, planes, tolerance)
	if r.rank == 0 {
		r.value = 1
		return r, nil
	}
	if planes == 3 {
		r.value = noise + o.scatter(turned, u)
	} else {
		r.value = noise + turnedApart(o.factor, turned, w)
	}
	if o.factor.Size > planes {
		r.value += float64(planes-r.rank) * (n - 1) / (float64(planes) * n)
	}
	return r, nil
}

// scatter returns [rotationScatter] of the points M u(g) of all rotations g of the factor.
func (o *orbit) scatter(m []float64, u *harmonics) float64 {
	points := make([]float64, 3*o.factor.Size)
	for l := range o.factor.Size {
		for a := range 3 {
			for b, v := range u.values[l*u.h : (l+1)*u.h] {
				points[3*l+a] += m[a*u.h+b] * v
			}
		}
	}
	return rotationScatter(points, func(i int) *[9]float64 { return &o.factor.Rotations[i] })
}

// weighted returns the mean over objects of D_k with weighted rows, for the given turns of each object.
func (s *sampling) weighted(ctx context.Context, codes Matrix, k int, turns, weights []float64) (float64, error) {
	codes, _ = codes.sized(leastSquared, mostSquared)
	tolerance, sum, mass := 1e-12*rootMeanSquare(codes.Data), 0.0, 0.0
	for i, rows := range s.objects {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		o, total := s.orbit(rows, s.moving[k]), 0.0
		o.redrawn = true
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
func (s *measured) rotated(o int, z []float64, d int, tolerance float64, rotation func(i int) *[9]float64) error {
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
	s.turns[o], s.values[o] = 1, 1
	if rank > 0 {
		s.values[o] = rotationScatter(points, rotation) + float64(3-rank)*float64(n-1)/float64(3*n)
	}
	return nil
}
