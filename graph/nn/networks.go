package nn

import (
	"cmp"
	"fmt"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/configs/registry"
)

// Encoder describes a network from images to features.
type Encoder interface {
	// Encode adds the network to a graph, for images [batch, height, width, channels]. It returns the features [batch,
	// columns]. The names of its parameters start with name. Parameters come from layers such as [Dense], or from
	// [Graph.Param]: other inputs with a value do not train, and no checkpoint has them.
	Encode(g *Graph, images *gorgonia.Node, name string) (*gorgonia.Node, error)
}

// Decoder describes a network from codes to images.
type Decoder interface {
	// Decode adds the network to a graph, for codes [batch, columns]. It returns the logits of the images, [batch,
	// height, width, channels]. The shape of one image is image, [height, width, channels].
	Decode(g *Graph, codes *gorgonia.Node, name string, image tensor.Shape) (*gorgonia.Node, error)
}

// Mirrored is implemented by encoders with a mirror image, the default decoder of a model.
type Mirrored interface {
	Mirror() Decoder
}

const (
	conv64Source    = "Tonnaer et al. 2022, table 1"
	locatelloSource = "Locatello et al. 2019, table 1 (disentanglement_lib)"
	denseNormSource = "Tonnaer et al. 2022, table 2"
	mlpDoc          = "fully connected layers on flattened images"
	denseNormDoc    = "an mlp of two layers, each with batch norm after its ReLU"
)

// Encoders lists the encoders that a config can name.
var Encoders = &registry.Registry[Encoder]{Kind: "encoder", Entries: []registry.Entry[Encoder]{
	{Name: "layers", Doc: "your list of layers (kinds: unravel list layers); without a list, an example",
		New: func() Encoder { return exampleEncoder() }},
	{Name: "conv64", Doc: "four 4x4 convolutions of stride 2 and a dense layer, for image sides divisible by 16",
		Source: conv64Source, New: func() Encoder { return NewConvEncoder() }},
	{Name: "locatello", Doc: "conv64 with 2x2 filters in the last two convolutions", Source: locatelloSource,
		New: func() Encoder { e := NewConvEncoder(); e.SmallKernels = true; return e }},
	{Name: "conv64-norm", Doc: "five convolutions and a 1x1 convolution, each with a normalisation, for image sides divisible by 16",
		Source: "Cao et al. 2022, table 2", New: func() Encoder { return NewNormedEncoder() }},
	{Name: "mlp", Doc: mlpDoc, New: func() Encoder { return NewMLP() }},
	{Name: "dense-norm", Doc: denseNormDoc, Source: denseNormSource, New: func() Encoder { return newDenseNorm() }},
	{Name: "burgess", Doc: "four convolutions of stride 2 and two dense layers, for image sides divisible by 16",
		Source: burgessSource, New: func() Encoder { return newBurgess() }},
	{Name: "small-conv", Doc: "four 3x3 convolutions of stride 2 and a dense layer, for images of any size",
		New: func() Encoder { return newSmallConv() }},
	{Name: "resnet18", Doc: "residual network of 18 layers for small images, without pooling at the start: 512 features, for images of any size",
		Source: resnetSource, New: func() Encoder { return newResNet18() }},
	{Name: "resnet-ae", Doc: "four residual blocks of stride 2 and a dense layer, for images of any size",
		Source: resnetSource, New: func() Encoder { return newResNetAE() }},
}}

// Decoders lists the decoders that a config can name.
var Decoders = &registry.Registry[Decoder]{Kind: "decoder", Entries: []registry.Entry[Decoder]{
	{Name: "layers", Doc: "your list of layers that ends in images (kinds: unravel list layers); without a list, an example", New: func() Decoder { return exampleDecoder() }},
	{Name: "conv64", Doc: "two dense layers and four transposed convolutions of stride 2, for image sides divisible by 16",
		Source: conv64Source, New: func() Decoder { return NewConvDecoder() }},
	{Name: "locatello", Doc: "decoder of conv64", Source: locatelloSource,
		New: func() Decoder { return NewConvDecoder() }},
	{Name: "mlp", Doc: mlpDoc, New: func() Decoder { return NewMLP() }},
	{Name: "dense-norm", Doc: denseNormDoc, Source: denseNormSource,
		New: func() Decoder { return newDenseNorm().Mirror() }},
	{Name: "burgess", Doc: "two dense layers and four transposed convolutions of stride 2, for image sides divisible by 16", Source: burgessSource,
		New: func() Decoder { return newBurgess() }},
	{Name: "small-conv", Doc: "two dense layers and four enlargements by 2 with convolutions, to images of any size",
		New: func() Decoder { return newSmallConv() }},
	{Name: "resnet-ae", Doc: "two dense layers and four residual blocks that enlarge by 2, to images of any size",
		Source: resnetSource, New: func() Decoder { return newResNetAE() }},
}}

// EncoderChoice is the choice of an encoder in a config: `conv64`, or `{mlp: {hidden: [256]}}`.
type EncoderChoice struct {
	Name  string
	Value Encoder
}

