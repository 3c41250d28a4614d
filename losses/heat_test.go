package losses_test

import (
	"fmt"
	"math"
	"testing"

	"gonum.org/v1/gonum/integrate/quad"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph/gradcheck"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/losses"
)

// sphereKL returns the divergence at log t and its derivative.
func sphereKL(t *testing.T, dim int, logT float64) (kl, slope float64) {
	t.Helper()
	x := gorgonia.NewMatrix(gorgonia.NewGraph(), tensor.Float64, gorgonia.WithShape(1, 1), gorgonia.WithName("log t"),
		gorgonia.WithValue(tensor.New(tensor.WithShape(1, 1), tensor.WithBacking([]float64{logT}))))
	n := must.Get(losses.KLSphere(x, dim))(t)
	kl, gradient := valueAndGradient(t, n, x)
	return kl, gradient[0]
}

func near(a, b, relative float64) bool { return math.Abs(a-b) <= relative*math.Abs(b) }

// integral integrates f from a to b with n nodes.
func integral(f func(float64) float64, a, b float64, n int) float64 {
	return quad.Fixed(f, a, b, n, quad.Legendre{}, 0)
}

// images are heat kernels relative to the uniform density, as sums of images. The operation sums the other form of the
// series. On S^2 it is McKean's integral, with cos a - cos b written as a product.
var images = map[int]func(angle, t float64) float64{
	1: func(a, t float64) float64 {
		sum := 0.0
		for k := -20.0; k <= 20; k++ {
			sum += math.Exp(-math.Pow(a+2*math.Pi*k, 2) / (2 * t))
		}
		return sum * math.Sqrt(2*math.Pi/t)
	},
	2: func(a, t float64) float64 {
		reach := math.Sqrt(math.Min(math.Pi-a, 9*math.Sqrt(t)))
		return 4 * math.Pi * math.Sqrt2 * math.Exp(t/8) * math.Pow(2*math.Pi*t, -1.5) * integral(func(u float64) float64 {
			b, sum := a+u*u, 0.0
			for k := -6.0; k <= 6; k++ {
				x := b + 2*math.Pi*k
				sum += math.Cos(math.Pi*k) * x * math.Exp(-x*x/(2*t))
			}
			return sum * 2 * u / math.Sqrt(2*math.Sin(a+u*u/2)*math.Sin(u*u/2))
		}, 0, reach, 60)
	},
	3: func(a, t float64) float64 {
		sum := 0.0
		for k := -20.0; k <= 20; k++ {
			x := a + 2*math.Pi*k
			sum += x * math.Exp(-x*x/(2*t))
		}
		return sum / math.Sin(a) * math.Exp(t/2) * math.Pow(2*math.Pi*t, -1.5) * 2 * math.Pi * math.Pi
	},
}

func imagesKL(dim int, t float64) float64 {
	area := map[int]float64{1: math.Pi, 2: 2, 3: math.Pi / 2}[dim]
	return integral(func(a float64) float64 {
		f := images[dim](a, t)
		if f <= 0 {
			return 0
		}
		return f * math.Log(f) * math.Pow(math.Sin(a), float64(dim-1)) / area
	}, 0, math.Min(math.Pi, 9*math.Sqrt(t)), 120)
}

func TestSphereKLExact(t *testing.T) {
	for dim := range images {
		for _, time := range []float64{1e-10, 1e-6, 1e-4, 1e-3, 0.01, 0.03, 0.05, 0.09, 0.11, 0.2, 0.5, 1, 2, 4, 6, 8, 10} {
			want := imagesKL(dim, time)
			if d := float64(dim); dim > 1 && time >= 6 { // images cancel, and only harmonics of degree 1 remain
				want = (d + 1) / 2 * math.Exp(-d*time)
			}
			kl, slope := sphereKL(t, dim, math.Log(time))
			if !near(kl, want, 1e-5) {
				t.Errorf("S^%d at time %v: %.10g, want %.10g", dim, time, kl, want)
			}
			const step = 1e-4
			above, _ := sphereKL(t, dim, math.Log(time)+step)
			below, _ := sphereKL(t, dim, math.Log(time)-step)
			if difference := (above - below) / (2 * step); !near(slope, difference, 1e-5) {
				t.Errorf("S^%d at time %v: derivative %.10g, difference %.10g", dim, time, slope, difference)
			}
		}
	}
}

