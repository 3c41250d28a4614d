package losses_test

import (
	"math"
	"testing"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/graph/gradcheck"
	"github.com/unravel-ml/unravel/losses"
)

func TestDivergences(t *testing.T) {
	location := gradcheck.In(3, 4)
	scale := gradcheck.Input{Shape: []int{3, 4}, Lo: -6, Hi: 1}
	want := func(factor float64) func(in [][]float64) []float64 {
		return func(in [][]float64) []float64 {
			sum := 0.0
			for i, m := range in[0] {
				lv := factor * in[1][i]
				sum += 0.5 * (m*m + math.Exp(lv) - lv - 1)
			}
			return []float64{sum / 3}
		}
	}
	sphere := func(d int, volume float64) gradcheck.Case {
		return gradcheck.Case{
			Name:   "sphere kl",
			Inputs: []gradcheck.Input{{Shape: []int{5, 1}, Lo: -20, Hi: -9}}, // the range in the papers' configs
			Build:  func(n nodes) (*gorgonia.Node, error) { return losses.KLSphere(n[0], d) },
			Want: func(in [][]float64) []float64 {
				sum, d := 0.0, float64(d)
				for _, l := range in[0] {
					sum += -d/2*l - d/2*math.Log(2*math.Pi) - d/2 + math.Log(volume) + math.Exp(l)/4*d*(d-1)
				}
				return []float64{sum / 5}
			},
		}
	}
	gradcheck.CheckAll(t, []gradcheck.Case{
		{Name: "gaussian kl", Inputs: []gradcheck.Input{location, scale},
			Build: func(n nodes) (*gorgonia.Node, error) { return losses.KLGaussian(n[0], n[1]) }, Want: want(2)},
		{Name: "gaussian kl from log variance", Inputs: []gradcheck.Input{location, scale},
			Build: func(n nodes) (*gorgonia.Node, error) { return losses.KLGaussianLogVariance(n[0], n[1]) }, Want: want(1)},
		{Name: "gaussian kl at its minimum", Inputs: []gradcheck.Input{{Shape: []int{2, 2}, Values: []float64{0}}, {Shape: []int{2, 2}, Values: []float64{0}}},
			Build: func(n nodes) (*gorgonia.Node, error) { return losses.KLGaussian(n[0], n[1]) },
			Want:  func([][]float64) []float64 { return []float64{0} }},
		sphere(1, 2*math.Pi), sphere(2, 4*math.Pi), sphere(3, 2*math.Pi*math.Pi),
	})
}

