package augment

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/numeric"
)

// always returns a pipeline of one operation with probability 1.
func always(o Op) Pipeline { return Pipeline{op("op", o)} }

// applied returns a view of an image.
func applied(p Pipeline, src []float32, h, w, c int, s *rng.Stream) []float32 {
	dst := make([]float32, len(src))
	p.Apply(dst, src, h, w, c, s)
	return dst
}

// near compares an image with its definition in double precision.
func near(t *testing.T, name string, got []float32, want []float64) {
	t.Helper()
	for i, v := range want {
		if !(math.Abs(float64(got[i])-v) <= 3e-6*max(1, math.Abs(v))) {
			t.Fatalf("%s: element %d is %v, want %v", name, i, got[i], v)
		}
	}
}

func cut(x float64) float64 { return max(0, min(x, 1)) }

func light(p []float64) float64 { return 0.2989*p[0] + 0.587*p[1] + 0.114*p[2] }

// The four steps of Jitter by their definitions, in double precision.
func brightness(p []float64, f float64) {
	for i := range p {
		p[i] = cut(f * p[i])
	}
}

func contrast(p []float64, f float64) {
	var mean float64
	for i := 0; i < len(p); i += 3 {
		mean += light(p[i:]) / float64(len(p)/3)
	}
	for i := range p {
		p[i] = cut(f*p[i] + (1-f)*mean)
	}
}

func saturation(p []float64, f float64) {
	for i := 0; i < len(p); i += 3 {
		l := light(p[i:])
		for k := range 3 {
			p[i+k] = cut(f*p[i+k] + (1-f)*l)
		}
	}
}

// hue converts to HSV, shifts the hue, and converts back with the six sectors of the colour circle.
func hue(p []float64, shift float64) {
	for i := 0; i < len(p); i += 3 {
		h, s, v := toHSV(p[i], p[i+1], p[i+2])
		h = math.Mod(h+shift+1, 1)
		sector, f := math.Floor(6*h), 6*h-math.Floor(6*h)
		a, b, c := v*(1-s), v*(1-s*f), v*(1-s*(1-f))
		rgb := [6][3]float64{{v, c, a}, {b, v, a}, {a, v, c}, {a, b, v}, {c, a, v}, {v, a, b}}[int(sector)%6]
		copy(p[i:], rgb[:])
	}
}

func toHSV(r, g, b float64) (h, s, v float64) {
	v = max(r, g, b)
	d := v - min(r, g, b)
	if d == 0 {
		return 0, 0, v
	}
	switch v {
	case r:
		h = (g - b) / d
	case g:
		h = 2 + (b-r)/d
	default:
		h = 4 + (r-g)/d
	}
	return math.Mod(h/6+1, 1), d / v, v
}

// colours returns an image with all kinds of colours: random, grey, black, white, pure, and with equal channels.
func colours() []float32 {
	p := noise(24 * 20 * 3)
	copy(p, []float32{0, 0, 0, 1, 1, 1, 0.5, 0.5, 0.5, 1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 1, 0, 0, 1, 1, 1, 0, 1, 0.3, 0.3, 0.7,
		0.7, 0.3, 0.3, 0.3, 0.7, 0.3,
		0.3, 0.7, 0.7, 0.7, 0.3, 0.7, 0.7, 0.7, 0.3, 1e-7, 0, 0, 1, 1, 0.9999999, float32(math.Copysign(0, -1)), 0.6, 0.3})
	return p
}

func TestJitterSteps(t *testing.T) {
	p := colours()
	for step, definition := range []func([]float64, float64){brightness, contrast, saturation, hue} {
		for _, x := range []float64{0.3, 0.5, 3} { // factors from 0.7, 0.5 and 0 on
			if step == 3 {
				x = min(x, 0.5)
			}
			j := &Jitter{Chance: Chance{1}}
			*[]*float64{&j.Brightness, &j.Contrast, &j.Saturation, &j.Hue}[step] = x
			s, same := rng.New(4, "jitter"), rng.New(4, "jitter")
			for range 30 {
				got := applied(always(j), p, 24, 20, 3, s)
				_, factors, shift := drawn(same, j)
				want := numeric.Convert[float64](p)
				definition(want, append(factors, shift)[step])
				near(t, fmt.Sprintf("step %d", step), got, want)
			}
		}
	}
}