// TestSphereKLGolden has heat kernels from sums of Legendre polynomials and of images, integrated numerically in
// another program.
func TestSphereKLGolden(t *testing.T) {
	for _, want := range [][3]float64{ // t, on S^2, on S^1
		{4.5399929762484854e-05, 9.69316988057638, 5.418938533204673},
		{0.0005530843701478336, 7.193423726996401, 4.168938533204672},
		{0.006737946999085467, 4.69651678650924, 2.9189385332046736},
		{0.05, 2.7139149706443626, 1.9168046699816685},
		{0.2, 1.403196667667064, 1.2236574894283028},
		{0.5, 0.6409199335770027, 0.7655385984510483},
		{1, 0.2164734236362212, 0.4237610086806361},
	} {
		for dim, w := range map[int]float64{2: want[1], 1: want[2]} {
			if kl, _ := sphereKL(t, dim, math.Log(want[0])); !(math.Abs(kl-w) <= 1e-8) {
				t.Errorf("S^%d at time %v: %.12g, want %.12g", dim, want[0], kl, w)
			}
		}
	}
}

// TestSphereKLForms checks that the divergence and its derivative are continuous between expansion and series, and fall
// to 0.
func TestSphereKLForms(t *testing.T) {
	for _, dim := range []int{1, 2, 3, 4, 7, 10, 15, 30, 50, 75, 100} {
		d := float64(dim)
		change := math.Log(math.Min(1, math.Max(0.1, d/100)) / d)
		const step = 1e-7
		below, slopeBelow := sphereKL(t, dim, change-step)
		above, slopeAbove := sphereKL(t, dim, change+step)
		most := 1e-7
		if dim <= 10 {
			most = 2e-11
		}
		if jump := above - below - step*(slopeBelow+slopeAbove); !(math.Abs(jump) <= most) {
			t.Errorf("S^%d: a jump of %.2g at log t = %v, where it is %v", dim, jump, change, below)
		}
		if !near(slopeBelow, slopeAbove, 1e-6) {
			t.Errorf("S^%d: derivatives %v and %v at log t = %v", dim, slopeBelow, slopeAbove, change)
		}
		last := math.Inf(1)
		for logT := -60.0; logT <= 10; logT += 0.25 {
			kl, slope := sphereKL(t, dim, logT)
			if !(kl >= 0) || kl > last || !(slope <= 0) || slope < -d/2-1e-9 {
				t.Fatalf("S^%d at log t = %v: %v, derivative %v, after %v; want it to fall to 0, by at most d/2", dim, logT, kl, slope, last)
			}
			last = kl
		}
	}
}

// Above dimension 100 only the expansion exists. It is accurate up to the time 1/d.
func TestSphereTime(t *testing.T) {
	if !math.IsInf(losses.SphereTime(100), 1) || losses.SphereTime(1000) != 1e-3 {
		t.Errorf("times %v and %v, want all and up to 1e-3", losses.SphereTime(100), losses.SphereTime(1000))
	}
	// In many dimensions the cosine hardly varies: KL = -(d/2) log(1 - exp(-d t)), plus less than 1.
	for _, dim := range []int{101, 1000, 65536} {
		kl, _ := sphereKL(t, dim, math.Log(losses.SphereTime(dim)))
		if want := -float64(dim) / 2 * math.Log1p(-math.Exp(-1)); !(math.Abs(kl-want) <= 1) {
			t.Errorf("S^%d: %v, want nearly %v", dim, kl, want)
		}
		if kl, _ := sphereKL(t, dim, math.Log(losses.SphereTime(dim))+0.1); !math.IsNaN(kl) {
			t.Errorf("S^%d: %v at a time at which it is not known", dim, kl)
		}
	}
}

func TestSphereKLGradients(t *testing.T) {
	for _, dim := range []int{1, 2, 3, 10, 100} {
		for _, r := range [][2]float64{{-60, -20}, {-10, -2}, {-3, 1}, {1, 4}} {
			gradcheck.CheckAll(t, []gradcheck.Case{{Name: fmt.Sprintf("sphere kl of S^%d from %v", dim, r[0]),
				Inputs: []gradcheck.Input{{Shape: []int{6, 1}, Lo: r[0], Hi: r[1]}},
				Build:  func(n nodes) (*gorgonia.Node, error) { return losses.KLSphere(n[0], dim) }}})
		}
	}
}
