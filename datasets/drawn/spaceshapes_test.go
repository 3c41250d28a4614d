package drawn_test

import (
	"math"
	"testing"

	. "github.com/unravel-ml/unravel/datasets/drawn"
	"github.com/unravel-ml/unravel/datasets/internal/datatest"
	"github.com/unravel-ml/unravel/internal/must"
)

// The pictures equal the pictures of the paper's code, pixel by pixel. At exactly 45 degrees, nearest pixels are ties,
// and a few may differ.
func TestSpaceshapesGolden(t *testing.T) {
	const size = 64 * 64
	images := readArray[uint8](t, "testdata/spaceshapes/images.npy")
	cats, v := readArray[int](t, "testdata/spaceshapes/cats.npy"), readArray[float64](t, "testdata/spaceshapes/factors.npy")
	if len(images) != 20*size {
		t.Fatalf("%d pixels", len(images))
	}
	for i := range 20 {
		got := RenderSpaceshape(cats[2*i]-1, cats[2*i+1] == 2, v[6*i:6*i+6])
		count, sum := 0, 0
		for p, want := range images[i*size : (i+1)*size] {
			if got[p] != want {
				count++
				sum += max(int(got[p])-int(want), int(want)-int(got[p]))
			}
		}
		sharp := cats[2*i] == 3 && v[6*i+4] == 0
		if count > 0 && !sharp || count > 10 || sum > 50 {
			t.Errorf("image %d, %v: %d pixels differ, by %d in all", i, v[6*i:6*i+6], count, sum)
		}
	}
}

func TestSpaceshapesFacts(t *testing.T) {
	d := hierarchical(t, &Spaceshapes{Samples: 600})
	sizes := map[string]int{}
	for _, f := range d.Factors() {
		sizes[f.Name] = f.Size
	}
	if sizes["shape"] != 4 || sizes["jet"] != 3 { // and inactive
		t.Errorf("sizes of factors %v", sizes)
	}
	count := map[[2]int]int{}
	choice, values, pixels := make([]int, 2), make([]float64, 6), make([]float32, 64*64)
	mask := make([]bool, 6)
	for i := range d.Len() {
		d.Choices(i, choice)
		d.Values(i, values)
		count[[2]int(choice)]++
		d.Hierarchy().Masks(choice, mask)
		for j, on := range mask {
			if on != (values[j] > 0) || !(values[j] < 1) {
				t.Fatalf("image %d: %v, active %v", i, values, mask)
			}
		}
		d.Image(i, pixels)
		var sum, x, y float64
		for p, v := range pixels {
			sum, x, y = sum+float64(v), x+float64(v)*float64(p%64), y+float64(v)*float64(p/64)
		}
		x, y = x/sum, y/sum
		if choice[0] == 1 { // the middle of a star is its position
			if !(math.Abs(x-(16+32*values[0])) <= 0.7) || !(math.Abs(y-(48-32*values[1])) <= 0.7) {
				t.Errorf("image %d: a star at %v, %v; its position is %v", i, x, y, values[:2])
			}
		}
		if !(sum >= 30) {
			t.Errorf("image %d: only %v white pixels", i, sum)
		}
	}
	if count[[2]int{0, -1}] != 200 || count[[2]int{1, -1}] != 200 || count[[2]int{2, 0}] != 100 || count[[2]int{2, 1}] != 100 {
		t.Error(count)
	}
}

// A longer jet, a fuller moon and a brighter star have more white.
func TestSpaceshapesGrow(t *testing.T) {
	for shape, at := range []int{2, 3, 5} {
		last := 0
		for n := range 11 {
			v := []float64{0.5, 0.5, 0, 0, 0.5, 0}
			v[at] = float64(n) / 10
			sum := 0
			for _, p := range RenderSpaceshape(shape, true, v) {
				sum += int(p)
			}
			if sum <= last {
				t.Errorf("shape %d: %d at %v, %d before", shape, sum, v[at], last)
			}
			last = sum
		}
	}
}

func TestSpaceshapesBinary(t *testing.T) {
	grey, binary := datatest.Build(t, &Spaceshapes{Samples: 30}), datatest.Build(t, &Spaceshapes{Samples: 30, Binary: true})
	a, b := make([]float32, 64*64), make([]float32, 64*64)
	for i := range 30 {
		grey.Image(i, a)
		binary.Image(i, b)
		for p, v := range a {
			want := float32(0)
			if v > 0.5 {
				want = 1
			}
			if b[p] != want {
				t.Fatalf("image %d: %v becomes %v", i, v, b[p])
			}
		}
	}
}

func TestSpaceshapesAreNotCut(t *testing.T) {
	if !SpaceshapesFit() {
		t.Error("a shape reaches the edge of the square that it is drawn in")
	}
}

func BenchmarkSpaceshapes(b *testing.B) {
	for b.Loop() {
		must.Get((&Spaceshapes{Samples: 6000}).Build(0))(b)
	}
}

func TestWeighted(t *testing.T) {
	for _, c := range []struct {
		sum  int
		edge bool
		want uint8
	}{{0, false, 0}, {15, false, 0}, {16, false, 1}, {32 * 255, false, 255}, {13, true, 0}, {14, true, 1}, {28 * 255, true, 255}} {
		if got := Weighted(c.sum, c.edge); got != c.want {
			t.Errorf("weighted(%d, %v) = %d, want %d", c.sum, c.edge, got, c.want)
		}
	}
}
