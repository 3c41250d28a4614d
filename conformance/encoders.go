package conformance

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/graph/machine"
	"github.com/unravel-ml/unravel/graph/nn"
)

// CheckEncoder returns the faults of an entry of the registry of encoders, on images of several sizes. The encoder
// must accept at least one size. It may refuse others with an error that names the size. Faults are:
//
//   - features that are not [batch, columns], that differ between two graphs with the same parameters or between
//     two models with one seed, or that stay equal for two seeds or for different images;
//   - parameters without the given prefix in their names, or that a second graph adds;
//   - features of an image that depend on the rest of its batch in an inference graph;
//   - non-finite numbers, in values, gradients and running moments, also for constant images;
//   - gradients that differ by more than 3 % from finite differences along them (in float32).
func CheckEncoder(e registry.Entry[nn.Encoder]) error {
	return faultsOfEntry("encoder", e, func(f *findings, s nn.Encoder) {
		c := &netCheck{findings: f, layers: func(g *nn.Graph, in *gorgonia.Node, name string, _ tensor.Shape) (*gorgonia.Node, error) {
			return s.Encode(g, in, name)
		}}
		c.check()
	})
}

// CheckDecoder returns the faults of an entry of the registry of decoders: the faults of [CheckEncoder], on codes of
// 5 columns, and logits without the shape of the images.
func CheckDecoder(e registry.Entry[nn.Decoder]) error {
	return faultsOfEntry("decoder", e, func(f *findings, s nn.Decoder) {
		(&netCheck{findings: f, layers: s.Decode, codes: 5}).check()
	})
}

// CheckLayer returns the faults of an entry of the registry of layers. It builds an encoder from a layer of 4
// channels or columns, the tested layer and a dense layer, and returns the faults of [CheckEncoder]. For a layer
// without valid defaults it returns [ErrNeedsSettings].
func CheckLayer(e registry.Entry[nn.Layer]) error {
	f := &findings{part: "layer " + e.Name}
	s, ok := entryOf(f, e)
	if !ok {
		return f.err()
	}
	conv, rowsLayer, last := nn.NewConvLayer(), nn.NewDenseLayer(), nn.NewDenseLayer()
	conv.Channels, rowsLayer.Units, last.Units = 4, 4, 3
	list := nn.LayerList{{Name: "conv", Value: conv}, {Name: e.Name, Value: s}, {Name: "dense", Value: last}}
	if formed, ok := s.(nn.Formed); ok {
		if in, _ := formed.Forms(); in == nn.Rows {
			list[0] = nn.LayerChoice{Name: "dense", Value: rowsLayer}
		}
	}
	return CheckEncoder(registry.Entry[nn.Encoder]{Name: "of layer " + e.Name, Doc: e.Doc,
		New: func() nn.Encoder { return nn.NewLayers(list...) }})
}

// netCheck checks a network.
type netCheck struct {
	*findings
	layers func(g *nn.Graph, in *gorgonia.Node, name string, image tensor.Shape) (*gorgonia.Node, error)
	codes  int // columns of a decoder's input; 0: an encoder
}

const (
	netRows        = 4       // rows in a batch
	manyParameters = 2 << 20 // for larger networks, only the smallest images check the gradients of parameters
)

// network is a network in a separate graph.
type network struct {
	graph  *nn.Graph
	input  *gorgonia.Node
	output *gorgonia.Node
	pixels int
}

// build adds the network to a new graph.
func (c *netCheck) build(p *nn.Params, image tensor.Shape, training bool) (*network, error) {
	n := &network{graph: nn.NewGraph(p)}
	n.graph.Training = training
	shape := append([]int{netRows}, image...)
	if c.codes > 0 {
		shape = []int{netRows, c.codes}
	}
	var err error
	if n.input, err = n.graph.Input("input", shape...); err != nil {
		return nil, err
	}
	n.pixels = len(nn.Data(n.input)) / netRows
	n.output, err = c.layers(n.graph, n.input, "net", image)
	return n, err
}

// fill writes rows: constant rows, or random rows seeded by their numbers.
func (n *network) fill(rows ...int) {
	for i, row := range rows {
		drawImage(nn.Data(n.input)[i*n.pixels:(i+1)*n.pixels], row)
	}
}

