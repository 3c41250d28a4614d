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

// side returns the windows of layer.Pool along a side.
func side(n int, o layer.PoolOptions) kernels.Side {
	s := kernels.Side{Pixels: n, Size: o.Size, Stride: o.Stride}
	if s.Stride == 0 {
		s.Stride = o.Size
	}
	if o.Valid {
		s.Count = (n-o.Size)/s.Stride + 1
		return s
	}
	s.Count = (n + s.Stride - 1) / s.Stride
	s.Before = max((s.Count-1)*s.Stride+o.Size-n, 0) / 2
	return s
}

func pooled(kind layer.PoolKind, batch, h, w, channels int, rows, columns kernels.Side,
	build func(in []*gorgonia.Node) (*gorgonia.Node, error)) check {
	return check{
		name:   fmt.Sprint(kind, " ", batch, " ", channels, " ", rows, columns),
		inputs: []input{in(batch, h, w, channels)},
		build:  build,
		forward: func(t *vulkan.Tape, in []vulkan.Buffer, out vulkan.Buffer) {
			if kind == layer.Max {
				kernels.MaxPool(t, in[0], out, batch, channels, rows, columns)
			} else {
				kernels.AveragePool(t, in[0], out, batch, channels, rows, columns)
			}
		},
		backward: func(t *vulkan.Tape, in []vulkan.Buffer, _, dout vulkan.Buffer, din []vulkan.Buffer) {
			if kind == layer.Max {
				kernels.MaxPoolGradient(t, in[0], dout, din[0], batch, channels, rows, columns)
			} else {
				kernels.AveragePoolGradient(t, dout, din[0], batch, channels, rows, columns)
			}
		},
	}
}

func TestPool(t *testing.T) {
	var list []check
	for _, kind := range []layer.PoolKind{layer.Max, layer.Average} {
		for _, s := range []struct {
			batch, h, w, channels int
			o                     layer.PoolOptions
		}{
			{2, 8, 8, 3, layer.PoolOptions{Size: 2}},
			{1, 7, 5, 4, layer.PoolOptions{Size: 3, Stride: 2}},
			{2, 9, 9, 2, layer.PoolOptions{Size: 3, Stride: 1}},
			{1, 9, 8, 5, layer.PoolOptions{Size: 3, Stride: 2, Valid: true}},
			{3, 5, 7, 1, layer.PoolOptions{Size: 2, Stride: 3}}, // pixels in no window
			{1, 2, 2, 1, layer.PoolOptions{Size: 5, Stride: 1}},
			{1, 1, 1, 1, layer.PoolOptions{Size: 1}},
		} {
			s.o.Kind = kind
			c := pooled(kind, s.batch, s.h, s.w, s.channels, side(s.h, s.o), side(s.w, s.o),
				func(in []*gorgonia.Node) (*gorgonia.Node, error) { return layer.Pool(in[0], s.o) })
			list = append(list, c)
			c.name += " with equal pixels"
			c.inputs = []input{c.inputs[0].of(1, 0, 1, 1, 0, 0, 1)}
			list = append(list, c)
		}
		for _, s := range []struct{ h, w, rows, columns int }{{8, 8, 1, 1}, {7, 5, 3, 2}, {3, 4, 5, 4}} {
			list = append(list, pooled(kind, 2, s.h, s.w, 3, kernels.Side{Pixels: s.h, Count: s.rows},
				kernels.Side{Pixels: s.w, Count: s.columns},
				func(in []*gorgonia.Node) (*gorgonia.Node, error) {
					return layer.AdaptivePool(in[0], kind, s.rows, s.columns)
				}))
		}
	}
	runAll(t, list)
}

func TestUpsample(t *testing.T) {
	var list []check
	for _, smooth := range []bool{false, true} {
		for _, s := range [][5]int{{1, 1, 1, 1, 1}, {2, 4, 3, 5, 2}, {1, 3, 5, 2, 3}, {1, 1, 4, 1, 5}} {
			batch, h, w, channels, times := s[0], s[1], s[2], s[3], s[4]
			list = append(list, check{
				name:   fmt.Sprint(s, smooth),
				inputs: []input{in(batch, h, w, channels)},
				build: func(in []*gorgonia.Node) (*gorgonia.Node, error) {
					return layer.Upsample(in[0], times, smooth)
				},
				forward: func(t *vulkan.Tape, in []vulkan.Buffer, out vulkan.Buffer) {
					kernels.Upsample(t, in[0], out, batch, h, w, channels, times, smooth)
				},
				backward: func(t *vulkan.Tape, _ []vulkan.Buffer, _, dout vulkan.Buffer, din []vulkan.Buffer) {
					kernels.UpsampleGradient(t, dout, din[0], batch, h, w, channels, times, smooth)
				},
				tolerance: 1e-6,
			})
		}
	}
	runAll(t, list)
}
