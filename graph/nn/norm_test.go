package nn_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph/machine"
	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/must"
)

// runOf runs nodes.
func runOf(t *testing.T, nodes ...*gorgonia.Node) *machine.Machine {
	t.Helper()
	m := must.Get(machine.New(nodes[0].Graph(), nodes...))(t)
	must.OK(t, m.RunAll())
	return m
}

func values(m *machine.Machine, n *gorgonia.Node) []float32 { return m.Value(n).Data().([]float32) }

// moments returns the mean and variance of the chosen elements.
func moments(x []float32, choose func(i int) bool) (mean, variance float64) {
	n := 0.0
	for i, v := range x {
		if choose(i) {
			n++
			mean += float64(v)
		}
	}
	mean /= n
	for i, v := range x {
		if choose(i) {
			variance += (float64(v) - mean) * (float64(v) - mean) / n
		}
	}
	return mean, variance
}

// Each kind of normalisation gives mean 0 and variance 1 to its groups in images [6, 3, 2, 8].
func TestNormKinds(t *testing.T) {
	for kind, set := range map[string]func(i int) int{
		nn.BatchNorm:    func(i int) int { return i % 8 },
		nn.GroupNorm:    func(i int) int { return i/48*4 + i%8/2 },
		nn.LayerNorm:    func(i int) int { return i / 48 },
		nn.InstanceNorm: func(i int) int { return i/48*8 + i%8 },

		nn.InstancePixelNorm: func(i int) int { return i/48*8 + i%8 },
	} {
		p := nn.NewParams(1)
		g := nn.NewGraph(p)
		g.Training = true
		x := must.Get(g.Input("x", 6, 3, 2, 8))(t)
		rng.New(1, "x").Normals(nn.Data(x))
		y := must.Get(nn.Norm(g, x, "n", nn.NormOptions{Kind: kind, Groups: 4}))(t)
		out := values(runOf(t, y), y)
		for s := range 3 {
			mean, variance := moments(out, func(i int) bool { return set(i) == s })
			if !(math.Abs(mean) <= 1e-5) || !(math.Abs(variance-1) <= 1e-2) {
				t.Errorf("%s: set %d has mean %v, variance %v", kind, s, mean, variance)
			}
		}
		want := []string{"n/gamma", "n/beta"}
		if kind == nn.BatchNorm {
			want = append(want, "n/running")
		}
		if moments := p.Count() - p.Trainable(); kind == nn.BatchNorm && moments != 2*p.Get("n/gamma").DataSize() ||
			kind != nn.BatchNorm && moments != 0 {
			t.Errorf("%s: %d elements of states", kind, moments)
		}
		if !slices.Equal(p.Names(), want) || p.IsState("n/gamma") || kind == nn.BatchNorm && !p.IsState("n/running") {
			t.Errorf("%s: parameters %v", kind, p.Names())
		}
		if names, _ := g.Learnables(); !slices.Equal(names, want[:2]) {
			t.Errorf("%s: learnables %v", kind, names)
		}
	}
}

// Norm with kind none changes nothing. Instance norm does not change images of one pixel.
func TestNoNorm(t *testing.T) {
	g := nn.NewGraph(nn.NewParams(1))
	x := must.Get(g.Input("x", 6, 8))(t)
	for _, kind := range []string{nn.NoNorm, nn.InstanceNorm} {
		if y := must.Get(nn.Norm(g, x, "n", nn.NormOptions{Kind: kind}))(t); y != x {
			t.Errorf("%s: another node", kind)
		}
		y := must.Get(nn.Norm(g, x, "n", nn.NormOptions{Kind: kind, ReLU: true}))(t)
		nn.Data(x)[3], nn.Data(x)[4] = -2, 2
		if out := values(runOf(t, y), y); out[3] != 0 || out[4] != 2 {
			t.Errorf("%s: %v", kind, out)
		}
	}
	must.Equal(t, g.Params.Count(), 0, "parameters")
}

