// Package render is a software renderer for triangle meshes. It has a z-buffer, directional and ambient light, Lambert
// shading on both sides of a surface, perspective and orthographic cameras, and anti-aliasing by supersampling.
//
// The world is right-handed with y up. The default camera is on the z axis and looks at the origin: x points right and
// z towards the viewer.
//
// A picture has the same bits on every machine: coverage is computed in integers, and no product is fused with a sum.
// To keep this property for meshes and rotations, write float64(x*y) + z, and call [Sincos] instead of math.Sin. The
// last bit of math.Sin depends on the machine.
package render

import (
	"fmt"
	"math"
	"slices"
)

// Mesh is a surface of triangles. Several renderers may draw a Mesh at the same time.
type Mesh struct {
	Vertices  [][3]float64
	Triangles [][3]int32   // indices of vertices, in either winding
	Normals   [][3]float64 // by vertex, of any length except 0; nil: triangles are flat (see Smooth)
}

// Check returns an error for the first NaN or infinite vertex or normal, for the first triangle with an index out of
// range, and if the number of normals is not the number of vertices.
func (m *Mesh) Check() error {
	if m.Normals != nil && len(m.Normals) != len(m.Vertices) {
		return fmt.Errorf("mesh has %d normals; want one for each of its %d vertices, or none",
			len(m.Normals), len(m.Vertices))
	}
	infinite := func(v [3]float64) bool { return !finite(v) }
	if i := slices.IndexFunc(m.Vertices, infinite); i >= 0 {
		return fmt.Errorf("vertex %d is %v; want finite numbers", i, m.Vertices[i])
	}
	if i := slices.IndexFunc(m.Normals, infinite); i >= 0 {
		return fmt.Errorf("normal %d is %v; want finite numbers", i, m.Normals[i])
	}
	for i, t := range m.Triangles {
		for _, v := range t {
			if v < 0 || int(v) >= len(m.Vertices) {
				return fmt.Errorf("triangle %d names vertex %d; want 0 to %d", i, v, len(m.Vertices)-1)
			}
		}
	}
	return nil
}

// Part is a mesh placed in a scene: vertex v is drawn at Turn*(Scale*v) + Shift.
type Part struct {
	Mesh   *Mesh
	Colour [3]float64 // red, green and blue from 0 to 1
	Turn   [9]float64 // rotation matrix by rows; zero: no rotation
	Shift  [3]float64
	Scale  float64 // 0: 1
}

// Light is a distant light.
type Light struct {
	Direction [3]float64 // from the scene to the light, in world coordinates, of any length except 0
	Colour    [3]float64 // reflection of a white surface that faces the light
}

// Scene is the content of a picture. A surface of colour C and normal n (on the viewer's side) reflects C * (Ambient +
// sum of Light.Colour * max(0, n . Light.Direction)), at most 1, in each channel.
type Scene struct {
	Parts      []Part
	Camera     Camera
	Lights     []Light
	Ambient    float64
	Background [3]float64
}

// Check returns an error for NaN and infinite numbers, for a part without a mesh or with a mesh that fails its Check,
// and for a light or a camera without a direction. It takes one pass over all meshes.
func (s *Scene) Check() error {
	if err := s.Camera.Check(); err != nil {
		return err
	}
	for i, p := range s.Parts {
		if p.Mesh == nil {
			return fmt.Errorf("part %d has no mesh", i)
		}
		if err := p.Mesh.Check(); err != nil {
			return fmt.Errorf("part %d: %w", i, err)
		}
		if !finite(p.Colour) || !finite(p.Shift) || !finite([3]float64{p.Scale}) ||
			!finite([3]float64(p.Turn[:3])) || !finite([3]float64(p.Turn[3:6])) || !finite([3]float64(p.Turn[6:])) {
			return fmt.Errorf("part %d has a colour, turn, shift or scale that is not finite", i)
		}
	}
	for i, l := range s.Lights {
		if !finite(l.Direction) || !finite(l.Colour) || l.Direction == [3]float64{} {
			return fmt.Errorf("light %d has direction %v and colour %v; want finite numbers, and a direction",
				i, l.Direction, l.Colour)
		}
	}
	if !finite(s.Background) || !finite([3]float64{s.Ambient}) {
		return fmt.Errorf("ambient light %v, background %v; want finite numbers", s.Ambient, s.Background)
	}
	return nil
}

func finite(v [3]float64) bool { return vector(v).finite() }

// Fit returns the mesh, moved and scaled. The centre of its bounding box becomes the origin, and the farthest vertex
// gets distance 1. Unlike the bounding box, this distance does not change when the result is rotated. Fit ignores
// vertices without a triangle. A mesh of a single point keeps its size.
func (m *Mesh) Fit() *Mesh {
	low, high := vec{math.Inf(1), math.Inf(1), math.Inf(1)}, vec{math.Inf(-1), math.Inf(-1), math.Inf(-1)}
	for _, t := range m.Triangles {
		for _, i := range t {
			v := m.Vertices[i]
			low = vec{min(low.x, v[0]), min(low.y, v[1]), min(low.z, v[2])}
			high = vec{max(high.x, v[0]), max(high.y, v[1]), max(high.z, v[2])}
		}
	}
	centre := low.times(0.5).plus(high.times(0.5))
	farthest := 0.0
	for _, t := range m.Triangles {
		for _, i := range t {
			d := vector(m.Vertices[i]).minus(centre)
			farthest = max(farthest, d.dot(d))
		}
	}
	size := 1.0
	if farthest > 0 {
		size = 1 / math.Sqrt(farthest)
	}
	out := &Mesh{Vertices: make([][3]float64, len(m.Vertices)), Triangles: m.Triangles, Normals: m.Normals}
	for i, v := range m.Vertices {
		out.Vertices[i] = vector(v).minus(centre).times(size).array()
	}
	return out
}

