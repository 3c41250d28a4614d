package kernel

import (
	"fmt"
	"github.com/unravel-ml/unravel/internal/long"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// emulated runs f with the instructions for pairs, where the processor has them, and without, and compares the bits of its results.
func emulated(t *testing.T, f func() [][]float32) {
	t.Helper()
	fast := f()
	if Mixed() != nil {
		return
	}
	defer func() { hasBF16 = true }()
	hasBF16 = false
	sameBits(t, [][][]float32{f(), fast})
}

// patterns returns numbers of all sizes: finite ones, denormal, zero, at the limits and halfway between two bfloat16.
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
			emulated(t, func() [][]float32 {
				together, beside := stale(rows*(columns+5)), stale(2*rows*(columns+5))
				pairColumns(together, x, x[columns+3:], rows, columns, columns+5, 2*(columns+3))
				pairRows(beside, x, 2*rows, columns, columns+5, columns+3)
				return [][]float32{together, beside}
			})
		})
	}
}

func TestBfloat16(t *testing.T) {
	inf := float32(math.Inf(1))
	for _, c := range []struct{ x, want float32 }{{1, 1}, {1 + 0x1p-8, 1}, {1 + 0x1.8p-7, 1 + 0x1p-6}, {-0x1.ffp-130, 0}, {math.MaxFloat32, inf}, {inf, inf}, {0.1, 0x1.9ap-4}} {
		if got := math.Float32frombits(bfloat(c.x) << 16); got != c.want {
			t.Errorf("%v becomes %v, want %v", c.x, got, c.want)
		}
	}
	if nan := float32(math.NaN()); wideBF16(bfloat(nan)) == wideBF16(bfloat(nan)) {
		t.Error("NaN becomes a number")
	}
	for _, c := range []struct{ sum, x0, x1, y0, y1, want float32 }{
		{1, 2, 3, 4, 5, 24},
		{0x1p24, 1, 1, 1, 1, 0x1p24},                             // each product is rounded away: 2^24 + 1 twice
		{0, -0x1p24, 0x1p24, 1, 1, 0},                            //
		{0x1p-126, -0x1p-75, 0, 0x1p-76, 0, 0x1p-126},            // a tie, to even: a normal number
		{0x1p-126, -0x1.4p-75, 0, 0x1p-76, 0, 0},                 // rounds to a denormal number
		{0x1p-127, 1, 0, 0x1p-120, 0, 0x1p-120},                  // a denormal sum
		{math.MaxFloat32, 0x1p127, 0, 2, 0, inf},                 //
		{inf, 1, 1, 1, 1, inf},                                   //
		{1, 0x1p-130, 0x1p-130, 0x1p100, 0x1p100, 1},             // denormal factors
		{-0x1p-126, 0x1p-63, 0, 0x1.8p-64, 0, -0 /* denormal */}, //
	} {
		if got := dot2(c.sum, pair(c.x0, c.x1), pair(c.y0, c.y1)); got != c.want {
			t.Errorf("%v: got %v", c, got)
		}
	}
}

func TestTilePairs(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, width := range []int{16, 32} {
		for _, steps := range []int{1, 2, 7, 33} {
			for flags := range 16 {
				t.Run(fmt.Sprint(width, steps, flags), func(t *testing.T) {
					rows, cRows := rowTable(8, 3*steps), rowTable(8, width+1)
					a, b, bias, c := make([]float32, 8*3*steps), make([]float32, 3*steps*width), random(r, width), random(r, 8*(width+1))
					x, y := random(r, 2*len(a)), random(r, 2*len(b))
					if flags%3 == 0 {
						x, y = patterns(r, 2*len(a)), patterns(r, 2*len(b))
						for i := range x {
							x[i] *= 0x1p-40 // no infinite sums
						}
						for i := range y {
							y[i] *= 0x1p-40
						}
					}
					emulated(t, func() [][]float32 {
						pairRows(a, x, 1, len(x), 0, 0)
						pairRows(b, y, 1, len(y), 0, 0)
						out := slices.Clone(c)
						tl := tile{a: a, b: b, c: out, bias: bias, rows: rows, cRows: cRows, steps: steps, aStep: 1, segs: 3, aSeg: steps, blocks: 1,
							bStep: width, bSeg: steps * width, flags: flags, width: width, pairs: true}
						tl.compute()
						return [][]float32{out}
					})
				})
			}
		}
	}
}

// representable rounds numbers to bfloat16.
func representable(arrays ...[]float32) {
	for _, x := range arrays {
		for i, v := range x {
			x[i] = wideBF16(bfloat(v))
		}
	}
}

func TestMixedConvolutions(t *testing.T) {
	long.NotShort(t)
	for i, s := range convCases {
		for _, transposed := range []bool{false, true} {
			a := Activation(i % 2) // linear or ReLU: bfloat16 represents their gradients
			t.Run(fmt.Sprintf("%+v %v %v", s, transposed, a), func(t *testing.T) {
				check := func() [][]float32 { return checkConvolution(t, s, transposed, a, true) }
				const many = 1 << 19 // multiplications; more would take emulation seconds
				if s.Batch*s.OutH*s.OutW*s.OutC*s.Kernel*s.Kernel*s.InC > many {
					check()
				} else {
					emulated(t, check)
				}
			})
		}
	}
}

func TestMixedDense(t *testing.T) {
	for i, s := range [][3]int{{1, 1, 1}, {8, 16, 32}, {64, 100, 48}, {7, 33, 17}, {130, 65, 20}, {100, 9, 1}, {65, 256, 70}, {300, 530, 11}, {31, 20, 800}} {
		a := Activation(i % 2)
		t.Run(fmt.Sprint(s, a), func(t *testing.T) {
			emulated(t, func() [][]float32 { return checkDense(t, s[0], s[1], s[2], a, true) })
		})
	}
}

func BenchmarkTilePairs(b *testing.B) {
	const steps = 256
	for _, pairs := range []bool{false, true} {
		b.Run(fmt.Sprint("pairs=", pairs), func(b *testing.B) {
			x, y, c := make([]float32, 8*steps), make([]float32, 32*steps), make([]float32, 8*32)
			t := tile{a: x, b: y, c: c, rows: rowTable(8, steps), cRows: rowTable(8, 32), steps: steps, aStep: 1, segs: 1, blocks: 1, bStep: 32, width: 32, pairs: pairs}
			for b.Loop() {
				t.compute()
			}
			b.ReportMetric(float64(b.N)*8*32*steps*2/b.Elapsed().Seconds()/1e9, "GFLOP/s")
		})
	}
}
