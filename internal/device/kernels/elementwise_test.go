//go:build gpu

package kernels_test

import (
	"fmt"
	"math"
	"testing"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/layer"
	"github.com/unravel-ml/unravel/graph/vulkan"
	"github.com/unravel-ml/unravel/internal/device/kernels"
	"github.com/unravel-ml/unravel/internal/kernel"
	"github.com/unravel-ml/unravel/internal/numeric"
)

func TestActivate(t *testing.T) {
	var list []check
	for i, name := range kernel.ActivationNames() {
		f := kernel.Activation(i)
		n := 1 + 257*i
		list = append(list, check{
			name:   name,
			inputs: []input{in(n).wide(5)},
			build: func(in []*gorgonia.Node) (*gorgonia.Node, error) {
				return graph.Activate(in[0], graph.Activation(i))
			},
			forward: func(t *vulkan.Tape, in []vulkan.Buffer, out vulkan.Buffer) {
				kernels.Activate(t, in[0], out, f, n)
			},
			backward: func(t *vulkan.Tape, in []vulkan.Buffer, out, dout vulkan.Buffer, din []vulkan.Buffer) {
				at := out
				if !f.FromValue() {
					at = in[0]
				}
				kernels.ActivateGradient(t, at, dout, din[0], f, n)
			},
			tolerance: 1e-6,
		})
	}
	list = append(list, check{
		name:    "exp",
		inputs:  []input{in(300).wide(5)},
		build:   func(in []*gorgonia.Node) (*gorgonia.Node, error) { return graph.Exp(in[0]) },
		forward: func(t *vulkan.Tape, in []vulkan.Buffer, out vulkan.Buffer) { kernels.Exp(t, in[0], out, 300) },
		backward: func(t *vulkan.Tape, in []vulkan.Buffer, out, dout vulkan.Buffer, din []vulkan.Buffer) {
			kernels.Multiply(t, dout, out, din[0], 300)
		},
		tolerance: 1e-6,
	})
	runAll(t, list)
}

func TestActivationTangent(t *testing.T) {
	var list []check
	for i, name := range kernel.ActivationNames()[1:] {
		f := kernel.Activation(i + 1)
		n := 1 + 257*i
		at := in(n).wide(5)
		if f == kernel.SigmoidActivation || f == kernel.TanhActivation {
			at = in(n) // a value of the activation
		}
		if f == kernel.ReLUActivation || f == kernel.LeakyActivation {
			at = at.constant()
		}
		list = append(list, check{
			name:   name,
			inputs: []input{at, in(n)},
			build: func(in []*gorgonia.Node) (*gorgonia.Node, error) {
				return graph.ActivationTangent(in[0], in[1], graph.Activation(f))
			},
			forward: func(t *vulkan.Tape, in []vulkan.Buffer, out vulkan.Buffer) {
				kernels.ActivateGradient(t, in[0], in[1], out, f, n)
			},
			backward: func(t *vulkan.Tape, in []vulkan.Buffer, _, dout vulkan.Buffer, din []vulkan.Buffer) {
				if !din[0].IsZero() {
					kernels.ActivateCurvature(t, in[0], in[1], dout, din[0], f, n)
				}
				if !din[1].IsZero() {
					kernels.ActivateGradient(t, in[0], dout, din[1], f, n)
				}
			},
			tolerance: 2e-6,
		})
	}
	runAll(t, list)
}

