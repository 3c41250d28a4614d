package onnxrun

import (
	"math"
	"slices"

	"github.com/unravel-ml/unravel/internal/kernel"
	"github.com/unravel-ml/unravel/internal/onnx"
	"github.com/unravel-ml/unravel/internal/parallel"
)

// elementBlock is the number of elements per unit of parallel work.
const elementBlock = 1 << 14

// mapElements returns f applied to every element of x.
func mapElements(x *value, f func(dst, src []float32)) *value {
	checkFloats(x)
	y := x.zerosLike()
	parallel.For((len(x.floats)+elementBlock-1)/elementBlock, func(_, i int) {
		from, to := i*elementBlock, min(len(x.floats), (i+1)*elementBlock)
		f(y.floats[from:to], x.floats[from:to])
	})
	return y
}

func unary(f func(dst, src []float32)) operator {
	return operator{1, 1, func(*attributes) compute {
		return func(in []*value) *value { return mapElements(in[0], f) }
	}}
}

// inFloat64 applies a function elementwise in float64.
func inFloat64(f func(float64) float64) func(dst, src []float32) {
	return func(dst, src []float32) {
		for i, x := range src {
			dst[i] = float32(f(float64(x)))
		}
	}
}

// activation applies an activation of package kernel.
func activation(a kernel.Activation) func(dst, src []float32) {
	return func(dst, src []float32) {
		copy(dst, src)
		a.Apply(dst)
	}
}

func identity(*attributes) compute {
	return func(in []*value) *value { return in[0] }
}

// dropout is the identity in inference.
func dropout(a *attributes) compute {
	attribute(a, "ratio", float32(0.5))
	attribute(a, "seed", 0)
	return func(in []*value) *value {
		if training := optionalInput(in, 2); training != nil &&
			slices.ContainsFunc(training.ints, func(v int64) bool { return v != 0 }) {
			panic(failf("it is in training mode; want a network exported for inference"))
		}
		return in[0]
	}
}

// leakyRelu is max(x, 0) + alpha min(x, 0).
func leakyRelu(a *attributes) compute {
	alpha := attribute(a, "alpha", float32(0.01))
	return func(in []*value) *value {
		return mapElements(in[0], func(dst, src []float32) {
			for i, x := range src {
				if dst[i] = x; x < 0 {
					dst[i] = alpha * x
				}
			}
		})
	}
}

// elu is x where x > 0, alpha (e^x - 1) elsewhere.
func elu(a *attributes) compute {
	alpha := float64(attribute(a, "alpha", float32(1)))
	return func(in []*value) *value {
		return mapElements(in[0], inFloat64(func(x float64) float64 {
			if x > 0 {
				return x
			}
			return alpha * math.Expm1(x)
		}))
	}
}

// gelu is x Phi(x) or its tanh approximation.
func gelu(a *attributes) compute {
	f := kernel.GELU
	if a.choice("approximate", "none", "tanh") == "tanh" {
		f = inFloat64(func(x float64) float64 { return x / 2 * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x))) })
	}
	return func(in []*value) *value { return mapElements(in[0], f) }
}

// hardSigmoid is alpha x + beta, clipped to [0, 1].
func hardSigmoid(a *attributes) compute {
	alpha, beta := attribute(a, "alpha", float32(0.2)), attribute(a, "beta", float32(0.5))
	return func(in []*value) *value {
		return mapElements(in[0], func(dst, src []float32) {
			for i, x := range src {
				dst[i] = min(max(alpha*x+beta, 0), 1)
			}
		})
	}
}

// clip limits elements. The limits are attributes before operator set 11, and inputs in later sets.
func clip(a *attributes) compute {
	low, high := float32(math.Inf(-1)), float32(math.Inf(1))
	if a.opset < 11 {
		low, high = attribute(a, "min", low), attribute(a, "max", high)
	}
	return func(in []*value) *value {
		low, high := low, high
		for i, bound := range []*float32{&low, &high} {
			limit := optionalInput(in, 1+i)
			if limit == nil {
				continue
			}
			if len(limit.floats) != 1 {
				panic(failf("limit %d has shape %v; want one float32", i, limit.shape))
			}
			*bound = limit.floats[0]
		}
		return mapElements(in[0], func(dst, src []float32) {
			for i, x := range src {
				dst[i] = min(max(x, low), high)
			}
		})
	}
}

