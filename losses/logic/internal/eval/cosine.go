package eval

import (
	"github.com/unravel-ml/unravel/losses/logic/internal/program"
	"math"
)

// cosine is the cosine distance of two terms. It computes half the squared distance between their unit vectors, which
// is exactly 0 for equal terms.
type cosine struct {
	base
	*program.Cosine
	a, b    []split
	lengths [2][]float64 // lengths of the terms
}

func (f *cosine) cost(*data) float64 { return 2 }

// measure computes the lengths of a term at n tuples without overflow.
func (f *cosine) measure(m *evaluator, term []split, sizes []float64) []float64 {
	n := len(sizes)
	most, d := f.seconds[:n], m.difference[:n]
	clear(most)
	for k := range term {
		term[k].differences(m, d)
		for t, x := range d {
			most[t] = max(most[t], math.Abs(x))
		}
	}
	clear(sizes)
	for k := range term {
		term[k].differences(m, d)
		for t, x := range d {
			if most[t] != 0 {
				x /= most[t]
				sizes[t] += x * x
			}
		}
	}
	for t := range sizes {
		sizes[t] = most[t] * math.Sqrt(sizes[t])
	}
	return sizes
}

func (f *cosine) value(m *evaluator, n int) []float64 {
	out, a, b := f.values[:n], f.measure(m, f.a, f.lengths[0][:n]), f.measure(m, f.b, f.lengths[1][:n])
	x, y := m.difference[:n], f.seconds[:n]
	clear(out)
	for k := range f.a {
		f.a[k].differences(m, x)
		f.b[k].differences(m, y)
		for t := range out {
			d := unit(x[t], a[t]) - unit(y[t], b[t])
			out[t] += d * d / 2
		}
	}
	for t := range out {
		if (a[t] == 0) != (b[t] == 0) {
			out[t] = 1
		}
	}
	return out
}

// unit returns a coordinate of a vector after scaling it to length 1; a zero vector stays 0.
func unit(x, length float64) float64 {
	if length == 0 {
		return 0
	}
	return x / length
}

func (f *cosine) gradient(m *evaluator, n int, g []float64) {
	if !f.Codes {
		return
	}
	value, a, b := f.values[:n], f.lengths[0][:n], f.lengths[1][:n]
	x, y := m.difference[:n], f.seconds[:n]
	for k := range f.a {
		f.a[k].differences(m, x)
		f.b[k].differences(m, y)
		for t := range x {
			if a[t] == 0 || b[t] == 0 || g[t] == 0 {
				x[t], y[t] = 0, 0
				continue
			}
			p, q := x[t]/a[t], y[t]/b[t]
			x[t] = g[t] * steep((p-q-value[t]*p)/a[t])
			y[t] = g[t] * steep((q-p-value[t]*q)/b[t])
		}
		f.a[k].scatter(m, x)
		f.b[k].scatter(m, y)
	}
}

// steep limits a derivative.
func steep(x float64) float64 { return min(max(x, -steepest), steepest) }
