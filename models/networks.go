package models

import (
	"errors"
	"fmt"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/losses"
)

// Networks holds the settings of a model's encoder and decoder.
type Networks struct {
	Encoder nn.EncoderChoice  `yaml:"encoder" doc:"network from images to features"`
	Decoder *nn.DecoderChoice `yaml:"decoder" doc:"network from codes to images; if absent, the encoder's mirror image"`
}

// newNetworks returns the default: the encoder conv64 and its mirrored decoder.
func newNetworks() Networks { return Networks{Encoder: nn.DefaultEncoder()} }

// Decoding returns the chosen decoder, or else the mirrored encoder.
func (n Networks) Decoding() (nn.Decoder, error) {
	if n.Decoder != nil && n.Decoder.Value != nil {
		return n.Decoder.Value, nil
	}
	if e, ok := n.Encoder.Value.(nn.Mirrored); ok {
		return e.Mirror(), nil
	}
	return nil, fmt.Errorf("model: the encoder %q has no mirror image; want a decoder in the config", n.Encoder.Name)
}

// base is embedded in all models. By default, a model learns from single images without labels, and its code is z = W
// f(x) + b for features f(x).
type base struct {
	encoder nn.EncoderChoice
	data    Data
	params  *nn.Params
	width   int // continuous columns of the code
}

func newBase(e nn.EncoderChoice, data Data, seed uint64, width int) base {
	return base{e, data, nn.NewParams(seed), width}
}

func (b *base) Params() *nn.Params      { return b.params }
func (b *base) Objectives() []Objective { return []Objective{{Name: "unsupervised"}} }
func (b *base) Spaces() []Space         { return []Space{{Name: "euclidean", Width: b.width}} }

func (b *base) Encode(g *nn.Graph, images *gorgonia.Node) (*gorgonia.Node, error) {
	h, err := b.features(g, images)
	if err != nil {
		return nil, err
	}
	return nn.Dense(g, h, "latent/code", b.width, graph.Linear)
}

func (b *base) features(g *nn.Graph, images *gorgonia.Node) (*gorgonia.Node, error) {
	if b.encoder.Value == nil {
		return nil, errors.New("none is chosen; want one, such as nn.DefaultEncoder()")
	}
	return b.encoder.Value.Encode(g, images, "encoder")
}

func (b *base) images(g *nn.Graph, n int) (*gorgonia.Node, error) {
	return g.Input("images", n, b.data.Height, b.data.Width, b.data.Channels)
}

// deterministic builds the program of a model without noise or a decoder.
func (b *base) deterministic(g *nn.Graph, n int) (*Program, error) {
	images, err := b.images(g, n)
	if err != nil {
		return nil, err
	}
	z, err := b.Encode(g, images)
	if err != nil {
		return nil, err
	}
	return &Program{Outputs: &losses.Outputs{Images: images, Codes: z, Sample: z, Rows: n}}, nil
}

// autoencoder is embedded in all models with a decoder.
type autoencoder struct {
	base
	networks Networks
}

func newAutoencoder(n Networks, data Data, seed uint64, width int) autoencoder {
	return autoencoder{newBase(n.Encoder, data, seed, width), n}
}

func (a *autoencoder) Decode(g *nn.Graph, codes *gorgonia.Node) (*gorgonia.Node, error) {
	d, err := a.networks.Decoding()
	if err != nil {
		return nil, err
	}
	return d.Decode(g, codes, "decoder", tensor.Shape{a.data.Height, a.data.Width, a.data.Channels})
}

// Materialise builds a model's encoder, and its decoder if it has one. All parameters then exist. It returns an error
// if a network does not fit the images. Call it at the end of a model's New.
func Materialise(m Model, data Data) error {
	g := nn.NewGraph(m.Params())
	images, err := g.Input("images", 1, data.Height, data.Width, data.Channels)
	if err != nil {
		return err
	}
	codes, err := m.Encode(g, images)
	if err != nil {
		return fmt.Errorf("encoder: %w", err)
	}
	d, ok := m.(Decoder)
	if !ok {
		return nil
	}
	if codes, err = g.Input("codes", 1, codes.Shape()[1]); err != nil {
		return err
	}
	if _, err := d.Decode(g, codes); err != nil {
		return fmt.Errorf("decoder: %w", err)
	}
	return nil
}

// Encoder is a network from images to codes without a decoder: z = W f(x) + b with features f(x). Its objective is
// the sum of the config's losses, such as variance, contraction or logic (Zhang and Sugiyama 2024, section 3).
type Encoder struct {
	Encoder nn.EncoderChoice `yaml:"encoder" doc:"network from images to features"`
	Latent  int              `yaml:"latent" doc:"dimensions of the code"`
}

// NewEncoder returns the default settings.
func NewEncoder() *Encoder { return &Encoder{Encoder: nn.DefaultEncoder(), Latent: 10} }

func (s *Encoder) Validate() error { return validLatent(s.Latent) }

// maxWidth limits the columns of a code.
const maxWidth = 1 << 20

func validLatent(n int) error {
	if n < 1 || n > maxWidth {
		return config.Invalid("latent", "%d dimensions; want 1 to %d", n, maxWidth)
	}
	return nil
}

func validRange(key string, value, low, high int) error {
	if value < low || value > high {
		return config.Invalid(key, "want %d to %d, got %d", low, high, value)
	}
	return nil
}

func (s *Encoder) New(data Data, seed uint64) (Model, error) {
	m := &encoder{newBase(s.Encoder, data, seed, s.Latent)}
	return m, Materialise(m, data)
}

type encoder struct{ base }

func (m *encoder) Build(g *nn.Graph, _ Objective, n, _ int) (*Program, error) {
	return m.deterministic(g, n)
}

// AE is the deterministic autoencoder with z = W f(x) + b (Hinton and Salakhutdinov 2006). With the loss
// reconstruction it minimises -log p(x|z). For Gaussian pixels this is the squared error |x - x'|^2 up to a factor.
type AE struct {
	Networks
	Latent int `yaml:"latent" doc:"dimensions of the code"`
}

// NewAE returns the default settings.
func NewAE() *AE { return &AE{Networks: newNetworks(), Latent: 10} }

func (s *AE) Validate() error { return validLatent(s.Latent) }

func (s *AE) New(data Data, seed uint64) (Model, error) {
	m := &ae{newAutoencoder(s.Networks, data, seed, s.Latent)}
	return m, Materialise(m, data)
}

type ae struct{ autoencoder }

func (m *ae) Build(g *nn.Graph, _ Objective, n, _ int) (*Program, error) {
	p, err := m.deterministic(g, n)
	if err != nil {
		return nil, err
	}
	p.Outputs.Logits, err = m.Decode(g, p.Outputs.Codes)
	return p, err
}

// forward is the [graph.Body] of an operation without a gradient.
type forward[T graph.Float] func(in [][]T, out []T)

func (f forward[T]) Forward(in [][]T, out []T)         { f(in, out) }
func (forward[T]) Backward(_ [][]T, _, _ []T, _ [][]T) {}
