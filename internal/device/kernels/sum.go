package kernels

import "github.com/unravel-ml/unravel/graph/vulkan"

// The terms of reduce.comp.
const (
	plain = iota
	square
	productOf
	sigmoidError
	squaredError
	logisticError
	gaussianKL
	fromOne
	root
)

// mostParts is the maximum number of groups of a sum.
const mostParts = 256

// partsOf returns the number of groups that add up n elements. It depends only on n.
func partsOf(n int) int { return min(divided(n, 1024), mostParts) }

// reduce records the sums of terms of n elements of x and y into s, from element offset on. It returns the number of
// sums.
func reduce(t *vulkan.Tape, f int, a float64, x, y, s vulkan.Buffer, offset, n int) (parts int) {
	parts = partsOf(n)
	t.Dispatch(kernel("reduce"), parts, 1, 1, append(sizes(n, f, offset), float(a)),
		vulkan.Read(x), vulkan.Read(either(y, x)), vulkan.Update(s))
	return parts
}

// total records out[offset] = scale (sum of n elements of x) + constant.
func total(t *vulkan.Tape, x, out vulkan.Buffer, offset int, scale, constant float64, n int) {
	t.Dispatch(kernel("total"), 1, 1, 1, append(sizes(n, offset), float(scale), float(constant)), vulkan.Read(x),
		vulkan.Update(out))
}

// sumOf records out[0] = scale (sum of terms of n elements of x and y) + constant.
func sumOf(t *vulkan.Tape, f int, a float64, x, y, out vulkan.Buffer, scale, constant float64, n int) {
	s := t.Scratch(partsOf(n))
	total(t, s, out, 0, scale, constant, reduce(t, f, a, x, y, s, 0, n))
}

// Sum records out[0] = scale (sum of n elements of x).
func Sum(t *vulkan.Tape, x, out vulkan.Buffer, scale float64, n int) {
	sumOf(t, plain, 0, x, vulkan.Buffer{}, out, scale, 0, n)
}

// SquaredNorm records out[0] = the sum of the squares of all elements of several tensors.
func SquaredNorm(t *vulkan.Tape, tensors []vulkan.Buffer, sizes []int, out vulkan.Buffer) {
	parts := 0
	for _, n := range sizes {
		parts += partsOf(n)
	}
	s, offset := t.Scratch(parts), 0
	for i, x := range tensors {
		offset += reduce(t, square, 0, x, vulkan.Buffer{}, s, offset, sizes[i])
	}
	total(t, s, out, 0, 1, 0, parts)
}
