package logic

import (
	"fmt"
	"math"
	"slices"

	"github.com/unravel-ml/unravel/losses/logic/syntax"
)

// Fitted is a function that attains the quantity of a sentence for a batch. It is the best function of its class, or
// the minimiser of its criterion (Zhang and Sugiyama 2024, definitions 5 and 8 and equations 15 and 16).
type Fitted struct {
	syntax.Function
	FromColumns, ToColumns []int // of codes or factors

	// For functions in a class:
	Matrix [][]float64 // W, by column of To, then of From
	Offset []float64   // b

	// For functions of levels: the labels of the levels that occur in the domain, and their points.
	Levels, Points [][]float64

	// Values holds the function's value for every row of the batch. It is NaN if a factor in the argument is unknown,
	// or if its level does not occur in the domain. Values is nil if the argument depends on more than one row.
	Values [][]float64
}

// String returns the function with its matrix and offset, or its levels and points.
func (f Fitted) String() string {
	switch {
	case f.Matrix != nil:
		return fmt.Sprintf("%v, matrix %v, offset %v", f.Function, f.Matrix, f.Offset)
	case f.Levels != nil:
		return fmt.Sprintf("%v, levels %v, points %v", f.Function, f.Levels, f.Points)
	}
	return f.Function.String()
}

// Approximation returns the functions of the sentence's quantifiers for a batch, in their order. A function that is
// fitted for each of several values comes several times. A function with an empty domain is left out. Functions in mlp
// come last, with their values alone. An infinite number or NaN in the domain of a function is an error.
func (q *Quantity) Approximation(b Batch) ([]Fitted, error) {
	e, err := q.load(b)
	if err != nil {
		return nil, err
	}
	if len(q.program.networks) > 0 {
		v, err := e.fitNetworks(b.Stream, b.Labels != nil)
		if err == nil && (math.IsNaN(v) || math.IsInf(v, 0)) {
			err = e.notFinite(v)
		}
		if err != nil {
			return nil, err
		}
	}
	found := map[*fitted][]Fitted{}
	e.record = func(m *evaluator, f *fitted, s *fitState) {
		found[f] = f.export(m, s, found[f])
	}
	if _, err := e.forward(b.Labels != nil); err != nil {
		return nil, err
	}
	if e.fault != nil {
		return nil, e.fault
	}
	var all []Fitted
	for _, f := range q.program.fitted {
		for k := range found[f] {
			f.apply(e.main, &found[f][k])
		}
		all = append(all, found[f]...)
	}
	return append(all, q.program.networkValues(e)...), nil
}

// Product returns the codes with the functions' values in the columns that the functions map to. Other columns keep
// their codes. For a product function m.a: y.a -> z.a, m.b: y.b -> z.b, ... it is m*, the best product approximation.
// Product ignores rows and columns that only the functions or only the codes have.
func Product(functions []Fitted, codes [][]float64) [][]float64 {
	rows := make([][]float64, len(codes))
	for i, z := range codes {
		rows[i] = slices.Clone(z)
		for _, f := range functions {
			if !f.To.Codes || i >= len(f.Values) {
				continue
			}
			for k, c := range f.ToColumns {
				if c < len(z) {
					rows[i][c] = f.Values[i][k]
				}
			}
		}
	}
	return rows
}

// fault returns why a function could not be fitted: the first NaN or infinite number in its domain, or otherwise the
// error of the fit.
func (f *fitted) fault(m *evaluator, s *fitState, err error) error {
	for i := range f.of(s) {
		f.enter(m, s, i)
		for _, x := range slices.Concat(f.source, f.target) {
			for _, p := range x.parts {
				if v := m.data.columns[p.column][m.index[p.variable]]; math.IsNaN(v) || math.IsInf(v, 0) {
					return fmt.Errorf("logic: the function %s is fitted to %v %s, want finite numbers", f.mapping.Name, v, m.engine.program.entry(p.column, int(m.index[p.variable])))
				}
			}
		}
	}
	if err != nil {
		return fmt.Errorf("logic: the function %s has no fit: %w", f.mapping.Name, err)
	}
	return nil
}

