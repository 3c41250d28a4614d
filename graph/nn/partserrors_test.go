package nn_test

import (
	"reflect"
	"testing"

	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/internal/must"
)

// TestLayerMistakes checks the message and the position for mistakes in lists of layers.
func TestLayerMistakes(t *testing.T) {
	for list, want := range map[string]string{
		"[{conv: {channel: 32}}, {dense: 8}]":         `net.yaml:1:28: encoder.layers.0.conv.channel: unknown key "channel"; did you mean "channels"?`,
		"[{cnv: 32}]":                                 `net.yaml:1:21: encoder.layers.0: unknown layer "cnv"; did you mean "conv"?`,
		"[{conv2d: 32}]":                              `unknown layer "conv2d"; want conv`,
		"[{conv: 3}, relu]":                           `encoder.layers.1: unknown layer "relu"; want {activation: relu}`,
		"[{conv: 3}, flatten, {conv: 4}]":             `net.yaml:1:41: encoder.layers.2.conv: conv takes images, but flatten makes rows; want conv before flatten`,
		"[{image: {channels: 2, to: 3}}, {image: 2}]": `image takes rows, but image makes images; want flatten between them`,
		"[{conv: 0}]":                                 `net.yaml:1:27: encoder.layers.0.conv: want 1 to 1048576, got 0`,
		"[{conv: {kernel: 3}}]":                       `there are no channels; want {channels: 32}`,
		"[{dense: image}]":                            `image is for channels; want a number`,
		"[{conv: two}]":                               `want an integer, or image for the channels`,
		"[]":                                          `encoder.layers: the list has no layers; want one or more`,
		"{list: []}":                                  `the list has no layers`,
		"{list: [{dense: 3}], init: he}":              `encoder.layers.init: unknown initialiser "he"`,
		"resnet18":                                    `want a list of layers, such as`,
		"[{conv: {channels: 2, name: conv2}}, {conv: 3}]":           `layers 0 and 1 (from 0) are both named "conv2"; want two names`,
		"[{conv: {channels: 2, name: a/b}}]":                        `"a/b" has a slash`,
		"[{conv: {channels: 2, padding: full}}]":                    `unknown padding "full"`,
		"[{conv: {channels: 2, kernel: 0}}]":                        `kernel: want 1 to 127, got 0`,
		"[{conv: {channels: 2, init: xavier}}]":                     `unknown initialiser "xavier"`,
		"[{deconv: {channels: 2, fan: both}}]":                      `unknown count "both"`,
		"[{norm: bach}]":                                            `unknown normalisation "bach"; did you mean "batch"?`,
		"[{activation: rellu}]":                                     `unknown activation "rellu"`,
		"[{pool: mean}]":                                            `unknown kind of pooling "mean"`,
		"[{pool: {to: [1, 2, 3]}}]":                                 `want a side of 1 or more, or [height, width], got [1, 2, 3]`,
		"[{pool: {to: 1, size: 3}}]":                                `to: it chooses the windows itself; want it without size, stride and padding`,
		"[{crop: {}}]":                                              `there are no sides; want {to: 28}`,
		"[{upsample: {kind: cubic}}]":                               `unknown interpolation "cubic"`,
		"[{dropout: 1}]":                                            `rate: want at least 0 and less than 1, got 1`,
		"[{residual: {stride: 2}}]":                                 `there are no channels`,
		"[{residual: {channels: 3, stride: 2, upsample: 2}}]":       `stride 2 makes images smaller and upsample 2 larger; want only one of them`,
		"[{residual: {channels: 3, layers: [{conv: 3}]}}]":          `a residual with layers takes their shapes; want channels or layers`,
		"[{residual: {layers: [flatten, {conv: 3}]}}]":              `encoder.layers.0.residual.layers.1.conv: conv takes images`,
		"[{residual: {channels: 3, kind: bottle}}]":                 `unknown kind of residual block "bottle"`,
		"[{residual: {channels: 3, times: 0}}]":                     `times: want 1 to 1024, got 0`,
		"[{residual: {channels: 3, norm: x}}]":                      `unknown normalisation "x"`,
		"[{shuffle: 0}]":                                            `times: want 1 to 64, got 0`,
		"[{norm: {kind: group, groups: 0}}]":                        `groups: want 1 to`,
		"[{residual: {channels: 3, layers: [{conv: 3}], norm: x}}]": `want channels or layers`,
	} {
		var c networks
		must.Error(t, config.Load("net.yaml", []byte("encoder: {layers: "+list+"}"), &c), want, list)
	}
}

