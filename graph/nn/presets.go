package nn

import (
	"cmp"
	"fmt"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/configs/config"
)

// EncoderParts is implemented by encoders that are a list of layers.
type EncoderParts interface {
	// EncoderLayers returns the list. The caller may modify it.
	EncoderLayers() *Layers
}

// DecoderParts is implemented by decoders that are a list of layers.
type DecoderParts interface {
	// DecoderLayers returns the list. The caller may modify it.
	DecoderLayers() *Layers
}

func convPart(channels Channels, kernel, stride int, activation string) LayerChoice {
	c := NewConvLayer()
	c.Channels, c.Kernel, c.Stride, c.Activation = channels, kernel, stride, activation
	return LayerChoice{"conv", c}
}

func densePart(units int, activation, name string) LayerChoice {
	return LayerChoice{"dense",
		&DenseLayer{Units: Channels(units), Weighted: Weighted{Activation: activation, LayerName: LayerName{name}}}}
}

func imagePart(channels Channels, activation, name string) LayerChoice {
	return LayerChoice{"image",
		&ImageLayer{Channels: channels, Weighted: Weighted{Activation: activation, LayerName: LayerName{name}}}}
}

func normPart(kind string, groups int) LayerChoice {
	return LayerChoice{"norm", &NormLayer{Kind: kind, Groups: groups}}
}

func activationPart(kind string) LayerChoice {
	return LayerChoice{"activation", &ActivationLayer{Kind: kind}}
}

// exampleEncoder is the default list of the encoder "layers".
func exampleEncoder() *Layers {
	return NewLayers(convPart(32, 3, 2, ""), normPart(BatchNorm, defaultGroups), activationPart("relu"),
		residualPart(64, 2, 1, BatchNorm, defaultGroups), densePart(256, "", ""), activationPart("relu"))
}

// exampleDecoder is the default list of the decoder "layers".
func exampleDecoder() *Layers {
	r := residualPart(32, 1, 1, BatchNorm, defaultGroups)
	r.Value.(*ResidualLayer).Upsample = 2
	return NewLayers(densePart(256, "", ""), activationPart("relu"), imagePart(64, "", ""), activationPart("relu"),
		r, upsamplePart(2), convPart(imageChannels, 3, 1, ""))
}

// EncoderLayers implements [EncoderParts].
func (l *Layers) EncoderLayers() *Layers { return l }

// DecoderLayers implements [DecoderParts].
func (l *Layers) DecoderLayers() *Layers { return l }

// SmallConv has four convolutions with 32, 32, 64 and 64 filters of side 3 and stride 2, and a dense layer, for images
// of any size. As a decoder it is the mirror image: nearest upsampling before every convolution.
type SmallConv struct {
	Width      int    `yaml:"width" doc:"filters of the first two convolutions; later convolutions have twice as many"`
	Features   int    `yaml:"features" doc:"width of the dense layer"`
	Activation string `yaml:"activation" doc:"activation of all layers: relu, leaky-relu, elu, gelu, silu, softplus, tanh, sigmoid or linear"`
	Norm       string `yaml:"norm" doc:"normalisation after convolutions: none, batch, group, layer, instance or instance-pixel"`
	Groups     int    `yaml:"groups" doc:"number of channel groups in group normalisation"`
}

func newSmallConv() *SmallConv {
	return &SmallConv{Width: 32, Features: 256, Activation: "relu", Norm: NoNorm, Groups: defaultGroups}
}

func (s *SmallConv) Validate() error {
	return cmp.Or(
		validRange("features", s.Features, 1, maxChannels),
		optionalActivation("activation", s.Activation),
		validNormed(s.Norm, s.Groups, s.Width),
	)
}

// validNormed checks a kind of normalisation, and that the number of groups divides a width.
func validNormed(norm string, groups, width int) error {
	if err := validRange("width", width, 1, maxChannels); err != nil {
		return err
	}
	if err := validNorm(norm); err != nil {
		return config.Invalid("norm", "%w", err)
	}
	if norm == GroupNorm && (groups < 1 || width%groups != 0) {
		return config.Invalid("groups", "want a number that divides the width %d, got %d", width, groups)
	}
	return nil
}

// EncoderLayers implements [EncoderParts].
func (s *SmallConv) EncoderLayers() *Layers {
	var list LayerList
	for _, width := range []int{s.Width, s.Width, 2 * s.Width, 2 * s.Width} {
		list = append(list, convPart(Channels(width), 3, 2, ""))
		if s.Norm != NoNorm {
			list = append(list, normPart(s.Norm, s.Groups))
		}
		list = append(list, activationPart(s.Activation))
	}
	return NewLayers(append(list, densePart(s.Features, "", ""), activationPart(s.Activation))...)
}

// Encode implements [Encoder].
func (s *SmallConv) Encode(g *Graph, images *gorgonia.Node, name string) (*gorgonia.Node, error) {
	return s.EncoderLayers().Encode(g, images, name)
}

