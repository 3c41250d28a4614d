package latent_test

import (
	"math"
	"testing"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/gradcheck"
	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/losses"
	"github.com/unravel-ml/unravel/models/latent"
)

// softmaxes returns the softmax of each row.
func softmaxes(x []float64, columns int) []float64 {
	out := make([]float64, len(x))
	for at := 0; at < len(x); at += columns {
		sum := 0.0
		for j := at; j < at+columns; j++ {
			out[j] = math.Exp(x[j] - x[at])
			sum += out[j]
		}
		for j := at; j < at+columns; j++ {
			out[j] /= sum
		}
	}
	return out
}

func TestChoiceGradients(t *testing.T) {
	u := func(shape ...int) gradcheck.Input {
		return gradcheck.Input{Shape: shape, Lo: 0.01, Hi: 0.99, Constant: true}
	}
	tau := func(v float64) gradcheck.Input {
		return gradcheck.Input{Shape: []int{1}, Values: []float64{v}, Constant: true}
	}
	choose := func(n nodes) (*gorgonia.Node, error) {
		logs, err := graph.LogSoftmaxRows(n[0])
		if err != nil {
			return nil, err
		}
		return latent.RelaxedChoice(logs, n[1], n[2])
	}
	kl := func(n nodes) (*gorgonia.Node, error) {
		p, err := graph.SoftmaxRows(n[0])
		if err != nil {
			return nil, err
		}
		logs, err := graph.LogSoftmaxRows(n[0])
		if err != nil {
			return nil, err
		}
		return losses.KLCategorical(p, logs)
	}
	extreme := gradcheck.Input{Shape: []int{3, 3}, Values: []float64{80, -80, 0, 80, 80, -80, -80, -80, -80}}
	gradcheck.CheckAll(t, []gradcheck.Case{
		{Name: "relaxed choice", Inputs: []gradcheck.Input{gradcheck.In(4, 3), u(4, 3), tau(0.67)}, Build: choose,
			Want: func(in [][]float64) []float64 {
				x := make([]float64, len(in[0]))
				p := softmaxes(in[0], 3)
				for i := range x {
					x[i] = (math.Log(p[i]) - math.Log(-math.Log(in[1][i]+1e-12)+1e-12)) / 0.67
				}
				return softmaxes(x, 3)
			}},
		{Name: "two options", Inputs: []gradcheck.Input{gradcheck.In(5, 2), u(5, 2), tau(1)}, Build: choose},
		// The Gumbel noise of these numbers differs by less than 0.05, so the sample does not round to one-hot.
		{Name: "low temperature", Inputs: []gradcheck.Input{{Shape: []int{2, 2}, Values: []float64{0.1, 0.12, -1, -1.01}}, {Shape: []int{2, 2}, Values: []float64{0.5}, Constant: true}, tau(0.01)},
			Build: choose, Tolerance32: 1e-4},
		{Name: "extreme logits", Inputs: []gradcheck.Input{extreme, u(3, 3), tau(0.67)}, Build: choose, Floor32: 0.1},
		{Name: "softmax", Inputs: []gradcheck.Input{gradcheck.In(4, 3)}, Build: func(n nodes) (*gorgonia.Node, error) { return graph.SoftmaxRows(n[0]) },
			Want: func(in [][]float64) []float64 { return softmaxes(in[0], 3) }},
		{Name: "kl", Inputs: []gradcheck.Input{gradcheck.In(5, 4)}, Build: kl,
			Want: func(in [][]float64) []float64 {
				sum := 0.0
				for _, p := range softmaxes(in[0], 4) {
					sum += p * math.Log(p)
				}
				return []float64{math.Log(4) + sum/5}
			}},
		{Name: "kl of extreme logits", Inputs: []gradcheck.Input{extreme}, Build: kl, Floor32: 0.1},
	})
}

// choices draws relaxed samples of one distribution in float32.
func choices(t *testing.T, c *latent.Categorical, logits []float32, rows int) (locations, samples []float32) {
	t.Helper()
	c.Options = len(logits)
	g := nn.NewGraph(nn.NewParams(1))
	in := must.Get(g.Input("logits", rows, len(logits)))(t)
	for i := range nn.Data(in) {
		nn.Data(in)[i] = logits[i%len(logits)]
	}
	noise := must.Get(g.Input("noise", c.NoiseShape(rows)...))(t)
	rng.New(3, "choices").Normals(nn.Data(noise))
	p := must.Get(graph.SoftmaxRows(in))(t)
	logs := must.Get(graph.LogSoftmaxRows(in))(t)
	y := must.Get(c.Sample(p, logs, noise))(t)
	m := run(t, p, y)
	return floats(m, p), floats(m, y)
}

