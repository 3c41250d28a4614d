package main

import (
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/losses"
)

// laplace is a latent space: R^Dim with the posterior Laplace(mu, b) in every coordinate and the prior Laplace(0, 1).
type laplace struct {
	Dim int `yaml:"dim" doc:"dimension"`
}

func (l *laplace) Validate() error {
	if l.Dim < 1 || l.Dim > 4096 {
		return config.Invalid("dim", "%d is out of range; want 1 to 4096", l.Dim)
	}
	return nil
}

// Width implements latent.Space.
func (l *laplace) Width() int { return l.Dim }

// Heads implements latent.Space: mu and log b are linear maps of the features.
func (l *laplace) Heads(g *nn.Graph, features *gorgonia.Node, name string) (location, scale *gorgonia.Node, err error) {
	if location, err = nn.Dense(g, features, name+"/loc", l.Dim, graph.Linear); err != nil {
		return nil, nil, err
	}
	scale, err = nn.DenseWith(g, features, name+"/scale", l.Dim, graph.Linear, nn.Zeros)
	return location, scale, err
}

// NoiseShape implements latent.Space: four normal numbers a coordinate, see Sample.
func (l *laplace) NoiseShape(batch int) []int { return []int{batch, 4 * l.Dim} }

// Sample implements latent.Space: mu + b (n1 n2 + n3 n4), as the sum of two products of standard normal
// numbers has the distribution Laplace(0, 1).
func (l *laplace) Sample(location, scale, noise *gorgonia.Node) (*gorgonia.Node, error) {
	var n [4]*gorgonia.Node
	for i := range n {
		var err error
		if n[i], err = graph.SliceColumns(noise, i*l.Dim, (i+1)*l.Dim); err != nil {
			return nil, err
		}
	}
	s := steps{last: location}
	unit := s.of(gorgonia.Add(s.of(gorgonia.HadamardProd(n[0], n[1])), s.of(gorgonia.HadamardProd(n[2], n[3]))))
	z := s.of(gorgonia.Add(location, s.of(gorgonia.HadamardProd(s.of(gorgonia.Exp(scale)), unit))))
	return z, s.err
}

// KL implements latent.Space: |mu| + b exp(-|mu|/b) - log b - 1, summed over the coordinates, the mean over the batch.
func (l *laplace) KL(location, scale *gorgonia.Node) (*gorgonia.Node, error) {
	s := steps{last: location}
	size := s.of(gorgonia.Abs(location))
	b := s.of(gorgonia.Exp(scale))
	within := s.of(gorgonia.HadamardProd(b, s.of(gorgonia.Exp(s.of(gorgonia.Neg(s.of(gorgonia.HadamardDiv(size, b))))))))
	sum := s.of(gorgonia.Sum(s.of(gorgonia.Sub(s.of(gorgonia.Add(size, within)), scale))))
	mean := s.of(graph.Scale(1/float64(location.Shape()[0]), sum))
	var dim any = float32(l.Dim)
	if location.Dtype() == tensor.Float64 {
		dim = float64(l.Dim)
	}
	return s.of(gorgonia.Sub(mean, gorgonia.NewConstant(dim))), s.err
}

// Columns implements latent.Space: only the identity acts.
func (l *laplace) Columns() int { return 0 }

// Turns implements latent.Space.
func (l *laplace) Turns() bool { return false }

// Turn implements latent.Space.
func (l *laplace) Turn(angles *gorgonia.Node) (*gorgonia.Node, error) { return angles, nil }

// Transport implements latent.Space: the members of a group share the mean of their codes.
func (l *laplace) Transport(z, _ *gorgonia.Node, m int) (losses.Transport, error) {
	y, err := losses.MeanTransport(z, m)
	return losses.Transport{Points: z, Moved: y}, err
}

// Prior implements latent.Space.
func (l *laplace) Prior(r *rng.Stream, dst []float32) {
	n := make([]float32, 4)
	for i := range dst {
		r.Normals(n)
		dst[i] = n[0]*n[1] + n[2]*n[3]
	}
}

// steps keeps the first error of a chain of operations. The chain then continues with its last node instead of nil.
type steps struct {
	last *gorgonia.Node
	err  error
}

func (s *steps) of(n *gorgonia.Node, err error) *gorgonia.Node {
	if err == nil {
		s.last = n
	} else if s.err == nil {
		s.err = err
	}
	return s.last
}
