package linear

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
)

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

// The gradient is that of the objective, and vanishes at the fit.
func TestLogisticGradient(t *testing.T) {
	for _, classes := range []int{2, 3, 7} {
		x, labels := sample(uint64(classes), 150, 4, classes)
		m, err := FitLogistic(x, 4, labels, 0.7, 1000)
		if err != nil || !m.Converged || len(m.Classes) != classes {
			t.Fatalf("%+v, %v", m, err)
		}
		f, err := newLogisticLoss(m, x, labels, 0.7)
		if err != nil {
			t.Fatal(err)
		}
		g := make([]float64, len(m.weights))
		least := f.at(m.weights, g)
		for i := range g {
			if math.Abs(g[i]) > 2e-3 {
				t.Errorf("%d classes: gradient %v", classes, g)
			}
		}
		r := rand.New(rand.NewPCG(1, 1))
		w := slices.Clone(m.weights)
		for i := range w {
			w[i] += 0.01 * r.NormFloat64() / math.Pow(4, float64(i/m.outputs%4))
		}
		if v := f.at(w, g); v <= least {
			t.Errorf("%d classes: %v near the least, %v", classes, v, least)
		}
		unused := make([]float64, len(w))
		for i := range w {
			const h = 1e-5
			at := w[i]
			w[i] = at + h
			up := f.at(w, unused)
			w[i] = at - h
			down := f.at(w, unused)
			if w[i] = at; math.Abs((up-down)/(2*h)-g[i]) > 1e-4*(1+math.Abs(g[i])) {
				t.Errorf("%d classes, weight %d: slope %v, want %v", classes, i, g[i], (up-down)/(2*h))
			}
		}
	}
}

// The weight of two inputs -1 and 1, twice each, with labels of their own solves
// w = 4/(1 + e^w).
func TestLogisticByHand(t *testing.T) {
	x, labels := []float64{-1, -1, 1, 1}, []int{0, 0, 5, 5}
	m, err := FitLogistic(x, 1, labels, 1, 100)
	if err != nil {
		t.Fatal(err)
	}
	low, high := 0.0, 10.0
	for range 100 {
		if w := (low + high) / 2; w < 4/(1+math.Exp(w)) {
			low = w
		} else {
			high = w
		}
	}
	if math.Abs(m.weights[0]-low) > 2e-4 || math.Abs(m.weights[1]) > 1e-4 {
		t.Errorf("weights %v, want %v and 0", m.weights, low)
	}
	p := make([]float64, 2)
	if m.Probabilities([]float64{1}, p); math.Abs(p[1]-1/(1+math.Exp(-low))) > 1e-4 || math.Abs(p[0]+p[1]-1) > 1e-12 {
		t.Errorf("probabilities %v", p)
	}
	if a, b := m.Predict([]float64{-2}, p), m.Predict([]float64{3}, p); a != 0 || b != 5 {
		t.Errorf("labels %d and %d", a, b)
	}
	one, err := FitLogistic(x, 1, []int{4, 4, 4, 4}, 1, 100)
	if err != nil || one.Predict([]float64{1}, p) != 4 {
		t.Errorf("one class: %v", err)
	}
	if _, err := FitLogistic(x, 2, labels, 1, 100); err == nil {
		t.Error("too few inputs: no error")
	}
	if _, err := FitLogistic([]float64{1e200, -1e200, 0, 1}, 1, labels, 1, 100); err == nil {
		t.Error("huge inputs: no error")
	}
}

func TestLogisticThreads(t *testing.T) {
	x, labels := sample(5, 400, 3, 4)
	before := runtime.GOMAXPROCS(1)
	defer runtime.GOMAXPROCS(before)
	a, err := FitLogistic(x, 3, labels, 1, 50)
	runtime.GOMAXPROCS(3)
	b, again := FitLogistic(x, 3, labels, 1, 50)
	if err != nil || again != nil || !slices.Equal(a.weights, b.weights) {
		t.Errorf("%v %v, %v %v", a, err, b, again)
	}
}
