package losses_test

import (
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/losses"
	"github.com/unravel-ml/unravel/losses/internal/symmetry"
)

func TestErrorsOfNodes(t *testing.T) {
	g := gorgonia.NewGraph()
	m23 := single(g, "m23", 2, 3, 1, 2, 3, 4, 5, 6)
	m22 := single(g, "m22", 2, 2, 1, 2, 3, 4)
	for name, c := range map[string]struct {
		err  func() (*gorgonia.Node, error)
		want []string
	}{
		"kl":        {func() (*gorgonia.Node, error) { return losses.KLGaussian(m22, m23) }, []string{"gaussian kl", "log sigma", "(2, 3)"}},
		"sphere kl": {func() (*gorgonia.Node, error) { return losses.KLSphere(m22, 1) }, []string{"sphere kl", "[rows, 1]", "(2, 2)"}},
		"dimension": {func() (*gorgonia.Node, error) { return losses.KLSphere(m22, 0) }, []string{"sphere kl", "dimension 1", "0"}},
		"sigma": {func() (*gorgonia.Node, error) {
			return losses.GaussianReconstruction(m22, m22, losses.Gaussian{Sigma: -1})
		},
			[]string{"gaussian reconstruction", "positive sigma", "-1"}},
		"images":       {func() (*gorgonia.Node, error) { return losses.BernoulliReconstruction(m22, m23) }, []string{"bernoulli", "one shape", "(2, 3)"}},
		"action":       {func() (*gorgonia.Node, error) { return symmetry.Transport(9, m22, nil, 2) }, []string{"transport", "action 9"}},
		"group size":   {func() (*gorgonia.Node, error) { return losses.MeanTransport(m22, 3) }, []string{"transport", "multiple of 3", "got 2"}},
		"coordinates":  {func() (*gorgonia.Node, error) { return losses.CircleTransport(m23, m23, 2) }, []string{"transport", "2 coordinates", "got 3"}},
		"angles":       {func() (*gorgonia.Node, error) { return losses.CircleTransport(m22, m22, 2) }, []string{"transport", "(2, 1)", "(2, 2)"}},
		"no angles":    {func() (*gorgonia.Node, error) { return losses.CircleTransport(m22, nil, 2) }, []string{"transport", "input 1 is nil"}},
		"angles for R": {func() (*gorgonia.Node, error) { return symmetry.Transport(symmetry.Identity, m22, m22, 2) }, []string{"transport", "no transformation"}},
		"public":       {func() (*gorgonia.Node, error) { return losses.PublicLSBD(m22, m22, 0, 1, 0) }, []string{"public lsbd", "m >= 1"}},
	} {
		must.Fails(c.err())(t, c.want, name)
	}
}

func single(g *gorgonia.ExprGraph, name string, rows, columns int, values ...float32) *gorgonia.Node {
	t := tensor.New(tensor.WithShape(rows, columns), tensor.WithBacking(values))
	return gorgonia.NewMatrix(g, tensor.Float32, gorgonia.WithShape(rows, columns), gorgonia.WithName(name), gorgonia.WithValue(t))
}