// cast converts between float32, integers and booleans.
func cast(a *attributes) compute {
	target := onnx.Type(attribute(a, "to", 0))
	attribute(a, "saturate", 1)
	switch target {
	case onnx.Float, onnx.Int32, onnx.Int64, onnx.Bool:
	default:
		panic(failf("it casts to %s; want FLOAT, INT32, INT64 or BOOL", target))
	}
	return func(in []*value) *value {
		x := in[0].rowMajor()
		if target == onnx.Float {
			if x.ints == nil {
				return in[0]
			}
			y := &value{shape: x.shape, floats: make([]float32, len(x.ints))}
			for i, v := range x.ints {
				y.floats[i] = float32(v)
			}
			return y
		}
		y := &value{shape: x.shape, ints: make([]int64, x.len())}
		copy(y.ints, x.ints)
		for i, v := range x.floats {
			if target == onnx.Bool {
				v = float32(truth(v != 0))
			}
			y.ints[i] = int64(v)
		}
		if target == onnx.Bool {
			for i, v := range y.ints {
				y.ints[i] = truth(v != 0)
			}
		}
		return y
	}
}

func not(*attributes) compute {
	return func(in []*value) *value {
		if in[0].ints == nil {
			panic(failf("input 0 has float32; want truth values"))
		}
		y := in[0].zerosLike()
		for i, v := range in[0].ints {
			y.ints[i] = truth(v == 0)
		}
		return y
	}
}

// broadcastShape returns the broadcast of two shapes: axes of size 1 are repeated.
func broadcastShape(x, y []int) []int {
	shape, ok := broadcast(x, y)
	if !ok {
		panic(failf("shapes %v and %v do not fit together", x, y))
	}
	count(shape)
	return shape
}

// broadcast is broadcastShape with a report whether the shapes are compatible.
func broadcast(x, y []int) (shape []int, ok bool) {
	shape = make([]int, max(len(x), len(y)))
	for k := range shape {
		a, b := 1, 1
		if i := k - len(shape) + len(x); i >= 0 {
			a = x[i]
		}
		if i := k - len(shape) + len(y); i >= 0 {
			b = y[i]
		}
		switch {
		case a == b || b == 1:
			shape[k] = a
		case a == 1:
			shape[k] = b
		default:
			return nil, false
		}
	}
	return shape, true
}

// strides returns the strides of an array along the axes of a shape to which it is broadcast.
func strides(array, shape []int) []int {
	list := make([]int, len(shape))
	step := 1
	for k := len(array) - 1; k >= 0; k-- {
		if array[k] != 1 {
			list[k-len(array)+len(shape)] = step
		}
		step *= array[k]
	}
	return list
}

// forRows calls body for every row along the last axis of a shape, with the row's number and index.
func forRows(shape []int, body func(row int, index []int)) {
	rank := len(shape) - 1
	rows := product(shape[:rank])
	if shape[rank] == 0 {
		return
	}
	block := max(1, elementBlock/shape[rank])
	parallel.For((rows+block-1)/block, func(_, b int) {
		index := make([]int, rank)
		for row := b * block; row < min(rows, (b+1)*block); row++ {
			rest := row
			for k := rank - 1; k >= 0; k-- {
				index[k] = rest % shape[k]
				rest /= shape[k]
			}
			body(row, index)
		}
	})
}

// rowOffset is the offset of the first element of a row.
func rowOffset(index, strides []int) (n int) {
	for k, i := range index {
		n += i * strides[k]
	}
	return n
}

// combine applies f to the elements of two arrays, which are broadcast to shape.
func combine[A, B any](shape, shapeX, shapeY []int, x, y []A, f func(a, b A) B) []B {
	if len(shape) == 0 {
		return []B{f(x[0], y[0])}
	}
	z := make([]B, product(shape))
	sx, sy := strides(shapeX, shape), strides(shapeY, shape)
	n := shape[len(shape)-1]
	dx, dy := sx[len(sx)-1], sy[len(sy)-1]
	forRows(shape, func(row int, index []int) {
		i, j := rowOffset(index, sx), rowOffset(index, sy)
		for k := row * n; k < (row+1)*n; k++ {
			z[k] = f(x[i], y[j])
			i, j = i+dx, j+dy
		}
	})
	return z
}

// alignOrder converts two values to the same order of elements. If a value is in the order of the kernels, both values
// get shapes in this order, and kernelOrdered is true.
func alignOrder(x, y *value) (a, b *value, kernelOrdered bool) {
	if !x.nhwc && !y.nhwc || len(x.shape) > 4 || len(y.shape) > 4 {
		return x.rowMajor(), y.rowMajor(), false
	}
	return kernelOrder(x), kernelOrder(y), true
}

