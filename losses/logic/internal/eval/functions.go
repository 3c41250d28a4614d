package eval

import (
	"fmt"
	"math"
	"slices"

	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/losses/logic/internal/program"
	"github.com/unravel-ml/unravel/losses/logic/internal/syntax"
)

// Function is a function that attains the quantity of a program for a batch; logic.Fitted describes the fields.
type Function struct {
	*syntax.Function
	FromColumns, ToColumns []int
	Matrix                 [][]float64
	Offset                 []float64
	Levels, Points, Values [][]float64
}

// Functions fits the functions of the program to the current batch, and returns them in the order of their quantifiers.
// Networks come last.
func (e *Engine) Functions(s *rng.Stream, labels bool) ([]Function, error) {
	if len(e.program.Networks) > 0 {
		v, err := e.FitNetworks(s, labels)
		if err == nil && (math.IsNaN(v) || math.IsInf(v, 0)) {
			err = e.notFinite(v)
		}
		if err != nil {
			return nil, err
		}
	}
	found, nodes := map[*program.Fit][]Function{}, map[*program.Fit]*fit{}
	e.record = func(f *fit) {
		found[f.Fit], nodes[f.Fit] = f.export(e.main, found[f.Fit]), f
	}
	if _, err := e.Value(labels); err != nil {
		return nil, err
	}
	if e.fault != nil {
		return nil, e.fault
	}
	var all []Function
	for _, p := range e.program.Fits {
		for k := range found[p] {
			nodes[p].apply(e.main, &found[p][k])
		}
		all = append(all, found[p]...)
	}
	for _, n := range e.program.Networks {
		all = append(all, e.networkValues(n))
	}
	return all, nil
}

func (e *Engine) networkValues(n *program.Network) Function {
	f := Function{Function: n.Function, FromColumns: n.Columns, ToColumns: n.To}
	for i := range e.data.rows {
		known := n.From.Codes || !slices.ContainsFunc(n.Columns, func(k int) bool { return e.data.levels[k][i] < 0 })
		var row []float64
		for k := range n.To {
			x := e.data.columns[n.At+k][i]
			if !known {
				x = math.NaN()
			}
			row = append(row, x)
		}
		f.Values = append(f.Values, row)
	}
	return f
}

// cause returns why a function could not be fitted: the first NaN or infinite number in its domain, or otherwise the
// error of the fit.
func (f *fit) cause(m *evaluator, err error) error {
	for i := range f.count() {
		f.enter(m, i)
		for _, x := range slices.Concat(f.Source, f.Target) {
			for _, p := range x.Parts {
				if v := m.data.columns[p.Column][m.index[p.Variable]]; math.IsNaN(v) || math.IsInf(v, 0) {
					return fmt.Errorf("logic: the function %s is fitted to %v %s, want finite numbers", f.Name, v, m.engine.entry(p.Column, int(m.index[p.Variable])))
				}
			}
		}
	}
	if err != nil {
		return fmt.Errorf("logic: the function %s has no fit: %w", f.Name, err)
	}
	return nil
}

// notFinite returns the error of networks with the quantity v. It names the first code, or known value of a factor,
// that is NaN or infinite.
func (e *Engine) notFinite(v float64) error {
	p, d := e.program, &e.data
	for column := range p.Labels {
		for row, x := range d.columns[column] {
			known := column < p.Values || d.levels[column-p.Values][row] >= 0
			if known && (math.IsNaN(x) || math.IsInf(x, 0)) {
				return fmt.Errorf("logic: a network is fitted to %v %s, want finite numbers", x, e.entry(column, row))
			}
		}
	}
	return fmt.Errorf("logic: networks fitted to the batch give the quantity %v, want a finite one; the numbers may be too large", v)
}

// entry names an entry of a column for an error message.
func (e *Engine) entry(column, row int) string {
	p := e.program
	switch {
	case column < p.Values:
		return fmt.Sprintf("in row %d, column %d of codes", row, column)
	case column < p.Labels:
		return fmt.Sprintf("in row %d, column %d of factors", row, column-p.Values)
	}
	return fmt.Sprintf("in row %d", row)
}

// export appends the function of the last computation.
func (f *fit) export(m *evaluator, all []Function) []Function {
	r := Function{Function: f.Function, FromColumns: f.FromColumns, ToColumns: f.ToColumns}
	if f.Class != syntax.AnyFunction {
		weights, offset := f.regression.Weights, f.regression.Intercept
		switch f.Class {
		case syntax.Isometry:
			weights, offset = f.isometry.Matrix, f.isometry.Offset
		case syntax.Linear:
			offset = make([]float64, len(f.Target))
		}
		r.Offset = slices.Clone(offset)
		for k := range f.Target {
			row := make([]float64, len(f.Source))
			for j := range row {
				row[j] = weights[j*len(f.Target)+k]
			}
			r.Matrix = append(r.Matrix, row)
		}
		return append(all, r)
	}
	point := f.centre
	if f.By != syntax.ByBody {
		point = f.regression.Intercept
	}
	level := f.levelsOf(m)
	last := len(all) - 1
	if last < 0 || slices.ContainsFunc(all[last].Levels, func(l []float64) bool { return slices.Equal(l, level) }) {
		all, last = append(all, r), last+1
	}
	all[last].Levels, all[last].Points = append(all[last].Levels, level), append(all[last].Points, slices.Clone(point))
	return all
}

// levelsOf returns the labels of the levels of the group of the last computation.
func (f *fit) levelsOf(m *evaluator) (labels []float64) {
	p := m.engine.program
	if f.Level != nil {
		return []float64{m.data.columns[p.LevelLabels+f.Level.Factor][m.index[f.Level.Variable]]}
	}
	f.enter(m, int(f.starts[f.group]))
	for _, k := range f.FromColumns {
		labels = append(labels, m.data.columns[p.Labels+k][m.index[f.Row]])
	}
	return labels
}

// apply computes the values of the function for all rows.
func (f *fit) apply(m *evaluator, r *Function) {
	own := f.Binders[0].Variable
	for _, x := range f.Source {
		for _, p := range x.Parts {
			if p.Variable != own {
				return
			}
		}
	}
	if f.Level == nil && f.Row != own && f.Source == nil {
		return
	}
	for i := range m.data.rows {
		value := slices.Repeat([]float64{math.NaN()}, len(f.Target))
		m.index[own] = int32(i)
		labels, known := m.labelsOf(r, i)
		at := slices.IndexFunc(r.Levels, func(l []float64) bool { return slices.Equal(l, labels) })
		switch {
		case !known:
		case r.Matrix == nil && at >= 0:
			copy(value, r.Points[at])
		case r.Matrix != nil:
			for k, row := range r.Matrix {
				value[k] = r.Offset[k]
				for j, w := range row {
					value[k] += w * m.at(&f.Source[j])
				}
			}
		}
		r.Values = append(r.Values, value)
	}
}

// labelsOf returns the labels of a row for a function of factors, if the formula needs labels. It reports whether all
// levels are known.
func (m *evaluator) labelsOf(r *Function, row int) (labels []float64, known bool) {
	known = true
	if r.From.Codes {
		return nil, known
	}
	p := m.engine.program
	for _, k := range r.FromColumns {
		known = known && m.data.levels[k][row] >= 0
		if p.NeedsLabels {
			labels = append(labels, m.data.columns[p.Labels+k][row])
		}
	}
	return labels, known
}
