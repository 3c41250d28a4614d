package drawn_test

import (
	"fmt"
	"math"
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

func sprites(t testing.TB, antialias bool) datasets.Dataset {
	t.Helper()
	return datatest.Build(t, &Sprites{Scales: 6, Orientations: 40, Positions: 32, Antialias: antialias})
}

// sprite renders the sprite with the given levels.
func sprite(d datasets.Dataset, levels ...int) []float32 {
	pixels := make([]float32, 64*64)
	d.Image(factor.Grid(d.Factors()).Index(levels), pixels)
	return pixels
}

// The order of dSprites: shape 3, scale 6, orientation 40, x 32, y 32.
func TestSpritesFacts(t *testing.T) {
	d := sprites(t, false)
	if h, w, c := d.ImageShape(); h != 64 || w != 64 || c != 1 || d.Len() != 737280 {
		t.Errorf("%d images of %d x %d x %d", d.Len(), h, w, c)
	}
	want := []string{"shape 3 categorical 2", "scale 6 ordinal 1", "orientation 40 circular 6.126", "x 32 ordinal 1", "y 32 ordinal 1"}
	for k, f := range d.Factors() {
		must.Equal(t, fmt.Sprintf("%s %d %v %.4g", f.Name, f.Size, f.Kind, f.Value(f.Size-1)), want[k], "factor", k)
	}
	if f := d.Factors()[1]; f.Value(0) != 0.5 || f.Value(1) != 0.6 || f.Scaled(5) != 1 {
		t.Errorf("%+v", f)
	}
	if v := d.Factors()[2].Values; v[10] != math.Pi/2 {
		t.Errorf("orientation 10 is %v", v[10])
	}
	levels := make([]int, 5)
	d.FactorsAt(737279-1024*5-32, levels)
	must.EqualSlices(t, levels, []int{2, 5, 34, 30, 31}, "levels")
}

func TestSpritesDrawing(t *testing.T) {
	long.NotShort(t)
	area := []float64{4 * 11.2 * 11.2, math.Pi * 15.6 * 9.1, 3.6597 * 12.2 * 12.2} // at scale 1; the heart's area by numerical integration
	for _, antialias := range []bool{false, true} {
		d := sprites(t, antialias)
		tolerance := 0.12 // of the area; a small sprite has about 90 pixels
		if antialias {
			tolerance = 0.013
		}
		for n := range 720 {
			shape, scale, orientation := n/240, n/40%6, n%40
			p := sprite(d, shape, scale, orientation, 31, 0)
			var sum float64
			for _, v := range p {
				if !antialias && v != 0 && v != 1 {
					t.Fatalf("drawing %d has a pixel %v", n, v)
				}
				sum += float64(v)
			}
			s := 0.5 + 0.1*float64(scale)
			if want := area[shape] * s * s; !(math.Abs(sum-want) <= tolerance*want) {
				t.Errorf("antialias %v: drawing %d covers %v pixels, want %v", antialias, n, sum, want)
			}
			if antialias {
				continue
			}
			for at := range 64 { // the outermost pixels are black, so the shape is complete
				if p[at] != 0 || p[63*64+at] != 0 || p[at*64] != 0 || p[at*64+63] != 0 {
					t.Fatalf("drawing %d touches the edge", n)
				}
			}
		}
	}
}

// Sprites with an extent have the area of smaller sprites, at the same positions. At 0.77, the mean pixel equals the
// mean pixel of dSprites. Each shape may have a separate extent.
func TestSpritesExtent(t *testing.T) {
	mean := func(extent float64) float64 {
		d := datatest.Build(t, &Sprites{Scales: 6, Orientations: 40, Positions: 1, Extent: extent})
		sum, pixels := 0.0, make([]float32, 64*64)
		for i := range d.Len() {
			d.Image(i, pixels)
			for _, v := range pixels {
				sum += float64(v)
			}
		}
		return sum / float64(d.Len()*len(pixels))
	}
	whole, half := mean(0), mean(0.5)
	if !(math.Abs(half/whole-0.25) <= 0.01) || mean(1) != whole {
		t.Errorf("the mean pixel is %v, %v of extent 0.5 and %v of extent 1", whole, half, mean(1))
	}
	const dsprites = 0.0425 // the mean pixel of the public file
	if got := mean(0.77); !(math.Abs(got-dsprites) <= 0.0005) {
		t.Errorf("the mean pixel is %v of extent 0.77, want %v", got, dsprites)
	}
	of := func(extents ...float64) []float64 { // the mean pixels of the three shapes
		d := datatest.Build(t, &Sprites{Scales: 1, Orientations: 40, Positions: 1, Extent: 0.8, Extents: extents})
		sums, pixels := make([]float64, 3), make([]float32, 64*64)
		for i := range d.Len() {
			d.Image(i, pixels)
			for _, v := range pixels {
				sums[i/40] += float64(v)
			}
		}
		return sums
	}
	for n, ratio := range of(0.5, 1, 0.75) {
		want := [...]float64{0.25, 1, 0.5625}[n]
		if got := ratio / of()[n]; !(math.Abs(got-want) <= 0.02) {
			t.Errorf("extents 0.5, 1 and 0.75: shape %d has %v of its area, want %v", n, got, want)
		}
	}
	for want, extents := range map[string][]float64{"extents: there are 2; want 3": {1, 1}, "extents.1: 0.1 is out of range; want 0.125": {1, 0.1, 1},
		"extents.2: 1.1": {1, 1, 1.1}, "extents.0: NaN": {math.NaN(), 1, 1}} {
		must.Error(t, (&Sprites{Scales: 1, Orientations: 1, Positions: 1, Extent: 0.8, Extents: extents}).Validate(), want, "extents", extents)
	}
	for _, extent := range []float64{-1, 0.05, 1.1, math.NaN()} {
		must.Error(t, (&Sprites{Scales: 1, Orientations: 1, Positions: 1, Extent: extent}).Validate(), "extent", extent)
	}
}

// The centre of a shape's bounding box moves one pixel right with x, and one pixel down with y.
func TestSpritesMove(t *testing.T) {
	long.NotShort(t)
	d := sprites(t, true)
	stream := rng.New(5, "sprites")
	for range 100 {
		shape, scale, orientation, x, y := stream.IntN(3), stream.IntN(6), stream.IntN(40), stream.IntN(31), stream.IntN(31)
		p := sprite(d, shape, scale, orientation, x, y)
		right, down := sprite(d, shape, scale, orientation, x+1, y), sprite(d, shape, scale, orientation, x, y+1)
		if p[63] != 0 || !slices.Equal(p[:64*64-1], right[1:]) || !slices.Equal(p[:63*64], down[64:]) {
			t.Fatalf("shape %d at %d, %d does not move by a pixel", shape, x, y)
		}
	}
	box := func(p []float32) (top, left, bottom, right int) {
		top, left = 64, 64
		for i, v := range p {
			if v > 0 {
				top, left, bottom, right = min(top, i/64), min(left, i%64), max(bottom, i/64), max(right, i%64)
			}
		}
		return top, left, bottom, right
	}
	for level, middle := range map[int]int{0: 16, 31: 47} {
		if top, left, bottom, right := box(sprite(d, 1, 5, 0, level, level)); top+bottom != 2*middle || left+right != 2*middle {
			t.Errorf("level %d: the ellipse is at %d..%d, %d..%d; want its middle at %d", level, top, bottom, left, right, middle)
		}
	}
}

func TestSpritesTurn(t *testing.T) {
	long.NotShort(t)
	for _, antialias := range []bool{false, true} {
		d := sprites(t, antialias)
		for o := range 40 {
			at := func(shape, orientation int) []float32 { return sprite(d, shape, 4, orientation%40, 16, 16) }
			if !slices.Equal(at(0, o), at(0, o+10)) || slices.Equal(at(0, o), at(0, o+5)) {
				t.Errorf("square at orientation %d", o)
			}
			if !slices.Equal(at(1, o), at(1, o+20)) || slices.Equal(at(1, o), at(1, o+10)) {
				t.Errorf("ellipse at orientation %d", o)
			}
			for other := range o { // 40 different hearts
				if slices.Equal(at(2, o), at(2, other)) {
					t.Errorf("hearts at %d and %d look the same", o, other)
				}
			}
			heart, turned := at(2, o), at(2, o+10) // a quarter turn counter-clockwise
			for row := range 64 {
				for col := range 64 {
					r, c := row-32, col-32 // the centre at position 16
					if r2, c2 := 32-c, 32+r; r2 >= 0 && r2 < 64 && c2 < 64 && heart[row*64+col] != turned[r2*64+c2] {
						t.Fatalf("heart at %d: pixel %d %d does not turn", o, row, col)
					}
				}
			}
		}
		heart := sprite(d, 2, 5, 0, 16, 16)
		across := func(row int) (runs string) { // the colours along a row
			for col := 1; col < 64; col++ {
				if heart[row*64+col] != heart[row*64+col-1] && (runs == "" || heart[row*64+col] == 0 || heart[row*64+col-1] == 0) {
					runs += "#"
				}
			}
			return runs
		}
		if across(20) != "####" || across(30) != "##" || across(47) != "##" || heart[47*64+32] == 0 || heart[47*64+30] != 0 ||
			heart[16*64+32] != 0 {
			t.Errorf("the heart does not stand on its tip: %q %q %q", across(20), across(30), across(47))
		}
	}
}

func TestSpritesGrids(t *testing.T) {
	full, small := sprites(t, false), datatest.Build(t, &Sprites{Scales: 2, Orientations: 4, Positions: 3})
	must.Equal(t, small.Len(), 3*2*4*9, "images")
	for shape := range 3 {
		for scale := range 2 {
			for o := range 4 {
				for x, at := range []int{0, 16, 31} {
					if !slices.Equal(sprite(small, shape, scale, o, x, 0), sprite(full, shape, scale*5, o*10, at, 0)) {
						t.Errorf("shape %d, scale %d, orientation %d, x %d differs", shape, scale, o, x)
					}
				}
			}
		}
	}
	if v := small.Factors()[3].Values; v[0] != 0 || v[1] != 16.0/31 || v[2] != 1 {
		t.Errorf("positions %v", v)
	}
	colour, pixels := datatest.Build(t, &Sprites{Scales: 2, Orientations: 4, Positions: 3, Channels: 3}), make([]float32, 64*64*3)
	for i := range small.Len() {
		colour.Image(i, pixels)
		one := make([]float32, 64*64)
		small.Image(i, one)
		for p, v := range one {
			if pixels[3*p] != v || pixels[3*p+1] != v || pixels[3*p+2] != v {
				t.Fatalf("image %d, pixel %d: %v of %v", i, p, pixels[3*p:3*p+3], v)
			}
		}
	}
	conform(t, colour)
	single := datatest.Build(t, &Sprites{Scales: 1, Orientations: 1, Positions: 1})
	if !slices.Equal(sprite(single, 2, 0, 0, 0, 0), sprite(full, 2, 5, 0, 15, 15)) {
		t.Error("one level of everything is not the largest sprite in the middle")
	}
	conform(t, small)
	conform(t, single)
	for text, want := range map[string]string{
		"dataset: {sprites: {scales: 0}}":                       "scales",
		"dataset: {sprites: {positions: 33}}":                   "33 is out of range; want 1 to 32",
		"dataset: {sprites: {channels: 2}}":                     "channels: 2 is out of range; want 1 or 3, or 0 for 1",
		"dataset: {sprites: {orientations: 0}}":                 "orientations",
		"dataset: {sprites: {scales: 100, orientations: 1000}}": "want 1 to 40, with 100 scales",
	} {
		must.ErrorOf(configtest.Decode(text))(t, want, text)
	}
}

// Build must be fast, so it draws no image for each position.
func TestSpritesBuildFast(t *testing.T) {
	if bytes := allocated(func() { datatest.Build(t, &Sprites{Scales: 1, Orientations: 1, Positions: 32, Antialias: true}) }); bytes > 1<<20 {
		t.Errorf("building 3 drawings at 1024 positions each takes %d bytes", bytes)
	}
}

func ExampleSprites() {
	d, err := (&Sprites{Scales: 1, Orientations: 4, Positions: 1}).Build(0)
	if err != nil {
		fmt.Println(err)
		return
	}
	pixels := make([]float32, 64*64)
	d.Image(8, pixels) // a heart
	for row := 15; row < 48; row += 2 {
		for col := 15; col < 48; col++ {
			fmt.Print(string(".#"[int(pixels[row*64+col])]))
		}
		fmt.Println()
	}
	// Output:
	// .................................
	// .................................
	// .........##...........##.........
	// .....###########.###########.....
	// ....#########################....
	// ...###########################...
	// ...###########################...
	// ...###########################...
	// ...###########################...
	// ....#########################....
	// .....#######################.....
	// ......#####################......
	// ........#################........
	// ..........#############..........
	// ............#########............
	// ...............###...............
	// .................................
}

func BenchmarkSprites(b *testing.B) {
	b.Run("image", func(b *testing.B) {
		d := sprites(b, false)
		pixels, i := make([]float32, 64*64), 0
		for b.Loop() {
			d.Image(i, pixels)
			i = (i + 100003) % 737280
		}
	})
	b.Run("build", func(b *testing.B) {
		for b.Loop() {
			sprites(b, false)
		}
	})
	b.Run("build-antialias", func(b *testing.B) {
		for b.Loop() {
			sprites(b, true)
		}
	})
}
