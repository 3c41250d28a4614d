package augment

import (
	"errors"
	"fmt"
	"math"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/kernel"
)

// Weights of the lightness of a colour: 0.2989 red + 0.587 green + 0.114 blue.
const (
	lightRed   = 0.2989
	lightGreen = 0.587
	lightBlue  = 0.114
)

// Jitter changes brightness, contrast, saturation and hue in random order. Results are clipped to [0, 1]. A factor f is
// uniform on [max(0, 1-x), 1+x], where x is the setting:
//
//   - brightness: f p for every number p,
//   - contrast: f p + (1-f) m, where m is the mean lightness of the image,
//   - saturation: f p + (1-f) l, where l is the lightness of the pixel,
//   - hue: the pixel's hue in HSV shifts by a fraction of a full turn uniform on [-x, x].
//
// A setting of 0 skips a step. In images of one channel, the lightness is the pixel, and saturation and hue are
// skipped. In images with neither 1 nor 3 channels, the lightness is the mean of the channels, and the settings
// saturation and hue must be 0.
type Jitter struct {
	Chance
	Brightness float64 `yaml:"brightness" doc:"largest change of the brightness factor from 1"`
	Contrast   float64 `yaml:"contrast" doc:"largest change of the contrast factor from 1"`
	Saturation float64 `yaml:"saturation" doc:"largest change of the saturation factor from 1"`
	Hue        float64 `yaml:"hue" doc:"largest shift of the hue, as a fraction of a full turn"`
}

// NewJitter returns the settings of Cao et al. 2022, always applied.
func NewJitter() *Jitter { return &Jitter{Chance{1}, 0.8, 0.8, 0.8, 0.2} }

// maxJitter is the maximum setting of Jitter.
const maxJitter = 1e3

func (j *Jitter) Validate() error {
	for _, x := range []struct {
		key          string
		value, limit float64
	}{{"brightness", j.Brightness, maxJitter}, {"contrast", j.Contrast, maxJitter}, {"saturation", j.Saturation, maxJitter}, {"hue", j.Hue, 0.5}} {
		if !(x.value >= 0 && x.value <= x.limit) {
			return config.Invalid(x.key, "%v is out of range; want 0 (no change) to %v", x.value, x.limit)
		}
	}
	return nil
}

// Suits requires one or three channels if saturation or hue is set.
func (j *Jitter) Suits(_, _, c int) error {
	if !greyOrColour(c) && (j.Saturation > 0 || j.Hue > 0) {
		return errors.New("saturation and hue need colours; want 1 channel or 3, or jitter: {saturation: 0, hue: 0}")
	}
	return nil
}

func greyOrColour(c int) bool { return c == 1 || c == 3 }

// Apply draws the order and the factors of the steps and then applies the steps.
func (j *Jitter) Apply(m *Canvas, s *rng.Stream) {
	order := [4]int{0, 1, 2, 3}
	for i := 3; i > 0; i-- {
		k := s.IntN(i + 1)
		order[i], order[k] = order[k], order[i]
	}
	var factors [4]float32
	for i, x := range [3]float64{j.Brightness, j.Contrast, j.Saturation} {
		low := max(0, 1-x)
		factors[i] = float32(low + (1+x-low)*s.Float64())
	}
	factors[stepHue] = float32(j.Hue * (2*s.Float64() - 1))
	var buffer [4]colourStep
	steps := buffer[:0]
	for _, kind := range order {
		step := colourStep{kind: kind, factor: factors[kind]}
		switch {
		case [4]float64{j.Brightness, j.Contrast, j.Saturation, j.Hue}[kind] == 0, kind >= stepSaturation && m.c != 3:
			continue
		case kind == stepContrast: // needs the image after the previous steps
			m.recolour(steps)
			steps, step.offset = steps[:0], (1-step.factor)*m.meanLightness()
		}
		steps = append(steps, step)
	}
	m.recolour(steps)
}

// colourStep is a step of Jitter with its random factor.
type colourStep struct {
	kind           int
	factor, offset float32
}

const (
	stepBrightness = iota
	stepContrast
	stepSaturation
	stepHue
)

