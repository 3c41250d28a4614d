package nn

import (
	"fmt"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/layer"
)

// ConvOptions are the options of a convolutional layer with SAME padding.
type ConvOptions struct {
	Out        int // output channels
	Kernel     int // side of the filters
	Stride     int // 0 means 1
	Activation graph.Activation
	Init       Init // initial weights; nil: GlorotUniform
}

// Conv adds a convolution of images [batch, height, width, channels] with a bias
// and an activation. Its parameters are name/weight [k, k, in, out] and name/bias.
func Conv(g *Graph, x *gorgonia.Node, name string, o ConvOptions) (*gorgonia.Node, error) {
	in, err := imagesIn(x)
	if err != nil {
		return nil, inLayer(name, err)
	}
	w, b, err := weights(g, name, o.Init, o.Out, o.Kernel, o.Kernel, in, o.Out)
	if err != nil {
		return nil, err
	}
	y, err := layer.Conv(x, w, b, layer.ConvOptions{Stride: o.Stride, Activation: o.Activation})
	return named(y, name, err)
}

// ConvTranspose adds a transposed convolution, which enlarges images by the factor Stride. Its parameters are
// name/weight [k, k, out, in] and name/bias.
func ConvTranspose(g *Graph, x *gorgonia.Node, name string, o ConvOptions) (*gorgonia.Node, error) {
	in, err := imagesIn(x)
	if err != nil {
		return nil, inLayer(name, err)
	}
	w, b, err := weights(g, name, o.Init, o.Out, o.Kernel, o.Kernel, o.Out, in)
	if err != nil {
		return nil, err
	}
	y, err := layer.ConvTranspose(x, w, b, layer.ConvOptions{Stride: o.Stride, Activation: o.Activation})
	return named(y, name, err)
}

// Dense adds a fully connected layer on rows [batch, in], with a bias and an activation. Its parameters are name/weight
// [in, out] and name/bias. The initial weights come from [GlorotUniform]; the initial bias is 0.
func Dense(g *Graph, x *gorgonia.Node, name string, out int, a graph.Activation) (*gorgonia.Node, error) {
	return DenseWith(g, x, name, out, a, GlorotUniform)
}

// DenseWith is [Dense] with the given weight initialiser.
func DenseWith(g *Graph, x *gorgonia.Node, name string, out int, a graph.Activation, init Init) (*gorgonia.Node, error) {
	in, err := columnsIn(x)
	if err != nil {
		return nil, inLayer(name, err)
	}
	w, b, err := weights(g, name, init, out, in, out)
	if err != nil {
		return nil, err
	}
	y, err := layer.Dense(x, w, b, a)
	return named(y, name, err)
}

func weights(g *Graph, name string, init Init, out int, shape ...int) (w, b *gorgonia.Node, err error) {
	if init == nil {
		init = GlorotUniform
	}
	if w, err = g.Param(name+"/weight", shape, init); err != nil {
		return nil, nil, err
	}
	b, err = g.Param(name+"/bias", tensor.Shape{out}, Zeros)
	return w, b, err
}

func shapeOf(x *gorgonia.Node) string {
	if x == nil {
		return "nothing"
	}
	return fmt.Sprintf("of shape %v", x.Shape())
}

// named names a layer's node after the layer, for error messages of a run. If err is set, it adds the name to err
// instead.
func named(y *gorgonia.Node, name string, err error) (*gorgonia.Node, error) {
	if err != nil {
		return nil, inLayer(name, err)
	}
	gorgonia.WithName(name)(y)
	return y, nil
}

func inLayer(name string, err error) error {
	if err == nil {
		return nil
	}
	return &LayerError{Name: name, Err: err}
}
