package weights_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/layer"
	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/internal/kernel"
	"github.com/unravel-ml/unravel/models/latent"
)

// pixelEncoders have a convolution to 7 by 7 pixels of 8 channels, an operation on images, and another convolution.
func pixelEncoders() map[string]func(g *nn.Graph, x *gorgonia.Node) (*gorgonia.Node, error) {
	operations := map[string]func(x *gorgonia.Node) (*gorgonia.Node, error){
		"shuffle": func(x *gorgonia.Node) (*gorgonia.Node, error) { return layer.Shuffle(x, 2) },
		"crop":    func(x *gorgonia.Node) (*gorgonia.Node, error) { return layer.Crop(x, 5, 6) },
	}
	for _, kind := range []layer.PoolKind{layer.Max, layer.Average} {
		for _, o := range []layer.PoolOptions{{Size: 2}, {Size: 3, Stride: 2}, {Size: 3, Stride: 2, Valid: true},
			{Size: 2, Stride: 3}, {Size: 9, Stride: 4}} {
			o.Kind = kind
			operations[fmt.Sprintf("pool %+v", o)] = func(x *gorgonia.Node) (*gorgonia.Node, error) { return layer.Pool(x, o) }
		}
		for _, to := range [][2]int{{1, 1}, {7, 7}, {7, 1}, {3, 2}, {4, 9}} {
			operations[fmt.Sprintf("adaptive pool %v %v", kind, to)] = func(x *gorgonia.Node) (*gorgonia.Node, error) {
				return layer.AdaptivePool(x, kind, to[0], to[1])
			}
		}
	}
	for _, times := range []int{1, 2, 3} {
		for _, bilinear := range []bool{false, true} {
			operations[fmt.Sprintf("upsample %d, bilinear %v", times, bilinear)] = func(x *gorgonia.Node) (*gorgonia.Node, error) {
				return layer.Upsample(x, times, bilinear)
			}
		}
	}
	for i, name := range kernel.ActivationNames() {
		operations["activation "+name] = func(x *gorgonia.Node) (*gorgonia.Node, error) { return graph.Activate(x, graph.Activation(i)) }
		operations["residual sum, "+name] = func(x *gorgonia.Node) (*gorgonia.Node, error) {
			return layer.Add(x, node(graph.Activate(x, graph.Tanh)), graph.Activation(i))
		}
	}
	encoders := map[string]func(g *nn.Graph, x *gorgonia.Node) (*gorgonia.Node, error){}
	for name, f := range operations {
		encoders[name] = func(g *nn.Graph, x *gorgonia.Node) (*gorgonia.Node, error) {
			x = node(layer.Crop(x, 7, 7))
			x, err := f(node(nn.Conv(g, x, "before", nn.ConvOptions{Out: 8, Kernel: 3})))
			if err != nil {
				return nil, err
			}
			x = node(nn.Conv(g, x, "after", nn.ConvOptions{Out: 2, Kernel: 3, Activation: graph.SiLU}))
			return nn.Dropout(g, node(graph.Flatten(x)), "dropout", 0.5) // no effect outside training
		}
	}
	encoders["residual sum of rows"] = func(g *nn.Graph, x *gorgonia.Node) (*gorgonia.Node, error) {
		x = node(nn.Dense(g, node(graph.Flatten(x)), "dense", 5, graph.GELU))
		return layer.Add(x, x, graph.ELU)
	}
	encoders["interval of rows"] = func(g *nn.Graph, x *gorgonia.Node) (*gorgonia.Node, error) {
		return latent.Interval(node(nn.Dense(g, node(graph.Flatten(x)), "dense", 5, graph.Linear)), -10, -6)
	}
	return encoders
}

// Our own reader computes the exported networks with equal values.
func TestPixelOperationsRead(t *testing.T) {
	for name, encode := range pixelEncoders() {
		for _, e := range ownCase(t, name, encode).exports(t) {
			if d := difference(e.compute(t), e.want); !(d <= 1e-5) {
				t.Errorf("%s: differs by %.2g of its scale, want at most 1e-5", e.name, d)
			}
		}
	}
}

// Options under the first and the second option of a choice keep their weights in exports.
func TestOptionsRead(t *testing.T) {
	c := newCase(t, "cofhae", "encoder: {mlp: {hidden: [24]}}, decoder: {mlp: {hidden: [24]}}", 6, 5, 1)
	for _, e := range c.exports(t) {
		if d := difference(e.compute(t), e.want); !(d <= 1e-5) {
			t.Errorf("%s: differs by %.2g of its scale, want at most 1e-5", e.name, d)
		}
	}
}

// Operations on images, and activations, are exported with our values.
func TestPixelOperations(t *testing.T) {
	node := needRuntime(t)
	var list []exported
	for name, encode := range pixelEncoders() {
		list = append(list, ownCase(t, name, encode).exports(t)...)
	}
	slices.SortFunc(list, func(a, b exported) int { return strings.Compare(a.name, b.name) })
	for i, d := range runONNX(t, node, list) {
		if !(d <= 1e-5) {
			t.Errorf("%s: differs by %.2g of its scale, want at most 1e-5", list[i].name, d)
		}
	}
}
