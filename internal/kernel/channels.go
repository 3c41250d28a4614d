package kernel

import (
	"github.com/unravel-ml/unravel/internal/kernel/simd"
)

// The functions of this file work on rows of channels with the given stride. shift and the other vectors have one
// element per channel.

// ChannelSums adds the sums over rows of u to sum, and of u (x - shift) to product, for each channel. A nil u means x -
// shift.
func ChannelSums[T Float](sum, product, u, x, shift []T, rows, stride int) {
	if rows == 0 {
		return
	}
	c := 0
	if s, ok := Singles(sum); ok {
		p, _ := Singles(product)
		a, _ := Singles(u)
		b, _ := Singles(x)
		k, _ := Singles(shift)
		c = vectorChannels(len(k))
		for i := 0; i < c; {
			squares, products, n := simd.ChannelSquares32, simd.ChannelProducts32, 32
			if c-i < n {
				squares, products, n = simd.ChannelSquares16, simd.ChannelProducts16, 16
			}
			if a == nil {
				squares(&s[i], &p[i], &b[i], &k[i], rows, stride)
			} else {
				products(&s[i], &p[i], &a[i], &b[i], &k[i], rows, stride)
			}
			i += n
		}
	}
	if c == len(shift) {
		return
	}
	if u != nil {
		u = u[c:]
	}
	channelSumsGo(sum[c:], product[c:], u, x[c:], shift[c:], rows, stride)
}

// ChannelMap computes dst = max(scale (x - shift) + offset, floor).
func ChannelMap[T Float](dst, x, shift, scale, offset []T, rows, stride int, floor T) {
	if rows == 0 {
		return
	}
	c := 0
	if d, ok := Singles(dst); ok {
		a, _ := Singles(x)
		k, _ := Singles(shift)
		s, _ := Singles(scale)
		o, _ := Singles(offset)
		c = vectorChannels(len(k))
		for i := 0; i < c; {
			apply, n := simd.ChannelMap32, 32
			if c-i < n {
				apply, n = simd.ChannelMap16, 16
			}
			apply(&d[i], &a[i], &k[i], &s[i], &o[i], rows, stride, float32(floor))
			i += n
		}
	}
	if c < len(shift) {
		channelMapGo(dst[c:], x[c:], shift[c:], scale[c:], offset[c:], rows, stride, floor)
	}
}

// ChannelGradient computes dst = a u + b (x - shift) + offset.
func ChannelGradient[T Float](dst, u, x, shift, a, b, offset []T, rows, stride int) {
	if rows == 0 {
		return
	}
	c := 0
	if d, ok := Singles(dst); ok {
		v, _ := Singles(u)
		w, _ := Singles(x)
		k, _ := Singles(shift)
		p, _ := Singles(a)
		q, _ := Singles(b)
		o, _ := Singles(offset)
		c = vectorChannels(len(k))
		for i := 0; i < c; i += 16 {
			simd.ChannelGradient(&d[i], &v[i], &w[i], &k[i], &p[i], &q[i], &o[i], rows, stride)
		}
	}
	if c < len(shift) {
		channelGradientGo(dst[c:], u[c:], x[c:], shift[c:], a[c:], b[c:], offset[c:], rows, stride)
	}
}

// vectorChannels returns the number of channels that the assembly processes.
func vectorChannels(n int) int {
	if !simd.Vectors() {
		return 0
	}
	return n &^ 15
}

func channelSumsGo[T Float](sum, product, u, x, shift []T, rows, stride int) {
	for r := range rows {
		for c, s := range shift {
			d := x[r*stride+c] - s
			v := d
			if u != nil {
				v = u[r*stride+c]
			}
			sum[c] += v
			product[c] += v * d
		}
	}
}

func channelMapGo[T Float](dst, x, shift, scale, offset []T, rows, stride int, floor T) {
	for r := range rows {
		for c, s := range shift {
			dst[r*stride+c] = max(scale[c]*(x[r*stride+c]-s)+offset[c], floor)
		}
	}
}

func channelGradientGo[T Float](dst, u, x, shift, a, b, offset []T, rows, stride int) {
	for r := range rows {
		for c, s := range shift {
			dst[r*stride+c] = a[c]*u[r*stride+c] + (b[c]*(x[r*stride+c]-s) + offset[c])
		}
	}
}
