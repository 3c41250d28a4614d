package latent

import (
	"math"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/losses"
)

// Sphere is the unit sphere S^Dim in R^(Dim+1) (Delta-VAE, Perez Rey et al. 2020).
//
// The posterior is a random walk from the location mu, a normalised linear map of the features. The walk has Steps
// steps and total time t. log t, one number per image, lies within LogT and starts at its middle. The prior is uniform.
// The KL uses the heat kernel, the limit of the walk for many steps. Angles act on the circle, and axes with angles act
// on S^2 (the rotations SO(3)). On higher spheres only the identity acts.
//
// A circular factor acts by Omega times its angle, the representation of integer weight Omega (Tonnaer et al. 2022,
// section 4.3). On S^2 it rotates about Axis.
type Sphere struct {
	Dim   int        `yaml:"dim" doc:"dimension: 1 for the circle, 2 for the ordinary sphere"`
	LogT  [2]float64 `yaml:"log_t" doc:"smallest and largest log t (natural); t is the time of the random walk, its variance along each axis"`
	Steps int        `yaml:"steps" doc:"steps of the random walk"`
	Omega int        `yaml:"omega" doc:"turns of the point per turn of its factor; not 0"`
	Axis  []float64  `yaml:"axis" doc:"for dim 2: axis of the factor's rotation, three numbers; if absent, no factor acts"`
}

// NewSphere returns the default settings: a circle.
func NewSphere() *Sphere { return &Sphere{Dim: 1, LogT: [2]float64{-10, -5}, Steps: 10, Omega: 1} }

func (s *Sphere) Validate() error {
	lo, hi := s.LogT[0], s.LogT[1]
	switch {
	case s.Dim < 1 || s.Dim > 1<<16:
		return config.Invalid("dim", "want 1 to 65536, got %d", s.Dim)
	case !(lo <= hi) || lo < -60 || hi > 10:
		return config.Invalid("log_t", "want [least, greatest] within -60 and 10, got [%v, %v]", lo, hi)
	case s.Steps < 1 || s.Steps > 10000:
		return config.Invalid("steps", "want 1 to 10000, got %d", s.Steps)
	case s.Omega == 0 || s.Omega < -1000 || s.Omega > 1000:
		return config.Invalid("omega", "want -1000 to 1000 without 0, got %d", s.Omega)
	case s.Omega != 1 && s.Dim > 2:
		return config.Invalid("omega", "no factor rotates a sphere of dim %d; want dim 1 or 2", s.Dim)
	case s.Axis != nil && s.Dim != 2:
		return config.Invalid("axis", "a sphere of dim %d has none; want dim 2", s.Dim)
	}
	if most := math.Log(losses.SphereTime(s.Dim)); hi > most {
		return config.Invalid("log_t", "the divergence from the uniform distribution is known up to time 1/dim where dim is more than 100; want at most %.2f, got [%v, %v]", math.Floor(100*most)/100, lo, hi)
	}
	return s.validAxis()
}

func (s *Sphere) validAxis() error {
	if s.Axis == nil {
		return nil
	}
	square := 0.0
	for _, x := range s.Axis {
		square += x * x
	}
	if len(s.Axis) != 3 || !(square > 1e-12) || square > 1e12 {
		return config.Invalid("axis", "want three numbers that are not all 0, such as [0, 0, 1], got %v", s.Axis)
	}
	return nil
}

func (s *Sphere) Turns() bool  { return s.Dim == 1 || s.Axis != nil }
func (s *Sphere) Circle() bool { return s.Dim == 1 }
func (s *Sphere) Sphere() bool { return s.Dim == 2 }
func (s *Sphere) Unit() bool   { return true }

func (s *Sphere) Turn(angles *gorgonia.Node) (*gorgonia.Node, error) {
	switch {
	case s.Axis != nil:
		return losses.AboutAxis([3]float64(s.Axis), float64(s.Omega), angles)
	case s.Omega == 1:
		return angles, nil
	}
	return graph.Scale(float64(s.Omega), angles)
}

func (s *Sphere) Width() int { return s.Dim + 1 }

// Columns implements [Space]: an angle rotates a circle; an axis and an angle rotate S^2.
func (s *Sphere) Columns() int {
	switch s.Dim {
	case 1:
		return 1
	case 2:
		return 4
	}
	return 0
}

// Heads implements [Space]; the scale is log t, [batch, 1].
func (s *Sphere) Heads(g *nn.Graph, features *gorgonia.Node, name string) (location, scale *gorgonia.Node, err error) {
	if location, err = nn.Dense(g, features, name+"/loc", s.Width(), graph.Linear); err != nil {
		return nil, nil, err
	}
	if location, err = graph.NormaliseRows(location); err != nil {
		return nil, nil, err
	}
	if scale, err = nn.DenseWith(g, features, name+"/scale", 1, graph.Linear, nn.Zeros); err != nil {
		return nil, nil, err
	}
	scale, err = Interval(scale, s.LogT[0], s.LogT[1])
	return location, scale, err
}

func (s *Sphere) NoiseShape(batch int) []int { return []int{s.Steps, batch, s.Width()} }

func (s *Sphere) Sample(location, scale, noise *gorgonia.Node) (*gorgonia.Node, error) {
	return SphereWalk(location, scale, noise)
}

// KL implements [Space]; see losses.KLSphere.
func (s *Sphere) KL(_, scale *gorgonia.Node) (*gorgonia.Node, error) {
	return losses.KLSphere(scale, s.Dim)
}

func (s *Sphere) Transport(z, transformation *gorgonia.Node, m int) (losses.Transport, error) {
	var y *gorgonia.Node
	var err error
	switch s.Dim {
	case 1:
		y, err = losses.CircleTransport(z, transformation, m)
	case 2:
		y, err = losses.SphereTransport(z, transformation, m)
	default:
		if y, err = losses.MeanTransport(z, m); err == nil {
			y, err = graph.NormaliseRows(y)
		}
	}
	return losses.Transport{Points: z, Moved: y, Sphere: true, Acts: s.Columns() > 0}, err
}

// Prior implements [Space]. The direction of a Gaussian vector is uniform.
func (s *Sphere) Prior(r *rng.Stream, dst []float32) {
	for {
		r.Normals(dst)
		square := 0.0
		for _, x := range dst {
			square += float64(x) * float64(x)
		}
		if square > 1e-12 {
			for i := range dst {
				dst[i] = float32(float64(dst[i]) / math.Sqrt(square))
			}
			return
		}
	}
}
