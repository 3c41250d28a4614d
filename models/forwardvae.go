package models

import (
	"cmp"
	"fmt"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets/supervision"
	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/losses"
)

// ForwardVAE is a VAE with linear actions on its codes (Caselles-Dupré et al. 2019). The actions come from the
// supervision walks. Each factor that they change has two columns of the code, and each action a has a 2 x 2 matrix M_a
// for the columns of its factor:
//
//	z = mu + sigma noise,  A_a = the identity but for M_a in the columns of a's factor.
//
// The loss prediction, a mean of |A_a z_t - mu_t+1|^2 over successive images, learns the matrices together with
// reconstruction and kl. The matrices are unconstrained, not only rotations.
type ForwardVAE struct {
	Networks
	Latent int    `yaml:"latent" doc:"dimensions of the code; 0: two for each factor that actions change"`
	Scale  string `yaml:"scale" doc:"meaning of the posterior's second head h: paper (sigma = exp(h/2)) or public-code (sigma is exp(h) in samples, exp(h/2) in the divergence)"`
	Init   string `yaml:"init" doc:"matrices of actions at the start: identity (with noise) or ones (the public code's; singular)"`
}

// Values of ForwardVAE.Scale and ForwardVAE.Init.
const (
	scalePaper   = "paper"
	scalePublic  = "public-code"
	initIdentity = "identity"
	initOnes     = "ones"
)

// NewForwardVAE returns the default settings.
func NewForwardVAE() *ForwardVAE {
	return &ForwardVAE{Networks: newNetworks(), Scale: scalePaper, Init: initIdentity}
}

func (s *ForwardVAE) Validate() error {
	switch {
	case s.Scale != scalePaper && s.Scale != scalePublic:
		return config.Invalid("scale", "%q is unknown; want %s or %s", s.Scale, scalePaper, scalePublic)
	case s.Init != initIdentity && s.Init != initOnes:
		return config.Invalid("init", "%q is unknown; want %s or %s", s.Init, initIdentity, initOnes)
	}
	return validRange("latent", s.Latent, 0, maxWidth)
}

func (s *ForwardVAE) New(data Data, seed uint64) (Model, error) {
	if len(data.Actions) == 0 {
		return nil, fmt.Errorf("forward-vae: %w", errNoActions)
	}
	blocks, minWidth := actionBlocks(data.Actions)
	width := cmp.Or(s.Latent, minWidth)
	if width < minWidth {
		return nil, fmt.Errorf("forward-vae: latent is %d; want %d or more, two dimensions for each factor that actions change", width, minWidth)
	}
	m := &forwardVAE{vae{mixed: mixed{autoencoder: newAutoencoder(s.Networks, data, seed, width)},
		wide: s.Scale == scalePublic}, *s, blocks}
	if _, err := m.matrices(nn.NewGraph(m.params)); err != nil {
		return nil, err
	}
	return m, Materialise(m, data)
}

// actionBlocks returns the block of two columns for each action, and the number of columns. The order of blocks is the
// order in which actions first mention the factors.
func actionBlocks(actions []supervision.Action) (blocks []int, width int) {
	known := map[int]int{}
	for _, a := range actions {
		if _, ok := known[a.Factor]; !ok {
			known[a.Factor] = len(known)
		}
		blocks = append(blocks, known[a.Factor])
	}
	return blocks, 2 * len(known)
}

type forwardVAE struct {
	vae
	settings ForwardVAE
	blocks   []int // block of columns, by action
}

// matrices returns the parameters of the actions, [actions, 4].
func (m *forwardVAE) matrices(g *nn.Graph) (*gorgonia.Node, error) {
	const noise = 0.1
	return g.Param("actions/blocks", tensor.Shape{len(m.blocks), 4}, func(s *rng.Stream, _ tensor.Shape, values []float32) {
		for i := range values {
			switch {
			case m.settings.Init == initOnes:
				values[i] = 1
			case i%4 == 0 || i%4 == 3:
				values[i] = 1 + noise*float32(s.NormFloat64())
			default:
				values[i] = noise * float32(s.NormFloat64())
			}
		}
	})
}

func (m *forwardVAE) Objectives() []Objective {
	return []Objective{{Name: "actions", Labelled: true}, {Name: "unsupervised"}}
}

func (m *forwardVAE) Build(g *nn.Graph, o Objective, n, group int) (*Program, error) {
	p, err := m.vae.Build(g, o, n, 1)
	if err != nil || !o.Labelled {
		return p, err
	}
	matrices, err := m.matrices(g)
	if err != nil {
		return nil, err
	}
	if p.Actions, err = g.Input("actions", n, len(m.blocks)); err != nil {
		return nil, err
	}
	p.Outputs.Predicted, err = losses.PredictByBlocks(p.Outputs.Sample, matrices, p.Actions, m.blocks)
	return p, err
}
