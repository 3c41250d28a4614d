package losses_test

import (
	"encoding/json"
	"math"
	"os"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/layer"
	"github.com/unravel-ml/unravel/graph/machine"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/npy"
	"github.com/unravel-ml/unravel/internal/numeric"
	"github.com/unravel-ml/unravel/losses"
	"github.com/unravel-ml/unravel/losses/internal/density"
)

// floats adds a node with values in an element type.
func floats(g *gorgonia.ExprGraph, dt tensor.Dtype, name string, values []float64, shape ...int) *gorgonia.Node {
	v := tensor.New(tensor.Of(dt), tensor.WithShape(shape...))
	for i := range v.DataSize() {
		if dt == tensor.Float32 {
			v.Float32s()[i] = float32(values[i])
		} else {
			v.Float64s()[i] = values[i]
		}
	}
	return gorgonia.NewTensor(g, dt, len(shape), gorgonia.WithShape(shape...), gorgonia.WithName(name), gorgonia.WithValue(v))
}

// doubles returns the elements of a node after a run.
func doubles(m *machine.Machine, n *gorgonia.Node) []float64 {
	switch v := m.Value(n).Data().(type) {
	case float64:
		return []float64{v}
	case float32:
		return []float64{float64(v)}
	case []float32:
		return numeric.Convert[float64](v)
	default:
		return v.([]float64)
	}
}

// evaluate runs a scalar node and its gradients.
func evaluate(t testing.TB, loss *gorgonia.Node, wrt ...*gorgonia.Node) (value float64, gradients [][]float64) {
	t.Helper()
	grads := must.Get(gorgonia.Grad(loss, wrt...))(t)
	m, err := machine.New(loss.Graph(), append(grads, loss)...)
	if err == nil {
		err = m.RunAll()
	}
	must.OK(t, err)
	for _, g := range grads {
		gradients = append(gradients, doubles(m, g))
	}
	return doubles(m, loss)[0], gradients
}

// turned returns the transpose of a matrix [rows, columns].
func turned(x []float64, rows, columns int) []float64 {
	y := make([]float64, len(x))
	for i := range rows {
		for j := range columns {
			y[j*rows+i] = x[i*columns+j]
		}
	}
	return y
}

// TestScoreMatchingGolden has values and gradients from double backward passes; see testdata/README.md.
func TestScoreMatchingGolden(t *testing.T) {
	type quantity struct {
		Value     json.RawMessage
		Tolerance float64
	}
	var expected map[string]map[string]quantity
	b, err := os.ReadFile("testdata/ebm_dsm/expected.json")
	if err == nil {
		err = json.Unmarshal(b, &expected)
	}
	must.OK(t, err)
	read := func(name string) []float64 {
		a := must.Get(npy.ReadFile[float64]("testdata/ebm_dsm/" + name + ".npy"))(t)
		return a.Data
	}
	const rows, pixels, hidden, width = 3, 16, 6, 5
	cases := 0
	for name, c := range map[string]struct {
		a     graph.Activation
		sigma float64
	}{"leaky_relu_0.2_sigma0.1": {graph.LeakyReLU, 0.1}, "leaky_relu_0.2_sigma0.01": {graph.LeakyReLU, 0.01},
		"softplus_sigma0.1": {graph.Softplus, 0.1}, "softplus_sigma0.01": {graph.Softplus, 0.01}} {
		for _, dt := range []tensor.Dtype{tensor.Float64, tensor.Float32} {
			g := gorgonia.NewGraph()
			w1 := floats(g, dt, "W1", turned(read("W1"), hidden, pixels), pixels, hidden)
			b1 := floats(g, dt, "b1", read("b1"), hidden)
			w2 := floats(g, dt, "W2", turned(read("W2"), width, hidden), hidden, width)
			x, noise := floats(g, dt, "x", read("x"), rows, 4, 4, 1), floats(g, dt, "noise", read("noise"), rows, 4, 4, 1)
			loss := must.Get(losses.ScoreMatching(func(y *gorgonia.Node) (*gorgonia.Node, error) {
				h, err := graph.Flatten(y)
				if err == nil {
					h, err = layer.Dense(h, w1, b1, c.a)
				}
				if err != nil {
					return nil, err
				}
				return layer.Dense(h, w2, floats(g, dt, "b2", make([]float64, width), width), graph.Linear)
			}, nil, nil, x, noise, c.sigma))(t)
			wrt := []*gorgonia.Node{w1, w2}
			if c.a == graph.Softplus {
				wrt = append(wrt, b1)
			}
			value, gradients := evaluate(t, loss, wrt...)
			got := map[string][]float64{"loss_sum_over_pixels": {value}, "grad_W1": turned(gradients[0], pixels, hidden),
				"grad_W2": turned(gradients[1], hidden, width), "grad_b1": make([]float64, hidden)}
			if c.a == graph.Softplus {
				got["grad_b1"] = gradients[2]
			}
			for what, list := range got {
				q, ok := expected[name][what]
				if !ok {
					t.Fatalf("%s has no %s", name, what)
				}
				reference, most := flat(t, q.Value), 0.0
				for _, v := range reference {
					most = max(most, math.Abs(v))
				}
				tolerance := q.Tolerance
				if dt == tensor.Float32 {
					tolerance = max(1e-5*most, 1e-9)
				} else {
					tolerance = min(tolerance, 1e-5*most) // some gradients are as small as the tolerance
				}
				if len(list) != len(reference) {
					t.Fatalf("%s has %d elements; want %d", what, len(list), len(reference))
				}
				for i, v := range list {
					if !(math.Abs(v-reference[i]) <= tolerance) {
						t.Errorf("%s, %v, %s: element %d is %v; want %v within %v", name, dt, what, i, v, reference[i], tolerance)
					}
				}
				cases++
			}
		}
	}
	must.Equal(t, cases, 32, "comparisons")
}

