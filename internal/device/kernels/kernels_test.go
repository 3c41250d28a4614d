//go:build gpu

package kernels_test

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"sync"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/machine"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/graph/vulkan"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/numeric"
)

func TestMain(m *testing.M) {
	code := long.Run(m)
	if d, err := device(); err == nil {
		if err := d.Close(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// device opens the first GPU, once for all tests.
var device = sync.OnceValues(func() (*vulkan.Device, error) { return vulkan.Open(0) })

// open returns the first GPU, or skips the test.
func open(t testing.TB) *vulkan.Device {
	t.Helper()
	d, err := device()
	if errors.Is(err, vulkan.ErrNoLoader) || errors.Is(err, vulkan.ErrNoDriver) {
		t.Skip(err)
	}
	must.OK(t, err)
	return d
}

// input describes an input of an operation.
type input struct {
	shape  []int     // empty for a scalar
	values []float64 // repeated as needed; nil: random
	spread float64   // random values are uniform in [-spread, spread]; 0 means 1
	fixed  bool      // without a gradient
}

func in(shape ...int) input { return input{shape: shape} }

func (i input) wide(spread float64) input { i.spread = spread; return i }

func (i input) constant() input { i.fixed = true; return i }

func (i input) of(values ...float64) input { i.values = values; return i }

// check compares an operation on the device and on the CPU.
type check struct {
	name     string
	inputs   []input
	build    func(in []*gorgonia.Node) (*gorgonia.Node, error)
	forward  func(t *vulkan.Tape, in []vulkan.Buffer, out vulkan.Buffer)
	backward func(t *vulkan.Tape, in []vulkan.Buffer, out, dout vulkan.Buffer, din []vulkan.Buffer)

	tolerance float64 // relative to the largest element of a tensor; default 5e-6
	floor     float64 // and at least this number, where larger numbers cancel
}

// numbers are the elements of a result and of the gradients; nil for inputs without a gradient.
type numbers struct {
	out []float64
	din [][]float64
}

// run compares value and gradients with the CPU in float64 and in float32. The device runs once with all gradients and
// once for each gradient alone, and must give the same bits. Kernels must write all elements of their results, and
// nothing behind them.
func (c check) run(t *testing.T) {
	d := open(t)
	r, values := rng.New(1, c.name), make([][]float64, len(c.inputs))
	for i, in := range c.inputs {
		values[i] = make([]float64, count(in.shape))
		for j := range values[i] {
			v := 2*r.Float64() - 1
			if in.spread != 0 {
				v *= in.spread
			}
			if in.values != nil {
				v = in.values[j%len(in.values)]
			}
			values[i][j] = float64(float32(v))
		}
	}
	double, cotangent := onCPU[float64](t, c, values)
	single, _ := onCPU[float32](t, c, values)
	all := c.onDevice(t, d, values, cotangent, nil)
	c.compare(t, "float64", all, double, 1)
	c.compare(t, "float32", all, single, 2)
	c.same(t, all, c.onDevice(t, d, values, cotangent, nil))
	for i, in := range c.inputs {
		if c.backward != nil && !in.fixed && len(c.inputs) > 1 {
			c.same(t, all, c.onDevice(t, d, values, cotangent, []int{i}))
		}
	}
}

func count(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

// onCPU runs the operation on graph/machine. The cotangent of the result is random.
func onCPU[T float32 | float64](t *testing.T, c check, values [][]float64) (n numbers, cotangent []float64) {
	t.Helper()
	g := gorgonia.NewGraph()
	var in []*gorgonia.Node
	for i, v := range values {
		in = append(in, node[T](g, fmt.Sprint("in", i), c.inputs[i].shape, v))
	}
	y := must.Get(c.build(in))(t)
	cotangent = make([]float64, y.Shape().TotalSize())
	r := rng.New(2, c.name)
	for i := range cotangent {
		cotangent[i] = float64(float32(0.5 + r.Float64()))
		if i%3 == 1 {
			cotangent[i] *= -1
		}
	}
	dy := node[T](g, "dy", y.Shape(), cotangent)
	outputs := []*gorgonia.Node{y}
	for i, x := range in {
		if c.backward != nil && !c.inputs[i].fixed {
			outputs = append(outputs, must.Get(graph.VJP(y, dy, x))(t))
		}
	}
	m := must.Get(machine.New(g, outputs...))(t)
	defer m.Close()
	must.OK(t, m.RunAll())
	n.out = elements(m.Value(y))
	n.din = make([][]float64, len(in))
	for i := range in {
		if c.backward != nil && !c.inputs[i].fixed {
			n.din[i] = elements(m.Value(outputs[1]))
			outputs = outputs[1:]
		}
	}
	return n, cotangent
}

func node[T float32 | float64](g *gorgonia.ExprGraph, name string, shape []int, values []float64) *gorgonia.Node {
	backing := numeric.Convert[T](values)
	dt := tensor.Float64
	if _, ok := any(backing).([]float32); ok {
		dt = tensor.Float32
	}
	if len(shape) == 0 {
		return gorgonia.NewScalar(g, dt, gorgonia.WithName(name), gorgonia.WithValue(tensor.New(tensor.WithShape(),
			tensor.WithBacking(backing))))
	}
	v := tensor.New(tensor.WithShape(shape...), tensor.WithBacking(backing))
	return gorgonia.NewTensor(g, dt, len(shape), gorgonia.WithShape(shape...), gorgonia.WithName(name),
		gorgonia.WithValue(v))
}

func elements(v gorgonia.Value) []float64 {
	switch v := v.Data().(type) {
	case float32:
		return []float64{float64(v)}
	case float64:
		return []float64{v}
	case []float32:
		return numeric.Convert[float64](v)
	case []float64:
		return slices.Clone(v)
	}
	panic(fmt.Sprintf("%T", v))
}

// margin is the number of elements behind each result that kernels must not change, and sentinel is their value.
const margin = 64

var sentinel = math.Float32frombits(0x7fc12345)

// onDevice runs the operation. only lists the inputs whose gradients are wanted; nil: all.
func (c check) onDevice(t *testing.T, d *vulkan.Device, values [][]float64, cotangent []float64,
	only []int) (n numbers) {
	t.Helper()
	tape := d.NewTape()
	defer tape.Close()
	var in []vulkan.Buffer
	for _, v := range values {
		in = append(in, upload(t, d, numeric.Convert[float32](v)))
	}
	out := blank(t, d, len(cotangent))
	c.forward(tape, in, out)
	tape.EndOperation()
	din := make([]vulkan.Buffer, len(in))
	if c.backward != nil {
		dout := upload(t, d, numeric.Convert[float32](cotangent))
		for i, input := range c.inputs {
			if !input.fixed && (only == nil || slices.Contains(only, i)) {
				din[i] = blank(t, d, len(values[i]))
			}
		}
		c.backward(tape, in, out, dout, din)
		tape.EndOperation()
	}
	play(t, tape)
	for i, v := range values {
		if got := download(t, d, in[i], len(v)); !slices.Equal(got, numeric.Convert[float32](v)) {
			t.Errorf("input %d has changed", i)
		}
	}
	n.out = result(t, d, "value", out, len(cotangent))
	n.din = make([][]float64, len(in))
	for i, b := range din {
		if !b.IsZero() {
			n.din[i] = result(t, d, fmt.Sprint("gradient of input ", i), b, len(values[i]))
		}
	}
	return n
}

// play compiles and runs a tape.
func play(t testing.TB, tape *vulkan.Tape) {
	t.Helper()
	must.OK(t, tape.Compile())
	must.OK(t, tape.Run())
}

// upload returns a buffer with elements until the end of the test.
func upload(t testing.TB, d *vulkan.Device, x []float32) vulkan.Buffer {
	t.Helper()
	b := must.Get(d.Alloc(4 * int64(len(x))))(t)
	t.Cleanup(func() { d.Free(b) })
	must.OK(t, d.Upload(b, x))
	return b
}

// blank returns a buffer for n elements and a margin, filled with sentinels.
func blank(t testing.TB, d *vulkan.Device, n int) vulkan.Buffer {
	t.Helper()
	return upload(t, d, slices.Repeat([]float32{sentinel}, n+margin))
}

func download(t testing.TB, d *vulkan.Device, b vulkan.Buffer, n int) []float32 {
	t.Helper()
	x := make([]float32, n)
	must.OK(t, d.Download(x, b))
	return x
}

// result returns the n elements of a blank buffer after a run. It checks that the run has written all of them and
// nothing else.
func result(t testing.TB, d *vulkan.Device, what string, b vulkan.Buffer, n int) []float64 {
	t.Helper()
	x := download(t, d, b, n+margin)
	for i, v := range x {
		if same := math.Float32bits(v) == math.Float32bits(sentinel); same != (i >= n) {
			t.Fatalf("%s, element %d of %d: untouched is %v", what, i, n, same)
		}
	}
	return numeric.Convert[float64](x[:n])
}

// compare checks elements relative to the largest one of a tensor.
func (c check) compare(t *testing.T, with string, got, want numbers, factor float64) {
	t.Helper()
	tolerance := c.tolerance
	tolerance = cmp.Or(tolerance, 5e-6)
	one := func(what string, got, want []float64) {
		if len(got) != len(want) {
			t.Fatalf("%s: %d elements; want %d", what, len(got), len(want))
		}
		largest := c.floor
		for _, v := range want {
			largest = max(largest, math.Abs(v))
		}
		worst, at := 0.0, -1
		for i, v := range want {
			if e := math.Abs(got[i] - v); !(e <= worst) {
				worst, at = e, i
			}
		}
		if at >= 0 && !(worst <= factor*tolerance*largest) {
			t.Errorf("%s, element %d: %v; want %v as in %s, within %.1e of %v", what, at, got[at], want[at], with,
				factor*tolerance, largest)
		}
		if testing.Verbose() && with == "float64" {
			t.Logf("%s: largest error %.1e of %.3g", what, worst/max(largest, 1e-30), largest)
		}
	}
	one("value", got.out, want.out)
	for i, v := range want.din {
		if v != nil {
			one(fmt.Sprint("gradient of input ", i), got.din[i], v)
		}
	}
}

// same checks that a second run gave the same bits for all gradients in it.
func (c check) same(t *testing.T, all, again numbers) {
	t.Helper()
	if !slices.Equal(all.out, again.out) {
		t.Errorf("the value differs between runs")
	}
	for i, v := range again.din {
		if v != nil && !slices.Equal(all.din[i], v) {
			t.Errorf("the gradient of input %d differs between runs", i)
		}
	}
}

func runAll(t *testing.T, list []check) {
	for _, c := range list {
		t.Run(c.name, c.run)
	}
}
