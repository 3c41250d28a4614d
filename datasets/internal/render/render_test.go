package render_test

import (
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"
	"os"
	"testing"

	. "github.com/unravel-ml/unravel/datasets/internal/render"
	"github.com/unravel-ml/unravel/internal/must"
)

// ball returns a sphere of radius 1 with flat triangles, rings from pole to pole.
func ball(rings int) *Mesh {
	m := &Mesh{}
	for i := range rings + 1 {
		sin, cos := Sincos(math.Pi * float64(i) / float64(rings))
		for j := range 2 * rings {
			s, c := Sincos(math.Pi * float64(j) / float64(rings))
			m.Vertices = append(m.Vertices, [3]float64{sin * s, cos, sin * c})
		}
	}
	for i := range rings {
		for j := range 2 * rings {
			a, b := int32(2*rings*i+j), int32(2*rings*i+(j+1)%(2*rings))
			down := int32(2 * rings)
			m.Triangles = append(m.Triangles, [3]int32{a, a + down, b}, [3]int32{b, a + down, b + down})
		}
	}
	return m
}

func renderer(t testing.TB, size, samples int) *Renderer {
	t.Helper()
	return must.Get(NewRenderer(size, size, samples))(t)
}

func draw(t testing.TB, s *Scene, size, samples int) []uint8 {
	t.Helper()
	must.OK(t, s.Check())
	dst := make([]uint8, 3*size*size)
	renderer(t, size, samples).Draw(s, dst)
	return dst
}

// save writes a picture for inspection if UNRAVEL_PICTURES names a folder.
func save(t testing.TB, name string, picture []uint8, size int) {
	folder := os.Getenv("UNRAVEL_PICTURES")
	if folder == "" {
		return
	}
	m := image.NewRGBA(image.Rect(0, 0, size, size))
	for i := range size * size {
		m.Set(i%size, i/size, color.RGBA{picture[3*i], picture[3*i+1], picture[3*i+2], 255})
	}
	f := must.Get(os.Create(folder + "/" + name + ".png"))(t)
	defer f.Close()
	must.OK(t, png.Encode(f, m))
}

// lamp returns a light from a direction, with strength 1 minus the ambient light.
func lamp(direction [3]float64, ambient float64) []Light {
	return []Light{{Direction: direction, Colour: [3]float64{1 - ambient, 1 - ambient, 1 - ambient}}}
}

func TestBallAgainstSphere(t *testing.T) {
	const size, samples = 128, 4
	l := [3]float64{0.3, 0.5, 0.8}
	length := math.Sqrt(l[0]*l[0] + l[1]*l[1] + l[2]*l[2])
	s := &Scene{
		Parts:  []Part{{Mesh: ball(100).Smooth(60), Colour: white, Scale: 0.9}},
		Camera: Camera{Half: 1}, Lights: lamp(l, 0.3), Ambient: 0.3,
	}
	got := draw(t, s, size, samples)
	save(t, "ball", got, size)
	for i := range size * size {
		x, y := (float64(i%size)+0.5)/size*2-1, 1-(float64(i/size)+0.5)/size*2
		q := (0.81 - x*x - y*y) / 0.81
		if q < 0.1 {
			continue
		}
		n := [3]float64{x / 0.9, y / 0.9, math.Sqrt(q)}
		want := 255 * (0.3 + 0.7*max(0, (n[0]*l[0]+n[1]*l[1]+n[2]*l[2])/length))
		if !(math.Abs(want-float64(got[3*i])) <= 1.5) {
			t.Fatalf("pixel %d,%d is %d, want %.2f", i%size, i/size, got[3*i], want)
		}
	}
}

// rings returns the number of rings for a ball of about n triangles.
func rings(n int) int { return int(math.Round(math.Sqrt(float64(n) / 4))) }

func BenchmarkDraw(b *testing.B) {
	for _, n := range []int{100, 1000, 10000, 100000} {
		for _, samples := range []int{1, 4} {
			b.Run(fmt.Sprintf("triangles=%d/samples=%d", n, samples), func(b *testing.B) {
				s := &Scene{
					Parts:  []Part{{Mesh: ball(rings(n)).Smooth(60), Colour: [3]float64{1, 0.5, 0.2}, Scale: 0.9}},
					Lights: lamp([3]float64{0.3, 0.5, 0.8}, 0.3), Ambient: 0.3,
				}
				r, dst := renderer(b, 64, samples), make([]uint8, 3*64*64)
				b.ReportAllocs()
				for b.Loop() {
					r.Draw(s, dst)
				}
			})
		}
	}
}
