package kernel

// panel is one call of the micro-kernel of matrix products. With the width w of its columns it computes,
// for r < rows and n < w,
//
//	sum over i in [0, steps) of a[r*aRow + i*aStep] * b[i*bStep + n]
//
// adds the old c[r*cRow+n] and bias[n] and applies an activation as flags say, and stores it to c[r*cRow+n]. Offsets
// are in elements; rows and steps are at least 1. Both operands are read in place. a is read by its rows (aStep = 1) or
// its columns (aRow = 1). Registers for the sums limit the number of rows at a time. b is read by runs of w elements.
//
// Every sum begins at 0 and takes its steps in order, one multiplication and addition each. An element has the same
// bits for any neighbouring rows, widths and registers.
//
// An instruction set adds a function with this layout (it may count rows down), and its panelWidth. It may keep 12 rows
// of 32 columns in registers or 8 rows of 8; matmul only divides matrices into panels.
type panel struct {
	a, b, c, bias            []float32
	aRow, aStep, bStep, cRow int

	rows, steps int
	flags       int
	ahead       []float32 // memory to prefetch in passing, of a later piece or panel
	lines       []int32   // the distances of the lines to prefetch from ahead, in bytes: one for each step
	columns     int       // columns of b and c that are read and written, where panelMasks: otherwise all
	width       int
	pairs       bool // a and b are pairs of bfloat16 numbers
}

// panelWidth returns the columns of a panel of the active instruction set, 16 or 32.
func panelWidth() int {
	if active == levelAVX2 {
		return 16
	}
	return 32
}

// panelMasks reports whether the active instruction set can leave the last columns of a panel alone.
func panelMasks() bool { return active == levelAVX512 }

// lastWidth is the width of the last panel of a matrix with few enough columns left.
const lastWidth = 16

// computeGo is the micro-kernel in Go. It works in blocks of 2 rows and 4 columns: 8 sums fit into registers.
func (p *panel) computeGo() {
	var sums [8]float32
	for row := 0; row < p.rows; row += 2 {
		for column := 0; column < p.width; column += 4 {
			if p.pairs {
				p.pairsGo(row, column, &sums)
			} else {
				p.blockGo(row, column, &sums)
			}
			for r := range min(2, p.rows-row) {
				c := p.c[(row+r)*p.cRow+column:][:4]
				for n := range c {
					c[n] = finishGo(p.flags, sums[4*r+n], c[n], p.bias, column+n)
				}
			}
		}
	}
}

// blockGo computes the sums of 2 rows and 4 columns; a row beyond the last row repeats it.
func (p *panel) blockGo(row, column int, sums *[8]float32) {
	var s00, s01, s02, s03, s10, s11, s12, s13 float32
	r0, r1 := p.a[row*p.aRow:], p.a[min(row+1, p.rows-1)*p.aRow:]
	a, b := 0, column
	for range p.steps {
		y := (*[4]float32)(p.b[b:])
		x0, x1 := r0[a], r1[a]
		s00, s01, s02, s03 = s00+x0*y[0], s01+x0*y[1], s02+x0*y[2], s03+x0*y[3]
		s10, s11, s12, s13 = s10+x1*y[0], s11+x1*y[1], s12+x1*y[2], s13+x1*y[3]
		a += p.aStep
		b += p.bStep
	}
	*sums = [8]float32{s00, s01, s02, s03, s10, s11, s12, s13}
}

// finishGo applies flags to a sum; old is the element before.
func finishGo(flags int, sum, old float32, bias []float32, column int) float32 {
	if flags&accumulate != 0 {
		sum += old
	}
	if flags&addBias != 0 {
		sum += bias[column]
	}
	if flags&applyReLU != 0 && sum < 0 {
		sum = 0
	}
	if flags&applyLeaky != 0 {
		sum = max(sum, leakySlope*sum)
	}
	return sum
}

// copyRowsGo copies n runs of columns elements, step apart, to runs width apart.
func copyRowsGo(dst, src []float32, columns, width, step, n int) {
	for i := range n {
		copy(dst[i*width:i*width+columns], src[i*step:])
	}
}
