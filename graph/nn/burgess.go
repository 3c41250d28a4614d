package nn

import (
	"fmt"
	"math"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/config"
	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/layer"
)

// Burgess is the network of Burgess et al. 2018 in the form of Ross and Doshi-Velez 2021: as an encoder
// four convolutions of 32 filters of side 4 and stride 2, and two dense layers of 256; as a
// decoder its mirror image, always with ReLU. Initial weights and biases
// are sampled from U(-l, l) with l = sqrt(1 / fan in).
type Burgess struct {
	Activation string `yaml:"activation" doc:"activation of the encoder: linear, relu, leaky-relu, tanh, sigmoid or softplus"`
}

// NewBurgess returns the default settings.
func NewBurgess() *Burgess { return &Burgess{Activation: "relu"} }

// Validate checks the settings.
func (b *Burgess) Validate() error {
	if _, err := graph.ParseActivation(b.Activation); err != nil {
		return config.Invalid("activation", "%w", err)
	}
	return nil
}

const (
	burgessSource = "Burgess et al. 2018; Ross and Doshi-Velez 2021, appendix A.1"

	burgessFilters  = 32
	burgessFeatures = 256
)

// Encode implements [Encoder].
func (b *Burgess) Encode(g *Graph, images *gorgonia.Node, name string) (*gorgonia.Node, error) {
	a, err := graph.ParseActivation(b.Activation)
	if err != nil {
		return nil, inLayer(name, err)
	}
	in, err := channels(images, name)
	if err != nil {
		return nil, err
	}
	if err := sixteenths(images.Shape()[1:]); err != nil {
		return nil, inLayer(name, err)
	}
	h := images
	for i := range 4 {
		at := fmt.Sprintf("%s/conv%d", name, i+1)
		w, bias, err := fanInWeights(g, at, 16*in, burgessFilters, 4, 4, in, burgessFilters)
		if err != nil {
			return nil, err
		}
		h, err = layer.Conv(h, w, bias, layer.ConvOptions{Stride: 2, Activation: a})
		if h, err = named(h, at, err); err != nil {
			return nil, err
		}
		in = burgessFilters
	}
	if h, err = graph.Flatten(h); err != nil {
		return nil, inLayer(name, err)
	}
	for i := range 2 {
		if h, err = fanInDense(g, h, fmt.Sprintf("%s/dense%d", name, i+1), burgessFeatures, a); err != nil {
			return nil, err
		}
	}
	return h, nil
}

// Mirror implements [Mirrored].
func (b *Burgess) Mirror() Decoder {
	d := *b
	return &d
}

// Decode implements [Decoder].
func (b *Burgess) Decode(g *Graph, codes *gorgonia.Node, name string, image tensor.Shape) (*gorgonia.Node, error) {
	if err := sixteenths(image); err != nil {
		return nil, inLayer(name, err)
	}
	height, width := image[0]/16, image[1]/16
	h, err := codes, error(nil)
	for i, n := range []int{burgessFeatures, height * width * burgessFilters} {
		if h, err = fanInDense(g, h, fmt.Sprintf("%s/dense%d", name, i+1), n, graph.ReLU); err != nil {
			return nil, err
		}
	}
	if h, err = graph.Reshape(h, codes.Shape()[0], height, width, burgessFilters); err != nil {
		return nil, inLayer(name, err)
	}
	for i, filters := range []int{burgessFilters, burgessFilters, burgessFilters, image[2]} {
		at, a := fmt.Sprintf("%s/conv%d", name, i+1), graph.ReLU
		if i == 3 {
			a = graph.Linear
		}
		w, bias, err := fanInWeights(g, at, 16*burgessFilters, filters, 4, 4, filters, burgessFilters)
		if err != nil {
			return nil, err
		}
		h, err = layer.ConvTranspose(h, w, bias, layer.ConvOptions{Stride: 2, Activation: a})
		if h, err = named(h, at, err); err != nil {
			return nil, err
		}
	}
	return h, nil
}

// fanInDense adds a dense layer whose weights and bias are sampled by the fan in.
func fanInDense(g *Graph, x *gorgonia.Node, name string, out int, a graph.Activation) (*gorgonia.Node, error) {
	if x == nil || x.Dims() != 2 {
		return nil, inLayer(name, fmt.Errorf("input is %s; want rows [batch, columns]", shapeOf(x)))
	}
	in := x.Shape()[1]
	w, b, err := fanInWeights(g, name, in, out, in, out)
	if err != nil {
		return nil, err
	}
	y, err := layer.Dense(x, w, b, a)
	return named(y, name, err)
}

// fanInWeights makes weights of a shape and a bias, sampled from U(-l, l) with l = sqrt(1/fan in).
func fanInWeights(g *Graph, name string, fan, out int, shape ...int) (w, b *gorgonia.Node, err error) {
	init := Uniform(1 / math.Sqrt(float64(fan)))
	if w, err = g.Param(name+"/weight", shape, init); err != nil {
		return nil, nil, err
	}
	b, err = g.Param(name+"/bias", tensor.Shape{out}, init)
	return w, b, err
}