// recolour applies steps pixel by pixel. It reuses the result of the previous pixel if both are equal, as most
// neighbouring pixels of drawn images are.
func (m *Canvas) recolour(steps []colourStep) {
	if len(steps) == 0 {
		return
	}
	if m.c != 3 {
		for _, s := range steps {
			scaleAll(m.pixels, s.factor, s.offset)
		}
		return
	}
	noBits := math.Float32bits(float32(math.NaN()))
	lastR, lastG, lastB := noBits, noBits, noBits
	var r, g, b float32
	for p := m.pixels; len(p) >= 3; p = p[3:] {
		rBits, gBits, bBits := math.Float32bits(p[0]), math.Float32bits(p[1]), math.Float32bits(p[2])
		if (rBits^lastR)|(gBits^lastG)|(bBits^lastB) != 0 {
			lastR, lastG, lastB = rBits, gBits, bBits
			r, g, b = p[0], p[1], p[2]
			for i := range steps {
				s := &steps[i]
				if s.kind == stepHue {
					r, g, b = shiftHue(r, g, b, s.factor)
					continue
				}
				offset := s.offset
				if s.kind == stepSaturation {
					offset = (1 - s.factor) * lightness(r, g, b)
				}
				r, g, b = clamp(s.factor*r+offset), clamp(s.factor*g+offset), clamp(s.factor*b+offset)
			}
		}
		p[0], p[1], p[2] = r, g, b
	}
}

// oneBits holds the bits of 1. The bits of non-negative floats sort like the floats, and integers have branch-free
// minima and maxima.
const oneBits = 0x3f800000

// clamp clips a number to [0, 1].
func clamp(x float32) float32 {
	return math.Float32frombits(uint32(min(max(int32(math.Float32bits(x)), 0), oneBits)))
}

// scaleAll computes clamp(f p + offset).
func scaleAll(p []float32, f, offset float32) {
	for i, v := range p {
		p[i] = clamp(f*v + offset)
	}
}

// meanLightness returns the mean lightness of all pixels, or the mean of all values if there are not three channels.
func (m *Canvas) meanLightness() float32 {
	length := m.w * m.c
	weights := m.Scratch(length)
	for i := range weights {
		weights[i] = 1
		if m.c == 3 {
			weights[i] = [3]float32{lightRed, lightGreen, lightBlue}[i%3]
		}
	}
	var sum float64
	for y := range m.h {
		sum += kernel.Dot(m.pixels[y*length:][:length], weights)
	}
	numbers := m.h * m.w
	if m.c != 3 {
		numbers *= m.c
	}
	return float32(sum / float64(numbers))
}

func lightness(r, g, b float32) float32 { return lightRed*r + lightGreen*g + lightBlue*b }

// shiftHue shifts the hue of a colour by a fraction of a full turn from -1/2 to 1/2. It keeps the maximum and the
// minimum over the channels. Let low be the minimum, d the difference, and h the hue in sixths of a turn, from 0 to 6.
// Red becomes low + d clamp(|h-3| - 1), green low + d clamp(2 - |h-2|), and blue low + d clamp(2 - |h-4|).
func shiftHue(r, g, b, shift float32) (red, green, blue float32) {
	r, g, b = r+0, g+0, b+0 // -0 becomes 0, whose bits sort like the floats
	rBits, gBits, bBits := math.Float32bits(r), math.Float32bits(g), math.Float32bits(b)
	maxBits, low := max(rBits, gBits, bBits), math.Float32frombits(min(rBits, gBits, bBits))
	d := math.Float32frombits(maxBits) - low
	if d == 0 {
		return r, g, b // a grey has no hue
	}
	inverse := 1 / d
	hue := math.Float32bits(4 + (r-g)*inverse)
	if x := math.Float32bits(2 + (b-r)*inverse); gBits == maxBits {
		hue = x
	}
	if x := math.Float32bits((g - b) * inverse); rBits == maxBits {
		hue = x
	}
	h := math.Float32frombits(hue) + 6*shift + 12 // positive, so that whole turns can be cut off
	h -= 6 * float32(int32(h*(1.0/6)))
	return low + d*clamp(distance(h, 3)-1), low + d*clamp(2-distance(h, 2)), low + d*clamp(2-distance(h, 4))
}

// distance is |a - b|.
func distance(a, b float32) float32 { return math.Float32frombits(math.Float32bits(a-b) &^ (1 << 31)) }

// Grayscale replaces every channel of a colour by the lightness.
type Grayscale struct{ Chance }

// Suits requires one or three channels; an image of one channel is already grey.
func (*Grayscale) Suits(_, _, c int) error {
	if !greyOrColour(c) {
		return errors.New("greys need colours; want 1 channel or 3, or a pipeline without grayscale")
	}
	return nil
}

