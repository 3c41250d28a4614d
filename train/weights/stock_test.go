package weights_test

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/layer"
	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/models"
	"github.com/unravel-ml/unravel/train/weights"
)

// own is another module's model: an encoder of Gorgonia operations.
type own struct {
	params *nn.Params
	width  int
	encode func(g *nn.Graph, images *gorgonia.Node) (*gorgonia.Node, error)
}

func (m *own) Params() *nn.Params             { return m.params }
func (m *own) Objectives() []models.Objective { return nil }
func (m *own) Spaces() []models.Space         { return []models.Space{{Name: "euclidean", Width: m.width}} }
func (m *own) Build(*nn.Graph, models.Objective, int, int) (*models.Program, error) {
	return nil, errors.New("it is not trained")
}
func (m *own) Encode(g *nn.Graph, images *gorgonia.Node) (*gorgonia.Node, error) {
	return m.encode(g, images)
}

// chain applies functions in sequence.
type chain struct {
	x   *gorgonia.Node
	err error
}

func (c *chain) then(f func(x *gorgonia.Node) (*gorgonia.Node, error)) *chain {
	if c.err == nil {
		c.x, c.err = f(c.x)
	}
	return c
}

// node returns the node of a parameter or of an operation that cannot fail.
func node(n *gorgonia.Node, err error) *gorgonia.Node {
	if err != nil {
		panic(err)
	}
	return n
}

