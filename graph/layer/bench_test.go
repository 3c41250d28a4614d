package layer_test

import (
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/gradcheck"
	"github.com/unravel-ml/unravel/graph/layer"
	"github.com/unravel-ml/unravel/graph/machine"
	"github.com/unravel-ml/unravel/internal/must"
)

// free is a scalar at no cost: its value is 0, and it writes gradients of 1 only once.
func free(y *gorgonia.Node) (*gorgonia.Node, error) {
	return graph.Apply(graph.Spec{
		Name:  "free",
		Shape: func([]tensor.Shape) (tensor.Shape, error) { return tensor.ScalarShape(), nil },
		New:   func([]tensor.Shape, tensor.Shape, tensor.Dtype) (graph.Func, error) { return nothing{}, nil },
	}, y)
}

type nothing struct{}

func (nothing) Forward([]graph.Array, graph.Array) error { return nil }

func (nothing) Backward(_ []graph.Array, _, _ graph.Array, din []graph.Array, _ []bool) error {
	if d := din[0].F32; d[0] == 0 {
		for i := range d {
			d[i] = 1
		}
	}
	return nil
}

// BenchmarkPixels measures operations on images, forward and backward. It counts the bytes of input and result once per
// direction, so the throughput compares with copy.
func BenchmarkPixels(b *testing.B) {
	type operation struct {
		name     string
		channels int
		build    func(x *gorgonia.Node) (*gorgonia.Node, error)
	}
	pool := func(o layer.PoolOptions) func(x *gorgonia.Node) (*gorgonia.Node, error) {
		return func(x *gorgonia.Node) (*gorgonia.Node, error) { return layer.Pool(x, o) }
	}
	for _, c := range []operation{
		{"copy", 64, func(x *gorgonia.Node) (*gorgonia.Node, error) { return graph.Reshape(x, x.Shape().TotalSize()) }},
		{"max pool 2", 64, pool(layer.PoolOptions{Kind: layer.Max, Size: 2})},
		{"max pool 3 by 2", 64, pool(layer.PoolOptions{Kind: layer.Max, Size: 3, Stride: 2})},
		{"average pool 2", 64, pool(layer.PoolOptions{Kind: layer.Average, Size: 2})},
		{"average pool 2, 3 channels", 3, pool(layer.PoolOptions{Kind: layer.Average, Size: 2})},
		{"global average", 64, func(x *gorgonia.Node) (*gorgonia.Node, error) { return layer.AdaptivePool(x, layer.Average, 1, 1) }},
		{"upsample nearest", 64, func(x *gorgonia.Node) (*gorgonia.Node, error) { return layer.Upsample(x, 2, false) }},
		{"upsample bilinear", 64, func(x *gorgonia.Node) (*gorgonia.Node, error) { return layer.Upsample(x, 2, true) }},
		{"upsample bilinear, 3 channels", 3, func(x *gorgonia.Node) (*gorgonia.Node, error) { return layer.Upsample(x, 2, true) }},
		{"shuffle", 64, func(x *gorgonia.Node) (*gorgonia.Node, error) { return layer.Shuffle(x, 2) }},
		{"crop", 64, func(x *gorgonia.Node) (*gorgonia.Node, error) { return layer.Crop(x, 31, 31) }},
		{"add relu", 64, func(x *gorgonia.Node) (*gorgonia.Node, error) { return layer.Add(x, x, graph.ReLU) }},
		{"relu", 64, func(x *gorgonia.Node) (*gorgonia.Node, error) { return graph.Activate(x, graph.ReLU) }},
		{"gelu", 64, func(x *gorgonia.Node) (*gorgonia.Node, error) { return graph.Activate(x, graph.GELU) }},
		{"dropout", 64, func(x *gorgonia.Node) (*gorgonia.Node, error) {
			return layer.Dropout(x, gradcheck.Node(x.Graph(), tensor.Float32, "mask", x.Shape()...))
		}},
	} {
		node := gradcheck.Must(b)
		x := gradcheck.Node(gorgonia.NewGraph(), tensor.Float32, "x", 64, 32, 32, c.channels)
		y := node(c.build(x))
		g := must.Get(gorgonia.Grad(node(free(y)), x))(b)
		bytes := int64(4 * (x.Shape().TotalSize() + y.Shape().TotalSize()))
		for name, outputs := range map[string]gorgonia.Nodes{"forward": {y}, "both": {y, g[0]}} {
			m := must.Get(machine.New(x.Graph(), outputs...))(b)
			b.Run(c.name+"/"+name, func(b *testing.B) {
				b.SetBytes(bytes * int64(len(outputs)))
				for b.Loop() {
					must.OK(b, m.RunAll())
				}
			})
		}
	}
}
