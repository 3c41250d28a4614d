// Package painting has what drawn data sets share: limits of settings, hues, and objects on a turntable.
package painting

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"path/filepath"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets/cache"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/datasets/internal/pictures"
	"github.com/unravel-ml/unravel/datasets/internal/render"
)

// Turntable holds the settings for drawing objects on a turntable.
type Turntable struct {
	Size, Channels int
	Views, Hues    int
	Lamp           bool    // the light has the hue instead of the object
	Elevation      float64 // degrees
	Light          []float64
}

const (
	turningSamples = 4   // number along each side of a pixel
	turningAmbient = 0.3 // the directional light has the rest
)

// Validate checks the settings that data sets of turned objects share.
func (t *Turntable) Validate() error {
	if err := ValidSide(t.Size); err != nil {
		return err
	}
	if err := cmp.Or(Levels("views", t.Views, MaxViews), Levels("hues", t.Hues, MaxViews)); err != nil {
		return err
	}
	switch {
	case t.Channels != 1 && t.Channels != 3:
		return config.Invalid("channels", "%d is out of range; want 1 or 3", t.Channels)
	case t.Channels == 1 && t.Hues > 1:
		return config.Invalid("channels", "1 channel has no hue; want 3, or hues: 1")
	case !(t.Elevation >= -90 && t.Elevation <= 90):
		return config.Invalid("elevation", "%v is out of range; want -90 to 90 degrees", t.Elevation)
	case len(t.Light) != 3:
		return config.Invalid("light", "%d numbers; want the 3 of a direction", len(t.Light))
	}
	for _, v := range t.Light {
		if !(v >= -1e6 && v <= 1e6) {
			return config.Invalid("light", "%v is out of range; want -1e6 to 1e6", v)
		}
	}
	if t.Light[0] == 0 && t.Light[1] == 0 && t.Light[2] == 0 {
		return config.Invalid("light", "a direction of length 0; want another")
	}
	return nil
}

// Text returns the canonical text of the settings that affect the pixels.
func (t *Turntable) Text() string {
	return fmt.Sprintf("size=%d channels=%d views=%d hues=%d lamp=%t elevation=%v light=%v",
		t.Size, t.Channels, t.Views, t.Hues, t.Lamp, t.Elevation, t.Light)
}

// Grid returns the factors of a number of objects: the rotation, and object and hue if they have more than one level.
func (t *Turntable) Grid(objects int) factor.Grid {
	var grid factor.Grid
	if objects > 1 {
		grid = append(grid, factor.Factor{Name: "object", Size: objects, Kind: factor.Categorical})
	}
	if t.Hues > 1 {
		hues, _ := Hues(t.Hues)
		grid = append(grid, factor.Factor{Name: "hue", Size: t.Hues, Kind: factor.Circular, Values: hues})
	}
	return append(grid, factor.Factor{Name: "rotation", Size: t.Views, Kind: factor.Circular, Values: WholeTurn(t.Views)})
}

// turner draws objects. It is not safe for concurrent use.
type turner struct {
	*Turntable
	renderer *render.Renderer
	scene    render.Scene
	picture  []uint8 // with three channels
}

func (t *Turntable) NewTurner() *turner {
	r, err := render.NewRenderer(t.Size, t.Size, min(turningSamples, 2048/t.Size))
	if err != nil {
		panic(err) // sizes were validated
	}
	d := &turner{Turntable: t, renderer: r, picture: make([]uint8, 3*t.Size*t.Size)}
	d.scene.Ambient = turningAmbient
	d.scene.Camera.Eye = render.Orbit(3, 0, Radians(t.Elevation))
	if t.Elevation == 90 || t.Elevation == -90 {
		d.scene.Camera.Up = [3]float64{0, 0, -t.Elevation}
	}
	d.scene.Lights = []render.Light{{Direction: [3]float64(t.Light)}}
	return d
}