// kernelOrder returns a value as a plain array [N, H, W, C].
func kernelOrder(x *value) *value {
	if len(x.shape) < 4 {
		x = x.reshape(slices.Concat(slices.Repeat([]int{1}, 4-len(x.shape)), x.shape))
	}
	x = x.channelsLast()
	return &value{shape: []int{x.shape[0], x.shape[2], x.shape[3], x.shape[1]}, floats: x.floats}
}

func imageOrder(x *value) *value {
	return &value{shape: []int{x.shape[0], x.shape[3], x.shape[1], x.shape[2]}, floats: x.floats, nhwc: true}
}

// apply applies a function to two values of the same type.
func apply(x, y *value, floats func(a, b float32) float32, ints func(a, b int64) int64) *value {
	if (x.ints == nil) != (y.ints == nil) {
		panic(failf("one input has integers and the other float32; want the same type"))
	}
	if x.ints != nil && ints == nil || x.ints == nil && floats == nil {
		panic(failf("its inputs have an unsupported element type"))
	}
	x, y, kernelOrdered := alignOrder(x, y)
	shape := broadcastShape(x.shape, y.shape)
	z := &value{shape: shape}
	if x.ints != nil {
		z.ints = combine(shape, x.shape, y.shape, x.ints, y.ints, ints)
		return z
	}
	if z.floats = combine(shape, x.shape, y.shape, x.floats, y.floats, floats); kernelOrdered {
		z = imageOrder(z)
	}
	return z
}

func binary(floats func(a, b float32) float32, ints func(a, b int64) int64) operator {
	return operator{2, 2, func(a *attributes) compute {
		divides := a.node.Op == "Div"
		return func(in []*value) *value {
			if divides && slices.Contains(in[1].ints, 0) {
				panic(failf("it divides integers by zero"))
			}
			return apply(in[0], in[1], floats, ints)
		}
	}}
}

func variadic(floats func(a, b float32) float32, ints func(a, b int64) int64) operator {
	return operator{1, unlimited, func(*attributes) compute {
		return func(in []*value) (z *value) {
			for i, x := range in {
				switch {
				case x == nil:
					panic(failf("its input %d is left out", i))
				case i == 0:
					z = x
				default:
					z = apply(z, x, floats, ints)
				}
			}
			return z
		}
	}}
}

// compare is an operator on two arrays with booleans as the result.
func compare(floats func(a, b float32) bool, ints func(a, b int64) bool) operator {
	return operator{2, 2, func(*attributes) compute {
		return func(in []*value) *value {
			x, y := in[0].rowMajor(), in[1].rowMajor()
			if (x.ints == nil) != (y.ints == nil) {
				panic(failf("one input has integers and the other float32; want the same type"))
			}
			shape := broadcastShape(x.shape, y.shape)
			if x.ints != nil {
				t := func(a, b int64) int64 { return truth(ints(a, b)) }
				return &value{shape: shape, ints: combine(shape, x.shape, y.shape, x.ints, y.ints, t)}
			}
			t := func(a, b float32) int64 { return truth(floats(a, b)) }
			return &value{shape: shape, ints: combine(shape, x.shape, y.shape, x.floats, y.floats, t)}
		}
	}}
}

// where selects elements of the second input where the first input is true, and of the third input elsewhere.
func where(*attributes) compute {
	return func(in []*value) *value {
		c, x, y := in[0].rowMajor(), in[1].rowMajor(), in[2].rowMajor()
		if c.ints == nil || (x.ints == nil) != (y.ints == nil) {
			panic(failf("its inputs have other types than truth values and two arrays of one type"))
		}
		shape := broadcastShape(c.shape, broadcastShape(x.shape, y.shape))
		z := &value{shape: shape}
		if x.ints != nil {
			z.ints = selectElements(shape, c, x, y, x.ints, y.ints)
		} else {
			z.floats = selectElements(shape, c, x, y, x.floats, y.floats)
		}
		return z
	}
}

// selectElements computes where.
func selectElements[T any](shape []int, c, x, y *value, elementsX, elementsY []T) []T {
	z, elementsElse := repeatTo(shape, x.shape, elementsX), repeatTo(shape, y.shape, elementsY)
	for i, t := range repeatTo(shape, c.shape, c.ints) {
		if t == 0 {
			z[i] = elementsElse[i]
		}
	}
	return z
}