// Activations have a small error relative to each value, from the smallest to the largest numbers.
func TestActivateAccuracy(t *testing.T) {
	d := open(t)
	var x []float64
	for v := 1e-30; v < 1e30; v *= 1.7 {
		x = append(x, float64(float32(v)), -float64(float32(v)))
	}
	for v := -20.0; v < 20; v += 0.0371 {
		x = append(x, float64(float32(v)))
	}
	x = append(x, 0, math.Copysign(0, -1), 88, -88, -103, math.MaxFloat32, -math.MaxFloat32)
	for i, name := range kernel.ActivationNames() {
		f := kernel.Activation(i)
		want := make([]float64, len(x))
		numeric.Activate(f, want, x)
		at, slopes, ones := want, make([]float64, len(x)), make([]float64, len(x))
		for i := range ones {
			ones[i] = 1
		}
		if at = x; f.FromValue() {
			at = numeric.Convert[float64](numeric.Convert[float32](want))
		}
		numeric.ActivationGradient(f, slopes, ones, at)
		y, dx := blank(t, d, len(x)), blank(t, d, len(x))
		tape := d.NewTape()
		kernels.Activate(tape, upload(t, d, numeric.Convert[float32](x)), y, f, len(x))
		single := numeric.Convert[float32, float64]
		kernels.ActivateGradient(tape, upload(t, d, single(at)), upload(t, d, single(ones)), dx, f, len(x))
		play(t, tape)
		for _, c := range []struct {
			what      string
			got, want []float64
			absolute  float64 // error due to cancellation
		}{{"value", result(t, d, name, y, len(x)), want, 1e-36}, {"derivative", result(t, d, name, dx, len(x)), slopes,
			1e-6}} {
			for i, w := range c.want {
				if g := c.got[i]; !(math.Abs(g-w) <= 2e-5*math.Abs(w)+c.absolute) && g != float64(float32(w)) {
					t.Errorf("%s, %s at %v: %v; want %v", name, c.what, x[i], g, w)
				}
			}
		}
		tape.Close()
	}
}

func TestElementwise(t *testing.T) {
	const n = 777
	runAll(t, []check{
		{
			name:   "weighted sum",
			inputs: []input{in(n), in(n), in(n)},
			build: func(in []*gorgonia.Node) (*gorgonia.Node, error) {
				return graph.WeightedSum([]float64{0.5, -2, 3}, in...)
			},
			forward: func(t *vulkan.Tape, in []vulkan.Buffer, out vulkan.Buffer) {
				kernels.WeightedSum(t, []float64{0.5, -2, 3}, in, out, n)
			},
			backward: func(t *vulkan.Tape, in []vulkan.Buffer, out, dout vulkan.Buffer, din []vulkan.Buffer) {
				for i, w := range []float64{0.5, -2, 3} {
					if !din[i].IsZero() {
						kernels.Scale(t, w, dout, din[i], n)
					}
				}
			},
			tolerance: 1e-6,
		},
		{
			name:    "sum of scalars",
			inputs:  []input{in(), in()},
			build:   func(in []*gorgonia.Node) (*gorgonia.Node, error) { return graph.Add(in[0], in[1]) },
			forward: func(t *vulkan.Tape, in []vulkan.Buffer, out vulkan.Buffer) { kernels.Add(t, in[0], in[1], out, 1) },
		},
		{
			name:    "dropout",
			inputs:  []input{in(n), in(n).of(0, 2, 0, 0, 2).constant()},
			build:   func(in []*gorgonia.Node) (*gorgonia.Node, error) { return layer.Dropout(in[0], in[1]) },
			forward: func(t *vulkan.Tape, in []vulkan.Buffer, out vulkan.Buffer) { kernels.Multiply(t, in[0], in[1], out, n) },
			backward: func(t *vulkan.Tape, in []vulkan.Buffer, out, dout vulkan.Buffer, din []vulkan.Buffer) {
				kernels.Multiply(t, dout, in[1], din[0], n)
			},
		},
	})
}

func TestCombine(t *testing.T) {
	d := open(t)
	x, y := make([]float32, 100), make([]float32, 100)
	for i := range x {
		x[i], y[i] = float32(i)-50, float32(i)+1
	}
	bx, by := upload(t, d, x), upload(t, d, y)
	for name, c := range map[string]struct {
		record func(t *vulkan.Tape, z vulkan.Buffer)
		want   func(x, y float32) float32
	}{
		"line": {func(t *vulkan.Tape, z vulkan.Buffer) { kernels.Line(t, 2, bx, 3, z, 100) }, func(x,
			y float32) float32 {
			return 2*x + 3
		}},
		"scale by": {func(t *vulkan.Tape, z vulkan.Buffer) { kernels.ScaleBy(t, 0.5, by, bx, z, 100) }, func(x,
			_ float32) float32 {
			return x / 2
		}},
		"in place": {func(t *vulkan.Tape, z vulkan.Buffer) {
			kernels.Copy(t, bx, z, 100)
			kernels.Mix(t, 2, z, 1, by, z, 100)
		}, func(x, y float32) float32 { return 2*x + y }},
	} {
		tape, z := d.NewTape(), blank(t, d, 100)
		c.record(tape, z)
		play(t, tape)
		for i, g := range result(t, d, name, z, 100) {
			if w := float64(c.want(x[i], y[i])); !(math.Abs(g-w) <= 1e-6*math.Abs(w)) {
				t.Errorf("%s of %v and %v: %v; want %v", name, x[i], y[i], g, w)
			}
		}
		tape.Close()
	}
}

