package logic

import (
	"math"

	"github.com/unravel-ml/unravel/losses/logic/syntax"
)

// cosine is the cosine distance of two terms. It computes half the squared distance of their unit vectors, which is
// exactly 0 between equal terms.
type cosine struct {
	base
	a, b    []split
	sizes   [2]base // hold the lengths of the terms
	numbers base    // holds coordinates
	codes   bool    // it depends on the codes
}

// cosine compiles an equality under the cosine distance.
func (c *compiler) cosine(e *syntax.Equality) (node, error) {
	a, err := c.linear(e.A)
	if err != nil {
		return nil, err
	}
	b, err := c.linear(e.B)
	if err != nil {
		return nil, err
	}
	zero := func(l linear) linear {
		return linear{coordinates: make([]coordinate, len(l.coordinates)), number: l.number}
	}
	if a, err = c.add(e, a, zero(b)); err != nil { // a number becomes a vector
		return nil, err
	}
	if b, err = c.add(e, b, zero(a)); err != nil {
		return nil, err
	}
	n := &cosine{base: c.program.node(c.width), sizes: [2]base{c.program.node(c.width), c.program.node(c.width)}, numbers: c.program.node(c.width)}
	var one, other bool
	n.a, one = c.split(a)
	n.b, other = c.split(b)
	n.codes = one || other
	return n, nil
}

func (f *cosine) smooth() bool         { return f.codes }
func (f *cosine) cost(*engine) float64 { return 2 }

// lengths computes the lengths of a term at n tuples, without overflow.
func (f *cosine) lengths(m *evaluator, term []split, to base, n int) []float64 {
	sizes, most, d := m.values[to.id][:n], m.gradients[to.id][:n], m.difference[:n]
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
	out, a, b := m.values[f.id][:n], f.lengths(m, f.a, f.sizes[0], n), f.lengths(m, f.b, f.sizes[1], n)
	x, y := m.difference[:n], m.values[f.numbers.id][:n]
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

// unit is a coordinate of a vector scaled to length 1; the vector 0 stays 0.
func unit(x, length float64) float64 {
	if length == 0 {
		return 0
	}
	return x / length
}

func (f *cosine) gradient(m *evaluator, n int, g []float64) {
	if !f.codes {
		return
	}
	value, a, b := m.values[f.id][:n], m.values[f.sizes[0].id][:n], m.values[f.sizes[1].id][:n]
	x, y := m.difference[:n], m.gradients[f.numbers.id][:n]
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

// steep bounds a derivative.
func steep(x float64) float64 { return min(max(x, -steepest), steepest) }
