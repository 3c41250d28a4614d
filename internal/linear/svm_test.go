package linear

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
)

// objective computes the objective from its definition, for w and b of the original numbers.
func objective(x []float64, labels []int, class int, costYes, costNo, w, b float64) float64 {
	v := (w*w + b*b) / 2
	for i, x := range x {
		y, c := -1.0, costNo
		if labels[i] == class {
			y, c = 1, costYes
		}
		if loss := 1 - y*(w*x+b); loss > 0 {
			v += c * loss * loss
		}
	}
	return v
}

// No line near the result of solve has a smaller objective.
func TestSolve(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for trial := range 60 {
		n, classes := 3+r.IntN(40), 2+r.IntN(4)
		x, labels := make([]float64, n), make([]int, n)
		scale, shift := math.Pow(10, float64(r.IntN(5)-2)), float64(r.IntN(3))
		for i := range x {
			labels[i] = r.IntN(classes)
			x[i] = scale * (shift + float64(labels[i]) + float64(r.IntN(5))*r.NormFloat64())
		}
		if trial%10 == 9 {
			for i := range x {
				x[i] = shift // constant
			}
		}
		labels[0], labels[1], labels[2] = 0, 1, 0
		c := NewColumn(x)
		rows := make([][]int32, classes)
		for _, i := range c.order {
			rows[labels[i]] = append(rows[labels[i]], i)
		}
		yes := c.moments(rows[1])
		p := problem{c, yes, c.allRows, yes, 0.7, 0.1}
		for range 20 { // also with rows of the class on the wrong side
			at := Line{3 * r.NormFloat64(), 3 * r.NormFloat64()}
			w := at.W / c.scale
			want := objective(x, labels, 1, 0.7, 0.1, w, at.B-w*c.centre)
			if got := p.evaluate(at).value; !p.isConstant() && !(math.Abs(got-want) <= 1e-9*want) {
				t.Fatalf("trial %d: value %v at %v, want %v", trial, got, at, want)
			}
		}
		l := p.solve()
		w := l.W / c.scale
		b := l.B - w*c.centre
		if p.isConstant() {
			w = c.centre * l.B / (1 + c.centre*c.centre)
			b = l.B / (1 + c.centre*c.centre)
		}
		got := objective(x, labels, 1, 0.7, 0.1, w, b)
		for step := 1.0; step > 1e-7; step /= 2 { // the objective is convex: a near point would also be better
			for angle := range 32 {
				sin, cos := math.Sincos(float64(angle) * math.Pi / 16)
				if v := objective(x, labels, 1, 0.7, 0.1, w+step*sin/scale, b+step*cos); !(v >= got*(1-1e-12)) {
					t.Fatalf("trial %d: %v at %v, %v; %v near it", trial, got, w, b, v)
				}
			}
		}
		if value := p.evaluate(l).value; !(math.Abs(value-got) <= 1e-9*got) {
			t.Errorf("trial %d: value %v, want %v", trial, value, got)
		}
	}
}

func TestClassify(t *testing.T) {
	x := []float64{-3, -2, 2, 3, 3}
	predict := NewColumn(x).Classify([]int{4, 4, 1, 1, 1}, 6, 1)
	for i, want := range []int{4, 4, 1, 1, 1} {
		must.Equal(t, predict(x[i]), want, x[i])
	}
	must.Equal(t, NewColumn(x).Classify([]int{2, 2, 2, 2, 2}, 3, 1)(9), 2, "one class")
	predict = NewColumn([]float64{5, 5, 5, 5}).Classify([]int{0, 1, 1, 2}, 3, 0.01)
	if a, b := predict(5), predict(5); a != b {
		t.Error("a constant column has two predictions")
	}
	// for tiny numbers only the intercept matters: the class with the largest weight wins
	predict = NewColumn([]float64{1e-300, 2e-300, 3e-300, 4e-300, 0}).Classify([]int{1, 0, 0, 0, 2}, 3, 1)
	big := NewColumn([]float64{1e300, 2e300, 3e300, 4e300, 0}).Classify([]int{1, 0, 0, 0, 2}, 3, 1)
	must.Equal(t, predict(3e-300), predict(-1e-300), "label")
	if a, b := big(4e300), big(0); a != 0 || b != 2 {
		t.Errorf("labels %d and %d of huge numbers", a, b)
	}
}
