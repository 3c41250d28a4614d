// Package gradcheck tests values and gradients of nodes of expression graphs, in float64 and float32. It runs them on
// graph/machine and on Gorgonia's two machines.
package gradcheck

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph/rng"
)

// Input describes an input of a graph.
type Input struct {
	Shape    []int     // empty for a scalar
	Values   []float64 // repeated if too short; nil: random
	Lo, Hi   float64   // range of random values, uniform; both 0: [-2, 2]
	Constant bool      // without a gradient
}

// Case is a node to check, as a function of its inputs.
type Case struct {
	Name   string
	Inputs []Input
	Build  func(in []*gorgonia.Node) (*gorgonia.Node, error)

	// Want computes the expected elements of the node; nil: not compared.
	Want func(in [][]float64) []float64

	Step        float64 // step of the finite differences, relative to max(1, |x|); default 1e-6
	Tolerance   float64 // for float64 gradients and values, relative to max(1, |expected|); default 1e-6
	Tolerance32 float64 // for float32 against float64, relative to the largest element of a tensor; default 2e-5
	Floor32     float64 // lower bound for the largest element of a tensor, used by Tolerance32 and for rounding
	Samples     int     // number of elements of an input that vary, drawn at random if the input has more; default 48

	// Machines lists the other machines that run the case; nil: both of Gorgonia's. An empty list also skips the run
	// with constants without a graph. Gorgonia's own Reshape is wrong on its TapeMachine.
	Machines []Machine
}

// Machine is one of Gorgonia's machines.
type Machine string

// Gorgonia's two machines.
const (
	Tape Machine = "TapeMachine"
	Lisp Machine = "LispMachine" // differentiates through the operations' DoDiff
)

func (c Case) withDefaults() Case {
	set := func(x *float64, value float64) {
		if *x == 0 {
			*x = value
		}
	}
	set(&c.Step, 1e-6)
	set(&c.Tolerance, 1e-6)
	set(&c.Tolerance32, 2e-5)
	c.Samples = cmp.Or(c.Samples, 48)
	if c.Machines == nil {
		c.Machines = []Machine{Tape, Lisp}
	}
	return c
}

// Check tests a case:
//
//   - the value in float64 against Want;
//   - the gradients in float64, of the inner product of the node with a random cotangent, against central
//     differences;
//   - value and gradients in float32 against float64;
//   - that the bits stay the same for repeated runs, for one gradient at a time, for one thread and five, and on
//     Gorgonia's TapeMachine;
//   - that two further runs give the same bits of the value: on Gorgonia's LispMachine, and with constants that
//     belong to no graph as the constant inputs. Gradients may differ by rounding, because these runs sum in
//     another order;
//   - with the build tag gpu and a GPU: value and gradients on the GPU against float64, and the bits of a second run;
//   - without this tag: the commands for a GPU against testdata/cases.txt, if the package has this file
//     ([tapetest.CheckCase]);
//   - that a run does not change the inputs.
func Check(t testing.TB, c Case) {
	t.Helper()
	c = c.withDefaults()
	values := c.draw()
	double := checkType[float64](t, c, values)
	if t.Failed() {
		return
	}
	single := checkType[float32](t, c, values)
	if t.Failed() {
		return
	}
	c.checkWant(t, values, double.value)
	c.checkDifferences(t, values, double.gradients)
	c.compare32(t, "value", single.value, double.value)
	for k, i := range c.varied() {
		c.compare32(t, fmt.Sprintf("gradient of input %d", i), single.gradients[k], double.gradients[k])
	}
	c.checkDevice(t, values, double)
}

// draw returns the values of the inputs. All of them are exact in float32.
func (c Case) draw() [][]float64 {
	values := make([][]float64, len(c.Inputs))
	for i, in := range c.Inputs {
		r := rng.New(1, fmt.Sprintf("gradcheck/%s/%d", c.Name, i))
		lo, hi := in.Lo, in.Hi
		if lo == 0 && hi == 0 {
			lo, hi = -2, 2
		}
		values[i] = make([]float64, tensor.Shape(in.Shape).TotalSize())
		for j := range values[i] {
			x := lo + (hi-lo)*r.Float64()
			if in.Values != nil {
				x = in.Values[j%len(in.Values)]
			}
			values[i][j] = float64(float32(x))
		}
	}
	return values
}