// check runs the checks on images of several sizes.
func (c *netCheck) check() {
	suits := 0
	for _, image := range []tensor.Shape{{16, 16, 1}, {32, 16, 3}, {64, 64, 1}, {5, 7, 2}, {20, 20, 1}, {1, 24, 2}, {1, 1, 1}} {
		if c.size(image) {
			suits++
		}
		if len(c.errs) > 0 {
			return
		}
	}
	if suits == 0 {
		c.add("it suits no size of images; want one of 16 x 16 x 1, 32 x 16 x 3, 64 x 64 x 1, 5 x 7 x 2, 20 x 20 x 1, 1 x 24 x 2, 1 x 1 x 1")
	}
}

// size checks images of one size, and reports whether the network accepts them.
func (c *netCheck) size(image tensor.Shape) bool {
	p := nn.NewParams(seed)
	n, err := c.build(p, image, false)
	if err != nil {
		if text := err.Error(); !strings.Contains(text, fmt.Sprint(image[0])) ||
			!strings.Contains(text, fmt.Sprint(image[1])) {
			c.add("images of %v: error %w; want an error with their size", image, err)
		}
		return false
	}
	if n.output == nil {
		c.add("images of %v: it returns neither a node nor an error", image)
		return true
	}
	got := n.output.Shape()
	if c.codes == 0 && (got.Dims() != 2 || got[0] != netRows) ||
		c.codes > 0 && !slices.Equal(got, append(tensor.Shape{netRows}, image...)) {
		c.add("images of %v: the result of %d rows has shape %v; want [rows, columns], or of a decoder [rows, height, width, channels]", image, netRows, got)
		return true
	}
	for _, name := range p.Names() {
		if !strings.HasPrefix(name, "net/") {
			c.add("parameter %q; want a name that begins with the given one and a slash, net/", name)
		}
	}
	c.run(func() { c.checkDependence(n, p, image) }, func() { c.trainable(p, image) })
	if size := image.TotalSize(); size <= 256 && p.Count() <= manyParameters || size <= 100 {
		c.run(func() { c.slopes(n, image) })
	}
	return true
}

func equalRows(values []float64, width int) bool {
	return slices.Equal(values[width:], values[:len(values)-width])
}

func (c *netCheck) values(n *network, rows ...int) []float64 {
	n.fill(rows...)
	values := c.results("running it", n.output)
	if i := notFinite(values[0]); i >= 0 {
		c.add("element %d of the result is %v", i, values[0][i])
	}
	return values[0]
}

// checkDependence checks that the result depends only on the parameters (on the seed) and the row.
func (c *netCheck) checkDependence(n *network, p *nn.Params, image tensor.Shape) {
	reference := c.values(n, 0, 1, 2, 3)
	width := len(reference) / netRows
	names := p.Names()
	var values []float64
	for _, variant := range []struct {
		label string
		p     *nn.Params
		equal bool
	}{{"a second graph of the same parameters", p, true}, {"another model of the seed", nn.NewParams(seed), true},
		{"a model of another seed", nn.NewParams(seed + 1), false}} {
		second, err := c.build(variant.p, image, false)
		c.must(err, "%s", variant.label)
		values = c.values(second, 0, 1, 2, 3)
		if equal := slices.Equal(reference, values); equal != variant.equal {
			c.add("%s: is its result the same? %v; want a network that depends on its settings, the seed and its input alone",
				variant.label, equal)
		}
		if !slices.Equal(names, variant.p.Names()) {
			c.add("%s has the parameters %v; want %v", variant.label, variant.p.Names(), names)
		}
	}
	// in one model all units may be dead if there are few, but hardly in two models
	if equalRows(reference, width) && equalRows(values, width) && image.TotalSize() > 1 {
		c.add("different inputs have the same result")
	}
	if rebatched := c.values(n, 3, black, white, 9); farApart(rebatched[:width], reference[3*width:], 1e-4) >= 0 {
		c.add("the result of a row depends on the rest of its batch; want running moments in a graph that is not for training")
	}
}

