package losses_test

import (
	"testing"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph/machine"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/losses"
)

// valueAndGradient runs a scalar node of a float64 graph and its gradient in x.
func valueAndGradient(t *testing.T, n, x *gorgonia.Node) (float64, []float64) {
	t.Helper()
	grads := must.Get(gorgonia.Grad(n, x))(t)
	m := must.Get(machine.New(n.Graph(), n, grads[0]))(t)
	must.OK(t, m.RunAll())
	return m.Value(n).Data().(float64), m.Value(grads[0]).Data().([]float64)
}

// modularityOn calls losses.Modularity with the blocks before the nodes.
func modularityOn(d factor.Deviation, a factor.Aggregate, e losses.DeviationEstimator, blocks []factor.Block,
	z, labels *gorgonia.Node) (*gorgonia.Node, error) {
	return losses.Modularity(d, a, e, z, labels, blocks...)
}
