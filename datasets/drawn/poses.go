package drawn

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/datasets/factor/rotation"
	"github.com/unravel-ml/unravel/datasets/internal/painting"
	"github.com/unravel-ml/unravel/datasets/internal/render"
	"github.com/unravel-ml/unravel/datasets/internal/render/objects"
	"github.com/unravel-ml/unravel/graph/rng"
)

// Poses is an object on black in many poses and hues, drawn by package render. Each level of the categorical factor
// pose has a rotation R: image x(R) shows the vertices R v. Camera and light are fixed in the world, so the rotation g
// maps x(R) to x(g R). The camera on the z axis looks at the origin, y is up, and the light is a direction in the
// world. The factor hue is circular, with saturation 1. With only one hue, images are grey with one channel, and there
// is no factor hue. Images are ordered by pose, then by hue.
//
// The cone, the vase and the bottle are symmetric about an axis: a rotation about this axis does not change the image.
// The axis, a point on the sphere, therefore determines the image. The airplane looks different in all poses.
//
// Objects are centred at the middle of their bounding box, and scaled to put the farthest vertex at distance 1. The
// size therefore reveals nothing about the pose. Surfaces are matt. Their brightness is 0.3 + 0.7 max(0, n.l) on both
// sides, with the normal n and the direction of the light l.
type Poses struct {
	Object    string     `yaml:"object" doc:"cone, vase or bottle, which are symmetric about an axis, or airplane"`
	Mesh      string     `yaml:"mesh" doc:"mesh file to draw instead of the object: OFF, OBJ, STL or PLY"`
	Crease    float64    `yaml:"crease" doc:"largest angle in degrees between triangles shaded as one smooth surface; 0: flat; normals in the mesh file take precedence"`
	Rotations string     `yaml:"rotations" doc:"octahedral (24) or icosahedral (60): finite groups; hopf: a uniform grid; random: drawn with the seed"`
	Count     int        `yaml:"count" doc:"number of rotations: 72, 576, 4608 or 36864 for hopf, any number for random; 0: all of a group, otherwise 576"`
	Hues      int        `yaml:"hues" doc:"number of hues around the colour circle; 1: grey images"`
	Size      int        `yaml:"size" doc:"height and width of the images, pixels"`
	Camera    string     `yaml:"camera" doc:"perspective or orthographic"`
	Light     [3]float64 `yaml:"light" doc:"direction to the light in the world: x right, y up, z towards the viewer"`
}

// NewPoses returns the default settings.
func NewPoses() *Poses {
	return &Poses{Object: "cone", Crease: 40, Rotations: "hopf", Hues: 8, Size: 64, Camera: "perspective",
		Light: [3]float64{0.3, 0.5, 0.8}}
}

// maxPoses is the maximum number of rotations of a data set.
const maxPoses = 100000

func (p *Poses) Validate() error {
	if p.Mesh == "" && poseObjects[p.Object] == nil {
		names := slices.Sorted(maps.Keys(poseObjects))
		return config.Invalid("object", "unknown object %q; want %s", p.Object, strings.Join(names, ", "))
	}
	if err := p.validCount(); err != nil {
		return err
	}
	light := p.Light[0]*p.Light[0] + p.Light[1]*p.Light[1] + p.Light[2]*p.Light[2]
	switch {
	case !(p.Crease >= 0 && p.Crease <= 180):
		return config.Invalid("crease", "%v is out of range; want 0 to 180", p.Crease)
	case p.Hues < 1 || p.Hues > 4096:
		return config.Invalid("hues", "%d is out of range; want 1 to 4096", p.Hues)
	case p.Size < 8 || p.Size > 512:
		return config.Invalid("size", "%d is out of range; want 8 to 512", p.Size)
	case p.Camera != "perspective" && p.Camera != "orthographic":
		return config.Invalid("camera", "unknown camera %q; want perspective or orthographic", p.Camera)
	case !(light > 1e-12 && light < 1e12):
		return config.Invalid("light", "%v has no direction; want three numbers, not all 0, such as [0.3, 0.5, 0.8]", p.Light)
	}
	return nil
}

func (p *Poses) Reads() []datasets.Read { return datasets.ReadOf("mesh", p.Mesh) }

func (p *Poses) validCount() error {
	switch p.Rotations {
	case "octahedral", "icosahedral":
		if size := len(p.table(0)); p.Count != 0 && p.Count != size {
			return config.Invalid("count", "the group %s has %d rotations, not %d; want 0 or %d",
				p.Rotations, size, p.Count, size)
		}
	case "hopf":
		if p.Count != 0 && p.hopfLevel() < 0 {
			return config.Invalid("count", "a Hopf grid has 72, 576, 4608 or 36864 rotations, not %d", p.Count)
		}
	case "random":
		if p.Count < 0 || p.Count > maxPoses {
			return config.Invalid("count", "%d is out of range; want 1 to %d, or 0 for 576", p.Count, maxPoses)
		}
	default:
		return config.Invalid("rotations", "unknown choice %q; want octahedral, icosahedral, hopf or random", p.Rotations)
	}
	return nil
}

// hopfLevel returns the level of the Hopf grid with Count rotations, or -1 if there is none.
func (p *Poses) hopfLevel() int {
	for level := range 4 {
		if p.Count == rotation.HopfSize(level) || p.Count == 0 && level == 1 {
			return level
		}
	}
	return -1
}

