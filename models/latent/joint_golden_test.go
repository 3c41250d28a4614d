package latent_test

import (
	"math"
	"path/filepath"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/machine"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/npy"
	"github.com/unravel-ml/unravel/losses"
	"github.com/unravel-ml/unravel/models/latent"
)

// choicePosterior is a choice among options, given by its probabilities. gaussianPosterior is a Gaussian, given by its
// moments.
type choicePosterior struct {
	probabilities, logarithms *gorgonia.Node
}

func (p choicePosterior) KL() (*gorgonia.Node, error) {
	return losses.KLCategorical(p.probabilities, p.logarithms)
}
func (p choicePosterior) Options() int { return p.logarithms.Shape()[1] }

type gaussianPosterior struct{ mean, logVariance *gorgonia.Node }

func (p gaussianPosterior) KL() (*gorgonia.Node, error) {
	return losses.KLGaussianLogVariance(p.mean, p.logVariance)
}

// reference is a case of the reference: inputs and expected values.
type reference struct {
	t      *testing.T
	g      *gorgonia.ExprGraph
	inputs map[string]*gorgonia.Node
	want   map[string]struct {
		Value     any
		Tolerance float64
	}
}

func readReference(t *testing.T) *reference {
	t.Helper()
	r := &reference{t: t, g: gorgonia.NewGraph(), inputs: map[string]*gorgonia.Node{}}
	for _, name := range []string{"logits0", "logits1", "u0", "u1", "c0", "c1", "mu", "logvar"} {
		a := must.Get(npy.ReadFile[float64](filepath.Join("testdata/joint_vae", name+".npy")))(t)
		r.inputs[name] = gorgonia.NewTensor(r.g, tensor.Float64, 2, gorgonia.WithShape(a.Shape...), gorgonia.WithName(name),
			gorgonia.WithValue(tensor.New(tensor.WithShape(a.Shape...), tensor.WithBacking(a.Data))))
	}
	must.ReadJSON(t, "testdata/joint_vae/expected.json", &r.want)
	return r
}

// must returns a node without its error.
func (r *reference) must(n *gorgonia.Node, err error) *gorgonia.Node {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
	return n
}

// flat lists the numbers of a value.
func flat(v any) (list []float64) {
	switch x := v.(type) {
	case []any:
		for _, e := range x {
			list = append(list, flat(e)...)
		}
	case float64:
		list = append(list, x)
	}
	return list
}

func (r *reference) compare(name string, got []float64) {
	r.t.Helper()
	w, ok := r.want[name]
	want := flat(w.Value)
	if !ok || len(want) != len(got) {
		r.t.Errorf("%s: %d numbers; want %d", name, len(got), len(want))
		return
	}
	for i, v := range got {
		if !(math.Abs(v-want[i]) <= w.Tolerance) {
			r.t.Errorf("%s: element %d is %v; want %v within %v", name, i, v, want[i], w.Tolerance)
		}
	}
}

