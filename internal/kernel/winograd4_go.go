package kernel

// The transforms of F(4x4, 2x2) and F(2x2, 4x4) in Go, in the manner of winograd3_go.go; see winograd4.go.

func inputs25Go(dst, src []float32, n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep int) {
	tiles3(dst, src, n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep, 5, 5, inputs4)
}

func filters25Go(dst, src []float32, n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep int) {
	tiles3(dst, src, n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep, 2, 5, filters4)
}

func pixels25Go(dst, src []float32, n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep int) {
	tiles3(dst, src, n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep, 4, 5, pixels4)
}

func taps25Go(dst, src []float32, n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep int) {
	tiles3(dst, src, n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep, 5, 2, taps4)
}

func outputs25Go(dst, src, bias []float32, n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep int, floor float32) {
	tiles3(dst, src, n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep, 5, 4, outputs4)
	finishTiles(dst, bias, n, dstRow, dstCol, count, dstStep, floor)
}

func inputs4(y, d *[6]float32) {
	y[0] = d[3] - phaseB*d[2] - phaseSquare*d[1] + phaseSquare*phaseB*d[0]
	y[4] = d[4] - phaseB*d[3] - phaseSquare*d[2] + phaseSquare*phaseB*d[1]
	even, odd := d[3]-phaseB*d[2], d[2]-phaseB*d[1]
	y[1], y[2] = even+phaseA*odd, even-phaseA*odd
	y[3] = d[3] - phaseSquare*d[1]
}

const (
	scaleZero  = 1 / (phaseSquare * phaseB)
	scalePlus  = 1 / (2 * phaseSquare * (phaseA - phaseB))
	scaleMinus = -1 / (2 * phaseSquare * (phaseA + phaseB))
	scaleHalf  = 1 / (phaseB * (phaseB*phaseB - phaseSquare))
)

func filters4(y, g *[6]float32) {
	y[0], y[4] = scaleZero*g[0], g[1]
	y[1], y[2] = scalePlus*g[0]+scalePlus*phaseA*g[1], scaleMinus*g[0]-scaleMinus*phaseA*g[1]
	y[3] = scaleHalf*g[0] + scaleHalf*phaseB*g[1]
}

func pixels4(y, g *[6]float32) {
	even, odd := g[0]+phaseSquare*g[2], g[1]+phaseSquare*g[3]
	y[0], y[4] = scaleZero*g[0], g[3]
	y[1], y[2] = scalePlus*even+scalePlus*phaseA*odd, scaleMinus*even-scaleMinus*phaseA*odd
	y[3] = scaleHalf*g[0] + scaleHalf*phaseB*g[1] + scaleHalf*phaseB*phaseB*g[2] + scaleHalf*phaseB*phaseB*phaseB*g[3]
}

func outputs4(y, m *[6]float32) {
	sum, difference := m[1]+m[2], m[1]-m[2]
	y[0], y[2] = sum+m[0]+m[3], phaseSquare*sum+phaseB*phaseB*m[3]
	y[1], y[3] = phaseA*difference+phaseB*m[3], m[4]+phaseSquare*phaseA*difference+phaseB*phaseB*phaseB*m[3]
}

func taps4(y, m *[6]float32) {
	y[0] = m[1] + m[2] + m[0] + m[3]
	y[1] = m[4] + phaseA*(m[1]-m[2]) + phaseB*m[3]
}
