package losses_test

import (
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/gradcheck"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/losses"
	"github.com/unravel-ml/unravel/losses/internal/dependence"
)

// TestPairAllocations runs the operations on pairs of rows, forward and backward.
func TestPairAllocations(t *testing.T) {
	for _, dt := range []tensor.Dtype{tensor.Float32, tensor.Float64} {
		const n = 130
		g, stream, ok := gorgonia.NewGraph(), rng.New(1, "pairs"), gradcheck.Must(t)
		input := func(name string, columns int) *gorgonia.Node {
			v := tensor.New(tensor.Of(dt), tensor.WithShape(n, columns))
			for i := range v.DataSize() {
				if x := stream.Float64(); dt == tensor.Float32 {
					v.Set(i, float32(x))
				} else {
					v.Set(i, x)
				}
			}
			return gorgonia.NewMatrix(g, dt, gorgonia.WithShape(n, columns), gorgonia.WithName(name), gorgonia.WithValue(v))
		}
		z, y, variance, mask := input("z", 4), input("y", 2), input("variance", 4), input("mask", 4)
		turns := []losses.FactorDistance{{Factor: 0, Kind: losses.CircularDistance}, {Factor: 1, Kind: losses.DiscreteDistance}}
		loss := ok(graph.WeightedSum([]float64{1, 2, 3, 4, 5, 6, 7, 8},
			ok(losses.Contraction(losses.ContractionSettings{}, z, y, y)),
			ok(losses.Contraction(losses.ContractionSettings{Aggregate: factor.Max, Factors: turns}, z, y, nil)),
			ok(losses.Contraction(losses.ContractionSettings{Aggregate: factor.MeanSquare, Pairs: 3}, z, y, nil)),
			ok(dependence.TotalCorrelation(z, z, variance, nil, dependence.Stratified, 500)),
			ok(dependence.TotalCorrelation(z, z, variance, mask, dependence.Weighted, 500)),
			ok(dependence.DIP(z, variance, 2, 1)),
			ok(losses.HSIC(z, y, nil, losses.Kernel{}, losses.Kernel{Bandwidth: 1})),
			ok(losses.HSIC(z, y, nil, losses.Kernel{Columns: []int{1, 2}}, losses.Kernel{Kind: losses.CircularKernel})),
		))
		gradcheck.AllocationFree(t, dt, loss, z, variance)
	}
}
