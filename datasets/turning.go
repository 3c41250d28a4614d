package datasets

import (
	"cmp"
	"fmt"
	"path/filepath"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/datasets/render"
)

// turning holds the settings for drawing objects on a turntable.
type turning struct {
	size, channels int
	views, hues    int
	lamp           bool    // the light has the hue, not the object
	elevation      float64 // degrees
	light          []float64
}

const (
	turningSamples = 4   // along a side of a pixel
	turningAmbient = 0.3 // the directional light has the rest
)

// validate checks the common settings of the data sets of turned objects.
func (t *turning) validate() error {
	if err := validSide(t.size); err != nil {
		return err
	}
	if err := cmp.Or(levels("views", t.views, maxViews), levels("hues", t.hues, maxViews)); err != nil {
		return err
	}
	switch {
	case t.channels != 1 && t.channels != 3:
		return config.Invalid("channels", "%d is out of range; want 1 or 3", t.channels)
	case t.channels == 1 && t.hues > 1:
		return config.Invalid("channels", "1 channel has no hue; want 3, or hues: 1")
	case !(t.elevation >= -90 && t.elevation <= 90):
		return config.Invalid("elevation", "%v is out of range; want -90 to 90 degrees", t.elevation)
	case len(t.light) != 3:
		return config.Invalid("light", "%d numbers; want the 3 of a direction", len(t.light))
	}
	for _, v := range t.light {
		if !(v >= -1e6 && v <= 1e6) {
			return config.Invalid("light", "%v is out of range; want -1e6 to 1e6", v)
		}
	}
	if t.light[0] == 0 && t.light[1] == 0 && t.light[2] == 0 {
		return config.Invalid("light", "a direction of length 0; want another")
	}
	return nil
}

// text is the canonical text of the settings that shape the pixels.
func (t *turning) text() string {
	return fmt.Sprintf("size=%d channels=%d views=%d hues=%d lamp=%t elevation=%v light=%v", t.size, t.channels, t.views, t.hues, t.lamp, t.elevation, t.light)
}

// grid returns the factors of so many objects: the rotation, and object and hue if they have more than one level.
func (t *turning) grid(objects int) factor.Grid {
	var grid factor.Grid
	if objects > 1 {
		grid = append(grid, factor.Factor{Name: "object", Size: objects, Kind: factor.Categorical})
	}
	if t.hues > 1 {
		hues := make([]float64, t.hues)
		for i := range hues {
			hues[i] = float64(i) / float64(t.hues)
		}
		grid = append(grid, factor.Factor{Name: "hue", Size: t.hues, Kind: factor.Circular, Values: hues})
	}
	return append(grid, factor.Factor{Name: "rotation", Size: t.views, Kind: factor.Circular, Values: wholeTurn(t.views)})
}

// turntable draws objects, for one goroutine at a time.
type turntable struct {
	*turning
	renderer *render.Renderer
	scene    render.Scene
	picture  []uint8 // with three channels
}

func (t *turning) newTurntable() *turntable {
	r, err := render.NewRenderer(t.size, t.size, min(turningSamples, 2048/t.size))
	if err != nil {
		panic(err) // sizes are validated
	}
	d := &turntable{turning: t, renderer: r, picture: make([]uint8, 3*t.size*t.size)}
	d.scene.Ambient = turningAmbient
	d.scene.Camera.Eye = render.Orbit(3, 0, radians(t.elevation))
	if t.elevation == 90 || t.elevation == -90 {
		d.scene.Camera.Up = [3]float64{0, 0, -t.elevation}
	}
	d.scene.Lights = []render.Light{{Direction: [3]float64(t.light)}}
	return d
}

// draw draws an object at a hue and a rotation.
func (t *turntable) draw(parts []render.Part, hue, view int, dst []uint8) {
	pure, lamp := [3]float64{1, 1, 1}, [3]float64{1, 1, 1}
	if t.hues > 1 {
		for k, v := range pureHue(float64(hue) / float64(t.hues)) {
			pure[k] = float64(v)
		}
	}
	if t.lamp {
		pure, lamp = lamp, pure
	}
	for k, v := range lamp {
		t.scene.Lights[0].Colour[k] = (1 - turningAmbient) * v
	}
	turn := aroundY(radians(360 * float64(view) / float64(t.views)))
	t.scene.Parts = t.scene.Parts[:0]
	brightest := 1e-6
	for _, p := range parts {
		brightest = max(brightest, p.Colour[0], p.Colour[1], p.Colour[2])
	}
	for _, p := range parts {
		p.Turn = turn
		if t.hues > 1 && !t.lamp {
			value := max(p.Colour[0], p.Colour[1], p.Colour[2]) / brightest
			for k := range pure {
				p.Colour[k] = value * pure[k]
			}
		}
		t.scene.Parts = append(t.scene.Parts, p)
	}
	if t.channels == 3 {
		t.renderer.Draw(&t.scene, dst)
		return
	}
	t.renderer.Draw(&t.scene, t.picture)
	for i := range dst {
		dst[i] = luma(t.picture[3*i], t.picture[3*i+1], t.picture[3*i+2])
	}
}

// luma returns the brightness of a colour by ITU-R BT.601.
func luma(r, g, b uint8) uint8 {
	return uint8((299*int(r) + 587*int(g) + 114*int(b) + 500) / 1000)
}

// readObject makes an object from the file of a mesh: white, and framed alike for all its rotations.
func readObject(name string, data []byte, zUp bool, crease float64) ([]render.Part, error) {
	m, err := render.Decode(name, data)
	if err != nil {
		return nil, err
	}
	if m.Normals == nil {
		if m = m.Smooth(crease); len(m.Triangles) == 0 {
			return nil, fmt.Errorf("%s: all %s has are triangles without an area; want a surface", name, filepath.Base(name))
		}
	}
	if zUp {
		m = m.Raise()
	}
	return []render.Part{{Mesh: m.Fit(), Colour: [3]float64{1, 1, 1}}}, nil
}
