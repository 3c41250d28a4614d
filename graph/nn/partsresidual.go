package nn

import (
	"fmt"
	"slices"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/graph/layer"
)

// The kinds of residual blocks.
const (
	basicBlock      = "basic"
	bottleneckBlock = "bottleneck"
)

// bottleneckShare is the divisor for the inner channels of a bottleneck.
const bottleneckShare = 4

// ResidualLayer is one or more residual blocks activation(f(x) + shortcut(x)) (He et al. 2016, section 3). In a basic
// block, f is convolution, norm, activation, convolution, norm. In a bottleneck block, f is a 1x1 convolution to a
// quarter of the channels, a convolution, and a 1x1 convolution. A config can also list the layers of f. The shortcut
// is x. If f changes channels or sides, the shortcut is a projection: a 1x1 convolution and norm. Padding is symmetric,
// as in common implementations. With upsample, a block first enlarges images (nearest).
type ResidualLayer struct {
	Channels   Channels  `yaml:"channels" doc:"output channels"`
	Stride     int       `yaml:"stride" doc:"stride of the first block: 2 halves the sides, rounded up"`
	Times      int       `yaml:"times" doc:"number of blocks, named residual1, residual2, ..."`
	Upsample   int       `yaml:"upsample" doc:"enlargement of height and width in the first block, for decoders"`
	Kind       string    `yaml:"kind" doc:"basic (two convolutions) or bottleneck (1x1, convolution, 1x1)"`
	Kernel     int       `yaml:"kernel" doc:"side of the filters"`
	Norm       string    `yaml:"norm" doc:"normalisation: batch, group, layer, instance or none"`
	Groups     int       `yaml:"groups" doc:"number of channel groups in group normalisation"`
	Activation string    `yaml:"activation" doc:"activation within blocks and at their end: relu, leaky-relu, elu, gelu, silu, softplus, tanh, sigmoid or linear"`
	Init       string    `yaml:"init,omitempty" doc:"distribution of initial weights; if absent, the network's (he-normal)"`
	Layers     LayerList `yaml:"layers,omitempty" doc:"your layers with equal input and output shape, instead of channels, stride, upsample, kind, kernel, norm and groups"`
	LayerName
}

func newResidualLayer() *ResidualLayer {
	return &ResidualLayer{Stride: 1, Times: 1, Upsample: 1, Kind: basicBlock, Kernel: 3, Norm: BatchNorm,
		Groups: defaultGroups, Activation: "relu"}
}

func (l *ResidualLayer) Validate() error {
	if err := l.validShape(); err != nil {
		return err
	}
	if err := oneOf("kind", "kind of residual block", l.Kind, basicBlock, bottleneckBlock); err != nil {
		return err
	}
	for _, o := range []struct {
		key      string
		is, most int
	}{{"stride", l.Stride, maxTimes}, {"times", l.Times, 1024}, {"upsample", l.Upsample, maxTimes}, {"kernel", l.Kernel, maxKernel}} {
		if err := validRange(o.key, o.is, 1, o.most); err != nil {
			return err
		}
	}
	if l.Stride > 1 && l.Upsample > 1 {
		return config.Invalid("upsample", "stride %d makes images smaller and upsample %d larger; want only one of them",
			l.Stride, l.Upsample)
	}
	if err := validNormKind("norm", l.Norm, l.Groups); err != nil {
		return err
	}
	if err := optionalActivation("activation", l.Activation); err != nil || l.Init == "" {
		return err
	}
	return validLayerInit(l.Init)
}

// validShape checks that channels or layers are set.
func (l *ResidualLayer) validShape() error {
	if l.Layers == nil {
		return l.Channels.validate("channels")
	}
	d := newResidualLayer()
	for _, o := range []struct {
		key string
		own bool
	}{{"channels", l.Channels != 0}, {"stride", l.Stride != d.Stride}, {"upsample", l.Upsample != d.Upsample}, {"kind", l.Kind != d.Kind},
		{"kernel", l.Kernel != d.Kernel}, {"norm", l.Norm != d.Norm}, {"groups", l.Groups != d.Groups}} {
		if o.own {
			return config.Invalid(o.key, "a residual with layers takes their shapes; want %s or layers", o.key)
		}
	}
	return nil
}

