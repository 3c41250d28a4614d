package layer_test

import (
	"fmt"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/layer"
	"github.com/unravel-ml/unravel/graph/machine"
)

// A convolution and a dense layer make two features of an image of 4 by 4 pixels.
func Example() {
	g := gorgonia.NewGraph()
	node := func(name string, shape ...int) *gorgonia.Node {
		ones := tensor.Ones(tensor.Float32, shape...)
		return gorgonia.NewTensor(g, tensor.Float32, len(shape), gorgonia.WithShape(shape...), gorgonia.WithName(name), gorgonia.WithValue(ones))
	}
	images, filters := node("images", 1, 4, 4, 1), node("filters", 3, 3, 1, 2) // side, side, in, out
	x, err := layer.Conv(images, filters, node("filter biases", 2), layer.ConvOptions{Stride: 2, Activation: graph.ReLU})
	if err == nil {
		fmt.Println(x.Shape(), "after the convolution")
		x, err = graph.Flatten(x)
	}
	if err == nil {
		x, err = layer.Dense(x, node("weights", 8, 2), node("biases", 2), graph.Linear)
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	vm, err := machine.New(g, x)
	if err == nil {
		defer vm.Close()
		err = vm.RunAll()
	}
	fmt.Println(x.Value(), err)
	// Output:
	// (1, 2, 2, 2) after the convolution
	// R[59  59] <nil>
}