// Raise returns the mesh rotated from z up to y up: z becomes y, and -y becomes z, which points to the viewer.
func (m *Mesh) Raise() *Mesh {
	rotate := func(list [][3]float64) [][3]float64 {
		if list == nil {
			return nil
		}
		rotated := make([][3]float64, len(list))
		for i, v := range list {
			rotated[i] = [3]float64{v[0], v[2], -v[1]}
		}
		return rotated
	}
	return &Mesh{Vertices: rotate(m.Vertices), Triangles: m.Triangles, Normals: rotate(m.Normals)}
}

// Smooth returns the mesh with smooth normals. The normal of a corner is the mean normal of the triangles at its
// vertex, weighted by their angles at the vertex. The mean only includes triangles at an angle of at most degrees to
// the corner's triangle. At larger angles there is a crease, and the vertex is duplicated for each normal. With 0 all
// triangles are flat; from 90 on there are no creases.
//
// Vertices at the same position count as one, because some formats repeat corners. The winding of triangles does not
// matter. Triangles without an area are dropped.
func (m *Mesh) Smooth(degrees float64) *Mesh {
	_, limit := Sincos(degrees * (math.Pi / 180))
	s := smoothing{mesh: m, faces: make([]vec, len(m.Triangles)), place: m.places()}
	s.trianglesAt = make([][]int32, len(m.Vertices))
	for t, corners := range m.Triangles {
		a, b, c := vector(m.Vertices[corners[0]]), vector(m.Vertices[corners[1]]), vector(m.Vertices[corners[2]])
		s.faces[t] = b.minus(a).cross(c.minus(a)).unit()
		if s.faces[t] == (vec{}) {
			continue
		}
		for _, v := range corners {
			place := s.place[v]
			s.trianglesAt[place] = append(s.trianglesAt[place], int32(t))
		}
	}
	out := &Mesh{}
	indices := map[corner]int32{}
	for t, corners := range m.Triangles {
		if s.faces[t] == (vec{}) {
			continue
		}
		var triangle [3]int32
		for k, v := range corners {
			place := s.place[v]
			key := corner{place, s.normal(place, t, limit).array()}
			index, ok := indices[key]
			if !ok {
				index = int32(len(out.Vertices))
				indices[key] = index
				out.Vertices = append(out.Vertices, m.Vertices[place])
				out.Normals = append(out.Normals, key.normal)
			}
			triangle[k] = index
		}
		out.Triangles = append(out.Triangles, triangle)
	}
	return out
}

// corner is a vertex of the smoothed mesh.
type corner struct {
	place  int32
	normal [3]float64
}

// smoothing is a mesh with the data for its normals.
type smoothing struct {
	mesh        *Mesh
	faces       []vec     // unit normals of triangles; 0 for triangles without an area
	place       []int32   // by vertex: first vertex at the same position
	trianglesAt [][]int32 // by position: triangles
}

// places returns, for each vertex, the first vertex at the same position.
func (m *Mesh) places() []int32 {
	first := make(map[[3]float64]int32, len(m.Vertices))
	places := make([]int32, len(m.Vertices))
	for i, v := range m.Vertices {
		place, ok := first[v]
		if !ok {
			place = int32(i)
			first[v] = place
		}
		places[i] = place
	}
	return places
}

// normal returns the normal of a triangle's corner at a position.
func (s *smoothing) normal(place int32, triangle int, limit float64) vec {
	faceNormal := s.faces[triangle]
	var sum vec
	for _, t := range s.trianglesAt[place] {
		n := s.faces[t]
		cos := faceNormal.dot(n)
		if cos < 0 { // opposite winding
			n, cos = n.times(-1), -cos
		}
		if cos >= limit || int(t) == triangle {
			sum = sum.plus(n.times(s.angle(t, place)))
		}
	}
	if sum = sum.unit(); sum == (vec{}) {
		return faceNormal
	}
	return sum
}

// angle approximates the angle of a triangle at a position by half its chord, which has the same bits on every machine.
func (s *smoothing) angle(triangle, place int32) float64 {
	corners := s.mesh.Triangles[triangle]
	k := 0
	for k < 2 && s.place[corners[k]] != place {
		k++
	}
	vertex := vector(s.mesh.Vertices[corners[k]])
	a, b := vector(s.mesh.Vertices[corners[(k+1)%3]]).minus(vertex).unit(),
		vector(s.mesh.Vertices[corners[(k+2)%3]]).minus(vertex).unit()
	d := a.minus(b)
	return math.Sqrt(d.dot(d))
}
