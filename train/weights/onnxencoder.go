package weights

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/internal/disk"
	"github.com/unravel-ml/unravel/internal/onnx"
	"github.com/unravel-ml/unravel/internal/onnx/onnxrun"
	"github.com/unravel-ml/unravel/internal/wording"
	"github.com/unravel-ml/unravel/metrics/matrix"
)

const maxONNX = 1 << 31 // maximum size of an ONNX file, which is the limit of protocol buffers

// Limits of a batch: images, and their elements. They do not depend on the machine, because sums may depend on the
// batch size.
const (
	minBatch, maxBatch = 4, 64
	batchElements      = 1 << 19
)

const maxCodes = 1 << 27 // maximum number of elements of codes, 1 GiB as float64

// ONNXOptions specify what an encoder computes.
type ONNXOptions struct {
	Output    string    // name of the output; empty: the only output
	Mean, Std []float64 // pixels become (x - Mean) / Std, with one number for all channels or one per channel; empty: 0 and 1
}

// ONNXEncoder is an ONNX network from images to codes. It is not safe for concurrent use.
type ONNXEncoder struct {
	file    string
	network *onnxrun.Network
	options ONNXOptions
}

// ReadONNX reads an encoder from an ONNX file of any program, with operator sets 9 to 20. The network must have one
// float32 input with an axis for the images of a batch. The file must contain all weights.
func ReadONNX(path string, o ONNXOptions) (*ONNXEncoder, error) {
	for _, v := range o.Mean {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("mean %v is no finite number", v)
		}
	}
	for _, v := range o.Std {
		if !(v > 0) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("standard deviation %v is out of range; want a number greater than 0", v)
		}
	}
	data, err := disk.ReadFile(path, maxONNX)
	if err != nil {
		return nil, err
	}
	m, err := onnx.Decode(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	n, err := onnxrun.New(m, o.Output)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &ONNXEncoder{filepath.Clean(path), n, o}, nil
}

// Encode returns the codes of all images of a data set, one row per image: the elements of the output for the image in
// row-major order. Before every batch it calls watch with the number of encoded images.
//
// The input is [N, C, H, W] or [N, H, W, C], whichever matches the shape of the images, and the former if both do. For
// images of one channel, it can also be [N, H W]. If the file fixes N, batches have this size.
func (e *ONNXEncoder) Encode(ctx context.Context, d datasets.Dataset, watch func(done int)) (matrix.Matrix, error) {
	codes, err := e.encode(ctx, d, watch)
	if err != nil && ctx.Err() == nil {
		err = fmt.Errorf("%s: %w", e.file, err)
	}
	return codes, err
}

func (e *ONNXEncoder) encode(ctx context.Context, d datasets.Dataset, watch func(done int)) (codes matrix.Matrix, err error) {
	if d.Len() == 0 {
		return codes, fmt.Errorf("dataset %s has no images", d.Name())
	}
	in, err := e.inputFor(d)
	if err != nil {
		return codes, err
	}
	codes.Rows = d.Len()
	for from := 0; from < codes.Rows; from += in.batch {
		watch(from)
		images := make([]int, in.batch)
		for i := range images { // repeat the last image to fill a batch of fixed size
			images[i] = min(from+i, codes.Rows-1)
		}
		count := min(in.batch, codes.Rows-from)
		if !in.fixed {
			images = images[:count]
		}
		y, err := e.run(ctx, in, d, images)
		if err != nil {
			return codes, err
		}
		if len(y.Shape) == 0 || y.Shape[0] != len(images) {
			return codes, fmt.Errorf("its output %q has shape %v; want a row for each of %d images",
				y.Name, y.Shape, len(images))
		}
		if err := appendCodes(&codes, y, from, count); err != nil {
			return codes, err
		}
	}
	return codes, nil
}

// appendCodes appends the first count rows of an output, the codes of the images from the index first on.
func appendCodes(codes *matrix.Matrix, y *onnx.Tensor, first, count int) error {
	columns := max(len(y.Floats), len(y.Ints)) / y.Shape[0]
	switch {
	case columns == 0:
		return fmt.Errorf("its output %q has shape %v, without elements", y.Name, y.Shape)
	case columns > maxCodes/codes.Rows:
		return fmt.Errorf("the codes would have shape [%d, %d]; want at most %d elements: take fewer images, or another output",
			codes.Rows, columns, maxCodes)
	case first == 0:
		codes.Cols, codes.Data = columns, make([]float64, 0, codes.Rows*columns)
	case codes.Cols != columns:
		return fmt.Errorf("its output %q has rows of %d elements for image %d, and %d before",
			y.Name, columns, first, codes.Cols)
	}
	for i := range count * columns {
		v := 0.0
		if y.Ints != nil {
			v = float64(y.Ints[i])
		} else if v = float64(y.Floats[i]); math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("the code of image %d has %v in column %d; want finite numbers",
				first+i/columns, v, i%columns)
		}
		codes.Data = append(codes.Data, v)
	}
	return nil
}

