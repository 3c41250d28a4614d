package onnxrun

import (
	"slices"

	"github.com/unravel-ml/unravel/internal/numeric"
)

// gatherElements gathers elements of x along each axis: y[i, j, ...] = x[indices[0][i], indices[1][j], ...]. For an
// index of -1, the element is fill. nil indices leave an axis unchanged.
func gatherElements(x *value, indices [][]int, fill float32) *value {
	x = x.rowMajor()
	if len(x.shape) == 0 {
		return x
	}
	shape := slices.Clone(x.shape)
	for k, p := range indices {
		if p != nil {
			shape[k] = len(p)
		}
	}
	n := count(shape)
	y := &value{shape: shape}
	if x.ints != nil {
		y.ints = make([]int64, n)
		gatherInto(y.ints, x.ints, shape, x.shape, indices, int64(fill))
	} else {
		y.floats = make([]float32, n)
		gatherInto(y.floats, x.floats, shape, x.shape, indices, fill)
	}
	return y
}

func gatherInto[T any](y, x []T, shape, source []int, indices [][]int, fill T) {
	rank := len(shape)
	steps := make([]int, rank)
	step := 1
	for k := rank - 1; k >= 0; k-- {
		steps[k] = step
		step *= source[k]
	}
	n := shape[rank-1]
	forRows(shape, func(row int, index []int) {
		start, outside := 0, false
		for k, i := range index {
			if indices[k] != nil {
				i = indices[k][i]
			}
			outside = outside || i < 0
			start += i * steps[k]
		}
		dst := y[row*n : (row+1)*n]
		last := indices[rank-1]
		switch {
		case outside:
			for i := range dst {
				dst[i] = fill
			}
		case last == nil:
			copy(dst, x[start:start+n])
		default:
			for i, p := range last {
				if dst[i] = fill; p >= 0 {
					dst[i] = x[start+p]
				}
			}
		}
	})
}

// intsInput returns the integers of input k, or the fallback if the input is omitted.
func intsInput(in []*value, k int, fallback []int, name string) []int {
	if v := optionalInput(in, k); v != nil {
		return toInts(v, name)
	}
	return fallback
}

// concat concatenates arrays along an axis.
func concat(a *attributes) compute {
	axis := attribute(a, "axis", 1)
	return func(in []*value) *value {
		if slices.Contains(in, nil) {
			panic(failf("an input is left out"))
		}
		k := resolveAxis(axis, len(in[0].shape))
		shape := concatShape(in, k)
		n := count(shape)
		y := &value{shape: shape}
		if in[0].ints != nil {
			y.ints = make([]int64, n)
		} else {
			y.floats = make([]float32, n)
		}
		rows, row, offset := product(shape[:k]), product(shape[k:]), 0
		for _, x := range in {
			x, n := x.rowMajor(), product(x.shape[k:])
			if x.ints != nil {
				copyRows(y.ints, x.ints, rows, row, n, offset)
			} else {
				copyRows(y.floats, x.floats, rows, row, n, offset)
			}
			offset += n
		}
		return y
	}
}

// concatShape returns the shape of arrays concatenated along axis k. All other axes must be equal.
func concatShape(in []*value, k int) []int {
	first := in[0]
	shape := slices.Clone(first.shape)
	shape[k] = 0
	for i, x := range in {
		compatible := len(x.shape) == len(shape) && (x.ints == nil) == (first.ints == nil)
		for j := 0; compatible && j < len(shape); j++ {
			compatible = j == k || x.shape[j] == shape[j]
		}
		if !compatible {
			panic(failf("input %d of shape %v does not fit to shape %v along axis %d", i, x.shape, first.shape, k))
		}
		shape[k] += x.shape[k]
	}
	return shape
}

// copyRows copies rows with n elements of x to offset at in the rows of y.
func copyRows[T any](y, x []T, rows, row, n, offset int) {
	for r := range rows {
		copy(y[r*row+offset:][:n], x[r*n:])
	}
}