// flat returns the numbers of a JSON array of any depth.
func flat(t *testing.T, raw json.RawMessage) (list []float64) {
	t.Helper()
	var v any
	must.OK(t, json.Unmarshal(raw, &v))
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case float64:
			list = append(list, v)
		case []any:
			for _, x := range v {
				walk(x)
			}
		}
	}
	walk(v)
	return list
}

// A linear energy has the same slope w everywhere. The optimum is w = 0, where the loss is half the squared noise:
// sigma^2 HWC/2 on average.
func TestScoreMatchingOfLinearEnergy(t *testing.T) {
	const rows, pixels, sigma = 2000, 12, 0.1
	r := rng.New(1, "linear")
	draw := func(n int) []float64 {
		x := make([]float64, n)
		for i := range x {
			x[i] = r.NormFloat64()
		}
		return x
	}
	x, noise := draw(rows*pixels), draw(rows*pixels)
	at := func(w []float64) (float64, []float64) {
		g := gorgonia.NewGraph()
		weights := floats(g, tensor.Float64, "w", w, pixels, 1)
		loss, err := losses.ScoreMatching(func(y *gorgonia.Node) (*gorgonia.Node, error) {
			return layer.Dense(y, weights, floats(g, tensor.Float64, "b", []float64{0}, 1), graph.Linear)
		}, nil, nil, floats(g, tensor.Float64, "x", x, rows, pixels), floats(g, tensor.Float64, "noise", noise, rows, pixels), sigma)
		must.OK(t, err)
		value, gradients := evaluate(t, loss, weights)
		return value, gradients[0]
	}
	w := draw(pixels)
	best, _ := at(make([]float64, pixels))
	if want := sigma * sigma * pixels / 2; !(math.Abs(best-want) <= 0.03*want) {
		t.Errorf("the loss at w = 0 is %v; want about %v", best, want)
	}
	value, gradient := at(w)
	for j, slope := range gradient { // of mean |sigma n - sigma^2 w|^2/2
		mean := 0.0
		for i := j; i < len(noise); i += pixels {
			mean += noise[i] / rows
		}
		if want := -sigma * sigma * (sigma*mean - sigma*sigma*w[j]); !(math.Abs(slope-want) <= 1e-12) {
			t.Errorf("gradient %d is %v; want %v", j, slope, want)
		}
	}
	if !(value > best) {
		t.Errorf("the loss is %v at a random w and %v at 0; want more", value, best)
	}
}

