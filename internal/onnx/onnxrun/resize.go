package onnxrun

import (
	"math"
	"slices"
)

// resizing maps pixels of the result to coordinates in the original.
type resizing struct {
	linear       bool
	place, round string
}

// resize resizes all axes, by factors or to sizes, with nearest or linear interpolation.
func resize(a *attributes) compute {
	r := resizing{linear: a.word("mode", "nearest", "linear") == "linear", place: "asymmetric", round: "floor"}
	modern := a.opset >= 11 && a.node.Op == "Resize"
	if modern {
		r.place = a.word("coordinate_transformation_mode", "half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners")
		r.round = a.word("nearest_mode", "round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
		a.only("antialias", 0)
		a.only("exclude_outside", 0)
		a.word("keep_aspect_ratio_policy", "stretch")
		attribute(a, "cubic_coeff_a", float32(-0.75))   // for another mode
		attribute(a, "extrapolation_value", float32(0)) // for other coordinates
	}
	return func(in []*value) *value {
		asFloats(in[0])
		x := in[0].plain()
		scales, sizes := given(in, 2), given(in, 3)
		if !modern {
			scales, sizes = given(in, 1), nil
		}
		to, factors := targets(x.shape, scales, sizes)
		for k := range to {
			if to[k] == x.shape[k] && factors[k] == 1 {
				continue
			}
			if x.shape[k] == 0 || to[k] == 0 {
				panic(failed("it resizes shape %v to %v", x.shape, to))
			}
			x = r.along(x, k, to[k], factors[k])
		}
		return x
	}
}

// targets returns the size and the factor of each axis, given sizes or factors.
func targets(shape []int, scales, sizes *value) (to []int, factors []float64) {
	to, factors = make([]int, len(shape)), make([]float64, len(shape))
	switch {
	case sizes != nil && len(sizes.ints) == len(to):
		for k, n := range sizes.ints {
			if n < 1 || n > mostElements {
				panic(failed("it resizes to %v", sizes.ints))
			}
			to[k], factors[k] = int(n), float64(n)/float64(shape[k])
		}
	case scales != nil && len(scales.floats) == len(to):
		for k, f := range scales.floats {
			size := math.Floor(float64(shape[k]) * float64(f))
			if !(f > 0) || size > mostElements {
				panic(failed("its factors are %v", scales.floats))
			}
			to[k], factors[k] = int(size), float64(f)
		}
	default:
		panic(failed("it has neither factors nor sizes, one for each axis"))
	}
	count(to)
	return to, factors
}

// source returns the coordinate of element i of m elements, in an axis of n elements.
func (r resizing) source(i, n, m int, factor float64) float64 {
	switch r.place {
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

func (r resizing) along(x *value, k, m int, factor float64) *value {
	n := x.shape[k]
	first, second, share := make([]int, m), make([]int, m), make([]float32, m)
	for i := range m {
		at := r.source(i, n, m, factor)
		if !r.linear {
			first[i] = min(max(int(rounded(at, r.round)), 0), n-1)
			continue
		}
		at = min(max(at, 0), float64(n-1))
		first[i] = int(at)
		second[i], share[i] = min(first[i]+1, n-1), float32(at-math.Floor(at))
	}
	places := make([][]int, len(x.shape))
	places[k] = first
	y := taken(x, places, 0)
	if !r.linear {
		return y
	}
	places[k] = second
	z := taken(x, places, 0)
	shape := slices.Repeat([]int{1}, len(x.shape)-k)
	shape[0] = m
	difference := apply(z, y, func(a, b float32) float32 { return a - b }, nil)
	z = apply(difference, &value{shape: shape, floats: share}, func(a, b float32) float32 { return a * b }, nil)
	return apply(y, z, func(a, b float32) float32 { return a + b }, nil)
}

func rounded(x float64, mode string) float64 {
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