// DecoderLayers implements [DecoderParts].
func (s *SmallConv) DecoderLayers() *Layers { return mirrorOf(s.EncoderLayers()) }

// Decode implements [Decoder].
func (s *SmallConv) Decode(g *Graph, codes *gorgonia.Node, name string, image tensor.Shape) (*gorgonia.Node, error) {
	return s.DecoderLayers().Decode(g, codes, name, image)
}

// Mirror implements [Mirrored].
func (s *SmallConv) Mirror() Decoder { return s }

const resnetSource = "He et al. 2016, section 3 and 4.2"

// ResNet18 is the residual network of 18 layers for small images, as used in self-supervised learning on CIFAR and Tiny
// ImageNet. It starts with a convolution of side 3 and stride 1; the original starts with side 7, stride 2 and a
// pooling. Eight basic blocks follow, two each with 64, 128, 256 and 512 channels. Every pair except the first starts
// with stride 2. Global average pooling gives 512 features.
type ResNet18 struct {
	Width    int    `yaml:"width" doc:"channels of the first blocks; the last blocks have 8 times as many"`
	Norm     string `yaml:"norm" doc:"normalisation: batch, group, layer, instance or none"`
	Groups   int    `yaml:"groups" doc:"number of channel groups in group normalisation"`
	Features int    `yaml:"features" doc:"width of a final dense layer; 0: no dense layer, the features are the channels' means"`
}

func newResNet18() *ResNet18 {
	return &ResNet18{Width: 64, Norm: BatchNorm, Groups: defaultGroups}
}

func (s *ResNet18) Validate() error {
	return cmp.Or(validRange("features", s.Features, 0, maxChannels), validNormed(s.Norm, s.Groups, s.Width))
}

// EncoderLayers implements [EncoderParts].
func (s *ResNet18) EncoderLayers() *Layers {
	list := LayerList{convPart(Channels(s.Width), 3, 1, ""), normPart(s.Norm, s.Groups), activationPart("relu")}
	for i := range 4 {
		list = append(list, residualPart(s.Width<<i, 1+min(i, 1), 2, s.Norm, s.Groups))
	}
	p := newPoolLayer()
	p.To = Sides{1, 1}
	list = append(list, LayerChoice{"pool", p})
	if s.Features > 0 {
		list = append(list, densePart(s.Features, "", ""))
	}
	return NewLayers(list...)
}

func residualPart(channels, stride, times int, norm string, groups int) LayerChoice {
	r := newResidualLayer()
	r.Channels, r.Stride, r.Times, r.Norm, r.Groups = Channels(channels), stride, times, norm, groups
	return LayerChoice{"residual", r}
}

// Encode implements [Encoder].
func (s *ResNet18) Encode(g *Graph, images *gorgonia.Node, name string) (*gorgonia.Node, error) {
	return s.EncoderLayers().Encode(g, images, name)
}

// Mirror implements [Mirrored].
func (s *ResNet18) Mirror() Decoder { return s.EncoderLayers().Mirror() }

// ResNetAE is a residual encoder for autoencoders. It has no global pooling, so the dense layer sees the positions of
// features. It has a convolution, four residual blocks with stride 2, and a dense layer. As a decoder it is the mirror
// image, and its blocks enlarge images by the factor 2.
type ResNetAE struct {
	Width    int    `yaml:"width" doc:"channels of the first convolution; the blocks have 2, 4, 4 and 8 times this number"`
	Norm     string `yaml:"norm" doc:"normalisation: batch, group, layer, instance or none"`
	Groups   int    `yaml:"groups" doc:"number of channel groups in group normalisation"`
	Features int    `yaml:"features" doc:"width of the dense layer"`
}

// newResNetAE returns the default settings.
func newResNetAE() *ResNetAE {
	return &ResNetAE{Width: 16, Norm: GroupNorm, Groups: defaultGroups, Features: 256}
}

func (s *ResNetAE) Validate() error {
	return cmp.Or(validRange("features", s.Features, 1, maxChannels), validNormed(s.Norm, s.Groups, s.Width))
}

// EncoderLayers implements [EncoderParts].
func (s *ResNetAE) EncoderLayers() *Layers {
	list := LayerList{convPart(Channels(s.Width), 3, 1, ""), normPart(s.Norm, s.Groups), activationPart("relu")}
	for _, times := range []int{2, 4, 4, 8} {
		list = append(list, residualPart(s.Width*times, 2, 1, s.Norm, s.Groups))
	}
	return NewLayers(append(list, densePart(s.Features, "", ""), activationPart("relu"))...)
}

// Encode implements [Encoder].
func (s *ResNetAE) Encode(g *Graph, images *gorgonia.Node, name string) (*gorgonia.Node, error) {
	return s.EncoderLayers().Encode(g, images, name)
}

