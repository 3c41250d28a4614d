package eval

import (
	"math"

	"github.com/unravel-ml/unravel/losses/logic/internal/program"
	"github.com/unravel-ml/unravel/losses/logic/internal/syntax"
)

// equality is a premetric of the difference of two terms.
type equality struct {
	base
	*program.Equality
	coordinates []split
}

// split is a coordinate of a difference: a constant, slow parts that the current tuples share, and fast parts.
type split struct {
	offset     float64
	slow, fast []program.Part
	monomials  []monomial // parts with several entries
}

func (f *equality) cost(*data) float64 { return 1 }

// differences computes a coordinate for n tuples.
func (s *split) differences(m *evaluator, d []float64) {
	s.sum(m, d)
	if len(s.monomials) > 0 {
		s.addMonomials(m, d)
	}
}

// sum adds the offset and the parts with one entry.
func (s *split) sum(m *evaluator, d []float64) {
	x := s.offset
	for _, p := range s.slow {
		x += p.Weight * m.data.columns[p.Column][m.index[p.Variable]]
	}
	if len(s.fast) == 0 {
		for t := range d {
			d[t] = x
		}
		return
	}
	rows := m.rows[:len(d)]
	p := &s.fast[0]
	column, w := m.data.columns[p.Column], p.Weight
	if lo := int(rows[0]); int(rows[len(rows)-1])-lo == len(rows)-1 { // rows are ascending, so these are consecutive
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
		column, w := m.data.columns[p.Column], p.Weight
		for t, r := range rows {
			d[t] += w * column[r]
		}
	}
}

func (f *equality) value(m *evaluator, n int) []float64 {
	out, d := f.values[:n], m.difference[:n]
	clear(out)
	for k := range f.coordinates {
		f.coordinates[k].differences(m, d)
		switch f.Premetric {
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
				arc := math.Mod(math.Abs(x), f.Period)
				out[t] += min(arc, f.Period-arc)
			}
		}
	}
	if f.Premetric == syntax.Euclidean {
		for t, x := range out {
			out[t] = math.Sqrt(x)
		}
	}
	return out
}

func (f *equality) gradient(m *evaluator, n int, g []float64) {
	if !f.Smooth() {
		return
	}
	along := f.gradients[:n] // the gradient of d^2/2, or of d
	value, any := f.values, false
	for t, x := range g[:n] {
		switch {
		case f.Premetric == syntax.Squared:
			x *= 2
		case f.Premetric == syntax.Euclidean && value[t] > 0:
			x /= value[t]
		case f.Premetric == syntax.Euclidean:
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
		switch f.Premetric {
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

// turn returns the derivative of the arc at a difference.
func (f *equality) turn(x float64) float64 {
	switch arc := math.Mod(math.Abs(x), f.Period); {
	case arc == 0:
		return 0
	case arc <= f.Period-arc:
		return sign(x)
	}
	return -sign(x)
}

// scatter adds the gradient with respect to a coordinate to the gradients of the codes.
func (s *split) scatter(m *evaluator, d []float64) {
	for i := range s.monomials {
		s.monomials[i].scatter(m, d)
	}
	for _, p := range s.fast {
		if !m.smooth(p.Column) {
			continue
		}
		to, w, rows := m.slopes[p.Column], p.Weight, m.rows[:len(d)]
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
		if m.smooth(p.Column) {
			m.slopes[p.Column][m.index[p.Variable]] += p.Weight * sum
		}
	}
}

// split separates the parts of a term that vary over the current tuples from the constant ones.
func (b *builder) split(term []program.Coordinate) (all []split) {
	for _, x := range term {
		s := split{offset: x.Offset}
		for _, p := range x.Parts {
			switch {
			case len(p.By) > 0:
				s.monomials = append(s.monomials, newMonomial(p, b.lane))
			case p.Variable == b.lane:
				s.fast = append(s.fast, p)
			default:
				s.slow = append(s.slow, p)
			}
		}
		all = append(all, s)
	}
	return all
}

// monomial is a part with several entries, for tuples that differ in one variable: other variables' entries are fixed.
type monomial struct {
	program.Part
	own  bool            // the first entry varies
	slow []program.Where // constant entries of By
	fast []int           // columns of By that vary
}

func newMonomial(p program.Part, lane int) monomial {
	r := monomial{Part: p, own: p.Variable == lane}
	for _, w := range p.By {
		if w.Variable == lane {
			r.fast = append(r.fast, w.Column)
		} else {
			r.slow = append(r.slow, w)
		}
	}
	return r
}

// constant returns the weight times the constant entries of By.
func (p *monomial) constant(m *evaluator) float64 {
	w := p.Weight
	for _, at := range p.slow {
		w *= m.data.columns[at.Column][m.index[at.Variable]]
	}
	return w
}

// scaled returns x times the varying entries of By for tuple t.
func (p *monomial) scaled(m *evaluator, x float64, t int) float64 {
	for _, column := range p.fast {
		x *= m.data.columns[column][m.rows[t]]
	}
	return x
}

func (s *split) addMonomials(m *evaluator, d []float64) {
	for i := range s.monomials {
		p := &s.monomials[i]
		w, column := p.constant(m), m.data.columns[p.Column]
		if !p.own {
			w *= column[m.index[p.Variable]]
		}
		if len(p.fast) == 0 && !p.own {
			for t := range d {
				d[t] += w
			}
			continue
		}
		for t := range d {
			x := w
			if p.own {
				x *= column[m.rows[t]]
			}
			d[t] += p.scaled(m, x, t)
		}
	}
}

// scatter adds the gradients of n tuples to the gradient of the first entry's column.
func (p *monomial) scatter(m *evaluator, d []float64) {
	if !m.smooth(p.Column) {
		return
	}
	w, to := p.constant(m), m.slopes[p.Column]
	if p.own {
		for t, x := range d {
			to[m.rows[t]] += p.scaled(m, w*x, t)
		}
		return
	}
	sum := 0.0
	for t, x := range d {
		sum += p.scaled(m, w*x, t)
	}
	to[m.index[p.Variable]] += sum
}

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

func steep(x float64) float64 { return min(max(x, -steepest), steepest) }
