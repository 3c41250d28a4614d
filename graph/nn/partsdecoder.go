package nn

import (
	"cmp"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/layer"
)

// The fan in of a transposed convolution, for the variance of its initial weights.
const (
	fanOverlap = "overlap" // channels times the number of filter elements per output pixel: (kernel/stride)^2
	fanIn      = "in"      // channels times filter elements
	fanOut     = "out"     // output channels times filter elements, as in PyTorch
)

// DeconvLayer is a transposed convolution; see [layer.ConvTranspose].
type DeconvLayer struct {
	Channels Channels `yaml:"channels" doc:"output channels; image: channels of the decoder's images"`
	Kernel   int      `yaml:"kernel" doc:"side of the filters; a multiple of the stride avoids checkerboards"`
	Stride   int      `yaml:"stride" doc:"factor for height and width"`
	Padding  string   `yaml:"padding" doc:"same: multiplies sides by the stride; valid: keeps the edges, sides become (side-1)*stride + kernel"`
	Fan      string   `yaml:"fan" doc:"fan-in for initial weights: overlap (inputs that meet at a pixel), in (inputs of a whole filter) or out (output channels, as in PyTorch)"`
	Weighted
}

// newDeconvLayer returns the default settings: filters of side 4 and stride 2.
func newDeconvLayer() *DeconvLayer {
	return &DeconvLayer{Kernel: 4, Stride: 2, Padding: samePadding, Fan: fanOverlap}
}

func (l *DeconvLayer) Validate() error {
	return cmp.Or(
		validFilters(l.Channels, l.Kernel, l.Stride, l.Padding),
		oneOf("fan", "count", l.Fan, fanOverlap, fanIn, fanOut),
	)
}

// Forms implements [Formed].
func (*DeconvLayer) Forms() (in, out Form) { return Images, Images }

// Before implements [Resizing].
func (l *DeconvLayer) Before(after int) int {
	if l.Padding == validPadding {
		return max(1, (after-l.Kernel+l.Stride-1)/l.Stride+1)
	}
	return (after + l.Stride - 1) / l.Stride
}

// Build implements [Layer].
func (l *DeconvLayer) Build(p Place, x *gorgonia.Node) (*gorgonia.Node, error) {
	in, out, err := l.Channels.between(p, x)
	if err != nil {
		return nil, err
	}
	k := l.Kernel
	fan := tensor.Shape{k * k, in, out}
	switch l.Fan {
	case fanOverlap:
		fan[0] = max(1, k*k/(l.Stride*l.Stride))
	case fanOut:
		fan = tensor.Shape{k * k, out, in}
	}
	w, b, a, err := l.parameters(p, out, fan, k, k, out, in)
	if err != nil {
		return nil, err
	}
	return layer.ConvTranspose(x, w, b,
		layer.ConvOptions{Stride: l.Stride, Activation: a, Valid: l.Padding == validPadding})
}

// ImageLayer maps rows to images: a dense layer with height x width x channels columns, and a reshape.
type ImageLayer struct {
	Channels Channels `yaml:"channels" doc:"output channels; image: channels of the decoder's images"`
	To       Sides    `yaml:"to,omitempty" doc:"output height and width; if absent, chosen to make the later layers end in the decoder's image size"`
	Weighted
}

func (l *ImageLayer) Validate() error {
	return cmp.Or(l.Channels.validate("channels"), l.To.valid())
}

// Forms implements [Formed].
func (*ImageLayer) Forms() (in, out Form) { return Rows, Images }

// Build implements [Layer].
func (l *ImageLayer) Build(p Place, x *gorgonia.Node) (*gorgonia.Node, error) {
	if _, err := columnsIn(x); err != nil {
		return nil, err
	}
	c, err := l.Channels.resolve(p)
	if err != nil {
		return nil, err
	}
	if err := l.To.valid(); err != nil {
		return nil, err
	}
	size := p.Size
	if l.To != nil {
		size = [2]int{l.To[0], l.To[1]}
	}
	if size[0] < 1 {
		return nil, config.Invalid("to", "an encoder has no target size; want a side, or [height, width]")
	}
	h, err := l.build(p, x, size[0]*size[1]*c)
	if err != nil {
		return nil, err
	}
	gorgonia.WithName(p.Name)(h)
	return graph.Reshape(h, x.Shape()[0], size[0], size[1], c)
}
