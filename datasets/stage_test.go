package datasets

import (
	"fmt"
	"testing"

	"github.com/unravel-ml/unravel/datasets/render"
	"github.com/unravel-ml/unravel/datasets/render/objects"
)

// Triangles that are left out because they face away would not have been seen: surfaces are closed, and their outer side is outside.
func TestStageLeavesOutHiddenTriangles(t *testing.T) {
	all := map[string][]render.Part{}
	for n := range 30 {
		all[fmt.Sprint("car ", n)] = objects.Car(uint64(n))
	}
	for n := range objects.Categories * objects.Instances {
		c := objects.Category(n / objects.Instances)
		all[fmt.Sprint(c, n%objects.Instances)] = objects.Figure(c, n%objects.Instances)
	}
	s, light := newStage(64), norbLights[0]
	culled, full := make([]uint8, 64*64*3), make([]uint8, 64*64*3)
	for name, parts := range all {
		m := newModel(parts)
		for side := range 6 {
			s.draw(m, 30, 60*float64(side), &light, culled)
			for i := range s.scene.Parts {
				mesh := *s.scene.Parts[i].Mesh
				mesh.Triangles = parts[i/2].Mesh.Triangles
				s.scene.Parts[i].Mesh = &mesh
			}
			s.renderer.Draw(&s.scene, full)
			different := 0
			for p := range full {
				if d := int(full[p]) - int(culled[p]); p%3 == 0 && (d < -20 || d > 20) {
					different++
				}
			}
			if different > 12 { // an edge-on side may be drawn or not
				t.Errorf("%s: %d pixels differ from side %d", name, different, side)
			}
		}
	}
}
