package nn_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/layer"
	"github.com/unravel-ml/unravel/graph/machine"
	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
)

// networks is a config with networks from lists of layers.
type networks struct {
	Encoder nn.EncoderChoice `yaml:"encoder"`
	Decoder nn.DecoderChoice `yaml:"decoder"`
}

func parse(t *testing.T, text string) networks {
	t.Helper()
	var c networks
	if err := config.Load("net.yaml", []byte(text), &c); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return c
}

// encoderOf returns the encoder of a list of layers.
func encoderOf(t *testing.T, list string) nn.Encoder {
	t.Helper()
	return parse(t, "encoder: {layers: "+list+"}").Encoder.Value
}

func decoderOf(t *testing.T, list string) nn.Decoder {
	t.Helper()
	return parse(t, "decoder: {layers: "+list+"}").Decoder.Value
}

// built holds the parameters of a network and its result for random input.
type built struct {
	names  []string
	values [][]float32
	result []float32
}

func build(t *testing.T, network any, image tensor.Shape) built {
	t.Helper()
	g := nn.NewGraph(nn.NewParams(7))
	var in, out *gorgonia.Node
	var err error
	switch n := network.(type) {
	case nn.Encoder:
		in = must.Get(g.Input("in", append([]int{2}, image...)...))(t)
		out, err = n.Encode(g, in, "net")
	case nn.Decoder:
		in = must.Get(g.Input("in", 2, 5))(t)
		out, err = n.Decode(g, in, "net", image)
	}
	must.OK(t, err)
	rng.New(1, "in").Normals(nn.Data(in))
	m := must.Get(machine.New(out.Graph(), out))(t)
	must.OK(t, m.RunAll())
	b := built{names: g.Params.Names(), result: slices.Clone(values(m, out))}
	for _, name := range b.names {
		b.values = append(b.values, g.Params.Get(name).Float32s())
	}
	return b
}

// asDecoder hides the Encode method of a decoder.
type asDecoder struct{ nn.Decoder }

func TestPresetsAreLists(t *testing.T) {
	const small = "width: 4"
	for _, text := range []string{
		"{encoder: conv64, decoder: conv64}",
		"{encoder: {conv64: {small_kernels: true, activation: tanh, init: he-normal}}, decoder: {conv64: {init: he-normal, features: 7}}}",
		"{encoder: {conv64: {init: fan-in}}, decoder: {conv64: {init: fan-in}}}",
		"{encoder: conv64-norm, decoder: {mlp: {hidden: [5, 6], activation: leaky-relu, init: he-uniform}}}",
		"{encoder: {conv64-norm: {norm: batch, final_norm: true, features: 12}}, decoder: mlp}",
		"{encoder: {conv64-norm: {norm: none, init: glorot}}, decoder: burgess}",
		"{encoder: {burgess: {activation: softplus}}, decoder: small-conv}",
		"{encoder: mlp, decoder: {small-conv: {norm: group, " + small + ", groups: 2}}}",
		"{encoder: {small-conv: {norm: instance, activation: gelu}}, decoder: {resnet-ae: {" + small + ", groups: 2}}}",
		"{encoder: {resnet18: {" + small + ", features: 9}}, decoder: {resnet-ae: {" + small + ", norm: batch}}}",
		"{encoder: {resnet-ae: {" + small + ", norm: none}}, decoder: layers}",
		"{encoder: layers, decoder: layers}",
		"{encoder: locatello, decoder: locatello}",
		"{encoder: dense-norm, decoder: dense-norm}",
		"{encoder: {mlp: {norm: layer}}, decoder: {mlp: {hidden: [9], norm: batch}}}",
	} {
		preset := parse(t, text)
		encoder := must.Get(preset.Encoder.Value.(nn.EncoderParts).EncoderLayers().YAML("encoder"))(t)
		decoder := must.Get(preset.Decoder.Value.(nn.DecoderParts).DecoderLayers().YAML("decoder"))(t)
		list := parse(t, encoder+decoder)
		image := tensor.Shape{16, 32, 3}
		same(t, text, build(t, preset.Encoder.Value, image), build(t, list.Encoder.Value, image))
		same(t, text, build(t, asDecoder{preset.Decoder.Value}, image), build(t, asDecoder{list.Decoder.Value}, image))
	}
}

