// Package objects generates small coloured objects for pictures of 64 x 64 pixels: airplanes, cars, animals, people and
// abstract solids. Each has a few hundred triangles.
//
// An object depends only on its seed or number, and is the same on every machine. It stands upright along y and faces
// +z. Its bounding box is centred at the origin and just fits into the unit sphere. It has one part per colour, made of
// closed surfaces (which may intersect) with normals that point outwards. Objects look different from behind than from
// the front, so a picture shows their yaw.
package objects

import (
	"math"
	"slices"

	"github.com/unravel-ml/unravel/datasets/internal/render"
	"github.com/unravel-ml/unravel/graph/rng"
)

type vec = [3]float64

// shape is a closed surface without normals: points, and the corners of its triangles. Points may coincide, and
// triangles may have either winding; mesh resolves both. Methods that move a shape modify and return it.
type shape struct {
	points []vec
	faces  [][3]int32
}

func (s *shape) move(x, y, z float64) *shape {
	for i := range s.points {
		p := &s.points[i]
		p[0], p[1], p[2] = p[0]+x, p[1]+y, p[2]+z
	}
	return s
}

func (s *shape) scale(x, y, z float64) *shape {
	for i := range s.points {
		p := &s.points[i]
		p[0], p[1], p[2] = p[0]*x, p[1]*y, p[2]*z
	}
	return s
}

// turn rotates a shape about an axis (0 x, 1 y, 2 z), counter-clockwise as seen from the tip of the axis.
func (s *shape) turn(axis int, degrees float64) *shape {
	sin, cos := sincos(degrees)
	a, b := (axis+1)%3, (axis+2)%3
	for i := range s.points {
		p := &s.points[i]
		p[a], p[b] = float64(p[a]*cos)-float64(p[b]*sin), float64(p[a]*sin)+float64(p[b]*cos)
	}
	return s
}

// copy returns a copy that can be moved independently.
func (s *shape) copy() *shape { return &shape{slices.Clone(s.points), s.faces} }

// both returns a shape and its mirror image at x = 0.
func both(s *shape) []*shape { return []*shape{s, s.copy().scale(-1, 1, 1)} }

// snap rounds to multiples of 2^-20. Machines that fuse products and sums only differ in much lower bits.
func snap(v float64) float64 { return math.RoundToEven(v*(1<<20)) / (1 << 20) }

func sincos(degrees float64) (sin, cos float64) {
	sin, cos = render.Sincos(degrees * (math.Pi / 180))
	return snap(sin), snap(cos)
}

// creaseCosine is the cosine of the minimum angle (39.6 degrees) between faces with a sharp edge.
const creaseCosine = 0.77

// mesh returns the surface with normals that point outwards. The normals are smooth except across sharp edges. All
// numbers are multiples of 2^-20 and the same on every machine.
func (s *shape) mesh() *render.Mesh {
	points, faces := s.welded()
	cross, volume := make([]vec, len(faces)), 0.0
	for i, f := range faces {
		a, b, c := points[f[0]], points[f[1]], points[f[2]]
		cross[i] = product(minus(b, a), minus(c, a))
		volume += dot(a, product(b, c))
	}
	if volume < 0 {
		for i := range faces {
			faces[i][1], faces[i][2] = faces[i][2], faces[i][1]
			cross[i] = vec{-cross[i][0], -cross[i][1], -cross[i][2]}
		}
	}
	facing, around := make([]vec, len(faces)), make([][]int, len(points)) // unit normals; faces by point
	for i, f := range faces {
		facing[i] = unit(cross[i])
		for _, p := range f {
			around[p] = append(around[p], i)
		}
	}
	type corner struct {
		point  int32
		normal vec
	}
	m, known := &render.Mesh{}, map[corner]int32{}
	for i, f := range faces {
		for k, p := range f {
			var sum vec
			for _, other := range around[p] {
				if dot(facing[i], facing[other]) > creaseCosine {
					sum = plus(sum, cross[other])
				}
			}
			sum = unit(sum)
			c := corner{p, vec{snap(sum[0]), snap(sum[1]), snap(sum[2])}}
			at, ok := known[c]
			if !ok {
				at = int32(len(m.Vertices))
				known[c] = at
				m.Vertices, m.Normals = append(m.Vertices, points[p]), append(m.Normals, c.normal)
			}
			f[k] = at
		}
		m.Triangles = append(m.Triangles, f)
	}
	return m
}

// welded returns the surface without duplicate points, and without triangles that have become lines.
func (s *shape) welded() (points []vec, faces [][3]int32) {
	known, index := map[vec]int32{}, make([]int32, len(s.points))
	for i, p := range s.points {
		for k := range p {
			p[k] = snap(p[k]) + 0 // no negative zero
		}
		at, ok := known[p]
		if !ok {
			at = int32(len(points))
			known[p] = at
			points = append(points, p)
		}
		index[i] = at
	}
	for _, f := range s.faces {
		f = [3]int32{index[f[0]], index[f[1]], index[f[2]]}
		if f[0] != f[1] && f[1] != f[2] && f[2] != f[0] {
			faces = append(faces, f)
		}
	}
	return points, faces
}

