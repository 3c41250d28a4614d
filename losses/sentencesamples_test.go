package losses_test

import (
	"math"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph/machine"
	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/losses"
	"github.com/unravel-ml/unravel/losses/logic"
)

// posteriors holds Gaussian posteriors of a model with a sample, in float32.
type posteriors struct {
	in                           *losses.Input
	requests                     *losses.Requests
	mean, logVariance, sample    *gorgonia.Node
	means, logVariances, samples [][]float64
}

func newPosteriors(rows, columns int) *posteriors {
	g := nn.NewGraph(nn.NewParams(1))
	p := &posteriors{requests: &losses.Requests{Graph: g}}
	r := rng.New(4, "posteriors")
	input := func(name string) (*gorgonia.Node, [][]float64) {
		numbers, all := make([]float32, rows*columns), make([][]float64, rows)
		r.Normals(numbers)
		for i, x := range numbers {
			all[i/columns] = append(all[i/columns], float64(x))
		}
		v := tensor.New(tensor.WithShape(rows, columns), tensor.WithBacking(numbers))
		return gorgonia.NewMatrix(g.ExprGraph, tensor.Float32, gorgonia.WithShape(rows, columns), gorgonia.WithName(name),
			gorgonia.WithValue(v)), all
	}
	p.mean, p.means = input("mean")
	p.logVariance, p.logVariances = input("log variance")
	p.sample, p.samples = input("sample")
	p.in = &losses.Input{Outputs: losses.Outputs{Rows: rows, Codes: p.mean, Sample: p.sample, LogVariance: p.logVariance},
		Trainer: p.requests, Name: "logic"}
	return p
}

func logicOf(t *testing.T, text string) *losses.LogicLoss {
	t.Helper()
	s := must.Get(logic.Parse(text))(t)
	l := losses.NewLogic()
	l.Sentence = &s
	return l
}

// value runs a node and its gradients.
func (p *posteriors) value(t *testing.T, n *gorgonia.Node, of ...*gorgonia.Node) (float64, [][]float32) {
	t.Helper()
	grads := must.Get(gorgonia.Grad(n, of...))(t)
	m, err := machine.New(n.Graph(), append(gorgonia.Nodes{n}, grads...)...)
	if err == nil {
		err = m.RunAll()
	}
	must.OK(t, err)
	var all [][]float32
	for _, g := range grads {
		all = append(all, m.Value(g).Data().([]float32))
	}
	return float64(m.Value(n).Data().(float32)), all
}

// TestLogicSamples tests that `with z ~ q`, on: sample, and a batch with samples agree, and that all three use the
// divergences of the posteriors.
func TestLogicSamples(t *testing.T) {
	for _, body := range []string{
		"forall[mean] i, j: z(i) =[squared] z(j)",
		"forall[mean] i, j: i != j -> z(i) =[euclidean] z(j) and z[0](i) =[kl] z[0](j)",
	} {
		sampled := logicOf(t, "with z ~ q: "+body)
		on := logicOf(t, body)
		on.On = losses.OnSample
		q := must.Get(logic.Compile(*sampled.Sentence, logic.Schema{Codes: 3}))(t)
		p := newPosteriors(5, 3)
		want := must.Get(q.ValueOf(logic.Batch{Codes: p.means, LogVariances: p.logVariances, Samples: p.samples}))(t)
		of := must.Get(logic.Compile(*logicOf(t, body).Sentence, logic.Schema{Codes: 3}))(t)
		if codes, err := of.ValueOf(logic.Batch{Codes: p.means, LogVariances: p.logVariances}); err != nil || !(math.Abs(codes-want) >= 1e-3) {
			t.Errorf("%s: %v of codes, %v, and %v of samples", body, codes, err, want)
		}
		for _, l := range []*losses.LogicLoss{sampled, on} {
			p := newPosteriors(5, 3)
			n := must.Get(l.Add(p.in))(t)
			if v, _ := p.value(t, n, p.sample); !(math.Abs(v-want) <= 1e-5*want) {
				t.Errorf("%s: %v, want %v", l.Sentence, v, want)
			}
		}
	}
}

