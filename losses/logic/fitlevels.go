package logic

import (
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/losses/logic/syntax"
)

// centres fits a function of levels: each level gets the centre of its targets.
func (f *fitted) centres(m *evaluator, s *fitState) (float64, error) {
	targets, n := len(f.target), float64(f.of(s))
	s.g = sized(s.g, len(s.t))
	value, best := 0.0, 0
	for k, lo := range s.starts[:len(s.starts)-1] {
		hi := s.starts[k+1]
		v, err := f.centre(s, s.t[int(lo)*targets:int(hi)*targets], s.g[int(lo)*targets:int(hi)*targets])
		if err != nil {
			return 0, err
		}
		switch {
		case f.aggregate == factor.Sum:
			value += v * float64(hi-lo)
		case f.aggregate != factor.Max:
			value += v * float64(hi-lo) / n
		case k == 0 || v > value:
			value, best = v, k
		}
		s.group = k
		f.keep(m, s)
	}
	for k, lo := range s.starts[:len(s.starts)-1] {
		hi, scale := s.starts[k+1], 0.0
		switch {
		case f.aggregate == factor.Sum:
			scale = float64(hi - lo)
		case f.aggregate != factor.Max:
			scale = float64(hi-lo) / n
		case k == best:
			scale = 1
		}
		for i := int(lo) * targets; i < int(hi)*targets; i++ {
			s.g[i] *= scale
		}
	}
	return value, nil
}

// centre finds the centre of points. It returns their deviation, and sets g to its gradient in the points.
func (f *fitted) centre(s *fitState, points, g []float64) (v float64, err error) {
	width, n := len(f.target), len(points)/len(f.target)
	switch f.method {
	case fitSquares:
		s.centre = meanOf(s.centre, points, width)
		scale := 2 / float64(n)
		for lo := 0; lo < len(points); lo += width {
			for k, c := range s.centre {
				d := points[lo+k] - c
				v += d * d
				g[lo+k] = scale * d
			}
		}
		return v / float64(n), nil
	case fitNorms:
		if err := s.median.Fit(points, width); err != nil {
			return 0, err
		}
		s.median.Gradient(1, g)
		s.centre = append(s.centre[:0], s.median.Centre...)
		return s.median.MeanDistance, nil
	case fitMax:
		if err := s.ball.Enclose(points, width); err != nil {
			return 0, err
		}
		s.centre = append(s.centre[:0], s.ball.Centre...)
		v, scale := s.ball.Radius, 1.0
		if f.premetric == syntax.Squared {
			v, scale = v*v, 2*v
		}
		s.ball.Gradient(scale, g)
		return v, nil
	}
	s.centre = s.centre[:0]
	for k := range width { // columns are separate
		s.column = s.column[:0]
		for i := k; i < len(points); i += width {
			s.column = append(s.column, points[i])
		}
		if err := s.median.Fit(s.column, 1); err != nil {
			return 0, err
		}
		s.median.Gradient(1, s.column)
		for i, d := range s.column {
			g[i*width+k] = d
		}
		s.centre = append(s.centre, s.median.Centre[0])
		v += s.median.MeanDistance
	}
	return v, nil
}