// Rows sum to 1, also for extreme logits and at any temperature. The likeliest option follows the probabilities
// alpha.
func TestChoices(t *testing.T) {
	const rows = 100_000
	c := latent.NewCategorical()
	logits := []float32{0, 1, -0.5}
	alpha, y := choices(t, c, logits, rows)
	counts := make([]float64, 3)
	for at := 0; at < len(y); at += 3 {
		best := 0
		for j := range 3 {
			if y[at+j] > y[at+best] {
				best = j
			}
		}
		counts[best]++
	}
	for j, n := range counts {
		p := float64(alpha[j])
		if deviation := math.Sqrt(p * (1 - p) / rows); !(math.Abs(n/rows-p) <= 4*deviation) {
			t.Errorf("option %d is the largest in %v of the samples; want %v +- %v", j, n/rows, p, deviation)
		}
	}
	for _, tau := range []float64{0.001, 0.01, 0.67, 100} {
		for _, logits := range [][]float32{{0, 0}, {80, -80, 0}, {-80, -80, 80, 80}, {3, 2}} {
			c.Temperature = latent.NewTemperature(tau)
			_, y := choices(t, c, logits, 500)
			hard := 0
			for at := 0; at < len(y); at += len(logits) {
				sum, most := 0.0, 0.0
				for _, v := range y[at : at+len(logits)] {
					if !(v >= 0) {
						t.Fatalf("tau %v, logits %v: weight %v", tau, logits, v)
					}
					sum, most = sum+float64(v), max(most, float64(v))
				}
				if !(math.Abs(sum-1) <= 1e-6) {
					t.Fatalf("tau %v, logits %v: weights sum to %v", tau, logits, sum)
				}
				if most > 0.999 {
					hard++
				}
			}
			if tau == 0.001 && hard < 490 {
				t.Errorf("logits %v: %d of 500 samples are one-hot at the temperature 0.001; want nearly all", logits, hard)
			}
		}
	}
}

// Normal numbers of any size become uniform numbers with finite Gumbel noise.
func TestUniform(t *testing.T) {
	g := nn.NewGraph(nn.NewParams(1))
	in := must.Get(g.Input("normal", 7, 1))(t)
	copy(nn.Data(in), []float32{-40, -5, -1, 0, 1, 5, 40})
	u := must.Get(latent.Uniform(in))(t)
	for i, v := range floats(run(t, u), u) {
		if want := math.Erfc(-float64(nn.Data(in)[i])/math.Sqrt2) / 2; !(math.Abs(float64(v)-want) <= 1e-7) || !(v >= 1.0/(1<<24) && v < 1) {
			t.Errorf("the distribution function at %v is %v; want %v within [2^-24, 1)", nn.Data(in)[i], v, want)
		}
	}
}

func TestTemperatures(t *testing.T) {
	read := func(text string) (latent.Temperature, error) {
		c := latent.NewCategorical()
		err := config.Load("space", []byte("temperature: "+text+"\n"), c)
		return c.Temperature, err
	}
	for _, c := range []struct {
		text string
		at   map[int]float64
	}{
		{"0.5", map[int]float64{0: 0.5, 1000: 0.5}},
		{"{from: 1, to: 0.5, steps: 100}", map[int]float64{0: 1, 50: 0.75, 100: 0.5, 1000: 0.5}},
		{"{from: 4, to: 1, steps: 100, shape: exponential}", map[int]float64{0: 4, 50: 2, 100: 1, 1000: 1}},
	} {
		tau := must.Get(read(c.text))(t)
		for step, want := range c.at {
			if got := tau.At(step); !(math.Abs(got-want) <= 1e-12) {
				t.Errorf("%s: %v after %d updates; want %v", c.text, got, step, want)
			}
		}
	}
	for _, bad := range []string{"0", "-1", "[1]", "{from: 1, to: 0, steps: 5}", "{from: 1, to: 0.5, steps: 0}",
		"{from: 1, to: 0.5, steps: 5, shape: cubic}", "{to: 0.5}"} {
		if tau, err := read(bad); err == nil {
			t.Errorf("temperature: %s is accepted as %+v", bad, tau)
		}
	}
}

// A ramp is an input of the step, and the sample follows the input.
func TestAnnealedVariable(t *testing.T) {
	c := latent.NewCategorical()
	c.Options, c.Temperature = 3, latent.Temperature{From: 1, To: 0.01, Steps: 10}
	_, vs := build(t, latent.Of(c, euclidean(2)), 6)
	v := vs[0]
	if v.Schedule == nil || vs[1].Schedule != nil {
		t.Fatalf("schedules %v and %v; want one of the choice alone", v.Schedule, vs[1].Schedule)
	}
	if v.Options() != 3 || vs[1].Options() != 0 {
		t.Errorf("%d and %d options; want 3 and 0", v.Options(), vs[1].Options())
	}
	largest := func(update int) (most float32) {
		nn.Data(v.Schedule.Node)[0] = float32(v.Schedule.At(update))
		m := run(t, v.Sample)
		for _, y := range floats(m, v.Sample)[:3] {
			most = max(most, y)
		}
		return most
	}
	if first, last := largest(0), largest(10); !(last > first && last > 0.99) {
		t.Errorf("the largest weight is %v at the start, and %v at the end of the ramp; want it to grow to 1", first, last)
	}
}

func TestOrderOfSpaces(t *testing.T) {
	if err := latent.Of(latent.NewCategorical(), euclidean(2)).Validate(); err != nil {
		t.Error(err)
	}
	if err := latent.Of(euclidean(2), latent.NewCategorical()).Validate(); err == nil {
		t.Error("a choice after R^2 is accepted; want an error, as its column comes first in codes")
	}
}

func TestValidOptions(t *testing.T) {
	for n, valid := range map[int]bool{-1: false, 0: false, 1: false, 2: true, 2048: true, 2049: false} {
		if err := latent.ValidOptions(n); (err == nil) != valid {
			t.Errorf("%d options: %v", n, err)
		}
	}
}
