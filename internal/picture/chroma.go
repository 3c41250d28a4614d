package picture

import "image"

// planes converts luma and chroma to RGB. image/draw repeats subsampled chroma, and treats WebP's narrow range as the
// full range. This package interpolates chroma like libjpeg and libwebp. Pixels differ by at most a few steps from the
// pixels of these libraries.
type planes struct {
	sums   []int32 // a chroma row between two rows, times 4
	cb, cr []uint8 // chroma of a row of pixels
}

// rgb writes h x w pixels. narrow: luma is in [16, 235] and chroma in [16, 240], as in WebP. alpha (nil: opaque) blends
// with black.
func (p *planes) rgb(dst []uint8, m *image.YCbCr, h, w int, narrow bool, alpha []uint8, alphaStride int) {
	p.cb, p.cr = grown(p.cb, w+1), grown(p.cr, w+1)
	for y := range h {
		p.row(p.cb, m.Cb, m, y, h, w)
		p.row(p.cr, m.Cr, m, y, h, w)
		luma := m.Y[y*m.YStride:][:w]
		line := dst[y*w*3:][:w*3]
		if narrow {
			narrowRow(line, luma, p.cb[:w], p.cr[:w])
		} else {
			fullRow(line, luma, p.cb[:w], p.cr[:w])
		}
		if alpha != nil {
			for x, a := range alpha[y*alphaStride:][:w] {
				for c, v := range line[3*x:][:3] {
					line[3*x+c] = uint8((uint32(v)*uint32(a) + 127) / 255)
				}
			}
		}
	}
}

// row writes the chroma of a row of pixels. Along subsampled axes, the weights of the two nearest samples are 3/4 and
// 1/4.
func (p *planes) row(dst, plane []uint8, m *image.YCbCr, y, h, w int) {
	at := func(y int) []uint8 { return plane[y*m.CStride:] }
	other := func(rows int) int { // the row on the other side of y
		return max(0, min(y/2-1+y%2*2, rows-1))
	}
	half := (w + 1) / 2
	switch m.SubsampleRatio {
	case image.YCbCrSubsampleRatio444:
		copy(dst[:w], at(y))
	case image.YCbCrSubsampleRatio440:
		near, far := at(y / 2)[:w], at(other((h + 1) / 2))[:w]
		for x, v := range near {
			dst[x] = uint8((3*int(v) + int(far[x]) + 1 + y%2) >> 2)
		}
	case image.YCbCrSubsampleRatio422:
		p.widen(dst, at(y)[:half], nil)
	case image.YCbCrSubsampleRatio420:
		p.widen(dst, at(y / 2)[:half], at(other((h + 1) / 2))[:half])
	default:
		across, down := 4, 1 // 4:1:1
		if m.SubsampleRatio == image.YCbCrSubsampleRatio410 {
			down = 2
		}
		line := at(y / down)
		for x := range w {
			dst[x] = line[x/across]
		}
	}
}

// widen doubles a row, after it is mixed with a quarter of far.
func (p *planes) widen(dst, near, far []uint8) {
	n := len(near)
	if cap(p.sums) < n {
		p.sums = make([]int32, n)
	}
	sums := p.sums[:n]
	shift, up, down := 2, int32(1), int32(2) // libjpeg alternates between rounding up and down
	if far != nil {
		shift, up, down = 4, 8, 7
	}
	for x, v := range near {
		sums[x] = int32(v)
		if far != nil {
			sums[x] = 3*int32(v) + int32(far[x])
		}
	}
	for x, v := range sums {
		before, after := v, v
		if x > 0 {
			before = sums[x-1]
		}
		if x+1 < n {
			after = sums[x+1]
		}
		dst[2*x] = uint8((3*v + before + up) >> shift)
		if 2*x+1 < len(dst) {
			dst[2*x+1] = uint8((3*v + after + down) >> shift)
		}
	}
}

// fullRow converts by JFIF: R = Y + 1.402 Cr, G = Y - 0.34414 Cb - 0.71414 Cr, B = Y + 1.772 Cb, in units of 1/65536.
func fullRow(dst, luma, cb, cr []uint8) {
	cb, cr = cb[:len(luma)], cr[:len(luma)]
	for x, v := range luma {
		y := int32(v)<<16 + 1<<15
		b, r := int32(cb[x])-128, int32(cr[x])-128
		p := dst[3*x:][:3]
		p[0] = clip((y + 91881*r) >> 16)
		p[1] = clip((y - 22554*b - 46802*r) >> 16)
		p[2] = clip((y + 116130*b) >> 16)
	}
}

// narrowRow converts by BT.601 like libwebp: R = 1.164 (Y-16) + 1.596 (V-128) and so on, in units of 1/64.
func narrowRow(dst, luma, u, v []uint8) {
	high := func(x uint8, scale int32) int32 { return int32(x) * scale >> 8 }
	for x, l := range luma {
		y := high(l, 19077)
		p := dst[3*x:][:3]
		p[0] = clip((y + high(v[x], 26149) - 14234) >> 6)
		p[1] = clip((y - high(u[x], 6419) - high(v[x], 13320) + 8708) >> 6)
		p[2] = clip((y + high(u[x], 33050) - 17685) >> 6)
	}
}

func clip(v int32) uint8 {
	if uint32(v) > 255 {
		return uint8(^(v >> 31))
	}
	return uint8(v)
}
