package geometry_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/unravel-ml/unravel/internal/geometry"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
)

// checkJoint proves by duality that no map has a smaller maximum length of the residuals.
func checkJoint(t *testing.T, x []float64, columns int, y []float64, targets int, f *geometry.Regression) {
	t.Helper()
	n := len(y) / targets
	scale, base := 1e-300, 0.0
	for i, v := range y {
		scale, base = max(scale, math.Abs(v-y[i%targets])), max(base, math.Abs(v))
	}
	rounding := 1e-12*scale + 1e-14*base
	for k := range targets {
		rounding += tolerated(f, x, columns, k)
	}
	value, dual, worth := 0.0, 0.0, 0.0
	sums, pulls := make([]float64, targets), make([]float64, targets*columns)
	for i := range n {
		length, sign := 0.0, 0.0
		for k := range targets {
			s, rest := f.Signs[i*targets+k], f.Residuals[i*targets+k]
			if h := predict(f, x[i*columns:(i+1)*columns], k); !(math.Abs(y[i*targets+k]-h-rest) <= rounding) {
				t.Errorf("target %d, row %d: y - h(x) is %v, the residual %v", k, i, y[i*targets+k]-h, rest)
				return
			}
			length, sign = math.Hypot(length, rest), math.Hypot(sign, s)
			dual += s * (y[i*targets+k] - y[k])
			sums[k] += s
			for j := range columns {
				pulls[k*columns+j] += s * (x[i*columns+j] - x[j])
			}
		}
		value, worth = max(value, length), worth+sign
	}
	if !(math.Abs(value-f.Largest) <= 1e-12*value+1e-13*scale) {
		t.Errorf("largest length %v, want %v", f.Largest, value)
	}
	if !(worth <= 1+1e-9) || !(math.Abs(dual-value) <= 1e-9*scale+rounding) || !(f.Gap >= 0 && f.Gap <= 1e-10*value) {
		t.Errorf("value %v, bound %v, multipliers %v, gap %v", value, dual, worth, f.Gap)
	}
	if limit := 1e-9 * float64(n); !(magnitude(sums) <= limit && magnitude(pulls) <= limit*extent(x, columns)) {
		t.Errorf("the multipliers add up to %v, and with the points to %v", sums, pulls)
	}
}

func TestDrawnJointMinimax(t *testing.T) {
	long.NotShort(t)
	r := rand.New(rand.NewPCG(13, 1))
	for c := range cases(3000) {
		columns, n, targets := 1+r.IntN(7), 1+r.IntN(60), 1+r.IntN(4)
		if c%100 < 10 && c%1000 < 100 {
			n = 1000
		}
		x, y := problem(r, n, columns, targets, c)
		t.Run(fmt.Sprintf("case %d, %d x %d to %d", c, n, columns, targets), func(t *testing.T) {
			f := must.Get(jointMinimax(x, columns, y, targets))(t)
			checkJoint(t, x, columns, y, targets, f)
			if targets == 1 {
				one := must.Get(minimax(x, columns, y, 1))(t)
				if d := math.Abs(one.Errors[0] - f.Largest); !(d <= 1e-10*f.Largest+1e-13*extent(y, 1)) {
					t.Errorf("largest error %v, by linear programming %v", f.Largest, one.Errors[0])
				}
			}
		})
	}
}

// The map of constant points is the centre of the smallest enclosing ball of the targets.
func TestJointMinimaxOfConstants(t *testing.T) {
	r := rand.New(rand.NewPCG(15, 1))
	for c := range 200 {
		n, targets := 1+r.IntN(50), 1+r.IntN(5)
		y := draw(r, n, targets, c)
		f, err := jointMinimax(make([]float64, 2*n), 2, y, targets)
		if err != nil {
			t.Fatalf("case %d: %v", c, err)
		}
		ball := must.Get(enclosingBall(y, targets))(t)
		if d := math.Abs(f.Largest - ball.Radius); !(d <= 1e-10*ball.Radius+1e-13*extent(y, targets)) {
			t.Errorf("case %d: largest length %v, that of a ball %v", c, f.Largest, ball.Radius)
		}
	}
}

