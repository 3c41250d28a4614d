package nn_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/machine"
	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/must"
)

func TestParamsDoNotDependOnOrder(t *testing.T) {
	create := func(names ...string) *nn.Params {
		p := nn.NewParams(3)
		for _, n := range names {
			must.Get(p.Create(n, tensor.Shape{4, 5}, nn.GlorotUniform))(t)
		}
		return p
	}
	a, b := create("x", "y"), create("y", "x")
	for _, n := range []string{"x", "y"} {
		if !slices.Equal(a.Get(n).Float32s(), b.Get(n).Float32s()) {
			t.Errorf("parameter %s depends on the order of creation", n)
		}
	}
	if slices.Equal(a.Get("x").Float32s(), a.Get("y").Float32s()) {
		t.Error("two parameters are drawn alike")
	}
	other := nn.NewParams(4)
	if c := must.Get(other.Create("x", tensor.Shape{4, 5}, nn.GlorotUniform))(t); slices.Equal(c.Float32s(), a.Get("x").Float32s()) {
		t.Error("two seeds draw alike")
	}
	if !slices.Equal(b.Names(), []string{"y", "x"}) || b.Count() != 40 || b.Get("z") != nil {
		t.Errorf("names %v, %d elements", b.Names(), b.Count())
	}
	if again := must.Get(a.Create("x", tensor.Shape{4, 5}, nn.Zeros))(t); again != a.Get("x") || again.Float32s()[0] == 0 {
		t.Error("a parameter is made twice")
	}
	for _, s := range []tensor.Shape{{5, 4}, {20}} {
		if _, err := a.Create("x", s, nn.Zeros); err == nil || !strings.Contains(err.Error(), `"x"`) || !strings.Contains(err.Error(), "(4, 5)") {
			t.Errorf("another shape: error %v", err)
		}
	}
	if _, err := a.Create("empty", tensor.Shape{0, 2}, nn.Zeros); err == nil || a.Get("empty") != nil {
		t.Errorf("an empty parameter: error %v", err)
	}
	must.ErrorOf(a.Create("huge", tensor.Shape{1 << 24, 1 << 20}, nn.Zeros))(t,
		`parameter "huge": training it, of shape (16777216, 1048576), would take 256 TiB`, "a huge parameter")
}

func TestInitialisers(t *testing.T) {
	shape := tensor.Shape{4, 4, 32, 64} // fan in 512, fan out 1024
	for _, c := range []struct {
		name          string
		std, greatest float64
		shape         tensor.Shape
	}{
		{"glorot", math.Sqrt(2.0 / 1536), math.Sqrt(6.0 / 1536), shape},
		{"he-normal", math.Sqrt(2.0 / 512), 1, shape},
		{"he-uniform", math.Sqrt(2.0 / 512), math.Sqrt(6.0 / 512), shape},
		{"fan-in", math.Sqrt(1.0 / 3 / 512), math.Sqrt(1.0 / 512), shape},
		{"glorot", math.Sqrt(2.0 / 700), math.Sqrt(6.0 / 700), tensor.Shape{300, 400}},
	} {
		init := must.Get(nn.ParseInit(c.name))(t)
		w := make([]float32, c.shape.TotalSize())
		init(rng.New(1, "w"), c.shape, w)
		var mean, square, greatest float64
		for _, x := range w {
			mean += float64(x) / float64(len(w))
			square += float64(x) * float64(x) / float64(len(w))
			greatest = max(greatest, math.Abs(float64(x)))
		}
		if !(math.Abs(mean) <= 5*c.std/math.Sqrt(float64(len(w)))) {
			t.Errorf("%s: mean %v", c.name, mean)
		}
		if std := math.Sqrt(square); !(math.Abs(std/c.std-1) <= 0.02) {
			t.Errorf("%s: standard deviation %v, want %v", c.name, std, c.std)
		}
		if !(greatest <= c.greatest*1.0001) || c.name != "he-normal" && !(greatest >= 0.99*c.greatest) {
			t.Errorf("%s: greatest %v, want %v", c.name, greatest, c.greatest)
		}
	}
	for list, fan := range map[string]int{ // images of 5 channels
		"{dense: {units: 300, init: pytorch}}": 2 * 3 * 5, "{dense: {units: 300, init: burgess}}": 2 * 3 * 5, "{conv: {channels: 300, init: pytorch}}": 9 * 5,
		"{deconv: {channels: 300, init: pytorch}}": 4 * 5, "{deconv: {channels: 300, init: burgess, fan: in}}": 16 * 5, "{deconv: {channels: 300, init: pytorch, fan: out}}": 16 * 300,
	} {
		for i, x := range build(t, encoderOf(t, "["+list+"]"), tensor.Shape{2, 3, 5}).values {
			least, most := math.Sqrt(float64(fan))*float64(slices.Min(x)), math.Sqrt(float64(fan))*float64(slices.Max(x))
			if !(least >= -1.0001 && least <= -0.97 && most <= 1.0001 && most >= 0.97) {
				t.Errorf("%s: parameter %d from %v to %v times 1/sqrt(fan); want -1 to 1", list, i, least, most)
			}
		}
	}
	w := []float32{1, 2}
	nn.Zeros(nil, nil, w)
	if w[0] != 0 || w[1] != 0 {
		t.Errorf("zeros are %v", w)
	}
	nn.Uniform(0.25)(rng.New(1, "u"), tensor.Shape{2}, w)
	if w[0] == 0 || !(math.Abs(float64(w[0])) <= 0.25) || w[0] == w[1] {
		t.Errorf("uniform numbers %v", w)
	}
	must.ErrorOf(nn.ParseInit("glorott"))(t, `did you mean "glorot"`)
}

