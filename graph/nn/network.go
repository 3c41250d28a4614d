package nn

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/layer"
)

// LayerList lists the layers of a network from first to last.
type LayerList []LayerChoice

func (LayerList) ConfigType() string { return "list of layers" }

// Layers is a network from a list of layers. [Parts] has the kinds of layers.
//
// The name of a layer is its kind and number (conv1, conv2, dense1), or its option name. An encoder takes images, and
// flattens images at its end. A decoder takes rows of codes and ends in images with the data's shape. Its image layer
// reshapes rows to images. The layers after the image layer determine the sides. If the result is too large, the
// decoder keeps its upper left part.
type Layers struct {
	List LayerList `yaml:"list" doc:"layers, first to last"`
	Init string    `yaml:"init" doc:"default distribution of the layers' initial weights: he-normal, he-uniform, glorot, fan-in or pytorch"`
}

// DefaultLayerInit is the distribution of initial weights in networks from parts.
const DefaultLayerInit = "he-normal"

// NewLayers returns a network of layers with the default distribution of initial weights.
func NewLayers(list ...LayerChoice) *Layers { return &Layers{List: list, Init: DefaultLayerInit} }

// DecodeConfig reads a list of layers, or a map {list: [layers], init: NAME}.
func (l *Layers) DecodeConfig(n *config.Node) error {
	if n.IsList() {
		if len(n.Items()) == 0 {
			return n.Errorf(noLayers)
		}
		return n.Decode(&l.List)
	}
	if !n.IsMap() {
		return n.Errorf("want a list of layers, such as [{conv: {channels: 32, stride: 2}}, {activation: relu}, {dense: 256}], or {list: [layers], init: glorot}")
	}
	type plain Layers
	return n.Decode((*plain)(l))
}

// EncodeConfig writes the list, or the map if init is not the default.
func (l *Layers) EncodeConfig() (any, error) {
	if l.Init == DefaultLayerInit {
		return l.List, nil
	}
	type plain Layers
	return plain(*l), nil
}

func (l *Layers) ConfigForms() []any {
	type plain Layers
	return []any{plain{Init: DefaultLayerInit}, config.Short("list")}
}

func (l *Layers) ConfigType() string { return "a list of layers" }

func (l *Layers) Validate() error {
	if len(l.List) == 0 {
		return config.Invalid("list", noLayers)
	}
	return validLayerInit(l.Init)
}

// check validates a network that a program has built, with all its layers.
func (l *Layers) check() error {
	if err := l.Validate(); err != nil {
		return err
	}
	return config.ValidateParts(l)
}

const noLayers = "the list has no layers; want one or more, such as {dense: 256}"

// Validate checks that every layer accepts the result of the previous layer and that names are unique.
func (l LayerList) Validate() error {
	before, from := Any, ""
	for i, c := range l {
		key := fmt.Sprintf("%d.%s", i, c.Name)
		if c.Value == nil {
			return config.Invalid(strconv.Itoa(i), "layer %q has no settings; want the settings that its entry's New returns",
				c.Name)
		}
		if n, ok := c.Value.(interface{ Named() string }); ok && strings.ContainsAny(n.Named(), "/*. ") {
			return config.Invalid(key+".name", "%q has a slash, star, point or space; want a name without them", n.Named())
		}
		f, ok := c.Value.(Formed)
		if !ok {
			continue
		}
		in, out := f.Forms()
		if before == Rows && in == Images {
			return config.Invalid(key, "%s takes images, but %s makes rows; want %s before %s, or an image layer between them",
				c.Name, from, c.Name, from)
		}
		if before == Images && in == Rows {
			return config.Invalid(key, "%s takes rows, but %s makes images; want flatten between them", c.Name, from)
		}
		if out != Any {
			before, from = out, c.Name
		}
	}
	return l.uniqueNames()
}

func (l LayerList) uniqueNames() error {
	indexOf := map[string]int{}
	for _, p := range l.parts() {
		if first, ok := indexOf[p.name]; ok && first != p.index {
			return config.Invalid(fmt.Sprintf("%d.%s", p.index, p.Name),
				"layers %d and %d (from 0) are both named %q; want two names", first, p.index, p.name)
		}
		indexOf[p.name] = p.index
	}
	return nil
}

// Encode implements [Encoder].
func (l *Layers) Encode(g *Graph, images *gorgonia.Node, name string) (*gorgonia.Node, error) {
	if images == nil || images.Dims() < 2 {
		return nil, inLayer(name, fmt.Errorf("input is %s; want images [batch, height, width, channels]", shapeOf(images)))
	}
	if err := l.check(); err != nil {
		return nil, inLayer(name, err)
	}
	h, err := l.List.place(Place{Graph: g, Name: name, Init: l.Init}, images)
	if err != nil {
		return nil, err
	}
	h, err = graph.Flatten(h)
	return h, inLayer(name, err)
}

// Decode implements [Decoder].
func (l *Layers) Decode(g *Graph, codes *gorgonia.Node, name string, image tensor.Shape) (*gorgonia.Node, error) {
	if err := checkShape(image); err != nil {
		return nil, inLayer(name, err)
	}
	if image.Dims() != 3 {
		return nil, inLayer(name, fmt.Errorf("images of shape %v; want [height, width, channels]", image))
	}
	if _, err := columnsIn(codes); err != nil {
		return nil, inLayer(name, err)
	}
	if err := l.check(); err != nil {
		return nil, inLayer(name, err)
	}
	h, err := l.List.place(Place{Graph: g, Name: name, Init: l.Init, Image: image}, codes)
	if err != nil {
		return nil, err
	}
	if s := h.Shape(); s.Dims() != 4 || !slices.Equal(s[1:], image) {
		return nil, l.List.wrongShape(name, s, image)
	}
	return h, nil
}

