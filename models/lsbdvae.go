package models

import (
	"fmt"
	"strings"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/factor"
	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/models/latent"
	"github.com/unravel-ml/unravel/registry"
)

// LSBDVAE is the LSBD-VAE (Tonnaer et al. 2022, section 5), for the losses reconstruction, kl and lsbd. On unlabelled
// images it is the [DeltaVAE]. On labelled groups x_1, ..., x_M with known transformations g_m from x_1 to x_m it minimises
// the objective of that model, with y_m decoded in place of the sample z_m, plus
//
//	gamma 1/M sum_m |z_m - y_m|^2,  y_m = rho(g_m) zbar,  zbar = Pi(1/M sum_m rho(g_m)^-1 z_m),
//
// where rho is the action on each space, Pi the projection onto it, and gamma the weight of lsbd. M is the
// supervision's: pairs, paths or views.
//
// The k-th space on which a circular factor acts (a circle, or a sphere with an axis) follows the k-th factor of
// Factors; the r-th other S^2 follows the r-th rotation of the groups, under SO(3).
type LSBDVAE struct {
	Networks
	Latent       latent.List `yaml:"latent" doc:"latent spaces, in the order of their columns"`
	Factors      []string    `yaml:"factors" doc:"factors whose transformations act on the circles, in the order of the circles; if absent, all circular factors"`
	StopGradient bool        `yaml:"stop_gradient" doc:"stop the gradient of the reconstruction of labelled groups before the encoder"`
}

// NewLSBDVAE returns the default settings: a torus.
func NewLSBDVAE() *LSBDVAE {
	return &LSBDVAE{Networks: NewNetworks(), Latent: latent.Of(latent.NewSphere(), latent.NewSphere())}
}

// New implements Settings.
func (s *LSBDVAE) New(data Data, seed uint64) (Model, error) {
	moves, err := s.moves(data)
	if err != nil {
		return nil, err
	}
	m := &lsbdVAE{deltaVAE: deltaVAE{newAutoencoder(s.Networks, data, seed), s.Latent}, moves: moves, stop: s.StopGradient}
	return m, Materialise(m, data)
}

// moves returns, for each latent space, the columns of a batch's transformations that act on it.
func (s *LSBDVAE) moves(data Data) ([][]int, error) {
	factors, err := s.factors(data.Factors)
	if err != nil {
		return nil, err
	}
	var list [][]int
	rotations := 0
	for i, c := range s.Latent {
		switch {
		case c.Value.Columns() == 0:
			list = append(list, nil)
		case !c.Value.Turns() && rotations < data.Rotations:
			first := len(data.Factors) + 4*rotations
			list = append(list, []int{first, first + 1, first + 2, first + 3})
			rotations++
		case !c.Value.Turns():
			return nil, fmt.Errorf("lsbd-vae: latent space %d (%s) is acted on by axis and angle, and factors only give angles; want an axis, such as {sphere: {dim: 2, axis: [0, 0, 1]}}, or rotations in the supervision groups", i, c.Name)
		case len(factors) == 0:
			return nil, fmt.Errorf("lsbd-vae: latent space %d takes a circular factor, and there is no circular factor left; want as many such spaces as circular factors", i)
		default:
			list = append(list, factors[:1])
			factors = factors[1:]
		}
	}
	if len(factors) > 0 {
		return nil, fmt.Errorf("lsbd-vae: factor %q has no space to act on; want as many circles (or spheres with an axis) as circular factors, or name fewer with model.lsbd-vae.factors", data.Factors[factors[0]].Name)
	}
	return list, nil
}

func (s *LSBDVAE) factors(all []factor.Factor) ([]int, error) {
	var list []int
	if len(s.Factors) == 0 {
		for i, f := range all {
			if f.Kind == factor.Circular {
				list = append(list, i)
			}
		}
		return list, nil
	}
	var names []string
	for _, f := range all {
		names = append(names, f.Name)
	}
	for _, name := range s.Factors {
		found := -1
		for i, f := range all {
			if f.Name == name {
				found = i
			}
		}
		switch {
		case found < 0:
			return nil, fmt.Errorf("lsbd-vae: factors: there is no factor %q%s", name, registry.Suggest(name, names))
		case all[found].Kind != factor.Circular:
			return nil, fmt.Errorf("lsbd-vae: factors: %q is %v, not circular; the circular ones are: %s", name, all[found].Kind, circularNames(all))
		}
		list = append(list, found)
	}
	return list, nil
}

func circularNames(all []factor.Factor) string {
	var names []string
	for _, f := range all {
		if f.Kind == factor.Circular {
			names = append(names, f.Name)
		}
	}
	return strings.Join(names, ", ")
}

type lsbdVAE struct {
	deltaVAE
	moves [][]int
	stop  bool
}

// Objectives implements Model.
func (m *lsbdVAE) Objectives() []Objective {
	return []Objective{{Name: "supervised", Labelled: true}, {Name: "unsupervised"}}
}

// Build implements Model.
func (m *lsbdVAE) Build(g *nn.Graph, o Objective, n, group int) (*Program, error) {
	if !o.Labelled {
		return m.deltaVAE.Build(g, o, n, group)
	}
	p, variables, err := m.begin(g, n)
	if err != nil {
		return nil, err
	}
	var moved []*gorgonia.Node
	for i, v := range variables {
		var moves *gorgonia.Node
		if columns := m.moves[i]; columns != nil {
			if moves, err = g.Input(fmt.Sprintf("moves/%d", i), n, len(columns)); err != nil {
				return nil, err
			}
			p.Transformations = append(p.Transformations, Transformation{moves, columns})
			if v.Space.Turns() {
				moves, err = v.Space.Turn(moves)
			}
			if err != nil {
				return nil, err
			}
		}
		t, err := v.Transport(moves, group)
		if err != nil {
			return nil, fmt.Errorf("latent space %d: %w", i, err)
		}
		p.Outputs.Transports = append(p.Outputs.Transports, t)
		moved = append(moved, t.Moved)
	}
	y, err := graph.ConcatColumns(moved...)
	if err != nil {
		return nil, err
	}
	if m.stop {
		if y, err = graph.StopGradient(y); err != nil {
			return nil, err
		}
	}
	p.Outputs.Logits, err = m.Decode(g, y)
	return p, err
}
