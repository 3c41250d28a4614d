package nn

import (
	"fmt"
	"slices"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/configs/config"
)

// MLP is a network of fully connected layers. An encoder flattens images, and its last hidden layer gives the features.
// A decoder has a final linear layer for the image.
type MLP struct {
	Hidden     []int  `yaml:"hidden" doc:"widths of the hidden layers"`
	Activation string `yaml:"activation" doc:"activation of the hidden layers: linear, relu, leaky-relu, elu, gelu, silu, softplus, tanh or sigmoid"`
	Norm       string `yaml:"norm" doc:"normalisation after the activation of each hidden layer: none, batch or layer"`
	Init       string `yaml:"init" doc:"distribution of initial weights: glorot, he-normal, he-uniform or fan-in"`
}

// NewMLP returns the default settings: two layers with 256 units and ReLU.
func NewMLP() *MLP {
	return &MLP{Hidden: []int{256, 256}, Activation: "relu", Norm: NoNorm, Init: "glorot"}
}

// newDenseNorm returns the network of Tonnaer et al. 2022, table 2: layers with 512 and 256 units and ReLU, each
// followed by batch norm.
func newDenseNorm() *MLP {
	return &MLP{Hidden: []int{512, 256}, Activation: "relu", Norm: BatchNorm, Init: "glorot"}
}

func (m *MLP) Validate() error {
	if len(m.Hidden) == 0 {
		return config.Invalid("hidden", "want at least one width, such as [256, 256]")
	}
	for i, w := range m.Hidden {
		if err := validRange(fmt.Sprintf("hidden.%d", i), w, 1, maxChannels); err != nil {
			return err
		}
	}
	if err := validActivation("activation", m.Activation); err != nil {
		return err
	}
	if m.normed() && m.Norm != BatchNorm && m.Norm != LayerNorm {
		return config.Invalid("norm", "want none, batch or layer, got %q", m.Norm)
	}
	return validInit(m.Init)
}

func (m *MLP) normed() bool { return m.Norm != NoNorm && m.Norm != "" }

// Encode implements [Encoder].
func (m *MLP) Encode(g *Graph, images *gorgonia.Node, name string) (*gorgonia.Node, error) {
	if err := m.Validate(); err != nil {
		return nil, inLayer(name, err)
	}
	return m.EncoderLayers().Encode(g, images, name)
}

// Mirror implements [Mirrored]: the same layers in reverse order.
func (m *MLP) Mirror() Decoder {
	d := *m
	d.Hidden = slices.Clone(m.Hidden)
	slices.Reverse(d.Hidden)
	return &d
}

// Decode implements [Decoder].
func (m *MLP) Decode(g *Graph, codes *gorgonia.Node, name string, image tensor.Shape) (*gorgonia.Node, error) {
	return m.DecoderLayers().Decode(g, codes, name, image)
}
