package linear

import (
	"context"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/numeric"
)

var ctx = context.Background()

func sample(seed uint64, n, d, classes int) (x []float64, labels []int) {
	r := rand.New(rand.NewPCG(seed, 7))
	for range n {
		label := r.IntN(classes)
		labels = append(labels, 3*label)
		for c := range d {
			x = append(x, math.Pow(4, float64(c))*(r.NormFloat64()+float64(label*(c+1)%classes)))
		}
	}
	return x, labels
}

// slopes returns the gradient of the objective at a fit in double precision, in the order of the weights. size is the
// sum of absolute terms for each element.
func slopes(m *Logistic, x []float64, labels []int, c float64) (g, size []float64) {
	d, k := m.columns, m.outputs
	g, size = make([]float64, len(m.weights)), make([]float64, len(m.weights))
	p := make([]float64, len(m.Classes))
	for i, label := range labels {
		m.Probabilities(x[i*d:(i+1)*d], p)
		p[slices.Index(m.Classes, label)]--
		for j, r := range p[len(p)-k:] { // of two classes the second
			for col := range d + 1 {
				v := 1.0
				if col < d {
					v = x[i*d+col] - m.centre[col]
				}
				g[col*k+j] += c * r * v
				size[col*k+j] += c * math.Abs(v)
			}
		}
	}
	for i := range d * k {
		g[i] += m.weights[i]
	}
	return g, size
}

// alike makes columns of similar scale that nearly repeat the first five.
func alike(row []float64) {
	for c := range row {
		row[c] /= math.Pow(4, float64(c))
	}
	for c := 5; c < len(row); c++ {
		row[c] = row[c%5]*float64(c%7-3) + row[(c+1)%5] + 1e-4*row[c]
	}
}

// The gradient of the objective is 0 at the fit, for any scale and correlation of the columns.
func TestLogisticGradient(t *testing.T) {
	for _, test := range []struct {
		name          string
		n, d, classes int
		change        func(row []float64)
		c             float64
		tolerance     float64 // tolerance of a derivative, relative to the size of its terms
	}{
		{"two classes", 150, 4, 2, func([]float64) {}, 0.7, 1e-5},
		{"three", 150, 4, 3, func([]float64) {}, 0.7, 1e-5},
		{"seven", 1500, 4, 7, func([]float64) {}, 0.7, 1e-5},
		{"many columns", 1000, 40, 3, func([]float64) {}, 1, 1e-5},
		{"far from 0", 200, 3, 3, func(row []float64) { row[0] += 1e7 }, 1, 1e-5},
		{"all but dependent", 200, 3, 3, func(row []float64) { row[2] = row[0] + 1e-4*row[2] }, 1, 1e-4},
		{"a column twice", 200, 3, 4, func(row []float64) { row[2] = row[0] }, 1, 1e-5},
		{"a constant", 200, 3, 2, func(row []float64) { row[1] = 3 }, 1, 1e-5},
		{"more columns than rows", 20, 30, 3, func([]float64) {}, 1, 1e-4},
		{"many columns that say much the same", 1000, 60, 7, alike, 1, 1e-4},
		{"more such columns than rows", 50, 60, 3, alike, 1, 1e-4},
		{"a strong loss", 150, 4, 3, func([]float64) {}, 1e4, 1e-5},
		{"a weak loss", 150, 4, 3, func([]float64) {}, 1e-4, 0.1},
	} {
		x, labels := sample(uint64(test.classes), test.n, test.d, test.classes)
		for i := 0; i < len(x); i += test.d {
			test.change(x[i : i+test.d])
		}
		m, err := FitLogistic(ctx, x, test.d, labels, test.c, 1000)
		if err != nil || !m.Converged || len(m.Classes) != test.classes {
			t.Fatalf("%s: %+v, %v", test.name, m, err)
		}
		g, size := slopes(m, x, labels, test.c)
		for i, v := range g {
			if !(math.Abs(v) <= test.tolerance*(size[i]+1e-3)) {
				t.Errorf("%s: slope %d is %v, a sum of %v", test.name, i, v, size[i])
			}
		}
	}
}

