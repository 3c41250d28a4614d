package onnxrun

import (
	"math"
	"slices"

	"github.com/unravel-ml/unravel/internal/numeric"
	"github.com/unravel-ml/unravel/internal/parallel"
)

type reduction func(row []float32) float32

func sum(row []float32) float32 { return float32(total(row)) }

func mean(row []float32) float32 { return float32(total(row) / float64(len(row))) }

func total(row []float32) (s float64) {
	for _, v := range row {
		s += float64(v)
	}
	return s
}

func maximum(row []float32) float32 {
	result := float32(math.Inf(-1))
	for _, v := range row {
		result = max(result, v)
	}
	return result
}

func minimum(row []float32) float32 {
	result := float32(math.Inf(1))
	for _, v := range row {
		result = min(result, v)
	}
	return result
}

func reduceRows(x []float32, rows, n int, f reduction) []float32 {
	y := make([]float32, rows)
	block := max(1, elementBlock/max(1, n))
	parallel.For((rows+block-1)/block, func(_, b int) {
		for r := b * block; r < min(rows, (b+1)*block); r++ {
			y[r] = f(x[r*n : (r+1)*n])
		}
	})
	return y
}

// reduce reduces the listed axes, or all axes without a list. The list is an input from operator set inputOpset, and an
// attribute in earlier sets.
func reduce(f reduction, inputOpset int) func(a *attributes) compute {
	return func(a *attributes) compute {
		keepDims, noop := a.flag("keepdims", 1), false
		axesOfNode := axesInput(a, 1, inputOpset, false)
		if a.opset >= inputOpset {
			noop = a.flag("noop_with_empty_axes", 0)
		}
		return func(in []*value) *value {
			checkFloats(in[0])
			x, rank := in[0].rowMajor(), len(in[0].shape)
			axes := axesOfNode(in)
			if len(axes) == 0 {
				if noop {
					return x
				}
				axes = numeric.UpTo(rank)
			}
			return reduceAxes(x, axes, keepDims, f)
		}
	}
}

// reduceAxes reduces axes of a plain array. It removes the axes, or keeps them with size 1.
func reduceAxes(x *value, axes []int, keepDims bool, f reduction) *value {
	var perm []int
	kept, remaining := []int{}, []int{}
	n := 1
	for k, d := range x.shape {
		if slices.Contains(axes, k) {
			n *= d
			kept = append(kept, 1)
			continue
		}
		perm, kept, remaining = append(perm, k), append(kept, d), append(remaining, d)
	}
	x = permuteAxes(x, append(perm, axes...)) // reduced axes come last
	shape := remaining
	if keepDims {
		shape = kept
	}
	return &value{shape: shape, floats: reduceRows(x.floats, product(remaining), n, f)}
}

// globalPool reduces whole images, for each channel.
func globalPool(f reduction) func(a *attributes) compute {
	return func(*attributes) compute {
		return func(in []*value) *value {
			checkImages(in[0], "its input")
			x := in[0].rowMajor()
			n, c, pixels := x.shape[0], x.shape[1], x.shape[2]*x.shape[3]
			if pixels == 0 {
				panic(failf("its images have shape %v, without pixels", x.shape))
			}
			return &value{shape: []int{n, c, 1, 1}, floats: reduceRows(x.floats, n*c, pixels, f)}
		}
	}
}

// argExtreme returns the index of the extreme element along an axis, the first one of equal elements.
func argExtreme(better func(a, b float32) bool) func(a *attributes) compute {
	return func(a *attributes) compute {
		axis, keepDims := attribute(a, "axis", 0), a.flag("keepdims", 1)
		a.require("select_last_index", 0)
		return func(in []*value) *value {
			checkFloats(in[0])
			x := in[0].rowMajor()
			k := resolveAxis(axis, len(x.shape))
			n := x.shape[k]
			if n == 0 {
				panic(failf("axis %d of shape %v is empty", k, x.shape))
			}
			x, shape := moveAxisLast(x, k), slices.Clone(x.shape)
			if shape[k] = 1; !keepDims {
				shape = slices.Delete(shape, k, k+1)
			}
			y := &value{shape: shape, ints: make([]int64, len(x.floats)/n)}
			for r := range y.ints {
				row, best := x.floats[r*n:(r+1)*n], 0
				for i, v := range row {
					if better(v, row[best]) {
						best = i
					}
				}
				y.ints[r] = int64(best)
			}
			return y
		}
	}
}

func moveAxisLast(x *value, k int) *value {
	return permuteAxes(x, append(slices.Delete(numeric.UpTo(len(x.shape)), k, k+1), k))
}

// softmax is e^x / sum e^x along an axis, or its logarithm. Before operator set 13, the sum is over all axes from one
// on.
func softmax(log bool) func(a *attributes) compute {
	return func(a *attributes) compute {
		defaultAxis := -1
		if a.opset < 13 {
			defaultAxis = 1
		}
		axis, flat := attribute(a, "axis", defaultAxis), a.opset < 13
		return func(in []*value) *value {
			checkFloats(in[0])
			x := in[0].rowMajor()
			if len(x.shape) == 0 {
				panic(failf("its input is a single number; want an array"))
			}
			k := resolveAxis(axis, len(x.shape))
			if x.len() == 0 {
				return x
			}
			if flat {
				y := &value{shape: x.shape, floats: slices.Clone(x.floats)}
				normalise(y.floats, product(x.shape[k:]), log)
				return y
			}
			moved := moveAxisLast(x, k)
			y := &value{shape: moved.shape, floats: slices.Clone(moved.floats)}
			normalise(y.floats, x.shape[k], log)
			last := len(x.shape) - 1
			return permuteAxes(y, slices.Insert(numeric.UpTo(last), k, last)) // the inverse of moveAxisLast
		}
	}
}

// normalise replaces rows with n elements by their softmax or its logarithm.
func normalise(x []float32, n int, log bool) {
	for start := 0; start < len(x); start += n {
		row := x[start : start+n]
		maximum, s := float64(maximum(row)), 0.0
		for _, v := range row {
			s += math.Exp(float64(v) - maximum)
		}
		for i, v := range row {
			if d := float64(v) - maximum; log {
				row[i] = float32(d - math.Log(s))
			} else {
				row[i] = float32(math.Exp(d) / s)
			}
		}
	}
}
