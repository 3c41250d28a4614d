package nn

import (
	"fmt"
	"slices"
	"strconv"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/graph"
)

// Layer describes one layer in a network from a list ([Layers]). It is a pointer to a struct of settings.
type Layer interface {
	// Build adds the layer to x, images [batch, height, width, channels] or rows [batch, columns], and returns the
	// result. The names of its parameters start with p.Name and a slash.
	Build(p Place, x *gorgonia.Node) (*gorgonia.Node, error)
}

// Place describes the position of a layer in a network.
type Place struct {
	Graph  *Graph
	Name   string       // path of the layer: encoder/conv1
	Init   string       // default initialiser of weights in this network
	Image  tensor.Shape // [height, width, channels] of the decoder's result; nil in an encoder
	Size   [2]int       // in a decoder, the required height and width of the result; the network crops larger results
	Normed bool         // a normalisation with beta is the next layer
}

// Resizing is implemented by layers that change the height and width of images. A decoder uses it to compute the size
// of its image layer from the size of the final images.
type Resizing interface {
	// Before returns the smallest side of the input for which the side of the result is at least after.
	Before(after int) int
}

// Form is the form of a layer's input or result: images or rows.
type Form uint8

// The forms of inputs and results.
const (
	Any    Form = iota // images or rows; as a result, the same as the layer's input
	Images             // [batch, height, width, channels]
	Rows               // [batch, columns]
)

// Formed is implemented by layers that accept or return only one form. The validation of configs uses it.
type Formed interface {
	Forms() (in, out Form)
}

// LayerName is the option name, common to all layers.
type LayerName struct {
	Name string `yaml:"name,omitempty" doc:"prefix of the layer's parameter names; if absent, kind and number, such as conv1"`
}

// Named returns the name from the config, or an empty string.
func (n LayerName) Named() string { return n.Name }

// Parts lists the kinds of layers in configs.
var Parts = &registry.Registry[Layer]{Kind: "layer", Entries: []registry.Entry[Layer]{
	{Name: "conv", Doc: "convolution; short form {conv: 32}", New: func() Layer { return NewConvLayer() }},
	{Name: "deconv", Doc: "transposed convolution, which enlarges images by its stride; short form {deconv: 32}",
		New: func() Layer { return newDeconvLayer() }},
	{Name: "upsample", Doc: "enlarges images by repeating pixels or interpolation, often before a conv; short form {upsample: 2}",
		Source: "Odena et al. 2016", New: func() Layer { return &UpsampleLayer{Times: 2, Kind: nearest} }},
	{Name: "shuffle", Doc: "enlarges images by turning channels into pixels; short form {shuffle: 2}",
		Source: "Shi et al. 2016, equation 4", New: func() Layer { return &ShuffleLayer{Times: 2} }},
	{Name: "crop", Doc: "crops images to the upper left; short form {crop: 28}",
		New: func() Layer { return &cropLayer{} }},
	{Name: "norm", Doc: "normalisation; short form {norm: batch}",
		Source: normSources, New: func() Layer { return newNormLayer() }},
	{Name: "activation", Doc: "activation; short form {activation: relu}",
		New: func() Layer { return &ActivationLayer{Kind: "relu"} }},
	{Name: "residual", Doc: "residual blocks: two convolutions, a bottleneck or your layers; short form {residual: 64}",
		Source: "He et al. 2016, section 3", New: func() Layer { return newResidualLayer() }},
	{Name: "pool", Doc: "average or maximum over windows, or over the whole image: {pool: {to: 1}}; short form {pool: max}", New: func() Layer { return newPoolLayer() }},
	{Name: "flatten", Doc: "flattens images to rows; dense and the end of an encoder do this automatically",
		New: func() Layer { return &flattenLayer{} }},
	{Name: "image", Doc: "makes images of rows: a dense layer to channels x height x width; short form {image: 64}",
		New: func() Layer { return &ImageLayer{} }},
	{Name: "dense", Doc: "fully connected layer, which flattens images; short form {dense: 256}",
		New: func() Layer { return NewDenseLayer() }},
	{Name: "dropout", Doc: "sets elements to 0 at random in training; short form {dropout: 0.1}",
		Source: "Srivastava et al. 2014", New: func() Layer { return &dropoutLayer{Rate: 0.5} }},
}, Hints: map[string]string{
	"conv2d": "want conv", "convolution": "want conv", "linear": "want dense, such as {dense: 256}", "fc": "want dense, such as {dense: 256}",
	"batchnorm": "want {norm: batch}", "batch-norm": "want {norm: batch}", "batch": "want {norm: batch}",
	"convtranspose": "want deconv", "conv-transpose": "want deconv", "transposed": "want deconv", "pixelshuffle": "want {shuffle: 2}", "pixel-shuffle": "want {shuffle: 2}",
	"resnet": "want {residual: {channels: 64}}", "block": "want {residual: {channels: 64}}", "bottleneck": "want {residual: {channels: 64, kind: bottleneck}}",
	"maxpool": "want {pool: max}", "max-pool": "want {pool: max}", "avgpool": "want {pool: average}", "average-pool": "want {pool: average}",
	"global-pool": "want {pool: {to: 1}}", "unflatten": "want {image: 64}", "reshape": "want {image: 64}", "interpolate": "want {upsample: 2}",
	"groupnorm": "want {norm: {kind: group, groups: 8}}", "group-norm": "want {norm: {kind: group, groups: 8}}",
	"relu": "want {activation: relu}", "gelu": "want {activation: gelu}", "silu": "want {activation: silu}", "elu": "want {activation: elu}",
	"tanh": "want {activation: tanh}", "sigmoid": "want {activation: sigmoid}", "leaky-relu": "want {activation: leaky-relu}",
}}

