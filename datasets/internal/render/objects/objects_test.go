package objects

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math"
	"sync"
	"testing"

	"github.com/unravel-ml/unravel/datasets/internal/render"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
)

// object is an object with its name.
type object struct {
	name  string
	parts []render.Part
}

// drawn lists the objects of data sets, and a few more.
var drawn = sync.OnceValue(func() (list []object) {
	add := func(parts []render.Part, name ...any) { list = append(list, object{fmt.Sprint(name...), parts}) }
	for seed := range uint64(183) {
		add(Car(seed), "car ", seed)
	}
	for seed := range uint64(60) {
		add(Airplane(seed), "airplane ", seed)
		add(Solid(seed), "solid ", seed)
		add(Round(seed), "round ", seed)
	}
	for c := range Category(Categories) {
		for i := range Instances {
			add(Figure(c, i), c, " ", i)
		}
	}
	return list
})

// parts lists the component objects of pictures, and the objects of tests.
func parts() (list []object) {
	add := func(name string, parts []render.Part) { list = append(list, object{name, parts}) }
	foot, shoulder, link := Arm()
	add("foot", foot)
	add("shoulder", shoulder)
	add("link", link)
	add("table", Table(1.5))
	for n := range Tools {
		add(fmt.Sprint("tool ", n), Tool(n))
	}
	add("cone", Cone())
	add("vase", Vase())
	add("bottle", Bottle())
	return list
}

// every runs do for each object.
func every(t *testing.T, objects []object, do func(t *testing.T, parts []render.Part)) {
	t.Helper()
	for _, o := range objects {
		t.Run(o.name, func(t *testing.T) { do(t, o.parts) })
	}
}

// Every surface is closed: each edge of a triangle occurs in another triangle in the opposite direction. Triangles run
// counter-clockwise around outward normals.
func TestSurfacesAreClosed(t *testing.T) {
	long.NotShort(t)
	every(t, long.Sample(drawn(), 60), func(t *testing.T, parts []render.Part) {
		for p, part := range parts {
			m := part.Mesh
			must.OK(t, m.Check())
			edges := map[[2][3]float64]int{}
			volume := map[int]float64{} // by connected piece
			piece := pieces(m)
			for _, f := range m.Triangles {
				a, b, c := m.Vertices[f[0]], m.Vertices[f[1]], m.Vertices[f[2]]
				normal := product(minus(b, a), minus(c, a))
				for k := range f {
					from, to := m.Vertices[f[k]], m.Vertices[f[(k+1)%3]]
					edges[[2][3]float64{from, to}]++
					edges[[2][3]float64{to, from}]--
					n := m.Normals[f[k]]
					if !(dot(n, normal) > 0) || !(math.Abs(dot(n, n)-1) <= 1e-5) {
						t.Fatalf("part %d: normal %v of a triangle that faces %v", p, n, unit(normal))
					}
				}
				volume[piece[a]] += dot(a, product(b, c)) / 6
			}
			for e, n := range edges {
				if n != 0 {
					t.Fatalf("part %d: the edge from %v to %v belongs to %d triangles more in this direction than in the other", p, e[0], e[1], n)
				}
			}
			for _, v := range volume {
				if !(v > 0) {
					t.Errorf("part %d: a piece has a volume of %v", p, v)
				}
			}
		}
	})
}

// pieces numbers the connected pieces of a mesh, by vertex.
func pieces(m *render.Mesh) map[[3]float64]int {
	piece := map[[3]float64]int{}
	for i, v := range m.Vertices {
		if _, ok := piece[v]; !ok {
			piece[v] = i
		}
	}
	for changed := true; changed; {
		changed = false
		for _, f := range m.Triangles {
			a, b, c := m.Vertices[f[0]], m.Vertices[f[1]], m.Vertices[f[2]]
			least := min(piece[a], piece[b], piece[c])
			for _, v := range [][3]float64{a, b, c} {
				if piece[v] != least {
					piece[v], changed = least, true
				}
			}
		}
	}
	return piece
}

// Objects touch the unit sphere and stay within it.
func TestSizes(t *testing.T) {
	long.NotShort(t)
	every(t, drawn(), func(t *testing.T, parts []render.Part) {
		most, triangles := 0.0, 0
		for _, part := range parts {
			for _, v := range part.Mesh.Vertices {
				most = max(most, dot(v, v))
			}
			triangles += len(part.Mesh.Triangles)
		}
		if !(math.Abs(most-1) <= 1e-5) {
			t.Errorf("the radius is %v; want 1", math.Sqrt(most))
		}
		if triangles > 2500 {
			t.Errorf("%d triangles", triangles)
		}
	})
}

