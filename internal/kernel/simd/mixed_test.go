package simd_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/unravel-ml/unravel/internal/kernel/kerneltest"
	"github.com/unravel-ml/unravel/internal/kernel/simd"
)

// patterns returns finite numbers of all sizes: denormal, zero, at the limits and halfway between two bfloat16 numbers.
func patterns(r *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		bits := r.Uint32()
		switch r.IntN(8) {
		case 0:
			bits &= 0x807fffff // denormal
		case 1:
			bits &= 0x80000000
		case 2:
			bits = bits&0x80ffffff | 0x00800000 // near the least normal number
		case 3:
			bits = bits&0xffff0000 | 0x8000 // halfway
		}
		if bits&0x7f800000 == 0x7f800000 {
			bits &^= 0x40000000
		}
		x[i] = math.Float32frombits(bits)
	}
	return x
}

func TestPairConversions(t *testing.T) {
	for _, s := range [][2]int{{1, 1}, {1, 2}, {3, 15}, {2, 16}, {5, 17}, {2, 31}, {3, 32}, {2, 33}, {4, 63}, {7, 100}} {
		t.Run(fmt.Sprint(s), func(t *testing.T) {
			rows, columns := s[0], s[1]
			x := patterns(rand.New(rand.NewPCG(1, uint64(columns))), 2*rows*(columns+3))
			kerneltest.Emulated(t, func() [][]float32 {
				together, beside := kerneltest.Stale(rows*(columns+5)), kerneltest.Stale(2*rows*(columns+5))
				simd.PairColumns(together, x, x[columns+3:], rows, columns, columns+5, 2*(columns+3))
				simd.PairRows(beside, x, 2*rows, columns, columns+5, columns+3)
				return [][]float32{together, beside}
			})
		})
	}
}

func TestTilePairs(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, width := range []int{16, 32} {
		for _, steps := range []int{1, 2, 7, 33} {
			for flags := range 16 {
				t.Run(fmt.Sprint(width, steps, flags), func(t *testing.T) {
					rows, cRows := simd.RowTable(8, 3*steps), simd.RowTable(8, width+1)
					a, b, bias, c := make([]float32, 8*3*steps), make([]float32, 3*steps*width), kerneltest.Random(r, width), kerneltest.Random(r, 8*(width+1))
					x, y := kerneltest.Random(r, 2*len(a)), kerneltest.Random(r, 2*len(b))
					if flags%3 == 0 {
						x, y = patterns(r, 2*len(a)), patterns(r, 2*len(b))
						for i := range x {
							x[i] *= 0x1p-40 // no infinite sums
						}
						for i := range y {
							y[i] *= 0x1p-40
						}
					}
					kerneltest.Emulated(t, func() [][]float32 {
						simd.PairRows(a, x, 1, len(x), 0, 0)
						simd.PairRows(b, y, 1, len(y), 0, 0)
						out := slices.Clone(c)
						tl := simd.Tile{A: a, B: b, C: out, Bias: bias, Rows: rows, CRows: cRows, Steps: steps, AStep: 1, Segs: 3, ASeg: steps, Blocks: 1,
							BStep: width, BSeg: steps * width, Flags: flags, Width: width, Pairs: true}
						tl.Compute()
						return [][]float32{out}
					})
				})
			}
		}
	}
}

func BenchmarkTilePairs(b *testing.B) {
	const steps = 256
	for _, pairs := range []bool{false, true} {
		b.Run(fmt.Sprint("pairs=", pairs), func(b *testing.B) {
			x, y, c := make([]float32, 8*steps), make([]float32, 32*steps), make([]float32, 8*32)
			t := simd.Tile{A: x, B: y, C: c, Rows: simd.RowTable(8, steps), CRows: simd.RowTable(8, 32), Steps: steps, AStep: 1, Segs: 1, Blocks: 1, BStep: 32, Width: 32, Pairs: pairs}
			for b.Loop() {
				t.Compute()
			}
			b.ReportMetric(float64(b.N)*8*32*steps*2/b.Elapsed().Seconds()/1e9, "GFLOP/s")
		})
	}
}