// The gradient in the search is the gradient of its objective.
func TestLossSlopes(t *testing.T) {
	for _, test := range []struct {
		classes, d int
		diagonal   bool // the penalty is diagonal, as for many columns
	}{{2, 3, false}, {5, 3, false}, {2, 60, true}, {3, 60, true}} {
		classes, d := test.classes, test.d
		x, labels := sample(uint64(classes), 300, d, classes)
		if test.diagonal {
			for i := 0; i < len(x); i += d {
				alike(x[i : i+d])
			}
		}
		in := must.Get(NewInputs(x, d))(t)
		if (in.diagonal != nil) != test.diagonal {
			t.Fatalf("%d columns have a diagonal penalty: %v", d, in.diagonal != nil)
		}
		m := must.Get(in.Fit(ctx, labels, 1, 3))(t)
		f := newLogisticLoss(in, m.Classes, m.outputs, labels)
		f.c = 1
		r := rand.New(rand.NewPCG(1, 1))
		w := make([]float64, m.outputs*in.rows.Columns)
		for i := range w {
			w[i] = r.NormFloat64()
		}
		g, unused := make([]float64, len(w)), make([]float64, len(w))
		_, noise := f.evaluate(ctx, w, g)
		for i := range w {
			const h = 1.0 / 64
			at := w[i]
			w[i] = at + h
			up, _ := f.evaluate(ctx, w, unused)
			w[i] = at - h
			down, _ := f.evaluate(ctx, w, unused)
			if w[i] = at; !(math.Abs((up-down)/(2*h)-g[i]) <= 1e-3*(1+math.Abs(g[i]))) || !(noise < 1e-3) {
				t.Errorf("%d classes, weight %d: slope %v, want %v, noise %v", classes, i, g[i], (up-down)/(2*h), noise)
			}
		}
	}
}

// The line search accepts a step that satisfies Armijo's condition, and halves a slightly longer one.
func TestLineSearch(t *testing.T) {
	x, labels := sample(3, 300, 3, 3)
	in := must.Get(NewInputs(x, 3))(t)
	m := must.Get(in.Fit(ctx, labels, 1, 3))(t)
	f := newLogisticLoss(in, m.Classes, m.outputs, labels)
	f.c = 1e-6 // the objective is nearly quadratic: the slope after the step equals the slope before it
	n := m.outputs * in.rows.Columns
	from, g, next, slope, direction := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
	for i := range from {
		from[i] = float64(i%3 - 1)
	}
	value, _ := f.evaluate(ctx, from, g)
	won := func(length float64) float64 { // decrease along minus the gradient, beyond Armijo's condition
		for i := range from {
			next[i] = from[i] - length*g[i]
		}
		v, _ := f.evaluate(ctx, next, slope)
		return value - 1e-4*length*numeric.Dot(g, g) - v
	}
	near, far := 0.0, 1.0
	for won(far) > 0 {
		far *= 2
	}
	for range 60 {
		if middle := (near + far) / 2; won(middle) > 0 {
			near = middle
		} else {
			far = middle
		}
	}
	for _, test := range []struct{ part, want float64 }{{1 - 3e-5, 1}, {1 + 3e-5, 0.5}} {
		for i := range direction {
			direction[i] = -test.part * near * g[i]
		}
		if _, ok := f.lineSearch(ctx, from, direction, value, numeric.Dot(g, direction), next, slope); !ok {
			t.Fatal("no step")
		}
		if length := (next[0] - from[0]) / direction[0]; !(math.Abs(length-test.want) <= 1e-9) {
			t.Errorf("at %v of the longest step: length %v, want %v", test.part, length, test.want)
		}
	}
}

// Equal columns share the weights with minimum penalty, in proportion to their scales.
func TestLogisticLeastPenalty(t *testing.T) {
	x, labels := sample(3, 200, 1, 3)
	twice := make([]float64, 2*len(x))
	for i, v := range x {
		twice[2*i], twice[2*i+1] = v, 2*v
	}
	m := must.Get(FitLogistic(ctx, twice, 2, labels, 1, 1000))(t)
	for j := range 3 {
		if a, b := m.weights[j], m.weights[3+j]; !(math.Abs(b-2*a) <= 1e-9*(math.Abs(a)+1e-3)) {
			t.Errorf("weights %v and %v", a, b)
		}
	}
}

// Labels may depend on a small difference of large columns.
func TestLogisticSmallDifference(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	var x []float64
	var labels []int
	for i := range 300 {
		large, small := r.NormFloat64(), 1e-5*float64(2*(i%2)-1)
		x = append(x, large+small, large, 7)
		labels = append(labels, i%2)
	}
	m := must.Get(FitLogistic(ctx, x, 3, labels, 1e12, 1000))(t)
	scratch := make([]float64, 2)
	for i, label := range labels {
		if m.Predict(x[3*i:3*i+3], scratch) != label {
			t.Fatalf("row %d: wrong, weights %v", i, m.weights)
		}
	}
	must.Equal(t, m.weights[2], 0, "a constant column has weight")
}

