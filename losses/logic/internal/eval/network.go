package eval

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/lbfgs"
	"github.com/unravel-ml/unravel/losses/logic/internal/program"
	"github.com/unravel-ml/unravel/losses/logic/internal/syntax"
)

// Training of networks starts from several random initialisations. It stops if networkWindow steps of L-BFGS lower the
// quantity by less than the fraction networkDecrease, or if the quantity is below networkFloor.
const (
	networkStarts   = 5
	networkSteps    = 5000
	networkWindow   = 100
	networkDecrease = 1e-6
	networkFloor    = 1e-10
)

// FitNetworks minimises the quantity over the networks' parameters, from several random starts. It sets the networks'
// values at the smallest local minimum that it finds, and returns the quantity there.
func (e *Engine) FitNetworks(s *rng.Stream, labels bool) (float64, error) {
	if s == nil {
		s = rng.New(0, "logic")
	}
	f := &networkFit{engine: e, labels: labels}
	for _, n := range e.program.Networks {
		f.networks = append(f.networks, newPerceptron(n, &e.data, e.program.Values, e.program.Labels))
	}
	var best []float64
	smallest := math.NaN()
	for range networkStarts {
		var x []float64
		for _, p := range f.networks {
			x = append(x, p.initialParameters(s)...)
		}
		v, err := lbfgs.Minimise(f.quantity, x, lbfgs.Settings{Iterations: networkSteps, Window: networkWindow,
			Decrease: networkDecrease, Floor: networkFloor, Interrupt: f.interrupt})
		if err = cmp.Or(f.err, err); err != nil {
			return 0, err
		}
		if best == nil || v < smallest {
			best, smallest = x, v
		}
		if smallest <= networkFloor {
			break
		}
	}
	return f.quantity(best, make([]float64, len(best))), f.err
}

// networkFit is the quantity as a function of the parameters of networks.
type networkFit struct {
	engine   *Engine
	networks []*perceptron
	labels   bool
	err      error
}

// quantity returns the quantity for parameters x, and sets g to its gradient.
func (f *networkFit) quantity(x, g []float64) float64 {
	offset := 0
	for _, p := range f.networks {
		p.forward(x[offset:offset+p.count], &f.engine.data)
		offset += p.count
	}
	v, err := f.engine.Value(f.labels)
	if err != nil {
		f.err = err
		return math.NaN()
	}
	f.engine.Gradient(1)
	offset = 0
	for _, p := range f.networks {
		p.backward(x[offset:offset+p.count], g[offset:offset+p.count], f.engine.main.gradients)
		offset += p.count
	}
	return v
}

func (f *networkFit) interrupt() error { return cmp.Or(f.err, f.engine.interrupt()) }

// perceptron is a network in double precision. Arguments are standardised to mean 0 and deviation 1, which changes the
// initialisation but not the class of functions.
type perceptron struct {
	*program.Network
	out    int
	sizes  []int
	count  int         // number of parameters: weights [in+1, out] of each layer, with the bias in the last row
	values [][]float64 // values of the units of each layer, row by row; the first layer is the arguments
	slopes [][]float64
}

func newPerceptron(n *program.Network, d *data, values, labels int) *perceptron {
	p := &perceptron{Network: n, out: len(n.To), sizes: slices.Concat([]int{len(n.Columns)}, n.Layers, []int{len(n.To)})}
	for i, size := range p.sizes {
		if i > 0 {
			p.count += (p.sizes[i-1] + 1) * size
		}
		p.values = append(p.values, make([]float64, d.rows*size))
		p.slopes = append(p.slopes, make([]float64, d.rows*size))
	}
	for k, column := range n.Columns {
		if !n.From.Codes {
			column += values
		}
		x := d.columns[column]
		if !n.From.Codes {
			x = d.zeroUnknown(x, d.columns[column-values+labels])
		}
		mean, square := pointMean(nil, x, 1)[0], 0.0
		for _, v := range x {
			square += (v - mean) * (v - mean) / float64(len(x))
		}
		deviation := math.Sqrt(square)
		deviation = cmp.Or(deviation, 1)
		for i, v := range x {
			p.values[0][i*len(n.Columns)+k] = (v - mean) / deviation
		}
	}
	return p
}

