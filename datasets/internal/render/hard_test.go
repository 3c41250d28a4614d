package render_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	. "github.com/unravel-ml/unravel/datasets/internal/render"

	"github.com/unravel-ml/unravel/datasets/factor/rotation"
	"github.com/unravel-ml/unravel/internal/must"
)

var white = [3]float64{1, 1, 1}

// quad is a square of two triangles in the plane z, from -half to half.
func quad(half, z float64) *Mesh {
	return &Mesh{
		Vertices:  [][3]float64{{-half, -half, z}, {half, -half, z}, {half, half, z}, {-half, half, z}},
		Triangles: [][3]int32{{0, 1, 2}, {0, 2, 3}},
	}
}

// silhouette returns a scene of parts that are white for all normals.
func silhouette(c Camera, meshes ...*Mesh) *Scene {
	s := &Scene{Camera: c, Ambient: 1}
	for _, m := range meshes {
		s.Parts = append(s.Parts, Part{Mesh: m, Colour: white})
	}
	return s
}

// TestNoGaps covers the picture with random triangles that share edges, at all sizes down to less than a sample. No
// sample may show the background. With two layers of different colours, no sample may show the layer behind.
func TestNoGaps(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for trial := range 20 {
		n := 3 + 10*trial
		sheet := &Mesh{}
		for i := range n + 1 {
			for j := range n + 1 {
				x, y := 2.4*float64(i)/float64(n)-1.2, 2.4*float64(j)/float64(n)-1.2
				if i > 0 && i < n && j > 0 && j < n {
					x, y = x+0.8*(r.Float64()-0.5)/float64(n), y+0.8*(r.Float64()-0.5)/float64(n)
				}
				sheet.Vertices = append(sheet.Vertices, [3]float64{x, y, 0.1 * r.Float64()})
			}
		}
		at := func(i, j int) int32 { return int32(i*(n+1) + j) }
		for i := range n {
			for j := range n {
				a, b, c, d := at(i, j), at(i+1, j), at(i+1, j+1), at(i, j+1)
				if r.IntN(2) == 0 {
					a, b, c, d = b, c, d, a
				}
				sheet.Triangles = append(sheet.Triangles, [3]int32{a, b, c}, [3]int32{c, a, d}) // both orientations
			}
		}
		s := silhouette(Camera{Half: 1}, sheet, quad(2, -1))
		s.Parts[1].Colour = [3]float64{1, 0, 0}
		if trial%2 == 1 {
			s.Camera = Camera{Eye: [3]float64{0.1, 0.1, 2}, Angle: 0.8}
		}
		for i, v := range draw(t, s, 64, 3) {
			if v != 255 {
				t.Fatalf("trial %d: pixel %d,%d shows what is behind: %d", trial, i/3%64, i/3/64, v)
			}
		}
	}
}

// TestHalfCovered counts the samples of a square with edges between samples.
func TestHalfCovered(t *testing.T) {
	got := draw(t, silhouette(Camera{Half: 1}, quad(0.5, 0)), 16, 4)
	sum := 0
	for _, v := range got {
		sum += int(v)
	}
	if sum != 3*64*255 {
		t.Errorf("a square of 8 x 8 pixels covers %v", float64(sum)/3/255)
	}
}

func TestSphereSilhouette(t *testing.T) {
	for _, c := range []Camera{{Half: 1.05}, {}} {
		const size = 64
		got := draw(t, silhouette(c, ball(200)), size, 8)
		area := 0.0
		for p := 0; p < len(got); p += 3 {
			area += float64(got[p]) / 255
		}
		// Both cameras see the ball at a radius of 1/1.05 of half the picture. The perspective camera sees its
		// tangents.
		want := math.Pi * math.Pow(size/2/1.05, 2)
		if c.Half == 0 {
			want = math.Pi * math.Pow(size/2*(1/math.Sqrt(8))/(0.35/math.Sqrt(1-0.35*0.35)), 2)
		}
		if !(math.Abs(area-want) <= 0.001*want) {
			t.Errorf("camera %+v: area %.2f, want %.2f", c, area, want)
		}
	}
}

