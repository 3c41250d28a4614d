package op_test

import (
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/internal/op"
	"github.com/unravel-ml/unravel/internal/rng"
)

// TestPairAllocations runs the operations on all pairs of rows, forward and backward.
func TestPairAllocations(t *testing.T) {
	for _, dt := range []tensor.Dtype{tensor.Float32, tensor.Float64} {
		const n = 130
		g, stream, ok := gorgonia.NewGraph(), rng.New(1, "pairs"), must(t)
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
		turns := []op.FactorDistance{{Factor: 0, Kind: op.CircularDistance}, {Factor: 1, Kind: op.DiscreteDistance}}
		loss := ok(op.WeightedSum([]float64{1, 2, 3, 4, 5, 6, 7, 8},
			ok(op.Contraction(op.ContractionSettings{}, z, y, y)),
			ok(op.Contraction(op.ContractionSettings{Aggregate: op.Max, Factors: turns}, z, y, nil)),
			ok(op.Contraction(op.ContractionSettings{Aggregate: op.MeanSquare, Pairs: 3}, z, y, nil)),
			ok(op.MinibatchTC(z, z, variance, nil, op.TCStratified, 500)),
			ok(op.MinibatchTC(z, z, variance, mask, op.TCWeighted, 500)),
			ok(op.DIP(z, variance, 2, 1)),
			ok(op.HSIC(z, y, nil, op.Kernel{}, op.Kernel{Bandwidth: 1})),
			ok(op.HSIC(z, y, nil, op.Kernel{Columns: []int{1, 2}}, op.Kernel{Kind: op.CircularKernel})),
		))
		allocationFree(t, dt, loss, z, variance)
	}
}
