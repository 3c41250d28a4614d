package modularity

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/numeric"
)

// draws returns standard normal numbers.
func draws[T graph.Float](n int) []T {
	r, x := rand.New(rand.NewPCG(1, uint64(n))), make([]T, n)
	for i := range x {
		x[i] = T(float32(r.NormFloat64()))
	}
	return x
}

func rowDistance(a, b []float64) float64 { return math.Sqrt(numeric.SquaredError(a, b)) }

// mpdOf and diameterOf compute the deviations by definition.
func mpdOf(x []float64, rows int) float64 {
	sum, c := 0.0, len(x)/rows
	for i := range rows {
		for j := range rows {
			sum += rowDistance(x[i*c:][:c], x[j*c:][:c])
		}
	}
	return sum / 2 / float64(rows*rows)
}

func diameterOf(x []float64, rows int) float64 {
	largest, c := 0.0, len(x)/rows
	for i := range rows {
		for j := range rows {
			largest = max(largest, rowDistance(x[i*c:][:c], x[j*c:][:c]))
		}
	}
	return largest
}

// checkDeviation compares an instance for up to maxRows rows with the definition, its gradient with central
// differences, float32 with float64, and thread counts.
func checkDeviation(t *testing.T, name string, build func(maxRows, columns int) deviation[float64],
	single func(maxRows, columns int) deviation[float32],
	definition func(x []float64, rows int) float64, maxRows, rows, columns int) {
	t.Helper()
	name = fmt.Sprintf("%s of %d rows of %d", name, rows, columns)
	d, s := build(maxRows, columns), single(maxRows, columns)
	x, x32 := draws[float64](rows*columns), draws[float32](rows*columns)
	near := func(what string, got, want, tolerance float64) {
		t.Helper()
		if !(math.Abs(got-want) <= tolerance*max(1, math.Abs(want))) {
			t.Errorf("%s: %s is %v, want %v", name, what, got, want)
		}
	}
	near("the value", d.value(x, rows), definition(x, rows), 1e-12)
	near("the float32 value", s.value(x32, rows), definition(x, rows), 1e-6)
	dx, dx32 := make([]float64, len(x)), make([]float32, len(x))
	d.gradient(x, rows, dx)
	s.gradient(x32, rows, dx32)
	for i := range x {
		near(fmt.Sprint("float32 gradient ", i), float64(dx32[i]), dx[i], 1e-6)
		if i%max(1, len(x)/20) != 0 {
			continue
		}
		was, h := x[i], 1e-6
		x[i] = was + h
		up := definition(x, rows)
		x[i] = was - h
		down := definition(x, rows)
		x[i] = was
		near(fmt.Sprint("gradient ", i), dx[i], (up-down)/(2*h), 1e-7)
	}
	for _, threads := range []int{1, 5} {
		before := runtime.GOMAXPROCS(threads)
		again := make([]float32, len(x))
		v := s.value(x32, rows)
		s.gradient(x32, rows, again)
		runtime.GOMAXPROCS(before)
		must.Equal(t, v, s.value(x32, rows), name, "with", threads, "threads")
		for i := range again {
			if again[i] != dx32[i] {
				t.Fatalf("%s: gradient %d is %v with %d threads, %v before", name, i, again[i], threads, dx32[i])
			}
		}
	}
}

func TestPairDeviations(t *testing.T) {
	for _, size := range [][2]int{{1, 3}, {2, 1}, {5, 2}, {33, 4}, {64, 3}, {65, 1}, {150, 7}} {
		rows, columns := size[0], size[1]
		for _, maxRows := range []int{rows, rows + 70} {
			checkDeviation(t, "mpd", newMPD[float64], newMPD[float32], mpdOf, maxRows, rows, columns)
			checkDeviation(t, "diameter", newDiameter[float64], newDiameter[float32], diameterOf, maxRows, rows, columns)
		}
	}
}

// One instance measures groups of different sizes in turn.
func TestPairDeviationsReused(t *testing.T) {
	for _, build := range []func(rows, columns int) deviation[float32]{newMPD[float32], newDiameter[float32]} {
		reused := build(200, 3)
		for _, rows := range []int{200, 3, 70, 1, 64} {
			x, fresh := draws[float32](rows*3), build(rows, 3)
			a, b := make([]float32, rows*3), make([]float32, rows*3)
			must.Equal(t, reused.value(x, rows), fresh.value(x, rows), fresh, rows, "rows", "after other groups")
			reused.gradient(x, rows, a)
			fresh.gradient(x, rows, b)
			for i := range a {
				if a[i] != b[i] {
					t.Fatalf("%T: %d rows: gradient %d is %v after other groups, %v alone", fresh, rows, i, a[i], b[i])
				}
			}
		}
	}
}

