package logic

import (
	"math"

	"github.com/unravel-ml/unravel/losses/logic/syntax"
)

// atom is an equality of two terms under a premetric of their difference.
type atom struct {
	base
	premetric   syntax.Premetric
	period      float64
	coordinates []split
	codes       bool // it depends on the codes
}

// split is a coordinate of a difference: a constant, and parts that are constant over
// the current tuples (slow) or vary (fast).
type split struct {
	offset     float64
	slow, fast []part
	monomials  []monomial // parts of several entries
}

func (f *atom) smooth() bool         { return f.codes && f.premetric != syntax.Discrete }
func (f *atom) cost(*engine) float64 { return 1 }

// differences computes a coordinate for n tuples.
func (s *split) differences(m *evaluator, d []float64) {
	s.sum(m, d)
	if len(s.monomials) > 0 {
		s.addMonomials(m, d)
	}
}

// sum adds up the offset and the parts of one entry.
func (s *split) sum(m *evaluator, d []float64) {
	x := s.offset
	for _, p := range s.slow {
		x += p.weight * m.data.columns[p.column][m.index[p.variable]]
	}
	if len(s.fast) == 0 {
		for t := range d {
			d[t] = x
		}
		return
	}
	rows := m.rows[:len(d)]
	p := &s.fast[0]
	column, w := m.data.columns[p.column], p.weight
	if lo := int(rows[0]); int(rows[len(rows)-1])-lo == len(rows)-1 { // they ascend: these are neighbours
		for t, v := range column[lo:][:len(d)] {
			d[t] = x + w*v
		}
	} else {
		for t, r := range rows {
			d[t] = x + w*column[r]
		}
	}
	for k := 1; k < len(s.fast); k++ {
		p := &s.fast[k]
		column, w := m.data.columns[p.column], p.weight
		for t, r := range rows {
			d[t] += w * column[r]
		}
	}
}

func (f *atom) value(m *evaluator, n int) []float64 {
	out, d := m.values[f.id][:n], m.difference[:n]
	clear(out)
	for k := range f.coordinates {
		f.coordinates[k].differences(m, d)
		switch f.premetric {
		case syntax.Euclidean, syntax.Squared:
			for t, x := range d {
				out[t] += x * x
			}
		case syntax.Absolute:
			for t, x := range d {
				out[t] += math.Abs(x)
			}
		case syntax.Discrete:
			for t, x := range d {
				if x != 0 {
					out[t]++
				}
			}
		case syntax.Circular:
			for t, x := range d {
				arc := math.Mod(math.Abs(x), f.period)
				out[t] += min(arc, f.period-arc)
			}
		}
	}
	if f.premetric == syntax.Euclidean {
		for t, x := range out {
			out[t] = math.Sqrt(x)
		}
	}
	return out
}

func (f *atom) gradient(m *evaluator, n int, g []float64) {
	if !f.smooth() {
		return
	}
	along := m.gradients[f.id][:n] // the gradient of d^2/2, or of d
	value, any := m.values[f.id], false
	for t, x := range g[:n] {
		switch {
		case f.premetric == syntax.Squared:
			x *= 2
		case f.premetric == syntax.Euclidean && value[t] > 0:
			x /= value[t]
		case f.premetric == syntax.Euclidean:
			x = 0
		}
		any = any || x != 0
		along[t] = x
	}
	if !any {
		return
	}
	d := m.difference[:n]
	for k := range f.coordinates {
		s := &f.coordinates[k]
		s.differences(m, d)
		switch f.premetric {
		case syntax.Absolute:
			for t, x := range d {
				d[t] = along[t] * sign(x)
			}
		case syntax.Circular:
			for t, x := range d {
				d[t] = along[t] * f.turn(x)
			}
		default:
			for t := range d {
				d[t] *= along[t]
			}
		}
		s.scatter(m, d)
	}
}

func sign(x float64) float64 {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return -1
	}
	return 0
}

// turn is the derivative of the arc at a difference.
func (f *atom) turn(x float64) float64 {
	switch arc := math.Mod(math.Abs(x), f.period); {
	case arc == 0:
		return 0
	case arc <= f.period-arc:
		return sign(x)
	}
	return -sign(x)
}

// scatter adds the gradients of a coordinate to the gradients of the codes.
func (s *split) scatter(m *evaluator, d []float64) {
	for i := range s.monomials {
		s.monomials[i].scatter(m, d)
	}
	for _, p := range s.fast {
		if !m.smooth(p.column) {
			continue
		}
		to, w, rows := m.slopes[p.column], p.weight, m.rows[:len(d)]
		if lo := int(rows[0]); int(rows[len(rows)-1])-lo == len(rows)-1 {
			to = to[lo:][:len(d)]
			for t, x := range d {
				to[t] += w * x
			}
			continue
		}
		for t, r := range rows {
			to[r] += w * d[t]
		}
	}
	sum := 0.0
	for _, x := range d {
		sum += x
	}
	for _, p := range s.slow {
		if m.smooth(p.column) {
			m.slopes[p.column][m.index[p.variable]] += p.weight * sum
		}
	}
}
