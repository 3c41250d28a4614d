package layer

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/vulkan"
	"github.com/unravel-ml/unravel/internal/device/kernels"
	"github.com/unravel-ml/unravel/internal/kernel"
	"github.com/unravel-ml/unravel/internal/kernel/conv"
)

// ConvOptions are the options of a convolution or a transposed convolution.
type ConvOptions struct {
	Stride     int // 0 means 1
	Activation graph.Activation
	Valid      bool // no padding; otherwise SAME
	Symmetric  bool // SAME padding of a convolution adds (k-1)/2 zeros before the image, for any stride
}

// Conv returns activation(x * w + bias) as [batch, height', width', out]: the cross-correlation of images x [batch,
// height, width, in] with filters w [k, k, in, out], plus bias [out].
//
// With SAME padding, height' = ceil(height/stride). Half of the zeros, rounded down, are before the image, as in
// TensorFlow. With Symmetric, (k-1)/2 zeros are before the image, as in PyTorch with padding (k-1)/2. The two can
// differ if the stride is larger than 1, for example for stride 2 and even sides. With Valid, height' =
// floor((height-k)/stride) + 1.
func Conv(x, w, bias *gorgonia.Node, o ConvOptions) (*gorgonia.Node, error) {
	return convolution(&convKind{"convolution", convShape, false,
		kernelOf(conv.New), kernelOf(conv.NewMixed), kernels.Conv, kernels.ConvGradient}, x, w, bias, o)
}

// ConvTranspose returns activation(x' + bias) as [batch, height', width', out]. x' is the gradient of a convolution
// with filters w [k, k, out, in] with respect to its images, given the gradient x [batch, height, width, in] with
// respect to its result. With SAME padding, height' = height*stride. With Valid, height' = (height-1)*stride + k.
func ConvTranspose(x, w, bias *gorgonia.Node, o ConvOptions) (*gorgonia.Node, error) {
	return convolution(&convKind{"transposed convolution", convTransposeShape, true,
		kernelOf(conv.NewTranspose), kernelOf(conv.NewMixedTranspose), kernels.ConvTranspose, kernels.ConvTransposeGradient},
		x, w, bias, o)
}

type convGeometry func(x, w tensor.Shape, o ConvOptions) (kernel.ConvShape, error)

// convFunc returns the function of a convolution.
type convFunc func(s kernel.ConvShape, a graph.Activation) (graph.Func, error)

func kernelOf[P plan](build func(kernel.ConvShape, kernel.Activation) (P, error)) convFunc {
	return func(s kernel.ConvShape, a graph.Activation) (graph.Func, error) {
		return planFunc(build(s, kernel.Activation(a)))
	}
}

// convKind is a convolution or a transposed convolution: its shapes, its implementations in single and mixed precision,
// and its implementation on a device.
type convKind struct {
	name          string
	geometry      convGeometry
	transposed    bool
	single, mixed convFunc
	forward       func(t *vulkan.Tape, x, w, bias, y vulkan.Buffer, s kernel.ConvShape, a kernel.Activation)
	backward      func(t *vulkan.Tape, x, w, y, dy, dx, dw, db vulkan.Buffer, s kernel.ConvShape, a kernel.Activation)
}

func convolution(k *convKind, x, w, bias *gorgonia.Node, o ConvOptions) (*gorgonia.Node, error) {
	if err := o.Activation.Check(); err != nil {
		return nil, fmt.Errorf("%s: %w", k.name, err)
	}
	o.Stride = cmp.Or(o.Stride, 1)
	if a := o.Activation; !a.FromValue() {
		return activated(a, func(linear graph.Activation) (*gorgonia.Node, error) {
			o.Activation = linear
			return convolution(k, x, w, bias, o)
		})
	}
	return graph.Apply(graph.Spec{
		Name: k.name,
		Key:  graph.Key(o.Stride, o.Activation, o.Valid, o.Symmetric),
		Attributes: map[string]any{"stride": o.Stride, "activation": o.Activation.String(), "valid": o.Valid,
			"symmetric": o.Symmetric},
		Shape: func(in []tensor.Shape) (tensor.Shape, error) {
			s, err := checkConv(k.geometry, in, o)
			return tensor.Shape{s.Batch, s.OutH, s.OutW, s.OutC}, err
		},
		New: func(in []tensor.Shape, _ tensor.Shape, dt tensor.Dtype) (graph.Func, error) {
			s, err := checkConv(k.geometry, in, o)
			if err != nil {
				return nil, err
			}
			if dt == tensor.Float64 {
				return graph.NewFunc[float64](&plainConv{ConvShape: s, a: o.Activation, transposed: k.transposed}), nil
			}
			return k.single(s, o.Activation)
		},
		Mixed: func(in []tensor.Shape, _ tensor.Shape) (graph.Func, error) {
			s, err := checkConv(k.geometry, in, o)
			if err != nil {
				return nil, err
			}
			return k.mixed(s, o.Activation)
		},
		Device: func(in []tensor.Shape, _ tensor.Shape) (graph.Recording, error) {
			s, err := checkConv(k.geometry, in, o)
			return k.record(s, kernel.Activation(o.Activation)), err
		},
		Tangent: func(in []*gorgonia.Node, out *gorgonia.Node, along []*gorgonia.Node) (*gorgonia.Node, error) {
			if along[1] != nil || along[2] != nil {
				return nil, errWeightTangent
			}
			plain := o
			plain.Activation = graph.Linear
			u, err := convolution(k, along[0], in[1], graph.ZerosLike(in[2]), plain)
			if err != nil {
				return nil, err
			}
			return graph.ActivationTangent(out, u, o.Activation)
		},
	}, x, w, bias)
}