// Apply changes an image of three channels.
func (*Grayscale) Apply(m *Canvas, _ *rng.Stream) {
	if m.c != 3 {
		return
	}
	for p := m.pixels; len(p) >= 3; p = p[3:] {
		l := lightness(p[0], p[1], p[2])
		p[0], p[1], p[2] = l, l, l
	}
}

// Solarise replaces pixel values p at or above the threshold by 1 - p.
type Solarise struct {
	Chance
	Threshold float64 `yaml:"threshold" doc:"smallest pixel value to invert, 0 to 1"`
}

func (o *Solarise) Validate() error {
	if !(o.Threshold >= 0 && o.Threshold <= 1) {
		return config.Invalid("threshold", "%v is out of range; want 0 (all is inverted) to 1", o.Threshold)
	}
	return nil
}

// Suits accepts all shapes.
func (*Solarise) Suits(_, _, _ int) error { return nil }

// Apply inverts pixels at or above the threshold.
func (o *Solarise) Apply(m *Canvas, _ *rng.Stream) {
	threshold := float32(o.Threshold)
	for i, v := range m.pixels {
		bits := math.Float32bits(v + 0) // -0 becomes 0
		if inverse := math.Float32bits(1 - v); int32(bits) >= int32(math.Float32bits(threshold)) {
			bits = inverse
		}
		m.pixels[i] = math.Float32frombits(bits)
	}
}

// Normalise computes (p - mean)/deviation in every channel. It is always applied.
type Normalise struct {
	Mean      []float64 `yaml:"mean" doc:"means of the channels, or one for all"`
	Deviation []float64 `yaml:"deviation" doc:"standard deviations of the channels, or one for all"`
}

// NewNormalise returns the mean and deviation of ImageNet's channels.
func NewNormalise() *Normalise {
	return &Normalise{Mean: []float64{0.485, 0.456, 0.406}, Deviation: []float64{0.229, 0.224, 0.225}}
}

func (n *Normalise) Validate() error {
	if len(n.Mean) == 0 || len(n.Deviation) == 0 {
		return config.Invalid("mean", "%d means and %d deviations; want one for all channels, or one for each",
			len(n.Mean), len(n.Deviation))
	}
	for _, v := range n.Mean {
		if !(math.Abs(v) <= maxNormal) {
			return config.Invalid("mean", "%v is out of range; want %g to %g", v, -maxNormal, maxNormal)
		}
	}
	for _, v := range n.Deviation {
		if !(v >= 1/maxNormal && v <= maxNormal) {
			return config.Invalid("deviation", "%v is out of range; want %g to %g", v, 1/maxNormal, maxNormal)
		}
	}
	return nil
}

// maxNormal is the maximum size of means, deviations and their reciprocals.
const maxNormal = 1e6

// Suits requires one mean and one deviation per channel.
func (n *Normalise) Suits(_, _, c int) error {
	for _, list := range [][]float64{n.Mean, n.Deviation} {
		if len(list) != 1 && len(list) != c {
			return fmt.Errorf("%d means and %d deviations; want %d, one for each channel, or one for all: normalise: {mean: [0.5], deviation: [0.25]}", len(n.Mean), len(n.Deviation), c)
		}
	}
	return nil
}

// Happens is always true.
func (*Normalise) Happens(*rng.Stream) bool { return true }
func (*Normalise) Normalises()              {}

// Apply normalises the channels.
func (n *Normalise) Apply(m *Canvas, _ *rng.Stream) {
	channel := func(list []float64, k int) float32 { return float32(list[k%len(list)]) }
	if m.c == 3 {
		normalise3(m.pixels, [3]float32{channel(n.Mean, 0), channel(n.Mean, 1), channel(n.Mean, 2)},
			[3]float32{1 / channel(n.Deviation, 0), 1 / channel(n.Deviation, 1), 1 / channel(n.Deviation, 2)})
		return
	}
	for k := range m.c {
		mean, scale := channel(n.Mean, k), 1/channel(n.Deviation, k)
		for i := k; i < len(m.pixels); i += m.c {
			m.pixels[i] = (m.pixels[i] - mean) * scale
		}
	}
}

func normalise3(p []float32, mean, scale [3]float32) {
	for ; len(p) >= 3; p = p[3:] {
		p[0], p[1], p[2] = (p[0]-mean[0])*scale[0], (p[1]-mean[1])*scale[1], (p[2]-mean[2])*scale[2]
	}
}
