package simd

import "unsafe"

// Panel is one call of the micro-kernel of matrix products. With the width w of its columns it computes,
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
type Panel struct {
	A, B, C, Bias            []float32
	ARow, AStep, BStep, CRow int

	Rows, Steps int
	Flags       int
	Ahead       []float32 // memory to prefetch, of a later piece or panel
	Lines       []int32   // distances from Ahead of the lines to prefetch, in bytes: one per step
	Columns     int       // columns of b and c to read and write, if PanelMasks; otherwise all
	Width       int
	AheadRow    int     // elements by which Ahead advances per row
	aheadAt     uintptr // current position of Ahead
	Pairs       bool    // a and b are pairs of bfloat16 numbers
}

// PanelWidth returns the columns of a panel of the active instruction set, 16 or 32.
func PanelWidth() int {
	if active == AVX2 {
		return 16
	}
	return 32
}

// PanelMasks reports whether the active instruction set can skip the last columns of a panel.
func PanelMasks() bool { return active == AVX512 }

// LastWidth is the width of the last panel of a matrix with at most 16 columns left.
const LastWidth = 16

// computeGo is the micro-kernel in Go. It works in blocks of 2 rows and 4 columns: 8 sums fit into registers.
func (p *Panel) computeGo() {
	var sums [8]float32
	for row := 0; row < p.Rows; row += 2 {
		for column := 0; column < p.Width; column += 4 {
			if p.Pairs {
				p.pairsGo(row, column, &sums)
			} else {
				p.blockGo(row, column, &sums)
			}
			for r := range min(2, p.Rows-row) {
				c := p.C[(row+r)*p.CRow+column:][:4]
				for n := range c {
					c[n] = finishGo(p.Flags, sums[4*r+n], c[n], p.Bias, column+n)
				}
			}
		}
	}
}

// blockGo computes the sums of 2 rows and 4 columns. A row beyond the last row repeats it.
func (p *Panel) blockGo(row, column int, sums *[8]float32) {
	var s00, s01, s02, s03, s10, s11, s12, s13 float32
	r0, r1 := p.A[row*p.ARow:], p.A[min(row+1, p.Rows-1)*p.ARow:]
	a, b := 0, column
	for range p.Steps {
		y := (*[4]float32)(p.B[b:])
		x0, x1 := r0[a], r1[a]
		s00, s01, s02, s03 = s00+x0*y[0], s01+x0*y[1], s02+x0*y[2], s03+x0*y[3]
		s10, s11, s12, s13 = s10+x1*y[0], s11+x1*y[1], s12+x1*y[2], s13+x1*y[3]
		a += p.AStep
		b += p.BStep
	}
	*sums = [8]float32{s00, s01, s02, s03, s10, s11, s12, s13}
}

// finishGo applies flags to a sum. old is the previous value of the element.
func finishGo(flags int, sum, old float32, bias []float32, column int) float32 {
	if flags&Accumulate != 0 {
		sum += old
	}
	if flags&AddBias != 0 {
		sum += bias[column]
	}
	if flags&ApplyReLU != 0 && sum < 0 {
		sum = 0
	}
	if flags&ApplyLeaky != 0 {
		sum = max(sum, LeakySlope*sum)
	}
	return sum
}

// CopyRowsGo copies n runs of columns elements, step apart, to runs width apart.
func CopyRowsGo(dst, src []float32, columns, width, step, n int) {
	for i := range n {
		copy(dst[i*width:i*width+columns], src[i*step:])
	}
}

// Sweep computes rows and prefetches lines of next, one with each step. All prefetches at once would delay the operands
// of the blocks.
func (p *Panel) Sweep(rows int, next []float32, lines []int32) {
	const block = 12
	idle := len(lines) - p.Steps
	for at := 0; len(next) > 0 && at < idle-p.Steps && rows > block; at += p.Steps {
		p.Rows, p.Ahead, p.Lines = block, next, lines[at:]
		p.Multiply()
		p.A, p.C = p.A[block*p.ARow:], p.C[block*p.CRow:]
		rows -= block
	}
	p.Rows, p.Ahead, p.Lines = rows, p.B, lines[idle:]
	p.Multiply()
}

// Masks reports whether the micro-kernel can skip the last columns of a panel.
func (p *Panel) Masks() bool { return PanelMasks() && (!p.Pairs || fastPairs()) }

// Multiply runs the micro-kernel for the operands.
func (p *Panel) Multiply() {
	switch {
	case !p.Pairs:
		p.Compute()
	case fastPairs():
		computePanelPairs((*byte)(unsafe.Pointer(p)), p.Width, p.Columns)
	default:
		p.computeGo()
	}
}
