package eval

import (
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/losses/logic/internal/program"
	"github.com/unravel-ml/unravel/losses/logic/syntax"
)

// centres fits a function of levels: each level gets the centre of its targets.
func (f *fit) centres(m *evaluator) (float64, error) {
	targets, n := len(f.Target), float64(f.count())
	f.g = sized(f.g, len(f.t))
	value, best := 0.0, 0
	for k, lo := range f.starts[:len(f.starts)-1] {
		hi := f.starts[k+1]
		v, err := f.deviate(f.t[int(lo)*targets:int(hi)*targets], f.g[int(lo)*targets:int(hi)*targets])
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
		f.keep(m)
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
			f.g[i] *= scale
		}
	}
	return value, nil
}

// deviate finds the centre of points. It returns their deviation, and sets g to its gradient in the points.
func (f *fit) deviate(points, g []float64) (v float64, err error) {
	width, n := len(f.Target), len(points)/len(f.Target)
	switch f.Method {
	case program.Squares:
		f.centre = meanOf(f.centre, points, width)
		scale := 2 / float64(n)
		for lo := 0; lo < len(points); lo += width {
			for k, c := range f.centre {
				d := points[lo+k] - c
				v += d * d
				g[lo+k] = scale * d
			}
		}
		return v / float64(n), nil
	case program.Norms:
		if err := f.median.Fit(points, width); err != nil {
			return 0, err
		}
		f.median.Gradient(1, g)
		f.centre = append(f.centre[:0], f.median.Centre...)
		return f.median.MeanDistance, nil
	case program.Max:
		if err := f.ball.Enclose(points, width); err != nil {
			return 0, err
		}
		f.centre = append(f.centre[:0], f.ball.Centre...)
		v, scale := f.ball.Radius, 1.0
		if f.Premetric == syntax.Squared {
			v, scale = v*v, 2*v
		}
		f.ball.Gradient(scale, g)
		return v, nil
	}
	f.centre = f.centre[:0]
	for k := range width { // columns are separate
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