func TestCopies(t *testing.T) {
	columns := func(rows, total, from, to int) check {
		return check{
			name:   fmt.Sprint("columns ", from, " to ", to, " of ", total),
			inputs: []input{in(rows, total)},
			build:  func(in []*gorgonia.Node) (*gorgonia.Node, error) { return graph.SliceColumns(in[0], from, to) },
			forward: func(t *vulkan.Tape, in []vulkan.Buffer, out vulkan.Buffer) {
				kernels.CopyColumns(t, out, 0, to-from, in[0], from, total, to-from, rows)
			},
			backward: func(t *vulkan.Tape, in []vulkan.Buffer, out, dout vulkan.Buffer, din []vulkan.Buffer) {
				kernels.Scale(t, 0, in[0], din[0], rows*total)
				kernels.CopyColumns(t, din[0], from, total, dout, 0, to-from, to-from, rows)
			},
		}
	}
	shuffle := func(batch, h, w, c, times int) check {
		return check{
			name:   fmt.Sprint("shuffle ", times),
			inputs: []input{in(batch, h, w, c*times*times)},
			build:  func(in []*gorgonia.Node) (*gorgonia.Node, error) { return layer.Shuffle(in[0], times) },
			forward: func(t *vulkan.Tape, in []vulkan.Buffer, out vulkan.Buffer) {
				kernels.Shuffle(t, in[0], out, batch, h, w, c, times, false)
			},
			backward: func(t *vulkan.Tape, in []vulkan.Buffer, out, dout vulkan.Buffer, din []vulkan.Buffer) {
				kernels.Shuffle(t, din[0], dout, batch, h, w, c, times, true)
			},
		}
	}
	runAll(t, []check{
		columns(5, 7, 0, 7), columns(5, 7, 2, 3), columns(300, 9, 4, 9),
		shuffle(2, 3, 4, 5, 2), shuffle(1, 2, 1, 1, 3),
		{
			name:    "concat",
			inputs:  []input{in(6, 2), in(6, 1), in(6, 5)},
			build:   func(in []*gorgonia.Node) (*gorgonia.Node, error) { return graph.ConcatColumns(in...) },
			forward: func(t *vulkan.Tape, in []vulkan.Buffer, out vulkan.Buffer) { concat(t, in, out, false) },
			backward: func(t *vulkan.Tape, in []vulkan.Buffer, out, dout vulkan.Buffer, din []vulkan.Buffer) {
				concat(t, din, dout, true)
			},
		},
		{
			name:   "crop",
			inputs: []input{in(2, 7, 6, 3)},
			build:  func(in []*gorgonia.Node) (*gorgonia.Node, error) { return layer.Crop(in[0], 4, 3) },
			forward: func(t *vulkan.Tape, in []vulkan.Buffer, out vulkan.Buffer) {
				kernels.Crop(t, in[0], out, 2, 7, 6, 3, 4, 3, false)
			},
			backward: func(t *vulkan.Tape, in []vulkan.Buffer, out, dout vulkan.Buffer, din []vulkan.Buffer) {
				kernels.Scale(t, 0, in[0], din[0], 2*7*6*3)
				kernels.Crop(t, din[0], dout, 2, 7, 6, 3, 4, 3, true)
			},
		},
	})
}

// concat copies three matrices with 2, 1 and 5 columns into one matrix, or back.
func concat(t *vulkan.Tape, parts []vulkan.Buffer, whole vulkan.Buffer, back bool) {
	at := 0
	for i, w := range []int{2, 1, 5} {
		switch {
		case !back:
			kernels.CopyColumns(t, whole, at, 8, parts[i], 0, w, w, 6)
		case !parts[i].IsZero():
			kernels.CopyColumns(t, parts[i], 0, w, whole, at, 8, w, 6)
		}
		at += w
	}
}
