package main

import (
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/losses"
	"github.com/unravel-ml/unravel/models"
)

// denoising is a model: the autoencoder of Vincent et al. 2008, which reconstructs images x from
// noisy ones, x + sigma e with e ~ N(0, I):
//
//	minimise  E[ -log p(x | z) ],  z = f(x + sigma e)
//
// Wants the loss reconstruction. Its code is f(x), without noise.
type denoising struct {
	Encoder nn.EncoderChoice `yaml:"encoder" doc:"network from images to features"`
	Decoder nn.DecoderChoice `yaml:"decoder" doc:"network from codes to images"`
	Latent  int              `yaml:"latent" doc:"dimensions of the code"`
	Sigma   float64          `yaml:"sigma" doc:"standard deviation of the noise of a pixel"`
}

func newDenoising() *denoising {
	d := &denoising{Latent: 4, Sigma: 0.1}
	d.Encoder, _ = nn.NamedEncoder("mlp")
	d.Decoder, _ = nn.NamedDecoder("mlp")
	return d
}

func (d *denoising) Validate() error {
	if d.Latent < 1 || d.Latent > 4096 {
		return config.Invalid("latent", "%d is out of range; want 1 to 4096", d.Latent)
	}
	if !(d.Sigma >= 0 && d.Sigma <= 100) {
		return config.Invalid("sigma", "%v is out of range; want 0 to 100", d.Sigma)
	}
	return nil
}

// New implements models.Settings.
func (d *denoising) New(data models.Data, seed uint64) (models.Model, error) {
	m := &denoiser{settings: *d, data: data, params: nn.NewParams(seed)}
	_, err := m.Build(nn.NewGraph(m.params), m.Objectives()[0], 1, 1) // makes the parameters
	return m, err
}

type denoiser struct {
	settings denoising
	data     models.Data
	params   *nn.Params
}

// Params implements models.Model.
func (m *denoiser) Params() *nn.Params { return m.params }

// Objectives implements models.Model.
func (m *denoiser) Objectives() []models.Objective { return []models.Objective{{Name: "unsupervised"}} }

// Spaces implements models.Model.
func (m *denoiser) Spaces() []models.Space {
	return []models.Space{{Name: "euclidean", Width: m.settings.Latent}}
}

// Encode implements models.Model.
func (m *denoiser) Encode(g *nn.Graph, images *gorgonia.Node) (*gorgonia.Node, error) {
	h, err := m.settings.Encoder.Value.Encode(g, images, "encoder")
	if err != nil {
		return nil, err
	}
	return nn.Dense(g, h, "latent/code", m.settings.Latent, graph.Linear)
}

// Decode implements models.Decoder.
func (m *denoiser) Decode(g *nn.Graph, codes *gorgonia.Node) (*gorgonia.Node, error) {
	return m.settings.Decoder.Value.Decode(g, codes, "decoder", tensor.Shape{m.data.Height, m.data.Width, m.data.Channels})
}

// Build implements models.Model.
func (m *denoiser) Build(g *nn.Graph, _ models.Objective, n, _ int) (*models.Program, error) {
	images, err := g.Input("images", n, m.data.Height, m.data.Width, m.data.Channels)
	if err != nil {
		return nil, err
	}
	noise, err := g.Input("noise", n, m.data.Height, m.data.Width, m.data.Channels)
	if err != nil {
		return nil, err
	}
	noisy, err := graph.Scale(m.settings.Sigma, noise)
	if err != nil {
		return nil, err
	}
	if noisy, err = gorgonia.Add(images, noisy); err != nil {
		return nil, err
	}
	z, err := m.Encode(g, noisy)
	if err != nil {
		return nil, err
	}
	logits, err := m.Decode(g, z)
	if err != nil {
		return nil, err
	}
	return &models.Program{
		Outputs: &losses.Outputs{Images: images, Logits: logits, Codes: z, Sample: z, Rows: n},
		Noise:   []*gorgonia.Node{noise},
	}, nil
}
