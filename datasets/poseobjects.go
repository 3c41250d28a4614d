package datasets

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/unravel-ml/unravel/datasets/factor/rotation"
	"github.com/unravel-ml/unravel/datasets/render"
	"github.com/unravel-ml/unravel/datasets/render/objects"
)

// poseObjects are the objects that need no file.
var poseObjects = map[string]func() []render.Part{
	"cone": objects.Cone, "vase": objects.Vase, "bottle": objects.Bottle,
	"airplane": func() []render.Part { return objects.Airplane(planeSeed) },
}

// planeSeed is an airliner of bright colours.
const planeSeed = 11

// objectNames lists the objects.
func objectNames() []string { return slices.Sorted(maps.Keys(poseObjects)) }

// parts returns the object, centred and scaled, each part in the object's axes.
func (p *Poses) parts() ([]render.Part, error) {
	if p.Mesh == "" {
		parts := poseObjects[p.Object]()
		return parts, normaliseParts(parts)
	}
	mesh, err := render.ReadFile(p.Mesh)
	if err != nil {
		return nil, err
	}
	if mesh.Normals == nil && p.Crease > 0 {
		mesh = mesh.Smooth(p.Crease)
	}
	parts := []render.Part{{Mesh: mesh}}
	if err := normaliseParts(parts); err != nil {
		return nil, fmt.Errorf("mesh %s: %w", p.Mesh, err)
	}
	return parts, nil
}

// normaliseParts puts parts in place, with the mean of their bounding box at the origin and the farthest vertex at the
// distance 1, and paints them grey by their brightness, the brightest white.
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
	far, brightest := 0.0, 0.0
	for _, p := range parts {
		brightest = max(brightest, p.Colour[0])
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
	for i, p := range parts {
		if brightest > 0 {
			grey := p.Colour[0] / brightest
			parts[i].Colour = [3]float64{grey, grey, grey}
		} else {
			parts[i].Colour = [3]float64{1, 1, 1}
		}
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
	*p = render.Part{Mesh: m, Colour: [3]float64{grey, grey, grey}}
	return nil
}