func (c *EncoderChoice) DecodeConfig(n *config.Node) error {
	return config.DecodeChoice(n, Encoders, c)
}

func (c EncoderChoice) EncodeConfig() (any, error) { return config.EncodeChoice(c) }

func (EncoderChoice) ConfigForms() []any { return []any{config.ChoicesOf(Encoders)} }

// DefaultEncoder returns conv64 with its default settings.
func DefaultEncoder() EncoderChoice {
	return EncoderChoice{Name: "conv64", Value: NewConvEncoder()}
}

// DecoderChoice is the choice of a decoder in a config, like [EncoderChoice].
type DecoderChoice struct {
	Name  string
	Value Decoder
}

func (c *DecoderChoice) DecodeConfig(n *config.Node) error {
	return config.DecodeChoice(n, Decoders, c)
}

func (c DecoderChoice) EncodeConfig() (any, error) { return config.EncodeChoice(c) }

func (DecoderChoice) ConfigForms() []any { return []any{config.ChoicesOf(Decoders)} }

// ConvEncoder has four convolutions with 32, 32, 64 and 64 filters of side 4 and stride 2, and a dense layer.
type ConvEncoder struct {
	Features     int    `yaml:"features" doc:"width of the dense layer"`
	SmallKernels bool   `yaml:"small_kernels" doc:"filters of side 2 in the last two convolutions, as in disentanglement_lib"`
	Activation   string `yaml:"activation" doc:"activation of all layers: linear, relu, leaky-relu, elu, gelu, silu, softplus, tanh or sigmoid"`
	Init         string `yaml:"init" doc:"distribution of initial weights: glorot, he-normal, he-uniform or fan-in"`
}

// NewConvEncoder returns the default settings.
func NewConvEncoder() *ConvEncoder {
	return &ConvEncoder{Features: 256, Activation: "relu", Init: "glorot"}
}

func (e *ConvEncoder) Validate() error {
	return cmp.Or(
		validRange("features", e.Features, 1, maxChannels),
		validActivation("activation", e.Activation),
		validInit(e.Init),
	)
}

// Encode implements [Encoder].
func (e *ConvEncoder) Encode(g *Graph, images *gorgonia.Node, name string) (*gorgonia.Node, error) {
	return encode16(e, g, images, name)
}

// Mirror implements [Mirrored].
func (e *ConvEncoder) Mirror() Decoder { return &ConvDecoder{Features: e.Features, Init: e.Init} }

// ConvDecoder has a dense layer, a dense layer to images, and four transposed convolutions with filters of side 4 and
// stride 2. Both dense layers have ReLU. The images have 64 channels and 1/16 of the final side: 1024 elements for side
// 64. The first three convolutions have 64, 32 and 32 filters with ReLU. The last one has one filter per channel of the
// image and returns the logits.
type ConvDecoder struct {
	Features int    `yaml:"features" doc:"width of the first dense layer"`
	Init     string `yaml:"init" doc:"distribution of initial weights: glorot, he-normal, he-uniform or fan-in"`
}

// NewConvDecoder returns the default settings.
func NewConvDecoder() *ConvDecoder { return &ConvDecoder{Features: 256, Init: "glorot"} }

func (d *ConvDecoder) Validate() error {
	return cmp.Or(validRange("features", d.Features, 1, maxChannels), validInit(d.Init))
}

// Decode implements [Decoder].
func (d *ConvDecoder) Decode(g *Graph, codes *gorgonia.Node, name string, image tensor.Shape) (*gorgonia.Node, error) {
	return decode16(d.DecoderLayers(), g, codes, name, image)
}

// checkSixteenths checks the shape [height, width, channels] of an image: 16 must divide both sides.
func checkSixteenths(image tensor.Shape) error {
	if len(image) != 3 || image[0]%16 != 0 || image[1]%16 != 0 || image.TotalSize() < 1 {
		return fmt.Errorf("images of shape %v; want [height, width, channels] with sides that 16 divides, or small-conv, which takes any", image)
	}
	return nil
}

func validInit(name string) error {
	if _, err := parseInit(name); err != nil {
		return config.Invalid("init", "%w", err)
	}
	return nil
}

// RegisterEncoder adds an encoder to [Encoders] for use in configs. Call it before reading a config. A second entry
// with the same name is an error.
func RegisterEncoder(e registry.Entry[Encoder]) error { return Encoders.Register(e) }

// NamedEncoder returns the encoder with the given name and its default settings.
func NamedEncoder(name string) (EncoderChoice, error) {
	c, err := Encoders.Named(name)
	return EncoderChoice(c), err
}

// RegisterDecoder adds a decoder to [Decoders] for use in configs. Call it before reading a config. A second entry with
// the same name is an error.
func RegisterDecoder(e registry.Entry[Decoder]) error { return Decoders.Register(e) }

// NamedDecoder returns the decoder with the given name and its default settings.
func NamedDecoder(name string) (DecoderChoice, error) {
	c, err := Decoders.Named(name)
	return DecoderChoice(c), err
}