// Degenerate points: too few rows, too few columns, or no differences.
func TestJointMinimaxAtHardPoints(t *testing.T) {
	for name, c := range map[string]struct {
		x       []float64
		columns int
		y       []float64
		targets int
		want    float64
	}{
		"one row":                {[]float64{3, 4}, 2, []float64{1, 2, 5}, 3, 0},
		"fewer rows than needed": {[]float64{1, 2, 3, 4, 5, 6, 7, 8, 10}, 3, []float64{1, 0, 0, 1, 5, 5}, 2, 0},
		"an exact map":           {[]float64{0, 1, 2, 3}, 1, []float64{0, 3, 1, 1, 2, -1, 3, -3}, 2, 0},
		"constant targets":       {[]float64{0, 1, 5}, 1, []float64{7, 8, 7, 8, 7, 8}, 2, 0},
		"a repeated column":      {[]float64{0, 0, 0, 0, 1, 1, 1, 1}, 2, []float64{0, 1, 0, 1}, 1, 0.5},
		"a square's corners":     {[]float64{0, 0, 0, 0}, 1, []float64{0, 0, 0, 1, 1, 0, 1, 1}, 2, math.Sqrt2 / 2},
		// both targets alternate for equal x, so each error is 1/2
		"ties": {[]float64{0, 0, 0, 0, 1, 1, 1, 1}, 1, []float64{0, 0, 0, 1, 1, 0, 1, 1, 0, 0, 0, 1, 1, 0, 1, 1}, 2, math.Sqrt2 / 2},
	} {
		f, err := jointMinimax(c.x, c.columns, c.y, c.targets)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !(math.Abs(f.Largest-c.want) <= 1e-13) {
			t.Errorf("%s: largest length %v, want %v", name, f.Largest, c.want)
		}
		checkJoint(t, c.x, c.columns, c.y, c.targets, f)
		if c.want == 0 && magnitude(f.Signs) != 0 {
			t.Errorf("%s: multipliers %v, want 0 for an exact fit", name, f.Signs)
		}
	}
}

// The joint optimum is between the largest optimum of a single target and the combination of all single optima.
func TestJointMinimaxIsJoint(t *testing.T) {
	r := rand.New(rand.NewPCG(16, 1))
	lower := 0
	for range 100 {
		x, y := draw(r, 40, 2, 0), draw(r, 40, 3, 5)
		f := must.Get(jointMinimax(x, 2, y, 3))(t)
		apart := must.Get(minimax(x, 2, y, 3))(t)
		square := 0.0
		for _, e := range apart.Errors {
			square += e * e
		}
		if !(f.Largest <= math.Sqrt(square)*(1+1e-12)) || f.Largest < magnitude(apart.Errors)*(1-1e-12) {
			t.Errorf("largest length %v, of errors %v apart", f.Largest, apart.Errors)
		}
		if f.Largest < 0.95*math.Sqrt(square) {
			lower++
		}
	}
	if lower < 50 {
		t.Errorf("%d of 100 joint optima are well below those of the targets together, want most", lower)
	}
}

// The gradient from the multipliers agrees with finite differences.
func TestJointMinimaxGradient(t *testing.T) {
	r := rand.New(rand.NewPCG(17, 1))
	const n, columns, targets = 25, 3, 2
	x, y := draw(r, n, columns, 0), draw(r, n, targets, 0)
	f := must.Get(jointMinimax(x, columns, y, targets))(t)
	for i := range x {
		want := 0.0
		for k := range targets {
			want -= f.Signs[i/columns*targets+k] * f.Weights[i%columns*targets+k]
		}
		was := x[i]
		x[i] = was + 1e-5
		up, _ := jointMinimax(x, columns, y, targets)
		x[i] = was - 1e-5
		down, _ := jointMinimax(x, columns, y, targets)
		x[i] = was
		if got := (up.Largest - down.Largest) / 2e-5; !(math.Abs(got-want) <= 1e-7) {
			t.Errorf("gradient of element %d is %v, want %v", i, want, got)
		}
	}
}

func TestJointMinimaxErrors(t *testing.T) {
	r := rand.New(rand.NewPCG(18, 1))
	wide := draw(r, 60, 45, 0)
	for want, run := range map[string]func() (*geometry.Regression, error){
		"45 independent columns and 45 targets": func() (*geometry.Regression, error) {
			return jointMinimax(wide, 45, draw(r, 60, 45, 0), 45)
		},
		"finite numbers": func() (*geometry.Regression, error) {
			return jointMinimax([]float64{math.NaN()}, 1, []float64{1}, 1)
		},
		"as many targets": func() (*geometry.Regression, error) {
			return jointMinimax([]float64{1, 2}, 1, []float64{1}, 1)
		},
		"no points": func() (*geometry.Regression, error) {
			return jointMinimax(nil, 1, []float64{1}, 1)
		},
	} {
		must.ErrorOf(run())(t, want)
	}
}

// BenchmarkJointMinimax uses the sizes of Zhang and Sugiyama's studies, and larger ones. Kind 5 is a grid.
//
//	go test ./internal/geometry -run '^$' -bench JointMinimax
func BenchmarkJointMinimax(b *testing.B) {
	for _, c := range []struct{ rows, columns, targets, kind int }{
		{1331, 3, 3, 0}, {1331, 3, 3, 5}, {1331, 6, 3, 0}, {1331, 6, 3, 5}, {10000, 10, 5, 0}, {10000, 10, 5, 5},
	} {
		r := rand.New(rand.NewPCG(8, 1))
		x, y := draw(r, c.rows, c.columns, c.kind), draw(r, c.rows, c.targets, c.kind)
		f := new(geometry.Regression)
		b.Run(fmt.Sprintf("%dx%d to %d of kind %d", c.rows, c.columns, c.targets, c.kind), func(b *testing.B) {
			for b.Loop() {
				must.OK(b, f.JointMinimax(x, c.columns, y, c.targets))
			}
		})
	}
}