// TestQuarterTurn turns a scene about the view axis. The picture turns with it, pixel by pixel.
func TestQuarterTurn(t *testing.T) {
	const size = 48
	for _, c := range []Camera{{}, {Half: 1.1}, {Eye: [3]float64{0, 0, 0.9}, Angle: 1.5}} {
		for _, samples := range []int{1, 3, 4} {
			s := hard(c)
			s.Lights = []Light{{Direction: [3]float64{0, 0, 1}, Colour: white}}
			before := draw(t, s, size, samples)
			for i := range s.Parts {
				p := &s.Parts[i]
				if p.Turn == [9]float64{} {
					p.Turn = Turn([3]float64{0, 0, 1}, 0)
				}
				quarter := Turn([3]float64{0, 0, 1}, math.Pi/2)
				p.Turn = rotation.Product(&quarter, &p.Turn)
				p.Shift = [3]float64{-p.Shift[1], p.Shift[0], p.Shift[2]}
			}
			after := draw(t, s, size, samples)
			different := 0
			for y := range size {
				for x := range size {
					// Counter-clockwise: the right side moves to the top.
					from, to := before[3*(size*y+x):][:3], after[3*(size*(size-1-x)+y):][:3]
					if !slices.Equal(from, to) {
						different++
					}
				}
			}
			if different > 0 {
				t.Errorf("camera %+v, %d samples: %d pixels differ", c, samples, different)
			}
		}
	}
}

// TestDepthTies draws two coloured copies of triangles at equal depth, with permuted corners. The first copy stays
// visible.
func TestDepthTies(t *testing.T) {
	m := shards(100, 3)
	turned := &Mesh{Vertices: m.Vertices}
	for i, c := range m.Triangles {
		turned.Triangles = append(turned.Triangles, [][3]int32{{c[1], c[2], c[0]}, {c[2], c[1], c[0]}, {c[0], c[2], c[1]}}[i%3])
	}
	for first := range 2 {
		s := silhouette(Camera{}, m, turned)
		s.Parts[0].Colour, s.Parts[1].Colour = [3]float64{1, 0, 0}, [3]float64{0, 1, 0}
		if first == 1 {
			s.Parts[0], s.Parts[1] = s.Parts[1], s.Parts[0]
		}
		seen := 0
		got := draw(t, s, 64, 2)
		for p := 0; p < len(got); p += 3 {
			seen += int(got[p+first])
			if got[p+1-first] != 0 {
				t.Fatalf("pixel %d shows the second copy: %v", p/3, got[p:p+3])
			}
		}
		if seen == 0 {
			t.Error("nothing is drawn")
		}
	}
}

// TestNothingToSee draws invisible triangles: without area, off the picture, behind the camera, or with invalid
// numbers.
func TestNothingToSee(t *testing.T) {
	huge, nan, inf := 1e300, math.NaN(), math.Inf(1)
	for name, v := range map[string][][3]float64{
		"a point": {{0, 0, 0}, {0, 0, 0}, {0, 0, 0}}, "a line": {{-1, -1, 0}, {0, 0, 0}, {1, 1, 0}}, "from the side": {{0, -1, 0}, {0, 1, 0}, {0, 0, -1}},
		"right": {{50, 0, 0}, {60, 0, 0}, {50, 1, 0}}, "far right": {{1e12, 0, 0}, {1e13, 0, 0}, {1e12, 1e12, 0}}, "behind": {{-1, -1, 4}, {1, -1, 4}, {0, 1, 4}},
		"in the eye's plane": {{-1, -1, 3}, {1, -1, 3}, {0, 1, 3}}, "not a number": {{nan, 0, 0}, {1, 0, 0}, {0, 1, 0}}, "infinite": {{inf, 0, 0}, {1, 0, 0}, {0, 1, 0}},
		"infinite, behind": {{0, 0, inf}, {1, 0, 0}, {0, 1, 0}}, "overflow": {{huge, huge, 4}, {-huge, huge, 4}, {0, -huge, 4}},
	} {
		m := &Mesh{Vertices: v, Triangles: [][3]int32{{0, 1, 2}}}
		for _, c := range []Camera{{}, {Half: 1}} {
			dst := make([]uint8, 3*32*32)
			renderer(t, 32, 2).Draw(silhouette(c, m), dst)
			if slices.Max(dst) > 0 {
				t.Errorf("%s: camera %+v draws something", name, c)
			}
		}
		if err := m.Check(); (err != nil) != (name == "not a number" || name == "infinite" || name == "infinite, behind") {
			t.Errorf("%s: Check says %v", name, err)
		}
	}
}