// training adds a loss on the network's result, and its gradients. Faults begin with a text.
func (c *netCheck) training(text string, n *network) (loss *gorgonia.Node, names []string, grads gorgonia.Nodes) {
	loss, err := pull(n.output, "result")
	c.must(err, "%s", text)
	names, weights, err := n.graph.Reached(loss)
	c.must(err, "%s", text)
	if len(weights) == 0 {
		c.fatal("%s: the result depends on no parameter that is trained", text)
	}
	grads, err = gorgonia.Grad(loss, weights...)
	c.must(err, "%s", text)
	return loss, names, grads
}

// trainable checks values, gradients and running moments in a graph for training.
func (c *netCheck) trainable(p *nn.Params, image tensor.Shape) {
	n, err := c.build(p, image, true)
	c.must(err, "for training")
	loss, names, grads := c.training("for training", n)
	nodes, names := append(grads, loss), append(names, "loss")
	for _, r := range n.graph.Running() {
		nodes, names = append(nodes, r.Moments), append(names, "running moments")
	}
	m, err := machine.New(nodes[0].Graph(), nodes...)
	c.must(err, "for training")
	for _, rows := range [][]int{{0, 1, 2, 3}, {black, black, black, black}, {white, white, white, white}, {5, 5, 5, 5}} {
		n.fill(rows...)
		c.must(m.RunAll(), "for training, rows %v", rows)
		for i, node := range nodes {
			values, err := elements(m.Value(node))
			c.must(err, "for training")
			if notFinite(values) >= 0 {
				c.add("for training, rows %v (%d: black, %d: white): the value or gradient of %s is not finite",
					rows, black, white, names[i])
			}
		}
	}
}

// slopes compares the gradient of each parameter with the finite difference of the loss along it.
func (c *netCheck) slopes(n *network, image tensor.Shape) {
	loss, names, grads := c.training("gradients", n)
	n.fill(0, 1, 2, 3)
	values := c.results("gradients", append(grads, loss)...)
	forward, err := machine.New(n.output.Graph(), n.output)
	c.must(err, "gradients")
	for i, name := range names {
		slope := length(values[i])
		if slope < 1e-4 {
			continue // below the rounding errors of float32 differences
		}
		difference := c.slopeAlong(n, forward, n.graph.Params.Get(name).Float32s(), values[i], slope)
		if !nearSlope(difference, slope) {
			c.add("images of %v: the loss falls by %.4g along the gradient of %q, of length %.4g; want equal numbers",
				image, difference, name, slope)
		}
	}
}

// nearSlope reports whether a finite-difference slope equals the length of a gradient, up to the errors of float32.
func nearSlope(difference, slope float64) bool { return math.Abs(difference-slope) <= 0.03*slope }

// slopeAlong returns the finite-difference slope of the loss along the gradient of a parameter. Kinks of ReLU spoil
// long steps, and rounding spoils short ones. It tries up to four step sizes, and returns the first slope that is near
// the length of the gradient, or otherwise the closest.
func (c *netCheck) slopeAlong(n *network, forward *machine.Machine, w []float32, gradient []float64,
	slope float64) (best float64) {
	original := slices.Clone(w)
	defer copy(w, original)
	best = math.Inf(1)
	for _, change := range []float64{3e-6, 3e-5, 1e-6, 3e-4} { // changes of the loss
		step := change / (2 * slope)
		var sides [2]float64
		var moved float64 // distance along the gradient, after rounding
		for side, distance := range []float64{step, -step} {
			for j, g := range gradient {
				w[j] = original[j] + float32(distance*g/slope)
				moved += float64(w[j]-original[j]) * g / slope * float64(1-2*side)
			}
			c.must(forward.RunAll(), "gradients")
			result, err := elements(forward.Value(n.output))
			c.must(err, "gradients")
			sides[side] = pullOf(result, "result")
		}
		if difference := (sides[0] - sides[1]) / moved; math.Abs(difference-slope) < math.Abs(best-slope) {
			best = difference
		}
		if nearSlope(best, slope) {
			break
		}
	}
	return best
}

// length returns the Euclidean norm.
func length(list []float64) float64 {
	var sum float64
	for _, v := range list {
		sum += v * v
	}
	return math.Sqrt(sum)
}
