package logic

// monomial is a part with several entries, for tuples that differ in one variable: entries of other variables are
// constant over the tuples.
type monomial struct {
	part
	own  bool    // the first entry varies
	slow []where // of part.by
	fast []int   // columns of part.by that vary
}

func newMonomial(p part, lane int) monomial {
	r := monomial{part: p, own: p.variable == lane}
	for _, w := range p.by {
		if w.variable == lane {
			r.fast = append(r.fast, w.column)
		} else {
			r.slow = append(r.slow, w)
		}
	}
	return r
}

// constant is the weight times the entries of part.by that are constant.
func (p *monomial) constant(m *evaluator) float64 {
	w := p.weight
	for _, at := range p.slow {
		w *= m.data.columns[at.column][m.index[at.variable]]
	}
	return w
}

// scaled is x times the varying entries of part.by of tuple t.
func (p *monomial) scaled(m *evaluator, x float64, t int) float64 {
	for _, column := range p.fast {
		x *= m.data.columns[column][m.rows[t]]
	}
	return x
}

// addMonomials adds the monomials of n tuples.
func (s *split) addMonomials(m *evaluator, d []float64) {
	for i := range s.monomials {
		p := &s.monomials[i]
		w, column := p.constant(m), m.data.columns[p.column]
		if !p.own {
			w *= column[m.index[p.variable]]
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

// scatter adds the gradients of n tuples to the gradients of the first entry's column.
func (p *monomial) scatter(m *evaluator, d []float64) {
	if !m.smooth(p.column) {
		return
	}
	w, to := p.constant(m), m.slopes[p.column]
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
	to[m.index[p.variable]] += sum
}
