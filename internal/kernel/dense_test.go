package kernel

import (
	"fmt"
	"github.com/unravel-ml/unravel/internal/long"
	"math"
	"math/rand/v2"
	"testing"
)

// denseCases are sizes at and near the edges of panels, blocks of rows and pieces of long sums. Some have rows that
// share cache lines.
var denseCases = [][3]int{{1, 1, 1}, {8, 16, 32}, {64, 100, 48}, {7, 33, 17}, {130, 65, 20}, {100, 9, 1}, {65, 256, 70}, {5, 130, 33},
	{12, 384, 31}, {13, 385, 16}, {23, 700, 49}, {3, 1, 65}, {257, 2, 130}, {2, 641, 5}, {301, 70, 65}, {9, 1024, 100}, {21, 100, 1024}}

func TestDense(t *testing.T) {
	long.NotShort(t)
	levels(t, func(t *testing.T) {
		for i, s := range denseCases {
			a := Activation(i % 6)
			t.Run(fmt.Sprint(s, a), func(t *testing.T) { checkDense(t, s[0], s[1], s[2], a, false) })
		}
	})
}

// checkDense compares a plan with the definition, in mixed precision as checkConvolution does.
func checkDense(t *testing.T, rows, in, out int, a Activation, mixed bool) [][]float32 {
	r := rand.New(rand.NewPCG(3, 4))
	x, w, bias, dy := random(r, rows*in), random(r, in*out), random(r, out), random(r, rows*out)
	for i := range w {
		w[i] /= float32(math.Sqrt(float64(in)))
	}
	if mixed {
		representable(x, w, dy)
	}
	all := threads(func() [][]float32 {
		var d interface {
			Forward(x, w, bias, y []float32)
			Backward(x, w, y, dy, dx, dw, db []float32)
		}
		var err error
		if mixed {
			d, err = NewMixedDense(rows, in, out, a)
		} else {
			d, err = NewDense(rows, in, out, a)
		}
		if err != nil {
			t.Fatal(err)
		}
		y, dx, dw, db := stale(rows*out), stale(rows*in), stale(in*out), stale(out)
		for range 2 {
			d.Forward(x, w, bias, y)
			d.Backward(x, w, y, dy, dx, dw, db)
		}
		d.Backward(x, w, y, dy, nil, nil, nil)
		return [][]float32{y, dx, dw, db}
	})
	sameBits(t, all)
	y, dx, dw, db := make([]float64, rows*out), make([]float64, rows*in), make([]float64, in*out), make([]float64, out)
	for m := range rows {
		for n := range out {
			sum := float64(bias[n])
			for k := range in {
				sum += float64(x[m*in+k]) * float64(w[k*out+n])
			}
			v, slope := value(a, sum)
			y[m*out+n] = v
			g := slope * float64(dy[m*out+n])
			db[n] += g
			for k := range in {
				dx[m*in+k] += g * float64(w[k*out+n])
				dw[k*out+n] += g * float64(x[m*in+k])
			}
		}
	}
	near(t, "y", all[0][0], y, in)
	near(t, "dx", all[0][1], dx, out)
	near(t, "dw", all[0][2], dw, rows)
	near(t, "db", all[0][3], db, rows)
	return all[0]
}

// A row has the same bits with any neighbouring rows: a program of another batch size encodes alike.
func TestDenseComputesRowsAlone(t *testing.T) {
	levels(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(4, 4))
		for _, s := range denseCases {
			rows, in, out := s[0], s[1], s[2]
			x, w, bias, dy := random(r, rows*in), random(r, in*out), random(r, out), random(r, rows*out)
			whole, _ := NewDense(rows, in, out, LeakyActivation)
			alone, _ := NewDense(1, in, out, LeakyActivation)
			y, dx := stale(rows*out), stale(rows*in)
			whole.Forward(x, w, bias, y)
			whole.Backward(x, w, y, dy, dx, nil, nil)
			for i := range rows {
				y1, dx1 := stale(out), stale(in)
				alone.Forward(x[i*in:(i+1)*in], w, bias, y1)
				alone.Backward(x[i*in:(i+1)*in], w, y1, dy[i*out:(i+1)*out], dx1, nil, nil)
				sameBits(t, [][][]float32{{y[i*out : (i+1)*out], dx[i*in : (i+1)*in]}, {y1, dx1}})
			}
		}
	})
}

