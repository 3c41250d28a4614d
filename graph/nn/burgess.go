package nn

import (
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Burgess is the network of Burgess et al. 2018 in the variant of Ross and Doshi-Velez 2021. The encoder has four
// convolutions with 32 filters of side 4 and stride 2, and two dense layers with 256 units. The decoder is its mirror
// image, but always with ReLU. Initial weights and biases are samples of U(-l, l) with l = sqrt(1 / fan in).
type Burgess struct {
	Activation string `yaml:"activation" doc:"activation of the encoder: linear, relu, leaky-relu, elu, gelu, silu, softplus, tanh or sigmoid"`
}

func newBurgess() *Burgess { return &Burgess{Activation: "relu"} }

func (b *Burgess) Validate() error { return validActivation("activation", b.Activation) }

const (
	burgessSource = "Burgess et al. 2018; Ross and Doshi-Velez 2021, appendix A.1"

	burgessFilters  = 32
	burgessFeatures = 256
)

// Encode implements [Encoder].
func (b *Burgess) Encode(g *Graph, images *gorgonia.Node, name string) (*gorgonia.Node, error) {
	return encode16(b, g, images, name)
}

// Mirror implements [Mirrored].
func (b *Burgess) Mirror() Decoder { return b }

// Decode implements [Decoder].
func (b *Burgess) Decode(g *Graph, codes *gorgonia.Node, name string, image tensor.Shape) (*gorgonia.Node, error) {
	return decode16(b.DecoderLayers(), g, codes, name, image)
}
