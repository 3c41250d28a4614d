package drawn_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/datasets"
	. "github.com/unravel-ml/unravel/datasets/drawn"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/datasets/internal/datatest"
	"github.com/unravel-ml/unravel/internal/must"
)

// picture draws an image with one character per pixel.
func picture(d datasets.Dataset, i int) string {
	h, w, c := d.ImageShape()
	pixels := make([]float32, h*w*c)
	d.Image(i, pixels)
	var b strings.Builder
	for p := 0; p < len(pixels); p += c {
		if p > 0 && p/c%w == 0 {
			b.WriteByte('/')
		}
		b.WriteByte(".#"[int(pixels[p])])
	}
	return b.String()
}

func TestSquarePictures(t *testing.T) {
	tests := []struct {
		set  Square
		i    int
		want string
	}{
		{Square{4, 2, 1}, 0, "##../##../..../...."},
		{Square{4, 2, 1}, 1, ".##./.##./..../...."},
		{Square{4, 2, 1}, 3, "#..#/#..#/..../...."},
		{Square{4, 2, 1}, 4, "..../##../##../...."},
		{Square{4, 2, 1}, 13, ".##./..../..../.##."},
		{Square{4, 2, 1}, 15, "#..#/..../..../#..#"},
		{Square{4, 3, 2}, 3, "#.##/..../#.##/#.##"},
		{Square{3, 1, 1}, 5, ".../..#/..."},
		{Square{6, 2, 3}, 2, "....../....../....../##..../##..../......"},
	}
	for _, test := range tests {
		must.Equal(t, picture(datatest.Build(t, &test.set), test.i), test.want, test.set, "image", test.i)
	}
}

func TestSquareFacts(t *testing.T) {
	d := datatest.Build(t, &Square{Size: 64, Side: 16, Step: 1})
	if h, w, c := d.ImageShape(); h != 64 || w != 64 || c != 1 || d.Len() != 4096 {
		t.Errorf("shape %d %d %d, %d images", h, w, c, d.Len())
	}
	pixels, levels := make([]float32, 64*64), make([]int, 2)
	for i := 0; i < d.Len(); i += 97 {
		d.Image(i, pixels)
		d.FactorsAt(i, levels)
		var sum float32
		for _, v := range pixels {
			sum += v
		}
		if sum != 256 || pixels[levels[0]*64+levels[1]] != 1 {
			t.Errorf("image %d: sum %v", i, sum)
		}
	}
}

// arrows renders images of the default arrow by hue and rotation.
func arrows(t *testing.T) func(hue, rotation int) []float32 {
	t.Helper()
	d := datatest.Build(t, &Arrow{Size: 64, Hues: 64, Rotations: 64})
	return func(hue, rotation int) []float32 {
		p := make([]float32, 64*64*3)
		d.Image(hue*64+rotation, p)
		return p
	}
}

func distance(a, b []float32) (sum float64) {
	for i := range a {
		sum += float64(a[i]-b[i]) * float64(a[i]-b[i])
	}
	return sum
}

func TestArrowTurns(t *testing.T) {
	at := arrows(t)
	var all [][]float32
	for r := range 64 {
		all = append(all, at(0, r))
	}
	least := math.Inf(1)
	for r := range all {
		for q := range r {
			least = min(least, distance(all[r], all[q]))
		}
	}
	if !(least >= 10) {
		t.Errorf("two rotations are only %v apart", least)
	}
	red := func(image []float32, row, col int) float64 { return float64(image[(row*64+col)*3]) }
	const sample = 1.0 / 64 // rounding may put a sub-pixel on either side of an edge
	for row := range 64 {
		for col := range 64 {
			for _, r := range []int{0, 7, 40} { // a quarter turn counter-clockwise permutes pixels
				if x, y := red(all[r], row, col), red(all[(r+16)%64], 63-col, row); !(math.Abs(x-y) <= 1e-6+sample) {
					t.Fatalf("rotation %d, pixel %d %d: %v, a quarter turn on %v", r, row, col, x, y)
				}
			}
			// the top-bottom mirror image of rotation r is rotation -r
			if x, y := red(all[9], row, col), red(all[55], 63-row, col); !(math.Abs(x-y) <= 1e-6+sample) {
				t.Fatalf("pixel %d %d: %v and %v in the mirror", row, col, x, y)
			}
		}
	}
	if right, left := red(all[0], 32, 56), red(all[0], 32, 2); right != 1 || left != 0 {
		t.Errorf("rotation 0 does not point right: %v, %v", right, left)
	}
	for _, p := range []int{0, 63, 64 * 63, 64*64 - 1} {
		must.Equal(t, all[8][3*p], 0, "corner pixel", p, "black")
	}
}

