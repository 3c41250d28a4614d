//go:build gpu

package kernels_test

import (
	"fmt"
	"testing"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/graph/layer"
	"github.com/unravel-ml/unravel/graph/vulkan"
	"github.com/unravel-ml/unravel/internal/device/kernels"
)

func TestMoments(t *testing.T) {
	var list []check
	for _, s := range []struct{ parts, rows, channels int }{{1, 1, 1}, {1, 64, 10}, {2, 300, 17}, {3, 5000, 33}} {
		shape := kernels.NormShape{Sets: s.parts, Rows: s.rows, Channels: s.channels}
		list = append(list, check{
			name:   fmt.Sprint(s),
			inputs: []input{in(s.parts*s.rows, s.channels)},
			build: func(in []*gorgonia.Node) (*gorgonia.Node, error) {
				return layer.BatchMoments(in[0], s.parts)
			},
			forward: func(t *vulkan.Tape, in []vulkan.Buffer, out vulkan.Buffer) {
				kernels.Moments(t, in[0], out, shape)
			},
		})
	}
	list = append(list, check{
		name:   "equal elements far from 0",
		inputs: []input{in(700, 3).of(1000.1)},
		build:  func(in []*gorgonia.Node) (*gorgonia.Node, error) { return layer.BatchMoments(in[0], 1) },
		forward: func(t *vulkan.Tape, in []vulkan.Buffer, out vulkan.Buffer) {
			kernels.Moments(t, in[0], out, kernels.NormShape{Sets: 1, Rows: 700, Channels: 3})
		},
		tolerance: 1e-30, // the variance is 0
	})
	runAll(t, list)
}

func TestBatchNorm(t *testing.T) {
	var list []check
	for _, s := range []struct {
		parts, rows, channels int
		affine, relu          bool
	}{{1, 16, 1, true, false}, {1, 64, 10, false, false}, {2, 300, 17, true, true}, {1, 5000, 3, true, true}} {
		shape := kernels.NormShape{Sets: s.parts, Rows: s.rows, Channels: s.channels, Epsilon: 1e-3, ReLU: s.relu}
		c := check{
			name:   fmt.Sprint(s),
			inputs: []input{in(s.parts*s.rows, s.channels)},
			build: func(in []*gorgonia.Node) (*gorgonia.Node, error) {
				moments, err := layer.BatchMoments(in[0], s.parts)
				if err != nil {
					return nil, err
				}
				in = append(in, nil, nil)
				return layer.BatchNorm(in[0], moments, in[1], in[2], layer.NormOptions{Epsilon: 1e-3, ReLU: s.relu})
			},
			forward: func(t *vulkan.Tape, in []vulkan.Buffer, out vulkan.Buffer) {
				in = append(in, vulkan.Buffer{}, vulkan.Buffer{})
				kernels.Norm(t, in[0], vulkan.Buffer{}, in[1], in[2], out, shape)
			},
			backward: func(t *vulkan.Tape, in []vulkan.Buffer, out, dout vulkan.Buffer, din []vulkan.Buffer) {
				moments := t.Scratch(2 * s.parts * s.channels)
				kernels.Moments(t, in[0], moments, shape)
				in, din = append(in, vulkan.Buffer{}), append(din, vulkan.Buffer{}, vulkan.Buffer{})
				kernels.NormGradient(t, in[0], moments, in[1], out, dout, din[0], din[1], din[2], shape)
			},
		}
		if s.affine {
			c.inputs = append(c.inputs, in(s.channels), in(s.channels))
		}
		list = append(list, c)
	}
	runAll(t, list)
}