// Products are converted before a sum, so machines do not fuse them.

func plus(a, b vec) vec          { return vec{a[0] + b[0], a[1] + b[1], a[2] + b[2]} }
func minus(a, b vec) vec         { return vec{a[0] - b[0], a[1] - b[1], a[2] - b[2]} }
func times(a vec, f float64) vec { return vec{a[0] * f, a[1] * f, a[2] * f} }
func dot(a, b vec) float64       { return float64(a[0]*b[0]) + float64(a[1]*b[1]) + float64(a[2]*b[2]) }

func product(a, b vec) vec {
	return vec{float64(a[1]*b[2]) - float64(a[2]*b[1]), float64(a[2]*b[0]) - float64(a[0]*b[2]),
		float64(a[0]*b[1]) - float64(a[1]*b[0])}
}

func unit(a vec) vec {
	if length := math.Sqrt(dot(a, a)); length > 0 {
		return times(a, 1/length)
	}
	return a
}

// assembly collects the shapes of an object by colour.
type assembly struct {
	colours []vec
	meshes  []*render.Mesh
}

func (a *assembly) add(colour vec, shapes ...*shape) {
	at := slices.Index(a.colours, colour)
	if at < 0 {
		at = len(a.colours)
		a.colours, a.meshes = append(a.colours, colour), append(a.meshes, &render.Mesh{})
	}
	all := a.meshes[at]
	for _, s := range shapes {
		m, first := s.mesh(), int32(len(all.Vertices))
		all.Vertices, all.Normals = append(all.Vertices, m.Vertices...), append(all.Normals, m.Normals...)
		for _, t := range m.Triangles {
			all.Triangles = append(all.Triangles, [3]int32{t[0] + first, t[1] + first, t[2] + first})
		}
	}
}

// parts returns the object. Its bounding box is centred at the origin and just fits into the unit sphere.
func (a *assembly) parts() []render.Part {
	low, high := vec{math.Inf(1), math.Inf(1), math.Inf(1)}, vec{math.Inf(-1), math.Inf(-1), math.Inf(-1)}
	a.each(func(v *vec) {
		for k, x := range v {
			low[k], high[k] = min(low[k], x), max(high[k], x)
		}
	})
	middle, most := times(plus(low, high), 0.5), 0.0
	a.each(func(v *vec) { d := minus(*v, middle); most = max(most, dot(d, d)) })
	factor := 1 / math.Sqrt(most)
	a.each(func(v *vec) {
		for k := range v {
			v[k] = snap((v[k] - middle[k]) * factor)
		}
	})
	return a.inPlace()
}

// inPlace returns the object without moving or scaling it.
func (a *assembly) inPlace() []render.Part {
	parts := make([]render.Part, len(a.meshes))
	for i, m := range a.meshes {
		parts[i] = render.Part{Mesh: m, Colour: a.colours[i]}
	}
	return parts
}

func (a *assembly) each(do func(*vec)) {
	for _, m := range a.meshes {
		for i := range m.Vertices {
			do(&m.Vertices[i])
		}
	}
}

func choice[T any](s *rng.Stream, list ...T) T { return list[s.IntN(len(list))] }

func within(s *rng.Stream, low, high float64) float64 { return low + (high-low)*s.Float64() }

// Colours of details.
var (
	glass  = vec{0.13, 0.17, 0.24}
	rubber = vec{0.10, 0.10, 0.11}
	metal  = vec{0.66, 0.68, 0.71}
	white  = vec{0.96, 0.96, 0.95}
	red    = vec{0.85, 0.10, 0.09}
	yellow = vec{0.98, 0.85, 0.30}
)

// paints are the colours of bodies.
var paints = []vec{
	{0.83, 0.13, 0.11}, {0.95, 0.55, 0.10}, {0.97, 0.82, 0.16}, {0.40, 0.68, 0.18}, {0.09, 0.47, 0.28}, {0.12, 0.62, 0.66},
	{0.18, 0.47, 0.86}, {0.13, 0.20, 0.55}, {0.46, 0.25, 0.66}, {0.88, 0.40, 0.63}, {0.47, 0.29, 0.15}, {0.70, 0.72, 0.75},
}

// twoPaints returns the colour of a body and a different second colour.
func twoPaints(s *rng.Stream) (first, second vec) {
	n := s.IntN(len(paints))
	return paints[n], paints[(n+1+s.IntN(len(paints)-1))%len(paints)]
}
