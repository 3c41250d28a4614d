package geometry_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/unravel-ml/unravel/internal/geometry"
	"github.com/unravel-ml/unravel/internal/must"
)

// checkNorms proves by duality that no map has a smaller mean length of the residuals.
func checkNorms(t *testing.T, x []float64, columns int, y []float64, targets int, f *geometry.Regression) {
	t.Helper()
	n := len(y) / targets
	scale := extent(y, targets)
	value, dual, worth := 0.0, 0.0, 0.0
	sums, pulls := make([]float64, targets), make([]float64, targets*columns)
	for i := range n {
		length, sign := 0.0, 0.0
		for k := range targets {
			s, rest := f.Signs[i*targets+k], f.Residuals[i*targets+k]
			length, sign = math.Hypot(length, rest), math.Hypot(sign, s)
			dual += s * (y[i*targets+k] - y[k]) / float64(n)
			sums[k] += s
			for j := range columns {
				pulls[k*columns+j] += s * (x[i*columns+j] - x[j])
			}
		}
		value, worth = value+length/float64(n), max(worth, sign)
	}
	if !(math.Abs(value-f.Mean) <= 1e-12*value+1e-13*scale) {
		t.Errorf("mean length %v, want %v", f.Mean, value)
	}
	if !(worth <= 1+1e-9) || !(math.Abs(dual-value) <= 1e-9*value+1e-12*scale) || !(f.Gap <= 1e-10*value+1e-14*scale) {
		t.Errorf("value %v, bound %v, multipliers %v, gap %v", value, dual, worth, f.Gap)
	}
	if limit := 1e-9 * float64(n); !(magnitude(sums) <= limit && magnitude(pulls) <= limit*extent(x, columns)) {
		t.Errorf("the multipliers add up to %v, and with the points to %v", sums, pulls)
	}
}

func TestDrawnLeastNorms(t *testing.T) {
	r := rand.New(rand.NewPCG(17, 1))
	for c := range cases(1500) {
		columns, n, targets := 1+r.IntN(7), 1+r.IntN(60), 1+r.IntN(4)
		if c%500 < 5 {
			n = 1000
		}
		x, y := problem(r, n, columns, targets, c)
		t.Run(fmt.Sprintf("case %d, %d x %d to %d", c, n, columns, targets), func(t *testing.T) {
			f := must.Get(leastNorms(x, columns, y, targets))(t)
			checkNorms(t, x, columns, y, targets, f)
			if targets == 1 {
				one := must.Get(leastAbsolute(x, columns, y, 1))(t)
				if d := math.Abs(one.Errors[0] - f.Mean); !(d <= 1e-9*f.Mean+1e-12*extent(y, 1)) {
					t.Errorf("mean length %v, by linear programming %v", f.Mean, one.Errors[0])
				}
			}
		})
	}
}

// The map of constant points is the geometric median of the targets.
func TestLeastNormsOfConstants(t *testing.T) {
	r := rand.New(rand.NewPCG(19, 1))
	for c := range 200 {
		n, targets := 1+r.IntN(50), 1+r.IntN(5)
		y := draw(r, n, targets, c)
		f, err := leastNorms(make([]float64, 2*n), 2, y, targets)
		if err != nil {
			t.Fatalf("case %d: %v", c, err)
		}
		median := must.Get(geometricMedian(y, targets))(t)
		if d := math.Abs(f.Mean - median.MeanDistance); !(d <= 1e-9*median.MeanDistance+1e-12*extent(y, targets)) {
			t.Errorf("case %d: mean length %v, that of a median %v", c, f.Mean, median.MeanDistance)
		}
	}
}

func BenchmarkLeastNorms(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, n := range []int{64, 512} {
		x, y := draw(r, n, 10, 0), draw(r, n, 5, 0)
		var f geometry.Regression
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				must.OK(b, f.LeastNorms(x, 10, y, 5))
			}
		})
	}
}