// A fit has converged only if more iterations change nothing.
func TestLogisticConverged(t *testing.T) {
	x, labels := sample(8, 500, 3, 4)
	early := &Logistic{}
	for iterations := 1; !early.Converged && iterations < 100; iterations++ {
		m := must.Get(FitLogistic(ctx, x, 3, labels, 1, iterations))(t)
		early = m
	}
	late, err := FitLogistic(ctx, x, 3, labels, 1, 1000)
	if err != nil || !early.Converged || !late.Converged || !slices.Equal(early.weights, late.weights) {
		t.Errorf("%+v, later %+v, %v", early, late, err)
	}
}

// Regressions of a path equal separate fits.
func TestLogisticPath(t *testing.T) {
	x, labels := sample(8, 500, 3, 4)
	in := must.Get(NewInputs(x, 3))(t)
	cs := []float64{1e-3, 0.1, 10}
	path, err := in.Path(ctx, labels, cs, 1000)
	if err != nil || len(path) != 3 {
		t.Fatal(path, err)
	}
	p, q := make([]float64, 4), make([]float64, 4)
	for i, c := range cs {
		alone := must.Get(in.Fit(ctx, labels, c, 1000))(t)
		for row := range 500 {
			path[i].Probabilities(x[3*row:3*row+3], p)
			alone.Probabilities(x[3*row:3*row+3], q)
			for k := range p {
				if !(math.Abs(p[k]-q[k]) <= 1e-3) {
					t.Fatalf("c %v, row %d: %v and %v", c, row, p, q)
				}
			}
		}
	}
}

// For inputs -1 and 1, twice each, and a label for each value, the weight solves w = 4/(1 + e^w).
func TestLogisticByHand(t *testing.T) {
	x, labels := []float64{-1, -1, 1, 1}, []int{0, 0, 5, 5}
	m := must.Get(FitLogistic(ctx, x, 1, labels, 1, 100))(t)
	low, high := 0.0, 10.0
	for range 100 {
		if w := (low + high) / 2; w < 4/(1+math.Exp(w)) {
			low = w
		} else {
			high = w
		}
	}
	if !(math.Abs(m.weights[0]-low) <= 2e-4) || !(math.Abs(m.weights[1]) <= 1e-4) {
		t.Errorf("weights %v, want %v and 0", m.weights, low)
	}
	p := make([]float64, 2)
	if m.Probabilities([]float64{1}, p); !(math.Abs(p[1]-1/(1+math.Exp(-low))) <= 1e-4) || !(math.Abs(p[0]+p[1]-1) <= 1e-12) {
		t.Errorf("probabilities %v", p)
	}
	if a, b := m.Predict([]float64{-2}, p), m.Predict([]float64{3}, p); a != 0 || b != 5 {
		t.Errorf("labels %d and %d", a, b)
	}
	one, err := FitLogistic(ctx, x, 1, []int{4, 4, 4, 4}, 1, 100)
	if err != nil || one.Predict([]float64{1}, p) != 4 {
		t.Errorf("one class: %v", err)
	}
	if _, err := FitLogistic(ctx, x, 2, labels, 1, 100); err == nil {
		t.Error("too few inputs: no error")
	}
	for _, size := range []float64{1e300, 1e-300} { // one has no penalty, the other may be ignored
		m, err := FitLogistic(ctx, []float64{-size, -size, size, size}, 1, labels, 1, 100)
		if err != nil || m.Predict([]float64{size}, p) != 5 && size > 1 {
			t.Errorf("inputs of %v: %+v, %v", size, m, err)
		}
	}
}

func TestLogisticThreads(t *testing.T) {
	x, labels := sample(5, 400, 3, 4)
	before := runtime.GOMAXPROCS(1)
	defer runtime.GOMAXPROCS(before)
	a, err := FitLogistic(ctx, x, 3, labels, 1, 50)
	runtime.GOMAXPROCS(3)
	b, again := FitLogistic(ctx, x, 3, labels, 1, 50)
	if err != nil || again != nil || !slices.Equal(a.weights, b.weights) {
		t.Errorf("%v %v, %v %v", a, err, b, again)
	}
}

// For equal logits, the first label wins.
func TestLogisticTies(t *testing.T) {
	for _, c := range []struct {
		weights []float64 // only intercepts
		want    int
	}{{[]float64{1}, 5}, {[]float64{0}, 3}, {[]float64{0, 0, 0}, 3}, {[]float64{0, 1, 1}, 5}, {[]float64{-2, -1, 0}, 9}, {nil, 3}} {
		m := &Logistic{Classes: []int{3, 5, 9}[:min(3, len(c.weights)+1)], outputs: len(c.weights), weights: c.weights}
		must.Equal(t, m.Predict(nil, make([]float64, 3)), c.want, c.weights, "label")
	}
}