func TestGraph(t *testing.T) {
	p := nn.NewParams(1)
	g, h := nn.NewGraph(p), nn.NewGraph(p)
	x := must.Get(g.Input("x", 2, 3))(t)
	y := must.Get(nn.Dense(g, x, "layer", 4, graph.ReLU))(t)
	again := must.Get(nn.Dense(g, x, "layer", 4, graph.ReLU))(t)
	if y != again {
		t.Error("a layer used twice on one input is two nodes")
	}
	must.Equal(t, y.Name(), "layer", "the node of a layer is called")
	other := must.Get(nn.Dense(h, must.Get(h.Input("x", 5, 3))(t), "layer", 4, graph.ReLU))(t)
	if !other.Shape().Eq(tensor.Shape{5, 4}) {
		t.Errorf("shape %v", other.Shape())
	}
	names, nodes := g.Learnables()
	_, others := h.Learnables()
	if !slices.Equal(names, []string{"layer/weight", "layer/bias"}) || len(nodes) != 2 {
		t.Fatalf("learnables %v", names)
	}
	for i := range nodes {
		if nodes[i].Value() != others[i].Value() || nodes[i] == others[i] {
			t.Error("two graphs do not share the parameter's tensor")
		}
	}
	nn.Data(x)[5] = 7
	if v := x.Value().(*tensor.Dense).Float32s(); v[5] != 7 || nn.Data(y) != nil {
		t.Error("Data is not the elements of an input")
	}
	for want, err := range map[string]error{
		`"x"`:            second(g.Input("x", 2, 3)),
		"positive sizes": second(g.Input("z", 0)),
		`want one size`:  second(g.Input("w")),
		`layer "other"`:  second(nn.Dense(g, must.Get(g.Input("image", 1, 2, 2, 1))(t), "other", 2, graph.ReLU)),
		`"layer/weight" has shape (3, 4); want (9, 4)`: second(nn.Dense(g, must.Get(g.Input("wide", 2, 9))(t), "layer", 4, graph.ReLU)),
		"[batch, height":                second(nn.Conv(g, x, "conv", nn.ConvOptions{Out: 2, Kernel: 4})),
		"input is nothing; want images": second(nn.ConvTranspose(g, nil, "conv", nn.ConvOptions{Out: 2, Kernel: 4})),
		"has an input":                  second(g.Param("x", tensor.Shape{2, 3}, nn.Zeros)),
	} {
		must.Error(t, err, want)
	}
}

func second(_ *gorgonia.Node, err error) error { return err }

