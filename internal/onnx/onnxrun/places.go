package onnxrun

import (
	"slices"

	"github.com/unravel-ml/unravel/internal/numeric"
)

// taken gathers elements of x along each axis: y[i, j, ...] = x[places[0][i], places[1][j], ...]. For a place of -1,
// the element is fill. nil places leave an axis unchanged.
func taken(x *value, places [][]int, fill float32) *value {
	x = x.plain()
	if len(x.shape) == 0 {
		return x
	}
	shape := slices.Clone(x.shape)
	for k, p := range places {
		if p != nil {
			shape[k] = len(p)
		}
	}
	n := count(shape)
	y := &value{shape: shape}
	if x.ints != nil {
		y.ints = make([]int64, n)
		take(y.ints, x.ints, shape, x.shape, places, int64(fill))
	} else {
		y.floats = make([]float32, n)
		take(y.floats, x.floats, shape, x.shape, places, fill)
	}
	return y
}

func take[T any](y, x []T, shape, of []int, places [][]int, fill T) {
	rank := len(shape)
	steps := make([]int, rank)
	step := 1
	for k := rank - 1; k >= 0; k-- {
		steps[k] = step
		step *= of[k]
	}
	n := shape[rank-1]
	overRows(shape, func(row int, at []int) {
		from, outside := 0, false
		for k, i := range at {
			if places[k] != nil {
				i = places[k][i]
			}
			outside = outside || i < 0
			from += i * steps[k]
		}
		dst := y[row*n : (row+1)*n]
		last := places[rank-1]
		switch {
		case outside:
			for i := range dst {
				dst[i] = fill
			}
		case last == nil:
			copy(dst, x[from:from+n])
		default:
			for i, p := range last {
				if dst[i] = fill; p >= 0 {
					dst[i] = x[from+p]
				}
			}
		}
	})
}

// givenInts returns the integers of input k, or otherwise if the input is omitted.
func givenInts(in []*value, k int, otherwise []int, what string) []int {
	if v := given(in, k); v != nil {
		return asInts(v, what)
	}
	return otherwise
}

// concat concatenates arrays along an axis.
func concat(a *attributes) compute {
	axis := attribute(a, "axis", 1)
	return func(in []*value) *value {
		if slices.Contains(in, nil) {
			panic(failed("an input is left out"))
		}
		k := axisOf(axis, len(in[0].shape))
		shape := joinedShape(in, k)
		n := count(shape)
		y := &value{shape: shape}
		if in[0].ints != nil {
			y.ints = make([]int64, n)
		} else {
			y.floats = make([]float32, n)
		}
		rows, row, at := product(shape[:k]), product(shape[k:]), 0
		for _, x := range in {
			x, n := x.plain(), product(x.shape[k:])
			if x.ints != nil {
				copyRows(y.ints, x.ints, rows, row, n, at)
			} else {
				copyRows(y.floats, x.floats, rows, row, n, at)
			}
			at += n
		}
		return y
	}
}

// joinedShape returns the shape of arrays concatenated along axis k. All other axes must be equal.
func joinedShape(in []*value, k int) []int {
	first := in[0]
	shape := slices.Clone(first.shape)
	shape[k] = 0
	for i, x := range in {
		same := len(x.shape) == len(shape) && (x.ints == nil) == (first.ints == nil)
		for j := 0; same && j < len(shape); j++ {
			same = j == k || x.shape[j] == shape[j]
		}
		if !same {
			panic(failed("input %d of shape %v does not fit to shape %v along axis %d", i, x.shape, first.shape, k))
		}
		shape[k] += x.shape[k]
	}
	return shape
}

// copyRows copies rows with n elements of x to offset at in the rows of y.
func copyRows[T any](y, x []T, rows, row, n, at int) {
	for r := range rows {
		copy(y[r*row+at:][:n], x[r*n:])
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
				panic(failed("it has no starts and ends"))
			}
			for i, name := range []string{"starts", "ends", "axes", "steps"} {
				l[i] = givenInts(in, i+1, nil, "the list of "+name)
			}
		}
		return taken(in[0], slicePlaces(in[0].shape, l[0], l[1], l[2], l[3]), 0)
	}
}

// slicePlaces lists the indices of a slice along each axis. nil axes mean the first axes, and nil steps mean 1.
func slicePlaces(shape, starts, ends, axes, steps []int) [][]int {
	if axes == nil {
		axes = numeric.UpTo(len(starts))
	}
	if steps == nil {
		steps = slices.Repeat([]int{1}, len(starts))
	}
	if len(ends) != len(starts) || len(axes) != len(starts) || len(steps) != len(starts) {
		panic(failed("it has %d starts, %d ends, %d axes and %d steps; want as many of each", len(starts), len(ends), len(axes), len(steps)))
	}
	axesOf(axes, len(shape))
	places := make([][]int, len(shape))
	for i, axis := range axes {
		k := axisOf(axis, len(shape))
		if steps[i] == 0 {
			panic(failed("a step is 0"))
		}
		places[k] = sliced(shape[k], starts[i], ends[i], steps[i])
	}
	return places
}

