package drawn

import (
	"math"

	"github.com/unravel-ml/unravel/datasets/factor/rotation"
	"github.com/unravel-ml/unravel/datasets/internal/painting"
	"github.com/unravel-ml/unravel/datasets/internal/render"
)

// model is an object with closed surfaces.
type model struct {
	parts  []render.Part
	planes [][]plane // by part and triangle
	floor  float64   // height of the lowest point
}

// plane is the plane of a triangle. For points in front of it, the inner product with normal is above offset.
type plane struct {
	normal vector
	offset float64
}

func newModel(parts []render.Part) *model {
	m := &model{parts: parts, planes: make([][]plane, len(parts)), floor: math.Inf(1)}
	for i, p := range parts {
		for _, v := range p.Mesh.Vertices {
			m.floor = min(m.floor, v[1])
		}
		m.planes[i] = make([]plane, len(p.Mesh.Triangles))
		for t, corners := range p.Mesh.Triangles {
			corner := func(k int) vector { return p.Mesh.Vertices[corners[k]] }
			a, opposite := corner(0), corner(0).scale(-1)
			n := corner(1).add(opposite).cross(corner(2).add(opposite))
			m.planes[i][t] = plane{n, n.dot(a)}
		}
	}
	return m
}

// lighting is the light on a stage, relative to the viewer: its directions turn with the camera's azimuth.
type lighting struct {
	ambient float64
	lights  []render.Light // the first casts a shadow
	sky     float64        // brightness of the background, from 0 to 1
	shadow  float64        // brightness of the shadow on the floor
}

// stage draws models that stand on a floor.
type stage struct {
	renderer *render.Renderer
	scene    render.Scene
	shadow   [3]float64     // colour
	meshes   []*render.Mesh // by added part of the scene: its visible triangles
}

// stageSamples is the number of samples along each side of a pixel.
const stageSamples = 3

func newStage(size int) *stage {
	r, err := render.NewRenderer(size, size, min(stageSamples, 2048/size))
	if err != nil {
		panic(err) // sizes were validated
	}
	return &stage{renderer: r}
}

// draw draws a model seen from an azimuth, with a camera at an elevation (degrees).
func (s *stage) draw(m *model, elevation, azimuth float64, light *lighting, dst []uint8) {
	s.clearScene(light, [3]float64{1, 1, 1})
	s.scene.Camera.Eye = render.Orbit(3, 0, painting.Radians(elevation))
	s.add(m, pose{turn: painting.AroundY(painting.Radians(-azimuth)), scale: 1}, m.floor-0.005)
	s.renderer.Draw(&s.scene, dst)
}

// clearScene clears the stage. The background and the shadows have the given colour.
func (s *stage) clearScene(light *lighting, colour [3]float64) {
	c := &s.scene
	c.Parts, c.Lights, c.Ambient = c.Parts[:0], light.lights, light.ambient
	shade := light.shadow / light.upwardLight()
	for k := range colour {
		c.Background[k], s.shadow[k] = light.sky*colour[k], shade*colour[k]
	}
}

// pose is the position of a model.
type pose struct {
	turn  [9]float64
	shift [3]float64
	scale float64
}

// add puts a model on the stage, and its shadow on a floor. Because surfaces are closed, it only draws triangles that
// face the viewer, and only the shadows of triangles that face the light.
func (s *stage) add(m *model, place pose, floor float64) {
	c := &s.scene
	l := c.Lights[0].Direction
	x, z := l[0]/l[1], l[2]/l[1]
	flat := rotation.Product(&[9]float64{1, -x, 0, 0, 0, 0, 0, -z, 1}, &place.turn) // along the light
	height := place.shift[1] - floor
	shadow := [3]float64{place.shift[0] - float64(x*height), floor, place.shift[2] - float64(z*height)}
	eye := c.Camera.Eye
	for k := range eye {
		eye[k] = (eye[k] - place.shift[k]) / place.scale
	}
	eye, l = place.back(eye), place.back(l)
	for i, p := range m.parts {
		seen, lit := s.mesh(len(c.Parts)), s.mesh(len(c.Parts)+1)
		seen.Vertices, seen.Normals, seen.Triangles = p.Mesh.Vertices, p.Mesh.Normals, seen.Triangles[:0]
		lit.Vertices, lit.Normals, lit.Triangles = p.Mesh.Vertices, nil, lit.Triangles[:0]
		for t, plane := range m.planes[i] {
			if plane.normal.dot(eye) > plane.offset {
				seen.Triangles = append(seen.Triangles, p.Mesh.Triangles[t])
			}
			if plane.normal.dot(l) > 0 {
				lit.Triangles = append(lit.Triangles, p.Mesh.Triangles[t])
			}
		}
		c.Parts = append(c.Parts,
			render.Part{Mesh: seen, Colour: p.Colour, Turn: place.turn, Shift: place.shift, Scale: place.scale},
			render.Part{Mesh: lit, Colour: s.shadow, Turn: flat, Shift: shadow, Scale: place.scale})
	}
}

// mesh returns the n-th mesh, which the stage reuses for the next picture.
func (s *stage) mesh(n int) *render.Mesh {
	for len(s.meshes) <= n {
		s.meshes = append(s.meshes, &render.Mesh{})
	}
	return s.meshes[n]
}

// back transforms a direction on the stage into the axes of the model.
func (p *pose) back(v [3]float64) (out [3]float64) {
	for k := range out {
		out[k] = vector{p.turn[k], p.turn[3+k], p.turn[6+k]}.dot(v)
	}
	return out
}

func aroundX(angle float64) [9]float64 {
	sin, cos := render.Sincos(angle)
	return [9]float64{1, 0, 0, 0, cos, sin, 0, -sin, cos}
}

// upwardLight returns the amount of light that a white floor reflects.
func (l *lighting) upwardLight() float64 {
	sum := l.ambient
	for _, one := range l.lights {
		d := vector(one.Direction)
		sum += float64(one.Colour[0] * (max(0, d[1]) / math.Sqrt(d.dot(d))))
	}
	return sum
}
