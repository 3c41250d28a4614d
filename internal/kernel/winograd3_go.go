package kernel

// The transforms of F(4x4, 3x3) in Go; see winograd3.go. They work on n channels of count tiles: values are
// read and written at tile*Step + row*Row + column*Col + channel.

func inputs36Go(dst, src []float32, n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep int) {
	tiles3(dst, src, n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep, 6, 6, inputs3)
}

func filters36Go(dst, src []float32, n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep int) {
	tiles3(dst, src, n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep, 3, 6, filters3)
}

func pixels36Go(dst, src []float32, n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep int) {
	tiles3(dst, src, n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep, 4, 6, pixels3)
}

func taps9Go(dst, src []float32, n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep int) {
	tiles3(dst, src, n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep, 6, 3, taps3)
}

func outputs16Go(dst, src, bias []float32, n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep int, floor float32) {
	tiles3(dst, src, n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep, 6, 4, outputs3)
	finishTiles(dst, bias, n, dstRow, dstCol, count, dstStep, floor)
}

// finishTiles adds the bias to tiles of 4x4 and takes the maximum with floor.
func finishTiles(dst, bias []float32, n, dstRow, dstCol, count, dstStep int, floor float32) {
	for tile := range count {
		for i := range 16 {
			at := dst[tile*dstStep+i/4*dstRow+i%4*dstCol:][:n]
			for c := range at {
				if at[c] += bias[c]; at[c] < floor {
					at[c] = floor
				}
			}
		}
	}
}

// tiles3 applies a transform of in to out values to the columns and then to the rows of every tile.
func tiles3(dst, src []float32, n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep, in, out int, f func(to, from *[6]float32)) {
	for tile := range count {
		for c := range n {
			var half [6][6]float32
			var from, to [6]float32
			for s := range in {
				for r := range in {
					from[r] = src[tile*srcStep+r*srcRow+s*srcCol+c]
				}
				f(&to, &from)
				for u := range out {
					half[u][s] = to[u]
				}
			}
			for u := range out {
				f(&to, &half[u])
				for v := range out {
					dst[tile*dstStep+u*dstRow+v*dstCol+c] = to[v]
				}
			}
		}
	}
}

func inputs3(y, d *[6]float32) {
	even, odd := d[4]-squareB*d[2], d[3]-squareB*d[1]
	y[1], y[2] = even+pointA*odd, even-pointA*odd
	even, odd = d[4]-squareA*d[2], d[3]-squareA*d[1]
	y[3], y[4] = even+pointB*odd, even-pointB*odd
	y[0] = d[4] - (squareA+squareB)*d[2] + squareA*squareB*d[0]
	y[5] = d[5] - (squareA+squareB)*d[3] + squareA*squareB*d[1]
}

const (
	scaleA = 1 / (2 * squareA * (squareA - squareB))
	scaleB = 1 / (2 * squareB * (squareB - squareA))
)

func filters3(y, g *[6]float32) {
	even, odd := scaleA*g[0]+scaleA*squareA*g[2], scaleA*pointA*g[1]
	y[1], y[2] = even+odd, even-odd
	even, odd = scaleB*g[0]+scaleB*squareB*g[2], scaleB*pointB*g[1]
	y[3], y[4] = even+odd, even-odd
	y[0], y[5] = g[0]*(1/(squareA*squareB)), g[2]
}

func pixels3(y, g *[6]float32) {
	even, odd := scaleA*g[0]+scaleA*squareA*g[2], scaleA*pointA*(g[1]+squareA*g[3])
	y[1], y[2] = even+odd, even-odd
	even, odd = scaleB*g[0]+scaleB*squareB*g[2], scaleB*pointB*(g[1]+squareB*g[3])
	y[3], y[4] = even+odd, even-odd
	y[0], y[5] = g[0]*(1/(squareA*squareB)), g[3]
}

func outputs3(y, m *[6]float32) {
	a, b := m[1]+m[2], m[3]+m[4]
	y[0], y[2] = a+b+m[0], squareA*a+squareB*b
	a, b = m[1]-m[2], m[3]-m[4]
	y[1], y[3] = pointA*a+pointB*b, m[5]+squareA*pointA*a+squareB*pointB*b
}

func taps3(y, m *[6]float32) {
	a, b := m[1]+m[2], m[3]+m[4]
	y[0], y[2] = a+b+m[0], m[5]+squareA*a+squareB*b
	y[1] = pointA*(m[1]-m[2]) + pointB*(m[3]-m[4])
}