// sliced lists the indices of a slice of n elements.
func sliced(n, start, end, step int) []int {
	lowest, highest := 0, n // limits of start and end
	if step < 0 {
		lowest, highest = -1, n-1
	}
	place := func(i int) int {
		if i < 0 {
			i = max(i, -n-1) + n
		}
		return min(max(i, lowest), highest)
	}
	list := []int{}
	step = min(max(step, -n-1), n+1)
	for i, e := place(start), place(end); step > 0 && i < e || step < 0 && i > e; i += step {
		list = append(list, i)
	}
	return list
}

// gather gathers elements at indices along an axis.
func gather(a *attributes) compute {
	axis := attribute(a, "axis", 0)
	return func(in []*value) *value {
		x, at := in[0], in[1]
		k := axisOf(axis, len(x.shape))
		if at.ints == nil {
			panic(failed("its indices are float32; want integers"))
		}
		list := make([]int, len(at.ints))
		for i, n := range at.ints {
			if size := int64(x.shape[k]); n < -size || n >= size {
				panic(failed("index %d is out of range for axis %d of shape %v", n, k, x.shape))
			}
			list[i] = axisOf(int(n), x.shape[k])
		}
		places := make([][]int, len(x.shape))
		places[k] = list
		y := taken(x, places, 0)
		return y.reshaped(slices.Concat(x.shape[:k], at.shape, x.shape[k+1:]))
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
		k := axisOf(axis, len(x.shape))
		sizes := givenInts(in, 1, sizes, "the list of sizes")
		if sizes == nil {
			if parts < 1 || parts > x.shape[k] || parts != len(a.node.Outputs) {
				panic(failed("it has %d outputs for %d parts of axis %d of shape %v", len(a.node.Outputs), parts, k, x.shape))
			}
			sizes = equalParts(x.shape[k], parts)
		}
		from, all := 0, 0
		for i, n := range sizes {
			if n < 0 || n > x.shape[k] {
				panic(failed("sizes %v do not divide axis %d of shape %v", sizes, k, x.shape))
			}
			if all += n; i < output {
				from += n
			}
		}
		if all != x.shape[k] || output >= len(sizes) {
			panic(failed("sizes %v do not divide axis %d of shape %v into %d outputs", sizes, k, x.shape, len(a.node.Outputs)))
		}
		places := make([][]int, len(x.shape))
		places[k] = sliced(x.shape[k], from, from+sizes[output], 1)
		return taken(x, places, 0)
	}
}

// equalParts divides n elements into parts of equal size. The last parts may be smaller or empty.
func equalParts(n, parts int) (sizes []int) {
	each := (n + parts - 1) / parts
	for at := 0; len(sizes) < parts; at += each {
		sizes = append(sizes, max(0, min(each, n-at)))
	}
	return sizes
}

// pad adds elements at both ends of axes: a constant, or copies of elements.
func pad(a *attributes) compute {
	mode := a.word("mode", "constant", "reflect", "edge")
	var pads []int
	var fill float32
	if a.opset < 11 {
		pads, fill = attribute(a, "pads", pads), attribute(a, "value", fill)
	}
	return func(in []*value) *value {
		pads := givenInts(in, 1, pads, "the list of pads")
		fill := givenNumber(in, 2, fill)
		axes := givenInts(in, 3, numeric.UpTo(len(in[0].shape)), "the list of axes")
		return taken(in[0], padPlaces(in[0].shape, pads, axes, mode), fill)
	}
}

// givenNumber returns the number in input k, or otherwise if the input is omitted.
func givenNumber(in []*value, k int, otherwise float32) float32 {
	switch v := given(in, k); {
	case v == nil:
		return otherwise
	case v.len() != 1:
		panic(failed("the number to pad with has shape %v", v.shape))
	case v.ints != nil:
		return float32(v.ints[0])
	default:
		return v.floats[0]
	}
}

// padPlaces lists the indices of elements along each axis after padding; nil: an unchanged axis. pads has the numbers
// of added elements before each axis, then the numbers after each axis.
func padPlaces(shape, pads, axes []int, mode string) [][]int {
	axesOf(axes, len(shape))
	if len(pads) != 2*len(axes) {
		panic(failed("it has %d pads; want %d, for both ends of %d axes", len(pads), 2*len(axes), len(axes)))
	}
	places := make([][]int, len(shape))
	for i, axis := range axes {
		k := axisOf(axis, len(shape))
		before, after := pads[i], pads[len(axes)+i]
		if before == 0 && after == 0 {
			continue
		}
		places[k] = padded(shape[k], before, after, mode)
	}
	return places
}

// padded lists the indices for n elements with added elements before and after.
func padded(n, before, after int, mode string) []int {
	most := mostElements
	if mode == "reflect" {
		most = n - 1
	}
	if mode == "edge" && n == 0 || min(before, after) < -n || max(before, after) > most || n+before+after < 0 {
		panic(failed("pads %d and %d of mode %s are not possible for %d elements", before, after, mode, n))
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