// TestJointReference compares samples, divergences, objective and gradients with the reference.
func TestJointReference(t *testing.T) {
	r := readReference(t)
	tau := gorgonia.NewTensor(r.g, tensor.Float64, 1, gorgonia.WithShape(1), gorgonia.WithName("tau"),
		gorgonia.WithValue(tensor.New(tensor.WithShape(1), tensor.WithBacking([]float64{0.67}))))
	posteriors := []losses.Posterior{gaussianPosterior{r.inputs["mu"], r.inputs["logvar"]}}
	var samples gorgonia.Nodes
	for _, i := range []string{"0", "1"} {
		logits := r.inputs["logits"+i]
		p := choicePosterior{r.must(graph.SoftmaxRows(logits)), r.must(graph.LogSoftmaxRows(logits))}
		posteriors = append(posteriors, p)
		samples = append(samples, r.must(latent.RelaxedChoice(p.logarithms, r.inputs["u"+i], tau)))
	}
	part := func(spaces, capacity string, weight string) losses.Choice {
		l := losses.NewKL()
		must.OK(t, config.Load("kl", []byte("spaces: "+spaces+"\nweight: "+weight+"\ncapacity: {from: 0, to: "+capacity+"}\n"), l))
		return losses.Choice{Name: "kl", Value: l}
	}
	objective, err := losses.Compose(&losses.Outputs{Posteriors: posteriors, Rows: 4}, losses.Batch{}, doubles{g: r.g},
		[]losses.Choice{part("continuous", "10", "3"), part("categorical", "0.5", "2")})
	must.OK(t, err)
	total := objective.Total
	for i, c := range []string{"c0", "c1"} {
		product := gorgonia.Must(gorgonia.Sum(gorgonia.Must(gorgonia.HadamardProd(r.inputs[c], samples[i]))))
		total = gorgonia.Must(gorgonia.Add(total, r.must(graph.Scale(0.25, product))))
	}
	free := []string{"logits0", "logits1", "mu", "logvar"}
	var wrt gorgonia.Nodes
	for _, name := range free {
		wrt = append(wrt, r.inputs[name])
	}
	grads := must.Get(gorgonia.Grad(total, wrt...))(t)
	klz := r.must(posteriors[0].KL())
	klc := r.must(graph.WeightedSum([]float64{1, 1}, r.must(posteriors[1].KL()), r.must(posteriors[2].KL())))
	m, err := machine.New(r.g, append(append(append(gorgonia.Nodes{}, grads...), samples...), total, klz, klc)...)
	must.OK(t, err)
	must.OK(t, m.RunAll())
	numbers := func(n *gorgonia.Node) []float64 {
		switch v := m.Value(n).(type) {
		case *tensor.Dense:
			return v.Float64s()
		case *gorgonia.F64:
			return []float64{float64(*v)}
		}
		t.Fatalf("the value of %v is %T", n, m.Value(n))
		return nil
	}
	for i, name := range free {
		r.compare("grad_"+name, numbers(grads[i]))
	}
	r.compare("sample0", numbers(samples[0]))
	r.compare("sample1", numbers(samples[1]))
	r.compare("kl_z", numbers(klz))
	r.compare("kl_c", numbers(klc))
	r.compare("objective", numbers(total))
}

// doubles serves the requests of losses in float64, with schedules at their first step.
type doubles struct {
	losses.Trainer
	g *gorgonia.ExprGraph
}

func (d doubles) Input(name string, shape ...int) (*gorgonia.Node, error) {
	return gorgonia.NewTensor(d.g, tensor.Float64, len(shape), gorgonia.WithShape(shape...), gorgonia.WithName(name),
		gorgonia.WithInit(gorgonia.Zeroes())), nil
}

func (d doubles) Schedule(name string, at func(step int) float64) (*gorgonia.Node, error) {
	n, err := d.Input(name, 1)
	n.Value().(*tensor.Dense).Float64s()[0] = at(0)
	return n, err
}

// recorder keeps the schedules that a loss requests.
type recorder struct {
	doubles
	at *func(step int) float64
}

func (r recorder) Schedule(name string, at func(step int) float64) (*gorgonia.Node, error) {
	*r.at = at
	return r.doubles.Schedule(name, at)
}

// TestCapacities compares capacities of the loss kl with the reference, which counts steps from 1.
func TestCapacities(t *testing.T) {
	r := readReference(t)
	logits := r.inputs["logits0"]
	choice := choicePosterior{r.must(graph.SoftmaxRows(logits)), r.must(graph.LogSoftmaxRows(logits))}
	out := &losses.Outputs{Posteriors: []losses.Posterior{gaussianPosterior{r.inputs["mu"], r.inputs["logvar"]}, choice}, Rows: 4}
	var at []func(step int) float64
	for _, ramp := range []string{"{from: 0, to: 5, steps: 25000}", "{from: 0, to: 40, steps: 300000}",
		"{from: 0, to: 5, steps: 25000}", "{from: 0, to: 1.1, steps: 300000}"} {
		spaces := "continuous"
		if len(at) >= 2 {
			spaces = "categorical"
		}
		l := losses.NewKL()
		must.OK(t, config.Load("kl", []byte("spaces: "+spaces+"\ncapacity: "+ramp+"\n"), l))
		var found func(step int) float64
		must.Get(l.Add(&losses.Input{Outputs: *out, Trainer: recorder{doubles{g: r.g}, &found}, Name: ramp + spaces}))(t)
		at = append(at, found)
	}
	w := r.want["capacities"]
	rows, _ := w.Value.([]any)
	if len(rows) != 5 {
		t.Fatalf("%d steps; want 5", len(rows))
	}
	for _, row := range rows {
		v := flat(row)
		for i, column := range []int{0, 2, 1, 3} {
			if got, want := at[column](int(v[0])), v[1+i]; !(math.Abs(got-want) <= w.Tolerance) {
				t.Errorf("step %v, column %d: %v; want %v", v[0], i, got, want)
			}
		}
	}
}
