package kernels

import (
	"fmt"

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
	inParts(t, x*y, k, bias, c, f, m*n, n, func(parts, part int, bias, c vulkan.Buffer, slope float64) {
		constants := append(sizes(m, k, n, a.row, a.column, b.row, b.column, part, flag(!bias.IsZero()), a.from, b.from),
			float(slope))
		t.Dispatch(tile.kernel("product"), x, y, parts, constants, vulkan.Read(a.Buffer), vulkan.Read(b.Buffer),
			vulkan.Read(either(bias, a.Buffer)), vulkan.Write(c))
	})
}

// inParts records c = f(product + bias) for sums of k terms, with a kernel that records into c. If the kernel has few
// groups, it computes parts of the sums instead. An example is a gradient of weights, which sums over all pixels of a
// batch. c has size elements and the bias width elements, or it is none.
func inParts(t *vulkan.Tape, groups, k int, bias, c vulkan.Buffer, f cpu.Activation, size, width int,
	record func(parts, part int, bias, c vulkan.Buffer, slope float64)) {
	if parts, part := divide(groups, k); parts > 1 {
		terms := t.Scratch(parts * size)
		record(parts, part, vulkan.Buffer{}, terms, 1)
		addParts(t, terms, bias, c, f, size, parts, width)
	} else {
		slope, _ := below(f)
		record(1, k, bias, c, slope)
	}
	finish(t, c, f, size)
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
	each(t, "parts", n, append(sizes(n, parts, width), float(slope)), vulkan.Read(x), vulkan.Read(either(bias, x)),
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
		vulkan.Read(x), vulkan.Read(either(y, x)), vulkan.Write(to))
	if parts > 1 {
		addParts(t, to, vulkan.Buffer{}, s, cpu.LinearActivation, width, parts, 0)
	}
}

// partHeight returns the number of rows per group: at least 256, for at most 64 parts.
func partHeight(rows int) int { return max(256, divided(rows, 64)) }

// tile is the part of a product that a group of threads computes.
type tile struct{ rows, columns int }

// fewTiles is the number of groups that keep a large GPU busy. Below twice this number, sums are divided into parts or
// tiles are smaller.
const fewTiles = 256

// smallTiles is the number of groups below which the smallest tiles are better than parts of sums.
const smallTiles = 64

// leastPart is the least number of products in a part of a divided sum.
const leastPart = 128

// tileOf chooses the tile for a result [m, n] with sums that may be divided into most parts. The choice does not change
// the order of a part's sums.
func tileOf(m, n, most int) tile {
	groups := func(s tile) int { x, y := s.groups(m, n); return x * y }
	switch {
	case n <= 16:
		return tile{64, 16}
	case groups(tile{64, 64})*max(1, most) < smallTiles:
		return tile{32, 32}
	case n <= 32 && groups(tile{128, 32}) < 2*fewTiles:
		return tile{64, 32}
	case n <= 32:
		return tile{128, 32}
	case groups(tile{128, 64}) < 2*fewTiles:
		return tile{64, 64}
	}
	return tile{128, 64}
}

// kernel returns the kernel of a product with this tile.
func (s tile) kernel(name string) vulkan.Kernel {
	return kernel(fmt.Sprintf("%s-%dx%d", name, s.rows, s.columns))
}

func (s tile) groups(m, n int) (x, y int) { return divided(m, s.rows), divided(n, s.columns) }

// divide splits sums of k terms into parts of equal length if a product has few groups.
func divide(groups, k int) (parts, part int) {
	parts = min(k/leastPart, 2*fewTiles/groups)
	if parts < 2 {
		return 1, k
	}
	part = (divided(k, parts) + 7) &^ 7
	return divided(k, part), part
}