// ownEncoders are networks of stock operations on 8x8 images with 3 channels.
func ownEncoders() map[string]func(g *nn.Graph, x *gorgonia.Node) (*gorgonia.Node, error) {
	param := func(g *nn.Graph, name string, shape ...int) *gorgonia.Node {
		return node(g.Param(name, shape, nn.FanInUniform))
	}
	positive := func(x *gorgonia.Node) *gorgonia.Node { // above 1.5
		return node(gorgonia.Add(node(gorgonia.Square(x)), gorgonia.NewConstant(float32(1.5))))
	}
	rows := func(g *nn.Graph, x *gorgonia.Node, width int) *gorgonia.Node { // [N, width]
		x = node(gorgonia.Reshape(x, tensor.Shape{x.Shape()[0], 192}))
		return node(gorgonia.Mul(x, param(g, "in", 192, width)))
	}
	all := map[string]func(g *nn.Graph, x *gorgonia.Node) (*gorgonia.Node, error){
		"convolution": func(g *nn.Graph, x *gorgonia.Node) (*gorgonia.Node, error) {
			n := x.Shape()[0]
			c := chain{x: x}
			return c.then(func(x *gorgonia.Node) (*gorgonia.Node, error) { return gorgonia.Transpose(x, 0, 3, 1, 2) }).
				then(func(x *gorgonia.Node) (*gorgonia.Node, error) {
					return gorgonia.Conv2d(x, param(g, "filters", 6, 3, 3, 3), tensor.Shape{3, 3}, []int{1, 1}, []int{1, 1}, []int{1, 1})
				}).then(gorgonia.Rectify).
				then(func(x *gorgonia.Node) (*gorgonia.Node, error) {
					return gorgonia.MaxPool2D(x, tensor.Shape{2, 2}, []int{0, 0}, []int{2, 2})
				}).then(func(x *gorgonia.Node) (*gorgonia.Node, error) { return gorgonia.Reshape(x, tensor.Shape{n, 96}) }).
				then(func(x *gorgonia.Node) (*gorgonia.Node, error) { return gorgonia.Mul(x, param(g, "out", 96, 4)) }).
				then(func(x *gorgonia.Node) (*gorgonia.Node, error) {
					return gorgonia.BroadcastAdd(x, param(g, "bias", 1, 4), nil, []byte{0})
				}).x, c.err
		},
		"residual block": func(g *nn.Graph, x *gorgonia.Node) (*gorgonia.Node, error) {
			h, err := nn.Dense(g, node(graph.Flatten(x)), "first", 6, graph.Tanh)
			if err != nil {
				return nil, err
			}
			y, err := nn.Dense(g, h, "second", 6, graph.ReLU)
			if err != nil {
				return nil, err
			}
			if y, err = graph.Add(y, h); err != nil {
				return nil, err
			}
			return graph.ConcatColumns(y, node(graph.SliceColumns(h, 1, 3)), node(graph.StopGradient(node(graph.Scale(2, h)))))
		},
		"padding of a sequence": func(g *nn.Graph, x *gorgonia.Node) (*gorgonia.Node, error) { // height and width have separate padding
			c := chain{x: node(gorgonia.Reshape(x, tensor.Shape{x.Shape()[0], 1, 16, 12}))}
			return c.then(func(x *gorgonia.Node) (*gorgonia.Node, error) {
				return nn.Conv(g, x, "down", nn.ConvOptions{Out: 5, Kernel: 3, Stride: 2})
			}).then(func(x *gorgonia.Node) (*gorgonia.Node, error) {
				return nn.Conv(g, x, "wide", nn.ConvOptions{Out: 3, Kernel: 5})
			}).then(func(x *gorgonia.Node) (*gorgonia.Node, error) {
				return nn.ConvTranspose(g, x, "up", nn.ConvOptions{Out: 2, Kernel: 3, Stride: 2})
			}).then(graph.Flatten).x, c.err
		},
		"softmax and sums": func(g *nn.Graph, x *gorgonia.Node) (*gorgonia.Node, error) {
			h := node(gorgonia.SoftMax(rows(g, x, 6), 1))
			sum := node(gorgonia.Sum(node(gorgonia.HadamardProd(h, h)), 1)) // [N]
			sum = node(gorgonia.Reshape(sum, tensor.Shape{x.Shape()[0], 1}))
			most := node(gorgonia.Reshape(node(gorgonia.Max(h, 1)), tensor.Shape{x.Shape()[0], 1}))
			wide, _, err := gorgonia.Broadcast(sum, h, gorgonia.NewBroadcastPattern([]byte{1}, nil))
			if err != nil {
				return nil, err
			}
			return gorgonia.Concat(1, node(gorgonia.HadamardDiv(h, wide)), most)
		},
		"products": func(g *nn.Graph, x *gorgonia.Node) (*gorgonia.Node, error) {
			h := rows(g, x, 5)
			v := node(gorgonia.Mul(h, param(g, "vector", 5))) // [N]
			v = node(gorgonia.Reshape(v, tensor.Shape{x.Shape()[0], 1}))
			back := node(gorgonia.Mul(h, node(gorgonia.Transpose(param(g, "other", 3, 5), 1, 0))))
			return gorgonia.Concat(1, node(gorgonia.Sub(back, gorgonia.NewConstant(float32(0.25)))), v)
		},
	}
	tenth := gorgonia.NewConstant(float32(0.1))
	all["power"] = func(g *nn.Graph, x *gorgonia.Node) (*gorgonia.Node, error) {
		return gorgonia.Pow(positive(rows(g, x, 5)), tenth)
	}
	all["logarithm of softmax"] = func(g *nn.Graph, x *gorgonia.Node) (*gorgonia.Node, error) {
		return gorgonia.LogSoftMax(rows(g, x, 6), 1)
	}
	for name, f := range map[string]func(a, b *gorgonia.Node, same bool) (*gorgonia.Node, error){
		"less": gorgonia.Lt, "greater": gorgonia.Gt, "at most": gorgonia.Lte, "at least": gorgonia.Gte,
	} {
		all["comparison "+name] = func(g *nn.Graph, x *gorgonia.Node) (*gorgonia.Node, error) {
			return f(node(gorgonia.Tanh(rows(g, x, 5))), tenth, true)
		}
	}
	for name, f := range map[string]func(*gorgonia.Node) (*gorgonia.Node, error){
		"abs": gorgonia.Abs, "sign": gorgonia.Sign, "ceil": gorgonia.Ceil, "floor": gorgonia.Floor, "sin": gorgonia.Sin, "cos": gorgonia.Cos,
		"exp": gorgonia.Exp, "ln": gorgonia.Log, "log2": gorgonia.Log2, "neg": gorgonia.Neg, "square": gorgonia.Square, "sqrt": gorgonia.Sqrt,
		"inv": gorgonia.Inverse, "invSqrt": gorgonia.InverseSqrt, "cube": gorgonia.Cube, "tanh": gorgonia.Tanh, "sigmoid": gorgonia.Sigmoid,
		"log1p": gorgonia.Log1p, "expm1": gorgonia.Expm1, "softplus": gorgonia.Softplus,
	} {
		all["function "+name] = func(g *nn.Graph, x *gorgonia.Node) (*gorgonia.Node, error) {
			return f(positive(rows(g, x, 5)))
		}
	}
	return all
}

