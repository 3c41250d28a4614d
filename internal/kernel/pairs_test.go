package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/unravel-ml/unravel/internal/kernel/kerneltest"
)

// randomPoints returns points, some of them equal, in float32 and in float64.
func randomPoints(r *rand.Rand, rows, columns int) (*Points[float32], *Points[float64]) {
	x := kerneltest.Random(r, rows*columns)
	if rows > 2 {
		copy(x[(rows-1)*columns:], x[columns:2*columns])
	}
	y := kerneltest.Wide(x)
	p, q := NewPoints[float32](rows+3, columns), NewPoints[float64](rows+3, columns)
	p.Set(x, rows)
	q.Set(y, rows)
	return p, q
}

// tilesOf calls f for all tiles of points.
func tilesOf(rows int, f func(lane, source, n, lanes int)) {
	for lane := 0; lane < rows; lane += PairLanes {
		for source := 0; source < rows; source += PairSources {
			f(lane, source, min(PairSources, rows-source), min(PairLanes, rows-lane))
		}
	}
}

// compareTiles compares the elements of a tile that represent points.
func compareTiles(t *testing.T, what string, got []float32, want []float64, n, lanes int) {
	t.Helper()
	for k := range n {
		kerneltest.Near(t, fmt.Sprintf("%s, source %d of %d", what, k, n), got[k*PairLanes:][:lanes], want[k*PairLanes:][:lanes], 20)
	}
}

var pairSizes = [][2]int{{1, 1}, {2, 3}, {6, 2}, {31, 4}, {33, 5}, {64, 7}, {65, 9}, {100, 16}, {130, 1}, {193, 13}}

func TestPairs(t *testing.T) {
	kerneltest.Levels(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(3, 4))
		for _, size := range pairSizes {
			rows, columns := size[0], size[1]
			p, q := randomPoints(r, rows, columns)
			g, h := NewPoints[float32](rows+3, columns), NewPoints[float64](rows+3, columns)
			g.Zero(rows)
			h.Zero(rows)
			tilesOf(rows, func(lane, source, n, lanes int) {
				name := fmt.Sprintf("%v: lane %d, source %d", size, lane, source)
				a, b := kerneltest.Stale(PairLanes*PairSources), make([]float64, PairLanes*PairSources)
				p.Squares(a, lane, source, n)
				q.Squares(b, lane, source, n)
				compareTiles(t, name+": squares", a, b, n, lanes)
				for k := range n { // by definition
					for i := range lanes {
						sum := 0.0
						for c := range columns {
							d := q.Column(c)[source+k] - q.Column(c)[lane+i]
							sum += d * d
						}
						if !(math.Abs(sum-b[k*PairLanes+i]) <= 1e-12*sum) {
							t.Fatalf("%s: square %d %d is %v, want %v", name, k, i, b[k*PairLanes+i], sum)
						}
						if source+k == lane+i && a[k*PairLanes+i] != 0 {
							t.Fatalf("%s: a point is %v from itself", name, a[k*PairLanes+i])
						}
					}
				}
				InverseRoots(a, n)
				InverseRoots(b, n)
				compareTiles(t, name+": inverse roots", a, b, n, lanes)
				p.AddWeighted(g, a, lane, source, n)
				q.AddWeighted(h, b, lane, source, n)
			})
			for c := range columns {
				want := make([]float64, rows)
				for i := range want {
					for j := range rows {
						square := 0.0
						for c := range columns {
							d := q.Column(c)[i] - q.Column(c)[j]
							square += d * d
						}
						if square > 0 {
							want[i] += (q.Column(c)[i] - q.Column(c)[j]) / math.Sqrt(square)
						}
					}
				}
				kerneltest.Near(t, fmt.Sprintf("%v: gradient of column %d", size, c), g.Column(c), want, rows)
				double := make([]float32, rows)
				for i, v := range h.Column(c) {
					double[i] = float32(v)
				}
				kerneltest.Near(t, fmt.Sprintf("%v: float64 gradient of column %d", size, c), double, want, 1)
			}
		}
	})
}