// For images N(0, s^2 I) the best energy a |y|^2/2 has a = 1/(s^2 + sigma^2), the inverse variance of noisy images.
func TestScoreMatchingOfGaussian(t *testing.T) {
	long.NotShort(t)
	const rows, pixels, s, sigma = 20000, 4, 0.5, 0.4
	r := rng.New(1, "gaussian")
	x, noise := make([]float64, rows*pixels), make([]float64, rows*pixels)
	for i := range x {
		x[i], noise[i] = s*r.NormFloat64(), r.NormFloat64()
	}
	slopeAt := func(a float64) float64 {
		g := gorgonia.NewGraph()
		factor := floats(g, tensor.Float64, "a", []float64{a}, 1, 1)
		loss, err := losses.ScoreMatching(func(y *gorgonia.Node) (*gorgonia.Node, error) { return halfSquares(y, factor) }, nil, nil,
			floats(g, tensor.Float64, "x", x, rows, pixels), floats(g, tensor.Float64, "noise", noise, rows, pixels), sigma)
		must.OK(t, err)
		_, gradients := evaluate(t, loss, factor)
		return gradients[0][0]
	}
	low, high := 0.1, 20.
	for range 40 { // the loss is a parabola in a
		if mid := (low + high) / 2; slopeAt(mid) < 0 {
			low = mid
		} else {
			high = mid
		}
	}
	if want := 1 / (s*s + sigma*sigma); !(math.Abs(low-want) <= 0.02*want) {
		t.Errorf("the best a is %v; want %v", low, want)
	}
}

// halfSquares returns a |y|^2/2 for each row y of images, [rows, 1].
func halfSquares(y, a *gorgonia.Node) (*gorgonia.Node, error) {
	return rowProducts(y, y, a, 0.5, func(in []*gorgonia.Node, _ *gorgonia.Node, along []*gorgonia.Node) (*gorgonia.Node, error) {
		return rowProducts(in[0], along[0], in[2], 1, nil)
	})
}

type derivative = func(in []*gorgonia.Node, out *gorgonia.Node, along []*gorgonia.Node) (*gorgonia.Node, error)

// rowProducts returns factor a <x, y> for each row, [rows, 1].
func rowProducts(x, y, a *gorgonia.Node, factor float64, tangent derivative) (*gorgonia.Node, error) {
	return graph.Apply(graph.Spec{
		Name:  "row products",
		Key:   graph.Key(factor),
		Shape: func(in []tensor.Shape) (tensor.Shape, error) { return tensor.Shape{in[0][0], 1}, nil },
		New: graph.Bodies(func([]tensor.Shape) products[float32] { return products[float32]{factor} },
			func([]tensor.Shape) products[float64] { return products[float64]{factor} }),
		Tangent: tangent,
	}, x, y, a)
}

type products[T graph.Float] struct{ factor float64 }

func (p products[T]) Forward(in [][]T, out []T) {
	width := len(in[0]) / len(out)
	for row := range out {
		out[row] = T(p.factor) * in[2][0] * T(dotOf(in[0][row*width:][:width], in[1][row*width:]))
	}
}

func (p products[T]) Backward(in [][]T, out, dout []T, din [][]T) {
	width := len(in[0]) / len(out)
	for k := range 2 {
		for i := range din[k] {
			din[k][i] = T(p.factor) * in[2][0] * dout[i/width] * in[1-k][i]
		}
	}
	if din[2] == nil {
		return
	}
	din[2][0] = 0
	for row := range out {
		din[2][0] += T(p.factor) * dout[row] * T(dotOf(in[0][row*width:][:width], in[1][row*width:]))
	}
}

func dotOf[T graph.Float](a, b []T) (sum float64) {
	for i, v := range a {
		sum += float64(v) * float64(b[i])
	}
	return sum
}

// The greatest uniform noise takes a white pixel to 1.
func TestNoised(t *testing.T) {
	for _, dt := range []tensor.Dtype{tensor.Float32, tensor.Float64} {
		g := gorgonia.NewGraph()
		x, noise := floats(g, dt, "x", []float64{0, 1, 0.5}, 1, 3), floats(g, dt, "noise", []float64{2, 0, -4}, 1, 3)
		for name, c := range map[string]struct {
			uniform *gorgonia.Node
			want    []float64
		}{
			"noise alone": {nil, []float64{0.5, 1, -0.5}},
			"dequantised": {floats(g, dt, "uniform", []float64{0.5, 1, 0}, 1, 3), []float64{0.5 + 0.5/256, 1, 255./512 - 1}},
		} {
			y := must.Get(density.Noised(x, noise, c.uniform, 0.25))(t)
			m := must.Get(machine.New(g, y))(t)
			must.OK(t, m.RunAll())
			must.EqualSlices(t, doubles(m, y), c.want, dt, name)
		}
		must.ErrorOf(density.Noised(floats(g, dt, "row", []float64{1, 2}, 2), noise, nil, 1))(t, "shape [rows, ...], got (2)", dt)
		must.ErrorOf(density.Noised(x, nil, nil, 1))(t, "shape [rows, ...], got nothing", dt)
	}
}