func TestNetworks(t *testing.T) {
	small := nn.NewConvEncoder()
	small.SmallKernels = true
	mlp := &nn.MLP{Hidden: []int{20, 7}, Activation: "tanh", Init: "he-normal"}
	for _, c := range []struct {
		name    string
		encoder nn.Encoder
		decoder nn.Decoder
		image   tensor.Shape
		width   int // width of the features
		params  int
	}{
		// Parameter counts by hand: convolutions 4*4*c*32+32, 4*4*32*32+32, 4*4*32*64+64, 4*4*64*64+64, dense layer
		// 1024*256+256. Decoder: 3*256+256, 256*1024+1024, and the mirrored convolutions.
		{"conv64", nn.NewConvEncoder(), nn.NewConvDecoder(), tensor.Shape{64, 64, 1}, 256,
			544 + 16416 + 32832 + 65600 + 262400 + 1024 + 263168 + 65600 + 32800 + 16416 + 513},
		{"conv64 in colour, not square", nn.NewConvEncoder(), nn.NewConvDecoder(), tensor.Shape{32, 16, 3}, 256,
			1568 + 16416 + 32832 + 65600 + 128*256 + 256 + 1024 + 256*128 + 128 + 65600 + 32800 + 16416 + 16*32*3 + 3},
		{"small kernels", small, nn.NewConvDecoder(), tensor.Shape{64, 64, 1}, 256,
			544 + 16416 + 8256 + 16448 + 262400 + 1024 + 263168 + 65600 + 32800 + 16416 + 513},
		{"locatello", entry(t, nn.Encoders, "locatello"), entry(t, nn.Decoders, "locatello"), tensor.Shape{64, 64, 1}, 256,
			544 + 16416 + 8256 + 16448 + 262400 + 1024 + 263168 + 65600 + 32800 + 16416 + 513},
		// Each norm has gamma, beta and running moments: four numbers per unit.
		{"dense-norm", entry(t, nn.Encoders, "dense-norm"), entry(t, nn.Decoders, "dense-norm"), tensor.Shape{64, 64, 1}, 256,
			4096*512 + 512 + 4*512 + 512*256 + 256 + 4*256 + 3*256 + 256 + 4*256 + 256*512 + 512 + 4*512 + 512*4096 + 4096},
		{"burgess", nn.NewBurgess(), nn.NewBurgess(), tensor.Shape{64, 64, 1}, 256,
			544 + 3*16416 + 512*256 + 256 + 256*256 + 256 + 1024 + 256*512 + 512 + 3*16416 + 513},
		// Convolutions of side 3, and as a decoder the same in reverse.
		{"small-conv", nn.NewSmallConv(), nn.NewSmallConv(), tensor.Shape{32, 32, 3}, 256, 263683},
		// Blocks have two convolutions of side 3 without bias, each with gamma and beta, and a projection if shapes
		// change.
		{"resnet-ae", nn.NewResNetAE(), nn.NewResNetAE(), tensor.Shape{32, 32, 3}, 256, 876003},
		{"mlp", mlp, mlp, tensor.Shape{5, 6, 2}, 7, 60*20 + 20 + 20*7 + 7 + 3*20 + 20 + 20*7 + 7 + 7*60 + 60},
	} {
		g := nn.NewGraph(nn.NewParams(1))
		x := must.Get(g.Input("images", append([]int{2}, c.image...)...))(t)
		z := must.Get(g.Input("codes", 2, 3))(t)
		h := must.Get(c.encoder.Encode(g, x, "encoder"))(t)
		logits := must.Get(c.decoder.Decode(g, z, "decoder", c.image))(t)
		if !h.Shape().Eq(tensor.Shape{2, c.width}) || !logits.Shape().Eq(x.Shape()) {
			t.Errorf("%s: features %v, logits %v", c.name, h.Shape(), logits.Shape())
		}
		must.Equal(t, g.Params.Count(), c.params, c.name, "parameters")
		rng.New(1, "x").Normals(nn.Data(x))
		rng.New(1, "z").Normals(nn.Data(z))
		m := must.Get(machine.New(h.Graph(), h, logits))(t)
		must.OK(t, m.RunAll())
		negative := 0
		for _, v := range m.Value(logits).Data().([]float32) {
			if v < 0 {
				negative++
			}
		}
		if negative == 0 {
			t.Errorf("%s: no logit is negative", c.name)
		}
		for _, n := range g.Params.Names() {
			if !strings.HasPrefix(n, "encoder/") && !strings.HasPrefix(n, "decoder/") {
				t.Errorf("%s: parameter %q", c.name, n)
			}
		}
	}
}

