package models

import (
	"fmt"
	"slices"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph/nn"
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
	case *nn.Burgess:
		d := *e
		return &d, nil
	case *nn.MLP:
		d := *e
		d.Hidden = slices.Clone(e.Hidden)
		slices.Reverse(d.Hidden)
		return &d, nil
	}
	return nil, fmt.Errorf("model: there is no mirror image of the encoder %q: want a decoder", n.Encoder.Name)
}

// base is what all models share.
type base struct {
	encoder nn.EncoderChoice
	data    Data
	params  *nn.Params
}

func newBase(e nn.EncoderChoice, data Data, seed uint64) base {
	return base{e, data, nn.NewParams(seed)}
}

// Params implements Model.
func (b *base) Params() *nn.Params { return b.params }

func (b *base) features(g *nn.Graph, images *gorgonia.Node) (*gorgonia.Node, error) {
	return b.encoder.Value.Encode(g, images, "encoder")
}

// images adds the input of a batch.
func (b *base) images(g *nn.Graph, n int) (*gorgonia.Node, error) {
	return g.Input("images", n, b.data.Height, b.data.Width, b.data.Channels)
}

// autoencoder is what all models with a decoder share.
type autoencoder struct {
	base
	networks Networks
}

func newAutoencoder(n Networks, data Data, seed uint64) autoencoder {
	return autoencoder{newBase(n.Encoder, data, seed), n}
}

// Decode implements Decoder.
func (a *autoencoder) Decode(g *nn.Graph, codes *gorgonia.Node) (*gorgonia.Node, error) {
	d, err := a.networks.decoder()
	if err != nil {
		return nil, err
	}
	return d.Decode(g, codes, "decoder", tensor.Shape{a.data.Height, a.data.Width, a.data.Channels})
}

// materialise builds the encoder, and the decoder if there is one, once, so that all parameters exist
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
	d, ok := m.(Decoder)
	if !ok {
		return nil
	}
	codes, err := g.Input("codes", 1, width)
	if err != nil {
		return err
	}
	if _, err := d.Decode(g, codes); err != nil {
		return fmt.Errorf("decoder: %w", err)
	}
	return nil
}
