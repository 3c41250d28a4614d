package logic

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/lbfgs"
	"github.com/unravel-ml/unravel/losses/logic/syntax"
)

// Network is a function in mlp of a sentence: dense layers of tanh units, and a dense layer without an activation.
type Network struct {
	Name   string // of the function
	Layers []int  // widths of the hidden layers
	Out    int    // columns of its values
}

// defaultLayers are the hidden layers of a function in mlp without layers.
var defaultLayers = []int{64}

// learned is a network in a program. Its values at all rows are columns of the program.
type learned struct {
	Network
	function syntax.Function
	to       []int // columns of its values in the codes or factors
	codes    bool  // its arguments are codes
	columns  []int // of the codes or factors
	at       int   // first column of its values
}

// network makes the values of a function in mlp an input. The function is trained along, or fitted to the whole
// sentence. Its quantifier must therefore be a summand of the sentence.
func (c *compiler) network(m *mapping, f *syntax.Quantified) error {
	switch {
	case m.By != syntax.ByBody:
		return c.fail(m.Declaration, "a function in mlp is trained by the quantity itself; want no `by`, or in affine or linear by %v", m.By)
	case !c.isSummand(f, c.sentence.Body):
		return c.fail(f, "a function in mlp is trained by the whole sentence; want its quantifier as one of the parts that the sentence adds up by and, with a factor or without")
	}
	for _, n := range c.program.networks {
		if n.Name == m.Name {
			return c.fail(m.Declaration, "two functions in mlp are called %s, and have parameters of this name; want another name", m.Name)
		}
	}
	if !m.From.Codes {
		for _, k := range m.from {
			c.program.valueColumn(k)
		}
	}
	layers := m.Layers
	if layers == nil {
		layers = defaultLayers
	}
	n := &learned{Network: Network{m.Name, layers, len(m.to)}, function: m.Function, to: m.to, codes: m.From.Codes, columns: m.from}
	n.at = c.program.input(computed, n.Out)
	c.program.networks = append(c.program.networks, n)
	m.network = n
	return nil
}

// networkValue compiles the value of a function in mlp at codes or factors of a row.
func (c *compiler) networkValue(a *syntax.Application, m *mapping) (linear, error) {
	x, ok := syntax.Bare(a.A).(*syntax.Access)
	if !ok {
		return linear{}, c.fail(a, "%s in mlp is a function of %s of a row, got %s", m.Name, syntax.TextOf(m.From.Access(0)), syntax.TextOf(a.A))
	}
	row, err := c.row(x)
	if err != nil {
		return linear{}, err
	}
	columns, err := c.columnsOf(x)
	if err != nil {
		return linear{}, err
	}
	if x.Codes != m.From.Codes || !slices.Equal(columns, m.from) {
		return linear{}, c.fail(a, "%s is a function of %s, got %s", m.Name, syntax.TextOf(m.From.Access(0)), syntax.TextOf(a.A))
	}
	var l linear
	for k := range m.to {
		l.coordinates = append(l.coordinates, coordinate{parts: []part{{weight: 1, column: m.network.at + k, variable: row.id}}})
	}
	return l, nil
}

// networkNodes returns the values of the networks, in the order of the program's computed inputs.
func (q *Quantity) networkNodes(with Named, in Inputs) ([]*gorgonia.Node, error) {
	var all []*gorgonia.Node
	for _, n := range q.program.networks {
		if with.Network == nil {
			return nil, fmt.Errorf("logic: the function %s in mlp is trained along with a model; want the loss logic of a config", n.Name)
		}
		x := q.z(in)
		if !n.codes {
			x = in.Values
		}
		if !slices.Equal(n.columns, upTo(x.Shape()[1])) {
			var columns gorgonia.Nodes
			for _, k := range n.columns {
				column, err := graph.SliceColumns(x, k, k+1)
				if err != nil {
					return nil, err
				}
				columns = append(columns, column)
			}
			var err error
			if x, err = graph.ConcatColumns(columns...); err != nil {
				return nil, err
			}
		}
		y, err := with.Network(n.Network, x)
		if err != nil {
			return nil, fmt.Errorf("function %s: %w", n.Name, err)
		}
		all = append(all, y)
	}
	return all, nil
}

