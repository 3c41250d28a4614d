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
		return config.Invalid("log_t",
			"the divergence from the uniform distribution is known up to time 1/dim where dim is more than 100; want at most %.2f, got [%v, %v]", math.Floor(100*most)/100, lo, hi)
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

// Embedded is implemented by spaces that are subsets of R^Width.
type Embedded interface {
	// Distance returns the distance of a point of R^Width from the space; 0 on it.
	Distance(point []float64) float64
}

// Densities is implemented by spaces with known densities of posterior and prior, in nats. Both densities refer to
// one measure, so KL(location, scale) is the mean of LogPosterior - LogPrior over points from the posterior.
type Densities interface {
	LogPosterior(location, scale, point []float64) float64
	LogPrior(point []float64) float64
}

// LogPosterior implements [Densities]: log N(z; mu, sigma^2).
func (e *Euclidean) LogPosterior(location, scale, point []float64) float64 {
	var sum float64
	for i, z := range point {
		sum += logNormal((z-location[i])/math.Exp(scale[i])) - scale[i]
	}
	return sum
}

// LogPrior implements [Densities]: log N(z; 0, 1).
func (e *Euclidean) LogPrior(point []float64) float64 {
	var sum float64
	for _, z := range point {
		sum += logNormal(z)
	}
	return sum
}

func logNormal(z float64) float64 { return -(z*z + math.Log(2*math.Pi)) / 2 }

func (s *Sphere) Distance(point []float64) float64 { return math.Abs(1 - norm(point)) }

// LogPrior implements [Densities]: densities are relative to the uniform distribution.
func (s *Sphere) LogPrior([]float64) float64 { return 0 }

// LogPosterior implements [Densities]: the logarithm of the heat kernel f_t at the angle theta between location and
// point. On the circle
//
//	f_t = sqrt(2 pi/t) sum_k exp(-(theta + 2 pi k)^2/(2t)).
//
// On S^d, let R_l be the Gegenbauer polynomials of index (d-1)/2 with R_l(1) = 1, and n_l the number of harmonics of
// degree l:
//
//	f_t = sum_l n_l exp(-l(l+d-1)t/2) R_l(cos theta).
//
// For t below 0.02/d, and far from the location, it uses the expansion to first order in t.
func (s *Sphere) LogPosterior(location, scale, point []float64) float64 {
	t, d := math.Exp(scale[0]), float64(s.Dim)
	var cos float64
	for i, z := range point {
		cos += z * location[i]
	}
	cos = max(-1, min(1, cos/(norm(point)*norm(location))))
	theta := angleBetween(location, point)
	if s.Dim == 1 {
		return logWrapped(theta, t)
	}
	most := logVolume(d) - d/2*math.Log(2*math.Pi*t)
	if t >= 0.02/d {
		if q := math.Log(zonal(cos, t, d)); q > most-30 { // below, rounding errors decide, even the sign
			return q
		}
	}
	curved := 0.0
	if theta > 1e-4 {
		curved = (d - 1) / 2 * math.Log(theta/math.Sin(theta))
	}
	return most - theta*theta/(2*t) + curved + t*d*(d-1)/12
}

// logWrapped returns the log density of a normal angle with variance t, relative to the uniform distribution.
func logWrapped(theta, t float64) float64 {
	if t > 40 {
		return 0
	}
	var sum float64
	reach := math.Ceil(2 * math.Sqrt(t))
	for k := -reach; k <= reach; k++ {
		x := theta + 2*math.Pi*k
		sum += math.Exp((theta*theta - x*x) / (2 * t))
	}
	return math.Log(2*math.Pi/t)/2 - theta*theta/(2*t) + math.Log(sum)
}

// zonal sums the series of the heat kernel of S^d, d > 1.
func zonal(cos, t, d float64) float64 {
	sum, before, now, count := 1.0, 1.0, cos, d+1
	for l := 1.0; ; l++ {
		term := count * math.Exp(-l*(l+d-1)*t/2)
		sum += term * now
		if term < 1e-16 && l > d {
			return sum
		}
		// (l+d-1) R_{l+1} = (2l+d-1) cos R_l - l R_{l-1}
		before, now = now, ((2*l+d-1)*cos*now-l*before)/(l+d-1)
		count *= (l + d - 1) / (l + 1) * (2*l + d + 1) / (2*l + d - 1)
	}
}

// logVolume returns log(2 pi^((d+1)/2) / Gamma((d+1)/2)), the logarithm of the volume of S^d.
func logVolume(d float64) float64 {
	g, _ := math.Lgamma((d + 1) / 2)
	return math.Ln2 + (d+1)/2*math.Log(math.Pi) - g
}

func norm(v []float64) float64 {
	var sum float64
	for _, x := range v {
		sum += x * x
	}
	return math.Sqrt(sum)
}

// angleBetween returns the angle between two vectors. It stays exact if the cosine rounds to 1.
func angleBetween(a, b []float64) float64 {
	na, nb := norm(a), norm(b)
	var less, more float64
	for i := range a {
		u, v := a[i]/na, b[i]/nb
		less, more = less+(u-v)*(u-v), more+(u+v)*(u+v)
	}
	return 2 * math.Atan2(math.Sqrt(less), math.Sqrt(more))
}
