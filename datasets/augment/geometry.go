package augment

import (
	"fmt"
	"math"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/kernel"
)

// Flip mirrors images, left to right.
type Flip struct{ Chance }

// Suits accepts all shapes.
func (*Flip) Suits(_, _, _ int) error { return nil }

// Apply mirrors the rows.
func (*Flip) Apply(m *Canvas, _ *rng.Stream) {
	length := m.w * m.c
	for row := m.pixels; len(row) > 0; row = row[length:] {
		flipRow(row[:length], m.c)
	}
}

func flipRow(row []float32, c int) {
	if c == 3 {
		for a, b := 0, len(row)-3; a < b; a, b = a+3, b-3 {
			x, y := (*[3]float32)(row[a:]), (*[3]float32)(row[b:])
			*x, *y = *y, *x
		}
		return
	}
	for a, b := 0, len(row)-c; a < b; a, b = a+c, b-c {
		for k := range c {
			row[a+k], row[b+k] = row[b+k], row[a+k]
		}
	}
}

// Crop cuts a random part out of the image. The area of the part, as a fraction of the image's area, is uniform in
// Scale. Its aspect ratio (width / height) is log-uniform in Aspect, and its position is uniform. The part is resampled
// to the size of the image, bilinearly between pixel centres. If ten draws do not fit into the image, the part is the
// largest central one with an aspect ratio within the limits.
//
// In an image of a single row or column, such as a sequence, Crop cuts out an interval. Its length, as a fraction of
// the image's length, is uniform in Scale, and Aspect is ignored.
type Crop struct {
	Chance
	Scale  [2]float64 `yaml:"scale" doc:"smallest and largest area, as fractions of the image's"`
	Aspect [2]float64 `yaml:"aspect" doc:"smallest and largest aspect ratio, width by height"`
}

// NewCrop returns the settings of Cao et al. 2022.
func NewCrop() *Crop {
	return &Crop{Chance: Chance{1}, Scale: [2]float64{0.6, 1}, Aspect: [2]float64{3.0 / 4, 4.0 / 3}}
}

func (c *Crop) Validate() error {
	switch {
	case !(c.Scale[0] > 0 && c.Scale[0] <= c.Scale[1] && c.Scale[1] <= 1):
		return config.Invalid("scale",
			"%v is out of range; want two numbers above 0, the first at most the second, and that at most 1", c.Scale)
	case !(c.Aspect[0] >= 1/maxAspect && c.Aspect[0] <= c.Aspect[1] && c.Aspect[1] <= maxAspect):
		return config.Invalid("aspect", "%v is out of range; want two numbers from %g to %g, the first at most the second",
			c.Aspect, 1/maxAspect, maxAspect)
	}
	return nil
}

// maxAspect is the maximum aspect ratio; its reciprocal is the minimum.
const maxAspect = 100.0

// Suits returns an error if no part within the limits fits: for example, a long image needs a large aspect ratio.
func (c *Crop) Suits(h, w, _ int) error {
	if h == 1 || w == 1 {
		return nil
	}
	aspect, minScale := float64(w)/float64(h), c.Scale[0]
	if low, high := aspect*minScale, aspect/minScale; c.Aspect[1] < low || c.Aspect[0] > high {
		return fmt.Errorf("no part of %v of the area with an aspect ratio of %.3g to %.3g fits; want ratios about the image's, such as crop: {aspect: [%.3g, %.3g]}, or a smaller scale",
			minScale, c.Aspect[0], c.Aspect[1], aspect*3/4, aspect*4/3)
	}
	return nil
}

// Apply draws a part of the image and enlarges it.
func (c *Crop) Apply(m *Canvas, s *rng.Stream) {
	top, left, h, w := c.draw(m.h, m.w, s)
	m.resample(top, left, h, w)
}

// draw draws the position and the size of the part.
func (c *Crop) draw(height, width int, s *rng.Stream) (top, left, h, w int) {
	if height == 1 || width == 1 {
		n := height * width
		length := max(1, min(n, int(math.RoundToEven(float64(n)*(c.Scale[0]+(c.Scale[1]-c.Scale[0])*s.Float64())))))
		start := s.IntN(n - length + 1)
		if height == 1 {
			return 0, start, 1, length
		}
		return start, 0, length, 1
	}
	area := float64(height * width)
	low, high := math.Log(c.Aspect[0]), math.Log(c.Aspect[1])
	for range 10 {
		partArea := area * (c.Scale[0] + (c.Scale[1]-c.Scale[0])*s.Float64())
		aspect := math.Exp(low + (high-low)*s.Float64())
		w, h = int(math.RoundToEven(math.Sqrt(partArea*aspect))), int(math.RoundToEven(math.Sqrt(partArea/aspect)))
		if w > 0 && w <= width && h > 0 && h <= height {
			return s.IntN(height - h + 1), s.IntN(width - w + 1), h, w
		}
	}
	h, w = height, width
	switch aspect := float64(width) / float64(height); {
	case aspect < c.Aspect[0]:
		h = max(1, min(height, int(math.RoundToEven(float64(width)/c.Aspect[0]))))
	case aspect > c.Aspect[1]:
		w = max(1, min(width, int(math.RoundToEven(float64(height)*c.Aspect[1]))))
	}
	return (height - h) / 2, (width - w) / 2, h, w
}

// tap holds the two pixels between which a sample interpolates, and the weight of the second.
type tap struct {
	first, second int
	weight        float32
}

// newTap returns the tap of sample i of n over length pixels.
func newTap(i, n, length int) tap {
	x := max(0, (float64(i)+0.5)*float64(length)/float64(n)-0.5)
	first := min(int(x), length-1)
	return tap{first, min(first+1, length-1), float32(x - float64(first))}
}

// resample replaces the image by a part of it, enlarged to the size of the image.
func (m *Canvas) resample(top, left, h, w int) {
	if h == m.h && w == m.w {
		return
	}
	if cap(m.taps) < m.w {
		m.taps = make([]tap, m.w)
	}
	taps := m.taps[:m.w]
	for x := range taps {
		t := newTap(x, m.w, w)
		taps[x] = tap{t.first * m.c, t.second * m.c, t.weight}
	}
	length := w * m.c
	blended := m.Scratch(length)
	croppedRow := func(y int) []float32 { return m.pixels[((top+y)*m.w+left)*m.c:][:length] }
	for y := range m.h {
		t := newTap(y, m.h, h)
		if t.weight == 0 || t.first == t.second {
			copy(blended, croppedRow(t.first))
		} else {
			kernel.Scale(blended, 1-t.weight, croppedRow(t.first))
			kernel.AddScaled(blended, t.weight, croppedRow(t.second))
		}
		dst := m.spare[y*m.w*m.c:][:m.w*m.c]
		if m.c == 3 {
			stretch3(dst, blended, taps)
		} else {
			stretch(dst, blended, taps, m.c)
		}
	}
	m.Swap()
}

// stretch resamples a row.
func stretch(dst, row []float32, taps []tap, c int) {
	for x, t := range taps {
		for k := range c {
			a, b := row[t.first+k], row[t.second+k]
			dst[x*c+k] = a + t.weight*(b-a)
		}
	}
}

func stretch3(dst, row []float32, taps []tap) {
	for _, t := range taps {
		a, b, d := (*[3]float32)(row[t.first:]), (*[3]float32)(row[t.second:]), (*[3]float32)(dst)
		d[0], d[1], d[2] = a[0]+t.weight*(b[0]-a[0]), a[1]+t.weight*(b[1]-a[1]), a[2]+t.weight*(b[2]-a[2])
		dst = dst[3:]
	}
}