// Forms implements [Formed].
func (l *ResidualLayer) Forms() (in, out Form) {
	if l.Layers != nil {
		return Any, Any
	}
	return Images, Images
}

// Before implements [Resizing].
func (l *ResidualLayer) Before(after int) int {
	if l.Upsample > 1 {
		return (after + l.Upsample - 1) / l.Upsample
	}
	return (after-1)*l.Stride + 1
}

// blocks lists the residual blocks. Only the first block has the stride and the upsampling.
func (l *ResidualLayer) blocks() (list []Layer) {
	next := *l
	next.Times = 1
	for range l.Times {
		block := next
		list = append(list, &block)
		next.Stride, next.Upsample = 1, 1
	}
	return list
}

// Build implements [Layer]. It adds a single block.
func (l *ResidualLayer) Build(p Place, x *gorgonia.Node) (*gorgonia.Node, error) {
	a, err := parsedActivation(l.Activation)
	if err != nil {
		return nil, err
	}
	if l.Init != "" {
		p.Init = l.Init
	}
	if l.Times != 1 {
		return nil, config.Invalid("times", "Build adds one block; a list of layers adds them all")
	}
	inner := Place{Graph: p.Graph, Name: p.Name, Init: p.Init}
	if l.Layers != nil {
		y, err := l.Layers.place(inner, x)
		if err != nil {
			return nil, err
		}
		if !slices.Equal(x.Shape(), y.Shape()) {
			return nil, fmt.Errorf("its layers make shape %v of %v, which cannot be added; want layers that keep the shape",
				y.Shape()[1:], x.Shape()[1:])
		}
		return layer.Add(y, x, a)
	}
	in, out, err := l.Channels.between(p, x)
	if err != nil {
		return nil, err
	}
	large := x
	if l.Upsample > 1 {
		if large, err = l.enlarged(x, p.Name+"/upsample"); err != nil {
			return nil, err
		}
	}
	y, err := l.body(out).place(inner, large)
	if err != nil {
		return nil, err
	}
	if large, err = l.shortcut(inner, x, large, in, out); err != nil {
		return nil, err
	}
	return layer.Add(y, large, a)
}

func (l *ResidualLayer) enlarged(x *gorgonia.Node, name string) (*gorgonia.Node, error) {
	y, err := layer.Upsample(x, l.Upsample, false)
	return named(y, name, err)
}

// body lists the layers of f.
func (l *ResidualLayer) body(out int) LayerList {
	conv := func(channels, kernel, stride int) LayerChoice {
		c := NewConvLayer()
		c.Channels, c.Kernel, c.Stride, c.Padding = Channels(channels), kernel, stride, symmetricPadding
		return LayerChoice{"conv", c}
	}
	norm, act := l.norm(), LayerChoice{"activation", &ActivationLayer{Kind: l.Activation}}
	if l.Kind == bottleneckBlock {
		narrow := max(1, out/bottleneckShare)
		return LayerList{conv(narrow, 1, 1), norm, act, conv(narrow, l.Kernel, l.Stride), norm, act, conv(out, 1, 1), norm}
	}
	return LayerList{conv(out, l.Kernel, l.Stride), norm, act, conv(out, l.Kernel, 1), norm}
}

// shortcut returns the second term of the sum: the enlarged x, or its projection if channels or sides change. It
// upsamples after the projection. The result is the same as for a projection of the large images, at lower cost.
func (l *ResidualLayer) shortcut(p Place, x, large *gorgonia.Node, in, out int) (*gorgonia.Node, error) {
	if in == out && l.Stride == 1 {
		return large, nil
	}
	c, n := NewConvLayer(), l.norm()
	c.Channels, c.Kernel, c.Stride, c.Name = Channels(out), 1, l.Stride, "projection"
	n.Value.(*NormLayer).Name = "projection-norm"
	y, err := LayerList{{"conv", c}, n}.place(p, x)
	if err != nil || l.Upsample == 1 {
		return y, err
	}
	return l.enlarged(y, p.Name+"/projection-upsample")
}

func (l *ResidualLayer) norm() LayerChoice {
	return LayerChoice{"norm", &NormLayer{Kind: l.Norm, Groups: l.Groups}}
}