// TestThroughTheCamera puts the eye above an endless floor. The lower half of the picture is floor, up to the horizon.
func TestThroughTheCamera(t *testing.T) {
	for _, far := range []float64{1e3, 1e6, 1e12} {
		floor := &Mesh{Vertices: [][3]float64{{-far, -1, far}, {far, -1, far}, {far, -1, -far}, {-far, -1, -far}},
			Triangles: [][3]int32{{0, 1, 2}, {0, 2, 3}}}
		got := draw(t, silhouette(Camera{Angle: 1.4}, floor), 32, 1)
		for p := 0; p < len(got); p += 3 {
			if want := p/3/32 >= 16; (got[p] == 255) != want {
				t.Fatalf("a floor of %g: row %d, column %d is %d", far, p/3/32, p/3%32, got[p])
			}
		}
	}
}

// TestBothSides draws a triangle from both sides. The viewer's side is lit.
func TestBothSides(t *testing.T) {
	for _, m := range []*Mesh{quad(1, 0), {Vertices: quad(1, 0).Vertices, Triangles: [][3]int32{{2, 1, 0}, {0, 2, 3}}}} {
		for _, side := range []float64{1, -1} {
			s := &Scene{Parts: []Part{{Mesh: m, Colour: white}}, Camera: Camera{Eye: [3]float64{0, 0, 3 * side}},
				Lights: []Light{{Direction: [3]float64{0, 0, side}, Colour: white}}}
			if got := draw(t, s, 8, 1); got[3*(8*4+4)] != 255 {
				t.Errorf("side %v: the middle is %d", side, got[3*(8*4+4)])
			}
			s.Lights[0].Direction[2] = -side
			if got := draw(t, s, 8, 1); slices.Max(got) != 0 {
				t.Errorf("side %v: light from behind shows %d", side, slices.Max(got))
			}
		}
	}
}

func TestSmooth(t *testing.T) {
	cube := &Mesh{}
	for i := range 8 {
		cube.Vertices = append(cube.Vertices, [3]float64{float64(2*(i&1) - 1), float64(i&2 - 1), float64(i&4/2 - 1)})
	}
	for _, q := range [][4]int32{{0, 1, 3, 2}, {4, 6, 7, 5}, {0, 4, 5, 1}, {2, 3, 7, 6}, {0, 2, 6, 4}, {1, 3, 7, 5}} { // the last face has the other orientation
		cube.Triangles = append(cube.Triangles, [3]int32{q[0], q[1], q[2]}, [3]int32{q[0], q[2], q[3]})
	}
	for degrees, vertices := range map[float64]int{0: 24, 30: 24, 89: 24} {
		m := cube.Smooth(degrees)
		if err := m.Check(); err != nil || len(m.Vertices) != vertices || len(m.Triangles) != 12 {
			t.Errorf("%v degrees: %d vertices, %d triangles, %v; want %d and 12", degrees, len(m.Vertices), len(m.Triangles), err, vertices)
		}
	}
	// On a ball, normals point away from the centre, for shared and repeated corners.
	repeated := &Mesh{}
	for i, c := range ball(30).Triangles {
		for _, v := range c {
			repeated.Vertices = append(repeated.Vertices, ball30.Vertices[v])
		}
		repeated.Triangles = append(repeated.Triangles, [3]int32{int32(3 * i), int32(3*i + 1), int32(3*i + 2)})
	}
	for _, m := range []*Mesh{ball30.Smooth(40), repeated.Smooth(40)} {
		for i, v := range m.Vertices {
			n := m.Normals[i]
			if cos := math.Abs(v[0]*n[0] + v[1]*n[1] + v[2]*n[2]); !(cos >= 0.9995) && math.Abs(v[1]) < 0.9999 { // the corners there are 1e-16 apart
				t.Fatalf("vertex %v has the normal %v", v, n)
			}
		}
	}
}

var ball30 = ball(30)