// The result of instance-pixel is beta for images of one pixel. An encoder whose last feature map is one pixel then
// gives all images the same code (Cao et al. 2022, table 5).
func TestInstancePixelNorm(t *testing.T) {
	p := nn.NewParams(1)
	g := nn.NewGraph(p)
	x := must.Get(g.Input("x", 5, 64, 64, 3))(t)
	rng.New(1, "x").Normals(nn.Data(x))
	e := nn.NewNormedEncoder()
	e.Features = 7
	for _, norm := range []string{nn.InstanceNorm, nn.InstancePixelNorm} {
		e.Norm = norm
		z := must.Get(e.Encode(g, x, norm))(t)
		codes := values(runOf(t, z), z)
		same := true
		for i, v := range codes {
			same = same && v == codes[i%7]
		}
		must.Equal(t, same, norm == nn.InstancePixelNorm, norm, "the codes are", codes)
	}
}

// Running moments follow the moments of each view in order, with the unbiased variance. Evaluation normalises by the
// running moments. Training normalises by the moments of the batch, view by view.
func TestRunning(t *testing.T) {
	p := nn.NewParams(1)
	build := func(training bool) (*nn.Graph, *gorgonia.Node, *gorgonia.Node) {
		g := nn.NewGraph(p)
		g.Training, g.Views = training, 2
		x := must.Get(g.Input("x", 4, 1))(t)
		copy(nn.Data(x), []float32{1, 3, 10, 20})
		return g, x, must.Get(nn.Norm(g, x, "n", nn.NormOptions{Kind: nn.BatchNorm}))(t)
	}
	g, _, y := build(true)
	r := g.Running()
	if len(r) != 1 {
		t.Fatalf("%d running moments", len(r))
	}
	m := runOf(t, y, r[0].Moments)
	if out := values(m, y); !(math.Abs(float64(out[0])+1) <= 1e-4) || !(math.Abs(float64(out[3])-1) <= 1e-4) {
		t.Errorf("training gives %v, want -1 1 -1 1", out)
	}
	running := p.Get("n/running").Float32s()
	if running[0] != 0 || running[1] != 1 {
		t.Errorf("a run changed the running moments: %v", running)
	}
	r[0].Follow(values(m, r[0].Moments))
	// Means 2 and 15, variances 2 and 50.
	mean, variance := 0.9*0.2+1.5, 0.9*(0.9+0.2)+5
	if !(math.Abs(float64(running[0])-mean) <= 1e-5) || !(math.Abs(float64(running[1])-variance) <= 1e-5) {
		t.Errorf("running moments %v, want %v, %v", running, mean, variance)
	}
	evaluation, _, y := build(false)
	must.Equal(t, len(evaluation.Running()), 0, "evaluation moves running moments")
	out := values(runOf(t, y), y)
	if want := (20 - mean) / math.Sqrt(variance+1e-5); !(math.Abs(float64(out[3])-want) <= 1e-5) {
		t.Errorf("evaluation gives %v, want %v", out[3], want)
	}
}

// A frozen batch norm normalises by its running moments, also in training, and so does its EMA target. The running
// moments do not change.
func TestFrozenNorm(t *testing.T) {
	for name, frozen := range map[string][]string{"factors and offsets": {"n/gamma", "n/beta"}, "running moments": {"n/running"}} {
		p := nn.NewParams(1)
		g := nn.NewGraph(p)
		g.Training, g.Views = true, 2
		g.Frozen = func(name string) bool { return slices.Contains(frozen, name) }
		x := must.Get(g.Input("x", 4, 1))(t)
		copy(nn.Data(x), []float32{1, 3, 10, 20})
		y := must.Get(nn.Norm(g, x, "n", nn.NormOptions{Kind: nn.BatchNorm}))(t)
		z := must.Get(nn.Norm(g.Targets("target/"), x, "target/n", nn.NormOptions{Kind: nn.BatchNorm}))(t)
		copy(p.Get("n/running").Float32s(), []float32{2, 4})
		m := runOf(t, y, z)
		for i, x := range []float64{1, 3, 10, 20} {
			if want := (x - 2) / math.Sqrt(4+1e-5); !(math.Abs(float64(values(m, y)[i])-want) <= 1e-5) || values(m, y)[i] != values(m, z)[i] {
				t.Errorf("frozen %s: element %d is %v, of the target %v; want %v", name, i, values(m, y)[i], values(m, z)[i], want)
			}
		}
		names, _ := g.Learnables()
		if want := 2 - len(frozen)/2*2; len(g.Running()) != 0 || len(names) != want {
			t.Errorf("frozen %s: learnables %v and %d running moments; want %d and none", name, names, len(g.Running()), want)
		}
		if p.Get("target/n/running") != nil {
			t.Errorf("frozen %s: the target has running moments of its own", name)
		}
	}
	p := nn.NewParams(1) // freezing only one of gamma and beta is not enough
	g := nn.NewGraph(p)
	g.Training, g.Frozen = true, func(name string) bool { return name == "n/gamma" }
	x := must.Get(g.Input("x", 4, 1))(t)
	must.Get(nn.Norm(g, x, "n", nn.NormOptions{Kind: nn.BatchNorm}))(t)
	if names, _ := g.Learnables(); len(g.Running()) != 1 || !slices.Equal(names, []string{"n/beta"}) {
		t.Errorf("frozen factors alone: learnables %v and %d running moments", names, len(g.Running()))
	}
}

