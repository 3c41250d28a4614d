package simd

import (
	"errors"
	"fmt"
	"math"
)

// Products in mixed precision take pairs of bfloat16 numbers, adjacent along the sum, instead of float32 numbers. An
// array of pairs is a []float32 whose elements hold the bits. A pair's first number is in the low half.
//
// The bits are as in AVX512_BF16 on every machine. Conversions round to nearest, ties to even, and take denormal
// numbers as zeros. A sum adds the product of the second numbers of two pairs, then the product of the first numbers,
// each rounded once to float32, and replaces denormal sums by zeros.

// Mixed returns nil if the processor has instructions for mixed precision, and otherwise an error for the user. Without
// these instructions, products have the same bits but are slow.
func Mixed() error {
	switch {
	case !hasBF16:
		return errors.New("mixed precision takes AVX512_BF16, which this processor lacks (AMD has it from Zen 4 on, Intel from Sapphire Rapids on); want float32, or such a processor")
	case active != AVX512:
		return fmt.Errorf("mixed precision takes AVX512_BF16, which %s=%v leaves out; want float32, or %[1]s unset", Variable, active)
	}
	return nil
}

func fastPairs() bool { return hasBF16 && active == AVX512 }

func bfloat(x float32) uint32 {
	bits := math.Float32bits(x)
	switch {
	case x != x:
		return bits>>16 | 0x40 // a quiet NaN
	case bits&0x7f800000 == 0:
		return bits >> 16 & 0x8000
	}
	return (bits + 0x7fff + bits>>16&1) >> 16
}

func pair(low, high float32) float32 { return math.Float32frombits(bfloat(low) | bfloat(high)<<16) }

// dot2 adds the products of two pairs to a sum.
func dot2(sum, x, y float32) float32 {
	a, b := math.Float32bits(x), math.Float32bits(y)
	sum = addProduct(flush(sum), wideBF16(a>>16), wideBF16(b>>16))
	return addProduct(sum, wideBF16(a&0xffff), wideBF16(b&0xffff))
}

// wideBF16 widens a bfloat16 number to float32; a denormal number becomes 0.
func wideBF16(x uint32) float32 { return flush(math.Float32frombits(x << 16)) }

// flush replaces a denormal number by a zero of its sign.
func flush(x float32) float32 {
	if bits := math.Float32bits(x); bits&0x7f800000 == 0 {
		return math.Float32frombits(bits & 0x80000000)
	}
	return x
}

// addProduct returns sum + x y, rounded once. The product of two bfloat16 numbers is exact in double precision, and
// double rounding of the sum never falls halfway between two float32 numbers.
func addProduct(sum, x, y float32) float32 {
	exact := float64(x)*float64(y) + float64(sum)
	const leastNormal = 0x1p-126
	if math.Abs(exact) < leastNormal*(1-0x1p-25) { // a smaller number rounds to a denormal number
		return float32(math.Copysign(0, exact))
	}
	return float32(exact)
}

// PairColumns computes dst[k*dstStep+i] = (low[k*step+i], high[k*step+i]) for k < count and i < columns.
func PairColumns(dst, low, high []float32, count, columns, dstStep, step int) {
	if count == 0 || columns == 0 {
		return
	}
	_, _, _ = dst[(count-1)*dstStep+columns-1], low[(count-1)*step+columns-1], high[(count-1)*step+columns-1]
	if fastPairs() {
		pairColumnsFast(&dst[0], &low[0], &high[0], count, columns, dstStep, step)
		return
	}
	for k := range count {
		for i := range columns {
			dst[k*dstStep+i] = pair(low[k*step+i], high[k*step+i])
		}
	}
}

// PairRows computes dst[k*dstStep+i] = (src[k*step+2*i], src[k*step+2*i+1]) for k < count and 2*i < columns. An odd
// last column is paired with 0.
func PairRows(dst, src []float32, count, columns, dstStep, step int) {
	if count == 0 || columns == 0 {
		return
	}
	_, _ = dst[(count-1)*dstStep+(columns-1)/2], src[(count-1)*step+columns-1]
	if fastPairs() {
		pairRowsFast(&dst[0], &src[0], count, columns, dstStep, step)
		return
	}
	for k := range count {
		for i := 0; i < columns; i += 2 {
			high := float32(0)
			if i+1 < columns {
				high = src[k*step+i+1]
			}
			dst[k*dstStep+i/2] = pair(src[k*step+i], high)
		}
	}
}

// pairsGo computes the sums of 2 rows and 4 columns of a tile of pairs.
func (t *Tile) pairsGo(row, column int, sums *[8]float32) {
	*sums = [8]float32{}
	for k := range t.Blocks {
		for s := range t.Segs {
			a := k*t.ABlk + s*t.ASeg
			b := k*t.BBlk + s*t.BSeg + column
			for range t.Steps {
				for r := range 2 {
					x := t.A[a+t.Rows[row+r]]
					for n, y := range t.B[b : b+4] {
						sums[4*r+n] = dot2(sums[4*r+n], x, y)
					}
				}
				a += t.AStep
				b += t.BStep
			}
		}
	}
}

// pairsGo is blockGo for pairs.
func (p *Panel) pairsGo(row, column int, sums *[8]float32) {
	*sums = [8]float32{}
	for i := range p.Steps {
		for r := range 2 {
			x := p.A[min(row+r, p.Rows-1)*p.ARow+i*p.AStep]
			for n, y := range p.B[i*p.BStep+column:][:4] {
				sums[4*r+n] = dot2(sums[4*r+n], x, y)
			}
		}
	}
}