// The processor changes the items and copies of a product, but no bit.
func TestDenseOnAnyProcessor(t *testing.T) {
	defer func(old CPU) { caches = old }(caches)
	const rows, in, out = 313, 400, 1000
	r := rand.New(rand.NewPCG(6, 6))
	x, w, bias, dy := random(r, rows*in), random(r, in*out), random(r, out), random(r, rows*out)
	var results [][][]float32
	blocks := map[int]bool{}
	for _, caches = range []CPU{{Vendor: "AuthenticAMD", L2: 1 << 20}, {Vendor: "GenuineIntel", L2: 1 << 20}, {Vendor: "GenuineIntel", L2: 1 << 18}} {
		for _, n := range []int{rows, 40} {
			d, _ := NewDense(n, in, out, ReLUActivation)
			y, dx, dw := stale(rows*out), stale(rows*in), stale(in*out)
			d.Forward(x[:n*in], w, bias, y[:n*out])
			d.Backward(x[:n*in], w, y[:n*out], dy[:n*out], dx[:n*in], nil, nil)
			if n == rows {
				d.Backward(x, w, y, dy, nil, dw, nil)
				results, blocks[d.weights.block] = append(results, [][]float32{y, dx, dw}), true
			} else {
				sameBits(t, [][][]float32{{y[:n*out], dx[:n*in]}, {results[0][0][:n*out], results[0][1][:n*in]}})
			}
		}
	}
	sameBits(t, results)
	if len(blocks) != 2 {
		t.Errorf("rows in an item: %v, want two numbers", blocks)
	}
}

// A number that is not finite reaches the sums with it as a term, and no other sums.
func TestDenseKeepsNonFinite(t *testing.T) {
	levels(t, func(t *testing.T) {
		for _, a := range []Activation{LinearActivation, ReLUActivation, LeakyActivation} {
			for _, bad := range []float64{math.NaN(), math.Inf(1)} {
				rows, in, out := 27, 300, 41
				x, w, y := ones(rows*in), ones(in*out), stale(rows*out)
				x[14*in+260] = float32(bad)
				d, _ := NewDense(rows, in, out, a)
				d.Forward(x, w, make([]float32, out), y)
				dx, dw := stale(rows*in), stale(in*out)
				d.Backward(x, w, y, ones(rows*out), dx, dw, nil)
				for i, v := range y {
					finite := !math.IsNaN(float64(v)) && !math.IsInf(float64(v), 0)
					if finite != (i/out != 14) || !finite && math.IsNaN(float64(v)) != math.IsNaN(bad) {
						t.Fatalf("%v of %v: y[%d, %d] is %v", a, bad, i/out, i%out, v)
					}
				}
				for i, v := range dw {
					if finite := !math.IsNaN(float64(v)) && !math.IsInf(float64(v), 0); finite != (i/out != 260) {
						t.Fatalf("%v of %v: dw[%d, %d] is %v", a, bad, i/out, i%out, v)
					}
				}
			}
		}
	})
}

func ones(n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = 1
	}
	return x
}

// The micro-kernels of all instruction sets give the results of the Go version, and touch no other element.
func TestPanel(t *testing.T) {
	levels(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(5, 6))
		for _, width := range []int{lastWidth, panelWidth()} {
			for _, rows := range []int{1, 2, 3, 5, 7, 11, 12, 13, 25, 39} {
				for flags := range 16 {
					steps := 1 + r.IntN(40)
					for _, transposed := range []bool{false, true} {
						columns := width
						if panelMasks() {
							columns = 1 + r.IntN(width)
						}
						p := panel{width: width, columns: columns, rows: rows, steps: steps, aRow: steps + 3, aStep: 1, bStep: width + r.IntN(9), cRow: width + r.IntN(9), flags: flags}
						if transposed {
							p.aRow, p.aStep = 1, rows+2
						}
						p.a, p.b, p.bias = random(r, (rows+2)*(steps+3)), random(r, steps*p.bStep+width), random(r, width)
						p.ahead, p.lines = p.b, make([]int32, steps)
						old := random(r, rows*p.cRow+width)
						want, got := append([]float32{}, old...), append([]float32{}, old...)
						p.c = want
						q := p
						q.c = got
						p.computeGo()
						q.compute()
						for i := range got {
							if i%p.cRow >= columns || i/p.cRow >= rows {
								sameBits(t, [][][]float32{{old[i : i+1]}, {got[i : i+1]}})
								want[i] = old[i]
							}
						}
						near(t, fmt.Sprintf("%d rows of %d columns, %d steps, flags %d", rows, columns, steps, flags), got, wide(want), steps)
					}
				}
			}
		}
	})
}