// wrongShape returns the error for a decoder that ends in shape s instead of the shape of the images.
func (l LayerList) wrongShape(name string, s, image tensor.Shape) error {
	parts := l.parts()
	last := parts[len(parts)-1]
	hint := "begin with an image layer, and enlarge its images"
	switch {
	case s.Dims() == 4 && s[3] != image[2]:
		hint = "end with a layer of as many channels as the images: {conv: {channels: image}}"
	case s.Dims() == 4:
		hint = "leave out the sides of image and crop layers; they follow from the images"
	}
	return &LayerError{Name: name + "/" + last.name, Key: last.key(), Err: fmt.Errorf(
		"the decoder ends in shape %v; want %v, the shape of the images: %s", s[1:], image, hint)}
}

// part is a named layer of a network.
type part struct {
	LayerChoice
	name  string
	index int // position in the list
}

func (p part) key() string { return fmt.Sprintf("layers.%d.%s", p.index, p.Name) }

// parts names the layers and splits residual layers into blocks. It merges a layer and the activation after it, which
// saves a pass over the data.
func (l LayerList) parts() (parts []part) {
	count := map[string]int{}
	for i, c := range l {
		if a, ok := c.Value.(*ActivationLayer); ok && a.Name == "" && len(parts) > 0 {
			last := &parts[len(parts)-1]
			if joined := withActivation(last.Value, a.Kind); joined != nil {
				last.Value = joined
				count[c.Name]++
				continue
			}
		}
		given := ""
		if n, ok := c.Value.(interface{ Named() string }); ok {
			given = n.Named()
		}
		blocks := []Layer{c.Value}
		if r, ok := c.Value.(*ResidualLayer); ok {
			blocks = r.blocks()
		}
		for j, block := range blocks {
			count[c.Name]++
			p := part{LayerChoice{c.Name, block}, fmt.Sprintf("%s%d", c.Name, count[c.Name]), i}
			switch {
			case given != "" && len(blocks) > 1:
				p.name = fmt.Sprintf("%s%d", given, j+1)
			case given != "":
				p.name = given
			}
			parts = append(parts, p)
		}
	}
	return parts
}

// withActivation returns a copy of the layer with an activation. It returns nil if the layer already has an activation
// or does not support one.
func withActivation(l Layer, activation string) Layer {
	var option *string
	switch v := l.(type) {
	case *ConvLayer:
		c := *v
		l, option = &c, &c.Activation
	case *DeconvLayer:
		c := *v
		l, option = &c, &c.Activation
	case *DenseLayer:
		c := *v
		l, option = &c, &c.Activation
	case *ImageLayer:
		c := *v
		l, option = &c, &c.Activation
	case *NormLayer:
		c := *v
		l, option = &c, &c.Activation
	}
	if option == nil || *option != "" {
		return nil
	}
	*option = activation
	return l
}

// place adds the layers to a graph. network has the path of the network and the shape of the decoder's result.
func (l LayerList) place(network Place, h *gorgonia.Node) (*gorgonia.Node, error) {
	parts := l.parts()
	sizes := sizesOf(parts, network.Image)
	for i, part := range parts {
		p := network
		p.Name, p.Size = network.Name+"/"+part.name, sizes[i]
		if i+1 < len(parts) {
			next, ok := parts[i+1].Value.(*NormLayer)
			p.Normed = ok && next.Kind != NoNorm
		}
		y, err := part.Value.Build(p, h)
		if err == nil && y == nil {
			err = errors.New("the layer returned no result")
		}
		if err == nil && y != h {
			gorgonia.WithName(p.Name)(y)
			y, err = p.cropped(y)
		}
		if err != nil {
			return nil, located(err, p.Name, part.key())
		}
		h = y
	}
	return h, nil
}

// sizesOf lists the required height and width of the result of each decoder layer.
func sizesOf(parts []part, image tensor.Shape) [][2]int {
	sizes := make([][2]int, len(parts))
	if image == nil {
		return sizes
	}
	after := [2]int{image[0], image[1]}
	for i := len(parts) - 1; i >= 0; i-- {
		sizes[i] = after
		if r, ok := parts[i].Value.(Resizing); ok {
			after = [2]int{max(1, r.Before(after[0])), max(1, r.Before(after[1]))}
		}
	}
	return sizes
}

// cropped crops decoder images that are too large.
func (p Place) cropped(y *gorgonia.Node) (*gorgonia.Node, error) {
	s := y.Shape()
	if p.Image == nil || s.Dims() != 4 || s[1] <= p.Size[0] && s[2] <= p.Size[1] {
		return y, nil
	}
	y, err := layer.Crop(y, min(s[1], p.Size[0]), min(s[2], p.Size[1]))
	if err == nil {
		gorgonia.WithName(p.Name + "/crop")(y)
	}
	return y, err
}

// LayerError is the error of an [Encoder] or a [Decoder] for a layer that cannot be built, for example because it does
// not accept its input. Key locates the layer in the config.
type LayerError struct {
	Name string // path: encoder/residual3/conv1
	Key  string // key of the layer in a network from parts: layers.3.residual; empty for other networks
	Err  error
}

func (e *LayerError) Error() string { return fmt.Sprintf("layer %q: %v", e.Name, e.Err) }

func (e *LayerError) Unwrap() error { return e.Err }

// located adds the layer's key in the config to an error. If the error already has the path of an inner layer, the path
// stays.
func located(err error, name, key string) error {
	if inner, ok := errors.AsType[*LayerError](err); ok {
		return &LayerError{Name: inner.Name, Key: key, Err: inner.Err}
	}
	return &LayerError{Name: name, Key: key, Err: err}
}
