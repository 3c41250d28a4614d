package render

import "math"

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
	s.around = make([][]int32, len(m.Vertices))
	for t, corners := range m.Triangles {
		a, b, c := vector(m.Vertices[corners[0]]), vector(m.Vertices[corners[1]]), vector(m.Vertices[corners[2]])
		s.faces[t] = b.minus(a).cross(c.minus(a)).unit()
		if s.faces[t] == (vec{}) {
			continue
		}
		for _, v := range corners {
			at := s.place[v]
			s.around[at] = append(s.around[at], int32(t))
		}
	}
	out := &Mesh{}
	made := map[corner]int32{}
	for t, corners := range m.Triangles {
		if s.faces[t] == (vec{}) {
			continue
		}
		var triangle [3]int32
		for k, v := range corners {
			at := s.place[v]
			key := corner{at, s.normal(at, t, limit).array()}
			index, ok := made[key]
			if !ok {
				index = int32(len(out.Vertices))
				made[key] = index
				out.Vertices = append(out.Vertices, m.Vertices[at])
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
	mesh   *Mesh
	faces  []vec     // unit normals of triangles; 0 for triangles without an area
	place  []int32   // by vertex: first vertex at the same position
	around [][]int32 // by position: triangles
}

// places returns, for each vertex, the first vertex at the same position.
func (m *Mesh) places() []int32 {
	first := make(map[[3]float64]int32, len(m.Vertices))
	places := make([]int32, len(m.Vertices))
	for i, v := range m.Vertices {
		at, ok := first[v]
		if !ok {
			at = int32(i)
			first[v] = at
		}
		places[i] = at
	}
	return places
}

// normal returns the normal of a triangle's corner at a position.
func (s *smoothing) normal(place int32, triangle int, limit float64) vec {
	own := s.faces[triangle]
	var sum vec
	for _, t := range s.around[place] {
		n := s.faces[t]
		cos := own.dot(n)
		if cos < 0 { // opposite winding
			n, cos = n.times(-1), -cos
		}
		if cos >= limit || int(t) == triangle {
			sum = sum.plus(n.times(s.angle(t, place)))
		}
	}
	if sum = sum.unit(); sum == (vec{}) {
		return own
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
	at := vector(s.mesh.Vertices[corners[k]])
	a, b := vector(s.mesh.Vertices[corners[(k+1)%3]]).minus(at).unit(), vector(s.mesh.Vertices[corners[(k+2)%3]]).minus(at).unit()
	d := a.minus(b)
	return math.Sqrt(d.dot(d))
}
