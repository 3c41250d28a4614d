package datasets

import (
	"math"

	"github.com/unravel-ml/unravel/datasets/render"
)

// model is an object with what casts its shadow.
type model struct {
	parts   []render.Part
	shadows []*render.Mesh
	floor   float64 // height of the lowest point
}

func newModel(parts []render.Part) *model {
	m := &model{parts: parts, floor: math.Inf(1)}
	for _, p := range parts {
		m.shadows = append(m.shadows, &render.Mesh{Vertices: p.Mesh.Vertices, Triangles: p.Mesh.Triangles})
		for _, v := range p.Mesh.Vertices {
			m.floor = min(m.floor, v[1])
		}
	}
	return m
}

// lighting is the light on a stage, as the viewer sees it: the directions turn with the camera's azimuth.
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
	shadow   [3]float64 // colour
}

// stageSamples are the samples along a side of a pixel.
const stageSamples = 4

func newStage(size int) *stage {
	r, err := render.NewRenderer(size, size, min(stageSamples, 2048/size))
	if err != nil {
		panic(err) // sizes are validated
	}
	return &stage{renderer: r}
}

// draw draws a model that is turned to show the side at an azimuth, from a camera at an elevation (degrees).
func (s *stage) draw(m *model, elevation, azimuth float64, light *lighting, dst []uint8) {
	s.begin(light, [3]float64{1, 1, 1})
	s.scene.Camera.Eye = render.Orbit(3, 0, radians(elevation))
	s.add(m, pose{turn: aroundY(radians(-azimuth)), scale: 1}, m.floor-0.005)
	s.renderer.Draw(&s.scene, dst)
}

// begin empties the stage. The background and shadows are of a colour.
func (s *stage) begin(light *lighting, colour [3]float64) {
	c := &s.scene
	c.Parts, c.Lights, c.Ambient = c.Parts[:0], light.lights, light.ambient
	shade := light.shadow / light.upon()
	for k := range colour {
		c.Background[k], s.shadow[k] = light.sky*colour[k], shade*colour[k]
	}
}

// pose is where a model stands.
type pose struct {
	turn  [9]float64
	shift [3]float64
	scale float64
}

// add puts a model on the stage, and its shadow on a floor.
func (s *stage) add(m *model, at pose, floor float64) {
	c := &s.scene
	l := c.Lights[0].Direction
	x, z := l[0]/l[1], l[2]/l[1]
	flat := render.Product([9]float64{1, -x, 0, 0, 0, 0, 0, -z, 1}, at.turn) // along the light
	height := at.shift[1] - floor
	shadow := [3]float64{at.shift[0] - float64(x*height), floor, at.shift[2] - float64(z*height)}
	for i, p := range m.parts {
		p.Turn, p.Shift, p.Scale = at.turn, at.shift, at.scale
		c.Parts = append(c.Parts, p, render.Part{Mesh: m.shadows[i], Colour: s.shadow, Turn: flat, Shift: shadow, Scale: at.scale})
	}
}

func radians(degrees float64) float64 { return degrees * (math.Pi / 180) }

// aroundY returns the rotation by an angle about the vertical axis, from +z to +x, and aroundX that from +z to +y.
func aroundY(angle float64) [9]float64 {
	sin, cos := render.Sincos(angle)
	return [9]float64{cos, 0, sin, 0, 1, 0, -sin, 0, cos}
}

func aroundX(angle float64) [9]float64 {
	sin, cos := render.Sincos(angle)
	return [9]float64{1, 0, 0, 0, cos, sin, 0, -sin, cos}
}

// upon returns what a white floor reflects.
func (l *lighting) upon() float64 {
	sum := l.ambient
	for _, one := range l.lights {
		d := one.Direction
		sum += float64(one.Colour[0] * (max(0, d[1]) / math.Sqrt(float64(d[0]*d[0])+float64(d[1]*d[1])+float64(d[2]*d[2]))))
	}
	return sum
}