// drawn returns the draws of Jitter: whether it happens, the order, the factors and the shift.
func drawn(s *rng.Stream, j *Jitter) (order []int, factors []float64, shift float64) {
	s.Float64()
	order = []int{0, 1, 2, 3}
	for i := 3; i > 0; i-- {
		k := s.IntN(i + 1)
		order[i], order[k] = order[k], order[i]
	}
	for _, x := range []float64{j.Brightness, j.Contrast, j.Saturation} {
		low := max(0, 1-x)
		factors = append(factors, low+s.Float64()*(1+x-low))
	}
	return order, factors, j.Hue * (2*s.Float64() - 1)
}

// All orders are equally frequent, and the steps follow the order. The derivative of the hue is not continuous at
// clipped colours, where rounding can decide, so a few pixels may differ.
func TestJitterOrder(t *testing.T) {
	j, p := NewJitter(), colours()
	s, same := rng.New(5, "jitter"), rng.New(5, "jitter")
	counts := map[string]int{}
	low, high := math.Inf(1), math.Inf(-1)
	for range 2400 {
		got := applied(always(j), p, 24, 20, 3, s)
		order, factors, shift := drawn(same, j)
		counts[fmt.Sprint(order)]++
		low, high = min(low, factors[0], factors[1], factors[2], 1+4*shift), max(high, factors[0], factors[1], factors[2], 1+4*shift)
		want := numeric.Convert[float64](p)
		for _, step := range order {
			[]func([]float64, float64){brightness, contrast, saturation, hue}[step](want, append(slices.Clone(factors), shift)[step])
		}
		differ := 0
		for i, v := range want {
			if !(math.Abs(float64(got[i])-v) <= 1e-5) {
				differ++
			}
		}
		if differ > 6 {
			t.Fatalf("order %v, factors %v, shift %v: %d numbers differ", order, factors, shift, differ)
		}
	}
	must.Equal(t, len(counts), 24, "orders")
	for order, n := range counts {
		if n < 60 || n > 145 { // 100 +- 10
			t.Errorf("order %s came up %d times of 2400", order, n)
		}
	}
	if !(low >= 0.2 && low <= 0.21 && high <= 1.8 && high >= 1.79) {
		t.Errorf("factors from %v to %v, want 0.2 to 1.8", low, high)
	}
}

// In images of one channel, the pixel is the lightness.
func TestJitterGrey(t *testing.T) {
	p := noise(12 * 10)
	j := &Jitter{Chance{1}, 0, 0.5, 0.9, 0.4}
	s, same := rng.New(6, "jitter"), rng.New(6, "jitter")
	got := applied(always(j), p, 12, 10, 1, s)
	_, factors, _ := drawn(same, j)
	var mean float64
	for _, v := range p {
		mean += float64(v) / float64(len(p))
	}
	want := numeric.Convert[float64](p)
	for i := range want {
		want[i] = cut(factors[1]*want[i] + (1-factors[1])*mean)
	}
	near(t, "contrast of a grey image", got, want)
	if !slices.Equal(applied(always(&Grayscale{Chance{1}}), p, 12, 10, 1, s), p) {
		t.Error("a grey image becomes grey")
	}
}

func TestPointwise(t *testing.T) {
	p := colours()
	s := rng.New(1, "point")
	want := numeric.Convert[float64](p)
	for i := 0; i < len(want); i += 3 {
		l := light(want[i:])
		want[i], want[i+1], want[i+2] = l, l, l
	}
	near(t, "grayscale", applied(always(&Grayscale{Chance{1}}), p, 24, 20, 3, s), want)

	want = numeric.Convert[float64](p)
	p[7], want[7] = 0.25, 0.25 // exactly the threshold
	for i, v := range want {
		if v >= 0.25 {
			want[i] = 1 - v
		}
	}
	near(t, "solarise", applied(always(&Solarise{Chance{1}, 0.25}), p, 24, 20, 3, s), want)
	if got := applied(always(&Solarise{Chance{1}, 0}), []float32{0, float32(math.Copysign(0, -1)), 1, -0.5}, 1, 4, 1,
		s); !slices.Equal(got, []float32{1, 1, 0, -0.5}) {
		t.Errorf("solarise from 0 on: %v", got)
	}

	for c := 1; c <= 4; c++ {
		n := &Normalise{Mean: []float64{0.1, 0.2, 0.3, 0.4}[:c], Deviation: []float64{0.5}}
		src := noise(6 * 5 * c)
		want := numeric.Convert[float64](src)
		for i := range want {
			want[i] = (want[i] - n.Mean[i%c]) / 0.5
		}
		near(t, fmt.Sprintf("normalise %d channels", c), applied(always(n), src, 6, 5, c, s), want)
	}
	n := NewNormalise()
	near(t, "ImageNet", applied(always(n), []float32{0.485, 0.456, 0.406, 1, 1, 1}, 1, 2, 3, s),
		[]float64{0, 0, 0, (1 - 0.485) / 0.229, (1 - 0.456) / 0.224, (1 - 0.406) / 0.225})
}