// zeroUnknown replaces NaN and infinities by 0 in rows with unknown labels, so such rows do not affect others.
func (d *data) zeroUnknown(values, labels []float64) []float64 {
	if labels == nil {
		return values
	}
	values = slices.Clone(values)
	for i, x := range values {
		if (math.IsNaN(x) || math.IsInf(x, 0)) && !(labels[i] >= 0) {
			values[i] = 0
		}
	}
	return values
}

// initialParameters draws initial parameters by Glorot and Bengio's rule, with biases of 0.
func (p *perceptron) initialParameters(s *rng.Stream) []float64 {
	var all []float64
	for l := range p.sizes[1:] {
		in, out := p.sizes[l], p.sizes[l+1]
		limit := math.Sqrt(6 / float64(in+out))
		for range in * out {
			all = append(all, limit*(2*s.Float64()-1))
		}
		all = append(all, make([]float64, out)...)
	}
	return all
}

// forward computes the values for all rows, and sets their columns.
func (p *perceptron) forward(w []float64, d *data) {
	for l := range p.sizes[1:] {
		in, out := p.sizes[l], p.sizes[l+1]
		x, y := p.values[l], p.values[l+1]
		for r := range d.rows {
			row := y[r*out : (r+1)*out]
			copy(row, w[in*out:(in+1)*out])
			for k, v := range x[r*in : (r+1)*in] {
				for j, u := range w[k*out : (k+1)*out] {
					row[j] += v * u
				}
			}
			if l < len(p.sizes)-2 {
				for j, v := range row {
					row[j] = math.Tanh(v)
				}
			}
		}
		w = w[(in+1)*out:]
	}
	y := p.values[len(p.values)-1]
	for k := range p.out {
		for r := range d.rows {
			d.columns[p.At+k][r] = y[r*p.out+k]
		}
	}
}

// backward sets g to the gradient in the parameters, given the gradient in the columns of the values.
func (p *perceptron) backward(w, g []float64, columns [][]float64) {
	clear(g)
	last := len(p.sizes) - 1
	for k := range p.out {
		for r, x := range columns[p.At+k] {
			p.slopes[last][r*p.out+k] = x
		}
	}
	end := len(w)
	for l := last - 1; l >= 0; l-- {
		in, out := p.sizes[l], p.sizes[l+1]
		first := end - (in+1)*out
		p.backwardLayer(l, w[first:end], g[first:end])
		end = first
	}
}

// backwardLayer adds the gradient with respect to a layer's parameters, and sets the gradient with respect to its
// input.
func (p *perceptron) backwardLayer(l int, w, g []float64) {
	in, out := p.sizes[l], p.sizes[l+1]
	x, dx, dy := p.values[l], p.slopes[l], p.slopes[l+1]
	for r := range len(x) / max(in, 1) {
		row := dy[r*out : (r+1)*out]
		for j, v := range row {
			g[in*out+j] += v
		}
		for k, v := range x[r*in : (r+1)*in] {
			sum := 0.0
			for j, u := range row {
				g[k*out+j] += v * u
				sum += u * w[k*out+j]
			}
			dx[r*in+k] = sum * (1 - v*v) // derivative of a tanh unit; unused for an argument
		}
	}
}

// Function is a function that attains the quantity of a program for a batch; logic.Fitted describes the fields.
type Function struct {
	*syntax.Function
	FromColumns, ToColumns []int
	Matrix                 [][]float64
	Offset                 []float64
	Levels, Points, Values [][]float64
}

