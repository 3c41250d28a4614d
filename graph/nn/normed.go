package nn

import (
	"math"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/layer"
)

// NormedEncoder has five convolutions with 32, 32, 64, 64 and 128 filters and a 1x1 convolution to the features. Each
// convolution except the last has ReLU and then a normalisation. With FinalNorm, the last one has both too. The first
// four have filters of side 4 and stride 2. The fifth has no padding and reduces the image to one pixel: side 4 for
// images of side 64.
//
// Source: Cao et al. 2022, table 2; padding as in the encoder of Kim and Mnih 2018.
type NormedEncoder struct {
	Features  int    `yaml:"features" doc:"output width: channels of the last convolution"`
	Norm      string `yaml:"norm" doc:"normalisation after ReLU: none, batch, group, layer, instance (skips one-pixel channels) or instance-pixel (makes one-pixel channels 0)"`
	Groups    int    `yaml:"groups" doc:"number of channel groups in group normalisation"`
	FinalNorm bool   `yaml:"final_norm" doc:"add ReLU and normalisation after the last convolution too"`
	Init      string `yaml:"init" doc:"distribution of initial weights: glorot, he-normal, he-uniform or fan-in (also for biases)"`
}

// NewNormedEncoder returns the default settings.
func NewNormedEncoder() *NormedEncoder {
	return &NormedEncoder{Features: 1000, Norm: GroupNorm, Groups: 4, Init: "fan-in"}
}

func (e *NormedEncoder) Validate() error {
	if err := validRange("features", e.Features, 1, maxChannels); err != nil {
		return err
	}
	if err := validNorm(e.Norm); err != nil {
		return config.Invalid("norm", "%w", err)
	}
	if e.Norm == GroupNorm && (e.Groups < 1 || 32%e.Groups != 0) {
		return config.Invalid("groups", "want a number that divides 32, the channels of the first convolution, got %d",
			e.Groups)
	}
	if e.Norm == GroupNorm && e.FinalNorm && e.Features%e.Groups != 0 {
		return config.Invalid("groups", "want a number that divides the %d features, got %d", e.Features, e.Groups)
	}
	return validInit(e.Init)
}

// Encode implements [Encoder].
func (e *NormedEncoder) Encode(g *Graph, images *gorgonia.Node, name string) (*gorgonia.Node, error) {
	return encode16(e, g, images, name)
}

// DenseFanIn adds a fully connected layer with initial weights and biases from [FanInUniform], PyTorch's default.
// Without bias, the bias is a constant 0.
func DenseFanIn(g *Graph, x *gorgonia.Node, name string, out int, bias bool) (*gorgonia.Node, error) {
	in, err := columnsIn(x)
	if err != nil {
		return nil, inLayer(name, err)
	}
	shape := tensor.Shape{in, out}
	w, err := g.Param(name+"/weight", shape, FanInUniform)
	if err != nil {
		return nil, err
	}
	var b *gorgonia.Node
	if bias {
		b, err = g.Param(name+"/bias", tensor.Shape{out}, uniform(math.Sqrt(1/float64(in)))) // as the weights
	} else {
		b, err = g.Input(name+"/no bias", out)
	}
	if err != nil {
		return nil, err
	}
	y, err := layer.Dense(x, w, b, graph.Linear)
	return named(y, name, err)
}
