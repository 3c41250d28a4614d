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
				panic(failed("perm %v does not permute the axes of shape %v", p, x.shape))
			}
			seen[k] = true
		}
		switch {
		case x.ints == nil && !x.last && slices.Equal(p, []int{0, 3, 1, 2}):
			return imageOrder(x)
		case x.last && slices.Equal(p, []int{0, 2, 3, 1}):
			return kernelOrder(x)
		}
		return permuted(x.plain(), p)
	}
}

// permuted returns a plain array with permuted axes.
func permuted(x *value, perm []int) *value {
	rank := len(perm)
	if slices.IsSorted(perm) {
		return x
	}
	y := &value{shape: make([]int, rank)}
	of := strides(x.shape, x.shape)
	steps := make([]int, rank)
	for k, p := range perm {
		y.shape[k], steps[k] = x.shape[p], of[p]
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
	overRows(shape, func(row int, at []int) {
		from := offset(at, steps)
		for i := row * n; i < (row+1)*n; i++ {
			y[i] = x[from]
			from += step
		}
	})
}

// reshape changes the shape. In the new shape, -1 means the remaining size, and 0 means the size of the same axis of x.
func reshape(a *attributes) compute {
	allowZero := a.flag("allowzero", 0)
	return func(in []*value) *value {
		x := in[0].plain()
		to := asInts(in[1], "the shape")
		open, known := -1, 1
		for k, d := range to {
			if d == 0 && !allowZero {
				if k >= len(x.shape) {
					panic(failed("shape %v takes size %d of shape %v", to, k, x.shape))
				}
				d = x.shape[k]
				to[k] = d
			}
			switch {
			case d >= 0 && d <= mostElements && known*d <= mostElements: // this order prevents an overflow
				known *= d
			case d == -1 && open < 0:
				open = k
			default:
				panic(failed("shape %v is not possible for %d elements", to, x.len()))
			}
		}
		if open >= 0 {
			if known == 0 || x.len()%known != 0 {
				panic(failed("shape %v is not possible for the %d elements of shape %v", to, x.len(), x.shape))
			}
			to[open] = x.len() / known
			known *= to[open]
		}
		if known != x.len() {
			panic(failed("shape %v is not possible for the %d elements of shape %v", to, x.len(), x.shape))
		}
		return x.reshaped(to)
	}
}

// flatten returns a matrix: axes before the given axis are rows, and the other axes are columns.
func flatten(a *attributes) compute {
	axis := attribute(a, "axis", 1)
	return func(in []*value) *value {
		x := in[0].plain()
		k := axis
		if k < 0 {
			k += len(x.shape)
		}
		if k < 0 || k > len(x.shape) {
			panic(failed("axis %d is out of range for shape %v", axis, x.shape))
		}
		return x.reshaped([]int{product(x.shape[:k]), product(x.shape[k:])})
	}
}

// axesInput returns a function for the axes of a node, in ascending order. They are input k from operator set since,
// and an attribute in earlier sets. They are axes of the first input. If added is set, they are axes of the result,
// which has these additional axes.
func axesInput(a *attributes, k, since int, added bool) func(in []*value) []int {
	var fixed []int
	if a.opset < since {
		fixed = attribute(a, "axes", fixed)
	}
	return func(in []*value) (axes []int) {
		if axes = fixed; a.opset >= since {
			axes = givenInts(in, k, nil, "the list of axes")
		}
		rank := len(in[0].shape)
		if added {
			rank += len(axes)
		}
		return axesOf(axes, rank)
	}
}

// squeeze removes axes of size 1.
func squeeze(a *attributes) compute {
	axesOfNode := axesInput(a, 1, 13, false)
	return func(in []*value) *value {
		x := in[0].plain()
		axes := axesOfNode(in)
		shape := []int{}
		for k, d := range x.shape {
			gone := slices.Contains(axes, k) || len(axes) == 0 && d == 1
			if gone && d != 1 {
				panic(failed("axis %d of shape %v has size %d; want 1", k, x.shape, d))
			}
			if !gone {
				shape = append(shape, d)
			}
		}
		return x.reshaped(shape)
	}
}

// unsqueeze adds axes of size 1.
func unsqueeze(a *attributes) compute {
	axesOfNode := axesInput(a, 1, 13, true)
	return func(in []*value) *value {
		x := in[0].plain()
		axes := axesOfNode(in)
		shape := slices.Clone(x.shape)
		for _, k := range axes {
			shape = slices.Insert(shape, k, 1)
		}
		return x.reshaped(shape)
	}
}

// shapeOf returns the sizes of the axes from start to end.
func shapeOf(a *attributes) compute {
	start, end := attribute(a, "start", 0), attribute(a, "end", math.MaxInt32)
	return func(in []*value) *value {
		shape := in[0].shape
		place := func(k int) int {
			if k < 0 {
				k += len(shape)
			}
			return min(max(k, 0), len(shape))
		}
		from := place(start)
		return ofInts(shape[from:max(from, place(end))])
	}
}

func ofInts(list []int) *value {
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
		v = ofTensor(attribute(a, "value", &onnx.Tensor{}))
	case a.has("value_float"):
		v = &value{floats: []float32{attribute(a, "value_float", float32(0))}}
	case a.has("value_floats"):
		list := attribute(a, "value_floats", []float32{})
		v = &value{shape: []int{len(list)}, floats: list}
	case a.has("value_int"):
		v = &value{ints: []int64{int64(attribute(a, "value_int", 0))}}
	case a.has("value_ints"):
		v = ofInts(attribute(a, "value_ints", []int{}))
	default:
		panic(failed("it has no value of numbers"))
	}
	return func([]*value) *value { return v }
}

// constantOfShape is an array of equal elements.
func constantOfShape(a *attributes) compute {
	v := ofTensor(attribute(a, "value", &onnx.Tensor{Shape: []int{1}, Floats: []float32{0}}))
	return func(in []*value) *value {
		shape := asInts(in[0], "the shape")
		return expanded(v, shape)
	}
}

// expand repeats axes of size 1.
func expand(*attributes) compute {
	return func(in []*value) *value {
		to := asInts(in[1], "the shape")
		return expanded(in[0].plain(), to)
	}
}

func expanded(x *value, to []int) *value {
	count(to)
	shape := broadcastShape(x.shape, to)
	y := &value{shape: shape}
	if x.ints != nil {
		y.ints = repeated(shape, x.shape, x.ints)
	} else {
		y.floats = repeated(shape, x.shape, x.floats)
	}
	return y
}

func repeated[T any](shape, of []int, x []T) []T {
	zero := []T{*new(T)}
	return combine(shape, of, nil, x, zero, func(a, _ T) T { return a })
}

// depthToSpace rearranges channels into blocks of pixels.
func depthToSpace(a *attributes) compute {
	b, mode := attribute(a, "blocksize", 0), a.word("mode", "DCR", "CRD")
	return func(in []*value) *value {
		asImages(in[0], "its input")
		x := in[0].plain()
		n, c, h, w := x.shape[0], x.shape[1], x.shape[2], x.shape[3]
		if b < 1 || b > mostElements || c%(b*b) != 0 {
			panic(failed("blocks of %d by %d pixels do not divide %d channels", b, b, c))
		}
		shape, perm := []int{n, b, b, c / (b * b), h, w}, []int{0, 3, 4, 1, 5, 2}
		if mode == "CRD" {
			shape, perm = []int{n, c / (b * b), b, b, h, w}, []int{0, 1, 4, 2, 5, 3}
		}
		return permuted(x.reshaped(shape), perm).reshaped([]int{n, c / (b * b), h * b, w * b})
	}
}
