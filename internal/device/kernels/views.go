package kernels

import (
	"math"

	"github.com/unravel-ml/unravel/graph/vulkan"
	cpu "github.com/unravel-ml/unravel/internal/kernel"
)

// CosineRegression records losses.CosineRegression of predictions and targets [rows, columns], rows being twice the
// number of images.
func CosineRegression(t *vulkan.Tape, predictions, targets, out vulkan.Buffer, rows, columns int) {
	apart := t.Scratch(rows)
	rowwise(t, "cosine", rows, append(sizes(rows, columns, 0), 0), vulkan.Read(predictions), vulkan.Read(targets),
		vulkan.Read(targets), vulkan.Write(apart))
	total(t, apart, out, 0, 2/float64(rows), 0, rows)
}

// CosineRegressionGradient records the gradient of [CosineRegression] by the predictions.
func CosineRegressionGradient(t *vulkan.Tape, predictions, targets, dout, dpredictions vulkan.Buffer,
	rows, columns int) {
	rowwise(t, "cosine", rows, append(sizes(rows, columns, 1), float(-4/float64(rows))),
		vulkan.Read(predictions), vulkan.Read(targets), vulkan.Read(dout), vulkan.Write(dpredictions))
}

// CorrelationPenalty records the penalty of losses.CrossCorrelation of standardised columns z [2 n, d]: sum_c (1 -
// C_cc)^2 + lambda sum_(c != e) C_ce^2 with C = 1/n Z_1' Z_2 for the halves Z of z. As on the CPU, it takes n^2 d
// multiplications and does not form C.
func CorrelationPenalty(t *vulkan.Tape, z, out vulkan.Buffer, lambda float64, n, d int) {
	near := t.Scratch(d)
	diagonal(t, z, near, n, d)
	first, second, s := gram(t, z, 0, n, d), gram(t, z, 1, n, d), t.Scratch(3)
	parts := t.Scratch(max(partsOf(n*n), partsOf(d)))
	for i, c := range []struct {
		f, n int
		x, y vulkan.Buffer
	}{{fromOne, d, near, near}, {productOf, n * n, first, second}, {square, d, near, near}} {
		total(t, parts, s, i, 1, 0, reduce(t, c.f, 0, c.x, c.y, parts, 0, c.n))
	}
	t.Dispatch(kernel("correlation"), 1, 1, 1, []uint32{float(lambda), float(float64(n))}, vulkan.Read(s),
		vulkan.Write(out))
}

// CorrelationPenaltyGradient records the gradient of [CorrelationPenalty].
func CorrelationPenaltyGradient(t *vulkan.Tape, z, dout, dz vulkan.Buffer, lambda float64, n, d int) {
	near, along := t.Scratch(d), t.Scratch(n*d)
	diagonal(t, z, near, n, d)
	for half := range 2 {
		other := gram(t, z, 1-half, n, d)
		product(t, matrix{other, n, 1, 0}, matrix{z, d, 1, half * n * d}, vulkan.Buffer{}, along, cpu.LinearActivation, n,
			n, d)
		each(t, "correlationgradient", n*d, append(sizes(n*d, d, half*n*d, (1-half)*n*d), float(lambda), float(float64(n))),
			vulkan.Read(z), vulkan.Read(along), vulkan.Read(near), vulkan.Read(dout), vulkan.Update(dz))
	}
}

// diagonal records C_cc for each column.
func diagonal(t *vulkan.Tape, z, r vulkan.Buffer, n, d int) {
	columnSums(t, z, z, n*d, r, n, d)
	Scale(t, 1/float64(n), r, r, d)
}

// gram returns the inner products of the rows of a half of z, [n, n].
func gram(t *vulkan.Tape, z vulkan.Buffer, half, n, d int) vulkan.Buffer {
	g := t.Scratch(n * n)
	product(t, matrix{z, d, 1, half * n * d}, matrix{z, 1, d, half * n * d}, vulkan.Buffer{}, g, cpu.LinearActivation,
		n, d, n)
	return g
}

// Spread records models.spreadOf of codes [rows, columns].
func Spread(t *vulkan.Tape, codes, out vulkan.Buffer, rows, columns int) {
	n := rows * columns
	unit, moments, variances := t.Scratch(n), t.Scratch(2*columns), t.Scratch(columns)
	NormaliseRows(t, codes, unit, rows, columns)
	Moments(t, unit, moments, NormShape{Sets: 1, Rows: rows, Channels: columns})
	t.CopyRange(variances, 0, moments, 4*int64(columns), 4*int64(columns))
	sumOf(t, root, 0, variances, vulkan.Buffer{}, out, 1/math.Sqrt(float64(columns)), 0, columns)
}

// InfoNCE records losses.InfoNCE of queries and keys [n, d] and negatives [d, m].
func InfoNCE(t *vulkan.Tape, queries, keys, negatives, out vulkan.Buffer, tau float64, n, d, m int) {
	_, loss, _ := contrast(t, queries, keys, negatives, tau, n, d, m)
	total(t, loss, out, 0, 1/float64(n), 0, n)
}

// InfoNCEGradient records the gradients of [InfoNCE] by queries and keys. It recomputes the probabilities.
func InfoNCEGradient(t *vulkan.Tape, queries, keys, negatives, dout, dqueries, dkeys vulkan.Buffer, tau float64,
	n, d, m int) {
	p, _, rest := contrast(t, queries, keys, negatives, tau, n, d, m)
	scale := float(1 / float64(n) / tau)
	if !dqueries.IsZero() {
		mean := t.Scratch(n * d)
		product(t, matrix{p, m, 1, 0}, matrix{negatives, 1, m, 0}, vulkan.Buffer{}, mean, cpu.LinearActivation, n, m, d)
		each(t, "contrastgradient", n*d, append(sizes(n*d, d, 1), scale), vulkan.Read(keys), vulkan.Read(rest),
			vulkan.Read(mean), vulkan.Read(dout), vulkan.Write(dqueries))
	}
	if !dkeys.IsZero() {
		each(t, "contrastgradient", n*d, append(sizes(n*d, d, 0), scale), vulkan.Read(queries), vulkan.Read(rest),
			vulkan.Read(rest), vulkan.Read(dout), vulkan.Write(dkeys))
	}
}

// contrast returns the probabilities of the negatives [n, m], and for each query the loss and the probability of its
// key minus 1.
func contrast(t *vulkan.Tape, queries, keys, negatives vulkan.Buffer, tau float64,
	n, d, m int) (p, loss, rest vulkan.Buffer) {
	p, loss, rest = t.Scratch(n*m), t.Scratch(n), t.Scratch(n)
	product(t, matrix{queries, d, 1, 0}, matrix{negatives, m, 1, 0}, vulkan.Buffer{}, p, cpu.LinearActivation, n, d, m)
	rowwise(t, "contrast", n, append(sizes(n, d, m), float(tau)), vulkan.Read(queries), vulkan.Read(keys),
		vulkan.Update(p), vulkan.Write(loss), vulkan.Write(rest))
	return p, loss, rest
}

// Enqueue records that keys [n, width] overwrite the oldest columns of a queue [width, capacity], with n at most
// capacity. It advances next, the index of the oldest column.
func Enqueue(t *vulkan.Tape, keys, queue, next vulkan.Buffer, n, width, capacity int) {
	each(t, "enqueue", n*width, sizes(n, width, capacity), vulkan.Read(keys), vulkan.Read(next), vulkan.Update(queue))
	t.Dispatch(kernel("advance"), 1, 1, 1, sizes(n, capacity), vulkan.Update(next))
}
