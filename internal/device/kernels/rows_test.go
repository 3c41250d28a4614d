//go:build gpu

package kernels_test

import (
	"fmt"
	"testing"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/vulkan"
	"github.com/unravel-ml/unravel/internal/device/kernels"
	"github.com/unravel-ml/unravel/models/latent"
)

func TestNormaliseRows(t *testing.T) {
	var list []check
	for _, s := range []struct {
		rows, columns int
		spread        float64
	}{{1, 1, 1}, {64, 3, 1}, {5, 300, 100}, {4, 2, 1e-7}} { // the last rows are below the least norm
		list = append(list, check{
			name:   fmt.Sprint(s),
			inputs: []input{in(s.rows, s.columns).wide(s.spread)},
			build:  func(in []*gorgonia.Node) (*gorgonia.Node, error) { return graph.NormaliseRows(in[0]) },
			forward: func(t *vulkan.Tape, in []vulkan.Buffer, out vulkan.Buffer) {
				kernels.NormaliseRows(t, in[0], out, s.rows, s.columns)
			},
			backward: func(t *vulkan.Tape, in []vulkan.Buffer, out, dout vulkan.Buffer, din []vulkan.Buffer) {
				kernels.NormaliseRowsGradient(t, in[0], out, dout, din[0], s.rows, s.columns)
			},
		})
	}
	list[0].tolerance = 1 // the gradient of a sign is 0
	runAll(t, list)
}

func TestSoftmax(t *testing.T) {
	var list []check
	for _, logarithms := range []bool{false, true} {
		for _, s := range []struct {
			rows, columns int
			spread        float64
		}{{2, 2, 1}, {64, 10, 5}, {3, 500, 1}, {3, 70, 1000}} {
			list = append(list, check{
				name:   fmt.Sprint(s, logarithms),
				inputs: []input{in(s.rows, s.columns).wide(s.spread)},
				build: func(in []*gorgonia.Node) (*gorgonia.Node, error) {
					if logarithms {
						return graph.LogSoftmaxRows(in[0])
					}
					return graph.SoftmaxRows(in[0])
				},
				forward: func(t *vulkan.Tape, in []vulkan.Buffer, out vulkan.Buffer) {
					kernels.Softmax(t, in[0], out, logarithms, s.rows, s.columns)
				},
				backward: func(t *vulkan.Tape, _ []vulkan.Buffer, out, dout vulkan.Buffer, din []vulkan.Buffer) {
					kernels.SoftmaxGradient(t, out, dout, din[0], logarithms, s.rows, s.columns)
				},
			})
		}
	}
	list[3].tolerance = 2e-5 // probabilities near 1
	runAll(t, list)
}

func TestSphereWalk(t *testing.T) {
	var list []check
	for _, s := range []struct{ steps, rows, columns int }{{1, 1, 2}, {10, 64, 2}, {3, 5, 3}, {4, 3, 200}} {
		list = append(list, check{
			name: fmt.Sprint(s),
			inputs: []input{in(s.rows, s.columns).of(0.5, -0.7, 0.3, 0.1, 0.9), in(s.rows, 1).of(-5, -3, -1, -10),
				in(s.steps, s.rows, s.columns).wide(2).constant()},
			build: func(in []*gorgonia.Node) (*gorgonia.Node, error) { return latent.SphereWalk(in[0], in[1], in[2]) },
			forward: func(t *vulkan.Tape, in []vulkan.Buffer, out vulkan.Buffer) {
				kernels.SphereWalk(t, in[0], in[1], in[2], out, s.steps, s.rows, s.columns)
			},
			backward: func(t *vulkan.Tape, in []vulkan.Buffer, _, dout vulkan.Buffer, din []vulkan.Buffer) {
				kernels.SphereWalkGradient(t, in[0], in[1], in[2], dout, din[0], din[1], s.steps, s.rows, s.columns)
			},
		})
	}
	list[0].tolerance = 1e-4 // the gradient is nearly along the point
	runAll(t, list)
}

func TestInterval(t *testing.T) {
	runAll(t, []check{{
		name:   "-10 to -5",
		inputs: []input{in(300, 1).wide(3)},
		build:  func(in []*gorgonia.Node) (*gorgonia.Node, error) { return latent.Interval(in[0], -10, -5) },
		forward: func(t *vulkan.Tape, in []vulkan.Buffer, out vulkan.Buffer) {
			kernels.Interval(t, in[0], out, -7.5, 2.5, 300)
		},
		backward: func(t *vulkan.Tape, in []vulkan.Buffer, _, dout vulkan.Buffer, din []vulkan.Buffer) {
			kernels.IntervalGradient(t, in[0], dout, din[0], 2.5, 300)
		},
	}})
}
