package nn

import (
	"fmt"
	"slices"
	"strings"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/layer"
	"github.com/unravel-ml/unravel/graph/rng"
)

// The kinds of normalisation.
const (
	NoNorm       = "none"
	BatchNorm    = "batch"
	GroupNorm    = "group"
	LayerNorm    = "layer"
	InstanceNorm = "instance"

	// InstancePixelNorm is instance norm that also normalises images of one pixel. Their result is beta for any input.
	InstancePixelNorm = "instance-pixel"
)

var normNames = []string{NoNorm, BatchNorm, GroupNorm, LayerNorm, InstanceNorm, InstancePixelNorm}

func validNorm(name string) error {
	if !slices.Contains(normNames, name) {
		return fmt.Errorf("unknown normalisation %q%s", name, registry.Suggest(name, normNames))
	}
	return nil
}

// NormOptions are the options of a normalisation.
type NormOptions struct {
	Kind   string // such as BatchNorm
	Groups int    // groups of channels, for group normalisation
	Plain  bool   // without gamma and beta
	ReLU   bool   // apply max(y, 0) after the normalisation
}

const (
	normEpsilon = 1e-5
	runningPart = 0.1 // weight of a new batch in the running moments
)

// Norm adds a normalisation of images [batch, height, width, channels] or rows [batch, channels]; see [layer.BatchNorm]
// and [layer.GroupNorm]. Its parameters are name/gamma and name/beta, initially 1 and 0. Batch norm uses running
// moments if the graph is not for training or the batch norm is frozen: the state name/running [1, 2, channels].
// Instance norm leaves images of one pixel unchanged, because otherwise every element would become 0; the kind
// instance-pixel does normalise them. If a training batch (or a view) has only one row or one pixel in all, the result
// of batch norm is beta and x gets no gradient.
//
// The running moments are updated with the moments of every batch in a program ([Graph.Running]), in the order of the
// steps. The batches of all objectives count, labelled or not, because evaluation sees both kinds of images. With
// several [Graph.Views], each part counts as a batch. If a graph uses a layer twice, the update includes both uses in
// order. EMA targets ([Graph.Targets]) and second batches, which discriminators permute, are normalised by the moments
// of their own batch and do not update the running moments.
func Norm(g *Graph, x *gorgonia.Node, name string, o NormOptions) (*gorgonia.Node, error) {
	if err := validNorm(o.Kind); err != nil {
		return nil, inLayer(name, err)
	}
	if x == nil || x.Dims() != 2 && x.Dims() != 4 {
		return nil, inLayer(name,
			fmt.Errorf("input is %s; want images [batch, height, width, channels] or rows [batch, channels]", shapeOf(x)))
	}
	s := x.Shape()
	channels := s[x.Dims()-1]
	pixels := s.TotalSize() / s[0] / channels
	if o.Kind == NoNorm || o.Kind == InstanceNorm && pixels == 1 {
		if !o.ReLU {
			return x, nil
		}
		y, err := graph.Activate(x, graph.ReLU)
		return y, inLayer(name, err)
	}
	gamma, beta, err := affine(g, name, channels, o.Plain)
	if err != nil {
		return nil, err
	}
	settings := layer.NormOptions{Epsilon: normEpsilon, ReLU: o.ReLU}
	var y *gorgonia.Node
	switch o.Kind {
	case BatchNorm:
		y, err = batchNorm(g, x, gamma, beta, name, settings)
	case InstanceNorm, InstancePixelNorm:
		settings.Single = o.Kind == InstancePixelNorm
		y, err = layer.GroupNorm(x, gamma, beta, channels, settings)
	case LayerNorm:
		y, err = layer.GroupNorm(x, gamma, beta, 1, settings)
	default:
		y, err = layer.GroupNorm(x, gamma, beta, o.Groups, settings)
	}
	return named(y, name, err)
}

func affine(g *Graph, name string, channels int, plain bool) (gamma, beta *gorgonia.Node, err error) {
	if plain {
		return nil, nil, nil
	}
	if gamma, err = g.Param(name+"/gamma", tensor.Shape{channels}, ones); err != nil {
		return nil, nil, err
	}
	beta, err = g.Param(name+"/beta", tensor.Shape{channels}, Zeros)
	return gamma, beta, err
}

func ones(_ *rng.Stream, _ tensor.Shape, values []float32) {
	for i := range values {
		values[i] = 1
	}
}

// zeroMeans sets running moments to mean 0 and variance 1.
func zeroMeans(r *rng.Stream, shape tensor.Shape, values []float32) {
	half := len(values) / 2
	clear(values[:half])
	ones(r, shape, values[half:])
}

func batchNorm(g *Graph, x, gamma, beta *gorgonia.Node, name string, o layer.NormOptions) (*gorgonia.Node, error) {
	var running *gorgonia.Node
	var err error
	channels := x.Shape()[x.Dims()-1]
	source := strings.TrimPrefix(name, g.prefix)
	fixed := !g.Training || g.isFrozen(source+"/running") || gamma != nil && g.isFrozen(source+"/gamma") &&
		g.isFrozen(source+"/beta")
	if fixed || !g.holdsStates { // targets have no separate running moments
		if running, err = g.State(source+"/running", tensor.Shape{1, 2, channels}, zeroMeans); err != nil {
			return nil, err
		}
	}
	if fixed {
		return layer.Standardise(x, running, gamma, beta, o)
	}
	parts := max(g.Views, 1)
	moments, err := layer.BatchMoments(x, parts)
	if err != nil {
		return nil, err
	}
	if running != nil {
		g.running = append(g.running,
			Running{Moments: moments, values: Data(running), count: x.Shape().TotalSize() / channels / parts})
	}
	return layer.BatchNorm(x, moments, gamma, beta, o)
}

// Running are the running moments of a batch normalisation.
type Running struct {
	Moments *gorgonia.Node // moments of a batch, [parts, 2, channels]
	values  []float32
	count   int // number of elements per moment
}

// Running lists the running moments for the update after every training step of the graph; see [Running.Follow].
func (g *Graph) Running() []Running { return g.running }

// Values returns the running moments, [2, channels].
func (r Running) Values() []float32 { return r.values }

// Count returns the number of elements per moment in a part of the batch: rows times pixels.
func (r Running) Count() int { return r.count }

// Follow updates the running moments with the moments m of each part of a batch, in order: running = 0.9 running + 0.1
// m. The variance is unbiased: n/(n-1) times the variance of n elements. For n = 1, the running variance does not
// change.
func (r Running) Follow(moments []float32) {
	unbiased := float32(1)
	if r.count > 1 {
		unbiased = float32(r.count) / float32(r.count-1)
	}
	n, known := len(r.values), len(r.values)
	if r.count == 1 {
		known /= 2
	}
	for part := 0; part < len(moments); part += n {
		for i, v := range moments[part : part+known] {
			if i >= n/2 {
				v *= unbiased
			}
			r.values[i] += runningPart * (v - r.values[i])
		}
	}
}