// EMA targets have separate states, and no running moments in training.
func TestFollowing(t *testing.T) {
	p := nn.NewParams(1)
	g := nn.NewGraph(p)
	g.Training = true
	x := must.Get(g.Input("x", 4, 3))(t)
	f := g.Targets("")
	h := must.Get(nn.DenseFanIn(f, x, "target/d", 5, true))(t)
	must.Get(nn.Norm(f, h, "target/n", nn.NormOptions{Kind: nn.BatchNorm}))(t)
	must.Get(g.State("s", tensor.Shape{2}, nn.Zeros))(t)
	if names, _ := g.Learnables(); len(names) != 0 || len(g.Running()) != 0 {
		t.Errorf("learnables %v", names)
	}
	if !slices.Equal(p.Names(), []string{"target/d/weight", "target/d/bias", "target/n/gamma", "target/n/beta", "s"}) {
		t.Errorf("parameters %v", p.Names())
	}
	for _, name := range p.Names() {
		if !p.IsState(name) {
			t.Errorf("%s is no state", name)
		}
	}
}

// The parts of an input share its elements.
func TestParts(t *testing.T) {
	g := nn.NewGraph(nn.NewParams(1))
	x := must.Get(g.Input("x", 4, 3))(t)
	parts := must.Get(g.Parts(x, 2))(t)
	nn.Data(parts[1])[1] = 7
	if len(parts) != 2 || !parts[0].Shape().Eq(tensor.Shape{2, 3}) || nn.Data(x)[7] != 7 {
		t.Errorf("parts %v, the input is %v", parts, nn.Data(x))
	}
	must.ErrorOf(g.Parts(x, 3))(t, "rows have 3 equal parts")
	must.ErrorOf(g.Parts(x, 0))(t, "rows have 0 equal parts")
	must.ErrorOf(g.Parts(x, -1))(t, "rows have -1 equal parts")
	must.ErrorOf(g.Parts(x, 2))(t, "has another input with this name")
}

// The encoder of table 2: number of parameters, kinds of normalisation, last layer.
func TestNormedEncoder(t *testing.T) {
	convolutions := 4*4*3*32 + 32 + 4*4*32*32 + 32 + 4*4*32*64 + 64 + 4*4*64*64 + 64 + 4*4*64*128 + 128
	for _, c := range []struct {
		settings nn.NormedEncoder
		params   int
	}{
		{nn.NormedEncoder{Features: 1000, Norm: nn.NoNorm}, 0},
		{nn.NormedEncoder{Features: 1000, Norm: nn.GroupNorm, Groups: 4}, 2 * (32 + 32 + 64 + 64 + 128)},
		{nn.NormedEncoder{Features: 1000, Norm: nn.LayerNorm}, 2 * (32 + 32 + 64 + 64 + 128)},
		{nn.NormedEncoder{Features: 1000, Norm: nn.InstanceNorm}, 2 * (32 + 32 + 64 + 64)},
		{nn.NormedEncoder{Features: 1000, Norm: nn.BatchNorm, FinalNorm: true}, 4 * (32 + 32 + 64 + 64 + 128 + 1000)},
	} {
		c.settings.Init = "fan-in"
		g := nn.NewGraph(nn.NewParams(1))
		g.Training = true
		x := must.Get(g.Input("x", 3, 64, 64, 3))(t)
		rng.New(1, "x").Normals(nn.Data(x))
		y := must.Get(c.settings.Encode(g, x, "encoder"))(t)
		if !y.Shape().Eq(tensor.Shape{3, 1000}) {
			t.Errorf("%+v: shape %v", c.settings, y.Shape())
		}
		if n := g.Params.Count(); n != convolutions+128*1000+1000+c.params {
			t.Errorf("%+v: %d parameters, want %d", c.settings, n, convolutions+129000+c.params)
		}
		out := values(runOf(t, y), y)
		if slices.Equal(out[:1000], out[1000:2000]) {
			t.Errorf("%+v: two images have one code", c.settings)
		}
		bias := g.Params.Get("encoder/conv2/bias").Float32s()
		if limit := float64(slices.Max(bias)); limit == 0 || !(limit <= 1/math.Sqrt(4*4*32)*1.0001) {
			t.Errorf("%+v: biases up to %v", c.settings, limit)
		}
	}
}

