package nn

import (
	"fmt"
	"slices"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/config"
	"github.com/unravel-ml/unravel/graph/layer"
	"github.com/unravel-ml/unravel/registry"
)

// The kinds of residual blocks.
const (
	basicBlock      = "basic"
	bottleneckBlock = "bottleneck"
)

// bottleneckShare is the number by which a bottleneck divides its channels.
const bottleneckShare = 4

// ResidualLayer is one or more residual blocks, activation(f(x) + shortcut(x)) (He et al. 2016, section 3). A basic f
// is convolution, norm, activation, convolution, norm; a bottleneck has a 1x1 convolution to a quarter of the channels,
// a convolution and a 1x1 convolution; or f is layers of one's own. Where f changes channels or sides, the shortcut is
// a 1x1 convolution and norm (projection), otherwise x. A block with upsample begins with larger images (nearest).
type ResidualLayer struct {
	Channels   Channels  `yaml:"channels" doc:"channels of the result"`
	Stride     int       `yaml:"stride" doc:"stride of the first block: 2 halves the sides, rounded up"`
	Times      int       `yaml:"times" doc:"number of blocks, each with a name of its own: residual1, residual2"`
	Upsample   int       `yaml:"upsample" doc:"factor by which the first block enlarges height and width, for decoders"`
	Kind       string    `yaml:"kind" doc:"basic (two convolutions) or bottleneck (1x1, convolution, 1x1)"`
	Kernel     int       `yaml:"kernel" doc:"side of the filters"`
	Norm       string    `yaml:"norm" doc:"normalisation: batch, group, layer, instance or none"`
	Groups     int       `yaml:"groups" doc:"groups of channels of group normalisation"`
	Activation string    `yaml:"activation" doc:"activation within blocks and at their end: relu, leaky-relu, elu, gelu, silu, softplus, tanh, sigmoid or linear"`
	Init       string    `yaml:"init,omitempty" doc:"distribution of initial weights; if absent, the network's (he-normal)"`
	Layers     LayerList `yaml:"layers,omitempty" doc:"layers of one's own whose result has the shape of their input, in place of channels, stride, upsample, kind, kernel, norm and groups"`
	LayerName
}

// NewResidualLayer returns the default settings.
func NewResidualLayer() *ResidualLayer {
	return &ResidualLayer{Stride: 1, Times: 1, Upsample: 1, Kind: basicBlock, Kernel: 3, Norm: BatchNorm, Groups: defaultGroups, Activation: "relu"}
}

// Validate checks the settings.
func (l *ResidualLayer) Validate() error {
	if err := l.validShape(); err != nil {
		return err
	}
	if known := []string{basicBlock, bottleneckBlock}; !slices.Contains(known, l.Kind) {
		return config.Invalid("kind", "unknown kind of residual block %q%s", l.Kind, registry.Suggest(l.Kind, known))
	}
	for _, o := range []struct {
		key      string
		is, most int
	}{{"stride", l.Stride, maxTimes}, {"times", l.Times, 1024}, {"upsample", l.Upsample, maxTimes}, {"kernel", l.Kernel, maxKernel}, {"groups", l.Groups, maxChannels}} {
		if err := validRange(o.key, o.is, 1, o.most); err != nil {
			return err
		}
	}
	if l.Stride > 1 && l.Upsample > 1 {
		return config.Invalid("upsample", "stride %d makes images smaller and upsample %d larger; want one of them", l.Stride, l.Upsample)
	}
	if err := ValidNorm(l.Norm); err != nil {
		return config.Invalid("norm", "%w", err)
	}
	if err := validActivation("activation", l.Activation); err != nil || l.Init == "" {
		return err
	}
	return validLayerInit(l.Init)
}

// validShape checks that there are channels or layers.
func (l *ResidualLayer) validShape() error {
	if l.Layers == nil {
		return l.Channels.validate("channels")
	}
	d := NewResidualLayer()
	for _, o := range []struct {
		key string
		own bool
	}{{"channels", l.Channels != 0}, {"stride", l.Stride != d.Stride}, {"upsample", l.Upsample != d.Upsample}, {"kind", l.Kind != d.Kind},
		{"kernel", l.Kernel != d.Kernel}, {"norm", l.Norm != d.Norm}, {"groups", l.Groups != d.Groups}} {
		if o.own {
			return config.Invalid(o.key, "a residual of layers of its own has their shapes; want %s or layers", o.key)
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

// blocks lists the residual blocks one by one: stride and upsample are those of the first.
func (l *ResidualLayer) blocks() (list []block) {
	one := *l
	one.Times = 1
	for range l.Times {
		each := one
		list = append(list, block{&each, l.Times})
		one.Stride, one.Upsample = 1, 1
	}
	return list
}

// Build implements [Layer]: it adds one block.
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
	f, shortcut := l.Layers, LayerList(nil)
	if l.Layers == nil {
		in, err := imagesIn(x)
		if err != nil {
			return nil, err
		}
		out, err := l.Channels.of(p)
		if err != nil {
			return nil, err
		}
		f, shortcut = l.body(out), l.shortcut(in, out)
	}
	inner := Place{Graph: p.Graph, Name: p.Name, Init: p.Init}
	y, err := f.place(inner, x)
	if err != nil {
		return nil, err
	}
	if l.Layers != nil && !slices.Equal(x.Shape(), y.Shape()) {
		return nil, fmt.Errorf("its layers make shape %v of %v, and cannot be added; want layers that keep the shape", tensor.Shape(y.Shape()[1:]), tensor.Shape(x.Shape()[1:]))
	}
	if x, err = shortcut.place(inner, x); err != nil {
		return nil, err
	}
	return layer.Add(y, x, a)
}

// body lists the layers of f.
func (l *ResidualLayer) body(out int) LayerList {
	conv := func(channels, kernel, stride int) LayerChoice {
		c := NewConvLayer()
		c.Channels, c.Kernel, c.Stride = Channels(channels), kernel, stride
		return LayerChoice{"conv", c}
	}
	norm, act := l.norm(), LayerChoice{"activation", &ActivationLayer{Kind: l.Activation}}
	var f LayerList
	if l.Upsample > 1 {
		f = append(f, LayerChoice{"upsample", &UpsampleLayer{Times: l.Upsample, Kind: nearest}})
	}
	if l.Kind == bottleneckBlock {
		narrow := max(1, out/bottleneckShare)
		return append(f, conv(narrow, 1, 1), norm, act, conv(narrow, l.Kernel, l.Stride), norm, act, conv(out, 1, 1), norm)
	}
	return append(f, conv(out, l.Kernel, l.Stride), norm, act, conv(out, l.Kernel, 1), norm)
}

// shortcut lists the layers between x and the sum, none if x itself is added.
func (l *ResidualLayer) shortcut(in, out int) (list LayerList) {
	if in != out || l.Stride > 1 {
		c, n := NewConvLayer(), l.norm()
		c.Channels, c.Kernel, c.Stride, c.Name = Channels(out), 1, l.Stride, "projection"
		n.Value.(*NormLayer).Name = "projection-norm"
		list = append(list, LayerChoice{"conv", c}, n)
	}
	if l.Upsample > 1 {
		list = append(list, LayerChoice{"upsample", &UpsampleLayer{Times: l.Upsample, Kind: nearest, LayerName: LayerName{"projection-upsample"}}})
	}
	return list
}

func (l *ResidualLayer) norm() LayerChoice {
	return LayerChoice{"norm", &NormLayer{Kind: l.Norm, Groups: l.Groups}}
}
