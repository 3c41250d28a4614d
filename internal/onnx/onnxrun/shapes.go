package onnxrun

import (
	"math"
	"slices"

	"github.com/unravel-ml/unravel/internal/onnx"
)

// transpose permutes axes. Between the orders of ONNX and of the kernels it moves no elements.
func transpose(a *attributes) compute {
	perm := attribute(a, "perm", []int(nil))
	return func(in []*value) *value {
		x, rank := in[0], len(in[0].shape)
		p := perm
		if !a.has("perm") {
			for k := range rank {
				p = append(p, rank-1-k)
			}
		}
		seen := make([]bool, rank)
		for _, k := range p {
			if len(p) != rank || k < 0 || k >= rank || seen[k] {
				panic(failf("perm %v does not permute the axes of shape %v", p, x.shape))
			}
			seen[k] = true
		}
		switch {
		case x.ints == nil && !x.nhwc && slices.Equal(p, []int{0, 3, 1, 2}):
			return imageOrder(x)
		case x.nhwc && slices.Equal(p, []int{0, 2, 3, 1}):
			return kernelOrder(x)
		}
		return permuteAxes(x.rowMajor(), p)
	}
}

// permuteAxes returns a plain array with permuted axes.
func permuteAxes(x *value, perm []int) *value {
	rank := len(perm)
	if slices.IsSorted(perm) {
		return x
	}
	y := &value{shape: make([]int, rank)}
	inStrides := strides(x.shape, x.shape)
	steps := make([]int, rank)
	for k, p := range perm {
		y.shape[k], steps[k] = x.shape[p], inStrides[p]
	}
	if x.ints != nil {
		y.ints = make([]int64, len(x.ints))
		permute(y.ints, x.ints, y.shape, steps)
	} else {
		y.floats = make([]float32, len(x.floats))
		permute(y.floats, x.floats, y.shape, steps)
	}
	return y
}

func permute[T any](y, x []T, shape, steps []int) {
	n, step := shape[len(shape)-1], steps[len(steps)-1]
	forRows(shape, func(row int, index []int) {
		source := rowOffset(index, steps)
		for i := row * n; i < (row+1)*n; i++ {
			y[i] = x[source]
			source += step
		}
	})
}

// reshape changes the shape. In the new shape, -1 means the remaining size, and 0 means the size of the same axis of x.
func reshape(a *attributes) compute {
	allowZero := a.flag("allowzero", 0)
	return func(in []*value) *value {
		x := in[0].rowMajor()
		shape := toInts(in[1], "the shape")
		inferred, elements := -1, 1
		for k, d := range shape {
			if d == 0 && !allowZero {
				if k >= len(x.shape) {
					panic(failf("shape %v takes size %d of shape %v", shape, k, x.shape))
				}
				d = x.shape[k]
				shape[k] = d
			}
			switch {
			case d >= 0 && d <= maxElements && elements*d <= maxElements: // this order prevents an overflow
				elements *= d
			case d == -1 && inferred < 0:
				inferred = k
			default:
				panic(failf("shape %v is not possible for %d elements", shape, x.len()))
			}
		}
		if inferred >= 0 {
			if elements == 0 || x.len()%elements != 0 {
				panic(failf("shape %v is not possible for the %d elements of shape %v", shape, x.len(), x.shape))
			}
			shape[inferred] = x.len() / elements
			elements *= shape[inferred]
		}
		if elements != x.len() {
			panic(failf("shape %v is not possible for the %d elements of shape %v", shape, x.len(), x.shape))
		}
		return x.reshape(shape)
	}
}

// flatten returns a matrix: axes before the given axis are rows, and the other axes are columns.
func flatten(a *attributes) compute {
	axis := attribute(a, "axis", 1)
	return func(in []*value) *value {
		x := in[0].rowMajor()
		k := axis
		if k < 0 {
			k += len(x.shape)
		}
		if k < 0 || k > len(x.shape) {
			panic(failf("axis %d is out of range for shape %v", axis, x.shape))
		}
		return x.reshape([]int{product(x.shape[:k]), product(x.shape[k:])})
	}
}

// axesInput returns a function for the axes of a node, in ascending order. They are input k from operator set
// inputOpset, and an attribute in earlier sets. They are axes of the first input. If added is set, they are axes of the
// result, which has these additional axes.
func axesInput(a *attributes, k, inputOpset int, added bool) func(in []*value) []int {
	var attributeAxes []int
	if a.opset < inputOpset {
		attributeAxes = attribute(a, "axes", attributeAxes)
	}
	return func(in []*value) (axes []int) {
		if axes = attributeAxes; a.opset >= inputOpset {
			axes = intsInput(in, k, nil, "the list of axes")
		}
		rank := len(in[0].shape)
		if added {
			rank += len(axes)
		}
		return resolveAxes(axes, rank)
	}
}

