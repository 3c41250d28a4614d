package kernel

import "unsafe"

// panel is one call of the micro-kernel of matrix products. With the width w of its columns it computes,
// for r < rows and n < w,
//
//	sum over i in [0, steps) of a[r*aRow + i*aStep] * b[i*bStep + n]
//
// adds the old c[r*cRow+n] and bias[n] and applies an activation as flags say, and stores it to
// c[r*cRow+n]. Offsets are in elements; rows and steps are at least 1. Both operands are read in place:
// a by its rows (aStep = 1) or its columns (aRow = 1), as many rows at a time as there are registers for
// their sums.
//
// Every sum begins at 0 and takes its steps in order, one fused multiplication and addition each: an
// element has the same bits whatever the rows beside it, the widths and the registers are. An
// instruction set adds a function here, and its width to panelWidth. The assembly depends on this layout, and
// counts rows down.
type panel struct {
	a, b, c, bias            []float32
	aRow, aStep, bStep, cRow int

	rows, steps int
	flags       int
	width       int
}

// panelWidth returns the columns of a panel of the active instruction set: as many as leave registers for
// the sums of enough rows to hide the latency of the additions, and a divisor of 32. A last panel of a matrix may be
// lastWidth wide.
func panelWidth() int {
	if active == levelAVX2 {
		return 16
	}
	return 32
}

// lastWidth is the width of the last panel of a matrix, where that is enough.
const lastWidth = 16

// compute runs the micro-kernel of the active instruction set.
func (p *panel) compute() {
	if active == levelGo {
		p.computeGo()
		return
	}
	computePanel((*byte)(unsafe.Pointer(p)), p.width)
}

// computeGo is the micro-kernel in Go, in blocks of 2 rows and 4 columns, whose 8 sums fit into
// registers.
func (p *panel) computeGo() {
	var sums [8]float32
	for row := 0; row < p.rows; row += 2 {
		for column := 0; column < p.width; column += 4 {
			p.blockGo(row, column, &sums)
			for r := range min(2, p.rows-row) {
				c := p.c[(row+r)*p.cRow+column:][:4]
				for n := range c {
					c[n] = finishGo(p.flags, sums[4*r+n], c[n], p.bias, column+n)
				}
			}
		}
	}
}

// blockGo computes the sums of 2 rows and 4 columns; a row beyond the last is the last.
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