// A layer is the operation of its settings. The parameters of the references, such as conv1/weight, are the layer's.
func TestLayersAreOperations(t *testing.T) {
	type node = *gorgonia.Node
	type weights map[string]node
	for text, want := range map[string]func(g *nn.Graph, x node, w weights) (node, error){
		"flatten":              func(_ *nn.Graph, x node, _ weights) (node, error) { return graph.Flatten(x) },
		"{activation: tanh}":   func(_ *nn.Graph, x node, _ weights) (node, error) { return graph.Activate(x, graph.Tanh) },
		"{activation: linear}": func(_ *nn.Graph, x node, _ weights) (node, error) { return x, nil },
		"{norm: {kind: group, groups: 2, activation: elu}}": func(g *nn.Graph, x node, _ weights) (node, error) {
			return graph.Activate(must.Get(nn.Norm(g, x, "l", nn.NormOptions{Kind: nn.GroupNorm, Groups: 2}))(t), graph.ELU)
		},
		"{norm: {kind: layer, activation: relu}}": func(g *nn.Graph, x node, _ weights) (node, error) {
			return nn.Norm(g, x, "l", nn.NormOptions{Kind: nn.LayerNorm, ReLU: true})
		},
		"{pool: max}": func(_ *nn.Graph, x node, _ weights) (node, error) {
			return layer.Pool(x, layer.PoolOptions{Kind: layer.Max, Size: 2, Stride: 2})
		},
		"{pool: {size: 3, stride: 2, padding: valid}}": func(_ *nn.Graph, x node, _ weights) (node, error) {
			return layer.Pool(x, layer.PoolOptions{Kind: layer.Average, Size: 3, Stride: 2, Valid: true})
		},
		"{pool: {kind: max, to: [2, 3]}}": func(_ *nn.Graph, x node, _ weights) (node, error) { return layer.AdaptivePool(x, layer.Max, 2, 3) },
		"{upsample: 3}":                   func(_ *nn.Graph, x node, _ weights) (node, error) { return layer.Upsample(x, 3, false) },
		"{upsample: {kind: bilinear}}":    func(_ *nn.Graph, x node, _ weights) (node, error) { return layer.Upsample(x, 2, true) },
		"{shuffle: 2}":                    func(_ *nn.Graph, x node, _ weights) (node, error) { return layer.Shuffle(x, 2) },
		"{crop: [2, 3]}":                  func(_ *nn.Graph, x node, _ weights) (node, error) { return layer.Crop(x, 2, 3) },
		"{conv: {channels: 3, kernel: 2, stride: 2, padding: valid, activation: tanh}}": func(_ *nn.Graph, x node, w weights) (node, error) {
			return layer.Conv(x, w["weight"], w["bias"], layer.ConvOptions{Stride: 2, Valid: true, Activation: graph.Tanh})
		},
		"{conv: {channels: 3, stride: 2, padding: symmetric}}": func(_ *nn.Graph, x node, w weights) (node, error) {
			return layer.Conv(x, w["weight"], w["bias"], layer.ConvOptions{Stride: 2, Symmetric: true})
		},
		"{deconv: {channels: 3, stride: 3, activation: elu}}": func(_ *nn.Graph, x node, w weights) (node, error) {
			return layer.ConvTranspose(x, w["weight"], w["bias"], layer.ConvOptions{Stride: 3, Activation: graph.ELU})
		},
		"{deconv: {channels: 3, padding: valid}}": func(_ *nn.Graph, x node, w weights) (node, error) {
			return layer.ConvTranspose(x, w["weight"], w["bias"], layer.ConvOptions{Stride: 2, Valid: true})
		},
		"{residual: {channels: 4, norm: none, activation: tanh}}": func(_ *nn.Graph, x node, w weights) (node, error) {
			y := must.Get(layer.Conv(x, w["conv1/weight"], w["conv1/bias"], layer.ConvOptions{Activation: graph.Tanh}))(t)
			return layer.Add(must.Get(layer.Conv(y, w["conv2/weight"], w["conv2/bias"], layer.ConvOptions{}))(t), x, graph.Tanh)
		},
		"{residual: {channels: 2, norm: none, upsample: 2, kernel: 1, activation: elu}}": func(_ *nn.Graph, x node, w weights) (node, error) {
			large := must.Get(layer.Upsample(x, 2, false))(t)
			y := must.Get(layer.Conv(large, w["conv1/weight"], w["conv1/bias"], layer.ConvOptions{Activation: graph.ELU}))(t)
			y = must.Get(layer.Conv(y, w["conv2/weight"], w["conv2/bias"], layer.ConvOptions{}))(t)
			return layer.Add(y, must.Get(layer.Conv(large, w["projection/weight"], w["projection/bias"], layer.ConvOptions{}))(t), graph.ELU)
		},
		"{dense: {units: 3, activation: silu}}": func(_ *nn.Graph, x node, w weights) (node, error) {
			return layer.Dense(must.Get(graph.Flatten(x))(t), w["weight"], w["bias"], graph.SiLU)
		},
	} {
		g := nn.NewGraph(nn.NewParams(7))
		x := must.Get(g.Input("in", 2, 5, 6, 4))(t)
		rng.New(1, "in").Normals(nn.Data(x))
		l := encoderOf(t, "["+text+"]").(*nn.Layers).List[0].Value
		got, err := l.Build(nn.Place{Graph: g, Name: "l", Init: "pytorch"}, x)
		must.OK(t, err)
		w := weights{}
		for _, name := range g.Params.Names() {
			p := g.Params.Get(name)
			rng.New(2, name).Normals(p.Float32s())
			w[strings.TrimPrefix(name, "l/")] = must.Get(g.Param(name, p.Shape(), nn.Zeros))(t)
		}
		reference, err := want(g, x, w)
		must.OK(t, err)
		m := runOf(t, got, reference)
		a, b := values(m, got), values(m, reference)
		for i := range b {
			if d := a[i] - b[i]; len(a) != len(b) || !(d < 1e-4 && d > -1e-4) {
				t.Errorf("%s: %d numbers, and number %d is %v; want %d, %v", text, len(a), i, a[i], len(b), b[i])
				break
			}
		}
	}
}

