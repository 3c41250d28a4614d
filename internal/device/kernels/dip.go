package kernels

import (
	"github.com/unravel-ml/unravel/graph/vulkan"
	cpu "github.com/unravel-ml/unravel/internal/kernel"
)

// DIP records losses.DIP of means [rows, d], or with log variances losses.DIPCode.
func DIP(t *vulkan.Tape, mean, logVariance, out vulkan.Buffer, offDiagonal, diagonal float64, rows, d int) {
	covariance(t, mean, logVariance, out, offDiagonal, diagonal, rows, d)
}

// DIPGradient records the gradients of [DIP]. It recomputes the covariances.
func DIPGradient(t *vulkan.Tape, mean, logVariance, dout, dmean, dlogVariance vulkan.Buffer,
	offDiagonal, diagonal float64, rows, d int) {
	centred, variances, slopes := covariance(t, mean, logVariance, t.Scratch(1), offDiagonal, diagonal, rows, d)
	n := rows * d
	if !dmean.IsZero() { // slopes are symmetric
		along := t.Scratch(n)
		product(t, matrix{centred, d, 1, 0}, matrix{slopes, d, 1, 0}, vulkan.Buffer{}, along,
			cpu.LinearActivation, rows, d, d)
		ScaleBy(t, 2/float64(rows), dout, along, dmean, n)
	}
	if !dlogVariance.IsZero() {
		each(t, "dipgradient", n, sizes(n, d, rows), vulkan.Read(variances), vulkan.Read(slopes), vulkan.Read(dout),
			vulkan.Write(dlogVariance))
	}
}

// covariance records the value. It returns the centred means, the variances and the gradient of the value with respect
// to C.
func covariance(t *vulkan.Tape, mean, logVariance, out vulkan.Buffer, offDiagonal, diagonal float64,
	rows, d int) (centred, variances, slopes vulkan.Buffer) {
	n := rows * d
	sums := t.Scratch(d)
	centred = t.Scratch(n)
	for f := range 2 {
		each(t, "centre", n, sizes(n, d, rows, f), vulkan.Read(mean), vulkan.Read(sums), vulkan.Update(centred))
		if f == 0 {
			columnSums(t, centred, vulkan.Buffer{}, 0, sums, rows, d)
		}
	}
	products, terms := t.Scratch(d*d), t.Scratch(d*d)
	product(t, matrix{centred, 1, d, 0}, matrix{centred, d, 1, 0}, vulkan.Buffer{}, products,
		cpu.LinearActivation, d, rows, d)
	if !logVariance.IsZero() {
		variances = t.Scratch(n)
		Exp(t, logVariance, variances, n)
		columnSums(t, variances, vulkan.Buffer{}, 0, sums, rows, d)
	}
	slopes = t.Scratch(d * d)
	each(t, "dip", d*d, append(sizes(d, rows, flag(!logVariance.IsZero())), float(offDiagonal), float(diagonal)),
		vulkan.Read(products), vulkan.Read(sums), vulkan.Write(terms), vulkan.Write(slopes))
	Sum(t, terms, out, 1, d*d)
	return centred, variances, slopes
}