// slice takes elements from start to end with a step, along axes. The lists are attributes before operator set 10, and
// inputs in later sets.
func slice(a *attributes) compute {
	var lists [4][]int // starts, ends, axes, steps
	old := a.opset < 10
	if old {
		for i, name := range []string{"starts", "ends", "axes"} {
			lists[i] = attribute(a, name, []int(nil))
		}
	}
	return func(in []*value) *value {
		l := lists
		if !old {
			if len(in) < 3 {
				panic(failf("it has no starts and ends"))
			}
			for i, name := range []string{"starts", "ends", "axes", "steps"} {
				l[i] = intsInput(in, i+1, nil, "the list of "+name)
			}
		}
		return gatherElements(in[0], sliceAxes(in[0].shape, l[0], l[1], l[2], l[3]), 0)
	}
}

// sliceAxes lists the indices of a slice along each axis. nil axes mean the first axes, and nil steps mean 1.
func sliceAxes(shape, starts, ends, axes, steps []int) [][]int {
	if axes == nil {
		axes = numeric.UpTo(len(starts))
	}
	if steps == nil {
		steps = slices.Repeat([]int{1}, len(starts))
	}
	if len(ends) != len(starts) || len(axes) != len(starts) || len(steps) != len(starts) {
		panic(failf("it has %d starts, %d ends, %d axes and %d steps; want as many of each",
			len(starts), len(ends), len(axes), len(steps)))
	}
	resolveAxes(axes, len(shape))
	indices := make([][]int, len(shape))
	for i, axis := range axes {
		k := resolveAxis(axis, len(shape))
		if steps[i] == 0 {
			panic(failf("a step is 0"))
		}
		indices[k] = sliceIndices(shape[k], starts[i], ends[i], steps[i])
	}
	return indices
}

// sliceIndices lists the indices of a slice of n elements.
func sliceIndices(n, start, end, step int) []int {
	lowest, highest := 0, n // limits of start and end
	if step < 0 {
		lowest, highest = -1, n-1
	}
	clamp := func(i int) int {
		if i < 0 {
			i = max(i, -n-1) + n
		}
		return min(max(i, lowest), highest)
	}
	list := []int{}
	step = min(max(step, -n-1), n+1)
	for i, e := clamp(start), clamp(end); step > 0 && i < e || step < 0 && i > e; i += step {
		list = append(list, i)
	}
	return list
}

// gather gathers elements at indices along an axis.
func gather(a *attributes) compute {
	axis := attribute(a, "axis", 0)
	return func(in []*value) *value {
		x, indices := in[0], in[1]
		k := resolveAxis(axis, len(x.shape))
		if indices.ints == nil {
			panic(failf("its indices are float32; want integers"))
		}
		list := make([]int, len(indices.ints))
		for i, n := range indices.ints {
			if size := int64(x.shape[k]); n < -size || n >= size {
				panic(failf("index %d is out of range for axis %d of shape %v", n, k, x.shape))
			}
			list[i] = resolveAxis(int(n), x.shape[k])
		}
		sourceIndices := make([][]int, len(x.shape))
		sourceIndices[k] = list
		y := gatherElements(x, sourceIndices, 0)
		return y.reshape(slices.Concat(x.shape[:k], indices.shape, x.shape[k+1:]))
	}
}

