package nn_test

import (
	"testing"

	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/internal/must"
)

// FuzzLayers checks arbitrary lists of layers. A list must give an error, or build an encoder, its mirror image, and a
// decoder whose result has the shape of the images.
func FuzzLayers(f *testing.F) {
	for _, s := range []string{
		"[{conv: {channels: 4, stride: 2}}, {norm: batch}, {activation: gelu}, {residual: {channels: 4, stride: 2}}, {dense: 3}]",
		"[{residual: {layers: [{conv: 3}, {norm: layer}]}}, {pool: {to: 1}}, flatten, {dropout: 0.1}]",
		"[{dense: 4}, {image: 4}, {upsample: {times: 2, kind: bilinear}}, {conv: {channels: 4, padding: symmetric}}, {shuffle: 2}, {deconv: {channels: image}}]",
		"[{conv: {channels: 2, kernel: 9, padding: valid}}, {crop: 2}, {pool: max}]",
		"{list: [{dense: {units: 2, name: a, init: glorot, bias: false}}], init: pytorch}",
		"[{image: {channels: image, to: [3, 5]}}]", "[{conv: -1}]", "[[]]", "[{residual: {layers: []}}]", "[{norm: {kind: group, groups: 3}}]",
	} {
		f.Add(s, 5, 6, 3)
	}
	f.Fuzz(func(t *testing.T, source string, height, width, channels int) {
		if height < 1 || width < 1 || channels < 1 || height > 16 || width > 16 || channels > 4 || len(source) > 1<<10 {
			t.Skip()
		}
		var c networks
		text := "encoder: {layers: " + source + "}\ndecoder: {layers: " + source + "}\n"
		if config.Load("net.yaml", []byte(text), &c) != nil {
			return
		}
		e, ok := c.Encoder.Value.(*nn.Layers)
		if !ok || heavy(e.List) {
			t.Skip()
		}
		image := tensor.Shape{height, width, channels}
		g := nn.NewGraph(nn.NewParams(1))
		images := must.Get(g.Input("images", append(tensor.Shape{2}, image...)...))(t)
		features, err := e.Encode(g, images, "encoder")
		if err == nil && (features.Dims() != 2 || features.Shape()[0] != 2) {
			t.Errorf("features of shape %v", features.Shape())
		}
		codes := must.Get(g.Input("codes", 2, 3))(t)
		for name, d := range map[string]nn.Decoder{"decoder": c.Decoder.Value, "mirror": e.Mirror()} {
			if d == nil {
				continue
			}
			if y, err := d.Decode(g, codes, name, image); err == nil && !y.Shape()[1:].Eq(image) {
				t.Errorf("%s: images of shape %v; want %v", name, y.Shape()[1:], image)
			}
		}
	})
}

// heavy reports lists of layers that need too much memory for a test.
func heavy(list nn.LayerList) bool {
	for _, c := range list {
		switch l := c.Value.(type) {
		case *nn.ConvLayer:
			if l.Channels > 64 {
				return true
			}
		case *nn.DeconvLayer:
			if l.Channels > 64 || l.Stride > 8 {
				return true
			}
		case *nn.DenseLayer:
			if l.Units > 64 {
				return true
			}
		case *nn.ImageLayer:
			if l.Channels > 64 || len(l.To) > 0 && max(l.To[0], l.To[len(l.To)-1]) > 32 {
				return true
			}
		case *nn.ResidualLayer:
			if l.Channels > 64 || l.Times > 4 || l.Upsample > 4 || heavy(l.Layers) {
				return true
			}
		case *nn.UpsampleLayer:
			if l.Times > 4 {
				return true
			}
		case *nn.ShuffleLayer:
			if l.Times > 4 {
				return true
			}
		}
	}
	return len(list) > 12
}
