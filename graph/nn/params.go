// Package nn builds neural networks as Gorgonia graphs over named parameters.
//
// [Params] has the parameters of a model. All graphs ([Graph]) with a parameter share its tensor, so several graphs can
// train one model. Layers ([Conv], [Dense], [Norm]) are functions that add nodes and parameters. [Encoder] and
// [Decoder] are networks of layers. A config can name a network, or list its layers ([Layers]).
package nn

import (
	"fmt"
	"slices"
	"strings"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/memory"
)

// Params is an ordered set of named float32 tensors. A parameter's initial values depend only on the seed and its
// name, not on the order of creation.
type Params struct {
	seed    uint64
	names   []string
	tensors map[string]*tensor.Dense
	states  map[string]bool
}

// NewParams returns an empty set of parameters.
func NewParams(seed uint64) *Params {
	return &Params{seed: seed, tensors: map[string]*tensor.Dense{}, states: map[string]bool{}}
}

// IsState reports whether a tensor is a state. Optimisers do not change states; other rules update them. Examples are
// the running moments of a normalisation and EMA targets. Checkpoints contain states and parameters.
func (p *Params) IsState(name string) bool { return p.states[name] }

// Names lists the parameters in the order of their creation.
func (p *Params) Names() []string { return append([]string(nil), p.names...) }

// Get returns the tensor of a parameter, or nil for an unknown name.
func (p *Params) Get(name string) *tensor.Dense { return p.tensors[name] }

// Count returns the number of elements of all parameters and states.
func (p *Params) Count() int {
	n := 0
	for _, t := range p.tensors {
		n += t.DataSize()
	}
	return n
}

// Trainable returns the number of elements of all parameters, excluding states.
func (p *Params) Trainable() int {
	n := 0
	for name, t := range p.tensors {
		if !p.states[name] {
			n += t.DataSize()
		}
	}
	return n
}

// Create returns the parameter with the given name, and creates it at the first call. It returns an error if the
// parameter exists with another shape.
func (p *Params) Create(name string, shape tensor.Shape, init Init) (*tensor.Dense, error) {
	if t, ok := p.tensors[name]; ok {
		if !slices.Equal(t.Shape(), shape) {
			return nil, fmt.Errorf("parameter %q has shape %v; want %v", name, t.Shape(), shape)
		}
		return t, nil
	}
	const copies, size = 4, 4 // the parameter, its gradient and two moments of the optimiser; bytes
	if err := memory.Check(fmt.Sprintf("training it, of shape %v,", shape), copies*size*(float64(p.Count())+memory.Product(shape...))); err != nil {
		return nil, fmt.Errorf("parameter %q: %w", name, err)
	}
	if err := checkShape(shape); err != nil {
		return nil, fmt.Errorf("parameter %q: %w", name, err)
	}
	if init == nil {
		return nil, fmt.Errorf("parameter %q: there are no initial values; want an Init", name)
	}
	values := make([]float32, shape.TotalSize())
	init(rng.New(p.seed, "init/"+name), shape, values)
	t := tensor.New(tensor.WithShape(shape.Clone()...), tensor.WithBacking(values))
	p.names, p.tensors[name] = append(p.names, name), t
	return t, nil
}

// Graph is an expression graph over the parameters of one program.
type Graph struct {
	*gorgonia.ExprGraph
	Params *Params

	Training bool // normalisations use the moments of the batch, not the running moments
	Views    int  // equal parts of the batch that are normalised separately; 0: 1

	// Frozen reports which parameters keep their values; nil: none. Frozen parameters are not learnables. A batch norm
	// with frozen gamma and beta, or with frozen running moments, normalises by its running moments and does not update
	// them.
	Frozen func(name string) bool

	names       []string // names of the graph's parameters, in the order of first use
	nodes       map[string]*gorgonia.Node
	holdsStates bool   // the graph's parameters are states
	prefix      string // prefix of EMA targets: a target's name is the prefix and the name of its source parameter
	running     []Running
	masks       []*Mask
	idle        []idleDropout
}

