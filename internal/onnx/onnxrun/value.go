package onnxrun

import (
	"fmt"
	"slices"

	"github.com/unravel-ml/unravel/internal/dims"
	"github.com/unravel-ml/unravel/internal/numeric"
	"github.com/unravel-ml/unravel/internal/onnx"
	"github.com/unravel-ml/unravel/internal/parallel"
)

// maxElements is the maximum number of elements of a value, because a small file can specify any shape.
const maxElements = 1 << 28

// value is an array of float32, or of integers and booleans. A finished value does not change.
type value struct {
	shape  []int
	floats []float32 // row-major
	ints   []int64   // integers and booleans; nil for float32

	// nhwc means that the shape is [N, C, H, W], but the elements are in kernel order: N, H, W, C.
	nhwc bool
}

func count(shape []int) int { return must(checkedCount(shape)) }

// checkedCount returns the number of elements of a shape, or an error above the limit. For the limit, sizes of 0 count
// as 1, which also limits the rows of empty arrays.
func checkedCount(shape []int) (int, error) {
	if _, err := dims.Count(shape, 8); err != nil {
		return 0, err
	}
	limited := 1
	for _, d := range shape {
		if limited *= max(d, 1); limited > maxElements {
			return 0, fmt.Errorf("an array of shape %v has too many elements; at most %d are computed", shape, maxElements)
		}
	}
	return product(shape), nil
}

func newFloats(shape []int) *value {
	return &value{shape: slices.Clone(shape), floats: make([]float32, count(shape))}
}

// zerosLike returns a value of zeros with the shape, element type and element order of v.
func (v *value) zerosLike() *value {
	if v.ints != nil {
		return &value{shape: v.shape, ints: make([]int64, len(v.ints))}
	}
	return &value{shape: v.shape, floats: make([]float32, len(v.floats)), nhwc: v.nhwc}
}

func (v *value) len() int { return max(len(v.floats), len(v.ints)) }

// reshape returns the elements of a plain value in another shape with the same number of elements.
func (v *value) reshape(shape []int) *value {
	return &value{shape: shape, floats: v.floats, ints: v.ints}
}

func product(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

// rowMajor returns the value with its elements in row-major order.
func (v *value) rowMajor() *value {
	if !v.nhwc {
		return v
	}
	n, c, h, w := v.shape[0], v.shape[1], v.shape[2], v.shape[3]
	return &value{shape: v.shape, floats: transposeBlocks(v.floats, n, h*w, c)}
}

// channelsLast returns images [N, C, H, W] with their elements in kernel order.
func (v *value) channelsLast() *value {
	if v.nhwc {
		return v
	}
	n, c, h, w := v.shape[0], v.shape[1], v.shape[2], v.shape[3]
	return &value{shape: v.shape, floats: transposeBlocks(v.floats, n, c, h*w), nhwc: true}
}

// transposeBlocks transposes n matrices with the given rows and columns.
func transposeBlocks(x []float32, n, rows, columns int) []float32 {
	if rows == 1 || columns == 1 {
		return x
	}
	y := make([]float32, len(x))
	const tile = 32
	strips := (rows + tile - 1) / tile
	parallel.For(n*strips, func(_, i int) {
		start := i / strips * rows * columns
		from := i % strips * tile
		to := min(rows, from+tile)
		a, b := x[start:start+rows*columns], y[start:start+rows*columns]
		for c := 0; c < columns; c += tile {
			for r := from; r < to; r++ {
				for k := c; k < min(columns, c+tile); k++ {
					b[k*rows+r] = a[r*columns+k]
				}
			}
		}
	})
	return y
}

// optionalInput returns input k, or nil if it is omitted.
func optionalInput(in []*value, k int) *value {
	if k >= len(in) {
		return nil
	}
	return in[k]
}

// checkImages fails if a value is not images.
func checkImages(v *value, name string) {
	if len(v.shape) != 4 || v.ints != nil {
		panic(failf("%s: shape %v; want float32 [N, C, H, W]", name, v.shape))
	}
}

func checkFloats(in ...*value) {
	for i, v := range in {
		if v != nil && v.ints != nil {
			panic(failf("input %d has integers; want float32", i))
		}
	}
}

func toInts(v *value, name string) []int {
	if v.ints == nil || len(v.shape) > 1 {
		panic(failf("%s has shape %v of float32 or more than one axis; want a list of integers", name, v.shape))
	}
	return numeric.Convert[int](v.ints)
}

// resolveAxis returns an axis of an array with the given rank. Negative axes count from the end.
func resolveAxis(axis, rank int) int {
	if axis < -rank || axis >= rank {
		panic(failf("axis %d is out of range for a value of %d axes", axis, rank))
	}
	if axis < 0 {
		axis += rank
	}
	return axis
}

// resolveAxes returns axes in ascending order. It fails for duplicates.
func resolveAxes(axes []int, rank int) []int {
	list := make([]int, len(axes))
	for i, a := range axes {
		list[i] = resolveAxis(a, rank)
	}
	slices.Sort(list)
	if len(slices.Compact(slices.Clone(list))) < len(list) {
		panic(failf("axes %v name an axis twice", axes))
	}
	return list
}

func tensorValue(t *onnx.Tensor) *value {
	return &value{shape: t.Shape, floats: t.Floats, ints: t.Ints}
}
