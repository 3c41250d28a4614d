package conformance_test

import (
	"testing"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/conformance"
	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/losses"
	"github.com/unravel-ml/unravel/models/latent"
)

func TestLatents(t *testing.T) {
	for name, s := range map[string]func() latent.Space{
		"S2":         func() latent.Space { return ball(2, nil) },
		"S2 by axis": func() latent.Space { return ball(2, []float64{1, 2, 0}) },
		"S3":         func() latent.Space { return ball(3, nil) },
		"twice":      func() latent.Space { s := latent.NewSphere(); s.Omega = 2; return s },
		"R1":         func() latent.Space { return &latent.Euclidean{Dim: 1} },
	} {
		t.Run(name, func(t *testing.T) {
			if err := conformance.CheckLatent(registry.Entry[latent.Space]{Name: name, Doc: "a space", New: s}); err != nil {
				t.Error(err)
			}
		})
	}
}

// ball is a sphere of some dimension.
func ball(dim int, axis []float64) *latent.Sphere {
	s := latent.NewSphere()
	s.Dim, s.Axis = dim, axis
	return s
}

// faultySpace is a circle, or a sphere of dimension 2, with one fault.
type faultySpace struct {
	*latent.Sphere
	fault string
	calls float64
}

func (s *faultySpace) Heads(g *nn.Graph, features *gorgonia.Node, name string) (location, scale *gorgonia.Node, err error) {
	if s.fault == "another name" {
		name = "mine"
	}
	location, scale, err = s.Sphere.Heads(g, features, name)
	if err == nil && s.fault == "location off the sphere" {
		location, err = graph.Scale(1.1, location)
	}
	return location, scale, err
}

func (s *faultySpace) Sample(location, scale, noise *gorgonia.Node) (*gorgonia.Node, error) {
	switch s.fault {
	case "no noise":
		return graph.NormaliseRows(location)
	case "half the gradient":
		half, err := graph.Scale(0.5, location)
		if err != nil {
			return nil, err
		}
		held, err := graph.StopGradient(half)
		if err != nil {
			return nil, err
		}
		if location, err = graph.Add(half, held); err != nil {
			return nil, err
		}
	}
	return s.Sphere.Sample(location, scale, noise)
}

func (s *faultySpace) KL(location, scale *gorgonia.Node) (*gorgonia.Node, error) {
	kl, err := s.Sphere.KL(location, scale)
	if err != nil {
		return nil, err
	}
	switch s.fault {
	case "twice the divergence":
		return graph.Scale(2, kl)
	case "less than nothing":
		return graph.Scale(-1, kl)
	}
	return kl, nil
}

func (s *faultySpace) Turn(angles *gorgonia.Node) (*gorgonia.Node, error) {
	if s.fault == "half a turn" {
		return graph.Scale(1.5, angles)
	}
	return s.Sphere.Turn(angles)
}

func (s *faultySpace) Transport(z, transformation *gorgonia.Node, m int) (losses.Transport, error) {
	t, err := s.Sphere.Transport(z, transformation, m)
	if err != nil {
		return t, err
	}
	switch s.fault {
	case "moves nothing":
		t.Moved = z
	case "bent rotations": // the square of the angle
		squared, err := gorgonia.Square(transformation)
		if err != nil {
			return t, err
		}
		return s.Sphere.Transport(z, squared, m)
	case "off the sphere":
		t.Moved, err = graph.Scale(0.9, t.Moved)
	}
	return t, err
}

func (s *faultySpace) Prior(r *rng.Stream, dst []float32) {
	switch s.fault {
	case "prior off the sphere":
		r.Normals(dst)
		return
	case "prior of its own":
		s.calls++
		r = rng.New(uint64(s.calls), "prior")
	}
	s.Sphere.Prior(r, dst)
}

func TestLatentsFindFaults(t *testing.T) {
	for fault, want := range map[string]string{
		"":                        "",
		"another name":            `Heads makes the parameter "mine/loc/weight"`,
		"location off the sphere": "location: a point is 0.1 away",
		"no noise":                "samples do not depend on the noise",
		"half the gradient":       "gradients: location (0), scale (1): gradient of element",
		"twice the divergence":    "want the mean of log q - log p over samples",
		"less than nothing":       "want a number that is not negative",
		"half a turn":             "a whole turn of a circular factor moves a point",
		"moves nothing":           "moves",
		"bent rotations":          "transformations do not act as a group: Transport moves the points of a, and of b after a",
		"off the sphere":          "Transport: a point is 0.1 away",
		"prior off the sphere":    "Prior: a point is",
		"prior of its own":        "Prior gives other points for the same stream",
	} {
		err := conformance.CheckLatent(registry.Entry[latent.Space]{Name: "faulty", Doc: "a circle",
			New: func() latent.Space { return &faultySpace{Sphere: latent.NewSphere(), fault: fault} }})
		must.Error(t, err, want, fault)
	}
}