// DecoderLayers implements [DecoderParts].
func (s *ResNetAE) DecoderLayers() *Layers { return mirrorOf(s.EncoderLayers()) }

// Decode implements [Decoder].
func (s *ResNetAE) Decode(g *Graph, codes *gorgonia.Node, name string, image tensor.Shape) (*gorgonia.Node, error) {
	return s.DecoderLayers().Decode(g, codes, name, image)
}

// Mirror implements [Mirrored].
func (s *ResNetAE) Mirror() Decoder { return s }

// EncoderLayers implements [EncoderParts].
func (e *ConvEncoder) EncoderLayers() *Layers {
	var list LayerList
	for i, filters := range []int{32, 32, 64, 64} {
		kernel := 4
		if e.SmallKernels && i >= 2 {
			kernel = 2
		}
		list = append(list, convPart(Channels(filters), kernel, 2, e.Activation))
	}
	return &Layers{append(list, densePart(e.Features, e.Activation, "dense")), e.Init}
}

// DecoderLayers implements [DecoderParts].
func (d *ConvDecoder) DecoderLayers() *Layers {
	list := LayerList{densePart(d.Features, "relu", "dense1"), imagePart(64, "relu", "dense2")}
	return &Layers{append(list, deconvParts(fanOut, 64, 32, 32)...), d.Init}
}

// deconvParts lists transposed convolutions with names conv1 to conv4. The last one returns the image.
func deconvParts(fan string, channels ...Channels) (list LayerList) {
	for i, c := range append(channels, imageChannels) {
		d := newDeconvLayer()
		d.Channels, d.Fan, d.Name = c, fan, fmt.Sprintf("conv%d", i+1)
		if c != imageChannels {
			d.Activation = "relu"
		}
		list = append(list, LayerChoice{"deconv", d})
	}
	return list
}

// EncoderLayers implements [EncoderParts].
func (e *NormedEncoder) EncoderLayers() *Layers {
	var list LayerList
	for _, filters := range []int{32, 32, 64, 64} {
		list = append(list, convPart(Channels(filters), 4, 2, "relu"), normPart(e.Norm, e.Groups))
	}
	// A convolution over the whole image is a dense layer.
	list = append(list, densePart(128, "relu", "conv5"), normPart(e.Norm, e.Groups))
	if e.FinalNorm {
		list = append(list, densePart(e.Features, "relu", "conv6"), normPart(e.Norm, e.Groups))
	} else {
		list = append(list, densePart(e.Features, "", "conv6"))
	}
	init := e.Init
	if init == "fan-in" {
		init = pytorchInit
	}
	return &Layers{list, init}
}

// EncoderLayers implements [EncoderParts].
func (b *Burgess) EncoderLayers() *Layers {
	var list LayerList
	for range 4 {
		list = append(list, convPart(burgessFilters, 4, 2, b.Activation))
	}
	return &Layers{append(list, densePart(burgessFeatures, b.Activation, ""),
		densePart(burgessFeatures, b.Activation, "")), burgessInit}
}

// DecoderLayers implements [DecoderParts].
func (*Burgess) DecoderLayers() *Layers {
	list := LayerList{densePart(burgessFeatures, "relu", "dense1"), imagePart(burgessFilters, "relu", "dense2")}
	return &Layers{append(list, deconvParts(fanIn, burgessFilters, burgessFilters, burgessFilters)...), burgessInit}
}

// EncoderLayers implements [EncoderParts].
func (m *MLP) EncoderLayers() *Layers {
	var list LayerList
	for _, width := range m.Hidden {
		list = append(list, densePart(width, m.Activation, ""))
		if m.normed() {
			list = append(list, normPart(m.Norm, defaultGroups))
		}
	}
	return &Layers{list, m.Init}
}

// DecoderLayers implements [DecoderParts].
func (m *MLP) DecoderLayers() *Layers {
	l := m.EncoderLayers()
	l.List = append(l.List, imagePart(imageChannels, "", "out"))
	return l
}

type checkedEncoder interface {
	EncoderParts
	config.Validator
}

// encode16 adds an encoder for images with sides divisible by 16.
func encode16(e checkedEncoder, g *Graph, images *gorgonia.Node, name string) (*gorgonia.Node, error) {
	if err := e.Validate(); err != nil {
		return nil, inLayer(name, err)
	}
	if _, err := imagesIn(images); err != nil {
		return nil, inLayer(name, err)
	}
	if err := checkSixteenths(images.Shape()[1:]); err != nil {
		return nil, inLayer(name, err)
	}
	return e.EncoderLayers().Encode(g, images, name)
}

// decode16 adds a list of layers as a decoder for images with sides divisible by 16.
func decode16(l *Layers, g *Graph, codes *gorgonia.Node, name string, image tensor.Shape) (*gorgonia.Node, error) {
	if err := checkSixteenths(image); err != nil {
		return nil, inLayer(name, err)
	}
	return l.Decode(g, codes, name, image)
}