// Draw draws an object at a hue and a rotation.
func (t *turner) Draw(parts []render.Part, hue, view int, dst []uint8) {
	pure, lamp := [3]float64{1, 1, 1}, [3]float64{1, 1, 1}
	if t.Hues > 1 {
		for k, v := range PureHue(float64(hue) / float64(t.Hues)) {
			pure[k] = float64(v)
		}
	}
	if t.Lamp {
		pure, lamp = lamp, pure
	}
	for k, v := range lamp {
		t.scene.Lights[0].Colour[k] = (1 - turningAmbient) * v
	}
	turn := AroundY(Radians(360 * float64(view) / float64(t.Views)))
	t.scene.Parts = t.scene.Parts[:0]
	brightest := 1e-6
	for _, p := range parts {
		brightest = max(brightest, p.Colour[0], p.Colour[1], p.Colour[2])
	}
	for _, p := range parts {
		p.Turn = turn
		if t.Hues > 1 && !t.Lamp {
			value := max(p.Colour[0], p.Colour[1], p.Colour[2]) / brightest
			for k := range pure {
				p.Colour[k] = value * pure[k]
			}
		}
		t.scene.Parts = append(t.scene.Parts, p)
	}
	if t.Channels == 3 {
		t.renderer.Draw(&t.scene, dst)
		return
	}
	t.renderer.Draw(&t.scene, t.picture)
	for i := range dst {
		dst[i] = luma(t.picture[3*i], t.picture[3*i+1], t.picture[3*i+2])
	}
}

// luma returns the brightness of a colour (ITU-R BT.601).
func luma(r, g, b uint8) uint8 { return uint8((299*int(r) + 587*int(g) + 114*int(b) + 500) / 1000) }

// ReadObject creates an object from a mesh file: white, and framed to fit at all rotations.
func ReadObject(name string, data []byte, zUp bool, crease float64) ([]render.Part, error) {
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

// ValidMesh checks the settings for reading files of meshes.
func ValidMesh(up string, crease float64) error {
	if up != "z" && up != "y" {
		return config.Invalid("up", "unknown axis %q; want z or y", up)
	}
	if !(crease >= 0 && crease <= 180) {
		return config.Invalid("crease", "%v is out of range; want 0 to 180 degrees", crease)
	}
	return nil
}

// TurntableVersion is the version of the rendering of cached meshes.
const TurntableVersion = 1

// Convert draws objects to the cache, each read by one goroutine. An error is about one of the unreadable objects.
func (t *Turntable) Convert(ctx context.Context, w *cache.Writer, objects int, read func(i int) ([]render.Part, error)) error {
	if err := w.Begin(objects*t.Hues*t.Views, t.Size, t.Size, t.Channels, t.Grid(objects)); err != nil {
		return err
	}
	return pictures.ForEach(ctx, objects, func() func(int) error {
		d, dst := t.NewTurner(), make([]uint8, t.Size*t.Size*t.Channels)
		return func(i int) error {
			parts, err := read(i)
			if err != nil {
				return err
			}
			for n := range t.Hues * t.Views {
				if err := ctx.Err(); err != nil {
					return err
				}
				d.Draw(parts, n/t.Views, n%t.Views, dst)
				if err := w.WriteAt(ctx, i*t.Hues*t.Views+n, dst); err != nil {
					return err
				}
			}
			return nil
		}
	})
}

// Levels returns an error if a number of levels is out of range.
func Levels(option string, count, most int) error {
	if count < 1 || count > most {
		return config.Invalid(option, "%d is out of range; want 1 to %d", count, most)
	}
	return nil
}

// MaxViews is the maximum number of levels of an angle.
const MaxViews = 1 << 10

// ValidSide returns an error if a height and width is out of range.
func ValidSide(size int) error {
	if size < leastSide || size > mostSide {
		return config.Invalid("size", "%d is out of range; want %d to %d pixels", size, leastSide, mostSide)
	}
	return nil
}

// Sides of drawn images.
const (
	leastSide = 16
	mostSide  = 256
)

// PureHue is the colour of a hue in [0, 1) at saturation and value 1.
func PureHue(h float64) [3]float32 {
	channel := func(n float64) float32 {
		k := math.Mod(n+float64(6*h), 6) // not fused, because the bits of a fused operation depend on the machine
		return float32(1 - max(0, min(k, 4-k, 1)))
	}
	return [3]float32{channel(5), channel(3), channel(1)}
}

// Hues returns n hues around the colour circle, from 0 up to 1, and their colours.
func Hues(n int) (hues []float64, colours [][3]float32) {
	for i := range n {
		h := float64(i) / float64(n)
		hues, colours = append(hues, h), append(colours, PureHue(h))
	}
	return hues, colours
}

// WholeTurn returns n evenly spaced angles of a full turn, in degrees.
func WholeTurn(n int) []float64 {
	list := make([]float64, n)
	for i := range list {
		list[i] = 360 * float64(i) / float64(n)
	}
	return list
}

func Radians(degrees float64) float64 { return degrees * (math.Pi / 180) }

// AroundY returns the rotation by an angle about the vertical axis, from +z to +x. aroundX rotates from +z to +y.
func AroundY(angle float64) [9]float64 {
	sin, cos := render.Sincos(angle)
	return [9]float64{cos, 0, sin, 0, 1, 0, -sin, 0, cos}
}
