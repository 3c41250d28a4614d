package main

import (
	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/nn"
)

// residual is an encoder: a convolution of stride 2, a block of two convolutions that are added to
// their input, and a dense layer.
type residual struct {
	Channels int `yaml:"channels" doc:"channels of the convolutions"`
	Features int `yaml:"features" doc:"width of the dense layer"`
}

func (r *residual) Validate() error {
	if r.Channels < 1 || r.Channels > 4096 {
		return config.Invalid("channels", "%d is out of range; want 1 to 4096", r.Channels)
	}
	if r.Features < 1 || r.Features > 65536 {
		return config.Invalid("features", "%d is out of range; want 1 to 65536", r.Features)
	}
	return nil
}

// Encode implements nn.Encoder.
func (r *residual) Encode(g *nn.Graph, images *gorgonia.Node, name string) (*gorgonia.Node, error) {
	conv := func(x *gorgonia.Node, layer string, stride int, a graph.Activation) (*gorgonia.Node, error) {
		return nn.Conv(g, x, name+"/"+layer, nn.ConvOptions{Out: r.Channels, Kernel: 3, Stride: stride, Activation: a})
	}
	x, err := conv(images, "stem", 2, graph.ReLU)
	if err != nil {
		return nil, err
	}
	h, err := conv(x, "block/conv1", 1, graph.ReLU)
	if err != nil {
		return nil, err
	}
	if h, err = conv(h, "block/conv2", 1, graph.Linear); err != nil {
		return nil, err
	}
	if h, err = gorgonia.Add(x, h); err != nil {
		return nil, err
	}
	if h, err = graph.Activate(h, graph.ReLU); err != nil {
		return nil, err
	}
	if h, err = graph.Flatten(h); err != nil {
		return nil, err
	}
	return nn.Dense(g, h, name+"/dense", r.Features, graph.ReLU)
}
