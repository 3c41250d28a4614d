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
		return fmt.Errorf("mesh has %d normals; want one for each of its %d vertices, or none", len(m.Normals), len(m.Vertices))
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
			return fmt.Errorf("light %d has direction %v and colour %v; want finite numbers, and a direction", i, l.Direction, l.Colour)
		}
	}
	if !finite(s.Background) || !finite([3]float64{s.Ambient}) {
		return fmt.Errorf("ambient light %v, background %v; want finite numbers", s.Ambient, s.Background)
	}
	return nil
}

func finite(v [3]float64) bool { return vector(v).finite() }
