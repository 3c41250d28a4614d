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
	coordinates []coordinate
}

// coordinate is a coordinate of a difference: a constant, parts that the current tuples share (fixed), and parts that
// vary.
type coordinate struct {
	offset         float64
	fixed, varying []program.Part
	monomials      []monomial // parts with several entries
}

func (f *equality) cost(*data) float64 { return 1 }

// differences computes a coordinate for n tuples.
func (s *coordinate) differences(m *evaluator, d []float64) {
	s.addParts(m, d)
	if len(s.monomials) > 0 {
		s.addMonomials(m, d)
	}
}

// addParts adds the offset and the parts with one entry.
func (s *coordinate) addParts(m *evaluator, d []float64) {
	x := s.offset
	for _, p := range s.fixed {
		x += p.Weight * m.data.columns[p.Column][m.index[p.Variable]]
	}
	if len(s.varying) == 0 {
		for t := range d {
			d[t] = x
		}
		return
	}
	rows := m.rows[:len(d)]
	p := &s.varying[0]
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
	for k := 1; k < len(s.varying); k++ {
		p := &s.varying[k]
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
	weights := f.gradients[:n] // the gradient of d^2/2, or of d
	value, nonzero := f.values, false
	for t, x := range g[:n] {
		switch {
		case f.Premetric == syntax.Squared:
			x *= 2
		case f.Premetric == syntax.Euclidean && value[t] > 0:
			x /= value[t]
		case f.Premetric == syntax.Euclidean:
			x = 0
		}
		nonzero = nonzero || x != 0
		weights[t] = x
	}
	if !nonzero {
		return
	}
	d := m.difference[:n]
	for k := range f.coordinates {
		s := &f.coordinates[k]
		s.differences(m, d)
		switch f.Premetric {
		case syntax.Absolute:
			for t, x := range d {
				d[t] = weights[t] * sign(x)
			}
		case syntax.Circular:
			for t, x := range d {
				d[t] = weights[t] * f.arcSlope(x)
			}
		default:
			for t := range d {
				d[t] *= weights[t]
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

// arcSlope returns the derivative of the arc at a difference.
func (f *equality) arcSlope(x float64) float64 {
	switch arc := math.Mod(math.Abs(x), f.Period); {
	case arc == 0:
		return 0
	case arc <= f.Period-arc:
		return sign(x)
	}
	return -sign(x)
}

// scatter adds the gradient with respect to a coordinate to the gradients of the codes.
func (s *coordinate) scatter(m *evaluator, d []float64) {
	for i := range s.monomials {
		s.monomials[i].scatter(m, d)
	}
	for _, p := range s.varying {
		if !m.hasGradient(p.Column) {
			continue
		}
		gradient, w, rows := m.gradients[p.Column], p.Weight, m.rows[:len(d)]
		if lo := int(rows[0]); int(rows[len(rows)-1])-lo == len(rows)-1 {
			gradient = gradient[lo:][:len(d)]
			for t, x := range d {
				gradient[t] += w * x
			}
			continue
		}
		for t, r := range rows {
			gradient[r] += w * d[t]
		}
	}
	sum := 0.0
	for _, x := range d {
		sum += x
	}
	for _, p := range s.fixed {
		if m.hasGradient(p.Column) {
			m.gradients[p.Column][m.index[p.Variable]] += p.Weight * sum
		}
	}
}

// split separates the parts of a term that vary over the current tuples from the constant ones.
func (b *builder) split(term []program.Coordinate) (coordinates []coordinate) {
	for _, x := range term {
		s := coordinate{offset: x.Offset}
		for _, p := range x.Parts {
			switch {
			case len(p.By) > 0:
				s.monomials = append(s.monomials, newMonomial(p, b.innermost))
			case p.Variable == b.innermost:
				s.varying = append(s.varying, p)
			default:
				s.fixed = append(s.fixed, p)
			}
		}
		coordinates = append(coordinates, s)
	}
	return coordinates
}

// monomial is a part with several entries, for tuples that differ in one variable: other variables' entries are fixed.
type monomial struct {
	program.Part
	firstVaries bool            // the first entry varies
	fixed       []program.Where // constant entries of By
	varying     []int           // columns of By that vary
}

func newMonomial(p program.Part, lane int) monomial {
	r := monomial{Part: p, firstVaries: p.Variable == lane}
	for _, w := range p.By {
		if w.Variable == lane {
			r.varying = append(r.varying, w.Column)
		} else {
			r.fixed = append(r.fixed, w)
		}
	}
	return r
}

// fixedFactor returns the weight times the constant entries of By.
func (p *monomial) fixedFactor(m *evaluator) float64 {
	w := p.Weight
	for _, entry := range p.fixed {
		w *= m.data.columns[entry.Column][m.index[entry.Variable]]
	}
	return w
}

// timesVarying returns x times the varying entries of By for tuple t.
func (p *monomial) timesVarying(m *evaluator, x float64, t int) float64 {
	for _, column := range p.varying {
		x *= m.data.columns[column][m.rows[t]]
	}
	return x
}

func (s *coordinate) addMonomials(m *evaluator, d []float64) {
	for i := range s.monomials {
		p := &s.monomials[i]
		w, column := p.fixedFactor(m), m.data.columns[p.Column]
		if !p.firstVaries {
			w *= column[m.index[p.Variable]]
		}
		if len(p.varying) == 0 && !p.firstVaries {
			for t := range d {
				d[t] += w
			}
			continue
		}
		for t := range d {
			x := w
			if p.firstVaries {
				x *= column[m.rows[t]]
			}
			d[t] += p.timesVarying(m, x, t)
		}
	}
}

// scatter adds the gradients of n tuples to the gradient of the first entry's column.
func (p *monomial) scatter(m *evaluator, d []float64) {
	if !m.hasGradient(p.Column) {
		return
	}
	w, gradient := p.fixedFactor(m), m.gradients[p.Column]
	if p.firstVaries {
		for t, x := range d {
			gradient[m.rows[t]] += p.timesVarying(m, w*x, t)
		}
		return
	}
	sum := 0.0
	for t, x := range d {
		sum += p.timesVarying(m, w*x, t)
	}
	gradient[m.index[p.Variable]] += sum
}

// cosine is the cosine distance of two terms. It computes half the squared distance between their unit vectors, which
// is exactly 0 for equal terms.
type cosine struct {
	base
	*program.Cosine
	a, b    []coordinate
	lengths [2][]float64 // lengths of the terms
}

func (f *cosine) cost(*data) float64 { return 2 }

// termLengths computes the lengths of a term at n tuples without overflow.
func (f *cosine) termLengths(m *evaluator, term []coordinate, sizes []float64) []float64 {
	n := len(sizes)
	largest, d := f.operandGradients[:n], m.difference[:n]
	clear(largest)
	for k := range term {
		term[k].differences(m, d)
		for t, x := range d {
			largest[t] = max(largest[t], math.Abs(x))
		}
	}
	clear(sizes)
	for k := range term {
		term[k].differences(m, d)
		for t, x := range d {
			if largest[t] != 0 {
				x /= largest[t]
				sizes[t] += x * x
			}
		}
	}
	for t := range sizes {
		sizes[t] = largest[t] * math.Sqrt(sizes[t])
	}
	return sizes
}

func (f *cosine) value(m *evaluator, n int) []float64 {
	out, a, b := f.values[:n], f.termLengths(m, f.a, f.lengths[0][:n]), f.termLengths(m, f.b, f.lengths[1][:n])
	x, y := m.difference[:n], f.operandGradients[:n]
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
	x, y := m.difference[:n], f.operandGradients[:n]
	for k := range f.a {
		f.a[k].differences(m, x)
		f.b[k].differences(m, y)
		for t := range x {
			if a[t] == 0 || b[t] == 0 || g[t] == 0 {
				x[t], y[t] = 0, 0
				continue
			}
			p, q := x[t]/a[t], y[t]/b[t]
			x[t] = g[t] * clampSlope((p-q-value[t]*p)/a[t])
			y[t] = g[t] * clampSlope((q-p-value[t]*q)/b[t])
		}
		f.a[k].scatter(m, x)
		f.b[k].scatter(m, y)
	}
}

func clampSlope(x float64) float64 { return min(max(x, -maxSlope), maxSlope) }