// record returns the device implementation.
func (k *convKind) record(s kernel.ConvShape, a kernel.Activation) graph.Recording {
	return graph.Recording{
		Forward: func(t *vulkan.Tape, in []vulkan.Buffer, out vulkan.Buffer) {
			k.forward(t, in[0], in[1], in[2], out, s, a)
		},
		Backward: func(t *vulkan.Tape, in []vulkan.Buffer, out, dout vulkan.Buffer, din []vulkan.Buffer) {
			k.backward(t, in[0], in[1], out, dout, din[0], din[1], din[2], s, a)
		},
	}
}

func checkConv(geometry convGeometry, in []tensor.Shape, o ConvOptions) (kernel.ConvShape, error) {
	none := kernel.ConvShape{}
	if len(in) != 3 {
		return none, graph.Wanted("3 inputs", len(in))
	}
	x, w := in[0], in[1]
	switch {
	case o.Stride < 1:
		return none, graph.Wanted("a stride of 1 or more", o.Stride)
	case x.Dims() != 4 || x.TotalSize() < 1:
		return none, graph.Wanted("images of shape [batch, height, width, channels]", x)
	case w.Dims() != 4 || w[0] != w[1] || w.TotalSize() < 1:
		return none, graph.Wanted("square filters with 4 sizes", w)
	}
	s, err := geometry(x, w, o)
	if err == nil && !slices.Equal(in[2], tensor.Shape{s.OutC}) {
		err = graph.Wanted(fmt.Sprintf("bias of shape (%d)", s.OutC), in[2])
	}
	return s, err
}

func convShape(x, w tensor.Shape, o ConvOptions) (kernel.ConvShape, error) {
	s := kernel.ConvShape{Batch: x[0], InH: x[1], InW: x[2], InC: x[3], OutC: w[3], Kernel: w[0], Stride: o.Stride}
	if w[2] != s.InC {
		return s, graph.Wanted(fmt.Sprintf("filters of shape (k, k, %d, out)", s.InC), w)
	}
	if !o.Valid {
		s.OutH, s.OutW = (s.InH+s.Stride-1)/s.Stride, (s.InW+s.Stride-1)/s.Stride
		s.PadH, s.PadW = padding(s, s.InH, s.OutH), padding(s, s.InW, s.OutW)
		if o.Symmetric {
			s.PadH, s.PadW = (s.Kernel-1)/2, (s.Kernel-1)/2
		}
		return s, nil
	}
	if s.Kernel > s.InH || s.Kernel > s.InW {
		return s, graph.Wanted(fmt.Sprintf("images of %d by %d pixels or more", s.Kernel, s.Kernel), x)
	}
	s.OutH, s.OutW = (s.InH-s.Kernel)/s.Stride+1, (s.InW-s.Kernel)/s.Stride+1
	return s, nil
}

func convTransposeShape(x, w tensor.Shape, o ConvOptions) (kernel.ConvShape, error) {
	s := kernel.ConvShape{Batch: x[0], InH: x[1], InW: x[2], InC: x[3], OutC: w[2], Kernel: w[0], Stride: o.Stride}
	if w[3] != s.InC {
		return s, graph.Wanted(fmt.Sprintf("filters of shape (k, k, out, %d)", s.InC), w)
	}
	if o.Symmetric {
		return s, errors.New("symmetric padding works only in convolutions; want SAME or Valid")
	}
	if !o.Valid {
		s.OutH, s.OutW = s.InH*s.Stride, s.InW*s.Stride
		s.PadH, s.PadW = padding(s, s.OutH, s.InH), padding(s, s.OutW, s.InW)
		return s, nil
	}
	s.OutH, s.OutW = (s.InH-1)*s.Stride+s.Kernel, (s.InW-1)*s.Stride+s.Kernel
	return s, nil
}

// padding returns the number of zeros before an axis of the big image in a SAME convolution.
func padding(s kernel.ConvShape, big, small int) int {
	return max((small-1)*s.Stride+s.Kernel-big, 0) / 2
}