func same(t *testing.T, what string, a, b built) {
	t.Helper()
	if !slices.Equal(a.names, b.names) {
		t.Fatalf("%s: parameters %v and of the list %v", what, a.names, b.names)
	}
	for i, name := range a.names {
		if !slices.Equal(a.values[i], b.values[i]) {
			t.Errorf("%s: initial values of %s differ", what, name)
		}
	}
	if !slices.Equal(a.result, b.result) {
		t.Errorf("%s: results differ", what)
	}
}

// TestDecodersEndInTheSize checks that decoders and mirror images of encoders return images of the required size, for
// any size.
func TestDecodersEndInTheSize(t *testing.T) {
	decoders := map[string]nn.Decoder{}
	for name, list := range map[string]string{
		"deconv":   "[{image: 2}, {deconv: 2}, {activation: elu}, {deconv: {channels: image, kernel: 5, stride: 3}}]",
		"valid":    "[{image: 2}, {deconv: {channels: 2, kernel: 3, padding: valid}}, {conv: {channels: image, kernel: 2, padding: valid}}]",
		"upsample": "[{dense: 4}, {image: 2}, {upsample: {times: 3, kind: bilinear}}, {conv: 2}, {upsample: 2}, {norm: layer}, {conv: image}]",
		"shuffle":  "[{image: 16}, {shuffle: 2}, {conv: 4}, {shuffle: {times: 2}}, {conv: image}]",
		"residual": "[{image: 4}, {residual: {channels: 2, upsample: 2, times: 2}}, {residual: {channels: 4, upsample: 3, kind: bottleneck, norm: none}}, {conv: image}]",
		"shrinks":  "[{image: 2}, {deconv: 2}, {conv: {channels: 2, stride: 2}}, {pool: max}, {residual: {channels: 2, stride: 2}}, {deconv: {channels: image, stride: 4}}]",
		"plain":    "[{dense: 3}, {image: image}]",
	} {
		decoders[name] = decoderOf(t, list)
	}
	for name, list := range map[string]string{
		"strides":  "[{conv: {channels: 2, kernel: 4, stride: 2}}, {norm: batch}, {activation: relu}, {conv: {channels: 2, stride: 3}}, {dense: 4}, {dense: 3}]",
		"valid":    "[{conv: {channels: 2, kernel: 5, stride: 2, padding: valid}}, {pool: max}, flatten, {dense: 3}]",
		"pooled":   "[{conv: 2}, {dropout: 0.1}, {residual: {channels: 4, stride: 2, times: 2}}, {pool: {to: 1}}]",
		"residual": "[{residual: {channels: 4, stride: 2}}, {residual: {layers: [{conv: 4}, {norm: instance}]}}, {activation: tanh}]",
	} {
		decoders["mirror of "+name] = encoderOf(t, list).(nn.Mirrored).Mirror()
	}
	small, resnet := nn.NewSmallConv(), nn.NewResNet18()
	small.Width, small.Features, resnet.Width, resnet.Groups = 2, 3, 2, 2
	decoders["small-conv"], decoders["mirror of resnet18"] = small.Mirror(), resnet.Mirror()
	ae := nn.NewResNetAE()
	ae.Width, ae.Groups = 2, 1
	decoders["resnet-ae"] = ae

	var sizes []tensor.Shape
	for side := 16; side <= 256; side += 15 {
		sizes = append(sizes, tensor.Shape{side, side, 1})
	}
	sizes = append(sizes, tensor.Shape{28, 28, 1}, tensor.Shape{96, 96, 3}, tensor.Shape{17, 40, 2},
		tensor.Shape{1, 16, 1}, tensor.Shape{1, 233, 4}, tensor.Shape{1, 1, 1}, tensor.Shape{33, 1, 16})
	for name, d := range decoders {
		for _, image := range long.Sample(sizes, 8) {
			g := nn.NewGraph(nn.NewParams(1))
			codes := must.Get(g.Input("codes", 2, 3))(t)
			out, err := d.Decode(g, codes, "decoder", image)
			if err != nil {
				t.Errorf("%s, %v: %v", name, image, err)
				continue
			}
			if s := out.Shape(); !slices.Equal(s, append(tensor.Shape{2}, image...)) {
				t.Errorf("%s: result of shape %v, want %v", name, s, image)
			}
		}
	}
}

