package geometry_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/unravel-ml/unravel/internal/geometry"
	"github.com/unravel-ml/unravel/internal/must"
)

// fit is a map with residuals and with gradients through the map.
type fit interface {
	Through(g, dy, dx []float64)
}

// TestThrough compares gradients of functions of the residuals, through the fitted map, with finite differences.
func TestThrough(t *testing.T) {
	r := rand.New(rand.NewPCG(23, 1))
	fits := map[string]func(x []float64, columns int, y []float64, targets int) (fit, []float64, error){
		"squares": func(x []float64, columns int, y []float64, targets int) (fit, []float64, error) {
			f, err := leastSquares(x, columns, y, targets, 0)
			return f, f.Residuals, err
		},
		"absolute": func(x []float64, columns int, y []float64, targets int) (fit, []float64, error) {
			f, err := leastAbsolute(x, columns, y, targets)
			return f, f.Residuals, err
		},
		"minimax": func(x []float64, columns int, y []float64, targets int) (fit, []float64, error) {
			f, err := minimax(x, columns, y, targets)
			return f, f.Residuals, err
		},
		"joint": func(x []float64, columns int, y []float64, targets int) (fit, []float64, error) {
			f, err := jointMinimax(x, columns, y, targets)
			return f, f.Residuals, err
		},
		"isometry": func(x []float64, columns int, y []float64, targets int) (fit, []float64, error) {
			f := new(geometry.Isometry)
			err := f.Fit(x, columns, y, targets)
			return f, f.Residuals, err
		},
	}
	for name, solve := range fits {
		for c := range 20 {
			columns := 1 + r.IntN(3)
			targets, n := columns+r.IntN(2), 12+r.IntN(10)
			x, y := draw(r, n, columns, 0), draw(r, n, targets, 0)
			g := draw(r, n, targets, 0) // the function is the inner product with g
			at := func() (fit, float64) {
				f, residuals, err := solve(x, columns, y, targets)
				must.OK(t, err)
				sum := 0.0
				for i, v := range residuals {
					sum += g[i] * v
				}
				return f, sum
			}
			dy, dx := make([]float64, len(y)), make([]float64, len(x))
			f, _ := at()
			f.Through(g, dy, dx)
			for what, in := range map[string][2][]float64{"targets": {y, dy}, "points": {x, dx}} {
				i := r.IntN(len(in[0]))
				was := in[0][i]
				slope := func(h float64) float64 {
					in[0][i] = was + h
					_, up := at()
					in[0][i] = was - h
					_, down := at()
					in[0][i] = was
					return (up - down) / (2 * h)
				}
				want, coarse := slope(1e-6), slope(4e-6)
				if math.Abs(want-coarse) > 1e-5*max(1, math.Abs(want)) { // other points determine the map
					continue
				}
				if got := in[1][i]; !(math.Abs(got-want) <= 1e-5*max(1, math.Abs(want))) {
					t.Errorf("%s, case %d: gradient %v in %s, differences give %v", name, c, got, what, want)
				}
			}
		}
	}
}

// TestIsometries tests that a fit recovers an isometry, also for more columns, and that no other isometry is better.
func TestIsometries(t *testing.T) {
	r := rand.New(rand.NewPCG(29, 1))
	for c := range 200 {
		columns, n := 1+r.IntN(5), 1+r.IntN(30)
		targets := columns + r.IntN(3)
		x, y := draw(r, n, columns, c), draw(r, n, targets, c/10)
		t.Run(fmt.Sprintf("case %d, %d x %d to %d", c, n, columns, targets), func(t *testing.T) {
			var f, again geometry.Isometry
			must.OK(t, f.Fit(x, columns, y, targets))
			for i := range columns {
				for j := range columns {
					want, got := 0.0, 0.0
					if i == j {
						want = 1
					}
					for k := range targets {
						got += f.Matrix[i*targets+k] * f.Matrix[j*targets+k]
					}
					if !(math.Abs(got-want) <= 1e-13) {
						t.Fatalf("columns %d and %d have the product %v", i, j, got)
					}
				}
			}
			// The images of the points are the best targets, with distance 0.
			images := make([]float64, n*targets)
			for i := range images {
				images[i] = y[i] - f.Residuals[i]
			}
			if err := again.Fit(x, columns, images, targets); err != nil ||
				!(again.Error <= 1e-17*extent(images, targets)*extent(images, targets)+1e-29*magnitude(images)*magnitude(images)) {
				t.Errorf("%v, error %v of a moved copy of extent %v", err, again.Error, extent(images, targets))
			}
			// A small rotation of the map, in any plane, does not decrease the error.
			for a := range targets {
				for b := range a {
					if gain := f.Error - turnedError(&f, x, columns, y, targets, a, b); !(gain <= 1e-12*f.Error+1e-15*magnitude(y)*extent(y, targets)) {
						t.Errorf("a turn in targets %d and %d gains %v of %v", a, b, gain, f.Error)
					}
				}
			}
		})
	}
	var f geometry.Isometry
	if err := f.Fit(make([]float64, 6), 3, make([]float64, 4), 2); err == nil {
		t.Error("an isometry of 3 columns into 2")
	}
	if err := f.Fit([]float64{1, math.NaN()}, 1, []float64{1, 2}, 1); err == nil {
		t.Error("a point that is not a number")
	}
}

// turnedError is the mean squared error of a map after a rotation around the mean of the targets.
func turnedError(f *geometry.Isometry, x []float64, columns int, y []float64, targets, a, b int) float64 {
	n, sum := len(x)/columns, 0.0
	mean := make([]float64, targets)
	for i, v := range y {
		mean[i%targets] += v / float64(n)
	}
	sin, cos := math.Sincos(1e-3)
	for i := range n {
		image := make([]float64, targets)
		for k := range image {
			image[k] = y[i*targets+k] - f.Residuals[i*targets+k] - mean[k]
		}
		image[a], image[b] = cos*image[a]-sin*image[b], sin*image[a]+cos*image[b]
		for k, v := range image {
			d := y[i*targets+k] - mean[k] - v
			sum += d * d / float64(n)
		}
	}
	return sum
}
