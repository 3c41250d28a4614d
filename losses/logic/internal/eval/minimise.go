package eval

import (
	"math"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/losses/logic/internal/program"
	"github.com/unravel-ml/unravel/losses/logic/internal/syntax"
)

// fit fits the function to the tuples from lo to hi and returns the minimum: the mean distance, the mean squared
// distance or the largest distance. It sets targetGradient to the gradient of the minimum with respect to the targets.
func (f *fit) fit(m *evaluator, lo, hi int) (float64, error) {
	n, width, targets := hi-lo, len(f.Source), len(f.Target)
	x, t := f.x[lo*width:hi*width], f.t[lo*targets:hi*targets]
	f.targetGradient = resize(f.targetGradient, len(f.t))
	g := f.targetGradient[lo*targets : hi*targets]
	if f.Class == syntax.Isometry {
		if err := f.isometry.Fit(x, width, t, targets); err != nil {
			return 0, err
		}
		for i, r := range f.isometry.Residuals {
			g[i] = 2 * r / float64(n)
		}
		return f.isometry.Error, nil
	}
	r := &f.regression
	if r.Tolerance = 1e-12; m.engine.Single {
		r.Tolerance = 1e-6
	}
	if width == 0 { // a single point
		width, x = 1, resize(f.column, n)
		f.column = x
		clear(x)
	}
	linear := f.Class == syntax.Linear
	if linear { // after adding the negative of every point, the best affine map is linear
		x, t = withNegatives(&f.column, x), withNegatives(&f.centre, t)
	}
	v, scale, err := f.regress(x, width, t, len(x)/width)
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

// regress fits an affine map. It returns the minimum, and the factor that converts the map's signs to the gradient of
// the minimum with respect to the targets.
func (f *fit) regress(x []float64, width int, t []float64, n int) (v, scale float64, err error) {
	r, targets := &f.regression, len(f.Target)
	sum := func() (sum float64) {
		for _, e := range r.Errors {
			sum += e
		}
		return sum
	}
	switch f.Method {
	case program.Squares:
		err = r.LeastSquares(x, width, t, targets, 0)
		return sum(), 2 / float64(n), err
	case program.Absolute:
		err = r.LeastAbsolute(x, width, t, targets)
		return sum(), 1 / float64(n), err
	case program.Norms:
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

// withNegatives returns rows and their negatives, in the memory of buffer.
func withNegatives(buffer *[]float64, rows []float64) []float64 {
	r := append((*buffer)[:0], rows...)
	for _, v := range rows {
		r = append(r, -v)
	}
	*buffer = r
	return r
}

// scaleMinimum converts the minimum of a fit to the aggregate, and scales targetGradient accordingly.
func (f *fit) scaleMinimum(v float64) float64 {
	value, scale := v, 1.0
	switch n := float64(f.count()); {
	case f.Aggregate == factor.Sum:
		value, scale = n*v, n
	case f.Aggregate == factor.Max && f.Premetric == syntax.Squared:
		value, scale = v*v, 2*v
	}
	if scale != 1 {
		for i := range f.targetGradient {
			f.targetGradient[i] *= scale
		}
	}
	return value
}

// gradients returns the gradients of the quantity with respect to targets and arguments.
func (f *fit) gradients(m *evaluator) (dt, dx []float64) {
	f.dx = resize(f.dx, len(f.x))
	if f.failed {
		f.dt = resize(f.dt, len(f.t))
		for _, d := range [][]float64{f.dt, f.dx} {
			for i := range d {
				d[i] = math.NaN()
			}
		}
		return f.dt, f.dx
	}
	if f.By != syntax.ByBody {
		return f.throughFits(m)
	}
	targets, width := len(f.Target), len(f.Source)
	for i := range f.count() {
		f.argumentGradient(f.targetGradient[i*targets:(i+1)*targets], f.dx[i*width:(i+1)*width])
	}
	return f.targetGradient, f.dx
}

// argumentGradient sets dx to the gradient with respect to the argument of a fixed function, given the target's
// gradient g.
func (f *fit) argumentGradient(g, dx []float64) {
	w := f.regression.Weights
	if f.Class == syntax.Isometry {
		w = f.isometry.Matrix
	}
	for j := range dx {
		sum := 0.0
		for k, v := range w[j*len(g) : (j+1)*len(g)] {
			sum -= v * g[k]
		}
		dx[j] = sum
	}
}

// resize returns a slice of n elements, in the memory of s if it is large enough.
func resize(s []float64, n int) []float64 {
	if cap(s) < n {
		return make([]float64, n)
	}
	return s[:n]
}

// fitCriterion fits the function by its criterion, and returns the aggregate of the distances from its values.
func (f *fit) fitCriterion(m *evaluator) (float64, error) {
	targets := len(f.Target)
	f.residuals = resize(f.residuals, len(f.t))
	for k, lo := range f.starts[:len(f.starts)-1] {
		hi := f.starts[k+1]
		if _, err := f.fit(m, int(lo), int(hi)); err != nil {
			return 0, err
		}
		residuals := f.regression.Residuals
		if f.Class == syntax.Isometry {
			residuals = f.isometry.Residuals
		}
		rest := f.residuals[int(lo)*targets : int(hi)*targets]
		for i := range rest {
			if rest[i] = residuals[i]; f.Class == syntax.Linear { // without the intercept, which can remain at ties
				rest[i] = (residuals[i] - residuals[len(rest)+i]) / 2
			}
		}
		f.group = k
		f.recordFunction(m)
	}
	return f.aggregateResiduals(), nil
}

// aggregateResiduals returns the aggregate of the lengths of the residuals, and sets residualGradient to its gradient.
func (f *fit) aggregateResiduals() float64 {
	targets, n := len(f.Target), float64(f.count())
	f.residualGradient = resize(f.residualGradient, len(f.residuals))
	value, best := 0.0, -1
	for i := range f.count() {
		r, g := f.residuals[i*targets:(i+1)*targets], f.residualGradient[i*targets:(i+1)*targets]
		d, scale := f.length(r, g), 1.0
		switch f.Aggregate {
		case factor.Mean:
			value, scale = value+d/n, 1/n
		case factor.Sum:
			value += d
		case factor.MeanSquare:
			value, scale = value+d*d/n, 2*d/n
		case factor.Max:
			if best < 0 || d > value {
				if best >= 0 {
					clear(f.residualGradient[best*targets : (best+1)*targets])
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

// length returns the length of one residual, and sets g to its gradient.
func (f *fit) length(r, g []float64) (d float64) {
	for k, x := range r {
		switch f.Premetric {
		case syntax.Absolute:
			d += math.Abs(x)
			g[k] = sign(x)
		default:
			d += x * x
			g[k] = 2 * x
		}
	}
	if f.Premetric != syntax.Euclidean {
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

// throughFits returns the gradients of the quantity with respect to targets and arguments, through the fitted function.
func (f *fit) throughFits(m *evaluator) (dt, dx []float64) {
	targets, width := len(f.Target), len(f.Source)
	f.dt = resize(f.dt, len(f.t))
	for k, lo := range f.starts[:len(f.starts)-1] {
		lo, hi := int(lo), int(f.starts[k+1])
		if len(f.starts) > 2 {
			if _, err := f.fit(m, lo, hi); err != nil {
				continue // value has fitted it
			}
		}
		g := f.residualGradient[lo*targets : hi*targets]
		dt, dx := f.dt[lo*targets:hi*targets], f.dx[lo*width:hi*width]
		switch {
		case f.Class == syntax.Isometry:
			f.isometry.Through(g, dt, dx)
		case f.Class == syntax.Linear:
			f.throughLinear(g, dt, dx)
		default:
			if width == 0 {
				dx = make([]float64, hi-lo)
			}
			f.regression.Through(g, dt, dx)
		}
	}
	return f.dt, f.dx
}

// throughLinear is through for a map that was fitted to points and their negatives.
func (f *fit) throughLinear(g, dt, dx []float64) {
	gradients := make([]float64, 2*len(g))
	for i, v := range g {
		gradients[i], gradients[len(g)+i] = v/2, -v/2
	}
	dt2, dx2 := make([]float64, 2*len(dt)), make([]float64, 2*len(dx))
	f.regression.Through(gradients, dt2, dx2)
	for i := range dt {
		dt[i] = dt2[i] - dt2[len(dt)+i]
	}
	for i := range dx {
		dx[i] = dx2[i] - dx2[len(dx)+i]
	}
}

// fitLevels fits a function of levels: each level gets the centre of its targets.
func (f *fit) fitLevels(m *evaluator) (float64, error) {
	targets, n := len(f.Target), float64(f.count())
	f.targetGradient = resize(f.targetGradient, len(f.t))
	value, best := 0.0, 0
	for k, lo := range f.starts[:len(f.starts)-1] {
		hi := f.starts[k+1]
		v, err := f.fitCentre(f.t[int(lo)*targets:int(hi)*targets], f.targetGradient[int(lo)*targets:int(hi)*targets])
		if err != nil {
			return 0, err
		}
		switch {
		case f.Aggregate == factor.Sum:
			value += v * float64(hi-lo)
		case f.Aggregate != factor.Max:
			value += v * float64(hi-lo) / n
		case k == 0 || v > value:
			value, best = v, k
		}
		f.group = k
		f.recordFunction(m)
	}
	for k, lo := range f.starts[:len(f.starts)-1] {
		hi, scale := f.starts[k+1], 0.0
		switch {
		case f.Aggregate == factor.Sum:
			scale = float64(hi - lo)
		case f.Aggregate != factor.Max:
			scale = float64(hi-lo) / n
		case k == best:
			scale = 1
		}
		for i := int(lo) * targets; i < int(hi)*targets; i++ {
			f.targetGradient[i] *= scale
		}
	}
	return value, nil
}

// fitCentre finds the centre of points. It returns their deviation, and sets g to its gradient with respect to the
// points.
func (f *fit) fitCentre(points, g []float64) (v float64, err error) {
	if f.Method == program.Absolute {
		return f.fitMedians(points, g)
	}
	if v, err = f.deviation(points); err == nil {
		f.deviationGradient(points, 1, g)
	}
	return v, err
}

// deviation finds the centre of points, and returns their deviation.
func (f *fit) deviation(points []float64) (v float64, err error) {
	width := len(f.Target)
	switch f.Method {
	case program.Squares:
		f.centre = pointMean(f.centre, points, width)
		for i, x := range points {
			d := x - f.centre[i%width]
			v += d * d
		}
		return v / float64(len(points)/width), nil
	case program.Norms:
		err = f.median.Fit(points, width)
		f.centre, v = append(f.centre[:0], f.median.Centre...), f.median.MeanDistance
	default:
		err = f.ball.Enclose(points, width)
		f.centre, v = append(f.centre[:0], f.ball.Centre...), f.ball.Radius
		if f.Premetric == syntax.Squared {
			v *= v
		}
	}
	return v, err
}

// deviationGradient sets g to scale times the gradient of the last deviation with respect to the points. The centre is
// fixed (envelope theorem).
func (f *fit) deviationGradient(points []float64, scale float64, g []float64) {
	width := len(f.Target)
	switch f.Method {
	case program.Squares:
		scale = 2 * scale / float64(len(points)/width)
		for i, x := range points {
			g[i] = scale * (x - f.centre[i%width])
		}
	case program.Norms:
		f.median.Gradient(scale, g)
	default:
		if f.Premetric == syntax.Squared {
			scale *= 2 * f.ball.Radius
		}
		f.ball.Gradient(scale, g)
	}
}

// fitMedians finds the median of every column.
func (f *fit) fitMedians(points, g []float64) (v float64, err error) {
	width := len(f.Target)
	f.centre = f.centre[:0]
	for k := range width {
		f.column = f.column[:0]
		for i := k; i < len(points); i += width {
			f.column = append(f.column, points[i])
		}
		if err := f.median.Fit(f.column, 1); err != nil {
			return 0, err
		}
		f.median.Gradient(1, f.column)
		for i, d := range f.column {
			g[i*width+k] = d
		}
		f.centre = append(f.centre, f.median.Centre[0])
		v += f.median.MeanDistance
	}
	return v, nil
}

// fitPoint finds the point with the minimum deviation of the targets.
func (f *fit) fitPoint() (v float64, err error) {
	if v, err = f.deviation(f.t); f.Aggregate == factor.Sum {
		v *= float64(f.count())
	}
	return v, err
}

// pointGradient returns g times the gradient of a point's quantity with respect to the targets.
func (f *fit) pointGradient(g float64) []float64 {
	if f.Aggregate == factor.Sum {
		g *= float64(f.count())
	}
	f.dt = resize(f.dt, len(f.t))
	f.deviationGradient(f.t, g, f.dt)
	return f.dt
}
