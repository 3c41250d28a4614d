package augment

import (
	"testing"

	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/must"
)

// Every operation either supports images of any size and number of channels, or returns an error.
func TestShapes(t *testing.T) {
	s := rng.New(3, "shapes")
	grey := func() *Jitter { return &Jitter{Chance: Chance{1}, Brightness: 0.4, Contrast: 0.4} }
	crop := NewCrop()
	for _, tt := range []struct {
		name    string
		op      Op
		refused func(h, w, c int) bool
	}{
		{"flip", &Flip{Chance{1}}, nil},
		{"solarise", &Solarise{Chance{1}, 0.5}, nil},
		{"jitter", NewJitter(), func(_, _, c int) bool { return c != 1 && c != 3 }},
		{"jitter without colour", grey(), nil},
		{"grayscale", &Grayscale{Chance{1}}, func(_, _, c int) bool { return c != 1 && c != 3 }},
		{"blur", &Blur{Chance{1}, 7, [2]float64{1, 2}}, func(h, w, _ int) bool { return h == 2 || h == 3 }},
		{"crop", crop, func(h, w, _ int) bool { return h > 1 && w > 1 && max(h, w) > 3*min(h, w) }},
		{"normalise", &Normalise{Mean: []float64{0.5}, Deviation: []float64{0.5}}, nil},
	} {
		for _, shape := range [][2]int{{1, 1}, {1, 16}, {1, 255}, {33, 1}, {2, 2}, {3, 4}, {16, 16}, {17, 31}, {16, 256}, {100, 20}, {256, 255}} {
			for _, c := range []int{1, 2, 3, 4, 5, 16} {
				h, w := shape[0], shape[1]
				p := Pipeline{{Name: tt.name, Value: tt.op}}
				refused := p.Suits(h, w, c) != nil
				must.Equal(t, refused, tt.refused != nil && tt.refused(h, w, c), tt.name, h, w, c, "refused")
				if refused {
					continue
				}
				src, dst := make([]float32, h*w*c), make([]float32, h*w*c)
				for i := range src {
					src[i] = s.Float32()
				}
				for range 3 {
					p.Apply(dst, src, h, w, c, s)
					for i, v := range dst {
						if tt.name == "normalise" {
							v = v*0.5 + 0.5
						}
						if !(v >= 0 && v <= 1) {
							t.Fatalf("%s of %d x %d x %d: number %d is %v", tt.name, h, w, c, i, v)
						}
					}
				}
			}
		}
	}
}

// A crop of a sequence is an interval of it. A column with the same values gives the same crop, and the same blur.
func TestSequences(t *testing.T) {
	const n = 40
	src, row, column := make([]float32, n), make([]float32, n), make([]float32, n)
	for i := range src {
		src[i] = float32(i) / n
	}
	least, most := float32(1), float32(0)
	for _, o := range []Op{NewCrop(), &Blur{Chance{1}, 5, [2]float64{1, 2}}} {
		for seed := range uint64(20) {
			p := Pipeline{{Value: o}}
			p.Apply(row, src, 1, n, 1, rng.New(seed, "sequence"))
			p.Apply(column, src, n, 1, 1, rng.New(seed, "sequence"))
			for i := range row {
				if d := row[i] - column[i]; !(d <= 1e-6) || d < -1e-6 {
					t.Fatalf("%T: number %d is %v of the row and %v of the column", o, i, row[i], column[i])
				}
			}
			if _, is := o.(*Crop); !is {
				continue
			}
			step := row[n/2] - row[n/2-1] // a flatter ramp
			least, most = min(least, step), max(most, step)
			if !(step >= 0.59/n && step <= 1.001/n) || !(row[n-1]-row[0] >= 0.55) {
				t.Errorf("seed %d: crop rises by %v a number, from %v to %v", seed, step, row[0], row[n-1])
			}
		}
	}
	if !(least <= 0.65/n && most >= 0.95/n) {
		t.Errorf("crops rise by %v to %v a number; want 0.6 to 1 over %d", least, most, n)
	}
}
