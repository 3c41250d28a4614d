package drawn_test

import (
	"math"
	"testing"

	"github.com/unravel-ml/unravel/datasets"
	. "github.com/unravel-ml/unravel/datasets/drawn"
	"github.com/unravel-ml/unravel/datasets/internal/datatest"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
)

// drawnAt returns the drawn data sets with images of a size.
func drawnAt(size int) map[string]datasets.Builder {
	return map[string]datasets.Builder{
		"square":      &Square{Size: size, Side: size / 4, Step: size / 4},
		"arrow":       &Arrow{Size: size, Hues: 2, Rotations: 4},
		"sprites":     &Sprites{Size: size, Scales: 2, Orientations: 3, Positions: 2, Antialias: true},
		"room":        &Room{Size: size, Hues: 2, Scales: 1, Orientations: 2},
		"poses":       &Poses{Object: "vase", Rotations: "octahedral", Hues: 2, Size: size, Camera: "orthographic", Light: [3]float64{0, 0, 1}},
		"spaceshapes": &Spaceshapes{Size: size, Samples: 60},
	}
}

func TestSizes(t *testing.T) {
	long.NotShort(t)
	for _, size := range long.Sample([]int{16, 96, 72}, 2) {
		for name, b := range drawnAt(size) {
			d := datatest.Build(t, b)
			conform(t, d)
			if h, w, _ := d.ImageShape(); h != size || w != size {
				t.Errorf("%s of size %d: images of %d x %d", name, size, h, w)
			}
		}
	}
	for _, size := range long.Sample([]int{17, 129}, 1) { // odd sizes
		for _, b := range []datasets.Builder{
			&Arrow{Size: size, Hues: 2, Rotations: 4}, &Sprites{Size: size, Scales: 2, Orientations: 3, Positions: 2},
			&Room{Size: size, Hues: 2, Scales: 1, Orientations: 1}, &Spaceshapes{Size: size, Samples: 12},
			&Flatland{Period: 2, Radius: size / 4, Size: size, Samples: 2},
		} {
			conform(t, datatest.Build(t, b))
		}
	}
}

// An image of 128 x 128 pixels, averaged over 2 x 2 pixels, equals the image of 64 x 64, except for outlines and a
// shift of half a pixel.
func TestSizesShowTheSame(t *testing.T) {
	long.NotShort(t)
	large := drawnAt(128)
	for name, b := range drawnAt(64) {
		small, big := datatest.Build(t, b), datatest.Build(t, large[name])
		h, w, c := small.ImageShape()
		a, fine := make([]float32, h*w*c), make([]float32, 4*h*w*c)
		for i := range small.Len() {
			small.Image(i, a)
			big.Image(i, fine)
			var apart float64
			for p := range a {
				x, y, k := p/c%w, p/c/w, p%c
				at := (2*y*2*w+2*x)*c + k
				apart += math.Abs(float64(a[p] - (fine[at]+fine[at+c]+fine[at+2*w*c]+fine[at+2*w*c+c])/4))
			}
			if apart /= float64(len(a)); !(apart <= 0.02) {
				t.Errorf("%s: image %d differs by %v on average", name, i, apart)
			}
		}
	}
}

func TestSizeErrors(t *testing.T) {
	for _, tt := range []struct {
		b    datasets.Builder
		want string
	}{
		{&Sprites{Size: 8, Scales: 1, Orientations: 1, Positions: 1}, "size: 8 is out of range; want 16 to 256 pixels"},
		{&Room{Size: 300, Hues: 1, Scales: 1, Orientations: 1}, "size: 300 is out of range; want 16 to 256 pixels"},
		{&Spaceshapes{Size: -1, Samples: 10}, "size: -1 is out of range"},
		{&Sprites{Size: 16, Scales: 1, Orientations: 1, Positions: 32}, "positions: 32 is out of range; want 1 to 8 in images of size 16"},
		{&Sprites{Size: 256, Scales: 100, Orientations: 40, Positions: 1}, "orientations: 100 scales and 40 orientations of 256 x 256 pixels need too much memory; want at most 682"},
		{&Room{Size: 256, Hues: 1, Scales: 32, Orientations: 32}, "orientations: 32 scales and 32 orientations of 256 x 256 pixels need too much memory; want at most 128"},
	} {
		must.ErrorOf(tt.b.Build(0))(t, tt.want, tt.b)
	}
}
