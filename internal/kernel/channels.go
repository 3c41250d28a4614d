package kernel

import (
	"github.com/unravel-ml/unravel/internal/kernel/simd"
)

// The functions of this file work on rows of channels with the given stride. shift and the other vectors have one
// element per channel.

// ChannelSums adds the sums over rows of u to sum, and of u (x - shift) to product, for each channel. A nil u means x -
// shift.
func ChannelSums(sum, product, u, x, shift []float32, rows, stride int) {
	if rows == 0 {
		return
	}
	c := wholeChannels(len(shift))
	for i := 0; i < c; {
		squares, products, n := simd.ChannelSquares32, simd.ChannelProducts32, 32
		if c-i < n {
			squares, products, n = simd.ChannelSquares16, simd.ChannelProducts16, 16
		}
		if u == nil {
			squares(&sum[i], &product[i], &x[i], &shift[i], rows, stride)
		} else {
			products(&sum[i], &product[i], &u[i], &x[i], &shift[i], rows, stride)
		}
		i += n
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
func ChannelMap(dst, x, shift, scale, offset []float32, rows, stride int, floor float32) {
	if rows == 0 {
		return
	}
	c := wholeChannels(len(shift))
	for i := 0; i < c; {
		apply, n := simd.ChannelMap32, 32
		if c-i < n {
			apply, n = simd.ChannelMap16, 16
		}
		apply(&dst[i], &x[i], &shift[i], &scale[i], &offset[i], rows, stride, floor)
		i += n
	}
	if c < len(shift) {
		channelMapGo(dst[c:], x[c:], shift[c:], scale[c:], offset[c:], rows, stride, floor)
	}
}

// ChannelGradient computes dst = a u + b (x - shift) + offset.
func ChannelGradient(dst, u, x, shift, a, b, offset []float32, rows, stride int) {
	if rows == 0 {
		return
	}
	c := wholeChannels(len(shift))
	for i := 0; i < c; i += 16 {
		simd.ChannelGradient(&dst[i], &u[i], &x[i], &shift[i], &a[i], &b[i], &offset[i], rows, stride)
	}
	if c < len(shift) {
		channelGradientGo(dst[c:], u[c:], x[c:], shift[c:], a[c:], b[c:], offset[c:], rows, stride)
	}
}

// wholeChannels returns the number of channels that the assembly processes.
func wholeChannels(n int) int {
	if !simd.Vectors() {
		return 0
	}
	return n &^ 15
}

func channelSumsGo(sum, product, u, x, shift []float32, rows, stride int) {
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

func channelMapGo(dst, x, shift, scale, offset []float32, rows, stride int, floor float32) {
	for r := range rows {
		for c, s := range shift {
			dst[r*stride+c] = max(scale[c]*(x[r*stride+c]-s)+offset[c], floor)
		}
	}
}

func channelGradientGo(dst, u, x, shift, a, b, offset []float32, rows, stride int) {
	for r := range rows {
		for c, s := range shift {
			dst[r*stride+c] = a[c]*u[r*stride+c] + (b[c]*(x[r*stride+c]-s) + offset[c])
		}
	}
}
