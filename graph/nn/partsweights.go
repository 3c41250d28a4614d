package nn

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/layer"
	"github.com/unravel-ml/unravel/graph/rng"
)

// Weighted holds the common options of layers with weights.
type Weighted struct {
	Activation string `yaml:"activation,omitempty" doc:"activation computed in the same pass; equivalent to an activation layer after this layer"`
	Bias       *bool  `yaml:"bias,omitempty" doc:"add an offset to each channel; if absent, true unless the next layer is a norm, with its offset"`
	Init       string `yaml:"init,omitempty" doc:"distribution of initial weights; if absent, the network's (he-normal)"`
	LayerName
}

func (w *Weighted) Validate() error {
	if err := optionalActivation("activation", w.Activation); err != nil {
		return err
	}
	if w.Init == "" {
		return nil
	}
	return validLayerInit(w.Init)
}

// Further initialisers of weights and biases in lists of layers.
const (
	pytorchInit = "pytorch" // weights and biases as in [FanInUniform]
	burgessInit = "burgess" // the same, but rounded in another order, for the preset burgess
)

func layerInits() []string { return append(slices.Clone(initNames), pytorchInit, burgessInit) }

func validLayerInit(name string) error { return oneOf("init", "initialiser", name, layerInits()...) }

// initsOf returns the initialisers of weights and biases by name, for the fan in and fan out of a shape.
func initsOf(name string, shape tensor.Shape) (weights, biases Init, err error) {
	in, _ := fans(shape)
	switch name {
	case pytorchInit:
		return uniform(math.Sqrt(1 / in)), uniform(math.Sqrt(1 / in)), nil
	case burgessInit:
		return uniform(1 / math.Sqrt(in)), uniform(1 / math.Sqrt(in)), nil
	}
	init, err := parseInit(name)
	if err != nil {
		return nil, nil, err
	}
	return func(r *rng.Stream, _ tensor.Shape, values []float32) { init(r, shape, values) }, Zeros, nil
}

// parameters creates the weights and the bias of a layer. The weights have the given shape. The initialisers use the
// fan in and fan out of the shape fan.
func (w *Weighted) parameters(p Place, out int, fan tensor.Shape, shape ...int) (weights, bias *gorgonia.Node,
	a graph.Activation, err error) {
	if a, err = parsedActivation(w.Activation); err != nil {
		return nil, nil, a, err
	}
	initWeights, initBias, err := initsOf(cmp.Or(w.Init, p.Init), fan)
	if err != nil {
		return nil, nil, a, err
	}
	if weights, err = p.Graph.Param(p.Name+"/weight", shape, initWeights); err != nil {
		return nil, nil, a, err
	}
	if w.Bias != nil && !*w.Bias || w.Bias == nil && p.Normed && a == graph.Linear {
		return weights, gorgonia.NewConstant(tensor.New(tensor.Of(tensor.Float32), tensor.WithShape(out))), a, nil
	}
	bias, err = p.Graph.Param(p.Name+"/bias", tensor.Shape{out}, initBias)
	return weights, bias, a, err
}

// Padding of convolutions and pooling.
const (
	samePadding      = "same"
	validPadding     = "valid"
	symmetricPadding = "symmetric" // only for convolutions
)

func validPaddingName(name string, more ...string) error {
	return oneOf("padding", "padding", name, append([]string{samePadding, validPadding}, more...)...)
}

// ConvLayer is a convolution; see [layer.Conv].
type ConvLayer struct {
	Channels Channels `yaml:"channels" doc:"number of filters (output channels); image: channels of the decoder's images"`
	Kernel   int      `yaml:"kernel" doc:"side of the filters"`
	Stride   int      `yaml:"stride" doc:"pixels between filter positions; 2 halves the sides, rounded up"`
	Padding  string   `yaml:"padding" doc:"same: pads with zeros and divides sides by the stride; symmetric: as many zeros, (kernel-1)/2 before, as in PyTorch; valid: no padding"`
	Weighted
}