type networkInput struct {
	h, w, c       int
	channelsFirst bool // [N, C, H, W]
	isFlat        bool // [N, H W]
	batch         int
	fixed         bool // every batch has the same size
	scale, offset []float32
}

// inputFor determines the order of axes and the batch size.
func (e *ONNXEncoder) inputFor(d datasets.Dataset) (*networkInput, error) {
	in := &networkInput{}
	in.h, in.w, in.c = d.ImageShape()
	shape, size := e.network.Input.Shape, in.h*in.w*in.c
	fits := func(sizes ...int) bool {
		if len(shape) != 1+len(sizes) {
			return false
		}
		for k, n := range sizes {
			if axisSize := shape[1+k]; axisSize != n && axisSize != onnx.Any {
				return false
			}
		}
		return true
	}
	switch {
	case shape == nil || fits(in.c, in.h, in.w):
		in.channelsFirst = true
	case fits(in.h, in.w, in.c):
	case in.c == 1 && fits(in.h*in.w):
		in.isFlat = true
	default:
		return nil, fmt.Errorf("its input %q has shape %s; want [N, %d, %d, %d] or [N, %d, %d, %d] for the images of dataset %s, "+
			"of %d by %d pixels with %s",
			e.network.Input.Name, shapeText(shape), in.c, in.h, in.w, in.h, in.w, in.c, d.Name(), in.h, in.w,
			wording.Count(in.c, "channel"))
	}
	in.batch = min(max(batchElements/size, minBatch), maxBatch)
	if len(shape) > 0 && shape[0] != onnx.Any {
		in.batch, in.fixed = shape[0], true
		if in.batch < 1 || in.batch > 1<<28/size {
			return nil, fmt.Errorf("its input %q has shape %s, a fixed batch of %d images, which is out of range; want a smaller or a free batch size",
				e.network.Input.Name, shapeText(shape), in.batch)
		}
	}
	var err error
	in.scale, in.offset, err = e.options.normalisation(in.c)
	return in, err
}

// shapeText returns a shape as text: [N, 3, 64, 64].
func shapeText(shape []int) string {
	var sizes []string
	for _, n := range shape {
		if n == onnx.Any {
			sizes = append(sizes, "N")
		} else {
			sizes = append(sizes, strconv.Itoa(n))
		}
	}
	return "[" + strings.Join(sizes, ", ") + "]"
}

// normalisation returns one factor and one offset per channel, or nil for no normalisation.
func (o *ONNXOptions) normalisation(c int) (scale, offset []float32, err error) {
	if len(o.Mean) == 0 && len(o.Std) == 0 {
		return nil, nil, nil
	}
	perChannel := func(name string, list []float64, fallback float64) ([]float64, error) {
		switch len(list) {
		case c:
			return list, nil
		case 0:
			list = []float64{fallback}
		case 1:
		default:
			return nil, fmt.Errorf("%s has %s; want one for all channels, or %d, one for each",
				name, wording.Count(len(list), "number"), c)
		}
		return slices.Repeat(list[:1], c), nil
	}
	mean, err := perChannel("the mean", o.Mean, 0)
	std, stdErr := perChannel("the standard deviation", o.Std, 1)
	if err := errors.Join(err, stdErr); err != nil {
		return nil, nil, err
	}
	for k := range c {
		scale, offset = append(scale, float32(1/std[k])), append(offset, float32(-mean[k]/std[k]))
	}
	return scale, offset, nil
}

func (e *ONNXEncoder) run(ctx context.Context, in *networkInput, d datasets.Dataset, images []int) (*onnx.Tensor, error) {
	n, size := len(images), in.h*in.w*in.c
	x := make([]float32, n*size)
	datasets.Fill(d, images, x)
	if in.scale != nil {
		for i := range x {
			x[i] = x[i]*in.scale[i%in.c] + in.offset[i%in.c]
		}
	}
	switch shape := []int{n, in.h, in.w, in.c}; {
	case in.isFlat:
		return e.network.Run(ctx, &onnx.Tensor{Shape: []int{n, size}, Floats: x})
	case in.channelsFirst:
		return e.network.RunImages(ctx, &onnx.Tensor{Shape: shape, Floats: x})
	default:
		return e.network.Run(ctx, &onnx.Tensor{Shape: shape, Floats: x})
	}
}