// notFinite returns the error of networks with the quantity v. It names the first code, or known value of a factor,
// that is not finite.
func (e *engine) notFinite(v float64) error {
	p, d := e.program, &e.data
	for column := range p.labels {
		for row, x := range d.columns[column] {
			known := column < p.values || d.levels[column-p.values][row] >= 0
			if known && (math.IsNaN(x) || math.IsInf(x, 0)) {
				return fmt.Errorf("logic: a network is fitted to %v %s, want finite numbers", x, p.entry(column, row))
			}
		}
	}
	return fmt.Errorf("logic: networks fitted to the batch give the quantity %v, want a finite one; the numbers may be too large", v)
}

// entry names an entry of a column.
func (p *program) entry(column, row int) string {
	switch {
	case column < p.values:
		return fmt.Sprintf("in row %d, column %d of codes", row, column)
	case column < p.labels:
		return fmt.Sprintf("in row %d, column %d of factors", row, column-p.values)
	}
	return fmt.Sprintf("in row %d", row)
}

// export adds the function of the last computation.
func (f *fitted) export(m *evaluator, s *fitState, all []Fitted) []Fitted {
	r := Fitted{Function: f.mapping.Function, FromColumns: f.mapping.from, ToColumns: f.mapping.to}
	if f.mapping.Class != syntax.AnyFunction {
		weights, offset := s.regression.Weights, s.regression.Intercept
		switch f.mapping.Class {
		case syntax.Isometry:
			weights, offset = s.isometry.Matrix, s.isometry.Offset
		case syntax.Linear:
			offset = make([]float64, len(f.target))
		}
		r.Offset = slices.Clone(offset)
		for k := range f.target {
			row := make([]float64, len(f.source))
			for j := range row {
				row[j] = weights[j*len(f.target)+k]
			}
			r.Matrix = append(r.Matrix, row)
		}
		return append(all, r)
	}
	point := s.centre
	if f.mapping.By != syntax.ByBody {
		point = s.regression.Intercept
	}
	level := f.levelsOf(m, s)
	last := len(all) - 1
	if last < 0 || slices.ContainsFunc(all[last].Levels, func(l []float64) bool { return slices.Equal(l, level) }) {
		all, last = append(all, r), last+1
	}
	all[last].Levels, all[last].Points = append(all[last].Levels, level), append(all[last].Points, slices.Clone(point))
	return all
}

// levelsOf returns the labels of the levels of the group of the last computation.
func (f *fitted) levelsOf(m *evaluator, s *fitState) (labels []float64) {
	p := m.engine.program
	if f.level != nil {
		return []float64{m.data.columns[p.levelLabels+f.level.factor][m.index[f.level.id]]}
	}
	f.enter(m, s, int(s.starts[s.group]))
	for _, k := range f.mapping.from {
		labels = append(labels, m.data.columns[p.labels+k][m.index[f.variable]])
	}
	return labels
}

// apply computes the values of all rows.
func (f *fitted) apply(m *evaluator, r *Fitted) {
	own := f.binders[0].variable
	for _, x := range f.source {
		for _, p := range x.parts {
			if p.variable != own {
				return
			}
		}
	}
	if f.level == nil && f.variable != own && f.source == nil {
		return
	}
	p := m.engine.program
	for i := range m.data.rows {
		value := slices.Repeat([]float64{math.NaN()}, len(f.target))
		m.index[own] = int32(i)
		var labels []float64
		known := true
		for _, k := range r.FromColumns {
			if !r.From.Codes {
				known = known && m.data.levels[k][i] >= 0
				if p.needsLabels {
					labels = append(labels, m.data.columns[p.labels+k][i])
				}
			}
		}
		at := slices.IndexFunc(r.Levels, func(l []float64) bool { return slices.Equal(l, labels) })
		switch {
		case !known:
		case r.Matrix == nil && at >= 0:
			copy(value, r.Points[at])
		case r.Matrix != nil:
			for k, row := range r.Matrix {
				value[k] = r.Offset[k]
				for j, w := range row {
					value[k] += w * f.source[j].at(m)
				}
			}
		}
		r.Values = append(r.Values, value)
	}
}