// TestMisfits checks the message for layers that cannot process images of shape (32, 30, 2).
func TestMisfits(t *testing.T) {
	for list, want := range map[string]string{
		"[{norm: {kind: group, groups: 3}}]":                  `layer "encoder/norm1": group norm: want a number of groups that divides 2 channels, got 3`,
		"[{pool: {size: 31, padding: valid}}]":                `layer "encoder/pool1": pool: want images of 31 by 31 pixels or more`,
		"[{pool: {to: [5, 31]}}]":                             `layer "encoder/pool1": to is 5 by 31 pixels, and the images have shape (32, 30, 2); want at most`,
		"[{conv: {channels: 2, kernel: 31, padding: valid}}]": `layer "encoder/conv1": convolution: want images of 31 by 31 pixels or more, got (1, 32, 30, 2)`,
		"[{conv: 4}, {residual: {layers: [{conv: 2}]}}]":      `layer "encoder/residual1": its layers make shape (32, 30, 2) of (32, 30, 4), which cannot be added; want layers that keep the shape`,
		"[{residual: 4}, {residual: {layers: [{crop: 31}]}}]": `layer "encoder/residual2/crop1": crop: want between 1 by 1 and 32 by 30 pixels`,
		"[{conv: image}]":                                     `layer "encoder/conv1": image stands for the channels of a decoder's images; want a number here`,
		"[{dense: 3}, {image: 2}]":                            `layer "encoder/image1": to: an encoder has no target size`,
		"[{conv: 6}, {shuffle: 2}]":                           `layer "encoder/shuffle1": shuffle: want channels that 2 times 2 divides`,
		"[{conv: 4}, {residual: {channels: 6, norm: group}}]": `layer "encoder/residual1/norm1": group norm: want a number of groups that divides 6 channels`,
	} {
		g := nn.NewGraph(nn.NewParams(1))
		_, err := encoderOf(t, list).Encode(g, must.Get(g.Input("images", 1, 32, 30, 2))(t), "encoder")
		must.Error(t, err, want, list)
	}
	for list, want := range map[string]string{
		"[{image: {channels: 4, to: 4}}, {deconv: image}]": `layer "decoder/deconv1": the decoder ends in shape (8, 8, 2); want (32, 30, 2), the shape of the images: leave out the sides`,
		"[{image: 4}, {deconv: 3}]":                        `layer "decoder/deconv1": the decoder ends in shape (32, 30, 3); want (32, 30, 2), the shape of the images: end with a layer of as many channels`,
		"[{dense: 9}]":                                     `layer "decoder/dense1": the decoder ends in shape (9); want (32, 30, 2), the shape of the images: begin with an image layer`,
		"[{deconv: 9}]":                                    `layer "decoder/deconv1": its input is of shape (1, 5); want images [batch, height, width, channels]`,
		"[{pool: max}]":                                    `its input is of shape (1, 5); want images`,
		"[{residual: 4}]":                                  `layer "decoder/residual1": its input is of shape (1, 5); want images`,
	} {
		g := nn.NewGraph(nn.NewParams(1))
		_, err := decoderOf(t, list).Decode(g, must.Get(g.Input("codes", 1, 5))(t), "decoder", tensor.Shape{32, 30, 2})
		must.Error(t, err, want, list)
	}
}

// TestLayersOfPrograms checks that lists from Go code, without a config, are also validated.
func TestLayersOfPrograms(t *testing.T) {
	upsample := func(times int) nn.LayerChoice {
		return nn.LayerChoice{Name: "upsample", Value: &nn.UpsampleLayer{Times: times, Kind: "nearest"}}
	}
	for want, l := range map[string]*nn.Layers{
		"list: the list has no layers":                                 nn.NewLayers(),
		"unknown initialiser":                                          {List: nn.LayerList{upsample(2)}},
		"list.0.upsample.times: want 1 to 64, got 0":                   nn.NewLayers(upsample(0)),
		`conv has no settings; want the settings that its entry's New`: nn.NewLayers(nn.LayerChoice{Name: "conv"}),
	} {
		g := nn.NewGraph(nn.NewParams(1))
		images, codes := must.Get(g.Input("images", 1, 4, 4, 1))(t), must.Get(g.Input("codes", 1, 5))(t)
		for _, err := range []error{second(l.Encode(g, images, "net")), second(l.Decode(g, codes, "net", tensor.Shape{4, 4, 1}))} {
			must.Error(t, err, want)
		}
	}
}

// A layer of a program without its sides, or with one side, is an error.
func TestLayerSides(t *testing.T) {
	g, one := nn.NewGraph(nn.NewParams(1)), reflect.ValueOf(nn.Sides{3})
	for name, shape := range map[string][]int{"crop": {2, 8, 8, 4}, "pool": {2, 8, 8, 4}, "image": {2, 16}} {
		e := must.Get(nn.Parts.Lookup(name))(t)
		x := must.Get(g.Input(name, shape...))(t)
		l := e.New()
		sides := reflect.ValueOf(l).Elem().FieldByName("To")
		if i, ok := l.(*nn.ImageLayer); ok {
			i.Channels = 1
		}
		if sides.Set(one); name == "crop" {
			sides.SetZero()
		}
		must.ErrorOf(l.Build(nn.Place{Graph: g, Name: "l"}, x))(t, "[height, width]", name)
	}
}
