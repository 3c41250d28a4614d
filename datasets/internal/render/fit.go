package render

import "math"

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

// Raise returns the mesh rotated from z up to y up: its z axis becomes y, and its -y axis becomes z, which points to
// the viewer.
func (m *Mesh) Raise() *Mesh {
	turn := func(list [][3]float64) [][3]float64 {
		if list == nil {
			return nil
		}
		out := make([][3]float64, len(list))
		for i, v := range list {
			out[i] = [3]float64{v[0], v[2], -v[1]}
		}
		return out
	}
	return &Mesh{Vertices: turn(m.Vertices), Triangles: m.Triangles, Normals: turn(m.Normals)}
}