func TestMirror(t *testing.T) {
	for list, want := range map[string]string{
		"[{conv: {channels: 8, kernel: 4, stride: 2}}, {norm: batch}, {activation: relu}, {conv: {channels: 16, stride: 2, activation: tanh}}, {dense: 32}, {activation: gelu}]": `decoder:
  layers:
    - dense: 32
    - activation: gelu
    - image: 16
    - activation: tanh
    - upsample: 2
    - conv: 8
    - norm: batch
    - activation: relu
    - deconv: image
`,
		"[{conv: 8}, {activation: relu}, {residual: {channels: 16, stride: 2, times: 2}}, {pool: {to: 1}}, {dropout: 0.5}]": `decoder:
  layers:
    - image: 16
    - activation: relu
    - residual: {channels: 8, times: 2, upsample: 2}
    - conv: image
`,
		"[flatten, {dense: 8}, {norm: layer}, {dense: {units: 4, bias: false}}]": `decoder:
  layers:
    - dense: 4
    - dense: {units: 8, bias: false}
    - norm: layer
    - image: image
`,
		"[{residual: 8}, {pool: max}, {residual: {layers: [{conv: 8}, {norm: batch}, {activation: relu}]}}]": `decoder:
  layers:
    - image: 8
    - activation: relu
    - residual: {layers: [{conv: 8}, {norm: batch}, {activation: relu}]}
    - upsample: 2
    - residual: 8
    - conv: image
`,
	} {
		got, err := encoderOf(t, list).(nn.Mirrored).Mirror().(nn.DecoderParts).DecoderLayers().YAML("decoder")
		if err != nil || got != want {
			t.Errorf("%s: %v\n%s\nwant\n%s", list, err, got, want)
		}
	}
	for list, want := range map[string]string{
		"[{conv: 8}, {shuffle: 2}]":                           "no mirror image of layer 1 (from 0) of the encoder, shuffle",
		"[{pool: {to: 4}}, {conv: 8}]":                        "no mirror image of layer 0 (from 0) of the encoder, pool",
		"[{conv: 8}, {residual: {channels: 8, upsample: 2}}]": "it makes images larger; want a decoder",
	} {
		g := nn.NewGraph(nn.NewParams(1))
		_, err := encoderOf(t, list).(nn.Mirrored).Mirror().Decode(g, must.Get(g.Input("z", 2, 3))(t), "decoder", tensor.Shape{16, 16, 1})
		must.Error(t, err, want, list)
	}
}

// doubled is a layer from outside the package.
type doubled struct {
	Times float64 `yaml:"times" doc:"factor"`
}

func (d *doubled) Build(p nn.Place, x *gorgonia.Node) (*gorgonia.Node, error) {
	if d.Times == 0 {
		return nil, errors.New("times is 0; want another number")
	}
	w, err := p.Graph.Param(p.Name+"/scale", tensor.Shape{x.Shape()[1], 1}, nn.GlorotUniform)
	if err != nil {
		return nil, err
	}
	return gorgonia.Mul(x, w)
}

