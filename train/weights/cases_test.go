package weights_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets/augment"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/datasets/factor/rotation"
	"github.com/unravel-ml/unravel/datasets/supervision"
	"github.com/unravel-ml/unravel/graph/machine"
	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/kernel"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/models"
	"github.com/unravel-ml/unravel/models/hierarchy"
	"github.com/unravel-ml/unravel/train/weights"
)

// testCase is a model with parameters as after training.
type testCase struct {
	name   string
	source weights.Source
}

// settings are for models that are large by default or require settings.
var settings = map[string]string{
	"encoder": "latent: 5", "ae": "latent: 5", "vae": "latent: 5", "cofhae": "hierarchy: truth",
	"delta-vae": "latent: [{sphere: {dim: 1}}, {euclidean: {dim: 3}}, {sphere: {dim: 2}}]",
	"lsbd-vae":  "latent: [{sphere: {dim: 1}}, {sphere: {dim: 2, axis: [0, 0, 1]}}, euclidean], factors: [a, b]",
	"byol":      "hidden: 16, projected: 8, predictor: 16", "simsiam": "hidden: 16, projected: 8, predictor: 16",
	"quessard": "dim: 4", "gvae": "latent: 5", "ml-vae": "latent: 5", "ada-gvae": "latent: 5", "ada-ml-vae": "latent: 5", "slow-vae": "latent: 5", "ice-beem": "width: 5",
	"joint-vae": "latent: 5, categorical: [3, 2]", "cascade-vae": "latent: 5",
	"barlow-twins": "hidden: 16", "moco": "width: 8, queue: 16", "moco-v2": "width: 8, queue: 16",
}

// encoderSettings are for small networks.
var encoderSettings = map[string]string{"conv64": "features: 24", "conv64-norm": "features: 24",
	"locatello": "features: 24", "mlp": "hidden: [24, 16]", "dense-norm": "hidden: [24, 16]",
	"small-conv": "width: 4, features: 24", "resnet18": "width: 4", "resnet-ae": "width: 8, features: 24"}

// withDecoder lists the models with a decoder.
var withDecoder = []string{"ae", "vae", "delta-vae", "lsbd-vae", "quessard", "forward-vae", "gvae", "ml-vae",
	"ada-gvae", "ada-ml-vae", "slow-vae", "joint-vae", "cascade-vae", "cofhae"}

// setting describes a case.
type setting struct {
	model, more string
	h, w, c     int
	normalised  bool // normalised images
}

func (s setting) String() string {
	name := fmt.Sprintf("%s of %dx%dx%d images, %s", s.model, s.h, s.w, s.c, s.more)
	if s.normalised {
		name += " of normalised images"
	}
	return name
}

// pairs returns all pairs of two lists. Without -long it returns only some pairs, but every member of either list
// occurs in a pair.
func pairs(a, b []string) (list [][2]string) {
	for i, x := range a {
		for j, y := range b {
			if long.Enabled() || i%len(b) == j || j%len(a) == i {
				list = append(list, [2]string{x, y})
			}
		}
	}
	return list
}