func TestStandardise(t *testing.T) {
	const rows, channels = 77, 5
	shape := kernels.NormShape{Sets: 1, Rows: rows, Channels: channels, Epsilon: 1e-3, ReLU: true, Given: true}
	runAll(t, []check{{
		name: "given moments",
		inputs: []input{in(rows, channels), in(1, 2, channels).of(0.1, -0.2, 0.3, 0, 0.5, 1, 2, 0.3, 0, 4).constant(),
			in(channels), in(channels)},
		build: func(in []*gorgonia.Node) (*gorgonia.Node, error) {
			return layer.Standardise(in[0], in[1], in[2], in[3], layer.NormOptions{Epsilon: 1e-3, ReLU: true})
		},
		forward: func(t *vulkan.Tape, in []vulkan.Buffer, out vulkan.Buffer) {
			kernels.Norm(t, in[0], in[1], in[2], in[3], out, shape)
		},
		backward: func(t *vulkan.Tape, in []vulkan.Buffer, out, dout vulkan.Buffer, din []vulkan.Buffer) {
			kernels.NormGradient(t, in[0], in[1], in[2], out, dout, din[0], din[2], din[3], shape)
		},
	}})
}

func TestGroupNorm(t *testing.T) {
	var list []check
	for _, s := range []struct {
		batch, pixels, channels, groups int
		affine, relu                    bool
	}{
		{3, 16, 4, 2, true, true},     // group norm
		{2, 300, 17, 17, true, false}, // instance norm
		{5, 1, 300, 1, true, true},    // layer norm of rows
		{2, 9, 6, 1, false, false},    // layer norm of images
		{1, 2, 1, 1, true, false},
	} {
		shape := kernels.NormShape{Sets: s.batch, Rows: s.pixels, Channels: s.channels, Groups: s.groups, Epsilon: 1e-3,
			ReLU: s.relu}
		c := check{
			name:   fmt.Sprint(s),
			inputs: []input{in(s.batch, s.pixels, s.channels)},
			build: func(in []*gorgonia.Node) (*gorgonia.Node, error) {
				in = append(in, nil, nil)
				return layer.GroupNorm(in[0], in[1], in[2], s.groups, layer.NormOptions{Epsilon: 1e-3, ReLU: s.relu})
			},
			forward: func(t *vulkan.Tape, in []vulkan.Buffer, out vulkan.Buffer) {
				in = append(in, vulkan.Buffer{}, vulkan.Buffer{})
				kernels.Norm(t, in[0], vulkan.Buffer{}, in[1], in[2], out, shape)
			},
			backward: func(t *vulkan.Tape, in []vulkan.Buffer, out, dout vulkan.Buffer, din []vulkan.Buffer) {
				in, din = append(in, vulkan.Buffer{}), append(din, vulkan.Buffer{}, vulkan.Buffer{})
				kernels.NormGradient(t, in[0], vulkan.Buffer{}, in[1], out, dout, din[0], din[1], din[2], shape)
			},
		}
		if s.batch*s.pixels*s.channels == 2 {
			c.tolerance = 1e-4 // the terms of the gradient cancel
		}
		if s.affine {
			c.inputs = append(c.inputs, in(s.channels), in(s.channels))
		}
		list = append(list, c)
	}
	runAll(t, list)
}

func TestFollowMoments(t *testing.T) {
	d := open(t)
	for _, count := range []int{1, 2, 640} {
		const sets, channels = 2, 3
		moments := []float32{1, 2, 3, 0.5, 0.25, 2, 4, 5, 6, 1, 0, 3}
		running := []float32{0, 1, 2, 1, 1, 0.5}
		want := append([]float32(nil), running...)
		unbiased := float32(count) / float32(max(count-1, 1))
		for set := range sets {
			for i := range want {
				m := moments[set*6+i]
				if i >= channels {
					if count == 1 {
						continue
					}
					m *= unbiased
				}
				want[i] += 0.1 * (m - want[i])
			}
		}
		b, tape := upload(t, d, running), d.NewTape()
		kernels.FollowMoments(tape, upload(t, d, moments), b, sets, channels, count)
		play(t, tape)
		near(t, fmt.Sprint("count ", count), download(t, d, b, 6), want, 1e-6)
		tape.Close()
	}
}
