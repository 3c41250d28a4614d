package models

import (
	"fmt"
	"math"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/losses"
	"github.com/unravel-ml/unravel/models/latent"
)

// DeltaVAE is the diffusion variational autoencoder (Perez Rey et al. 2020): a VAE with a product of spheres and R^n
// as its latent space. With the losses reconstruction and kl it minimises, in nats per image,
//
//	-E_q(z|x)[log p(x|z)] + sum_i KL(q_i(z_i|x) || p_i(z_i))
//
// over the spaces i. The posterior of a sphere is a random walk from a location, and its prior is uniform; see package
// latent. The code contains the locations of all spaces, side by side. Categorical spaces come first; their column
// contains the number of the most probable option.
type DeltaVAE struct {
	Networks
	Latent latent.List `yaml:"latent" doc:"latent spaces, in the order of their columns"`
}

// newDeltaVAE returns the default settings: a torus.
func newDeltaVAE() *DeltaVAE {
	return &DeltaVAE{Networks: newNetworks(), Latent: latent.Of(latent.NewSphere(), latent.NewSphere())}
}

func (s *DeltaVAE) New(data Data, seed uint64) (Model, error) {
	m := deltaVAEOf(s.Networks, data, seed, s.Latent)
	return &m, Materialise(&m, data)
}

type deltaVAE struct {
	mixed
	latent latent.List
	frames [][]int // groups of spaces with mutually orthogonal locations
}

func deltaVAEOf(n Networks, data Data, seed uint64, spaces latent.List) deltaVAE {
	return deltaVAE{mixed: mixed{newAutoencoder(n, data, seed, 0), choices(spaces)}, latent: spaces}
}

func (m *deltaVAE) Spaces() []Space {
	list := discreteSpaces(m.sizes)
	first := len(list)
	for _, c := range m.latent[len(list):] {
		s := Space{Name: c.Name, First: first, Width: c.Value.Width()}
		if x, ok := c.Value.(latent.Circular); ok {
			s.Circle = x.Circle()
		}
		if x, ok := c.Value.(latent.Spherical); ok {
			s.Sphere = x.Sphere()
		}
		if x, ok := c.Value.(latent.Unit); ok {
			s.Unit = x.Unit()
		}
		list = append(list, s)
		first += s.Width
	}
	return list
}

// Prior implements Generative, space by space. Points of spaces with orthogonal locations become orthogonal.
func (m *deltaVAE) Prior(r *rng.Stream, code []float32) {
	points := make([][]float32, len(m.latent))
	drawOptions(r, m.sizes, code)
	code = code[len(m.sizes):]
	for i := len(m.sizes); i < len(m.latent); i++ {
		space := m.latent[i].Value
		n := space.Width()
		points[i], code = code[:n], code[n:]
		space.Prior(r, points[i])
	}
	for _, spaces := range m.frames {
		for n, i := range spaces {
			for _, j := range spaces[:n] {
				orthogonaliseSample(points[i], points[j])
			}
		}
	}
}

// orthogonaliseSample replaces a point of the unit sphere by its component orthogonal to another point, normalised.
func orthogonaliseSample(point, other []float32) {
	var product, length, square float64
	for i, v := range other {
		product += float64(v) * float64(point[i])
		length += float64(v) * float64(v)
	}
	for i, v := range other {
		d := float64(point[i]) - product/length*float64(v)
		point[i], square = float32(d), square+d*d
	}
	for i := range point {
		point[i] = float32(float64(point[i]) / math.Sqrt(square))
	}
}

func (m *deltaVAE) variables(g *nn.Graph, images *gorgonia.Node) ([]*latent.Variable, error) {
	h, err := m.features(g, images)
	if err != nil {
		return nil, err
	}
	v, err := m.latent.Variables(g, h)
	if err != nil {
		return nil, err
	}
	for _, spaces := range m.frames {
		for n, i := range spaces {
			if n == 0 {
				continue
			}
			if err := orthogonalise(v, spaces[:n], i); err != nil {
				return nil, fmt.Errorf("latent space %d: %w", i, err)
			}
		}
	}
	return v, nil
}

// orthogonalise replaces the location of a variable by its component orthogonal to other locations, normalised (the
// Gram-Schmidt process). This commutes with a rotation of all locations.
func orthogonalise(variables []*latent.Variable, others []int, i int) (err error) {
	v := variables[i]
	for _, other := range others {
		if v.Location, err = graph.RejectRows(v.Location, variables[other].Location); err != nil {
			return err
		}
	}
	if v.Location, err = graph.NormaliseRows(v.Location); err != nil {
		return err
	}
	v.Sample, err = v.Space.Sample(v.Location, v.Scale, v.Noise)
	return err
}

func (m *deltaVAE) Encode(g *nn.Graph, images *gorgonia.Node) (*gorgonia.Node, error) {
	v, err := m.variables(g, images)
	if err != nil {
		return nil, err
	}
	weights, values, err := parts(v, len(m.sizes), latent.Locations)
	if err != nil {
		return nil, err
	}
	return withOptionNumbers(weights, values, m.sizes)
}

// parts joins the columns of the discrete variables, which come first, and separately the columns of the others. A
// result without columns is nil.
func parts(v []*latent.Variable, discrete int,
	join func([]*latent.Variable) (*gorgonia.Node, error)) (weights, values *gorgonia.Node, err error) {
	if discrete > 0 {
		if weights, err = join(v[:discrete]); err != nil {
			return nil, nil, err
		}
	}
	if discrete < len(v) {
		values, err = join(v[discrete:])
	}
	return weights, values, err
}

func (m *deltaVAE) Build(g *nn.Graph, _ Objective, n, _ int) (*Program, error) {
	p, variables, err := m.sampleSpaces(g, n)
	if err != nil {
		return nil, err
	}
	points := p.Outputs.Sample
	if p.Outputs.Options != nil {
		if points, err = latent.Samples(variables); err != nil {
			return nil, err
		}
	}
	p.Outputs.Logits, err = m.autoencoder.Decode(g, points)
	return p, err
}

// sampleSpaces adds the graph up to the samples. Losses get codes and samples of the continuous spaces. Without
// continuous spaces, they get all spaces.
func (m *deltaVAE) sampleSpaces(g *nn.Graph, n int) (*Program, []*latent.Variable, error) {
	images, err := m.images(g, n)
	if err != nil {
		return nil, nil, err
	}
	variables, err := m.variables(g, images)
	if err != nil {
		return nil, nil, err
	}
	p := &Program{Outputs: &losses.Outputs{Images: images, Rows: n}}
	p.posteriors(variables)
	discrete := len(m.sizes)
	if discrete > 0 {
		p.Outputs.Hierarchy = HierarchyOf(m)
		if p.Outputs.Options, err = latent.Samples(variables[:discrete]); err != nil {
			return nil, nil, err
		}
	}
	if discrete == len(variables) {
		discrete = 0
	}
	if p.Outputs.Codes, err = latent.Locations(variables[discrete:]); err != nil {
		return nil, nil, err
	}
	p.Outputs.Sample, err = latent.Samples(variables[discrete:])
	return p, variables, err
}

// posteriors adds the posteriors of latent variables to the program, with their noise and schedules.
func (p *Program) posteriors(variables []*latent.Variable) {
	for _, v := range variables {
		p.Noise = append(p.Noise, v.Noise)
		p.Outputs.Posteriors = append(p.Outputs.Posteriors, v)
		if v.Schedule != nil {
			p.Schedules = append(p.Schedules, *v.Schedule)
		}
	}
}
