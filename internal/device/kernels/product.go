package kernels

import (
	"github.com/unravel-ml/unravel/graph/vulkan"
	cpu "github.com/unravel-ml/unravel/internal/kernel"
)

// matrix is a factor of a product: its element (i, j) is at from + i row + j column.
type matrix struct {
	vulkan.Buffer
	row, column int
	from        int
}

// Dense records y = f(x w + bias). x is [m, k], w [k, n], bias [n] or none, y [m, n].
func Dense(t *vulkan.Tape, x, w, bias, y vulkan.Buffer, f cpu.Activation, m, k, n int) {
	product(t, matrix{x, k, 1, 0}, matrix{w, n, 1, 0}, bias, y, f, m, k, n)
}

// DenseGradient records the gradients dx = g w^T, dw = x^T g and db, the sums of the columns of g, with g = dy f' the
// gradient before the activation of y = [Dense].
func DenseGradient(t *vulkan.Tape, x, w, y, dy, dx, dw, db vulkan.Buffer, f cpu.Activation, m, k, n int) {
	g := beforeActivation(t, y, dy, f, m*n)
	if !dx.IsZero() {
		product(t, matrix{g, n, 1, 0}, matrix{w, 1, n, 0}, vulkan.Buffer{}, dx, cpu.LinearActivation, m, n, k)
	}
	if !dw.IsZero() {
		product(t, matrix{x, 1, k, 0}, matrix{g, n, 1, 0}, vulkan.Buffer{}, dw, cpu.LinearActivation, k, m, n)
	}
	if !db.IsZero() {
		columnSums(t, g, vulkan.Buffer{}, 0, db, m, n)
	}
}

// product records c = f(a b + bias) for a [m, k], b [k, n], bias [n] or none, and c [m, n] in row-major order.
func product(t *vulkan.Tape, a, b matrix, bias, c vulkan.Buffer, f cpu.Activation, m, k, n int) {
	tile := tileOf(m, n, k/leastPart)
	x, y := tile.groups(m, n)
	parts, part := tile.divide(m, k, n)
	to, add, slope := c, bias, 1.0
	if parts > 1 {
		to, add = t.Scratch(parts*m*n), vulkan.Buffer{}
	} else {
		slope, _ = below(f)
	}
	constants := append(sizes(m, k, n, a.row, a.column, b.row, b.column, part, flag(!add.IsZero()), a.from, b.from),
		float(slope))
	t.Dispatch(kernel("product-"+tile.name), x, y, parts, constants, vulkan.Read(a.Buffer), vulkan.Read(b.Buffer),
		vulkan.Read(or(add, a.Buffer)), vulkan.Write(to))
	if parts > 1 {
		addParts(t, to, bias, c, f, m*n, parts, n)
	}
	finish(t, c, f, m*n)
}

// finish applies the activations that a kernel did not apply itself: see [below].
func finish(t *vulkan.Tape, y vulkan.Buffer, f cpu.Activation, n int) {
	if _, done := below(f); !done {
		each(t, "activate", n, sizes(n, int(f)), vulkan.Update(y), vulkan.Update(y))
	}
}

// addParts records y = f(sum of the parts of x in order + bias) for n elements. The bias has width elements, or is
// none. It leaves some activations to [finish].
func addParts(t *vulkan.Tape, x, bias, y vulkan.Buffer, f cpu.Activation, n, parts, width int) {
	if bias.IsZero() {
		width = 0
	}
	slope, _ := below(f)
	each(t, "parts", n, append(sizes(n, parts, width), float(slope)), vulkan.Read(x), vulkan.Read(or(bias, x)),
		vulkan.Write(y))
}

// columnSums records sums of columns: s[c] = sum over rows of x[r, c], or of x[r, c] y[r, c] if y is not none.
// y begins at yFrom.
func columnSums(t *vulkan.Tape, x, y vulkan.Buffer, yFrom int, s vulkan.Buffer, rows, width int) {
	height := partHeight(rows)
	parts := divided(rows, height)
	to := s
	if parts > 1 {
		to = t.Scratch(parts * width)
	}
	t.Dispatch(kernel("columns"), divided(width, 16), parts, 1, sizes(rows, width, height, flag(!y.IsZero()), yFrom),
		vulkan.Read(x), vulkan.Read(or(y, x)), vulkan.Write(to))
	if parts > 1 {
		addParts(t, to, vulkan.Buffer{}, s, cpu.LinearActivation, width, parts, 0)
	}
}

// partHeight returns the number of rows per group: at least 256, for at most 64 parts.
func partHeight(rows int) int { return max(256, divided(rows, 64)) }

// tile is the part of a product that a group computes. Each of its 8 by 8 threads computes rows by columns elements.
type tile struct {
	name          string
	rows, columns int
}

// fewTiles is the number of large tiles below which smaller tiles use a device better.
const fewTiles = 64

// leastPart is the least number of products in a part of a divided sum.
const leastPart = 256

// tileOf chooses the tile for a result [m, n] with sums that may be divided into most parts. The choice does not change
// the order of a part's sums.
func tileOf(m, n, most int) tile {
	switch {
	case n <= 16:
		return tile{"8x2", 64, 16}
	case divided(m, 64)*divided(n, 64)*max(1, most) < fewTiles:
		return tile{"4x4", 32, 32}
	case n <= 32:
		return tile{"8x4", 64, 32}
	}
	return tile{"8x8", 64, 64}
}

func (s tile) groups(m, n int) (x, y int) { return divided(m, s.rows), divided(n, s.columns) }

// divide splits the k products of a result's element into parts of equal length if the result has few tiles. An example
// is a gradient of weights, which sums over all pixels of a batch.
func (s tile) divide(m, k, n int) (parts, part int) {
	x, y := s.groups(m, n)
	parts = min(k/leastPart, 4*fewTiles/(x*y))
	if parts < 2 {
		return 1, k
	}
	part = (divided(k, parts) + 7) &^ 7
	return divided(k, part), part
}