// NewConvLayer returns the default settings: filters of side 3 and stride 1.
func NewConvLayer() *ConvLayer { return &ConvLayer{Kernel: 3, Stride: 1, Padding: samePadding} }

const (
	maxKernel = 127
	maxTimes  = 64
)

func (l *ConvLayer) Validate() error {
	return validFilters(l.Channels, l.Kernel, l.Stride, l.Padding, symmetricPadding)
}

// validFilters checks the common options of convolutions and transposed convolutions. paddings lists further allowed
// kinds of padding.
func validFilters(channels Channels, kernel, stride int, padding string, paddings ...string) error {
	return cmp.Or(
		channels.validate("channels"),
		validRange("kernel", kernel, 1, maxKernel),
		validRange("stride", stride, 1, maxTimes),
		validPaddingName(padding, paddings...),
	)
}

// Forms implements [Formed].
func (*ConvLayer) Forms() (in, out Form) { return Images, Images }

// Before implements [Resizing].
func (l *ConvLayer) Before(after int) int {
	if l.Padding == validPadding {
		return (after-1)*l.Stride + l.Kernel
	}
	return (after-1)*l.Stride + 1
}

// Build implements [Layer].
func (l *ConvLayer) Build(p Place, x *gorgonia.Node) (*gorgonia.Node, error) {
	in, out, err := l.Channels.between(p, x)
	if err != nil {
		return nil, err
	}
	k := l.Kernel
	w, b, a, err := l.parameters(p, out, tensor.Shape{k, k, in, out}, k, k, in, out)
	if err != nil {
		return nil, err
	}
	return layer.Conv(x, w, b, layer.ConvOptions{Stride: l.Stride, Activation: a, Valid: l.Padding == validPadding,
		Symmetric: l.Padding == symmetricPadding})
}

// between returns the number of channels in images x and in the result of a layer.
func (c Channels) between(p Place, x *gorgonia.Node) (in, out int, err error) {
	if in, err = imagesIn(x); err == nil {
		out, err = c.resolve(p)
	}
	return in, out, err
}

func imagesIn(x *gorgonia.Node) (int, error) {
	if x == nil || x.Dims() != 4 {
		return 0, fmt.Errorf("its input is %s; want images [batch, height, width, channels]", shapeOf(x))
	}
	return x.Shape()[3], nil
}

func columnsIn(x *gorgonia.Node) (int, error) {
	if x == nil || x.Dims() != 2 {
		return 0, fmt.Errorf("its input is %s; want rows [batch, columns]", shapeOf(x))
	}
	return x.Shape()[1], nil
}

// DenseLayer is a fully connected layer; see [layer.Dense]. It flattens images.
type DenseLayer struct {
	Units Channels `yaml:"units" doc:"output width (columns)"`
	Weighted
}

// NewDenseLayer returns settings without units.
func NewDenseLayer() *DenseLayer { return &DenseLayer{} }

func (l *DenseLayer) Validate() error {
	if l.Units == imageChannels {
		return config.Invalid("units", "image is for channels; want a number")
	}
	return l.Units.validate("units")
}

// Forms implements [Formed].
func (*DenseLayer) Forms() (in, out Form) { return Any, Rows }

// Build implements [Layer].
func (l *DenseLayer) Build(p Place, x *gorgonia.Node) (*gorgonia.Node, error) {
	return l.build(p, x, int(l.Units))
}

// build adds a dense layer with the weights' options.
func (w *Weighted) build(p Place, x *gorgonia.Node, out int) (*gorgonia.Node, error) {
	x, err := graph.Flatten(x)
	if err != nil {
		return nil, err
	}
	in := x.Shape()[1]
	weights, b, a, err := w.parameters(p, out, tensor.Shape{in, out}, in, out)
	if err != nil {
		return nil, err
	}
	return layer.Dense(x, weights, b, a)
}
