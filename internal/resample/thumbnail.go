package resample

import "math"

// ThumbnailSize returns the size of Pillow's thumbnail: the largest size within h x w with the image's aspect ratio,
// but not larger than the image.
func ThumbnailSize(srcH, srcW, h, w int) (int, int) {
	if w >= srcW && h >= srcH {
		return srcH, srcW
	}
	aspect := float64(srcW) / float64(srcH)
	if float64(w)/float64(h) >= aspect {
		return h, nearest(float64(h)*aspect, func(n float64) float64 { return math.Abs(aspect - n/float64(h)) })
	}
	return nearest(float64(w)/aspect, func(n float64) float64 {
		if n == 0 {
			return 0
		}
		return math.Abs(aspect - float64(w)/n)
	}), w
}

// nearest rounds a side down or up, to the result with the smaller error, down for ties, and to at least 1.
func nearest(x float64, miss func(float64) float64) int {
	n := math.Floor(x)
	if up := math.Ceil(x); miss(up) < miss(n) {
		n = up
	}
	return max(int(n), 1)
}

// Thumbnail shrinks src to [ThumbnailSize] in dst, as Pillow's thumbnail does for arrays. If the image is at least four
// times as large as the result, it first averages blocks of pixels. It returns the size.
func (r *Resizer) Thumbnail(dst, src []uint8, srcH, srcW, h, w, channels int, f Filter) (int, int) {
	h, w = ThumbnailSize(srcH, srcW, h, w)
	down, across := extent{srcH, float32(srcH), h}, extent{srcW, float32(srcW), w}
	dst, src = dst[:h*w*channels], src[:srcH*srcW*channels]
	fy, fx := max(int(float64(srcH)/float64(h)/gap), 1), max(int(float64(srcW)/float64(w)/gap), 1)
	if fy > 1 || fx > 1 {
		src = r.reduce(src, srcH, srcW, channels, fy, fx)
		down = extent{(srcH + fy - 1) / fy, float32(float64(srcH) / float64(fy)), h}
		across = extent{(srcW + fx - 1) / fx, float32(float64(srcW) / float64(fx)), w}
	}
	r.resize(dst, src, down, across, channels, f)
	return h, w
}

// gap is the minimum ratio of the averaged image to the result: Pillow's reducing_gap.
const gap = 2.0

// reduce averages blocks of fy x fx pixels. Blocks at the lower and right edges may be smaller.
func (r *Resizer) reduce(src []uint8, h, w, c, fy, fx int) []uint8 {
	rows, columns := (h+fy-1)/fy, (w+fx-1)/fx
	r.reduced = grown(r.reduced, rows*columns*c)
	for y := range rows {
		high := min(fy, h-y*fy)
		for x := range columns {
			wide := min(fx, w-x*fx)
			for ch := range c {
				sum := uint32(high * wide / 2)
				for i := range high {
					at := ((y*fy+i)*w+x*fx)*c + ch
					for j := range wide {
						sum += uint32(src[at+j*c])
					}
				}
				r.reduced[(y*columns+x)*c+ch] = divide(sum, high*wide)
			}
		}
	}
	return r.reduced
}

// divide returns sum/n with Pillow's reciprocal of n, rounded down. If n is not a power of two, the result for exact
// multiples of n is one less.
func divide(sum uint32, n int) uint8 {
	return uint8(uint64(sum) * (1 << 24 / uint64(n)) >> 24)
}