func TestLayersFromOutside(t *testing.T) {
	e := registry.Entry[nn.Layer]{Name: "doubled", Doc: "times a number", New: func() nn.Layer { return &doubled{Times: 2} }}
	must.OK(t, nn.RegisterLayer(e))
	defer func() { nn.Parts.Entries = nn.Parts.Entries[:len(nn.Parts.Entries)-1] }()
	if err := nn.RegisterLayer(e); err == nil {
		t.Error("no error about a second entry")
	}
	b := build(t, encoderOf(t, "[{dense: 3}, doubled, {doubled: {times: 3}}]"), tensor.Shape{4, 4, 1})
	if want := []string{"net/dense1/weight", "net/dense1/bias", "net/doubled1/scale", "net/doubled2/scale"}; !slices.Equal(b.names, want) {
		t.Errorf("parameters %v, want %v", b.names, want)
	}
	g := nn.NewGraph(nn.NewParams(1))
	_, err := encoderOf(t, "[{dense: 3}, {doubled: {times: 0}}]").Encode(g, must.Get(g.Input("x", 2, 4, 4, 1))(t), "encoder")
	if err == nil || err.Error() != `layer "encoder/doubled1": times is 0; want another number` {
		t.Error(err)
	}
}

func TestNamesOfParameters(t *testing.T) {
	list := `[{conv: 4}, {norm: batch}, {conv: {channels: 4, name: second, bias: true}}, {norm: none}, {conv: {channels: 4, bias: false}},
		{residual: {channels: 4, times: 2}}, {residual: {channels: 8, stride: 2, name: wide}}, {dense: {units: 3, init: glorot}}]`
	names := build(t, encoderOf(t, list), tensor.Shape{5, 7, 1}).names
	want := []string{"conv1/weight", "norm1/gamma", "norm1/beta", "norm1/running", "second/weight", "second/bias", "conv3/weight"}
	for _, block := range []string{"residual1", "residual2", "wide"} {
		for i := range 2 {
			want = append(want, fmt.Sprintf("%s/conv%d/weight", block, i+1))
			for _, p := range []string{"gamma", "beta", "running"} {
				want = append(want, fmt.Sprintf("%s/norm%d/%s", block, i+1, p))
			}
		}
	}
	want = append(want, "wide/projection/weight", "wide/projection-norm/gamma", "wide/projection-norm/beta",
		"wide/projection-norm/running", "dense1/weight", "dense1/bias")
	for i := range want {
		want[i] = "net/" + want[i]
	}
	if !slices.Equal(names, want) {
		t.Errorf("parameters\n%v, want\n%v", names, want)
	}
}

// The inner convolutions of a bottleneck have a quarter of its channels, and at least one.
func TestBottleneckChannels(t *testing.T) {
	for channels, inner := range map[int]int{2: 1, 8: 2} {
		list := fmt.Sprintf(`[{conv: %d}, {residual: {channels: %[1]d, kind: bottleneck, norm: none}}, {dense: 3}]`, channels)
		b := build(t, encoderOf(t, list), tensor.Shape{5, 7, 1})
		var sizes []int
		for i, name := range b.names {
			if strings.HasPrefix(name, "net/residual1/conv") && strings.HasSuffix(name, "/weight") {
				sizes = append(sizes, len(b.values[i]))
			}
		}
		if want := []int{channels * inner, inner * inner * 9, inner * channels}; !slices.Equal(sizes, want) {
			t.Errorf("%d channels: weights of %v numbers, want %v", channels, sizes, want)
		}
	}
}

// Scratch counts, for two rows of three columns times [3, 4], a gradient of [2, 4], transposed weights and copies of
// the rows. For filters of side 3 it counts their transform of 36 elements each, for filters of side 4 their layouts.
func TestScratch(t *testing.T) {
	for list, want := range map[string]float64{
		"{dense: 4}": 2*4 + 3*4 + 2*3, "{conv: 5}": 36 * 5, "{conv: {channels: 5, kernel: 4}}": (2 + 2) * 16 * 5,
	} {
		g := nn.NewGraph(nn.NewParams(7))
		in := must.Get(g.Input("in", 2, 1, 3, 1))(t)
		out := must.Get(encoderOf(t, "["+list+"]").Encode(g, in, "net"))(t)
		must.Equal(t, nn.Scratch(out), 4*want, list)
		if list == "{dense: 4}" && nn.FLOP(must.Get(gorgonia.Sum(out))(t)) != 2*2*3*4+2*4 {
			t.Errorf("%v operations of a layer and its sum; want %d", nn.FLOP(must.Get(gorgonia.Sum(out))(t)), 2*2*3*4+2*4)
		}
	}
}
