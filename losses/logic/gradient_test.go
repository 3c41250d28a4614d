package logic

import (
	"math"
	"slices"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/losses/logic/internal/eval"
	"github.com/unravel-ml/unravel/losses/logic/internal/program"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph/gradcheck"
	"github.com/unravel-ml/unravel/graph/machine"
	"github.com/unravel-ml/unravel/internal/numeric"
)

// load copies a batch into a new engine.
func load(t *testing.T, q *Quantity, b batch) *eval.Engine {
	t.Helper()
	e := must.Get(eval.New(q.program, len(b.z)))(t)
	q.fill(e, b.of(q))
	return e
}

// TestRandomGradients compares the gradients of random sentences with finite differences. If the differences of two
// step sizes disagree, there is a kink or a pole.
func TestRandomGradients(t *testing.T) {
	checked, kinks := 0, 0
	for seed := range sentences() {
		s := randomSentence(seed)
		q := compiled(t, s)
		e := load(t, q, batches(seed, 5)["continuous"])
		at := func() float64 {
			return must.Get(e.Value(true))(t)
		}
		if v := at(); v > 1e4 || !q.Differentiable() {
			continue
		}
		e.Gradient(1)
		for c := range q.program.First + len(q.program.More) {
			column, x := e.Slope(c), e.Column(c)
			for i, got := range column {
				was := x[i]
				slope := func(h float64) float64 {
					x[i] = was + h
					up := at()
					x[i] = was - h
					down := at()
					x[i] = was
					return (up - down) / (2 * h)
				}
				want, coarse := slope(1e-6), slope(4e-6)
				if math.IsNaN(got) || math.IsInf(got, 0) {
					t.Fatalf("sentence %d, %v: gradient %v", seed, s, got)
				}
				if !(math.Abs(want-coarse) <= 1e-6*max(1, math.Abs(want))) {
					kinks++
					continue
				}
				if checked++; !(math.Abs(got-want) <= 1e-5*max(1, math.Abs(want))) {
					t.Fatalf("sentence %d, %v: gradient of row %d, column %d is %v, differences give %v", seed, s, i, c, got, want)
				}
			}
		}
	}
	if t.Logf("%d gradients, %d kinks", checked, kinks); kinks > checked/50 {
		t.Errorf("%d gradients were checked, %d not", checked, kinks)
	}
}

func compiled(t testing.TB, s Sentence) *Quantity {
	t.Helper()
	q, err := Compile(s, testSchema)
	if err != nil {
		t.Fatalf("%v: %v", s, err)
	}
	return q
}

// inputs returns a batch as inputs of a node. Inputs without a gradient are constant.
func inputs(b batch, q *Quantity) []gradcheck.Input {
	var in []gradcheck.Input
	smooth := []bool{true, false, false, q != nil && q.NeedsLogVariances(), q != nil && q.program.Needs(program.Means)}
	for i, rows := range [][][]float64{b.z, b.y, b.labels, b.logVariances, b.means} {
		if rows == nil {
			continue
		}
		x := gradcheck.Input{Shape: []int{len(rows), len(rows[0])}, Constant: !smooth[i]}
		for _, r := range rows {
			x.Values = append(x.Values, r...)
		}
		in = append(in, x)
	}
	return in
}

func build(q *Quantity) func(in []*gorgonia.Node) (*gorgonia.Node, error) {
	return func(in []*gorgonia.Node) (*gorgonia.Node, error) {
		if err := q.checkNodes(nodes(q, in)); err != nil {
			return nil, err
		}
		return q.NodeOf(Named{}, nodes(q, in))
	}
}

// TestRandomNodes compares nodes of both element types with values.
func TestRandomNodes(t *testing.T) {
	for seed := range sentences() {
		s := randomSentence(seed)
		q, all := compiled(t, s), batches(seed, 5)
		for _, name := range []string{"grid", "continuous"} {
			b := all[name]
			want := must.Get(q.ValueOf(b.of(q)))(t)
			for _, dt := range []tensor.Dtype{tensor.Float64, tensor.Float32} {
				tolerance := 1e-14
				if dt == tensor.Float32 {
					tolerance = 2e-5
				}
				got := run(t, dt, q, b)
				if !(got == want || math.Abs(got-want) <= tolerance*max(1, want)) && want < 1e3 {
					t.Fatalf("sentence %d, %v: %v in %v, want %v", seed, s, got, dt, want)
				}
			}
		}
	}
}

// run computes the value of a sentence's node.
func run(t testing.TB, dt tensor.Dtype, q *Quantity, b batch) float64 {
	t.Helper()
	v, _ := evaluate(t, dt, b, build(q))
	return v
}

// evaluate computes a node of a batch and its gradient in the codes.
func evaluate(t testing.TB, dt tensor.Dtype, b batch,
	build func(in []*gorgonia.Node) (*gorgonia.Node, error)) (value float64, gradient []float64) {
	t.Helper()
	return evaluateInputs(t, dt, inputs(b, nil), build)
}

// evaluateInputs computes a node of inputs and its gradient in the first input.
func evaluateInputs(t testing.TB, dt tensor.Dtype, inputs []gradcheck.Input,
	build func(in []*gorgonia.Node) (*gorgonia.Node, error)) (value float64, gradient []float64) {
	t.Helper()
	g := gorgonia.NewGraph()
	var in []*gorgonia.Node
	for i, x := range inputs {
		in = append(in, gorgonia.NewMatrix(g, dt, gorgonia.WithShape(x.Shape...), gorgonia.WithValue(valueOf(dt, x)),
			gorgonia.WithName([]string{"z", "y", "labels", "more", "means"}[i])))
	}
	n := must.Get(build(in))(t)
	grads := must.Get(gorgonia.Grad(n, in[0]))(t)
	m, err := machine.New(n.Graph(), n, grads[0])
	if err == nil {
		err = m.RunAll()
	}
	must.OK(t, err)
	return elements(m.Value(n))[0], elements(m.Value(grads[0]))
}

// valueOf returns an input as a tensor.
func valueOf(dt tensor.Dtype, x gradcheck.Input) *tensor.Dense {
	v := tensor.New(tensor.Of(dt), tensor.WithShape(x.Shape...))
	for k, e := range x.Values {
		if dt == tensor.Float32 {
			v.Float32s()[k] = float32(e)
		} else {
			v.Float64s()[k] = e
		}
	}
	return v
}

func elements(v gorgonia.Value) []float64 {
	switch x := v.Data().(type) {
	case float32:
		return []float64{float64(x)}
	case float64:
		return []float64{x}
	case []float32:
		return numeric.Convert[float64](x)
	case []float64:
		return slices.Clone(x)
	}
	return nil
}

// TestGradcheck runs some random sentences through all checks of operations.
func TestGradcheck(t *testing.T) {
	for seed := 0; seed < sentences(); seed += 25 {
		s := randomSentence(seed)
		q, b := compiled(t, s), batches(seed, 5)["continuous"]
		if v, err := q.ValueOf(b.of(q)); err != nil || v > 100 || !q.Differentiable() {
			continue
		}
		gradcheck.Check(t, gradcheck.Case{Name: s.String(), Inputs: inputs(b, q), Build: build(q), Tolerance: 1e-4,
			Tolerance32: 1e-3, Floor32: 1, Samples: 6})
	}
}

func parsed(t testing.TB, text string) Sentence {
	t.Helper()
	s, err := Parse(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return s
}