// squeeze removes axes of size 1.
func squeeze(a *attributes) compute {
	axesOfNode := axesInput(a, 1, 13, false)
	return func(in []*value) *value {
		x := in[0].rowMajor()
		axes := axesOfNode(in)
		shape := []int{}
		for k, d := range x.shape {
			removed := slices.Contains(axes, k) || len(axes) == 0 && d == 1
			if removed && d != 1 {
				panic(failf("axis %d of shape %v has size %d; want 1", k, x.shape, d))
			}
			if !removed {
				shape = append(shape, d)
			}
		}
		return x.reshape(shape)
	}
}

// unsqueeze adds axes of size 1.
func unsqueeze(a *attributes) compute {
	axesOfNode := axesInput(a, 1, 13, true)
	return func(in []*value) *value {
		x := in[0].rowMajor()
		axes := axesOfNode(in)
		shape := slices.Clone(x.shape)
		for _, k := range axes {
			shape = slices.Insert(shape, k, 1)
		}
		return x.reshape(shape)
	}
}

// shapeOf returns the sizes of the axes from start to end.
func shapeOf(a *attributes) compute {
	start, end := attribute(a, "start", 0), attribute(a, "end", math.MaxInt32)
	return func(in []*value) *value {
		shape := in[0].shape
		clamp := func(k int) int {
			if k < 0 {
				k += len(shape)
			}
			return min(max(k, 0), len(shape))
		}
		from := clamp(start)
		return intsValue(shape[from:max(from, clamp(end))])
	}
}

func intsValue(list []int) *value {
	v := &value{shape: []int{len(list)}, ints: make([]int64, len(list))}
	for i, n := range list {
		v.ints[i] = int64(n)
	}
	return v
}

func constant(a *attributes) compute {
	var v *value
	switch {
	case a.has("value"):
		v = tensorValue(attribute(a, "value", &onnx.Tensor{}))
	case a.has("value_float"):
		v = &value{floats: []float32{attribute(a, "value_float", float32(0))}}
	case a.has("value_floats"):
		list := attribute(a, "value_floats", []float32{})
		v = &value{shape: []int{len(list)}, floats: list}
	case a.has("value_int"):
		v = &value{ints: []int64{int64(attribute(a, "value_int", 0))}}
	case a.has("value_ints"):
		v = intsValue(attribute(a, "value_ints", []int{}))
	default:
		panic(failf("it has no value of numbers"))
	}
	return func([]*value) *value { return v }
}

// constantOfShape is an array of equal elements.
func constantOfShape(a *attributes) compute {
	v := tensorValue(attribute(a, "value", &onnx.Tensor{Shape: []int{1}, Floats: []float32{0}}))
	return func(in []*value) *value {
		shape := toInts(in[0], "the shape")
		return expandTo(v, shape)
	}
}

// expand repeats axes of size 1.
func expand(*attributes) compute {
	return func(in []*value) *value {
		target := toInts(in[1], "the shape")
		return expandTo(in[0].rowMajor(), target)
	}
}

func expandTo(x *value, target []int) *value {
	count(target)
	shape := broadcastShape(x.shape, target)
	y := &value{shape: shape}
	if x.ints != nil {
		y.ints = repeatTo(shape, x.shape, x.ints)
	} else {
		y.floats = repeatTo(shape, x.shape, x.floats)
	}
	return y
}

func repeatTo[T any](shape, source []int, x []T) []T {
	zero := []T{*new(T)}
	return combine(shape, source, nil, x, zero, func(a, _ T) T { return a })
}

// depthToSpace rearranges channels into blocks of pixels.
func depthToSpace(a *attributes) compute {
	b, mode := attribute(a, "blocksize", 0), a.choice("mode", "DCR", "CRD")
	return func(in []*value) *value {
		checkImages(in[0], "its input")
		x := in[0].rowMajor()
		n, c, h, w := x.shape[0], x.shape[1], x.shape[2], x.shape[3]
		if b < 1 || b > maxElements || c%(b*b) != 0 {
			panic(failf("blocks of %d by %d pixels do not divide %d channels", b, b, c))
		}
		shape, perm := []int{n, b, b, c / (b * b), h, w}, []int{0, 3, 4, 1, 5, 2}
		if mode == "CRD" {
			shape, perm = []int{n, c / (b * b), b, b, h, w}, []int{0, 1, 4, 2, 5, 3}
		}
		return permuteAxes(x.reshape(shape), perm).reshape([]int{n, c / (b * b), h * b, w * b})
	}
}