func TestFlip(t *testing.T) {
	for _, shape := range [][3]int{{3, 4, 3}, {2, 5, 3}, {4, 3, 1}, {3, 6, 2}, {2, 3, 4}, {1, 1, 3}} {
		h, w, c := shape[0], shape[1], shape[2]
		src := noise(h * w * c)
		got := applied(always(&Flip{Chance{1}}), src, h, w, c, rng.New(1, "flip"))
		for i, v := range got {
			y, x, k := i/c/w, i/c%w, i%c
			if v != src[(y*w+w-1-x)*c+k] {
				t.Fatalf("%v: pixel %d, %d", shape, y, x)
			}
		}
	}
}

// A blur is the weighted sum over the square, with borders reflected.
func TestBlur(t *testing.T) {
	for _, test := range []struct{ h, w, c, kernel int }{{9, 7, 3, 3}, {4, 5, 1, 7}, {2, 2, 3, 3}, {6, 8, 2, 5},
		{5, 4, 4, 3}, {3, 3, 3, 1}, {40, 33, 3, 63}} {
		b := &Blur{Chance{1}, test.kernel, [2]float64{0.5, 3}}
		src := noise(test.h * test.w * test.c)
		s, same := rng.New(3, "blur"), rng.New(3, "blur")
		must.OK(t, b.Suits(test.h, test.w, test.c))
		got := applied(always(b), src, test.h, test.w, test.c, s)
		same.Float64()
		sigma, r := 0.5+2.5*same.Float64(), test.kernel/2
		want := make([]float64, len(src))
		for i := range want {
			y, x, k := i/test.c/test.w, i/test.c%test.w, i%test.c
			var sum, total float64
			for dy := -r; dy <= r; dy++ {
				for dx := -r; dx <= r; dx++ {
					weight := math.Exp(-float64(dx*dx+dy*dy) / (2 * sigma * sigma))
					total += weight
					sum += weight * float64(src[(reflected(y+dy, test.h)*test.w+reflected(x+dx, test.w))*test.c+k])
				}
			}
			want[i] = sum / total
		}
		near(t, fmt.Sprintf("blur %+v", test), got, want)
	}
	for _, shape := range [][2]int{{3, 9}, {9, 3}} {
		if (&Blur{Kernel: 7}).Suits(shape[0], shape[1], 1) == nil {
			t.Errorf("a kernel of 7 on %v", shape)
		}
	}
}

// reflected returns reflected indices: 2 1 0 1 2 3 2 1.
func reflected(i, n int) int {
	for i < 0 || i >= n {
		if i < 0 {
			i = -i
		} else {
			i = 2*n - 2 - i
		}
	}
	return i
}

// A crop is bilinear between the centres of the crop's pixels.
func TestCrop(t *testing.T) {
	c := &Crop{Chance{1}, [2]float64{0.1, 1}, [2]float64{0.5, 2}}
	for _, shape := range [][3]int{{16, 16, 3}, {9, 20, 3}, {20, 9, 1}, {8, 8, 2}} {
		h, w, channels := shape[0], shape[1], shape[2]
		src := noise(h * w * channels)
		s, same := rng.New(3, "crop"), rng.New(3, "crop")
		for range 50 {
			got := applied(always(c), src, h, w, channels, s)
			same.Float64()
			top, left, ch, cw := c.draw(h, w, same)
			if top < 0 || left < 0 || ch < 1 || cw < 1 || top+ch > h || left+cw > w {
				t.Fatalf("crop of %d x %d at %d, %d from %d x %d", ch, cw, top, left, h, w)
			}
			at := func(y, x, k int) float64 {
				return float64(src[((top+max(0, min(y, ch-1)))*w+left+max(0, min(x, cw-1)))*channels+k])
			}
			want := make([]float64, len(src))
			for i := range want {
				y := (float64(i/channels/w)+0.5)*float64(ch)/float64(h) - 0.5
				x := (float64(i/channels%w)+0.5)*float64(cw)/float64(w) - 0.5
				y0, x0, k := int(math.Floor(y)), int(math.Floor(x)), i%channels
				fy, fx := y-float64(y0), x-float64(x0)
				want[i] = (1-fy)*((1-fx)*at(y0, x0, k)+fx*at(y0, x0+1, k)) + fy*((1-fx)*at(y0+1, x0, k)+fx*at(y0+1, x0+1, k))
			}
			near(t, fmt.Sprintf("crop %d x %d of %v", ch, cw, shape), got, want)
		}
	}
}

