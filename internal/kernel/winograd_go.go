package kernel

// The transforms of F(2x2, 2x2) in Go; see winograd.go. src and dst are read and
// written at tile*step + row*Row + column*Col + channel, for count tiles of n
// channels.

func expand9Go(dst, src []float32, n, dstStride, srcRow, srcCol, count, dstStep, srcStep int) {
	for tile := range count {
		for c := range n {
			at, to := tile*srcStep+c, tile*dstStep+c
			var e [3][3]float32
			for s := range 3 {
				d0, d1, d2 := src[at+s*srcCol], src[at+srcRow+s*srcCol], src[at+2*srcRow+s*srcCol]
				e[0][s], e[1][s], e[2][s] = d0-d1, d1, d1-d2
			}
			for u, r := range e {
				dst[to+3*u*dstStride] = r[0] - r[1]
				dst[to+(3*u+1)*dstStride] = r[1]
				dst[to+(3*u+2)*dstStride] = r[1] - r[2]
			}
		}
	}
}

func expand4Go(dst, src []float32, n, dstStride, srcRow, srcCol, count, dstStep, srcStep int) {
	for tile := range count {
		for c := range n {
			at, to := tile*srcStep+c, tile*dstStep+c
			g00, g01 := src[at], src[at+srcCol]
			g10, g11 := src[at+srcRow], src[at+srcRow+srcCol]
			for u, r := range [3][2]float32{{g00, g01}, {g00 + g10, g01 + g11}, {g10, g11}} {
				dst[to+3*u*dstStride] = r[0]
				dst[to+(3*u+1)*dstStride] = r[0] + r[1]
				dst[to+(3*u+2)*dstStride] = r[1]
			}
		}
	}
}

func contract9Go(dst, src, bias []float32, n, srcStride, dstRow, dstCol, count, dstStep, srcStep int, floor float32) {
	for tile := range count {
		for c := range n {
			at, to := tile*srcStep+c, tile*dstStep+c
			var y [2][3]float32
			for s := range 3 {
				m0, m1, m2 := src[at+s*srcStride], src[at+(3+s)*srcStride], src[at+(6+s)*srcStride]
				y[0][s], y[1][s] = m0+m1, m1-m2
			}
			for a, r := range y {
				for b, v := range [2]float32{r[0] + r[1], r[1] - r[2]} {
					v += bias[c]
					if v < floor {
						v = floor
					}
					dst[to+a*dstRow+b*dstCol] = v
				}
			}
		}
	}
}
