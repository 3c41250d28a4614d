package models

import (
	"errors"
	"fmt"
	"math"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/losses"
	"github.com/unravel-ml/unravel/models/latent"
)

// Quessard learns how actions rotate codes on the unit sphere of R^Dim (Quessard et al. 2020). It encodes only the
// first image in an episode of the supervision walks. Every action rotates the code, and all codes are decoded:
//
//	z_0 = Pi(W f(x_0) + b),  z_t = g_a(t) z_t-1,  t = 1 ... T.
//
// The g_a are matrices of losses.RotationWalk, and their angles are parameters. An action and its inverse have separate
// angles. The loss reconstruction compares the decoded codes with the images of the episode. The loss entanglement
// makes each action rotate only one plane. On single images, it is an autoencoder. The code of an image is Pi(W f(x) +
// b), of length 1.
type Quessard struct {
	Networks
	Dim int `yaml:"dim" doc:"dimensions of the code on the unit sphere; 2 for each factor that actions turn"`
}

// NewQuessard returns the default settings.
func NewQuessard() *Quessard { return &Quessard{Networks: newNetworks(), Dim: 4} }

func (s *Quessard) Validate() error { return validRange("dim", s.Dim, 2, 1024) }

var errNoActions = errors.New("it learns from actions between images, and there are none; want supervision: walks, or {walks: {factors: [x, y]}} to name what they change")

func (s *Quessard) New(data Data, seed uint64) (Model, error) {
	if len(data.Actions) == 0 {
		return nil, fmt.Errorf("quessard: %w", errNoActions)
	}
	m := &quessard{newAutoencoder(s.Networks, data, seed, s.Dim)}
	if _, err := m.angles(nn.NewGraph(m.params)); err != nil {
		return nil, err
	}
	return m, Materialise(m, data)
}

type quessard struct{ autoencoder }

// angles returns the parameters of the actions, [actions, planes]. They are initialised uniformly between -pi/Dim and
// pi/Dim, as in the public notebooks. Larger angles would be ambiguous.
func (m *quessard) angles(g *nn.Graph) (*gorgonia.Node, error) {
	return g.Param("actions/angles", tensor.Shape{len(m.data.Actions), losses.Planes(m.width)}, func(s *rng.Stream, _ tensor.Shape, values []float32) {
		for i := range values {
			values[i] = float32(math.Pi * (2*s.Float64() - 1) / float64(m.width))
		}
	})
}

func (m *quessard) Objectives() []Objective {
	return []Objective{{Name: "actions", Labelled: true}, {Name: "unsupervised"}}
}

func (m *quessard) Spaces() []Space {
	return []Space{{Name: "sphere", Width: m.width, Circle: m.width == 2, Sphere: m.width == 3, Unit: true}}
}

// Prior implements Generative. Every direction is equally likely, because the model has no other prior.
func (m *quessard) Prior(r *rng.Stream, code []float32) {
	(&latent.Sphere{Dim: m.width - 1}).Prior(r, code)
}

func (m *quessard) Encode(g *nn.Graph, images *gorgonia.Node) (*gorgonia.Node, error) {
	z, err := m.base.Encode(g, images)
	if err != nil {
		return nil, err
	}
	return graph.NormaliseRows(z)
}

func (m *quessard) Build(g *nn.Graph, o Objective, n, group int) (*Program, error) {
	images, err := m.images(g, n)
	if err != nil {
		return nil, err
	}
	first, err := firstImages(images, group)
	if err != nil {
		return nil, err
	}
	z, err := m.Encode(g, first)
	if err != nil {
		return nil, err
	}
	angles, err := m.angles(g)
	if err != nil {
		return nil, err
	}
	var actions *gorgonia.Node
	if o.Labelled {
		if actions, err = g.Input("actions", n, len(m.data.Actions)); err != nil {
			return nil, err
		}
		if z, err = losses.RotationWalk(z, angles, actions, group); err != nil {
			return nil, err
		}
	}
	logits, err := m.Decode(g, z)
	return &Program{
		Outputs: &losses.Outputs{Images: images, Logits: logits, Codes: z, Sample: z, ActionAngles: angles, Rows: n},
		Actions: actions,
	}, err
}

// firstImages returns the first image of each group, [images/group, H, W, C]. It has no gradient.
func firstImages(images *gorgonia.Node, group int) (*gorgonia.Node, error) {
	if group == 1 {
		return images, nil
	}
	return graph.Apply(graph.Spec{
		Name: "first of groups",
		Key:  graph.Key(group),
		Shape: func(in []tensor.Shape) (tensor.Shape, error) {
			out := in[0].Clone()
			out[0] /= group
			return out, nil
		},
		New:  graph.Bodies(firstImagesFunc[float32](group), firstImagesFunc[float64](group)),
		Diff: []bool{false},
	}, images)
}

func firstImagesFunc[T graph.Float](group int) func([]tensor.Shape) forward[T] {
	return func(s []tensor.Shape) forward[T] {
		pixels := s[0].TotalSize() / s[0][0]
		return func(in [][]T, out []T) {
			for i := range len(out) / pixels {
				copy(out[i*pixels:][:pixels], in[0][i*group*pixels:])
			}
		}
	}
}