// NewGraph returns an empty graph over a set of parameters.
func NewGraph(p *Params) *Graph {
	return &Graph{ExprGraph: gorgonia.NewGraph(), Params: p, nodes: map[string]*gorgonia.Node{}}
}

// Another returns an empty graph over the same parameters, with the same Training, Views and Frozen. It shares no
// inputs with g.
func (g *Graph) Another() *Graph {
	other := NewGraph(g.Params)
	other.Training, other.Views, other.Frozen = g.Training, g.Views, g.Frozen
	return other
}

// Beside returns a view of the graph with other parameters, which are not learnables of the graph. Use it for a network
// that another program trains, such as a discriminator.
func (g *Graph) Beside(p *Params) *Graph {
	return &Graph{ExprGraph: g.ExprGraph, Params: p, nodes: g.nodes}
}

// Targets returns a view of the graph whose parameters are EMA targets. A target is a state. Its name is the prefix and
// the name of its source parameter; see [Average]. The target of a frozen batch norm normalises by the same running
// moments.
func (g *Graph) Targets(prefix string) *Graph {
	return &Graph{ExprGraph: g.ExprGraph, Params: g.Params, nodes: g.nodes, Training: g.Training, Views: g.Views,
		Frozen: g.Frozen, holdsStates: true, prefix: prefix}
}

// isFrozen reports whether a parameter is frozen; see [Graph.Frozen].
func (g *Graph) isFrozen(name string) bool { return g.Frozen != nil && g.Frozen(name) }

// State returns the node of a state. A state is not a learnable of the graph.
func (g *Graph) State(name string, shape tensor.Shape, init Init) (*gorgonia.Node, error) {
	return g.Targets("").Param(name, shape, init)
}

// Param returns the node of a parameter, to which init gives its first values. The value of the node is the shared
// tensor.
func (g *Graph) Param(name string, shape tensor.Shape, init Init) (*gorgonia.Node, error) {
	if g == nil || g.Params == nil {
		return nil, fmt.Errorf("parameter %q: the graph has no parameters; want one of NewGraph(NewParams(seed))", name)
	}
	t, err := g.Params.Create(name, shape, init)
	if err != nil {
		return nil, err
	}
	if n, ok := g.nodes[name]; ok {
		if n.Value() != t {
			return nil, fmt.Errorf("parameter %q: the graph has an input of that name", name)
		}
		return n, nil
	}
	if g.holdsStates {
		g.Params.states[name] = true
	}
	g.names = append(g.names, name)
	return g.addNode(name, t), nil
}

// Input adds an input of float32 zeros. Set its elements through [Data] before a run.
func (g *Graph) Input(name string, shape ...int) (*gorgonia.Node, error) {
	if err := checkShape(shape); err != nil {
		return nil, fmt.Errorf("input %q: %w", name, err)
	}
	return g.input(name, tensor.New(tensor.Of(tensor.Float32), tensor.WithShape(shape...)))
}

func (g *Graph) input(name string, t *tensor.Dense) (*gorgonia.Node, error) {
	if _, ok := g.nodes[name]; ok {
		return nil, fmt.Errorf("input %q: the graph has another input with this name; want another name", name)
	}
	return g.addNode(name, t), nil
}

// Parts splits the rows of an input x into equal parts and adds an input for each part. The parts share the memory of
// x: writing to a part changes x.
func (g *Graph) Parts(x *gorgonia.Node, parts int) (list []*gorgonia.Node, err error) {
	data, shape := Data(x), x.Shape().Clone()
	if data == nil || parts < 1 || shape[0]%parts != 0 {
		return nil, fmt.Errorf("input %q of shape %v; want an input whose rows have %d equal parts", x.Name(), shape, parts)
	}
	shape[0] /= parts
	for i := range parts {
		n := len(data) / parts
		t := tensor.New(tensor.WithShape(shape...), tensor.WithBacking(data[i*n:(i+1)*n]))
		part, err := g.input(fmt.Sprintf("%s/%d", x.Name(), i+1), t)
		if err != nil {
			return nil, err
		}
		list = append(list, part)
	}
	return list, nil
}