// Functions fits the functions of the program to the batch, and returns them by quantifier. Networks come last.
func (e *Engine) Functions(s *rng.Stream, labels bool) ([]Function, error) {
	if len(e.program.Networks) > 0 {
		v, err := e.FitNetworks(s, labels)
		if err == nil && (math.IsNaN(v) || math.IsInf(v, 0)) {
			err = e.notFiniteError(v)
		}
		if err != nil {
			return nil, err
		}
	}
	functions, nodes := map[*program.Fit][]Function{}, map[*program.Fit]*fit{}
	e.recordFit = func(f *fit) {
		functions[f.Fit], nodes[f.Fit] = f.appendFunction(e.main, functions[f.Fit]), f
	}
	if _, err := e.Value(labels); err != nil {
		return nil, err
	}
	if e.fault != nil {
		return nil, e.fault
	}
	var list []Function
	for _, p := range e.program.Fits {
		for k := range functions[p] {
			nodes[p].setValues(e.main, &functions[p][k])
		}
		list = append(list, functions[p]...)
	}
	for _, n := range e.program.Networks {
		list = append(list, e.networkValues(n))
	}
	return list, nil
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

// fitError returns why a function could not be fitted: the first NaN or infinite number in its domain, or the fit's
// error.
func (f *fit) fitError(m *evaluator, err error) error {
	for i := range f.count() {
		f.setTuple(m, i)
		for _, x := range slices.Concat(f.Source, f.Target) {
			for _, p := range x.Parts {
				if v := m.data.columns[p.Column][m.index[p.Variable]]; math.IsNaN(v) || math.IsInf(v, 0) {
					return fmt.Errorf("logic: the function %s is fitted to %v %s, want finite numbers",
						f.Name, v, m.engine.place(p.Column, int(m.index[p.Variable])))
				}
			}
		}
	}
	if err != nil {
		return fmt.Errorf("logic: the function %s has no fit: %w", f.Name, err)
	}
	return nil
}

// notFiniteError returns the error of networks with the quantity v: the first NaN or infinite code or known value.
func (e *Engine) notFiniteError(v float64) error {
	p, d := e.program, &e.data
	for column := range p.Labels {
		for row, x := range d.columns[column] {
			known := column < p.Values || d.levels[column-p.Values][row] >= 0
			if known && (math.IsNaN(x) || math.IsInf(x, 0)) {
				return fmt.Errorf("logic: a network is fitted to %v %s, want finite numbers", x, e.place(column, row))
			}
		}
	}
	return fmt.Errorf("logic: networks fitted to the batch give the quantity %v, want a finite one; the numbers may be too large", v)
}

// place names an entry of a column for an error message.
func (e *Engine) place(column, row int) string {
	p := e.program
	switch {
	case column < p.Values:
		return fmt.Sprintf("in row %d, column %d of codes", row, column)
	case column < p.Labels:
		return fmt.Sprintf("in row %d, column %d of factors", row, column-p.Values)
	}
	return fmt.Sprintf("in row %d", row)
}

// appendFunction appends the function of the last computation.
func (f *fit) appendFunction(m *evaluator, all []Function) []Function {
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
	f.setTuple(m, int(f.starts[f.group]))
	for _, k := range f.FromColumns {
		labels = append(labels, m.data.columns[p.Labels+k][m.index[f.Row]])
	}
	return labels
}

// setValues computes the values of the function for all rows.
func (f *fit) setValues(m *evaluator, r *Function) {
	variable := f.Binders[0].Variable
	for _, x := range f.Source {
		for _, p := range x.Parts {
			if p.Variable != variable {
				return
			}
		}
	}
	if f.Level == nil && f.Row != variable && f.Source == nil {
		return
	}
	for i := range m.data.rows {
		value := slices.Repeat([]float64{math.NaN()}, len(f.Target))
		m.index[variable] = int32(i)
		labels, known := m.labelsOf(r, i)
		level := slices.IndexFunc(r.Levels, func(l []float64) bool { return slices.Equal(l, labels) })
		switch {
		case !known:
		case r.Matrix == nil && level >= 0:
			copy(value, r.Points[level])
		case r.Matrix != nil:
			for k, row := range r.Matrix {
				value[k] = r.Offset[k]
				for j, w := range row {
					value[k] += w * m.coordinateValue(&f.Source[j])
				}
			}
		}
		r.Values = append(r.Values, value)
	}
}

// labelsOf returns a row's labels for a function of factors, if needed, and reports whether all levels are known.
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