func (p *Poses) table(seed uint64) [][9]float64 {
	switch p.Rotations {
	case "octahedral":
		return rotation.Octahedral()
	case "icosahedral":
		return rotation.Icosahedral()
	case "hopf":
		return rotation.Hopf(p.hopfLevel())
	}
	return rotation.Random(rng.New(seed, "poses"), cmp.Or(p.Count, rotation.HopfSize(1)))
}

// Build reads or creates the object. Images are drawn on first use.
func (p *Poses) Build(seed uint64) (datasets.Dataset, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	parts, err := p.parts()
	if err != nil {
		return nil, fmt.Errorf("dataset poses: %w", err)
	}
	table := p.table(seed)
	grid := factor.Grid{{Name: "pose", Size: len(table), Kind: factor.Categorical, Rotations: table}}
	scene := p.scene(parts)
	if err := scene.Check(); err != nil {
		return nil, fmt.Errorf("dataset poses: %w", err)
	}
	shades := gridSet{name: "poses", shape: [3]int{p.Size, p.Size, 1}, grid: grid}
	d := &poses{gridSet: shades, shades: newRendered(shades, func() painter { return posePainter(scene, table, p.Size) })}
	if p.Hues == 1 {
		return d, nil
	}
	hues, colours := painting.Hues(p.Hues)
	d.colours = colours
	d.shape[2] = 3
	d.grid = factor.Grid{grid[0], {Name: "hue", Size: p.Hues, Kind: factor.Circular, Values: hues}}
	return d, nil
}

// scene shows the unit ball with a margin of 5 %.
func (p *Poses) scene(parts []render.Part) render.Scene {
	s := render.Scene{Parts: parts, Lights: []render.Light{{Direction: p.Light, Colour: [3]float64{0.7, 0.7, 0.7}}},
		Ambient: 0.3}
	if p.Camera == "orthographic" {
		s.Camera.Half = 1.05
	}
	return s
}

// poseSamples is the number of samples along each side of a pixel.
const poseSamples = 4

// posePainter draws the brightness of a scene under each rotation of a table.
func posePainter(scene render.Scene, table [][9]float64, size int) painter {
	renderer, err := render.NewRenderer(size, size, poseSamples)
	if err != nil {
		panic(err) // sizes were validated
	}
	scene.Parts = slices.Clone(scene.Parts)
	colours := make([]uint8, 3*size*size)
	return func(i int, dst []uint8) {
		for k := range scene.Parts {
			scene.Parts[k].Turn = table[i]
		}
		renderer.Draw(&scene, colours)
		for i := range dst {
			dst[i] = colours[3*i]
		}
	}
}

// poses colours the grey images of a rendered set.
type poses struct {
	gridSet
	shades  *renderedSet // by pose
	colours [][3]float32
}

func (d *poses) Image(i int, dst []float32) {
	if d.colours == nil {
		d.shades.Image(i, dst)
		return
	}
	colour := d.colours[i%len(d.colours)]
	d.shades.Image(i/len(d.colours), dst)
	for i := d.shape[0]*d.shape[1] - 1; i >= 0; i-- { // backwards, because shades are expanded in place
		shade := dst[i]
		dst[3*i], dst[3*i+1], dst[3*i+2] = shade*colour[0], shade*colour[1], shade*colour[2]
	}
}

// poseObjects lists the built-in objects, which need no mesh file.
var poseObjects = map[string]func() []render.Part{
	"cone": objects.Cone, "vase": objects.Vase, "bottle": objects.Bottle,
	"airplane": func() []render.Part { return objects.Airplane(planeSeed) },
}

// planeSeed generates an airliner in bright colours.
const planeSeed = 11

// parts returns the object, centred and scaled; all parts use the coordinates of the object.
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

// normaliseParts moves and scales parts: the middle of their bounding box becomes the origin, and the farthest vertex
// gets distance 1. It replaces colours by their brightness (ITU-R BT.601), with white for the brightest part.
func normaliseParts(parts []render.Part) error {
	low, high := [3]float64{math.Inf(1), math.Inf(1), math.Inf(1)}, [3]float64{math.Inf(-1), math.Inf(-1), math.Inf(-1)}
	for _, p := range parts {
		if len(p.Mesh.Triangles) == 0 {
			return errors.New("the mesh has no triangles; want at least one")
		}
		for _, v := range p.Mesh.Vertices {
			for c := range v {
				low[c], high[c] = min(low[c], v[c]), max(high[c], v[c])
			}
		}
	}
	radius, brightest, greys := 0.0, 0.0, make([]float64, len(parts))
	for k, p := range parts {
		greys[k] = float64(0.299*p.Colour[0]) + float64(0.587*p.Colour[1]) + float64(0.114*p.Colour[2])
		brightest = max(brightest, greys[k])
		for i, v := range p.Mesh.Vertices {
			for c := range v {
				v[c] -= (low[c] + high[c]) / 2
			}
			p.Mesh.Vertices[i] = v
			radius = max(radius, math.Sqrt(vector(v).dot(v)))
		}
	}
	if !(radius > 0) || math.IsInf(radius, 0) {
		return errors.New("the mesh has no extent; want vertices at two places or more")
	}
	for k, p := range parts {
		grey := 1.0
		if brightest > 0 {
			grey = greys[k] / brightest
		}
		parts[k].Colour = [3]float64{grey, grey, grey}
		for i := range p.Mesh.Vertices {
			for c := range p.Mesh.Vertices[i] {
				p.Mesh.Vertices[i][c] /= radius
			}
		}
	}
	return nil
}
