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
)

func TestDense(t *testing.T) {
	var list []check
	for i, s := range [][3]int{{1, 1, 1}, {2, 3, 5}, {64, 64, 64}, {37, 53, 41}, {100, 7, 10}, {65, 129, 70}, {3, 1000,
		2}, {600, 5, 3}, {1, 700, 33}} {
		list = append(list, dense(s[0], s[1], s[2], graph.Activation(i%7)))
	}
	list = append(list, dense(1024, 17, 20, graph.ReLU), dense(520, 20, 520, graph.Linear))
	runAll(t, list)
}

func dense(m, k, n int, a graph.Activation) check {
	f := kernel.Activation(a)
	return check{
		name:   fmt.Sprint(m, " ", k, " ", n, " ", a),
		inputs: []input{in(m, k), in(k, n).wide(math.Sqrt(3 / float64(k))), in(n)},
		build:  func(in []*gorgonia.Node) (*gorgonia.Node, error) { return layer.Dense(in[0], in[1], in[2], a) },
		forward: func(t *vulkan.Tape, in []vulkan.Buffer, out vulkan.Buffer) {
			kernels.Dense(t, in[0], in[1], in[2], out, f, m, k, n)
		},
		backward: func(t *vulkan.Tape, in []vulkan.Buffer, out, dout vulkan.Buffer, din []vulkan.Buffer) {
			kernels.DenseGradient(t, in[0], in[1], out, dout, din[0], din[1], din[2], f, m, k, n)
		},
	}
}

func TestConv(t *testing.T) {
	var list []check
	for i, c := range []struct {
		batch, h, w, in, out, kernel, stride int
		o                                    layer.ConvOptions
	}{
		{1, 1, 1, 1, 1, 1, 1, layer.ConvOptions{}},
		{2, 8, 8, 3, 16, 4, 2, layer.ConvOptions{}},
		{3, 7, 5, 4, 6, 3, 1, layer.ConvOptions{}},
		{1, 9, 11, 5, 33, 5, 2, layer.ConvOptions{}},
		{2, 6, 6, 2, 3, 2, 1, layer.ConvOptions{}},
		{2, 6, 7, 8, 40, 1, 1, layer.ConvOptions{}},
		{2, 7, 7, 3, 5, 1, 2, layer.ConvOptions{}},
		{2, 8, 8, 3, 5, 3, 2, layer.ConvOptions{Symmetric: true}},
		{2, 9, 8, 3, 5, 3, 2, layer.ConvOptions{Valid: true}},
		{2, 2, 2, 3, 5, 4, 2, layer.ConvOptions{}},    // the kernel is larger than the image
		{1, 1, 40, 6, 4, 5, 1, layer.ConvOptions{}},   // a sequence
		{9, 16, 16, 1, 20, 3, 1, layer.ConvOptions{}}, // the gradient of weights adds parts
		{2, 10, 10, 3, 4, 2, 3, layer.ConvOptions{}},
	} {
		c.o.Stride = c.stride
		c.o.Activation = graph.Activation(i % 7)
		list = append(list, conv(c.batch, c.h, c.w, c.in, c.out, c.kernel, c.o))
	}
	runAll(t, list)
}

func conv(batch, h, w, inC, outC, k int, o layer.ConvOptions) check {
	s := kernel.ConvShape{Batch: batch, InH: h, InW: w, InC: inC, OutC: outC, Kernel: k, Stride: o.Stride}
	if o.Valid {
		s.OutH, s.OutW = (h-k)/s.Stride+1, (w-k)/s.Stride+1
	} else {
		s.OutH, s.OutW = (h+s.Stride-1)/s.Stride, (w+s.Stride-1)/s.Stride
		s.PadH, s.PadW = max((s.OutH-1)*s.Stride+k-h, 0)/2, max((s.OutW-1)*s.Stride+k-w, 0)/2
	}
	if o.Symmetric {
		s.PadH, s.PadW = (k-1)/2, (k-1)/2
	}
	return convolution(s, o, in(k, k, inC, outC), layer.Conv, kernels.Conv, kernels.ConvGradient)
}

func TestConvTranspose(t *testing.T) {
	var list []check
	for i, c := range []struct {
		batch, h, w, in, out, kernel, stride int
		valid                                bool
	}{
		{1, 1, 1, 1, 1, 1, 1, false},
		{2, 4, 4, 16, 3, 4, 2, false},
		{3, 7, 5, 4, 6, 3, 1, false},
		{1, 5, 3, 33, 20, 5, 2, false},
		{2, 3, 4, 3, 5, 3, 2, true},
		{2, 3, 3, 3, 5, 1, 2, false},
		{2, 1, 1, 7, 4, 4, 1, true},
		{2, 3, 3, 3, 5, 2, 3, false},
		{9, 12, 12, 20, 1, 4, 2, false},
	} {
		list = append(list, convTranspose(c.batch, c.h, c.w, c.in, c.out, c.kernel, layer.ConvOptions{Stride: c.stride,
			Valid: c.valid, Activation: graph.Activation(i % 7)}))
	}
	runAll(t, list)
}

func convTranspose(batch, h, w, inC, outC, k int, o layer.ConvOptions) check {
	s := kernel.ConvShape{Batch: batch, InH: h, InW: w, InC: inC, OutC: outC, Kernel: k, Stride: o.Stride}
	if o.Valid {
		s.OutH, s.OutW = (h-1)*s.Stride+k, (w-1)*s.Stride+k
	} else {
		s.OutH, s.OutW = h*s.Stride, w*s.Stride
		s.PadH, s.PadW = max((h-1)*s.Stride+k-s.OutH, 0)/2, max((w-1)*s.Stride+k-s.OutW, 0)/2
	}
	return convolution(s, o, in(k, k, outC, inC), layer.ConvTranspose, kernels.ConvTranspose, kernels.ConvTransposeGradient)
}

func convolution(s kernel.ConvShape, o layer.ConvOptions, w input,
	build func(x, w, bias *gorgonia.Node, o layer.ConvOptions) (*gorgonia.Node, error),
	forward func(t *vulkan.Tape, x, w, bias, y vulkan.Buffer, s kernel.ConvShape, f kernel.Activation),
	backward func(t *vulkan.Tape, x, w, y, dy, dx, dw, db vulkan.Buffer, s kernel.ConvShape, f kernel.Activation)) check {
	f := kernel.Activation(o.Activation)
	return check{
		name:   fmt.Sprint(s.Batch, " ", s.InH, "x", s.InW, "x", s.InC, " ", s.OutC, " ", s.Kernel, "/", o.Stride, " ", o.Activation),
		inputs: []input{in(s.Batch, s.InH, s.InW, s.InC), w.wide(math.Sqrt(3 / float64(s.Kernel*s.Kernel*s.InC))), in(s.OutC)},
		build:  func(in []*gorgonia.Node) (*gorgonia.Node, error) { return build(in[0], in[1], in[2], o) },
		forward: func(t *vulkan.Tape, in []vulkan.Buffer, out vulkan.Buffer) {
			forward(t, in[0], in[1], in[2], out, s, f)
		},
		backward: func(t *vulkan.Tape, in []vulkan.Buffer, out, dout vulkan.Buffer, din []vulkan.Buffer) {
			backward(t, in[0], in[1], out, dout, din[0], din[1], din[2], s, f)
		},
	}
}
