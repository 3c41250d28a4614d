// Package resample resizes 8-bit images with the filters of Pillow (the Python Imaging Library). The results are equal
// bit for bit.
//
// Each output is a weighted sum of inputs, first along rows, rounded to 8 bits, then along columns. A weight is the
// filter at the distance to the output's centre. For downsampling, the filter is widened by the scale. Weights are
// normalised to sum 1 in double precision and rounded to 22 binary digits. Channels are processed separately. There is
// no gamma correction, and no channel is an alpha channel. In modes LA and RGBA, Pillow multiplies the other channels
// by alpha.
package resample

import (
	"fmt"
	"math"
	"slices"
)

// Filter is one of Pillow's filters.
type Filter int

// The filters. Their support (half width) in pixels of the smaller image is 0.5, 1, 1, 2 and 3.
const (
	Box Filter = iota
	Bilinear
	Hamming
	Bicubic
	Lanczos
)

var filterNames = []string{"box", "bilinear", "hamming", "bicubic", "lanczos"}

func Names() []string { return append([]string(nil), filterNames...) }

func Parse(name string) (Filter, bool) {
	for i, n := range filterNames {
		if n == name {
			return Filter(i), true
		}
	}
	return 0, false
}

func (f Filter) String() string {
	if f < 0 || int(f) >= len(filterNames) {
		return fmt.Sprintf("Filter(%d)", int(f))
	}
	return filterNames[f]
}

func Resize(dst, src []uint8, srcH, srcW, dstH, dstW, channels int, f Filter) {
	new(Resizer).Resize(dst, src, srcH, srcW, dstH, dstW, channels, f)
}

// Resizer resizes images one after another. It reuses scratch memory and the weights for equal sizes. Its zero value is
// ready to use. It is not safe for concurrent use.
type Resizer struct {
	across, down kernel
	pair         []uint64 // two input rows, with an element of each row per word
	middle       []uint64 // rows of the new width; a word has pixels from both halves of a row
	sums         []uint64
	reduced      []uint8
}

// Resize resizes src, [srcH, srcW, channels], to dst, [dstH, dstW, channels]. All sizes must be at least 1. src and dst
// must not overlap. Resize panics if a slice is shorter than its sizes.
func (r *Resizer) Resize(dst, src []uint8, srcH, srcW, dstH, dstW, channels int, f Filter) {
	dst, src = dst[:dstH*dstW*channels], src[:srcH*srcW*channels]
	r.resize(dst, src, extent{srcH, float32(srcH), dstH}, extent{srcW, float32(srcW), dstW}, channels, f)
}

// extent is the side of an image before and after resizing; span is the length of the inputs that the outputs cover.
type extent struct {
	from int
	span float32
	to   int
}

func (e extent) same() bool { return e.from == e.to && e.span == float32(e.from) }

// resize computes both passes, or only the pass along the side that changes.
func (r *Resizer) resize(dst, src []uint8, h, w extent, c int, f Filter) {
	switch {
	case h.same() && w.same():
		copy(dst, src)
	case h.same():
		r.across.set(w, f)
		r.rows(src, w, c, func(y int, sums []uint64) {
			rows(sums, dst[y*w.to*c:][:w.to*c], dst[min(y+1, h.from-1)*w.to*c:][:w.to*c])
		})
	default:
		r.down.set(h, f)
		half := (w.to*c + 1) / 2
		r.middle = grown(r.middle, h.from*half)
		if w.same() {
			for y := range h.from {
				halves(r.middle[y*half:][:half], src[y*w.to*c:][:w.to*c])
			}
		} else {
			r.across.set(w, f)
			r.rows(src, w, c, func(y int, sums []uint64) {
				rowHalves(sums, r.middle[y*half:][:half], r.middle[min(y+1, h.from-1)*half:][:half])
			})
		}
		r.columns(dst, h, w.to*c)
	}
}

// rows computes the first pass, two rows at a time, and calls store with their sums. A single last row is paired with
// itself.
func (r *Resizer) rows(src []uint8, w extent, c int, store func(y int, sums []uint64)) {
	n := w.from * c
	r.pair, r.sums = grown(r.pair, n), grown(r.sums, w.to*c)
	for y := 0; y*n < len(src); y += 2 {
		upper := src[y*n:][:n]
		lower := upper
		if (y+1)*n < len(src) {
			lower = src[(y+1)*n:][:n]
		}
		for x, v := range upper {
			r.pair[x] = uint64(v) | uint64(lower[x])<<32
		}
		r.across.row(r.sums[:w.to*c], r.pair[:n], c)
		store(y, r.sums[:w.to*c])
	}
}

// columns computes the second pass, from middle.
func (r *Resizer) columns(dst []uint8, h extent, n int) {
	half := (n + 1) / 2
	r.sums = grown(r.sums, half)
	sums := r.sums[:half]
	for y := range h.to {
		for x := range sums {
			sums[x] = start
		}
		k := r.down.of(y)
		at := r.middle[r.down.first[y]*half:]
		for len(k) >= 4 {
			add4(sums, at, at[half:], at[2*half:], at[3*half:], k[0], k[1], k[2], k[3])
			k = k[4:]
			at = at[min(4*half, len(at)):]
		}
		for _, v := range k {
			for x, p := range at[:half] {
				sums[x] += p * v
			}
			at = at[half:]
		}
		line := dst[y*n:][:n]
		for x, s := range sums {
			low, high := split(s)
			line[x] = low
			if x+half < n {
				line[x+half] = high
			}
		}
	}
}

