package drawn

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/unravel-ml/unravel/datasets/internal/render"
	"github.com/unravel-ml/unravel/datasets/internal/render/objects"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/race"
)

// Triangles that face away are invisible, because surfaces are closed and their normals point outwards.
func TestStageLeavesOutHiddenTriangles(t *testing.T) {
	long.NotShort(t)
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
	for _, name := range long.Sample(slices.Sorted(maps.Keys(all)), 16) {
		parts := all[name]
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
			if different > 12 { // a side seen edge-on may be visible or not
				t.Errorf("%s: %d pixels differ from side %d", name, different, side)
			}
		}
	}
}

// Images of an arm are equal for new drawings, for stored drawings, and without memory for drawings. The latter two
// cases do not allocate.
func TestArmKeepsDrawings(t *testing.T) {
	built, err := (&Arm{Size: 64, Colours: 6, Shapes: 6, Sizes: 2, Heights: 3, Backgrounds: 3, Horizontal: 40, Vertical: 40}).Build(0)
	must.OK(t, err)
	d := built.(*arm)
	white := make([]float32, 3)
	if blend(white, []uint8{57, 57, 142}, &[3]int{255, 255, 255}, &[3]int{255, 255, 255}); white[0] != 1 { // rounded parts, of sum 256
		t.Errorf("a white pixel is %v", white)
	}
	first, again := make([]float32, 64*64*3), make([]float32, 64*64*3)
	for n := range 40 {
		i := n * (d.Len() / 40)
		d.room = maxCachedImages
		d.Image(i, first)
		if d.Image(i, again); !slices.Equal(first, again) {
			t.Errorf("image %d is another from its kept drawing", i)
		}
		kept := d.cached.Load()
		if other := (i + 1234567) % d.Len(); n == 0 {
			d.room = kept
			d.Image(other, first)
			if d.Image(other, again); !slices.Equal(first, again) || d.cached.Load() != kept {
				t.Errorf("image %d is another the second time without room, or %d bytes are kept in place of %d", other, d.cached.Load(), kept)
			}
			if a := testing.AllocsPerRun(5, func() { d.Image(other, again) }); a > 0 && !race.Enabled {
				t.Errorf("an image without room allocates %v times", a)
			}
			d.room = maxCachedImages
			if d.Image(other, again); !slices.Equal(first, again) || d.cached.Load() == kept {
				t.Errorf("image %d is another with room, or its drawing is not kept", other)
			}
		}
	}
}