// cases lists all models with all encoders, all decoders, and all networks with all activations, normalisations and
// some shapes. By default there are fewer, but every model, encoder and decoder occurs.
func cases() (list []setting) {
	add := func(model, more string, h, w, c int) {
		list = append(list, setting{model: model, more: more, h: h, w: w, c: c})
	}
	add("lsbd-vae", "latent: [{sphere: {dim: 2}}, {sphere: {dim: 1}}, {sphere: {dim: 2}}], factors: [a, pose, pose], orthogonal: true, encoder: {mlp: {hidden: [24, 16]}}", 16, 16, 3)
	add("delta-vae", "latent: [{categorical: {options: 3}}, {sphere: {dim: 1}}], encoder: {mlp: {hidden: [24, 16]}}", 16, 16, 3)
	for _, p := range pairs(models.Registry.Names(), nn.Encoders.Names()) {
		model, encoder := p[0], p[1]
		more := fmt.Sprintf("encoder: {%s: {%s}}", encoder, encoderSettings[encoder])
		if slices.Contains(withDecoder, model) && !slices.Contains(nn.Decoders.Names(), encoder) {
			more += ", decoder: {mlp: {hidden: [24, 16]}}" // the encoder has no mirror image
		}
		add(model, more, 16, 16, 3)
	}
	for _, p := range pairs(nn.Decoders.Names(), withDecoder) {
		decoder, model := p[0], p[1]
		add(model, fmt.Sprintf("encoder: {mlp: {hidden: [24, 16]}}, decoder: {%s: {%s}}", decoder, encoderSettings[decoder]), 32, 32, 1)
	}
	for _, a := range kernel.ActivationNames() {
		add("encoder", fmt.Sprintf("encoder: {conv64: {features: 24, activation: %s}}", a), 32, 32, 3)
		add("encoder", fmt.Sprintf("encoder: {burgess: {activation: %s}}", a), 16, 16, 3)
		add("ae", fmt.Sprintf("encoder: {mlp: {hidden: [24], activation: %s}}", a), 5, 7, 2)
	}
	for i, norm := range []string{nn.NoNorm, nn.BatchNorm, nn.GroupNorm, nn.LayerNorm, nn.InstanceNorm} {
		for j, a := range kernel.ActivationNames() {
			if (i+j)%5 == 0 {
				add([]string{"vae", "byol", "lsbd-vae", "moco"}[j%4], layered(norm, a, j%4%2 == 0), 11, 14, 3)
			}
		}
	}
	add("byol", "encoder: {layers: [{conv: {channels: 4, stride: 2}}, {pool: {to: 1}}]}", 9, 9, 2)
	add("ae", "encoder: {conv64: {small_kernels: true}}", 48, 48, 1)
	for _, norm := range []string{nn.NoNorm, nn.BatchNorm, nn.GroupNorm, nn.LayerNorm, nn.InstanceNorm, nn.InstancePixelNorm} {
		for _, final := range []bool{false, true} {
			if final && (norm == nn.InstanceNorm || norm == nn.InstancePixelNorm) {
				continue
			}
			add("encoder", fmt.Sprintf("encoder: {conv64-norm: {features: 24, norm: %s, final_norm: %v}}", norm, final), 64, 64, 3)
		}
	}
	return append(list, setting{"simsiam", "encoder: {conv64-norm: {features: 24, norm: batch}}", 16, 16, 3, true})
}

// layered returns networks with a layer of every kind.
func layered(norm, activation string, decoder bool) string {
	list := "encoder: {layers: [{conv: {channels: 8, stride: 2}}, {norm: {kind: NORM, groups: 2}}, {activation: ACTIVATION}, " +
		"{residual: {channels: 8, norm: NORM, groups: 2, activation: ACTIVATION}}, {residual: {channels: 8, stride: 2, norm: NORM, groups: 2}}, {pool: max}, flatten, {activation: ACTIVATION}, {dropout: 0.2}, " +
		"{dense: {units: 6, activation: ACTIVATION}}, {norm: {kind: NORM, groups: 2}}]}"
	if decoder {
		list += ", decoder: {layers: [{dense: 8}, {activation: ACTIVATION}, {image: 16}, {activation: ACTIVATION}, {norm: {kind: NORM, groups: 2}}, " +
			"{upsample: {times: 2, kind: bilinear}}, {conv: {channels: 16, activation: ACTIVATION}}, {shuffle: 2}, {norm: {kind: NORM, groups: 2}}, {conv: image}]}"
	}
	return strings.NewReplacer("NORM", norm, "ACTIVATION", activation).Replace(list)
}

// registered lists the names of all exportable parts.
func registered() []string {
	return slices.Concat(models.Registry.Names(), nn.Encoders.Names(), nn.Decoders.Names())
}

func newCase(t *testing.T, model, more string, h, w, c int) testCase {
	t.Helper()
	return setting{model: model, more: more, h: h, w: w, c: c}.build(t)
}

// build makes the model of a case.
func (s setting) build(t *testing.T) testCase {
	t.Helper()
	var read struct {
		Model models.Choice `yaml:"model"`
	}
	both := strings.TrimPrefix(settings[s.model]+", "+s.more, ", ")
	if strings.HasPrefix(s.more, "latent:") {
		both = s.more
	}
	must.OK(t, config.Load(s.String(), fmt.Appendf(nil, "model: {%s: {%s}}", s.model, both), &read))
	data := models.Data{Height: s.h, Width: s.w, Channels: s.c, Hierarchy: tree, Rotations: 1,
		Actions: []supervision.Action{{Name: "a+1", Step: 1}, {Name: "a-1", Step: -1}},
		Factors: []factor.Factor{{Name: "a", Size: 4, Kind: factor.Circular}, {Name: "b", Size: 4, Kind: factor.Circular},
			{Name: "pose", Size: 24, Kind: factor.Categorical, Rotations: rotation.Octahedral()}}}
	m, err := read.Model.Value.New(data, 1)
	if err != nil {
		t.Fatalf("%s: %v", s, err)
	}
	disturb(m.Params())
	source := weights.Source{Model: m, Data: data, Version: "test"}
	if s.normalised {
		source.Views = &augment.Views{}
		source.Views.SetDefaults()
		source.Views.Pipeline = augment.Pipeline{{Name: "normalise", Value: augment.NewNormalise()}}
	}
	return testCase{s.String(), source}
}