func (g *Graph) addNode(name string, t *tensor.Dense) *gorgonia.Node {
	s := t.Shape()
	n := gorgonia.NewTensor(g.ExprGraph, t.Dtype(), s.Dims(), gorgonia.WithShape(s.Clone()...), gorgonia.WithName(name),
		gorgonia.WithValue(t))
	g.nodes[name] = n
	return n
}

// Learnables lists the names and nodes of the graph's parameters in the order of first use, excluding frozen
// parameters.
func (g *Graph) Learnables() (names []string, nodes gorgonia.Nodes) {
	for _, name := range g.names {
		if !g.isFrozen(name) {
			names, nodes = append(names, name), append(nodes, g.nodes[name])
		}
	}
	return names, nodes
}

// Weights lists the nodes of learnables with more than one axis. It excludes biases, and gamma and beta of
// normalisations.
func (g *Graph) Weights() (weights gorgonia.Nodes) {
	_, nodes := g.Learnables()
	for _, n := range nodes {
		if n.Dims() > 1 {
			weights = append(weights, n)
		}
	}
	return weights
}

// Reached lists the learnables on which a scalar loss depends. gorgonia.Grad accepts only these: a loss need not depend
// on all parameters. A node without operands that is neither an input or parameter of the graph nor a constant is an
// error: no program would train it or draw it from the seed.
func (g *Graph) Reached(loss *gorgonia.Node) (names []string, nodes gorgonia.Nodes, err error) {
	seen := map[*gorgonia.Node]bool{loss: true}
	for stack := (gorgonia.Nodes{loss}); len(stack) > 0; {
		n := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		children := operandsOf(g.ExprGraph, n)
		if err := g.checkSource(n, children); err != nil {
			return nil, nil, err
		}
		o, ok := n.Op().(gorgonia.SDOp)
		if !ok {
			continue
		}
		for i, differentiable := range o.DiffWRT(len(children)) {
			if differentiable && !seen[children[i]] {
				seen[children[i]] = true
				stack = append(stack, children[i])
			}
		}
	}
	all, learnables := g.Learnables()
	for i, n := range learnables {
		if seen[n] {
			names, nodes = append(names, all[i]), append(nodes, n)
		}
	}
	return names, nodes, nil
}

// checkSource returns an error for a node that nothing trains or sets, such as one of gorgonia.NewMatrix, and for
// random numbers that do not depend on the seed.
func (g *Graph) checkSource(n *gorgonia.Node, operands gorgonia.Nodes) error {
	if n.Op() == nil && g.nodes[n.Name()] != n && !strings.HasPrefix(n.Name(), "constant ") { // package graph gives constants this name
		return fmt.Errorf("nothing trains the node %q of shape %v; want Trainer.Network for weights of a loss, "+
			"Param of the nn.Graph for weights of a network, or gorgonia.NewConstant with a name for fixed numbers",
			n.Name(), n.Shape())
	}
	for _, c := range operands {
		if c.Op() != nil && c.Value() == nil && len(operandsOf(g.ExprGraph, c)) == 0 {
			return fmt.Errorf("the node %q draws random numbers that do not depend on the seed; want Noise of losses.Input, or Noise of the models.Program", c.Name())
		}
	}
	return nil
}

// Data returns the elements of an input or parameter, to read or write in place. It returns nil for other nodes.
func Data(n *gorgonia.Node) []float32 {
	if t, ok := n.Value().(*tensor.Dense); ok && n.Op() == nil && t.Dtype() == tensor.Float32 {
		return t.Float32s()
	}
	return nil
}

// maxElements limits a tensor to 4 GiB of float32, more than any network here needs.
const maxElements = 1 << 30

func checkShape(s tensor.Shape) error {
	if len(s) == 0 {
		return fmt.Errorf("shape %v; want one size or more", s)
	}
	n := 1
	for _, d := range s {
		if d < 1 {
			return fmt.Errorf("shape %v; want positive sizes", s)
		}
		if n > maxElements/d {
			return fmt.Errorf("shape %v; want at most %d elements", s, maxElements)
		}
		n *= d
	}
	return nil
}
