//go:build gpu

package kernels_test

import (
	"fmt"
	"testing"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/graph/vulkan"
	"github.com/unravel-ml/unravel/internal/device/kernels"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/losses"
)

func TestCosineRegression(t *testing.T) {
	var list []check
	for _, s := range []struct {
		rows, columns int
		spread        float64
	}{{2, 2, 1}, {64, 128, 1}, {10, 7, 1000}, {4, 3, 1e-13}} { // the last norms are below their bound
		list = append(list, check{
			name:   fmt.Sprint(s),
			inputs: []input{in(s.rows, s.columns).wide(s.spread), in(s.rows, s.columns).wide(s.spread).constant()},
			build: func(in []*gorgonia.Node) (*gorgonia.Node, error) {
				return losses.CosineRegression(in[0], in[1])
			},
			forward: func(t *vulkan.Tape, in []vulkan.Buffer, out vulkan.Buffer) {
				kernels.CosineRegression(t, in[0], in[1], out, s.rows, s.columns)
			},
			backward: func(t *vulkan.Tape, in []vulkan.Buffer, _, dout vulkan.Buffer, din []vulkan.Buffer) {
				kernels.CosineRegressionGradient(t, in[0], in[1], dout, din[0], s.rows, s.columns)
			},
		})
	}
	// Predictions close to their targets: the loss is far below the rounding error of 2.
	near := list[1]
	near.name = "near"
	near.inputs = []input{in(2, 4).of(1, 2, 3, 4, 1, 2, 3, 4.001), in(2, 4).of(1, 2, 3, 4, 1, 2, 3, 4).constant()}
	near.forward = func(t *vulkan.Tape, in []vulkan.Buffer, out vulkan.Buffer) {
		kernels.CosineRegression(t, in[0], in[1], out, 2, 4)
	}
	near.backward = nil
	near.tolerance = 1e-3
	list = append(list, near)
	runAll(t, list)
}

func TestCrossCorrelation(t *testing.T) {
	var list []check
	for _, s := range []struct {
		n, d   int
		lambda float64
	}{{8, 3, 0.0051}, {64, 100, 0.0051}, {5, 1, 1}, {16, 600, 0.1}} {
		shape := kernels.NormShape{Sets: 2, Rows: s.n, Channels: s.d, Epsilon: 1e-5}
		standardised := func(t *vulkan.Tape, x vulkan.Buffer) (moments, z vulkan.Buffer) {
			moments, z = t.Scratch(4*s.d), t.Scratch(2*s.n*s.d)
			kernels.Moments(t, x, moments, shape)
			kernels.Norm(t, x, moments, vulkan.Buffer{}, vulkan.Buffer{}, z, shape)
			return moments, z
		}
		list = append(list, check{
			name:   fmt.Sprint(s),
			inputs: []input{in(2*s.n, s.d)},
			build: func(in []*gorgonia.Node) (*gorgonia.Node, error) {
				return losses.CrossCorrelation(in[0], s.lambda)
			},
			forward: func(t *vulkan.Tape, in []vulkan.Buffer, out vulkan.Buffer) {
				_, z := standardised(t, in[0])
				kernels.CorrelationPenalty(t, z, out, s.lambda, s.n, s.d)
			},
			backward: func(t *vulkan.Tape, in []vulkan.Buffer, _, dout vulkan.Buffer, din []vulkan.Buffer) {
				moments, z := standardised(t, in[0])
				dz, none := t.Scratch(2*s.n*s.d), vulkan.Buffer{}
				kernels.CorrelationPenaltyGradient(t, z, dout, dz, s.lambda, s.n, s.d)
				kernels.NormGradient(t, in[0], moments, none, z, dz, din[0], none, none, shape)
			},
		})
	}
	runAll(t, list)
}

func TestInfoNCE(t *testing.T) {
	var list []check
	for _, s := range []struct {
		n, d, m int
		tau     float64
	}{{1, 1, 1, 1}, {32, 16, 100, 0.07}, {5, 3, 700, 0.2}, {3, 8, 20, 10}} {
		list = append(list, check{
			name:   fmt.Sprint(s),
			inputs: []input{in(s.n, s.d).wide(0.5), in(s.n, s.d).wide(0.5), in(s.d, s.m).wide(0.5).constant()},
			build: func(in []*gorgonia.Node) (*gorgonia.Node, error) {
				return losses.InfoNCE(in[0], in[1], in[2], s.tau)
			},
			forward: func(t *vulkan.Tape, in []vulkan.Buffer, out vulkan.Buffer) {
				kernels.InfoNCE(t, in[0], in[1], in[2], out, s.tau, s.n, s.d, s.m)
			},
			backward: func(t *vulkan.Tape, in []vulkan.Buffer, _, dout vulkan.Buffer, din []vulkan.Buffer) {
				kernels.InfoNCEGradient(t, in[0], in[1], in[2], dout, din[0], din[1], s.tau, s.n, s.d, s.m)
			},
			tolerance: 2e-5,
		})
	}
	runAll(t, list)
}

func TestEnqueue(t *testing.T) {
	d := open(t)
	const n, width, capacity = 3, 2, 5
	queue, next := upload(t, d, zeros(width*capacity)), upload(t, d, []float32{3})
	keys, tape := upload(t, d, []float32{1, 2, 3, 4, 5, 6}), d.NewTape()
	defer tape.Close()
	kernels.Enqueue(tape, keys, queue, next, n, width, capacity)
	kernels.Enqueue(tape, keys, queue, next, n, width, capacity)
	play(t, tape)
	// First columns 3, 4 and 0 are written, then 1, 2 and 3.
	must.EqualSlices(t, download(t, d, queue, width*capacity), []float32{5, 1, 3, 5, 3, 6, 2, 4, 6, 4}, "the queue is")
	if got := download(t, d, next, 1); got[0] != 4 {
		t.Errorf("the oldest column is %v; want 4", got[0])
	}
}