// varied lists the indices of the inputs with a gradient.
func (c Case) varied() []int {
	var v []int
	for i, in := range c.Inputs {
		if !in.Constant {
			v = append(v, i)
		}
	}
	return v
}

// outcome has the results of a run: the node, the loss, and the gradients.
type outcome struct {
	value     []float64
	loss      float64
	gradients [][]float64
}

func (o outcome) tensors() [][]float64 {
	return append([][]float64{o.value, {o.loss}}, o.gradients...)
}

// checkType compares all runs of a case for one element type.
func checkType[T float32 | float64](t testing.TB, c Case, values [][]float64) outcome {
	t.Helper()
	name := fmt.Sprintf("%s in %T", c.Name, T(0))
	g, m, err := prepare[T](c, values, form{gradients: true})
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return outcome{}
	}
	run := func() outcome {
		o, err := m.run(g)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		return o
	}
	first := run()
	equal := func(how string, other outcome) {
		t.Helper()
		for k, want := range first.tensors() {
			if j := differs(other.tensors()[k], want); j >= 0 {
				t.Errorf("%s: tensor %d (value, loss, gradients), element %d: %v %s, %v before",
					name, k, j, at(other.tensors()[k], j), how, at(want, j))
				return
			}
		}
	}
	for _, x := range first.tensors() {
		if j := slices.IndexFunc(x, func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) }); j >= 0 {
			t.Errorf("%s: element %d is %v", name, j, x[j])
		}
	}
	if t.Failed() {
		return first
	}
	equal("in a second run", run())
	for _, threads := range []int{1, 5} {
		before := runtime.GOMAXPROCS(threads)
		equal(fmt.Sprintf("with %d threads", threads), run())
		runtime.GOMAXPROCS(before)
	}
	c.checkAlone(t, name, g, first)
	checkConstants[T](t, c, name, values, first)
	for _, m := range c.Machines {
		other, err := runOn[T](m, c, values)
		switch {
		case err != nil:
			t.Errorf("%s on a %s: %v", name, m, err)
		case m == Lisp:
			checkRounded[T](t, c, "on a LispMachine", other, first)
		default:
			equal("on a "+string(m), other)
		}
	}
	for i, v := range values {
		if j := differs(elementsOf(g.inputs[i].Value()), v); j >= 0 {
			t.Errorf("%s: a run changed element %d of input %d", name, j, i)
		}
	}
	return first
}

// checkConstants runs a case with constants without a graph in place of its constant inputs, if it has such inputs and
// machines.
func checkConstants[T float32 | float64](t testing.TB, c Case, name string, values [][]float64, first outcome) {
	t.Helper()
	if len(c.Machines) == 0 || len(c.varied()) == len(c.Inputs) {
		return
	}
	other, err := runConstants[T](c, values)
	if err != nil {
		t.Errorf("%s with constants: %v", name, err)
		return
	}
	checkRounded[T](t, c, "with constants of no graph", other, first)
}

// checkRounded compares a run with the first run: equal bits for the value, equality up to rounding errors for
// gradients.
func checkRounded[T float32 | float64](t testing.TB, c Case, how string, got, want outcome) {
	t.Helper()
	if differs(got.value, want.value) >= 0 || got.loss != want.loss {
		t.Errorf("%s in %T: the value is %v %s (loss %v), %v before (%v)", c.Name, T(0), got.value, how, got.loss, want.value,
			want.loss)
	}
	rounding := 0x1p-50
	if _, ok := any(T(0)).(float32); ok {
		rounding = 0x1p-21
	}
	for k, w := range want.gradients {
		g, scale := got.gradients[k], c.Floor32
		for _, x := range w {
			scale = max(scale, math.Abs(x))
		}
		for j, x := range w {
			if len(g) != len(w) || !(math.Abs(g[j]-x) <= rounding*scale) {
				t.Errorf("%s in %T: element %d of gradient %d is %v %s, %v before", c.Name, T(0), j, k, at(g, j), how, x)
				return
			}
		}
	}
}

