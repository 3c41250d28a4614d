package simd

// Transpose computes dst[j*dstStride+i] = src[i*srcStride+j] for i < rows, j < columns.
func Transpose(dst, src []float32, dstStride, srcStride, rows, columns int) {
	i := 0
	if columns > 0 {
		for ; i+16 <= rows && transpose16(dst[i:], src[i*srcStride:], dstStride, srcStride, columns); i += 16 {
		}
	}
	for ; i+8 <= rows; i += 8 {
		j := 0
		for ; j+8 <= columns; j += 8 {
			transpose8x8(dst[j*dstStride+i:], src[i*srcStride+j:], dstStride, srcStride)
		}
		for ; j < columns; j++ {
			for r := i; r < i+8; r++ {
				dst[j*dstStride+r] = src[r*srcStride+j]
			}
		}
	}
	for ; i < rows; i++ {
		for j := range columns {
			dst[j*dstStride+i] = src[i*srcStride+j]
		}
	}
}

func transpose8x8(dst, src []float32, dstStride, srcStride int) {
	if active == Go {
		transpose8x8Go(dst, src, dstStride, srcStride)
		return
	}
	Transpose8x8(&dst[0], &src[0], dstStride, srcStride)
}

func transpose8x8Go(dst, src []float32, dstStride, srcStride int) {
	for i := range 8 {
		for j := range 8 {
			dst[j*dstStride+i] = src[i*srcStride+j]
		}
	}
}