// ownCase is a test case of a custom encoder. Its graph determines the width of its code.
func ownCase(t *testing.T, name string, encode func(g *nn.Graph, x *gorgonia.Node) (*gorgonia.Node, error)) *testCase {
	t.Helper()
	m := &own{params: nn.NewParams(1), encode: encode}
	g := nn.NewGraph(m.params)
	in := must.Get(g.Input("images", 2, 8, 8, 3))(t)
	out, err := encode(g, in)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	m.width = out.Shape()[1]
	disturb(m.params)
	return &testCase{name, weights.Source{Model: m, Data: models.Data{Height: 8, Width: 8, Channels: 3}}}
}

// Encoders of Gorgonia's operations, also with skip connections, can be exported.
func TestStockOperations(t *testing.T) {
	var list []exported
	for name, encode := range ownEncoders() {
		c := ownCase(t, name, encode)
		list = append(list, c.exports(t)...)
	}
	slices.SortFunc(list, func(a, b exported) int { return strings.Compare(a.name, b.name) })
	for i, d := range runONNX(t, needRuntime(t), list) {
		if !(d <= 1e-5) {
			t.Errorf("%s: differs by %.2g of its scale, want at most 1e-5", list[i].name, d)
		}
	}
}

// Errors name the operations that cannot be exported.
func TestNoTranslation(t *testing.T) {
	dense := func(g *nn.Graph, x *gorgonia.Node) *gorgonia.Node {
		return node(nn.Dense(g, node(graph.Flatten(x)), "net/dense", 4, graph.Linear))
	}
	for name, c := range map[string]struct {
		encode func(g *nn.Graph, x *gorgonia.Node) (*gorgonia.Node, error)
		want   string
	}{
		"ours": {func(g *nn.Graph, x *gorgonia.Node) (*gorgonia.Node, error) {
			return graph.SliceRows(dense(g, x), 0, 1)
		}, `encoder: the operation "slice rows" has no translation to ONNX`},
		"Gorgonia's": {func(g *nn.Graph, x *gorgonia.Node) (*gorgonia.Node, error) {
			return gorgonia.Dropout(dense(g, x), 0.5)
		}, "has no translation to ONNX"},
		"moments of the batch": {func(g *nn.Graph, x *gorgonia.Node) (*gorgonia.Node, error) {
			h := dense(g, x)
			return layer.BatchNorm(h, node(layer.BatchMoments(h, 1)), nil, nil, layer.NormOptions{Epsilon: 1e-5})
		}, `the operation "batch moments" has no translation to ONNX`},
		"rows of an input": {func(g *nn.Graph, x *gorgonia.Node) (*gorgonia.Node, error) {
			h := dense(g, x)
			return graph.Add(h, node(g.Input("noise", h.Shape()...)))
		}, `the input "noise" has a row for each image, (2, 4); want a shape that does not depend on the number of images`},
		"another network": {func(g *nn.Graph, x *gorgonia.Node) (*gorgonia.Node, error) {
			if h := dense(g, x); x.Shape()[0] == 2 {
				return h, nil
			}
			return graph.NormaliseRows(dense(g, x))
		}, "want a network that does not depend on their number"},
		"no images": {func(g *nn.Graph, x *gorgonia.Node) (*gorgonia.Node, error) {
			return g.Input("constant", 2, 3)
		}, "the output does not depend on the images"},
	} {
		m := &own{nn.NewParams(1), 4, c.encode}
		s := weights.Source{Model: m, Data: models.Data{Height: 8, Width: 8, Channels: 3}}
		var b bytes.Buffer
		must.ErrorOf(s.WriteONNX(&b, weights.Encoder, weights.Native))(t, c.want, name)
	}
	s := weights.Source{Model: &own{nn.NewParams(1), 4, nil}}
	must.ErrorOf(s.WriteONNX(nil, weights.Decoder, weights.Native))(t, "the model has no decoder; want [encoder]")
	must.ErrorOf(s.WriteONNX(nil, weights.Encoder, "nhwc"))(t, `unknown layout "nhwc"; want unravel or pytorch`)
}
