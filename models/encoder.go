package models

import (
	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/graph/nn"
)

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

func validRange(key string, is, least, most int) error {
	if is < least || is > most {
		return config.Invalid(key, "want %d to %d, got %d", least, most, is)
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