func TestPairFunctions(t *testing.T) {
	both := func(r *rand.Rand, low float64) ([]float32, []float64) {
		a, b := make([]float32, PairLanes*PairSources), make([]float64, PairLanes*PairSources)
		for i := range a {
			a[i] = float32(max(r.Float64()*4+low, 0))
			b[i] = float64(a[i])
		}
		return a, b
	}
	kerneltest.Levels(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(5, 4))
		for _, n := range []int{1, 2, 7, PairSources} {
			for _, f := range []struct {
				name   string
				single func(lanes, z, y []float32)
				double func(lanes, z, y []float64)
			}{
				{"roots", func(_, z, _ []float32) { Roots(z, n) }, func(_, z, _ []float64) { Roots(z, n) }},
				{"inverse roots", func(_, z, _ []float32) { InverseRoots(z, n) }, func(_, z, _ []float64) { InverseRoots(z, n) }},
				{"sum of roots", func(l, z, _ []float32) { SumRoots(l, z, n) }, func(l, z, _ []float64) { SumRoots(l, z, n) }},
				{"maxima", func(l, z, _ []float32) { MaxLanes(l, z, n) }, func(l, z, _ []float64) { MaxLanes(l, z, n) }},
				{"hinges", func(_, z, y []float32) { Hinges(z, y, n) }, func(_, z, y []float64) { Hinges(z, y, n) }},
				{"sum of hinges", func(l, z, y []float32) { SumHinges(l, z, y, false, n) }, func(l, z, y []float64) { SumHinges(l, z, y, false, n) }},
				{"sum of squared hinges", func(l, z, y []float32) { SumHinges(l, z, y, true, n) }, func(l, z, y []float64) { SumHinges(l, z, y, true, n) }},
				{"slopes of hinges", func(_, z, y []float32) { HingeSlopes(z, y, false, n) }, func(_, z, y []float64) { HingeSlopes(z, y, false, n) }},
				{"slopes of squared hinges", func(_, z, y []float32) { HingeSlopes(z, y, true, n) }, func(_, z, y []float64) { HingeSlopes(z, y, true, n) }},
			} {
				z, z64 := both(r, -0.5)
				y, y64 := both(r, -0.5)
				lanes, lanes64 := make([]float32, PairLanes), make([]float64, PairLanes)
				f.single(lanes, z, y)
				f.double(lanes64, z64, y64)
				kerneltest.Near(t, fmt.Sprint(f.name, " of ", n), z, z64, 4)
				kerneltest.Near(t, fmt.Sprint(f.name, " of ", n, ": lanes"), lanes, lanes64, 4*n)
			}
		}
	})
}

func TestPremetrics(t *testing.T) {
	for _, c := range []struct {
		m          Premetric
		a, b, want float64
	}{
		{Absolute(), 0.25, 1, 0.75}, {Absolute(), 1, 1, 0},
		{Discrete(), 0.25, 0.2500001, 1}, {Discrete(), 3, 3, 0}, {Discrete(), 1e30, -1e30, 1},
		{Circular(1), 0.125, 0.875, 0.25}, {Circular(1), 0.125, 0.5, 0.375}, {Circular(8), 7, 1, 2}, {Circular(8), 2, 6, 4},
	} {
		for _, square := range []bool{false, true} {
			want := c.want + 2
			if square {
				want = c.want*c.want + 2
			}
			p := NewPoints[float64](2, 2)
			p.Set([]float64{9, c.a, 8, c.b}, 2)
			tile := make([]float64, PairLanes*PairSources)
			for i := range tile {
				tile[i] = 2
			}
			p.AddPremetric(tile, c.m, square, 1, 0, 0, 2)
			if tile[1] != want || tile[PairLanes] != want || tile[0] != 2 {
				t.Errorf("%v of %v and %v, square %v: %v, want %v", c.m, c.a, c.b, square, tile[1], want)
			}
			kerneltest.Levels(t, func(t *testing.T) {
				p := NewPoints[float32](2, 2)
				p.Set([]float32{9, float32(c.a), 8, float32(c.b)}, 2)
				tile := make([]float32, PairLanes*PairSources)
				for i := range tile {
					tile[i] = 2
				}
				p.AddPremetric(tile, c.m, square, 1, 0, 0, 2)
				kerneltest.Near(t, fmt.Sprint(c), []float32{tile[0], tile[1], tile[PairLanes]}, []float64{2, want, want}, 1)
			})
		}
	}
}

// Roots of squares and distances in one coordinate are exact. All normal numbers have roots.
func TestRoots(t *testing.T) {
	kerneltest.Levels(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(5, 9))
		for range 200 {
			want, tile := make([]float32, PairLanes), make([]float32, PairLanes)
			for i := range want {
				want[i] = float32(math.Exp(r.Float64()*80 - 40))
				tile[i] = want[i] * want[i]
			}
			Roots(tile, 1)
			for i, w := range want {
				if tile[i] != w {
					t.Fatalf("the root of the square of %v is %v", w, tile[i])
				}
			}
		}
		special := []float32{0, 1.1754944e-38, 3.4e38, 1, 4, float32(math.NaN())}
		for _, x := range special {
			a, b, want := make([]float32, PairLanes), make([]float32, PairLanes), math.Sqrt(float64(x))
			a[3], b[3] = x, x
			Roots(a, 1)
			InverseRoots(b, 1)
			inverse := 1 / want
			if x == 0 {
				inverse = 0
			}
			if x != x {
				if a[3] == a[3] {
					t.Errorf("the root of NaN is %v", a[3])
				}
				continue
			}
			if !(math.Abs(float64(a[3])-want) <= 1e-7*want) || !(math.Abs(float64(b[3])-inverse) <= 3e-7*inverse) {
				t.Errorf("%v: root %v, want %v; inverse %v, want %v", x, a[3], want, b[3], inverse)
			}
			if a[4] != 0 || b[4] != 0 {
				t.Errorf("the root of 0 is %v, its inverse %v", a[4], b[4])
			}
		}
	})
}

// Set clears the rest of the memory if there are fewer points than before.
func TestResizedPoints(t *testing.T) {
	p := NewPoints[float32](130, 2)
	p.Set(kerneltest.Random(rand.New(rand.NewPCG(1, 1)), 260), 130)
	p.Set([]float32{1, 2, 3, 4}, 2)
	for i, v := range p.x {
		if c, r := i/p.stride, i%p.stride; r < 2 && v != float32(2*r+c+1) || r >= 2 && v != 0 {
			t.Fatalf("coordinate %d of point %d is %v", c, r, v)
		}
	}
}
