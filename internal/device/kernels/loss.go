package kernels

import "github.com/unravel-ml/unravel/graph/vulkan"

// The slopes of lossgradient.comp.
const (
	sigmoidErrorLogit = iota
	sigmoidErrorImage
	squaredErrorMean
	squaredErrorImage
	logisticErrorLogit
	logisticErrorImage
	klLocation
	klScale
)

// GaussianReconstruction records out[0] = scale sum (x - m)^2 + constant over n pixels, with the mean m =
// sigmoid(logits), or the logits themselves if linear is true. losses.GaussianReconstruction has scale 1/(2 sigma^2 B).
func GaussianReconstruction(t *vulkan.Tape, x, logits, out vulkan.Buffer, scale, constant float64, linear bool, n int) {
	f := sigmoidError
	if linear {
		f = squaredError
	}
	sumOf(t, f, 0, x, logits, out, scale, constant, n)
}

// GaussianReconstructionGradient records the gradients of [GaussianReconstruction].
func GaussianReconstructionGradient(t *vulkan.Tape, x, logits, dout, dx, dlogits vulkan.Buffer, scale float64,
	linear bool, n int) {
	f := sigmoidErrorLogit
	if linear {
		f = squaredErrorMean
	}
	lossGradient(t, f, 2*scale, 0, x, logits, dout, dlogits, n)
	lossGradient(t, f+1, 2*scale, 0, x, logits, dout, dx, n)
}

// BernoulliReconstruction records out[0] = scale sum (ln(1 + e^logits) - x logits) over n pixels.
// losses.BernoulliReconstruction has scale 1/B.
func BernoulliReconstruction(t *vulkan.Tape, x, logits, out vulkan.Buffer, scale float64, n int) {
	sumOf(t, logisticError, 0, x, logits, out, scale, 0, n)
}

// BernoulliReconstructionGradient records the gradients of [BernoulliReconstruction].
func BernoulliReconstructionGradient(t *vulkan.Tape, x, logits, dout, dx, dlogits vulkan.Buffer, scale float64, n int) {
	lossGradient(t, logisticErrorLogit, scale, 0, x, logits, dout, dlogits, n)
	lossGradient(t, logisticErrorImage, scale, 0, x, logits, dout, dx, n)
}

// lossGradient records d = scale dout[0] slope for n elements, unless d is none.
func lossGradient(t *vulkan.Tape, f int, scale, a float64, x, y, dout, d vulkan.Buffer, n int) {
	if !d.IsZero() {
		each(t, "lossgradient", n, append(sizes(n, f), float(scale), float(a)), vulkan.Read(x), vulkan.Read(y),
			vulkan.Read(dout), vulkan.Write(d))
	}
}

// KLGaussian records out[0] = 1/(2 rows) sum (mu^2 + e^l - l - 1) over n elements, with l = factor scale: the
// divergence of N(mu, e^l) from N(0, I). losses.KLGaussian has factor 2 (scale is log sigma),
// losses.KLGaussianLogVariance 1.
func KLGaussian(t *vulkan.Tape, mu, scale, out vulkan.Buffer, factor float64, rows, n int) {
	sumOf(t, gaussianKL, factor, mu, scale, out, 0.5/float64(rows), 0, n)
}

// KLGaussianGradient records the gradients of [KLGaussian].
func KLGaussianGradient(t *vulkan.Tape, mu, scale, dout, dmu, dscale vulkan.Buffer, factor float64, rows, n int) {
	lossGradient(t, klLocation, 1/float64(rows), 0, mu, scale, dout, dmu, n)
	lossGradient(t, klScale, 1/float64(rows), factor, mu, scale, dout, dscale, n)
}

// GaussianSample records z = mu + e^logSigma noise for n elements.
func GaussianSample(t *vulkan.Tape, mu, logSigma, noise, z vulkan.Buffer, n int) {
	each(t, "sample", n, sizes(n, 0), vulkan.Read(mu), vulkan.Read(logSigma), vulkan.Read(noise), vulkan.Write(z))
}

// GaussianSampleGradient records the gradients of [GaussianSample]: dz, and dz e^logSigma noise.
func GaussianSampleGradient(t *vulkan.Tape, logSigma, noise, dz, dmu, dlogSigma vulkan.Buffer, n int) {
	if !dmu.IsZero() {
		Copy(t, dz, dmu, n)
	}
	if !dlogSigma.IsZero() {
		each(t, "sample", n, sizes(n, 1), vulkan.Read(dz), vulkan.Read(logSigma), vulkan.Read(noise), vulkan.Write(dlogSigma))
	}
}
