package layer

import (
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/vulkan"
	"github.com/unravel-ml/unravel/internal/device/kernels"
)

// Upsample enlarges images x [batch, height, width, channels] by the factor times along both sides, for each channel.
// Nearest repeats every pixel in a square of times by times pixels. Bilinear interpolates pixel i along a side between
// the two neighbours of position max((i + 1/2)/times - 1/2, 0) in x.
//
// Source: PyTorch's interpolate with align_corners=False; Odena et al. 2016 for decoders.
func Upsample(x *gorgonia.Node, times int, bilinear bool) (*gorgonia.Node, error) {
	return graph.Apply(graph.Spec{
		Name:       "upsample",
		Key:        graph.Key(times, bilinear),
		Attributes: map[string]any{"times": times, "bilinear": bilinear},
		Shape: func(in []tensor.Shape) (tensor.Shape, error) {
			s, err := imagesOf(in)
			if err != nil {
				return nil, err
			}
			if err := checkTimes(s, times); err != nil {
				return nil, err
			}
			return tensor.Shape{s[0], s[1] * times, s[2] * times, s[3]}, nil
		},
		New: func(in []tensor.Shape, _ tensor.Shape, dt tensor.Dtype) (graph.Func, error) {
			s := in[0]
			rows, columns := interpolation(s[1], times, bilinear), interpolation(s[2], times, bilinear)
			if dt == tensor.Float32 {
				return graph.NewFunc[float32](newResample[float32](s[0], s[3], rows, columns)), nil
			}
			return graph.NewFunc[float64](newResample[float64](s[0], s[3], rows, columns)), nil
		},
		Device: func(in []tensor.Shape, _ tensor.Shape) (graph.Recording, error) {
			b, h, w, c := in[0][0], in[0][1], in[0][2], in[0][3]
			return graph.Recording{
				Forward: func(t *vulkan.Tape, in []vulkan.Buffer, out vulkan.Buffer) {
					kernels.Upsample(t, in[0], out, b, h, w, c, times, bilinear)
				},
				Backward: func(t *vulkan.Tape, in []vulkan.Buffer, _, dout vulkan.Buffer, din []vulkan.Buffer) {
					kernels.UpsampleGradient(t, dout, din[0], b, h, w, c, times, bilinear)
				},
			}, nil
		},
		Tangent: linearTangent(func(t *gorgonia.Node) (*gorgonia.Node, error) { return Upsample(t, times, bilinear) }),
	}, x)
}

// interpolation returns the interpolation of a side of n pixels.
func interpolation(n, times int, bilinear bool) axis {
	a := axis{in: n, taps: make([][]tap, n*times)}
	for i := range a.taps {
		if !bilinear {
			a.taps[i] = []tap{{i / times, 1}}
			continue
		}
		place := max((float64(i)+0.5)/float64(times)-0.5, 0)
		from := int(place)
		share := place - float64(from)
		if share == 0 || from == n-1 {
			a.taps[i] = []tap{{from, 1}}
		} else {
			a.taps[i] = []tap{{from, 1 - share}, {from + 1, share}}
		}
	}
	return a
}
