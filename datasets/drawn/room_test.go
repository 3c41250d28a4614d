package drawn_test

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"testing"

	"github.com/unravel-ml/unravel/datasets"
	. "github.com/unravel-ml/unravel/datasets/drawn"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/datasets/internal/configtest"
	"github.com/unravel-ml/unravel/datasets/internal/datatest"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
)

func rooms(t testing.TB) datasets.Dataset { return twin(t, "room") }

// roomAt renders the room with the given levels.
func roomAt(d datasets.Dataset, levels ...int) []float32 {
	pixels := make([]float32, 64*64*3)
	d.Image(factor.Grid(d.Factors()).Index(levels), pixels)
	return pixels
}

// The order of 3D Shapes: floor hue 10, wall hue 10, object hue 10, scale 8, shape 4, orientation 15.
func TestRoomFacts(t *testing.T) {
	long.NotShort(t)
	d := rooms(t)
	if h, w, c := d.ImageShape(); h != 64 || w != 64 || c != 3 || d.Len() != 480000 {
		t.Errorf("%d images of %d x %d x %d", d.Len(), h, w, c)
	}
	want := []string{"floor_hue 10 circular 0 0.9", "wall_hue 10 circular 0 0.9", "object_hue 10 circular 0 0.9", "scale 8 ordinal 0.75 1.25",
		"shape 4 categorical 0 3", "orientation 15 ordinal -30 30"}
	for k, f := range d.Factors() {
		if got := fmt.Sprintf("%s %d %v %.4g %.4g", f.Name, f.Size, f.Kind, f.Value(0), f.Value(f.Size-1)); got != want[k] {
			t.Errorf("factor %d: %s, want %s", k, got, want[k])
		}
	}
	if long.Enabled() {
		conform(t, d)
	}
	conform(t, datatest.Build(t, &Room{Hues: 3, Scales: 2, Orientations: 2}))
	single := datatest.Build(t, &Room{Hues: 1, Scales: 1, Orientations: 1})
	if single.Len() != 4 || single.Factors()[3].Value(0) != 1 || single.Factors()[5].Value(0) != 0 {
		t.Errorf("%d images, %+v", single.Len(), single.Factors())
	}
	for text, want := range map[string]string{
		"dataset: {room: {hues: 0}}":                       "want 1 to 100",
		"dataset: {room: {scales: 0}}":                     "scales: 0 is out of range",
		"dataset: {room: {orientations: 2000}}":            "want 1 to 128, with 8 scales",
		"dataset: {room: {scales: 1024, orientations: 2}}": "want 1 to 1, with 1024 scales",
	} {
		must.ErrorOf(configtest.Decode(text))(t, want, text)
	}
}

// A pixel changes with a hue if and only if it shows a surface of that hue, and it is a mean of colours.
func TestRoomHues(t *testing.T) {
	long.NotShort(t)
	d := rooms(t)
	s := rng.New(3, "room")
	for range 200 {
		levels := []int{s.IntN(10), s.IntN(10), s.IntN(10), s.IntN(8), s.IntN(4), s.IntN(15)}
		p := roomAt(d, levels...)
		changed := make([]int, 64*64) // hues that a pixel depends on
		for k := range 3 {
			other := slices.Clone(levels)
			other[k] = (levels[k] + 5) % 10 // the complementary hue
			q, pixels := roomAt(d, other...), 0
			for i := range changed {
				if !slices.Equal(p[3*i:3*i+3], q[3*i:3*i+3]) {
					changed[i]++
					pixels++
				}
			}
			if pixels < 60 {
				t.Fatalf("levels %v: factor %d changes %d pixels", levels, k, pixels)
			}
		}
		mixed := 0
		for i, n := range changed {
			if n == 0 {
				t.Fatalf("levels %v: pixel %d depends on no hue", levels, i)
			}
			if n > 1 {
				mixed++
			}
		}
		if mixed < 40 || mixed > 500 {
			t.Errorf("levels %v: %d pixels show several surfaces", levels, mixed)
		}
	}
}

// objectBox counts the pixels of the object, and returns their bounding box.
func objectBox(d datasets.Dataset, scale, shape, orientation int) (pixels float64, top, left, bottom, right int) {
	a, b := roomAt(d, 0, 0, 0, scale, shape, orientation), roomAt(d, 0, 0, 5, scale, shape, orientation)
	top, left = 64, 64
	for i := range 64 * 64 {
		if x := math.Abs(float64(a[3*i] - b[3*i])); x > 0 {
			pixels++
			top, left, bottom, right = min(top, i/64), min(left, i%64), max(bottom, i/64), max(right, i%64)
		}
	}
	return pixels, top, left, bottom, right
}

func TestRoomObjects(t *testing.T) {
	long.NotShort(t)
	d := rooms(t)
	for shape := range 4 {
		for orientation := range 15 {
			last := 0.0
			for scale := range 8 {
				n, top, left, bottom, right := objectBox(d, scale, shape, orientation)
				if top < 1 || left < 1 || bottom > 62 || right > 62 {
					t.Errorf("shape %d, scale %d, orientation %d is cut off: %d..%d, %d..%d", shape, scale, orientation, top, bottom, left, right)
				}
				if middle := left + right; shape > 0 && (middle < 62 || middle > 64) {
					t.Errorf("shape %d, scale %d: columns %d to %d are not in the middle", shape, scale, left, right)
				}
				if !(n > last) {
					t.Errorf("shape %d: %v pixels at scale %d, %v at the one before", shape, n, scale, last)
				}
				last = n
			}
		}
	}
	// The parts that rotate: the cube with its outline, and the light on other shapes.
	_, _, left, _, right := objectBox(d, 7, 0, 7)
	if _, _, l, _, r := objectBox(d, 7, 0, 0); r-l >= right-left {
		t.Errorf("the cube is %d wide from its edge, %d from its side", right-left+1, r-l+1)
	}
	for shape := range 4 {
		for o := range 15 {
			for other := range o {
				p, q := roomAt(d, 1, 2, 3, 4, shape, o), roomAt(d, 1, 2, 3, 4, shape, other)
				if !(distance(p, q) >= 1) {
					t.Errorf("shape %d: orientations %d and %d look the same", shape, o, other)
				}
			}
		}
	}
	for shape := range 4 {
		for other := range shape {
			if !(distance(roomAt(d, 1, 2, 3, 4, shape, 7), roomAt(d, 1, 2, 3, 4, other, 7)) >= 5) {
				t.Errorf("shapes %d and %d look the same", shape, other)
			}
		}
	}
}

// Build must be fast, so it draws no image for each hue.
func TestRoomBuildFast(t *testing.T) {
	if bytes := allocated(func() { datatest.Build(t, &Room{Size: 16, Hues: 100, Scales: 1, Orientations: 1}) }); bytes > 1<<20 {
		t.Errorf("building 4 drawings in a million hues each takes %d bytes", bytes)
	}
}

// allocated returns the number of bytes that a function allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func BenchmarkRoom(b *testing.B) {
	b.Run("image", func(b *testing.B) {
		d := rooms(b)
		pixels, i := make([]float32, 64*64*3), 0
		for b.Loop() {
			d.Image(i, pixels)
			i = (i + 100003) % 480000
		}
	})
	b.Run("build", func(b *testing.B) {
		for b.Loop() {
			rooms(b)
		}
	})
}
