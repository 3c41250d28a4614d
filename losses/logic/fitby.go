package logic

import (
	"math"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/losses/logic/syntax"
)

// measured fits the function by a criterion, and returns the aggregate of the distances from its values.
func (f *fitted) measured(m *evaluator, s *fitState) (float64, error) {
	targets := len(f.target)
	s.rest = sized(s.rest, len(s.t))
	for k, lo := range s.starts[:len(s.starts)-1] {
		hi := s.starts[k+1]
		if _, err := f.fit(m, s, int(lo), int(hi)); err != nil {
			return 0, err
		}
		residuals := s.regression.Residuals
		if f.mapping.Class == syntax.Isometry {
			residuals = s.isometry.Residuals
		}
		rest := s.rest[int(lo)*targets : int(hi)*targets]
		for i := range rest {
			if rest[i] = residuals[i]; f.mapping.Class == syntax.Linear { // without the intercept, which ties may leave
				rest[i] = (residuals[i] - residuals[len(rest)+i]) / 2
			}
		}
		s.group = k
		f.keep(m, s)
	}
	return f.aggregated(s), nil
}

// aggregated returns the aggregate of the lengths of the rest, and sets given to its gradient.
func (f *fitted) aggregated(s *fitState) float64 {
	targets, n := len(f.target), float64(f.of(s))
	s.given = sized(s.given, len(s.rest))
	value, best := 0.0, -1
	for i := range f.of(s) {
		r, g := s.rest[i*targets:(i+1)*targets], s.given[i*targets:(i+1)*targets]
		d, scale := f.length(r, g), 1.0
		switch f.aggregate {
		case factor.Mean:
			value, scale = value+d/n, 1/n
		case factor.Sum:
			value += d
		case factor.MeanSquare:
			value, scale = value+d*d/n, 2*d/n
		case factor.Max:
			if best < 0 || d > value {
				if best >= 0 {
					clear(s.given[best*targets : (best+1)*targets])
				}
				value, best = d, i
			} else {
				scale = 0
			}
		}
		for k := range g {
			g[k] *= scale
		}
	}
	return value
}

// length returns the length of a row of the rest, and sets g to its gradient.
func (f *fitted) length(r, g []float64) (d float64) {
	for k, x := range r {
		switch f.premetric {
		case syntax.Absolute:
			d += math.Abs(x)
			g[k] = sign(x)
		default:
			d += x * x
			g[k] = 2 * x
		}
	}
	if f.premetric != syntax.Euclidean {
		return d
	}
	d = math.Sqrt(d)
	for k, x := range r {
		if g[k] = 0; d > 0 {
			g[k] = x / d
		}
	}
	return d
}

// through returns the gradients of the quantity in targets and arguments, through the fitted function.
func (f *fitted) through(m *evaluator, s *fitState) (dt, dx []float64) {
	targets, width := len(f.target), len(f.source)
	s.dt = sized(s.dt, len(s.t))
	for k, lo := range s.starts[:len(s.starts)-1] {
		lo, hi := int(lo), int(s.starts[k+1])
		if len(s.starts) > 2 {
			if _, err := f.fit(m, s, lo, hi); err != nil {
				continue // value has found it
			}
		}
		g := s.given[lo*targets : hi*targets]
		dt, dx := s.dt[lo*targets:hi*targets], s.dx[lo*width:hi*width]
		switch {
		case f.mapping.Class == syntax.Isometry:
			s.isometry.Through(g, dt, dx)
		case f.mapping.Class == syntax.Linear:
			f.throughLinear(s, g, dt, dx)
		default:
			if width == 0 {
				dx = make([]float64, hi-lo)
			}
			s.regression.Through(g, dt, dx)
		}
	}
	return s.dt, s.dx
}

// throughLinear is through for a map fitted to points and their opposites.
func (f *fitted) throughLinear(s *fitState, g, dt, dx []float64) {
	both := make([]float64, 2*len(g))
	for i, v := range g {
		both[i], both[len(g)+i] = v/2, -v/2
	}
	dt2, dx2 := make([]float64, 2*len(dt)), make([]float64, 2*len(dx))
	s.regression.Through(both, dt2, dx2)
	for i := range dt {
		dt[i] = dt2[i] - dt2[len(dt)+i]
	}
	for i := range dx {
		dx[i] = dx2[i] - dx2[len(dx)+i]
	}
}