func TestArrowHues(t *testing.T) {
	at := arrows(t)
	for h := range 64 {
		if !(distance(at(h, 5), at((h+1)%64, 5)) >= 1) {
			t.Errorf("hues %d and %d look the same", h, h+1)
		}
	}
	red, blue := at(0, 3), at(43, 3) // hue 43/64 is near blue, 2/3
	for p := 0; p < len(red); p += 3 {
		if !(red[p] >= red[p+1]) || red[p+1] != red[p+2] {
			t.Fatalf("hue 0: pixel %v", red[p:p+3])
		}
		if !(blue[p+2] >= blue[p] && blue[p+2] >= blue[p+1]) {
			t.Fatalf("hue 43/64: pixel %v", blue[p:p+3])
		}
		// the hue keeps saturation and value: the largest and the smallest channel
		for _, f := range []func([]float32) float32{slices.Max[[]float32], slices.Min[[]float32]} {
			if x, y := f(red[p:p+3]), f(blue[p:p+3]); !(math.Abs(float64(x-y)) <= 1e-6) {
				t.Fatalf("%v at hue 0, %v at hue 43/64", red[p:p+3], blue[p:p+3])
			}
		}
	}
}

func TestSettings(t *testing.T) {
	tests := []struct {
		set  datasets.Builder
		want string
	}{
		{&Square{Size: 64, Side: 64, Step: 1}, "side: 64 is out of range; want 1 to 63"},
		{&Square{Size: 64, Side: 0, Step: 1}, "side: 0 is out of range"},
		{&Square{Size: 1, Side: 1, Step: 1}, "size: 1 is out of range"},
		{&Square{Size: 64, Side: 16, Step: 3}, "step: 3 does not fit"},
		{&Square{Size: 64, Side: 16}, "step: 0 does not fit"},
		{&Flatland{Period: 17, Radius: 15, Size: 64, Samples: 4}, "period: 17 does not fit; want 2 to 16"},
		{&Flatland{Period: 2, Radius: 30, Size: 64, Samples: 4}, "radius: 30 is out of range; want 1 to 29"},
		{&Flatland{Period: 10, Radius: 15, Size: 64}, "samples: 0 is out of range"},
		{&Arrow{Size: 4, Hues: 8, Rotations: 8}, "size: 4"},
		{&Arrow{Size: 64, Hues: 1, Rotations: 8}, "hues: 1"},
		{&Arrow{Size: 64, Hues: 8}, "rotations: 0"},
		{&Arrow{Size: 1024, Hues: 8, Rotations: 4096}, "too much memory"},
	}
	for _, test := range tests {
		must.ErrorOf(test.set.Build(0))(t, test.want, test.set)
	}
}

func TestGridNumbering(t *testing.T) {
	g := factor.Grid{{Name: "a", Size: 2}, {Name: "b", Size: 3}, {Name: "c", Size: 4}}
	levels := make([]int, 3)
	for i := range g.Len() {
		g.At(i, levels)
		if want := []int{i / 12, i / 4 % 3, i % 4}; !slices.Equal(levels, want) || g.Index(levels) != i {
			t.Errorf("item %d: %v", i, levels)
		}
	}
	must.Equal(t, factor.Describe(g, []int{1, 0, 2}), "a 1, b 0, c 2")
	for _, k := range []factor.Kind{factor.Circular, factor.Ordinal, factor.Categorical} {
		must.Equal(t, must.Get(factor.ParseKind(k.String()))(t), k, k)
	}
	if _, err := factor.ParseKind("round"); err == nil {
		t.Error("kind round is accepted")
	}
}

func TestScaled(t *testing.T) {
	for _, test := range []struct {
		f    factor.Factor
		want []float64
	}{
		{factor.Factor{Size: 5, Kind: factor.Ordinal}, []float64{0, 0.25, 0.5, 0.75, 1}},
		{factor.Factor{Size: 3, Kind: factor.Ordinal, Values: []float64{4, -4, 0}}, []float64{1, 0, 0.5}},
		{factor.Factor{Size: 2, Kind: factor.Ordinal, Values: []float64{4, 4}}, []float64{0, 0}},
		{factor.Factor{Size: 1, Kind: factor.Ordinal}, []float64{0}},
		{factor.Factor{Size: 4, Kind: factor.Circular, Values: []float64{0, 90, 180, 270}}, []float64{0, 0.25, 0.5, 0.75}},
		{factor.Factor{Size: 3, Kind: factor.Categorical, Values: []float64{5, 6, 8}}, []float64{0, 0.5, 1}},
	} {
		for l, want := range test.want {
			must.Equal(t, test.f.Scaled(l), want, test.f, "level", l)
		}
	}
}

func ExampleSquare() {
	d, err := (&Square{Size: 4, Side: 2, Step: 1}).Build(0)
	if err != nil {
		fmt.Println(err)
		return
	}
	pixels, levels := make([]float32, 16), make([]int, 2)
	d.Image(7, pixels)
	d.FactorsAt(7, levels)
	fmt.Println(d.Len(), factor.Describe(d.Factors(), levels))
	for row := range 4 {
		fmt.Println(pixels[4*row : 4*row+4])
	}
	// Output:
	// 16 row 1, column 3
	// [0 0 0 0]
	// [1 0 0 1]
	// [1 0 0 1]
	// [0 0 0 0]
}
