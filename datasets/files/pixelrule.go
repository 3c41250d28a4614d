package files

import (
	"fmt"
	"math"
	"slices"
	"sync/atomic"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/internal/arrays"
	"github.com/unravel-ml/unravel/internal/dtype"
	"github.com/unravel-ml/unravel/internal/parallel"
)

// pixelRule converts the numbers of an array to pixels: number/white, from 0 to 1, or unchanged real numbers.
type pixelRule struct {
	a       *arrays.Array
	white   float64
	usual   bool // white is the default for the type
	real    bool
	eight   bool // pixels become 8-bit
	largest *atomic.Uint64
}

func newPixelRule(g *GridFolder, a *arrays.Array) (pixelRule, error) {
	t := a.Type
	r := pixelRule{a: a, white: g.Scale, usual: g.Scale == 0, real: g.Real, eight: g.Round || t == dtype.Uint8 || t == dtype.Bool, largest: new(atomic.Uint64)}
	switch {
	case g.Real && t.Kind != 'f':
		return r, config.Invalid("real", "%s (%v) holds %s, which are pixels; want floats, or real: false", a.Label, a.Shape, t)
	case t == dtype.Bool && g.Scale != 0 && g.Scale != 1:
		return r, config.Invalid("scale", "%s (%v) holds bool, and %v is white; want 1, or none", a.Label, a.Shape, g.Scale)
	case g.Scale != 0:
	case t == dtype.Bool || t.Kind == 'f':
		r.white = 1
	case t == dtype.Uint8:
		r.white = math.MaxUint8
	case t.Kind == 'u' && t.Size == 2:
		r.white = math.MaxUint16
	default:
		return r, fmt.Errorf("%s (%v) holds %s; want uint8, uint16, bool, floats in [0, 1], or the value of white, such as scale: 255", a.Label, a.Shape, t)
	}
	return r, nil
}

// identity reports whether the bytes of the array are already pixels.
func (r *pixelRule) identity() bool { return r.a.Type == dtype.Uint8 && r.white == math.MaxUint8 }

// see updates the maximum 8-bit pixel.
func (r *pixelRule) see(pixels []byte) {
	if len(pixels) > 0 {
		r.remember(uint64(slices.Max(pixels)))
	}
}

func (r *pixelRule) remember(v uint64) {
	for {
		old := r.largest.Load()
		if v <= old || r.largest.CompareAndSwap(old, v) {
			return
		}
	}
}

// check rejects images that would be almost black because white is not the default for the type.
func (r *pixelRule) check() error {
	if !r.usual || r.a.Type.Kind != 'u' {
		return nil
	}
	largest, likely := r.largest.Load(), uint64(1)
	if r.a.Type.Size == 2 {
		likely = math.MaxUint8
	}
	if largest == 0 || largest > likely {
		return nil
	}
	return fmt.Errorf("%v: the largest number is %d; want scale: %d if that is white, or scale: %v", r.a, largest, likely, r.white)
}

// outside returns the error about an invalid pixel.
func (r *pixelRule) outside(image int, v float64) error {
	if r.real {
		return fmt.Errorf("%s (%v, %s): image %d has a number %v; want finite numbers", r.a.Label, r.a.Shape, r.a.Type, image, v)
	}
	want := fmt.Sprintf("0 to %v, the value of white", r.white)
	switch usual := r.usual && r.a.Type.Kind == 'f'; {
	case v-v != 0: // infinity or NaN: neither Scale nor Real helps
		want = "finite numbers"
	case usual && v < 0:
		want = "0 to 1, or real: true for real numbers"
	case usual:
		want = "0 to 1, scale: 255 if that is white, or real: true for real numbers"
	}
	return fmt.Errorf("%s (%v, %s): image %d has a pixel %v; want %s", r.a.Label, r.a.Shape, r.a.Type, image, v, want)
}

// block is the number of values per conversion step.
const block = 1 << 14

// pixel returns the pixel of a number, or false for an invalid number. A float that lies just outside [0, 1], due to
// rounding, becomes black or white.
func (r *pixelRule) pixel(v float64) (p float64, ok bool) {
	const rounding = 2e-5
	p = v / r.white
	if r.a.Type.Kind == 'f' && p >= -rounding && p <= 1+rounding {
		p = min(max(p, 0), 1)
	}
	return p, p >= 0 && p <= 1
}

// blocks calls convert for blocks of n numbers, on all processors, and returns an error for the first invalid number.
func (r *pixelRule) blocks(n, first, size int, convert func(from, to int) (bad int, v float64)) error {
	count := (n + block - 1) / block
	wrong, values := make([]int, count), make([]float64, count)
	parallel.For(count, func(_, i int) { wrong[i], values[i] = convert(i*block, min((i+1)*block, n)) })
	for i, bad := range wrong {
		if bad >= 0 {
			return r.outside(first+(i*block+bad)/size, values[i])
		}
	}
	return nil
}

// to8 converts the raw numbers of images to 8-bit pixels. first is the number of the first image, and size the values
// per image. dst may be raw.
func (r *pixelRule) to8(dst, raw []byte, first, size int) error {
	t := r.a.Type
	if t.Size > 1 || t.Kind == 'i' {
		dst = dst[:len(raw)/t.Size]
		return convertPixels(r, dst, raw, first, size, func(p float64) uint8 { return uint8(p*math.MaxUint8 + 0.5) })
	}
	var table [256]uint8
	allowed := int(min(r.white, math.MaxUint8))
	for b := range allowed + 1 {
		table[b] = uint8(float64(b)/r.white*math.MaxUint8 + 0.5)
	}
	return r.blocks(len(raw), first, size, func(from, to int) (int, float64) {
		part := raw[from:to]
		r.see(part)
		for i, b := range part {
			if int(b) > allowed {
				return i, float64(b)
			}
			dst[from+i] = table[b]
		}
		return -1, 0
	})
}

// convertPixels converts the raw numbers of images. first is the number of the first image, and size the values per
// image. of converts a pixel from 0 to 1 to the stored value.
func convertPixels[T uint8 | float32](r *pixelRule, dst []T, raw []byte, first, size int, of func(p float64) T) error {
	t := r.a.Type
	return r.blocks(len(dst), first, size, func(from, to int) (int, float64) {
		var values [block]float64
		part := values[:to-from]
		dtype.Decode(part, raw[from*t.Size:to*t.Size], t)
		for i, v := range part {
			p, ok := r.pixel(v)
			if !ok {
				return i, v
			}
			dst[from+i] = of(p)
		}
		if r.usual && t.Kind == 'u' && len(part) > 0 {
			r.remember(uint64(slices.Max(part)))
		}
		return -1, 0
	})
}

// toFloats converts the raw numbers of images to pixels from 0 to 1, or to real numbers. first is the number of the
// first image, and size the values per image.
func (r *pixelRule) toFloats(dst []float32, raw []byte, first, size int) error {
	t := r.a.Type
	if t.Kind != 'f' || r.white != 1 {
		return convertPixels(r, dst, raw, first, size, func(p float64) float32 { return float32(p) })
	}
	return r.blocks(len(dst), first, size, func(from, to int) (int, float64) {
		part := dst[from:to]
		dtype.Decode(part, raw[from*t.Size:to*t.Size], t)
		for i, v := range part {
			if r.real && v-v == 0 || !r.real && v >= 0 && v <= 1 {
				continue
			}
			p, ok := r.pixel(float64(v))
			if r.real || !ok {
				return i, float64(v)
			}
			part[i] = float32(p)
		}
		return -1, 0
	})
}
