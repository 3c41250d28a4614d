package kernels

import "github.com/unravel-ml/unravel/graph/vulkan"

// Discriminate records losses.DensityRatio of logits [rows, columns] with 1 or 2 columns, or losses.Discrimination if
// sides is true.
func Discriminate(t *vulkan.Tape, logits, out vulkan.Buffer, sides bool, rows, columns int) {
	terms := t.Scratch(rows)
	each(t, "discriminate", rows, append(sizes(rows, columns, flag(sides), 0), 0),
		vulkan.Read(logits), vulkan.Read(logits), vulkan.Write(terms))
	Sum(t, terms, out, 1/float64(rows), rows)
}

// DiscriminateGradient records the gradient of [Discriminate].
func DiscriminateGradient(t *vulkan.Tape, logits, dout, dlogits vulkan.Buffer, sides bool, rows, columns int) {
	each(t, "discriminate", rows, append(sizes(rows, columns, flag(sides), 1), float(1/float64(rows))),
		vulkan.Read(logits), vulkan.Read(dout), vulkan.Write(dlogits))
}

// Apart records z = |x - y| for n elements.
func Apart(t *vulkan.Tape, x, y, z vulkan.Buffer, n int) {
	each(t, "apart", n, sizes(n, 0), vulkan.Read(x), vulkan.Read(y), vulkan.Read(x), vulkan.Write(z))
}

// ApartGradient records the gradients of [Apart]; they are 0 where x = y.
func ApartGradient(t *vulkan.Tape, x, y, dz, dx, dy vulkan.Buffer, n int) {
	for i, d := range []vulkan.Buffer{dx, dy} {
		if !d.IsZero() {
			each(t, "apart", n, sizes(n, i+1), vulkan.Read(x), vulkan.Read(y), vulkan.Read(dz), vulkan.Write(d))
		}
	}
}

// WeightedKL records losses.KLGaussianWeighted of mu and log sigma [rows, columns] with a weight for each column.
func WeightedKL(t *vulkan.Tape, mu, logSigma, weights, out vulkan.Buffer, rows, columns int) {
	n := rows * columns
	terms := t.Scratch(n)
	weightedKL(t, 0, 0, mu, logSigma, weights, mu, terms, n, columns)
	Sum(t, terms, out, 0.5/float64(rows), n)
}

// WeightedKLGradient records the gradients of [WeightedKL] with respect to mu and log sigma.
func WeightedKLGradient(t *vulkan.Tape, mu, logSigma, weights, dout, dmu, dlogSigma vulkan.Buffer, rows, columns int) {
	for i, d := range []vulkan.Buffer{dmu, dlogSigma} {
		if !d.IsZero() {
			weightedKL(t, i+1, 1/float64(rows), mu, logSigma, weights, dout, d, rows*columns, columns)
		}
	}
}

func weightedKL(t *vulkan.Tape, f int, scale float64, mu, logSigma, weights, dout, d vulkan.Buffer, n, columns int) {
	each(t, "weightedkl", n, append(sizes(n, columns, f), float(scale)), vulkan.Read(mu), vulkan.Read(logSigma),
		vulkan.Read(weights), vulkan.Read(dout), vulkan.Write(d))
}

// KLCategorical records losses.KLCategorical of n probabilities and their logarithms: out[0] = constant + 1/rows sum p
// l.
func KLCategorical(t *vulkan.Tape, p, logarithms, out vulkan.Buffer, constant float64, rows, n int) {
	sumOf(t, productOf, 0, p, logarithms, out, 1/float64(rows), constant, n)
}

// HalfSquare records out[0] = half the sum of the squares of n elements; its gradient is dx = dout x ([ScaleBy]).
func HalfSquare(t *vulkan.Tape, x, out vulkan.Buffer, n int) {
	sumOf(t, square, 0, x, vulkan.Buffer{}, out, 0.5, 0, n)
}

// NormalDistribution records the normal distribution function of n elements, within 2^-24 and 1 - 2^-24: see
// latent.Uniform.
func NormalDistribution(t *vulkan.Tape, x, y vulkan.Buffer, n int) {
	each(t, "activate", n, sizes(n, normalDistribution), vulkan.Read(x), vulkan.Write(y))
}

// RelaxedChoice records latent.RelaxedChoice of log probabilities and uniform numbers [rows, columns]. If tau is 0, the
// buffer temperature has the temperature.
func RelaxedChoice(t *vulkan.Tape, logarithms, uniform, temperature, y vulkan.Buffer, tau float64, rows, columns int) {
	rowwise(t, "relaxed", rows, append(sizes(rows, columns, 0), float(tau)),
		vulkan.Read(logarithms), vulkan.Read(uniform), vulkan.Read(either(temperature, uniform)), vulkan.Update(y))
}

// RelaxedChoiceGradient records the gradient of y = [RelaxedChoice] with respect to the log probabilities.
func RelaxedChoiceGradient(t *vulkan.Tape, y, dy, temperature, d vulkan.Buffer, tau float64, rows, columns int) {
	rowwise(t, "relaxed", rows, append(sizes(rows, columns, 1), float(tau)),
		vulkan.Read(y), vulkan.Read(dy), vulkan.Read(either(temperature, y)), vulkan.Update(d))
}

// Transport records the transport of points z [groups m, columns] to their group's common point, and of it to each row.
// action is the number of the group action in transport.comp; turns are its transformations, none for the identity.
func Transport(t *vulkan.Tape, z, turns, y vulkan.Buffer, action, groups, m, columns int) {
	transport(t, z, turns, z, y, action, groups, m, columns, 0)
}

// TransportGradient records the gradient of [Transport] with respect to the points.
func TransportGradient(t *vulkan.Tape, z, turns, dy, dz vulkan.Buffer, action, groups, m, columns int) {
	transport(t, z, turns, dy, dz, action, groups, m, columns, 1)
}

func transport(t *vulkan.Tape, z, turns, dy, y vulkan.Buffer, action, groups, m, columns, gradient int) {
	each(t, "transport", groups*columns, sizes(groups, m, columns, action, gradient),
		vulkan.Read(z), vulkan.Read(either(turns, z)), vulkan.Read(dy), vulkan.Write(y))
}

// PublicLSBD records losses.PublicLSBD of points z and transported points y [rows, columns], with the weights of
// 1 - clip(z.y) and of |z - y|.
func PublicLSBD(t *vulkan.Tape, z, y, out vulkan.Buffer, cosine, distance float64, rows, columns int) {
	terms := t.Scratch(rows)
	publicLSBD(t, 0, z, y, z, terms, cosine, distance, rows, columns)
	Sum(t, terms, out, 1, rows)
}

// PublicLSBDGradient records the gradients of [PublicLSBD].
func PublicLSBDGradient(t *vulkan.Tape, z, y, dout, dz, dy vulkan.Buffer, cosine, distance float64, rows, columns int) {
	for i, d := range []vulkan.Buffer{dz, dy} {
		if !d.IsZero() {
			publicLSBD(t, i+1, z, y, dout, d, cosine, distance, rows, columns)
		}
	}
}

func publicLSBD(t *vulkan.Tape, f int, z, y, dout, out vulkan.Buffer, cosine, distance float64, rows, columns int) {
	rowwise(t, "publiclsbd", rows, append(sizes(rows, columns, f), float(cosine), float(distance)), vulkan.Read(z),
		vulkan.Read(y), vulkan.Read(dout), vulkan.Write(out))
}