// The area is uniform within its limits, the aspect is log-uniform, and all positions are equally likely.
func TestCropDraws(t *testing.T) {
	c, s := NewCrop(), rng.New(9, "crop")
	const n, size = 20000, 1000
	var area, squares, aspect, lowest, highest float64
	lowest, highest = 2, 0
	for range n {
		top, left, h, w := c.draw(size, size, s)
		a, r := float64(h*w)/(size*size), math.Log(float64(w)/float64(h))
		lowest, highest = min(lowest, a), max(highest, a)
		area, squares, aspect = area+a/n, squares+a*a/n, aspect+r/n
		if top+h > size || left+w > size || !(math.Abs(r) <= math.Log(4.0/3)+0.002) {
			t.Fatalf("%d x %d at %d, %d", h, w, top, left)
		}
	}
	if !(lowest >= 0.599 && lowest <= 0.601 && highest <= 1) || !(math.Abs(aspect) <= 0.005) {
		t.Errorf("areas from %v to %v, mean log aspect %v", lowest, highest, aspect)
	}
	// Sizes that do not fit are drawn again: a large area requires an aspect near 1. The mean area is the integral of a
	// p(a), where p(a) is the fraction of aspects permitted by ln(1/a).
	var want, total float64
	for a := 0.60005; a < 1; a += 0.0001 {
		part := min(1, -math.Log(a)/math.Log(4.0/3)) // |ln aspect| <= -ln area
		want, total = want+a*part, total+part
	}
	if want /= total; !(math.Abs(area-want) <= 0.003) {
		t.Errorf("mean area %v, want %v", area, want)
	}

	places := map[[2]int]int{}
	for range n {
		top, left, h, w := (&Crop{Chance{1}, [2]float64{0.25, 0.25}, [2]float64{1, 1}}).draw(4, 4, s)
		if h != 2 || w != 2 {
			t.Fatalf("%d x %d is not a quarter", h, w)
		}
		places[[2]int{top, left}]++
	}
	for place, count := range places {
		if len(places) != 9 || !(math.Abs(float64(count)-n/9) <= 250) { // five standard deviations
			t.Errorf("place %v: %d of %d", place, count, n)
		}
	}
	// If no draw fits, the result is the largest central part.
	for _, test := range []struct{ h, w, top, left, ch, cw int }{{10, 100, 0, 43, 10, 13}, {10, 20, 0, 3, 10, 13},
		{20, 10, 3, 0, 13, 10}, {100, 10, 43, 0, 13, 10}, {10, 11, 0, 0, 10, 11}} {
		top, left, ch, cw := (&Crop{Chance{1}, [2]float64{1, 1}, [2]float64{3.0 / 4, 4.0 / 3}}).draw(test.h, test.w, s)
		if got := [4]int{top, left, ch, cw}; got != [4]int{test.top, test.left, test.ch, test.cw} && test.w != 11 {
			t.Errorf("%+v: %v", test, got)
		}
	}
}

func TestChance(t *testing.T) {
	p, s := Pipeline{op("flip", &Flip{Chance{0.3}})}, rng.New(2, "chance")
	src, flipped := []float32{0, 1}, 0
	for range 10000 {
		if applied(p, src, 1, 2, 1, s)[0] == 1 {
			flipped++
		}
	}
	if flipped < 2770 || flipped > 3230 {
		t.Errorf("flipped %d times of 10000, want 3000", flipped)
	}
	for probability, want := range map[float64]float32{0: 0, 1: 1} {
		for range 1000 {
			if got := applied(Pipeline{op("flip", &Flip{Chance{probability}})}, src, 1, 2, 1, s)[0]; got != want {
				t.Fatalf("probability %v", probability)
			}
		}
	}
}
