package models

import (
	"fmt"
	"slices"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/internal/nn"
)

// Networks are the encoder and the decoder of a model.
type Networks struct {
	Encoder nn.EncoderChoice  `yaml:"encoder" doc:"network from images to features"`
	Decoder *nn.DecoderChoice `yaml:"decoder" doc:"network from codes to images; if absent, the encoder's mirror image"`
}

func defaultNetworks() Networks { return Networks{Encoder: nn.DefaultEncoder()} }

// decoder returns the chosen decoder, or the mirror image of the encoder.
func (n Networks) decoder() (nn.Decoder, error) {
	if n.Decoder != nil {
		return n.Decoder.Value, nil
	}
	switch e := n.Encoder.Value.(type) {
	case *nn.ConvEncoder:
		d := nn.NewConvDecoder()
		d.Features, d.Init = e.Features, e.Init
		return d, nil
	case *nn.MLP:
		d := *e
		d.Hidden = slices.Clone(e.Hidden)
		slices.Reverse(d.Hidden)
		return &d, nil
	}
	return nil, fmt.Errorf("model: there is no mirror image of the encoder %q: want a decoder", n.Encoder.Name)
}

// autoencoder is what all models of this package share.
type autoencoder struct {
	networks Networks
	data     Data
	params   *nn.Params
}

func newAutoencoder(n Networks, data Data, seed uint64) autoencoder {
	return autoencoder{n, data, nn.NewParams(seed)}
}

// Params implements Model.
func (a *autoencoder) Params() *nn.Params { return a.params }

func (a *autoencoder) features(g *nn.Graph, images *gorgonia.Node) (*gorgonia.Node, error) {
	return a.networks.Encoder.Value.Encode(g, images, "encoder")
}

// Decode implements Model.
func (a *autoencoder) Decode(g *nn.Graph, codes *gorgonia.Node) (*gorgonia.Node, error) {
	d, err := a.networks.decoder()
	if err != nil {
		return nil, err
	}
	return d.Decode(g, codes, "decoder", tensor.Shape{a.data.Height, a.data.Width, a.data.Channels})
}

// images adds the input of a batch.
func (a *autoencoder) images(g *nn.Graph, n int) (*gorgonia.Node, error) {
	return g.Input("images", n, a.data.Height, a.data.Width, a.data.Channels)
}

// materialise builds the encoder and decoder once, so that all parameters exist
// and a network that does not fit the images is an error of New.
func materialise(m Model, data Data, width int) error {
	g := nn.NewGraph(m.Params())
	images, err := g.Input("images", 1, data.Height, data.Width, data.Channels)
	if err != nil {
		return err
	}
	if _, err := m.Encode(g, images); err != nil {
		return fmt.Errorf("encoder: %w", err)
	}
	codes, err := g.Input("codes", 1, width)
	if err != nil {
		return err
	}
	if _, err := m.Decode(g, codes); err != nil {
		return fmt.Errorf("decoder: %w", err)
	}
	return nil
}
