package drawn

import (
	"cmp"
	"math"
	"slices"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/datasets/internal/painting"
	"github.com/unravel-ml/unravel/datasets/internal/render"
	"github.com/unravel-ml/unravel/datasets/internal/render/objects"
	"github.com/unravel-ml/unravel/internal/parallel"
)

// Cars is a twin of Cars3D (Reed et al. 2015) that we draw ourselves: a car of [objects.Car] seen from all sides, in
// Size x Size pixels with three channels. Its factors are, with the last one fastest,
//
//   - elevation: elevation of the camera above the road, evenly spaced from 5 to 41 degrees (ordinal)
//   - azimuth: azimuth of the camera around the car, level/Azimuths of a full turn from its front, in degrees
//     (circular)
//   - object: the car, [objects.Car] of its number, or of its place in the Order (categorical)
//
// The light moves with the camera. The default is the 17,568 combinations of Cars3D with 64 x 64 pixels.
type Cars struct {
	Size       int    `yaml:"size" doc:"height and width of the images, pixels"`
	Elevations int    `yaml:"elevations" doc:"number of heights of the camera"`
	Azimuths   int    `yaml:"azimuths" doc:"number of camera positions around the car"`
	Objects    int    `yaml:"objects" doc:"number of cars"`
	Order      string `yaml:"order,omitempty" doc:"order of the cars: luminance, the darkest first; absent: none. It matters to metrics that use level numbers as values, such as projected metrics"`
}

// byLuminance orders cars by the luminance of their surface, the darkest first.
const byLuminance = "luminance"

// maxObjects is the maximum number of generated objects, which take up to 0.2 MB each.
const maxObjects = 1 << 10

func (c *Cars) Validate() error {
	if err := painting.ValidSide(c.Size); err != nil {
		return err
	}
	if c.Order != "" && c.Order != byLuminance {
		return config.Invalid("order", "unknown order %q; want luminance, or nothing", c.Order)
	}
	return cmp.Or(painting.Levels("elevations", c.Elevations, painting.MaxViews),
		painting.Levels("azimuths", c.Azimuths, painting.MaxViews), painting.Levels("objects", c.Objects, maxObjects))
}

// Build creates the cars. Images are drawn on first use.
func (c *Cars) Build(uint64) (datasets.Dataset, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	elevations, azimuths := between(5, 41, c.Elevations), painting.WholeTurn(c.Azimuths)
	set := gridSet{name: "cars", shape: [3]int{c.Size, c.Size, 3}, grid: factor.Grid{
		{Name: "elevation", Size: c.Elevations, Kind: factor.Ordinal, Values: elevations},
		{Name: "azimuth", Size: c.Azimuths, Kind: factor.Circular, Values: azimuths},
		{Name: "object", Size: c.Objects, Kind: factor.Categorical},
	}}
	models := make([]*model, c.Objects)
	parallel.For(c.Objects, func(_, n int) { models[n] = newModel(objects.Car(uint64(n))) })
	if c.Order == byLuminance {
		slices.SortStableFunc(models, func(a, b *model) int { return cmp.Compare(a.luminance(), b.luminance()) })
	}
	light := lighting{ambient: 0.42, sky: 0.95, shadow: 0.68, lights: []render.Light{
		{Direction: [3]float64{-0.5, 1, 0.55}, Colour: [3]float64{0.55, 0.55, 0.55}},
		{Direction: [3]float64{0.8, 0.25, 0.7}, Colour: [3]float64{0.22, 0.22, 0.22}},
	}}
	return newRendered(set, func() painter {
		p := newStage(c.Size)
		return func(i int, dst []uint8) {
			object, rest := i%c.Objects, i/c.Objects
			p.draw(models[object], elevations[rest/c.Azimuths], azimuths[rest%c.Azimuths], &light, dst)
		}
	}), nil
}

// luminance returns the mean luminance (Rec. 709) of an object's colours over its surface.
func (m *model) luminance() float64 {
	sum, surface := 0.0, 0.0
	for i, p := range m.parts {
		y := float64(0.2126*p.Colour[0]) + float64(0.7152*p.Colour[1]) + float64(0.0722*p.Colour[2])
		for _, t := range m.planes[i] {
			area := math.Sqrt(t.normal.dot(t.normal)) // twice the area of the triangle
			sum += float64(area * y)
			surface += area
		}
	}
	return sum / surface
}