func TestSincos(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	for range 100000 {
		x := (r.Float64() - 0.5) * math.Ldexp(1, r.IntN(21))
		s, c := Sincos(x)
		if ws, wc := math.Sincos(x); !(math.Abs(s-ws) <= 1e-15) || !(math.Abs(c-wc) <= 1e-15) {
			t.Fatalf("Sincos(%v) = %v, %v; want %v, %v", x, s, c, ws, wc)
		}
	}
	for quarter := -9; quarter < 9; quarter++ {
		s, c := Sincos(float64(quarter) * (math.Pi / 2))
		if want := [4][2]float64{{0, 1}, {1, 0}, {0, -1}, {-1, 0}}[(quarter+12)%4]; s != want[0] || c != want[1] {
			t.Errorf("%d quarters: %v, %v", quarter, s, c)
		}
	}
	if s, c := Sincos(math.Inf(1)); !math.IsNaN(s) || !math.IsNaN(c) {
		t.Errorf("Sincos(Inf) = %v, %v", s, c)
	}
}

func TestDrawAllocatesNothing(t *testing.T) {
	s, r, dst := hard(Camera{}), renderer(t, 64, 4), make([]uint8, 3*64*64)
	r.Draw(s, dst)
	must.Equal(t, testing.AllocsPerRun(5, func() { r.Draw(s, dst) }), 0, "allocations")
}

// TestRendererForgets draws other scenes between two equal scenes. They must not affect the second picture.
func TestRendererForgets(t *testing.T) {
	r := renderer(t, 40, 3)
	for _, c := range cameras() {
		want := draw(t, hard(c), 40, 3)
		got := make([]uint8, len(want))
		r.Draw(silhouette(Camera{Half: 0.5}, quad(0.3, 0)), got)
		r.Draw(hard(c), got)
		if !slices.Equal(got, want) {
			t.Errorf("camera %+v: another picture after another scene", c)
		}
	}
	must.Equal(t, slices.Max(draw(t, &Scene{Background: [3]float64{0.2, 0.2, 0.2}}, 40, 2)), 51, "an empty scene is")
}

func TestCheck(t *testing.T) {
	for want, change := range map[string]func(*Scene){
		"part 1 has no mesh":                                              func(s *Scene) { s.Parts[1].Mesh = nil },
		"part 0: triangle 0 names vertex 9; want 0 to 3":                  func(s *Scene) { s.Parts[0].Mesh.Triangles[0][1] = 9 },
		"part 0: vertex 2 is [NaN 0 0]; want finite numbers":              func(s *Scene) { s.Parts[0].Mesh.Vertices[2] = [3]float64{math.NaN()} },
		"part 0: mesh has 1 normals; want one for each of its 4 vertices": func(s *Scene) { s.Parts[0].Mesh.Normals = make([][3]float64, 1) },
		"light 0 has direction [0 0 0]":                                   func(s *Scene) { s.Lights = make([]Light, 1) },
		"camera at [1 0 0] looks at itself":                               func(s *Scene) { s.Camera.Eye, s.Camera.Target = [3]float64{1}, [3]float64{1} },
		"camera has an angle of view of 4; want 0 to less than pi":        func(s *Scene) { s.Camera.Angle = 4 },
		"camera shows half an extent of -1":                               func(s *Scene) { s.Camera.Half = -1 },
		"camera draws from NaN on":                                        func(s *Scene) { s.Camera.Near = math.NaN() },
		"ambient light NaN":                                               func(s *Scene) { s.Ambient = math.NaN() },
	} {
		s := silhouette(Camera{}, quad(1, 0), quad(1, 1))
		change(s)
		if err := s.Check(); err == nil || len(err.Error()) < len(want) || err.Error()[:len(want)] != want {
			t.Errorf("error %v; want %s", err, want)
		}
	}
	for i, change := range []func(*Part){
		func(p *Part) { p.Colour[2] = math.NaN() }, func(p *Part) { p.Shift[0] = math.Inf(-1) },
		func(p *Part) { p.Scale = math.Inf(1) }, func(p *Part) { p.Turn[0] = math.NaN() },
		func(p *Part) { p.Turn[4] = math.NaN() }, func(p *Part) { p.Turn[8] = math.Inf(1) },
	} {
		s := silhouette(Camera{}, quad(1, 0), quad(1, 1))
		change(&s.Parts[1])
		must.Error(t, s.Check(), "part 1 has a colour, turn, shift or scale that is not finite", i)
	}
	for _, size := range [][3]int{{0, 1, 1}, {1, 5000, 1}, {64, 64, 0}, {64, 64, 9}, {4096, 4096, 8}} {
		if _, err := NewRenderer(size[0], size[1], size[2]); err == nil {
			t.Error(fmt.Sprint(size), "has no error")
		}
	}
}
