package latent

import (
	"math"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/vulkan"
	"github.com/unravel-ml/unravel/internal/device/kernels"
	"github.com/unravel-ml/unravel/internal/numeric"
)

// Interval returns c + w tanh(u), element by element. c is the middle of [lo, hi] and w half its length. This softly
// restricts u to the interval and starts in the middle for u = 0.
func Interval(u *gorgonia.Node, lo, hi float64) (*gorgonia.Node, error) {
	c, w := (lo+hi)/2, math.Abs(hi-lo)/2
	s := graph.Elementwise("interval", graph.Key(lo, hi), map[string]any{"lo": lo, "hi": hi}, func(n int, dt tensor.Dtype) graph.Func {
		if dt == tensor.Float32 {
			return graph.NewFunc[float32](&interval[float32]{c, w, make([]float32, n)})
		}
		return graph.NewFunc[float64](&interval[float64]{c, w, make([]float64, n)})
	})
	s.Device = func(in []tensor.Shape, _ tensor.Shape) (graph.Recording, error) {
		n := in[0].TotalSize()
		return graph.Recording{
			Forward: func(t *vulkan.Tape, in []vulkan.Buffer, out vulkan.Buffer) {
				kernels.Interval(t, in[0], out, c, w, n)
			},
			Backward: func(t *vulkan.Tape, in []vulkan.Buffer, _, dout vulkan.Buffer, din []vulkan.Buffer) {
				kernels.IntervalGradient(t, in[0], dout, din[0], w, n)
			},
		}, nil
	}
	return graph.Apply(s, u)
}

type interval[T graph.Float] struct {
	c, w float64
	tanh []T
}

func (f *interval[T]) Forward(in [][]T, out []T) {
	numeric.Tanh(f.tanh, in[0])
	for i, t := range f.tanh {
		out[i] = T(f.c + f.w*float64(t))
	}
}

func (f *interval[T]) Backward(_ [][]T, _, dout []T, din [][]T) {
	for i := range din[0] {
		t := float64(f.tanh[i])
		din[0][i] = T(float64(dout[i]) * f.w * (1 - t*t))
	}
}
