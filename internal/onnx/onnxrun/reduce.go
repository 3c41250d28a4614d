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

func largest(row []float32) float32 {
	most := float32(math.Inf(-1))
	for _, v := range row {
		most = max(most, v)
	}
	return most
}

func least(row []float32) float32 {
	low := float32(math.Inf(1))
	for _, v := range row {
		low = min(low, v)
	}
	return low
}

func reduced(x []float32, rows, n int, f reduction) []float32 {
	y := make([]float32, rows)
	block := max(1, elementBlock/max(1, n))
	parallel.For((rows+block-1)/block, func(_, b int) {
		for r := b * block; r < min(rows, (b+1)*block); r++ {
			y[r] = f(x[r*n : (r+1)*n])
		}
	})
	return y
}

// reduce reduces the listed axes, or all axes without a list. The list is an input from operator set since, and an
// attribute in earlier sets.
func reduce(f reduction, since int) func(a *attributes) compute {
	return func(a *attributes) compute {
		keep, none := a.flag("keepdims", 1), false
		axesOfNode := axesInput(a, 1, since, false)
		if a.opset >= since {
			none = a.flag("noop_with_empty_axes", 0)
		}
		return func(in []*value) *value {
			asFloats(in[0])
			x, rank := in[0].plain(), len(in[0].shape)
			axes := axesOfNode(in)
			if len(axes) == 0 {
				if none {
					return x
				}
				axes = numeric.UpTo(rank)
			}
			return reduceAxes(x, axes, keep, f)
		}
	}
}

// reduceAxes reduces axes of a plain array. It removes the axes, or keeps them with size 1.
func reduceAxes(x *value, axes []int, keep bool, f reduction) *value {
	var perm []int
	full, short := []int{}, []int{}
	n := 1
	for k, d := range x.shape {
		if slices.Contains(axes, k) {
			n *= d
			full = append(full, 1)
			continue
		}
		perm, full, short = append(perm, k), append(full, d), append(short, d)
	}
	x = permuted(x, append(perm, axes...)) // reduced axes come last
	shape := short
	if keep {
		shape = full
	}
	return &value{shape: shape, floats: reduced(x.floats, product(short), n, f)}
}

// globalPool reduces whole images, for each channel.
func globalPool(f reduction) func(a *attributes) compute {
	return func(*attributes) compute {
		return func(in []*value) *value {
			asImages(in[0], "its input")
			x := in[0].plain()
			n, c, pixels := x.shape[0], x.shape[1], x.shape[2]*x.shape[3]
			if pixels == 0 {
				panic(failed("its images have shape %v, without pixels", x.shape))
			}
			return &value{shape: []int{n, c, 1, 1}, floats: reduced(x.floats, n*c, pixels, f)}
		}
	}
}

// argExtreme returns the index of the extreme element along an axis, the first one of equal elements.
func argExtreme(before func(a, b float32) bool) func(a *attributes) compute {
	return func(a *attributes) compute {
		axis, keep := attribute(a, "axis", 0), a.flag("keepdims", 1)
		a.only("select_last_index", 0)
		return func(in []*value) *value {
			asFloats(in[0])
			x := in[0].plain()
			k := axisOf(axis, len(x.shape))
			n := x.shape[k]
			if n == 0 {
				panic(failed("axis %d of shape %v is empty", k, x.shape))
			}
			x, shape := lastAxis(x, k), slices.Clone(x.shape)
			if shape[k] = 1; !keep {
				shape = slices.Delete(shape, k, k+1)
			}
			y := &value{shape: shape, ints: make([]int64, len(x.floats)/n)}
			for r := range y.ints {
				row, best := x.floats[r*n:(r+1)*n], 0
				for i, v := range row {
					if before(v, row[best]) {
						best = i
					}
				}
				y.ints[r] = int64(best)
			}
			return y
		}
	}
}

func lastAxis(x *value, k int) *value {
	return permuted(x, append(slices.Delete(numeric.UpTo(len(x.shape)), k, k+1), k))
}

// softmax is e^x / sum e^x along an axis, or its logarithm. Before operator set 13, the sum is over all axes from one
// on.
func softmax(log bool) func(a *attributes) compute {
	return func(a *attributes) compute {
		otherwise := -1
		if a.opset < 13 {
			otherwise = 1
		}
		axis, flat := attribute(a, "axis", otherwise), a.opset < 13
		return func(in []*value) *value {
			asFloats(in[0])
			x := in[0].plain()
			if len(x.shape) == 0 {
				panic(failed("its input is a single number; want an array"))
			}
			k := axisOf(axis, len(x.shape))
			if x.len() == 0 {
				return x
			}
			if flat {
				y := &value{shape: x.shape, floats: slices.Clone(x.floats)}
				normalise(y.floats, product(x.shape[k:]), log)
				return y
			}
			turned := lastAxis(x, k)
			y := &value{shape: turned.shape, floats: slices.Clone(turned.floats)}
			normalise(y.floats, x.shape[k], log)
			last := len(x.shape) - 1
			return permuted(y, slices.Insert(numeric.UpTo(last), k, last)) // the inverse of lastAxis
		}
	}
}

// normalise replaces rows with n elements by their softmax or its logarithm.
func normalise(x []float32, n int, log bool) {
	for at := 0; at < len(x); at += n {
		row := x[at : at+n]
		most, s := float64(largest(row)), 0.0
		for _, v := range row {
			s += math.Exp(float64(v) - most)
		}
		for i, v := range row {
			if d := float64(v) - most; log {
				row[i] = float32(d - math.Log(s))
			} else {
				row[i] = float32(math.Exp(d) / s)
			}
		}
	}
}