// RegisterLayer adds a kind of layer to [Parts] for use in configs. Call it before reading a config. A second entry
// with the same name is an error.
func RegisterLayer(e registry.Entry[Layer]) error { return Parts.Register(e) }

// LayerChoice is the choice of a layer in a config: `flatten`, `{dense: 256}` or `{conv: {channels: 32, stride: 2}}`.
type LayerChoice struct {
	Name  string
	Value Layer
}

// shortOption maps a layer to the option that its short form sets: {dense: 256} is {dense: {units: 256}}.
var shortOption = map[string]string{
	"conv": "channels", "deconv": "channels", "residual": "channels", "image": "channels", "dense": "units", "norm": "kind", "activation": "kind",
	"pool": "kind", "upsample": "times", "shuffle": "times", "crop": "to", "dropout": "rate",
}

func (c *LayerChoice) DecodeConfig(n *config.Node) error {
	if items := n.Items(); n.IsMap() && len(items) == 1 && (items[0].IsScalar() || items[0].IsList()) {
		if key := shortOption[n.Keys()[0]]; key != "" {
			items[0].Wrap(key)
		}
	}
	return config.DecodeChoice(n, Parts, c)
}

func (c LayerChoice) EncodeConfig() (any, error) { return config.EncodeChoice(c) }

func (LayerChoice) ConfigForms() []any {
	c := config.ChoicesOf(Parts)
	for i, p := range c.Parts {
		c.Parts[i].Short = config.Short(shortOption[p.Name])
	}
	return []any{c}
}

// Channels is a number of channels or columns, or imageChannels.
type Channels int

// imageChannels means the number of channels in the decoder's images.
const imageChannels Channels = -1

// DecodeConfig reads a number or `image`.
func (c *Channels) DecodeConfig(n *config.Node) error {
	if n.IsScalar() && n.Text() == "image" {
		*c = imageChannels
		return nil
	}
	v, err := strconv.Atoi(n.Text())
	if !n.IsScalar() || err != nil {
		return n.Errorf("want an integer, or image for the channels of a decoder's images, got %s", n.Inline())
	}
	if v < 1 || v > maxChannels {
		return n.Errorf("want 1 to %d, got %d", maxChannels, v)
	}
	*c = Channels(v)
	return nil
}

// EncodeConfig writes the number or `image`. It writes nothing for 0.
func (c Channels) EncodeConfig() (any, error) {
	switch c {
	case 0:
		return nil, nil
	case imageChannels:
		return "image", nil
	}
	return int(c), nil
}

func (Channels) ConfigForms() []any { return []any{0, config.Words{"image"}} }

func (c Channels) ConfigType() string { return "integer, or image" }

const maxChannels = 1 << 20

func (c Channels) validate(key string) error {
	switch {
	case c == imageChannels:
		return nil
	case c == 0:
		return fmt.Errorf("there are no %s; want {%s: 32}", key, key)
	case c < 1 || c > maxChannels:
		return config.Invalid(key, "want 1 to %d, got %d", maxChannels, int(c))
	}
	return nil
}

// resolve returns the number of channels at a place in a network.
func (c Channels) resolve(p Place) (int, error) {
	if c != imageChannels {
		return int(c), nil
	}
	if len(p.Image) != 3 {
		return 0, fmt.Errorf("image stands for the channels of a decoder's images; want a number here")
	}
	return p.Image[2], nil
}

func validActivation(key, name string) error {
	if _, err := graph.ParseActivation(name); err != nil {
		return config.Invalid(key, "%w", err)
	}
	return nil
}

// optionalActivation checks the name of an activation; an empty name means none.
func optionalActivation(key, name string) error {
	if name == "" {
		return nil
	}
	return validActivation(key, name)
}

// parsedActivation returns an activation by name, and Linear for an empty name.
func parsedActivation(name string) (graph.Activation, error) {
	if name == "" {
		return graph.Linear, nil
	}
	return graph.ParseActivation(name)
}

// oneOf checks that a name is known; what describes the name in the message.
func oneOf(key, what, name string, known ...string) error {
	if !slices.Contains(known, name) {
		return config.Invalid(key, "unknown %s %q%s", what, name, registry.Suggest(name, known))
	}
	return nil
}

// validRange checks an integer option.
func validRange(key string, value, low, high int) error {
	if value < low || value > high {
		return config.Invalid(key, "want %d to %d, got %d", low, high, value)
	}
	return nil
}
