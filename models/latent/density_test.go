package latent_test

import (
	"math"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/models/latent"
)

// The density of a sphere's posterior integrates to 1 and reproduces KL, by quadrature over the angle to the location.
func TestSphereDensity(t *testing.T) {
	for _, dim := range []int{1, 2, 3, 7} {
		for _, logT := range []float64{-9, -6, -4.5, -2, 0, 1} {
			s := sphere(dim)
			location, point := make([]float64, dim+1), make([]float64, dim+1)
			location[0] = 2 // only its direction counts
			most := math.Min(math.Pi, 40*math.Exp(logT/2))
			var mass, kl, volume float64
			const n = 20000
			for i := range n {
				theta := (float64(i) + 0.5) * most / n
				point[0], point[1] = math.Cos(theta), math.Sin(theta)
				w := math.Pow(math.Sin(theta), float64(dim-1)) * most / n
				q := s.LogPosterior(location, []float64{logT}, point)
				mass += w * math.Exp(q)
				if q > -300 {
					kl += w * math.Exp(q) * (q - s.LogPrior(point))
				}
			}
			for i := range n {
				volume += math.Pow(math.Sin((float64(i)+0.5)*math.Pi/n), float64(dim-1)) * math.Pi / n
			}
			mass, kl = mass/volume, kl/volume
			g := gorgonia.NewGraph()
			value := tensor.New(tensor.WithShape(1, 1), tensor.WithBacking([]float64{logT}))
			scale := gorgonia.NewMatrix(g, tensor.Float64, gorgonia.WithShape(1, 1), gorgonia.WithName("scale"), gorgonia.WithValue(value))
			node := must.Get(s.KL(nil, scale))(t)
			want := run(t, node).Value(node).Data().(float64)
			if !(math.Abs(mass-1) <= 2e-3) || !(math.Abs(kl-want) <= 5e-3*math.Max(1, want)) {
				t.Errorf("S^%d at log t = %v: mass %v, divergence %v, want %v", dim, logT, mass, kl, want)
			}
			must.Equal(t, s.Distance(location), 1, "distance", "of a point of norm 2")
		}
	}
}

var (
	_ latent.Densities = (*latent.Sphere)(nil)
	_ latent.Densities = (*latent.Euclidean)(nil)
)

// The densities of a Euclidean space are normal densities: N(2, e^2) at 3 and N(-1, 1) at 1.
func TestEuclideanDensity(t *testing.T) {
	s := euclidean(2)
	half := math.Log(2*math.Pi) / 2
	if got, want := s.LogPosterior([]float64{2, -1}, []float64{1, 0}, []float64{3, 1}),
		(-half-1-1/(2*math.E*math.E))+(-half-2); !(math.Abs(got-want) <= 1e-14) {
		t.Errorf("log posterior %v, want %v", got, want)
	}
	if got, want := s.LogPrior([]float64{3, -1}), -2*half-4.5-0.5; !(math.Abs(got-want) <= 1e-14) {
		t.Errorf("log prior %v, want %v", got, want)
	}
}
