package layer_test

import (
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/layer"
	"github.com/unravel-ml/unravel/internal/must"
)

func TestErrors(t *testing.T) {
	g := gorgonia.NewGraph()
	input := func(name string, shape ...int) *gorgonia.Node {
		return gorgonia.NewTensor(g, tensor.Float32, len(shape), gorgonia.WithShape(shape...), gorgonia.WithName(name))
	}
	m23, m22, v2 := input("m23", 2, 3), input("m22", 2, 2), input("v2", 2)
	img, w := input("img", 1, 4, 6, 2), input("w", 4, 4, 3, 2)
	for name, c := range map[string]struct {
		err  func() (*gorgonia.Node, error)
		want []string
	}{
		"dense":       {func() (*gorgonia.Node, error) { return layer.Dense(m23, m22, v2, graph.ReLU) }, []string{"dense", "(3, outputs)", "(2, 2)"}},
		"dense bias":  {func() (*gorgonia.Node, error) { return layer.Dense(m22, m23, v2, graph.ReLU) }, []string{"dense", "(3)", "(2)"}},
		"conv":        {func() (*gorgonia.Node, error) { return layer.Conv(img, w, v2, layer.ConvOptions{}) }, []string{"convolution", "(k, k, 2, out)", "(4, 4, 3, 2)"}},
		"conv rank":   {func() (*gorgonia.Node, error) { return layer.Conv(m23, w, v2, layer.ConvOptions{}) }, []string{"convolution", "[batch, height, width, channels]", "(2, 3)"}},
		"conv bias":   {func() (*gorgonia.Node, error) { return layer.ConvTranspose(img, w, v2, layer.ConvOptions{}) }, []string{"transposed convolution", "(3)", "(2)"}},
		"conv stride": {func() (*gorgonia.Node, error) { return layer.Conv(img, w, v2, layer.ConvOptions{Stride: -1}) }, []string{"convolution", "stride", "-1"}},
	} {
		must.Fails(c.err())(t, c.want, name)
	}
}
