package simd_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/unravel-ml/unravel/internal/kernel/kerneltest"
	"github.com/unravel-ml/unravel/internal/kernel/simd"
)

// The micro-kernels of all instruction sets agree with the Go version, and change no other element.
func TestPanel(t *testing.T) {
	kerneltest.Levels(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(5, 6))
		for _, width := range []int{simd.LastWidth, simd.PanelWidth()} {
			for _, rows := range []int{1, 2, 3, 5, 7, 11, 12, 13, 25, 39} {
				for flags := range 16 {
					steps := 1 + r.IntN(40)
					for _, transposed := range []bool{false, true} {
						columns := width
						if simd.PanelMasks() {
							columns = 1 + r.IntN(width)
						}
						p := simd.Panel{Width: width, Columns: columns, Rows: rows, Steps: steps, ARow: steps + 3, AStep: 1, BStep: width + r.IntN(9), CRow: width + r.IntN(9), Flags: flags}
						if transposed {
							p.ARow, p.AStep = 1, rows+2
						}
						p.A, p.B, p.Bias = kerneltest.Random(r, (rows+2)*(steps+3)), kerneltest.Random(r, steps*p.BStep+width), kerneltest.Random(r, width)
						p.Ahead, p.Lines = p.B, make([]int32, steps)
						old := kerneltest.Random(r, rows*p.CRow+width)
						want, got := append([]float32{}, old...), append([]float32{}, old...)
						p.C = want
						q := p
						q.C = got
						restore := simd.Force(simd.Go)
						p.Compute()
						restore()
						q.Compute()
						for i := range got {
							if i%p.CRow >= columns || i/p.CRow >= rows {
								kerneltest.SameBits(t, [][][]float32{{old[i : i+1]}, {got[i : i+1]}})
								want[i] = old[i]
							}
						}
						kerneltest.Near(t, fmt.Sprintf("%d rows of %d columns, %d steps, flags %d", rows, columns, steps, flags), got, kerneltest.Wide(want), steps)
					}
				}
			}
		}
	})
}