func upTo(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// The parameters of networks are sought from some starts. A search ends if networkWindow steps of L-BFGS lower the
// quantity by less than networkDecrease of it, or if it is below networkFloor.
const (
	networkStarts   = 5
	networkSteps    = 5000
	networkWindow   = 100
	networkDecrease = 1e-6
	networkFloor    = 1e-10
)

// fitNetworks minimises the quantity over the networks' parameters from several starts that the stream draws. It sets
// the networks' values to the least local minimum found and returns the quantity there.
func (e *engine) fitNetworks(s *rng.Stream, labels bool) (float64, error) {
	if s == nil {
		s = rng.New(0, "logic")
	}
	f := &networkFit{engine: e, labels: labels}
	for _, n := range e.program.networks {
		f.networks = append(f.networks, newPerceptron(n, &e.data, e.program.values, e.program.labels))
	}
	var best []float64
	least := math.NaN()
	for range networkStarts {
		var x []float64
		for _, p := range f.networks {
			x = append(x, p.start(s)...)
		}
		v, err := lbfgs.Minimise(f.at, x, lbfgs.Settings{Iterations: networkSteps, Window: networkWindow, Decrease: networkDecrease, Floor: networkFloor, Interrupt: f.ended})
		if err = cmp.Or(f.err, err); err != nil {
			return 0, err
		}
		if best == nil || v < least {
			best, least = x, v
		}
		if least <= networkFloor {
			break
		}
	}
	return f.at(best, make([]float64, len(best))), f.err
}

// networkFit is the quantity as a function of the parameters of networks.
type networkFit struct {
	engine   *engine
	networks []*perceptron
	labels   bool
	err      error
}

// at returns the quantity for parameters x, and sets g to its gradient.
func (f *networkFit) at(x, g []float64) float64 {
	at := 0
	for _, p := range f.networks {
		p.forward(x[at:at+p.count], &f.engine.data)
		at += p.count
	}
	v, err := f.engine.forward(f.labels)
	if err != nil {
		f.err = err
		return math.NaN()
	}
	f.engine.backward(1)
	at = 0
	for _, p := range f.networks {
		p.backward(x[at:at+p.count], g[at:at+p.count], f.engine.main.slopes)
		at += p.count
	}
	return v
}

func (f *networkFit) ended() error { return cmp.Or(f.err, f.engine.interrupt()) }

// perceptron is a network in double precision. Arguments are scaled to mean 0 and deviation 1, which changes the start
// of the search, not the class.
type perceptron struct {
	*learned
	sizes  []int
	count  int         // parameters: weights [in+1, out] of each layer, with the bias in the last row
	values [][]float64 // of the layers' units, row by row; the first are the arguments
	slopes [][]float64
}

func newPerceptron(n *learned, d *data, values, labels int) *perceptron {
	p := &perceptron{learned: n, sizes: slices.Concat([]int{len(n.columns)}, n.Layers, []int{n.Out})}
	for i, size := range p.sizes {
		if i > 0 {
			p.count += (p.sizes[i-1] + 1) * size
		}
		p.values = append(p.values, make([]float64, d.rows*size))
		p.slopes = append(p.slopes, make([]float64, d.rows*size))
	}
	for k, column := range n.columns {
		if !n.codes {
			column += values
		}
		x := d.columns[column]
		if !n.codes {
			x = d.knownOnly(x, d.columns[column-values+labels])
		}
		mean, square := meanOf(nil, x, 1)[0], 0.0
		for _, v := range x {
			square += (v - mean) * (v - mean) / float64(len(x))
		}
		deviation := math.Sqrt(square)
		if deviation == 0 {
			deviation = 1
		}
		for i, v := range x {
			p.values[0][i*len(n.columns)+k] = (v - mean) / deviation
		}
	}
	return p
}

// knownOnly returns values with 0 for NaN and infinity in rows with unknown labels. This keeps rows outside every
// domain from affecting the others.
func (d *data) knownOnly(values, labels []float64) []float64 {
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

// start draws parameters as Glorot and Bengio do, with biases of 0.
func (p *perceptron) start(s *rng.Stream) []float64 {
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

// forward computes the values at all rows, and sets their columns.
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
	for k := range p.Out {
		for r := range d.rows {
			d.columns[p.at+k][r] = y[r*p.Out+k]
		}
	}
}

// backward sets g to the gradient in the parameters, given the gradient in the columns of the values.
func (p *perceptron) backward(w, g []float64, columns [][]float64) {
	clear(g)
	last := len(p.sizes) - 1
	for k := range p.Out {
		for r, x := range columns[p.at+k] {
			p.slopes[last][r*p.Out+k] = x
		}
	}
	end := len(w)
	for l := last - 1; l >= 0; l-- {
		in, out := p.sizes[l], p.sizes[l+1]
		first := end - (in+1)*out
		p.layer(l, w[first:end], g[first:end])
		end = first
	}
}

// layer adds the gradient in the parameters of a layer, and sets the gradient in the units before it.
func (p *perceptron) layer(l int, w, g []float64) {
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

// networks makes inputs of the functions in mlp. A quantifier that mixes functions in mlp with others is an error.
func (c *compiler) networks(f *syntax.Quantified, own []*mapping) error {
	for _, m := range own {
		if m.Class == syntax.MLP {
			if err := c.network(m, f); err != nil {
				return err
			}
		}
	}
	if n := len(c.exact()); n > 0 && n < len(c.maps) {
		return c.fail(f, "functions in mlp and others share a quantifier; want functions in mlp in one of their own")
	}
	return nil
}

// exact lists the functions in scope that are fitted by solving a problem rather than by training.
func (c *compiler) exact() []*mapping {
	return slices.DeleteFunc(slices.Clone(c.maps), func(m *mapping) bool { return m.Class == syntax.MLP })
}

// networkValues returns the networks with their values for every row.
func (p *program) networkValues(e *engine) []Fitted {
	var all []Fitted
	for _, n := range p.networks {
		f := Fitted{Function: n.function, FromColumns: n.columns, ToColumns: n.to}
		for i := range e.data.rows {
			var row []float64
			known := n.codes || !slices.ContainsFunc(n.columns, func(k int) bool { return e.data.levels[k][i] < 0 })
			for k := range n.Out {
				x := e.data.columns[n.at+k][i]
				if !known {
					x = math.NaN()
				}
				row = append(row, x)
			}
			f.Values = append(f.Values, row)
		}
		all = append(all, f)
	}
	return all
}
