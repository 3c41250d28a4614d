package datasets

import (
	"errors"
	"fmt"
	"math"

	"github.com/unravel-ml/unravel/datasets/render"
	"github.com/unravel-ml/unravel/factor/rotation"
)

var poseObjects = []string{"cone", "vase", "bottle"}

// parts returns the object, centred and scaled, each part in the object's axes.
func (p *Poses) parts() ([]render.Part, error) {
	parts := []render.Part{{Mesh: p.builtIn()}}
	if err := normaliseParts(parts); err != nil {
		return nil, err
	}
	return parts, nil
}

// builtIn is an object that is symmetric about the y axis.
func (p *Poses) builtIn() *render.Mesh {
	switch p.Object {
	case "vase":
		return revolved(vaseProfile()).Smooth(40)
	case "bottle":
		return revolved([][2]float64{{0, -1}, {0.36, -1}, {0.4, -0.96}, {0.4, 0.2}, {0.37, 0.32}, {0.29, 0.43}, {0.2, 0.52}, {0.14, 0.62}, {0.13, 0.7},
			{0.13, 0.9}, {0.17, 0.9}, {0.17, 1}, {0, 1}}).Smooth(40)
	}
	return revolved([][2]float64{{0, -0.8}, {0.55, -0.8}, {0, 0.8}}).Smooth(40)
}

// vaseProfile is a foot, a belly, a neck and a lip, hollow inside down to the neck.
func vaseProfile() [][2]float64 {
	profile := [][2]float64{{0, -1}, {0.34, -1}, {0.34, -0.94}}
	for i := range 25 {
		t := float64(i) / 24
		sin, _ := render.Sincos(math.Pi * (0.12 + 1.2*t))
		profile = append(profile, [2]float64{0.22 + float64(0.38*max(sin, 0)) + float64(0.12*float64(t*t)), -0.9 + 1.8*t})
	}
	return append(profile, [2]float64{0.42, 1}, [2]float64{0.34, 1}, [2]float64{0.2, 0.6}, [2]float64{0, 0.5})
}

// revolvedSides is the number of sides of a surface of rotation: with a radius of 30 pixels, it is off by a fiftieth of one.
const revolvedSides = 96

// revolved returns the surface of rotation about the y axis of a profile of radii and heights. The radius 0 is a tip.
func revolved(profile [][2]float64) *render.Mesh {
	m := &render.Mesh{}
	for _, p := range profile {
		for side := range revolvedSides {
			sin, cos := render.Sincos(2 * math.Pi * float64(side) / revolvedSides)
			m.Vertices = append(m.Vertices, [3]float64{p[0] * sin, p[1], p[0] * cos})
		}
	}
	for ring := range len(profile) - 1 {
		for side := range revolvedSides {
			a, b := int32(ring*revolvedSides+side), int32(ring*revolvedSides+(side+1)%revolvedSides)
			m.Triangles = append(m.Triangles, [3]int32{a, b, b + revolvedSides}, [3]int32{a, b + revolvedSides, a + revolvedSides})
		}
	}
	return m
}

// normaliseParts puts parts in place, with the mean of their bounding box at the origin and the farthest vertex at the
// distance 1, and paints them grey by their brightness.
func normaliseParts(parts []render.Part) error {
	low, high := [3]float64{math.Inf(1), math.Inf(1), math.Inf(1)}, [3]float64{math.Inf(-1), math.Inf(-1), math.Inf(-1)}
	for i := range parts {
		if err := bake(&parts[i]); err != nil {
			return err
		}
		for _, v := range parts[i].Mesh.Vertices {
			for c := range v {
				low[c], high[c] = min(low[c], v[c]), max(high[c], v[c])
			}
		}
	}
	far := 0.0
	for _, p := range parts {
		for i, v := range p.Mesh.Vertices {
			for c := range v {
				v[c] -= (low[c] + high[c]) / 2
			}
			p.Mesh.Vertices[i] = v
			far = max(far, math.Sqrt(float64(v[0]*v[0])+float64(v[1]*v[1])+float64(v[2]*v[2])))
		}
	}
	if !(far > 0) || math.IsInf(far, 0) {
		return errors.New("the mesh has no extent; want vertices at two places or more")
	}
	for _, p := range parts {
		for i := range p.Mesh.Vertices {
			for c := range p.Mesh.Vertices[i] {
				p.Mesh.Vertices[i][c] /= far
			}
		}
	}
	return nil
}

// bake replaces a part's mesh by a copy that is turned, scaled and shifted, and its colour by a grey of its brightness.
func bake(p *render.Part) error {
	if p.Mesh == nil || len(p.Mesh.Triangles) == 0 {
		return errors.New("the mesh has no triangles; want at least one")
	}
	if err := p.Mesh.Check(); err != nil {
		return fmt.Errorf("the mesh: %w", err)
	}
	turn, scale := p.Turn, p.Scale
	if turn == [9]float64{} {
		turn = [9]float64{1, 0, 0, 0, 1, 0, 0, 0, 1}
	}
	if scale == 0 {
		scale = 1
	}
	m := &render.Mesh{Triangles: p.Mesh.Triangles, Vertices: make([][3]float64, len(p.Mesh.Vertices))}
	for i, v := range p.Mesh.Vertices {
		v = rotation.Apply(&turn, v)
		for c := range v {
			m.Vertices[i][c] = float64(scale*v[c]) + p.Shift[c]
		}
	}
	for _, n := range p.Mesh.Normals {
		m.Normals = append(m.Normals, rotation.Apply(&turn, n))
	}
	grey := 0.0
	for c, weight := range [3]float64{0.299, 0.587, 0.114} { // ITU-R BT.601
		grey += float64(weight * p.Colour[c])
	}
	if p.Colour == [3]float64{} {
		grey = 1
	}
	*p = render.Part{Mesh: m, Colour: [3]float64{grey, grey, grey}}
	return nil
}
