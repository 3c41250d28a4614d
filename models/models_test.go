package models

import (
	"math"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph/machine"
	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/models/latent"
)

func small(hidden ...int) Networks {
	m := nn.NewMLP()
	m.Hidden = hidden
	return Networks{Encoder: nn.EncoderChoice{Name: "mlp", Value: m}}
}

var (
	row    = factor.Factor{Name: "row", Size: 8, Kind: factor.Circular}
	column = factor.Factor{Name: "column", Size: 8, Kind: factor.Circular}
	object = factor.Factor{Name: "object", Size: 3, Kind: factor.Categorical}
)

func data(factors ...factor.Factor) Data {
	return Data{Height: 8, Width: 8, Channels: 1, Factors: factors}
}

// newModel makes a model, and fails the test if there is an error.
func newModel(t testing.TB, s Settings, d Data, seed uint64) Model {
	t.Helper()
	return must.Get(s.New(d, seed))(t)
}

// built builds a program in a graph of the model's parameters.
func built(t testing.TB, g *nn.Graph, m Model, o Objective, n, group int) *Program {
	t.Helper()
	return must.Get(m.Build(g, o, n, group))(t)
}

// values runs nodes of one graph and copies their values.
func values(t *testing.T, nodes ...*gorgonia.Node) [][]float32 {
	t.Helper()
	m := must.Get(machine.New(nodes[0].Graph(), nodes...))(t)
	must.OK(t, m.RunAll())
	var all [][]float32
	for _, n := range nodes {
		switch v := m.Value(n).(type) {
		case *tensor.Dense:
			all = append(all, append([]float32{}, v.Float32s()...))
		case *gorgonia.F32:
			all = append(all, []float32{float32(*v)})
		default:
			t.Fatalf("value of type %T", v)
		}
	}
	return all
}

func TestEveryModel(t *testing.T) {
	vae := &VAE{Networks: small(16), Latent: 3}
	torus := latent.Of(latent.NewSphere(), latent.NewSphere())
	for _, c := range []struct {
		name       string
		settings   Settings
		objectives string
		width      int
		parameters int
	}{
		// 64 pixels to 16 to the heads; codes to 16 to 64 pixels; biases
		{"vae", vae, "unsupervised", 3, 64*16 + 16 + 2*(16*3+3) + 3*16 + 16 + 16*64 + 64},
		{"delta-vae", &DeltaVAE{Networks: small(16), Latent: torus}, "unsupervised", 4, 64*16 + 16 + 2*(16*2+2+16+1) + 4*16 + 16 + 16*64 + 64},
		{"lsbd-vae", &LSBDVAE{Networks: small(16), Latent: torus}, "supervised unsupervised", 4, 64*16 + 16 + 2*(16*2+2+16+1) + 4*16 + 16 + 16*64 + 64},
		{"ae", &AE{Networks: small(16), Latent: 3}, "unsupervised", 3, 64*16 + 16 + 16*3 + 3 + 3*16 + 16 + 16*64 + 64},
		{"encoder", &Encoder{Encoder: small(16).Encoder, Latent: 3}, "unsupervised", 3, 64*16 + 16 + 16*3 + 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newModel(t, c.settings, data(row, column), 1)
			must.Equal(t, m.Params().Count(), c.parameters, "parameters")
			var names []string
			for _, o := range m.Objectives() {
				names = append(names, o.Name)
				checkObjective(t, m, o, c.width)
			}
			must.Equal(t, strings.Join(names, " "), c.objectives, "objectives")
			before := m.Params().Count()
			must.Equal(t, before, c.parameters, "building an objective added parameters")
		})
	}
}

// checkObjective builds an objective and checks the shapes of its outputs for losses.
func checkObjective(t *testing.T, m Model, o Objective, width int) {
	t.Helper()
	group := 1
	if o.Labelled {
		group = 2
	}
	g := nn.NewGraph(m.Params())
	p := built(t, g, m, o, 4, group)
	want := tensor.Shape{4, 8, 8, 1}
	_, decodes := m.(Decoder)
	if !p.Outputs.Images.Shape().Eq(want) || decodes != (p.Outputs.Logits != nil) || decodes && !p.Outputs.Logits.Shape().Eq(want) {
		t.Errorf("%s: images %v and logits %v, want %v", o.Name, p.Outputs.Images, p.Outputs.Logits, want)
	}
	checkCodes(t, m, p)
	must.Equal(t, p.Outputs.Rows, 4, o.Name, "rows of codes")
	if (len(p.Transformations) > 0) != o.Labelled || (len(p.Outputs.Transports) > 0) != o.Labelled {
		t.Errorf("%s: %d moves, %d transports", o.Name, len(p.Transformations), len(p.Outputs.Transports))
	}
	total := 0
	for _, s := range m.Spaces() {
		must.Equal(t, s.First, total, "space", s.Name, "begins at column")
		total += s.Width
	}
	must.Equal(t, total, width, "codes have", "columns")
}