// tree has nested options, and a dimension outside options.
var tree = hierarchy.Hierarchy{
	{}, {Options: []hierarchy.Hierarchy{{{Options: []hierarchy.Hierarchy{{{}}, {}}}}, {{Options: []hierarchy.Hierarchy{{}, {{}, {}}}}}, {}}},
}

// disturb gives all initial parameters an effect: biases and offsets are not 0, factors not 1, and moments come from
// some batches.
func disturb(p *nn.Params) {
	for _, name := range p.Names() {
		values := p.Get(name).Float32s()
		noise := make([]float32, len(values))
		rng.New(7, name).Normals(noise)
		for i, z := range noise {
			switch path.Base(name) {
			case "bias", "beta":
				values[i] += 0.1 * z
			case "gamma":
				values[i] = 1 + 0.2*z
			case "categories": // a state of cascade-vae
				values[i] = 1
			case "running":
				if values[i] = 0.2 * z; i >= len(values)/2 {
					values[i] = float32(math.Exp(0.3 * float64(z)))
				}
			}
		}
	}
}

// images returns n images: on black, one rectangle of a different colour each, with noise of a tenth.
func (c *testCase) images(n int) []float32 {
	h, w, channels := c.source.Data.Height, c.source.Data.Width, c.source.Data.Channels
	list := make([]float32, 0, n*h*w*channels)
	r := rng.New(3, "images")
	for range n {
		top, left := r.IntN(h/2+1), r.IntN(w/2+1)
		colour := make([]float64, channels)
		for k := range colour {
			colour[k] = 0.9 * r.Float64()
		}
		for y := range h {
			for x := range w {
				for _, v := range colour {
					if y < top || y > top+h/2 || x < left || x > left+w/2 {
						v = 0
					}
					list = append(list, float32(v+0.1*r.Float64()))
				}
			}
		}
	}
	return list
}

func (c *testCase) width() (n int) {
	for _, s := range c.source.Model.Spaces() {
		n += s.Width
	}
	return n
}

// encode returns the codes of images from graph/machine.
func (c *testCase) encode(t *testing.T, n int) []float32 {
	t.Helper()
	d := c.source.Data
	g := nn.NewGraph(c.source.Model.Params())
	in := must.Get(g.Input("images", n, d.Height, d.Width, d.Channels))(t)
	out := must.Get(c.source.Model.Encode(g, in))(t)
	images := c.images(n)
	if c.source.Views != nil {
		c.source.Views.Plain(images, d.Height, d.Width, d.Channels)
	}
	return run(t, in, out, images)
}

// decode returns the images of codes from graph/machine.
func (c *testCase) decode(t *testing.T, codes []float32, n int) []float32 {
	t.Helper()
	g := nn.NewGraph(c.source.Model.Params())
	in := must.Get(g.Input("codes", n, len(codes)/n))(t)
	out := must.Get(c.source.Model.(models.Decoder).Decode(g, in))(t)
	images := run(t, in, out, codes)
	kernel.Sigmoid(images, images)
	return images
}

func run(t *testing.T, in, out *gorgonia.Node, values []float32) []float32 {
	t.Helper()
	m := must.Get(machine.New(out.Graph(), out))(t)
	copy(nn.Data(in), values)
	must.OK(t, m.RunAll())
	return slices.Clone(m.Value(out).Data().([]float32))
}

// channelsFirst converts images [n, H, W, C] to [n, C, H, W].
func channelsFirst(images []float32, shape []int) (first []float32, to []int) {
	n, h, w, c := shape[0], shape[1], shape[2], shape[3]
	for i := range n {
		for k := range c {
			for at := range h * w {
				first = append(first, images[(i*h*w+at)*c+k])
			}
		}
	}
	return first, []int{n, c, h, w}
}

func bytesOf(values []float32) []byte {
	raw := make([]byte, 0, 4*len(values))
	for _, v := range values {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(v))
	}
	return raw
}

func floatsOf(raw []byte) (values []float32) {
	for ; len(raw) >= 4; raw = raw[4:] {
		values = append(values, math.Float32frombits(binary.LittleEndian.Uint32(raw)))
	}
	return values
}
