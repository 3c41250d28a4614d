package onnxrun

import (
	"math"
	"slices"
)

// resizing maps pixels of the result to coordinates in the original.
type resizing struct {
	linear                   bool
	transformation, rounding string
}

// resize resizes all axes, by factors or to sizes, with nearest or linear interpolation.
func resize(a *attributes) compute {
	linear := a.choice("mode", "nearest", "linear") == "linear"
	r := resizing{linear: linear, transformation: "asymmetric", rounding: "floor"}
	modern := a.opset >= 11 && a.node.Op == "Resize"
	if modern {
		r.transformation = a.choice("coordinate_transformation_mode",
			"half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners")
		r.rounding = a.choice("nearest_mode", "round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
		a.require("antialias", 0)
		a.require("exclude_outside", 0)
		a.choice("keep_aspect_ratio_policy", "stretch")
		attribute(a, "cubic_coeff_a", float32(-0.75))   // for another mode
		attribute(a, "extrapolation_value", float32(0)) // for other coordinates
	}
	return func(in []*value) *value {
		checkFloats(in[0])
		x := in[0].rowMajor()
		scales, sizes := optionalInput(in, 2), optionalInput(in, 3)
		if !modern {
			scales, sizes = optionalInput(in, 1), nil
		}
		newShape, factors := resizedShape(x.shape, scales, sizes)
		for k := range newShape {
			if newShape[k] == x.shape[k] && factors[k] == 1 {
				continue
			}
			if x.shape[k] == 0 || newShape[k] == 0 {
				panic(failf("it resizes shape %v to %v", x.shape, newShape))
			}
			x = r.resizeAxis(x, k, newShape[k], factors[k])
		}
		return x
	}
}

// resizedShape returns the size and the factor of each axis, given sizes or factors.
func resizedShape(shape []int, scales, sizes *value) (newShape []int, factors []float64) {
	newShape, factors = make([]int, len(shape)), make([]float64, len(shape))
	switch {
	case sizes != nil && len(sizes.ints) == len(newShape):
		for k, n := range sizes.ints {
			if n < 1 || n > maxElements {
				panic(failf("it resizes to %v", sizes.ints))
			}
			newShape[k], factors[k] = int(n), float64(n)/float64(shape[k])
		}
	case scales != nil && len(scales.floats) == len(newShape):
		for k, f := range scales.floats {
			size := math.Floor(float64(shape[k]) * float64(f))
			if !(f > 0) || size > maxElements {
				panic(failf("its factors are %v", scales.floats))
			}
			newShape[k], factors[k] = int(size), float64(f)
		}
	default:
		panic(failf("it has neither factors nor sizes, one for each axis"))
	}
	count(newShape)
	return newShape, factors
}

// coordinate returns the coordinate of element i of m elements, in an axis of n elements.
func (r resizing) coordinate(i, n, m int, factor float64) float64 {
	switch r.transformation {
	case "asymmetric":
		return float64(i) / factor
	case "align_corners":
		if m == 1 {
			return 0
		}
		return float64(i) * float64(n-1) / float64(m-1)
	case "pytorch_half_pixel":
		if m == 1 {
			return 0
		}
	}
	return (float64(i)+0.5)/factor - 0.5
}

func (r resizing) resizeAxis(x *value, k, m int, factor float64) *value {
	n := x.shape[k]
	first, second, share := make([]int, m), make([]int, m), make([]float32, m)
	for i := range m {
		position := r.coordinate(i, n, m, factor)
		if !r.linear {
			first[i] = min(max(int(round(position, r.rounding)), 0), n-1)
			continue
		}
		position = min(max(position, 0), float64(n-1))
		first[i] = int(position)
		second[i], share[i] = min(first[i]+1, n-1), float32(position-math.Floor(position))
	}
	indices := make([][]int, len(x.shape))
	indices[k] = first
	y := gatherElements(x, indices, 0)
	if !r.linear {
		return y
	}
	indices[k] = second
	z := gatherElements(x, indices, 0)
	shape := slices.Repeat([]int{1}, len(x.shape)-k)
	shape[0] = m
	difference := apply(z, y, func(a, b float32) float32 { return a - b }, nil)
	z = apply(difference, &value{shape: shape, floats: share}, func(a, b float32) float32 { return a * b }, nil)
	return apply(y, z, func(a, b float32) float32 { return a + b }, nil)
}

func round(x float64, mode string) float64 {
	switch mode {
	case "floor":
		return math.Floor(x)
	case "ceil":
		return math.Ceil(x)
	case "round_prefer_ceil":
		return math.Floor(x + 0.5)
	}
	return math.Ceil(x - 0.5)
}