func TestNetworkErrors(t *testing.T) {
	g := nn.NewGraph(nn.NewParams(1))
	odd, row, codes := must.Get(g.Input("odd", 2, 28, 28, 1))(t), must.Get(g.Input("row", 2))(t), must.Get(g.Input("codes", 2, 3))(t)
	for want, err := range map[string]error{
		"images of shape (28, 28, 1); want [height, width, channels] with sides that 16 divides, or small-conv, which takes any": second(nn.NewConvEncoder().Encode(g, odd, "e")),
		"images of shape (28, 32, 1); want":                          second(nn.NewConvDecoder().Decode(g, codes, "d", tensor.Shape{28, 32, 1})),
		"images of shape (64, 64); want":                             second(nn.NewConvDecoder().Decode(g, codes, "d", tensor.Shape{64, 64})),
		"of shape (2); want images [batch, height, width, channels]": second(nn.NewConvEncoder().Encode(g, row, "e")),
		"input is of shape (2); want images [batch":                  second(nn.NewMLP().Encode(g, row, "e")),
		"of shape (2, 28, 28, 1); want rows [batch, columns]":        second(nn.NewMLP().Decode(g, odd, "d", tensor.Shape{2, 2, 1})),
		"shape (32768, 1, 32769); want at most 1073741824 elements":  second(nn.NewMLP().Decode(g, codes, "d", tensor.Shape{1 << 15, 1, 1<<15 + 1})),
		"positive sizes":      second(nn.NewMLP().Decode(g, codes, "d", tensor.Shape{0, 2, 1})),
		"unknown activation":  second((&nn.MLP{Hidden: []int{2}, Init: "glorot"}).Encode(g, odd, "e")),
		"unknown initialiser": second((&nn.ConvEncoder{Features: 2, Activation: "relu"}).Encode(g, must.Get(g.Input("even", 2, 16, 16, 1))(t), "e")),
	} {
		must.Error(t, err, want)
	}
}

func TestConfig(t *testing.T) {
	type settings struct {
		Encoder nn.EncoderChoice `yaml:"encoder"`
		Decoder nn.DecoderChoice `yaml:"decoder"`
	}
	decoder := must.Get(nn.NamedDecoder("conv64"))(t)
	load := func(source string) (settings, error) {
		s := settings{nn.DefaultEncoder(), decoder}
		return s, config.Load("m.yaml", []byte(source), &s)
	}
	s := must.Get(load("encoder: {mlp: {hidden: [256, 128], activation: softplus}}\ndecoder: conv64\n"))(t)
	if m, ok := s.Encoder.Value.(*nn.MLP); !ok || !slices.Equal(m.Hidden, []int{256, 128}) || m.Activation != "softplus" ||
		m.Init != "glorot" {
		t.Errorf("encoder %+v", s.Encoder.Value)
	}
	if d, ok := s.Decoder.Value.(*nn.ConvDecoder); !ok || d.Features != 256 {
		t.Errorf("decoder %+v", s.Decoder.Value)
	}
	layers := must.Get(load("encoder: {layers: {list: [{dense: 3}], init: glorot}}"))(t)
	must.Equal(t, must.Get(load(string(must.Get(config.Encode(layers))(t))))(t).Encoder.Value.(*nn.Layers).Init, "glorot",
		"the init of a list")
	text := must.Get(config.Encode(s))(t)
	if again, err := load(string(text)); err != nil || again.Encoder.Value.(*nn.MLP).Activation != "softplus" {
		t.Errorf("%s: %v", text, err)
	}
	must.Equal(t, must.Get(load(""))(t).Encoder.Name, "conv64", "default encoder")
	for source, want := range map[string]string{
		"encoder: conv46":                             `did you mean "conv64"?`,
		"encoder: {mlp: {hidden: []}}":                "encoder.mlp.hidden",
		"encoder: {mlp: {hidden: [3, 0]}}":            "encoder.mlp.hidden.1",
		"encoder: {mlp: {activation: rely}}":          "unknown activation",
		"encoder: {mlp: {init: he}}":                  "unknown initialiser",
		"encoder: {burgess: {activation: sin}}":       "encoder.burgess.activation: unknown activation",
		"encoder: {conv64: {features: 0}}":            "encoder.conv64.features: want 1 to 1048576, got 0",
		"decoder: {conv64: {features: -1}}":           "decoder.conv64.features: want 1 to 1048576, got -1",
		"decoder: {conv64: {small_kernels: true}}":    `unknown key "small_kernels"`,
		"decoder: {conv64: {features: 2, init: nul}}": "unknown initialiser",
	} {
		must.ErrorOf(load(source))(t, want, source)
	}
}

// entry returns an entry of a registry with its default settings.
func entry[T any](t *testing.T, r *registry.Registry[T], name string) T {
	t.Helper()
	e := must.Get(r.Lookup(name))(t)
	return e.New()
}