// TestLogicMoreSamples compares the mean over samples with one sentence per sample.
func TestLogicMoreSamples(t *testing.T) {
	const rows, columns = 4, 2
	p := newPosteriors(rows, columns)
	l := logicOf(t, "with z ~ q: forall[mean] i, j: z(i) =[squared] z(j)")
	l.Samples = 3
	n := must.Get(l.Add(p.in))(t)
	q := must.Get(logic.Compile(*l.Sentence, logic.Schema{Codes: columns}))(t)
	if len(p.requests.Noises) != l.Samples-1 {
		t.Fatalf("%d inputs of noise", len(p.requests.Noises))
	}
	b := logic.Batch{Codes: p.means, LogVariances: p.logVariances, Samples: p.samples}
	want := must.Get(q.ValueOf(b))(t)
	r := rng.New(9, "noise")
	for _, noise := range p.requests.Noises {
		noise.Fill(r)
		b.Samples = nil
		for i, mean := range p.means {
			var row []float64
			for k, m := range mean {
				row = append(row, m+math.Exp(p.logVariances[i][k]/2)*float64(nn.Data(noise.Node)[i*columns+k]))
			}
			b.Samples = append(b.Samples, row)
		}
		v := must.Get(q.ValueOf(b))(t)
		want += v
	}
	v, gradients := p.value(t, n, p.mean, p.logVariance)
	if !(math.Abs(v-want/3) <= 1e-5*want) {
		t.Errorf("%v, want %v", v, want/3)
	}
	for i, g := range gradients {
		largest := 0.0
		for _, x := range g {
			largest = max(largest, math.Abs(float64(x)))
		}
		if !(largest > 1e-3) || math.IsInf(largest, 0) {
			t.Errorf("gradient %d is at most %v", i, largest)
		}
	}
}

// TestLogicPosteriorErrors tests models without Gaussian posteriors.
func TestLogicPosteriorErrors(t *testing.T) {
	for _, c := range []struct {
		text, want       string
		samples          int
		sample, gaussian bool
		deterministic    bool
	}{
		{"forall[mean] i, j: z(i) =[kl] z(j)", "it needs Gaussian posteriors for =[kl] and =[wasserstein], which this model does not have", 1, true, false, false},
		{"with z ~ q: forall[mean] i, j: z(i) =[wasserstein] z(j)", "it needs Gaussian posteriors for =[kl]", 1, true, false, false},
		{"with z ~ q: forall[mean] i, j: z(i) =[squared] z(j)", "it needs samples of posteriors for z ~ q, which this model does not have", 1, false, false, false},
		{"with z ~ q: forall[mean] i, j: z(i) =[squared] z(j)", "it needs Gaussian posteriors of all columns for more than 1 sample, which", 2, true, false, false},
		{"with z ~ q: forall[mean] i, j: z(i) =[squared] z(j)", "it needs samples of posteriors for z ~ q, which this model does not have", 1, true, false, true},
		{"forall[mean] i, j: z(i) =[discrete] z(j)", "the sentence has no gradient with respect to the codes", 1, true, true, false},
	} {
		p := newPosteriors(4, 2)
		if !c.sample {
			p.in.Sample = nil
		}
		if c.deterministic {
			p.in.Sample = p.mean
		}
		if !c.gaussian {
			p.in.LogVariance = nil
		}
		l := logicOf(t, c.text)
		l.Samples = c.samples
		must.ErrorOf(l.Add(p.in))(t, c.want, c.text)
	}
	for want, l := range map[string]*losses.LogicLoss{
		"want a number of at least 1, got 0":      {Sentence: logicOf(t, "with z ~ q: forall i: z(i) =[squared] 0").Sentence},
		"2 samples of a sentence about the codes": {Sentence: logicOf(t, "forall i: z(i) =[squared] 0").Sentence, Samples: 2},
	} {
		must.Error(t, l.Validate(), want)
	}
}
