package latent_test

import (
	"math"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph/gradcheck"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/models/latent"
)

type nodes = []*gorgonia.Node

func TestSampleGradients(t *testing.T) {
	walk := func(n nodes) (*gorgonia.Node, error) { return latent.SphereWalk(n[0], n[1], n[2]) }
	logT := gradcheck.Input{Shape: []int{4, 1}, Lo: -6, Hi: -1}
	noise := func(steps, n, d int) gradcheck.Input {
		return gradcheck.Input{Shape: []int{steps, n, d}, Constant: true}
	}
	gradcheck.CheckAll(t, []gradcheck.Case{
		{Name: "walk on the circle", Inputs: []gradcheck.Input{gradcheck.In(4, 2), logT, noise(10, 4, 2)}, Build: walk},
		{Name: "walk on the sphere", Inputs: []gradcheck.Input{gradcheck.In(4, 3), logT, noise(3, 4, 3)}, Build: walk},
		{Name: "one step", Inputs: []gradcheck.Input{gradcheck.In(4, 2), logT, noise(1, 4, 2)}, Build: walk,
			Want: func(in [][]float64) []float64 {
				out := make([]float64, 8)
				for i := range 4 {
					s := math.Exp(in[1][i] / 2)
					x, y := in[0][2*i]+s*in[2][2*i], in[0][2*i+1]+s*in[2][2*i+1]
					out[2*i], out[2*i+1] = x/math.Hypot(x, y), y/math.Hypot(x, y)
				}
				return out
			}},
		{Name: "a long path of rows", Inputs: []gradcheck.Input{gradcheck.In(100, 2), {Shape: []int{100, 1}, Lo: -10, Hi: -5}, noise(10, 100, 2)}, Build: walk, Samples: 10},
		{Name: "gaussian sample", Inputs: []gradcheck.Input{gradcheck.In(4, 5), {Shape: []int{4, 5}, Lo: -5, Hi: 2}, {Shape: []int{4, 5}, Constant: true}},
			Build: func(n nodes) (*gorgonia.Node, error) { return latent.GaussianSample(n[0], n[1], n[2]) },
			Want: func(in [][]float64) []float64 {
				out := make([]float64, 20)
				for i := range out {
					out[i] = in[0][i] + math.Exp(in[1][i])*in[2][i]
				}
				return out
			}},
		{Name: "interval", Inputs: []gradcheck.Input{{Shape: []int{6, 1}, Values: []float64{-30, -1, 0, 0.3, 2, 30}}},
			Build: func(n nodes) (*gorgonia.Node, error) { return latent.Interval(n[0], -10, -6) },
			Want: func(in [][]float64) []float64 {
				out := make([]float64, len(in[0]))
				for i, u := range in[0] {
					out[i] = -8 + 2*math.Tanh(u)
				}
				return out
			}},
	})
}

func TestSampleErrors(t *testing.T) {
	g := gorgonia.NewGraph()
	input := func(name string, shape ...int) *gorgonia.Node {
		return gorgonia.NewTensor(g, tensor.Float32, len(shape), gorgonia.WithShape(shape...), gorgonia.WithName(name))
	}
	m23, m22, m21, noise, rows := input("m23", 2, 3), input("m22", 2, 2), input("m21", 2, 1), input("noise", 5, 2, 2), input("rows", 5, 3, 2)
	for name, c := range map[string]struct {
		err  func() (*gorgonia.Node, error)
		want []string
	}{
		"walk log t": {func() (*gorgonia.Node, error) { return latent.SphereWalk(m22, m22, noise) }, []string{"sphere walk", "(2, 1)", "(2, 2)"}},
		"walk noise": {func() (*gorgonia.Node, error) {
			return latent.SphereWalk(m23, m21, noise)
		}, []string{"sphere walk", "(steps, 2, 3)", "(5, 2, 2)"}},
		"walk rows":   {func() (*gorgonia.Node, error) { return latent.SphereWalk(m22, m21, rows) }, []string{"(steps, 2, 2)", "(5, 3, 2)"}},
		"walk matrix": {func() (*gorgonia.Node, error) { return latent.SphereWalk(m22, m21, m22) }, []string{"(steps, 2, 2)", "got (2, 2)"}},
		"sample":      {func() (*gorgonia.Node, error) { return latent.GaussianSample(m22, m22, m23) }, []string{"gaussian sample", "one shape", "(2, 3)"}},
	} {
		must.Fails(c.err())(t, c.want, name)
	}
}
