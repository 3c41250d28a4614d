package augment

import (
	"fmt"
	"math"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/kernel"
)

// Blur convolves an image with a Gaussian kernel of Kernel x Kernel pixels. The weights are proportional to
// e^(-(x^2+y^2)/(2 sigma^2)) and sum to 1. sigma is uniform in Sigma. The image is padded by reflection without
// repeating the border pixels. An image of a single row or column, such as a sequence, is only blurred along its
// length.
type Blur struct {
	Chance
	Kernel int        `yaml:"kernel" doc:"pixels along a side of the kernel, odd"`
	Sigma  [2]float64 `yaml:"sigma" doc:"smallest and largest standard deviation, in pixels"`
}

// The limits of Blur.
const (
	maxKernel = 63
	minSigma  = 1e-3
	maxSigma  = 1e3
)

func (b *Blur) Validate() error {
	switch {
	case b.Kernel < 1 || b.Kernel > maxKernel || b.Kernel%2 == 0:
		return config.Invalid("kernel", "%d is out of range; want an odd number from 1 to %d", b.Kernel, maxKernel)
	case !(b.Sigma[0] >= minSigma && b.Sigma[0] <= b.Sigma[1] && b.Sigma[1] <= maxSigma):
		const want = "want two numbers from %g to %g, the first at most the second"
		return config.Invalid("sigma", "%v is out of range; "+want, b.Sigma, minSigma, maxSigma)
	}
	return nil
}

// Suits requires more pixels along each side than half the kernel, except along sides of one pixel.
func (b *Blur) Suits(h, w, _ int) error {
	if r := b.Kernel / 2; h > 1 && h <= r || w > 1 && w <= r {
		return fmt.Errorf("want more than %d pixels along each side, or 1, for a kernel of %d", r, b.Kernel)
	}
	return nil
}

// Apply draws sigma and blurs the image.
func (b *Blur) Apply(m *Canvas, s *rng.Stream) {
	var buffer [maxKernel]float32
	weights := buffer[:b.Kernel]
	gaussian(weights, b.Sigma[0]+(b.Sigma[1]-b.Sigma[0])*s.Float64())
	m.blur(weights)
}

// gaussian writes the weights of the one-dimensional kernel.
func gaussian(weights []float32, sigma float64) {
	r := len(weights) / 2
	var densities [maxKernel]float64
	var sum float64
	for i := range weights {
		x := float64(i-r) / sigma
		densities[i] = math.Exp(-x * x / 2)
		sum += densities[i]
	}
	for i := range weights {
		weights[i] = float32(densities[i] / sum)
	}
}

// blur convolves the image with the same weights along columns and then along rows.
func (m *Canvas) blur(weights []float32) {
	identity := []float32{1} // kernel along a side of one pixel
	vertical := weights
	if m.h == 1 {
		vertical = identity
	}
	if m.w == 1 {
		weights = identity
	}
	r, length := len(weights)/2, m.w*m.c
	padded := m.Scratch(length + 2*r*m.c)
	unpadded := padded[r*m.c:][:length]
	for y := range m.h {
		for i, weight := range vertical {
			row := m.pixels[mirror(y+i-len(vertical)/2, m.h)*length:][:length]
			if i == 0 {
				kernel.Scale(unpadded, weight, row)
			} else {
				kernel.AddScaled(unpadded, weight, row)
			}
		}
		for x := 1; x <= r; x++ {
			copy(padded[(r-x)*m.c:][:m.c], unpadded[x*m.c:])
			copy(padded[(r+m.w-1+x)*m.c:][:m.c], unpadded[(m.w-1-x)*m.c:])
		}
		dst := m.spare[y*length:][:length]
		for i, weight := range weights {
			row := padded[i*m.c:][:length]
			if i == 0 {
				kernel.Scale(dst, weight, row)
			} else {
				kernel.AddScaled(dst, weight, row)
			}
		}
	}
	m.Swap()
}

// mirror reflects an index from -n+1 to 2n-2 into 0 to n-1.
func mirror(i, n int) int {
	if i < 0 {
		i = -i
	}
	if i >= n {
		i = 2*(n-1) - i
	}
	return i
}