// Objects have equal bits on every machine.
func TestObjectsAreTheSame(t *testing.T) {
	for _, c := range []struct {
		objects []object
		want    uint64
	}{{drawn(), 0x2116e4dbe4c0989c}, {parts(), 0xefbfc16e722124cf}} {
		must.Equal(t, hashOf(t, c.objects), c.want, len(c.objects), "objects have the hash")
	}
}

func hashOf(t *testing.T, objects []object) uint64 {
	t.Helper()
	h := fnv.New64a()
	every(t, objects, func(t *testing.T, parts []render.Part) {
		for _, p := range parts {
			for _, numbers := range [][][3]float64{{p.Colour, p.Shift}, p.Mesh.Vertices, p.Mesh.Normals} {
				for _, v := range numbers {
					for _, x := range v {
						h.Write(binary.LittleEndian.AppendUint64(nil, math.Float64bits(x)))
					}
				}
			}
			for _, f := range p.Mesh.Triangles {
				for _, i := range f {
					h.Write(binary.LittleEndian.AppendUint32(nil, uint32(i)))
				}
			}
		}
	})
	return h.Sum64()
}

// Objects that are symmetric about the y axis are white, and have the radius of their profile relative to their height.
func TestRevolvedObjects(t *testing.T) {
	for name, object := range map[string]struct {
		parts []render.Part
		ratio float64 // largest radius over half the height
	}{"cone": {Cone(), 0.55 / 0.8}, "vase": {Vase(), 0.6126}, "bottle": {Bottle(), 0.4}} {
		height, radius := 0.0, 0.0
		for _, p := range object.parts {
			must.Equal(t, p.Colour, [3]float64{1, 1, 1}, name, "has the colour")
			for _, v := range p.Mesh.Vertices {
				height, radius = max(height, math.Abs(v[1])), max(radius, math.Hypot(v[0], v[2]))
			}
		}
		if !(math.Abs(radius/height-object.ratio) <= 1e-4) {
			t.Errorf("%s has the radius %v for a height of %v; want %v of it", name, radius, height, object.ratio)
		}
	}
}

func BenchmarkCar(b *testing.B) {
	for seed := uint64(0); b.Loop(); seed++ {
		Car(seed % 183)
	}
}

// picture draws an object seen from an azimuth in degrees.
func picture(t testing.TB, r *render.Renderer, parts []render.Part, azimuth float64) []uint8 {
	t.Helper()
	scene := render.Scene{Parts: parts, Ambient: 0.4, Background: [3]float64{0.9, 0.9, 0.9},
		Lights: []render.Light{{Direction: [3]float64{-0.5, 1, 0.6}, Colour: [3]float64{0.6, 0.6, 0.6}}}}
	scene.Camera.Eye = render.Orbit(3, azimuth*math.Pi/180, 0.4)
	dst := make([]uint8, 64*64*3)
	r.Draw(&scene, dst)
	return dst
}

// apart is the squared distance of two pictures, in units of white pixels on black.
func apart(a, b []uint8) (sum float64) {
	for i := range a {
		d := float64(int(a[i])-int(b[i])) / 255
		sum += d * d / 3
	}
	return sum
}

// Objects of a kind look different from each other and from each side.
func TestObjectsDiffer(t *testing.T) {
	long.NotShort(t)
	r := must.Get(render.NewRenderer(64, 64, 2))(t)
	kinds := map[string]func(n int) []render.Part{
		"car":      func(n int) []render.Part { return Car(uint64(n)) },
		"airplane": func(n int) []render.Part { return Airplane(uint64(n)) },
		"solid":    func(n int) []render.Part { return Solid(uint64(n)) },
		"figure":   func(n int) []render.Part { return Figure(Category(n/Instances), n%Instances) },
	}
	for kind, of := range kinds {
		var front [][]uint8
		for n := range 50 {
			parts := of(n)
			const sides = 24
			front = append(front, picture(t, r, parts, 45))
			if n%5 != 0 || n%25 != 0 && !long.Enabled() {
				continue
			}
			var views [sides][]uint8
			for side := range views {
				views[side] = picture(t, r, parts, 360*float64(side)/sides)
			}
			for a := range views {
				for b := range a {
					if d := apart(views[a], views[b]); !(d >= 6) {
						t.Errorf("%s %d: sides %d and %d of %d differ by %v", kind, n, b, a, sides, d)
					}
				}
			}
		}
		for a := range front {
			for b := range a {
				if d := apart(front[a], front[b]); !(d >= 3) {
					t.Errorf("%s %d and %d differ by %v", kind, b, a, d)
				}
			}
		}
	}
}