// split splits an axis into parts; each output is a part.
func split(a *attributes) compute {
	axis, parts := attribute(a, "axis", 0), len(a.node.Outputs)
	var sizes []int
	if a.opset < 13 {
		sizes = attribute(a, "split", []int(nil))
	}
	if a.opset >= 18 {
		parts = attribute(a, "num_outputs", parts)
	}
	output := a.output
	return func(in []*value) *value {
		x := in[0]
		k := resolveAxis(axis, len(x.shape))
		sizes := intsInput(in, 1, sizes, "the list of sizes")
		if sizes == nil {
			if parts < 1 || parts > x.shape[k] || parts != len(a.node.Outputs) {
				panic(failf("it has %d outputs for %d parts of axis %d of shape %v", len(a.node.Outputs), parts, k, x.shape))
			}
			sizes = equalParts(x.shape[k], parts)
		}
		start, total := 0, 0
		for i, n := range sizes {
			if n < 0 || n > x.shape[k] {
				panic(failf("sizes %v do not divide axis %d of shape %v", sizes, k, x.shape))
			}
			if total += n; i < output {
				start += n
			}
		}
		if total != x.shape[k] || output >= len(sizes) {
			panic(failf("sizes %v do not divide axis %d of shape %v into %d outputs", sizes, k, x.shape, len(a.node.Outputs)))
		}
		indices := make([][]int, len(x.shape))
		indices[k] = sliceIndices(x.shape[k], start, start+sizes[output], 1)
		return gatherElements(x, indices, 0)
	}
}

// equalParts divides n elements into parts of equal size. The last parts may be smaller or empty.
func equalParts(n, parts int) (sizes []int) {
	size := (n + parts - 1) / parts
	for start := 0; len(sizes) < parts; start += size {
		sizes = append(sizes, max(0, min(size, n-start)))
	}
	return sizes
}

// pad adds elements at both ends of axes: a constant, or copies of elements.
func pad(a *attributes) compute {
	mode := a.choice("mode", "constant", "reflect", "edge")
	var pads []int
	var fill float32
	if a.opset < 11 {
		pads, fill = attribute(a, "pads", pads), attribute(a, "value", fill)
	}
	return func(in []*value) *value {
		pads := intsInput(in, 1, pads, "the list of pads")
		fill := numberInput(in, 2, fill)
		axes := intsInput(in, 3, numeric.UpTo(len(in[0].shape)), "the list of axes")
		return gatherElements(in[0], padAxes(in[0].shape, pads, axes, mode), fill)
	}
}

// numberInput returns the number in input k, or the fallback if the input is omitted.
func numberInput(in []*value, k int, fallback float32) float32 {
	switch v := optionalInput(in, k); {
	case v == nil:
		return fallback
	case v.len() != 1:
		panic(failf("the number to pad with has shape %v", v.shape))
	case v.ints != nil:
		return float32(v.ints[0])
	default:
		return v.floats[0]
	}
}

// padAxes lists the indices of elements along each axis after padding; nil: an unchanged axis. pads has the numbers
// of added elements before each axis, then the numbers after each axis.
func padAxes(shape, pads, axes []int, mode string) [][]int {
	resolveAxes(axes, len(shape))
	if len(pads) != 2*len(axes) {
		panic(failf("it has %d pads; want %d, for both ends of %d axes", len(pads), 2*len(axes), len(axes)))
	}
	indices := make([][]int, len(shape))
	for i, axis := range axes {
		k := resolveAxis(axis, len(shape))
		before, after := pads[i], pads[len(axes)+i]
		if before == 0 && after == 0 {
			continue
		}
		indices[k] = padIndices(shape[k], before, after, mode)
	}
	return indices
}

// padIndices lists the indices for n elements with added elements before and after.
func padIndices(n, before, after int, mode string) []int {
	maximum := maxElements
	if mode == "reflect" {
		maximum = n - 1
	}
	if mode == "edge" && n == 0 || min(before, after) < -n || max(before, after) > maximum || n+before+after < 0 {
		panic(failf("pads %d and %d of mode %s are not possible for %d elements", before, after, mode, n))
	}
	list := make([]int, n+before+after)
	for i := range list {
		p := i - before
		switch {
		case p >= 0 && p < n:
		case mode == "edge":
			p = min(max(p, 0), n-1)
		case mode == "constant":
			p = -1
		case p < 0:
			p = -p
		default:
			p = 2*(n-1) - p
		}
		list[i] = p
	}
	return list
}