func TestPairDeviationsHardPoints(t *testing.T) {
	for _, c := range []struct {
		name      string
		build     func(rows, columns int) deviation[float64]
		x         []float64
		rows      int
		want      float64
		gradients []float64
	}{
		{"equal points", newMPD[float64], []float64{1, 2, 1, 2, 1, 2}, 3, 0, make([]float64, 6)},
		{"equal points", newDiameter[float64], []float64{1, 2, 1, 2, 1, 2}, 3, 0, make([]float64, 6)},
		{"one point", newMPD[float64], []float64{1, 2}, 1, 0, make([]float64, 2)},
		{"one point", newDiameter[float64], []float64{1, 2}, 1, 0, make([]float64, 2)},
		{"a repeated point", newMPD[float64], []float64{0, 0, 4}, 3, 16.0 / 18, []float64{-1.0 / 9, -1.0 / 9, 2.0 / 9}},
		{"a square", newDiameter[float64], []float64{0, 0, 3, 0, 3, 4, 0, 4}, 4, 5, []float64{-0.6, -0.8, 0, 0, 0.6, 0.8, 0, 0}},
		{"a repeated end", newDiameter[float64], []float64{0, 2, 2, 0}, 4, 2, []float64{-1, 1, 0, 0}},
		{"a later pair", newDiameter[float64], []float64{0, 1, -1, 2, 2}, 5, 3, []float64{0, 0, -1, 1, 0}},
	} {
		columns := len(c.x) / c.rows
		d, dx := c.build(c.rows, columns), make([]float64, len(c.x))
		if v := d.value(c.x, c.rows); !(math.Abs(v-c.want) <= 1e-12) {
			t.Errorf("%T of %s: %v, want %v", d, c.name, v, c.want)
		}
		d.gradient(c.x, c.rows, dx)
		for i, w := range c.gradients {
			if !(math.Abs(dx[i]-w) <= 1e-12) {
				t.Errorf("%T of %s: gradient %v, want %v", d, c.name, dx, c.gradients)
				break
			}
		}
	}
	for _, d := range []deviation[float32]{newMPD[float32](70, 1), newDiameter[float32](70, 1)} {
		x, dx, scaled, dscaled := draws[float32](70), make([]float32, 70), make([]float32, 70), make([]float32, 70)
		want := d.value(x, 70)
		d.gradient(x, 70, dx)
		for _, exponent := range []int{-110, 100} { // squares of such numbers vanish or overflow
			for i, v := range x {
				scaled[i] = float32(math.Ldexp(float64(v), exponent))
			}
			must.Equal(t, d.value(scaled, 70), math.Ldexp(want, exponent), d, "of points times 2 to the power of", exponent)
			d.gradient(scaled, 70, dscaled)
			must.EqualSlices(t, dscaled, dx, d, "gradient of points times 2 to the power of", exponent)
		}
		x[40] = float32(math.NaN())
		if v := d.value(x, 70); !math.IsNaN(v) {
			t.Errorf("%T of a point that is not a number: %v", d, v)
		}
		d.gradient(x, 70, dx)
	}
}

// Close points far from zero keep their distances, because the code does not compute them from products.
func TestClosePoints(t *testing.T) {
	x := []float32{1000, 1000.0625, 1000, 1000.125}
	must.Equal(t, newMPD[float32](2, 2).value(x, 2), 0.0625/4, "mpd")
}

func benchmarkDeviation(b *testing.B, build func(rows, columns int) deviation[float32]) {
	for _, size := range [][2]int{{4096, 16}, {64, 10}} {
		rows, columns := size[0], size[1]
		x, dx, d := draws[float32](rows*columns), make([]float32, rows*columns), build(rows, columns)
		for _, gradient := range []bool{false, true} {
			name := fmt.Sprintf("%dx%d/value", rows, columns)
			if gradient {
				name += " and gradient"
			}
			b.Run(name, func(b *testing.B) {
				for b.Loop() {
					d.value(x, rows)
					if gradient {
						d.gradient(x, rows, dx)
					}
				}
			})
		}
	}
}

func BenchmarkMPD(b *testing.B)      { benchmarkDeviation(b, newMPD[float32]) }
func BenchmarkDiameter(b *testing.B) { benchmarkDeviation(b, newDiameter[float32]) }