// checkAlone compares each gradient, computed alone, with the gradient computed together with all others.
func (c Case) checkAlone(t testing.TB, name string, g *subject, all outcome) {
	t.Helper()
	for k, n := range g.gradients {
		m, err := newMachine(g, n)
		if err == nil {
			_, err = m.run(g)
		}
		if err != nil {
			t.Errorf("%s: gradient %d alone: %v", name, k, err)
			return
		}
		if j := differs(elementsOf(m.machine.Value(n)), all.gradients[k]); j >= 0 {
			t.Errorf("%s: element %d of gradient %d differs when it is asked for alone", name, j, k)
		}
	}
}

// differs returns the index of the first element with different bits, or -1.
func differs(a, b []float64) int {
	if len(a) != len(b) {
		return min(len(a), len(b))
	}
	for i := range a {
		if math.Float64bits(a[i]) != math.Float64bits(b[i]) {
			return i
		}
	}
	return -1
}

func at(x []float64, i int) any {
	if i < len(x) {
		return x[i]
	}
	return "nothing"
}

func (c Case) checkWant(t testing.TB, values [][]float64, got []float64) {
	t.Helper()
	if c.Want == nil {
		return
	}
	want := c.Want(values)
	if len(want) != len(got) {
		t.Errorf("%s: %d elements, want %d", c.Name, len(got), len(want))
		return
	}
	for i, w := range want {
		if !(math.Abs(got[i]-w) <= c.Tolerance*max(1, math.Abs(w))) {
			t.Errorf("%s: element %d is %v, want %v", c.Name, i, got[i], w)
			return
		}
	}
}

// checkDifferences compares gradients with central differences of the loss.
func (c Case) checkDifferences(t testing.TB, values [][]float64, gradients [][]float64) {
	t.Helper()
	g, m, err := prepare[float64](c, values, form{})
	if err != nil {
		t.Errorf("%s: %v", c.Name, err)
		return
	}
	loss := func(x *float64, to float64) float64 {
		*x = to
		o, err := m.run(g)
		if err != nil {
			t.Errorf("%s: %v", c.Name, err)
		}
		return o.loss
	}
	for k, i := range c.varied() {
		x := g.backing[i].([]float64)
		for _, j := range c.sample(i, len(x)) {
			was, h := x[j], c.Step*max(1, math.Abs(x[j]))
			up, down := loss(&x[j], was+h), loss(&x[j], was-h)
			x[j] = was
			want, got := (up-down)/(2*h), gradients[k][j]
			rounding := 1e-15 * max(math.Abs(up), math.Abs(down)) / h
			if !(math.Abs(got-want) <= c.Tolerance*max(1, math.Abs(want))+rounding) {
				t.Errorf("%s: gradient of element %d of input %d is %v, central differences give %v", c.Name, j, i, got, want)
				return
			}
		}
	}
}

// sample returns random indices of the n elements of an input to vary.
func (c Case) sample(input, n int) []int {
	order := rng.New(2, fmt.Sprintf("gradcheck/%s/%d", c.Name, input)).Perm(n)
	return order[:min(n, c.Samples)]
}

// compare32 compares a float32 tensor with the same tensor in float64.
func (c Case) compare32(t testing.TB, what string, got, want []float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %s has %d elements in float32, want %d", c.Name, what, len(got), len(want))
		return
	}
	scale := max(c.Floor32, 1e-30)
	for _, w := range want {
		scale = max(scale, math.Abs(w))
	}
	for i, w := range want {
		if !(math.Abs(got[i]-w) <= c.Tolerance32*scale) {
			t.Errorf("%s: element %d of the %s is %v in float32, %v in float64 (tolerance %v)",
				c.Name, i, what, got[i], w, c.Tolerance32*scale)
			return
		}
	}
}

// In returns an input with the given shape and random values in [-2, 2].
func In(shape ...int) Input { return Input{Shape: shape} }

// CheckAll tests each case in a subtest with the case's name.
func CheckAll(t *testing.T, cases []Case) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) { Check(t, c) })
	}
}

// Verify runs [Check] and returns the failures as an error.
func Verify(c Case) error {
	r := &recorder{}
	Check(r, c)
	return errors.Join(r.errs...)
}

// recorder is a testing.TB that stores the errors of a test.
type recorder struct {
	testing.TB
	errs []error
}

func (r *recorder) Helper()                        {}
func (r *recorder) Failed() bool                   { return len(r.errs) > 0 }
func (r *recorder) Errorf(format string, a ...any) { r.errs = append(r.errs, fmt.Errorf(format, a...)) }