func TestNormErrors(t *testing.T) {
	g := nn.NewGraph(nn.NewParams(1))
	x, row := must.Get(g.Input("x", 4, 6))(t), must.Get(g.Input("row", 4))(t)
	for want, err := range map[string]error{
		`layer "n": unknown normalisation "bach"; did you mean "batch"?`: second(nn.Norm(g, x, "n", nn.NormOptions{Kind: "bach"})),
		"want images [batch, height, width, channels] or rows":           second(nn.Norm(g, row, "n", nn.NormOptions{Kind: nn.BatchNorm})),
		"that divides 6 channels":                                        second(nn.Norm(g, x, "n", nn.NormOptions{Kind: nn.GroupNorm, Groups: 4})),
		"want rows [batch, columns]":                                     second(nn.DenseFanIn(g, row, "d", 2, true)),
		"the graph has another input with this name":                     func() error { g.Input("e/no bias", 2); return second(nn.DenseFanIn(g, x, "e", 2, false)) }(),
		"with sides that 16 divides":                                     second(nn.NewNormedEncoder().Encode(g, must.Get(g.Input("i", 1, 20, 16, 3))(t), "e")),
		"groups: want a number that":                                     (&nn.NormedEncoder{Features: 2, Norm: nn.GroupNorm, Groups: 3, Init: "fan-in"}).Validate(),
		"divides the 2 features":                                         (&nn.NormedEncoder{Features: 2, Norm: nn.GroupNorm, Groups: 4, FinalNorm: true, Init: "fan-in"}).Validate(),
		"features: want 1 to 1048576":                                    (&nn.NormedEncoder{Norm: nn.GroupNorm, Groups: 4, Init: "fan-in"}).Validate(),
		"norm: unknown normalisation":                                    (&nn.NormedEncoder{Features: 2, Norm: "x", Init: "fan-in"}).Validate(),
		"init: unknown initialiser":                                      (&nn.NormedEncoder{Features: 2, Norm: nn.NoNorm, Init: "x"}).Validate(),
	} {
		must.Error(t, err, want)
	}
}

// If a graph uses a layer twice, its running moments follow both batches in order. Each batch is normalised
// separately.
func TestRunningTwice(t *testing.T) {
	p := nn.NewParams(1)
	g := nn.NewGraph(p)
	g.Training = true
	var results, moments []*gorgonia.Node
	for i, batch := range [][]float32{{1, 3}, {10, 20, 30}} {
		x := must.Get(g.Input(fmt.Sprint("x", i), len(batch), 1))(t)
		copy(nn.Data(x), batch)
		results = append(results, must.Get(nn.Norm(g, x, "n", nn.NormOptions{Kind: nn.BatchNorm}))(t))
	}
	for _, r := range g.Running() {
		moments = append(moments, r.Moments)
	}
	m := runOf(t, append(results, moments...)...)
	for i, r := range g.Running() {
		must.Equal(t, r.Count(), []int{2, 3}[i], "use", i, "has moments of", "elements")
		r.Follow(values(m, r.Moments))
	}
	running := p.Get("n/running").Float32s()
	if mean, variance := 0.9*0.2+2, 0.9*(0.9+0.2)+10; len(moments) != 2 || !(math.Abs(float64(running[0])-mean) <= 1e-5) ||
		!(math.Abs(float64(running[1])-variance) <= 1e-5) {
		t.Errorf("%d running moments %v, want %v and %v", len(moments), running, mean, variance)
	}
	if first, second := values(m, results[0]), values(m, results[1]); !(math.Abs(float64(first[1])-1) <= 1e-4) ||
		!(math.Abs(float64(second[1])) <= 1e-4) {
		t.Errorf("results %v and %v", first, second)
	}
}
