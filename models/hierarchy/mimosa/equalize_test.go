package mimosa

import (
	"math"
	"slices"
	"testing"

	"github.com/unravel-ml/unravel/graph/rng"
)

// Equalising raises the standard deviations along principal axes to a power.
func TestEqualized(t *testing.T) {
	s := rng.New(4, "equalize")
	const d = 3
	codes := cloud(s, 4000, []float64{5, -3, 0}, []float64{9, 1, 0.1})
	for i := 0; i < len(codes); i += d { // the axes are not the columns
		x, y := codes[i], codes[i+1]
		codes[i], codes[i+1] = 0.6*x-0.8*y, 0.8*x+0.6*y
	}
	if &equalizeAxes(codes, d, 0)[0] != &codes[0] {
		t.Error("without a power codes are not copied")
	}
	deviations := func(points []float64) (list [d]float64) {
		p := Principal(points, d)
		total := 0.0
		for i := 0; i < len(points); i += d {
			for c := range d {
				total += (points[i+c] - p.Mean[c]) * (points[i+c] - p.Mean[c])
			}
		}
		for a, r := range p.Ratios {
			list[a] = math.Sqrt(r * total / float64(len(points)/d))
		}
		return list
	}
	before := deviations(codes)
	kept := slices.Clone(codes)
	for _, power := range []float64{0.5, 1} {
		after := deviations(equalizeAxes(codes, d, power))
		for a := range d {
			if want := before[0] * math.Pow(before[a]/before[0], 1-power); !(math.Abs(after[a]-want) <= 1e-9*want) {
				t.Errorf("power %v: axis %d has %v, want %v", power, a, after[a], want)
			}
		}
	}
	if !slices.Equal(codes, kept) {
		t.Error("the codes have changed")
	}
}

// Axes without variance, up to rounding, are not scaled.
func TestEqualizedFlat(t *testing.T) {
	codes := cloud(rng.New(5, "equalize"), 500, []float64{0, 0, 0}, []float64{1, 0.5, 0})
	for i := 2; i < len(codes); i += 3 {
		codes[i] = 1e-9 * float64(i%2)
	}
	out := equalizeAxes(codes, 3, 1)
	for i := 2; i < len(out); i += 3 {
		if !(math.Abs(out[i]) <= 1e-9) {
			t.Fatalf("row %d: %v", i/3, out[i-2:i+1])
		}
	}
}

// A thin box looks like a plane unless all axes count.
func TestEqualizeFindsThinDimensions(t *testing.T) {
	s := rng.New(6, "equalize")
	codes := slices.Concat(cloud(s, 6000, []float64{0, 0, 0}, []float64{1, 1, 0.03}), cloud(s, 3000, []float64{0, 0, 0}, []float64{1, 1, 0}))
	o := quick()
	plain := learn(t, codes, 3, o)
	o.Equalize = 1
	equal := learn(t, codes, 3, o)
	if want := parse(t, `[`+c+`,`+c+`,`+cat(`[]`, `[`+c+`]`)+`]`); plain.Hierarchy.Equal(want) || !equal.Hierarchy.Equal(want) {
		t.Errorf("plain %s\nequal %s", plain.Hierarchy, equal.Hierarchy)
	}
	if !(equal.Coverage >= 0.9) {
		t.Errorf("coverage %v", equal.Coverage)
	}
}