func add4(sums, a, b, c, d []uint64, u, v, w, x uint64) {
	a, b, c, d = a[:len(sums)], b[:len(sums)], c[:len(sums)], d[:len(sums)]
	for i := range sums {
		sums[i] += a[i]*u + b[i]*v + c[i]*w + d[i]*x
	}
}

// Sums of two pixels share a word: weights have at most 23 bits and a sign, pixels have 8 bits, and each sum fits in an
// int32. A negative lower sum borrows from the upper sum; split corrects this.
const (
	digits = 22
	start  = 1<<(digits-1) | 1<<(digits-1+32)
)

// split returns the two pixels in a word.
func split(s uint64) (low, high uint8) {
	a := int32(uint32(s))
	b := int32(uint32((s - uint64(int64(a))) >> 32))
	return clip(a), clip(b)
}

func clip(s int32) uint8 {
	v := s >> digits
	if uint32(v) > 255 {
		return uint8(^(v >> 31))
	}
	return uint8(v)
}

// rows stores sums of two rows.
func rows(sums []uint64, upper, lower []uint8) {
	for x, s := range sums {
		upper[x], lower[x] = split(s)
	}
}

// rowHalves stores sums of two rows. Each word of a row has one pixel from each half of the row.
func rowHalves(sums, upper, lower []uint64) {
	half := len(upper)
	for x, s := range sums[:half] {
		a, b := split(s)
		upper[x], lower[x] = uint64(a), uint64(b)
	}
	for x, s := range sums[half:] {
		a, b := split(s)
		upper[x] |= uint64(a) << 32
		lower[x] |= uint64(b) << 32
	}
}

// halves packs a row: each word has one pixel from each half.
func halves(dst []uint64, row []uint8) {
	for x, v := range row[:len(dst)] {
		dst[x] = uint64(v)
	}
	for x, v := range row[len(dst):] {
		dst[x] |= uint64(v) << 32
	}
}

func grown[T any](s []T, n int) []T { return slices.Grow(s[:0], n)[:n] }

// kernel has the weights of all outputs along one side.
type kernel struct {
	extent  extent
	filter  Filter
	taps    int      // maximum number of inputs per output
	first   []int    // first input of every output
	count   []int    // number of inputs of every output
	weights []uint64 // outputs x taps, integers in two's complement
}

func (k *kernel) of(i int) []uint64 { return k.weights[i*k.taps:][:k.count[i]] }

// set computes the weights, unless they are already set for this extent and filter.
func (k *kernel) set(e extent, f Filter) {
	if k.extent == e && k.filter == f && k.first != nil {
		return
	}
	k.extent, k.filter = e, f
	scale := float64(e.span) / float64(e.to)
	stretch := max(scale, 1)
	support := f.support() * stretch
	k.taps = 2*int(math.Ceil(support)) + 1
	k.first, k.count = grown(k.first, e.to), grown(k.count, e.to)
	k.weights = grown(k.weights, e.to*k.taps)
	values := make([]float64, k.taps)
	for i := range e.to {
		centre := (float64(i) + 0.5) * scale
		from := max(int(centre-support+0.5), 0)
		to := min(int(centre+support+0.5), e.from)
		values = values[:to-from]
		total := 0.0
		for j := range values {
			values[j] = f.at((float64(j+from) - centre + 0.5) * (1 / stretch))
			total += values[j]
		}
		k.first[i], k.count[i] = from, len(values)
		for j, v := range values {
			if total != 0 {
				v /= total
			}
			k.weights[i*k.taps+j] = uint64(int64(v*(1<<digits) + math.Copysign(0.5, v)))
		}
	}
}

// row computes the sums of all outputs from a row of pairs of pixels with c channels.
func (k *kernel) row(sums, pair []uint64, c int) {
	for x, first := range k.first {
		w := k.of(x)
		from, to := pair[first*c:(first+len(w))*c], sums[x*c:][:c]
		switch c {
		case 1:
			s := uint64(start)
			for i, v := range w {
				s += from[i] * v
			}
			to[0] = s
		case 3:
			r, g, b := uint64(start), uint64(start), uint64(start)
			for _, v := range w {
				r += from[0] * v
				g += from[1] * v
				b += from[2] * v
				from = from[3:]
			}
			to[0], to[1], to[2] = r, g, b
		default:
			for ch := range to {
				s := uint64(start)
				for i, v := range w {
					s += from[i*c+ch] * v
				}
				to[ch] = s
			}
		}
	}
}

// support is the support (half width) of a filter.
func (f Filter) support() float64 { return [...]float64{0.5, 1, 1, 2, 3}[f] }

// at is the value of a filter. Products are rounded before the additions, because a fused multiply-add gives other
// results on some machines.
func (f Filter) at(x float64) float64 {
	switch f {
	case Box:
		if x > -0.5 && x <= 0.5 {
			return 1
		}
		return 0
	case Bilinear:
		return max(0, 1-math.Abs(x))
	case Hamming:
		x = math.Abs(x)
		if x == 0 {
			return 1
		}
		if x >= 1 {
			return 0
		}
		x *= math.Pi
		return math.Sin(x) / x * (0.54 + float64(0.46*math.Cos(x)))
	case Bicubic:
		const a = -0.5
		x = math.Abs(x)
		if x < 1 {
			return float64(float64((float64((a+2)*x)-(a+3))*x)*x) + 1
		}
		if x < 2 {
			return float64((float64((float64((x-5)*x)+8)*x) - 4) * a)
		}
		return 0
	default:
		if x >= -3 && x < 3 {
			return sinc(x) * sinc(x/3)
		}
		return 0
	}
}

func sinc(x float64) float64 {
	if x == 0 {
		return 1
	}
	x *= math.Pi
	return math.Sin(x) / x
}