func TestReconstructions(t *testing.T) {
	images := gradcheck.Input{Shape: []int{2, 3, 3, 2}, Lo: 0, Hi: 1}
	logits := gradcheck.Input{Shape: []int{2, 3, 3, 2}, Lo: -5, Hi: 5}
	saturated := gradcheck.Input{Shape: []int{2, 3, 3, 2}, Values: []float64{-100, 100, -30, 30, 0}}
	binary := gradcheck.Input{Shape: []int{2, 3, 3, 2}, Values: []float64{0, 1, 1, 0, 1, 0, 0}}
	gaussian := func(o losses.Gaussian) func(nodes) (*gorgonia.Node, error) {
		return func(n nodes) (*gorgonia.Node, error) {
			return losses.GaussianReconstruction(n[0], n[1], o)
		}
	}
	wantGaussian := func(o losses.Gaussian) func(in [][]float64) []float64 {
		return func(in [][]float64) []float64 {
			sum := 0.0
			for i, x := range in[0] {
				m := in[1][i]
				if !o.Linear {
					m = 1 / (1 + math.Exp(-m))
				}
				sum += (x - m) * (x - m) / (2 * o.Sigma * o.Sigma)
				if o.Constant {
					sum += math.Log(o.Sigma) + math.Log(2*math.Pi)/2
				}
			}
			return []float64{sum / 2}
		}
	}
	bernoulli := func(n nodes) (*gorgonia.Node, error) { return losses.BernoulliReconstruction(n[0], n[1]) }
	wantBernoulli := func(in [][]float64) []float64 {
		sum := 0.0
		for i, x := range in[0] {
			l := in[1][i]
			sum += max(l, 0) + math.Log1p(math.Exp(-math.Abs(l))) - x*l
		}
		return []float64{sum / 2}
	}
	half := math.Sqrt(0.5)
	var cases []gradcheck.Case
	for _, o := range []losses.Gaussian{{Sigma: half}, {Sigma: half, Constant: true}, {Sigma: 0.1, Linear: true},
		{Sigma: 2, Constant: true, Linear: true}} {
		cases = append(cases, gradcheck.Case{Name: "gaussian", Inputs: []gradcheck.Input{images, logits}, Build: gaussian(o),
			Want: wantGaussian(o), Tolerance32: 5e-5})
	}
	cases = append(cases,
		gradcheck.Case{Name: "gaussian, default sigma", Inputs: []gradcheck.Input{images, logits},
			Build: gaussian(losses.Gaussian{}), Want: wantGaussian(losses.Gaussian{Sigma: half})},
		gradcheck.Case{Name: "gaussian, saturated", Inputs: []gradcheck.Input{binary, saturated},
			Build: gaussian(losses.Gaussian{}), Want: wantGaussian(losses.Gaussian{Sigma: half})},
		gradcheck.Case{Name: "gaussian, many blocks", Inputs: []gradcheck.Input{{Shape: []int{2, 70, 70, 1}, Lo: 0, Hi: 1},
			{Shape: []int{2, 70, 70, 1}, Lo: -4, Hi: 4}},
			Build: gaussian(losses.Gaussian{}), Want: wantGaussian(losses.Gaussian{Sigma: half}), Samples: 5},
		gradcheck.Case{Name: "bernoulli", Inputs: []gradcheck.Input{images, logits}, Build: bernoulli, Want: wantBernoulli},
		gradcheck.Case{Name: "bernoulli, saturated", Inputs: []gradcheck.Input{binary, saturated}, Build: bernoulli, Want: wantBernoulli},
		gradcheck.Case{Name: "bernoulli, a matrix of many blocks",
			Inputs: []gradcheck.Input{{Shape: []int{2, 5001}, Lo: 0, Hi: 1}, {Shape: []int{2, 5001}, Lo: -4, Hi: 4}},
			Build:  bernoulli, Want: wantBernoulli, Samples: 5},
	)
	gradcheck.CheckAll(t, cases)
}

func TestLSBD(t *testing.T) {
	lsbd := func(n nodes) (*gorgonia.Node, error) { return losses.LSBD(n[0], n[1]) }
	public := func(m, spheres, euclideans int) func(nodes) (*gorgonia.Node, error) {
		return func(n nodes) (*gorgonia.Node, error) {
			return losses.PublicLSBD(n[0], n[1], m, spheres, euclideans)
		}
	}
	unit := gradcheck.Input{Shape: []int{4, 2}, Values: []float64{1, 0, 0, 1, 0.6, 0.8, -1, 0}}
	turned := gradcheck.Input{Shape: []int{4, 2}, Values: []float64{0, 1, 0.6, 0.8, 1, 0, 0.8, 0.6}}
	same := gradcheck.Input{Shape: []int{2, 2}, Values: []float64{0.5, 0.5}}
	gradcheck.CheckAll(t, []gradcheck.Case{
		{Name: "lsbd", Inputs: []gradcheck.Input{gradcheck.In(6, 4), gradcheck.In(6, 4)}, Build: lsbd,
			Want: func(in [][]float64) []float64 {
				sum := 0.0
				for i, z := range in[0] {
					sum += (z - in[1][i]) * (z - in[1][i])
				}
				return []float64{sum / 6}
			}},
		{Name: "lsbd of identical points", Inputs: []gradcheck.Input{same, same}, Build: lsbd, Want: func([][]float64) []float64 { return []float64{0} }},
		{Name: "public circle", Inputs: []gradcheck.Input{unit, turned}, Build: public(2, 1, 0),
			Want: func([][]float64) []float64 { return []float64{(2 + 2*0.2 + 2*0.4 + 2*1.8) / 2} }},
		{Name: "public cylinder", Inputs: []gradcheck.Input{unit, turned}, Build: public(2, 1, 1)},
		{Name: "public torus where it is blind", Inputs: []gradcheck.Input{
			{Shape: []int{1, 4}, Values: []float64{1, 0, 1, 0}},
			{Shape: []int{1, 4}, Values: []float64{0.6, 0.8, 0.6, 0.8}}},
			Build: public(1, 2, 0), Want: func([][]float64) []float64 { return []float64{0} }},
	})
}
