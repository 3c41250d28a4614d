package logic

import (
	"math"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/losses/logic/syntax"
)

// fit fits the function to the tuples from lo to hi and returns the minimum: the mean of distances or their squares, or
// the largest distance. It sets g to the gradient of the minimum in the targets.
func (f *fitted) fit(m *evaluator, s *fitState, lo, hi int) (float64, error) {
	n, width, targets := hi-lo, len(f.source), len(f.target)
	x, t := s.x[lo*width:hi*width], s.t[lo*targets:hi*targets]
	s.g = sized(s.g, len(s.t))
	g := s.g[lo*targets : hi*targets]
	if f.mapping.Class == syntax.Isometry {
		if err := s.isometry.Fit(x, width, t, targets); err != nil {
			return 0, err
		}
		for i, r := range s.isometry.Residuals {
			g[i] = 2 * r / float64(n)
		}
		return s.isometry.Error, nil
	}
	r := &s.regression
	if r.Tolerance = 1e-12; m.engine.single {
		r.Tolerance = 1e-6
	}
	if width == 0 { // a point
		width, x = 1, sized(s.column, n)
		s.column = x
		clear(x)
	}
	linear := f.mapping.Class == syntax.Linear
	if linear { // for points and their opposites, the best affine map is linear
		x, t = mirrored(&s.column, x), mirrored(&s.centre, t)
	}
	v, scale, err := f.regress(s, x, width, t, len(x)/width)
	if err != nil {
		return 0, err
	}
	for i := range g {
		g[i] = scale * r.Signs[i]
		if linear {
			g[i] -= scale * r.Signs[len(g)+i]
		}
	}
	return v, nil
}

// regress fits an affine map. It returns the minimum, and the factor from the map's signs to the gradient of the
// minimum in the targets.
func (f *fitted) regress(s *fitState, x []float64, width int, t []float64, n int) (v, scale float64, err error) {
	r, targets := &s.regression, len(f.target)
	sum := func() (sum float64) {
		for _, e := range r.Errors {
			sum += e
		}
		return sum
	}
	switch f.method {
	case fitSquares:
		err = r.LeastSquares(x, width, t, targets, 0)
		return sum(), 2 / float64(n), err
	case fitAbsolute:
		err = r.LeastAbsolute(x, width, t, targets)
		return sum(), 1 / float64(n), err
	case fitNorms:
		if targets == 1 {
			err = r.LeastAbsolute(x, width, t, 1)
			return sum(), 1 / float64(n), err
		}
		err = r.LeastNorms(x, width, t, targets)
		return r.Mean, 1 / float64(n), err
	}
	if targets == 1 {
		err = r.Minimax(x, width, t, 1)
		return sum(), 1, err
	}
	err = r.JointMinimax(x, width, t, targets)
	return r.Largest, 1, err
}

// mirrored returns rows and their opposites, and reuses the memory of to.
func mirrored(to *[]float64, rows []float64) []float64 {
	r := append((*to)[:0], rows...)
	for _, v := range rows {
		r = append(r, -v)
	}
	*to = r
	return r
}

// scaled turns the minimum of a fit into the aggregate, and scales s.g with it.
func (f *fitted) scaled(s *fitState, v float64) float64 {
	by, scale := v, 1.0
	switch n := float64(f.of(s)); {
	case f.aggregate == factor.Sum:
		by, scale = n*v, n
	case f.aggregate == factor.Max && f.premetric == syntax.Squared:
		by, scale = v*v, 2*v
	}
	if scale != 1 {
		for i := range s.g {
			s.g[i] *= scale
		}
	}
	return by
}

// slopes returns the gradients of the quantity in targets and arguments.
func (f *fitted) slopes(m *evaluator, s *fitState) (dt, dx []float64) {
	s.dx = sized(s.dx, len(s.x))
	if s.failed {
		s.dt = sized(s.dt, len(s.t))
		for _, d := range [][]float64{s.dt, s.dx} {
			for i := range d {
				d[i] = math.NaN()
			}
		}
		return s.dt, s.dx
	}
	if f.mapping.By != syntax.ByBody {
		return f.through(m, s)
	}
	for i := range f.of(s) {
		f.pull(s, s.g[i*len(f.target):(i+1)*len(f.target)], s.dx[i*len(f.source):(i+1)*len(f.source)])
	}
	return s.g, s.dx
}

// pull sets dx to the gradient of a fixed function in its argument, given the gradient g in the target.
func (f *fitted) pull(s *fitState, g, dx []float64) {
	w := s.regression.Weights
	if f.mapping.Class == syntax.Isometry {
		w = s.isometry.Matrix
	}
	for j := range dx {
		sum := 0.0
		for k, v := range w[j*len(g) : (j+1)*len(g)] {
			sum -= v * g[k]
		}
		dx[j] = sum
	}
}

// sized returns a slice of n elements, and reuses the memory of s if it fits.
func sized(s []float64, n int) []float64 {
	if cap(s) < n {
		return make([]float64, n)
	}
	return s[:n]
}