// checkCodes compares the codes for losses with the codes for metrics, and with the samples. Samples differ from
// codes by the noise, if the model has noise.
func checkCodes(t *testing.T, m Model, p *Program) {
	t.Helper()
	g := nn.NewGraph(m.Params())
	images := must.Get(g.Input("images", p.Outputs.Images.Shape()...))(t)
	codes := must.Get(m.Encode(g, images))(t)
	stream := rng.New(1, "test")
	stream.Normals(nn.Data(images))
	copy(nn.Data(p.Outputs.Images), nn.Data(images))
	for _, n := range p.Noise {
		stream.Normals(nn.Data(n))
	}
	want, v := values(t, codes)[0], values(t, p.Outputs.Codes, p.Outputs.Sample)
	must.EqualSlices(t, v[0], want, "losses see the codes", "metrics")
	if len(v[1]) != len(v[0]) || slices.Equal(v[1], v[0]) != (len(p.Noise) == 0) {
		t.Errorf("samples %v of the codes %v, with %d inputs of noise", v[1], v[0], len(p.Noise))
	}
}

// TestEncodeIsDeterministic checks that codes are locations: noise does not change them, and circles have norm 1.
func TestEncodeIsDeterministic(t *testing.T) {
	m := newModel(t, &DeltaVAE{Networks: small(16), Latent: latent.Of(latent.NewSphere(), latent.NewEuclidean())}, data(), 3)
	var codes [2][]float32
	for i := range codes {
		g := nn.NewGraph(m.Params())
		images := must.Get(g.Input("images", 5, 8, 8, 1))(t)
		rng.New(1, "images").Normals(nn.Data(images))
		z := must.Get(m.Encode(g, images))(t)
		codes[i] = values(t, z)[0]
	}
	width := len(codes[0]) / 5
	for i, v := range codes[0] {
		if v != codes[1][i] {
			t.Fatalf("element %d of the codes is %v, then %v", i, v, codes[1][i])
		}
	}
	for r := range 5 {
		x, y := float64(codes[0][r*width]), float64(codes[0][r*width+1])
		if !(math.Abs(x*x+y*y-1) <= 1e-5) {
			t.Errorf("row %d: the circle's point (%v, %v) has norm %v", r, x, y, math.Hypot(x, y))
		}
	}
}

func TestNetworksThatDoNotFit(t *testing.T) {
	s := NewVAE()
	d := data()
	d.Height = 20
	must.ErrorOf(s.New(d, 1))(t, "small-conv")
}

// TestVAESample checks that a VAE decodes mean + e^(log variance/2) noise.
func TestVAESample(t *testing.T) {
	m := newModel(t, &VAE{Networks: small(16), Latent: 3}, data(), 5)
	g := nn.NewGraph(m.Params())
	p := built(t, g, m, m.Objectives()[0], 4, 1)
	rng.New(1, "images").Normals(nn.Data(p.Outputs.Images))
	noise := nn.Data(p.Noise[0])
	rng.New(1, "noise").Normals(noise)
	codes := must.Get(g.Input("codes", 4, 3))(t)
	decoded := must.Get(m.(Decoder).Decode(g, codes))(t)
	q := p.Outputs.Posteriors[0].(gaussian)
	v := values(t, q.mean, q.logVariance)
	for i := range noise {
		nn.Data(codes)[i] = v[0][i] + float32(math.Exp(float64(v[1][i])/2))*noise[i]
	}
	v = values(t, p.Outputs.Logits, decoded)
	for i, x := range v[0] {
		if !(math.Abs(float64(x-v[1][i])) <= 1e-5) {
			t.Fatalf("logit %d is %v, want %v", i, x, v[1][i])
		}
	}
}

// TestMirrorImage checks the decoder of a model that names none.
func TestMirrorImage(t *testing.T) {
	m := newModel(t, &VAE{Networks: small(16, 8), Latent: 3}, data(), 1)
	for name, want := range map[string]tensor.Shape{"encoder/dense1/weight": {64, 16}, "encoder/dense2/weight": {16, 8},
		"decoder/dense1/weight": {3, 8}, "decoder/dense2/weight": {8, 16}} {
		if p := m.Params().Get(name); p == nil || !p.Shape().Eq(want) {
			t.Errorf("%s: %v, want shape %v; the parameters are %v", name, p, want, m.Params().Names())
		}
	}
}
