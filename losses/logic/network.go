package logic

import (
	"fmt"
	"github.com/unravel-ml/unravel/losses/logic/internal/program"
	"slices"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/graph"
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

// network makes the values of a function in mlp an input. The function is trained along, or fitted to the whole
// sentence. Its quantifier must therefore be a summand of the sentence.
func (c *compiler) network(m *mapping, f *syntax.Quantified) error {
	switch {
	case m.By != syntax.ByBody:
		return c.fail(m.Declaration, "a function in mlp is trained by the quantity itself; want no `by`, or in affine or linear by %v", m.By)
	case !c.isSummand(f, c.sentence.Body):
		return c.fail(f, "a function in mlp is trained by the whole sentence; want its quantifier as one of the parts that the sentence adds up by and, with a factor or without")
	}
	for _, n := range c.program.Networks {
		if n.Name == m.Name {
			return c.fail(m.Declaration, "two functions in mlp are called %s, and have parameters of this name; want another name", m.Name)
		}
	}
	if !m.From.Codes {
		c.program.NeedsValues = true
	}
	layers := m.Layers
	if layers == nil {
		layers = defaultLayers
	}
	m.network = &program.Network{Function: m.Function, Layers: layers, Columns: m.from, To: m.to, At: c.program.Input(program.Computed, len(m.to))}
	c.program.Networks = append(c.program.Networks, m.network)
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
		l.add(m.network.At+k, row)
	}
	return l, nil
}

// networkNodes returns the values of the networks, in the order of the program's computed inputs.
func (q *Quantity) networkNodes(with Named, in Inputs) ([]*gorgonia.Node, error) {
	var all []*gorgonia.Node
	for _, n := range q.program.Networks {
		if with.Network == nil {
			return nil, fmt.Errorf("logic: the function %s in mlp is trained along with a model; want the loss logic of a config", n.Name)
		}
		x := q.z(in)
		if !n.From.Codes {
			x = in.Values
		}
		if !slices.Equal(n.Columns, upTo(x.Shape()[1])) {
			var columns gorgonia.Nodes
			for _, k := range n.Columns {
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
		y, err := with.Network(Network{n.Name, n.Layers, len(n.To)}, x)
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
