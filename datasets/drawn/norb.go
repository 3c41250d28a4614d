package drawn

import (
	"cmp"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/datasets/internal/painting"
	"github.com/unravel-ml/unravel/datasets/internal/render"
	"github.com/unravel-ml/unravel/datasets/internal/render/objects"
	"github.com/unravel-ml/unravel/internal/parallel"
)

// Norb is a twin of SmallNORB (LeCun et al. 2004) that we draw ourselves: a grey toy of [objects.Figure] on a table, in
// Size x Size pixels with one channel. Its factors are, with the last one fastest,
//
//   - category: animal, human, plane, truck, car (categorical)
//   - instance: ten toys of each category (categorical); only with Instance
//   - elevation: elevation of the camera above the table, evenly spaced from 30 to 70 degrees (ordinal)
//   - azimuth: azimuth of the camera around the toy, level/Azimuths of a full turn from its front, in degrees
//     (circular)
//   - lighting: six lightings with different directions and brightness (categorical)
//
// Without Instance, ten images have the same levels, as in Locatello et al. 2019. The default is the 48,600
// combinations of SmallNORB with 64 x 64 pixels.
type Norb struct {
	Size       int  `yaml:"size" doc:"height and width of the images, pixels"`
	Instances  int  `yaml:"instances" doc:"number of toys of each category"`
	Elevations int  `yaml:"elevations" doc:"number of heights of the camera"`
	Azimuths   int  `yaml:"azimuths" doc:"number of camera positions around the toy"`
	Lightings  int  `yaml:"lightings" doc:"number of lightings"`
	Instance   bool `yaml:"instance" doc:"add the instance (10 of each category) as a factor after category; false: it varies as a nuisance"`
}

func (n *Norb) Validate() error {
	if err := painting.ValidSide(n.Size); err != nil {
		return err
	}
	return cmp.Or(painting.Levels("instances", n.Instances, objects.Instances),
		painting.Levels("elevations", n.Elevations, painting.MaxViews),
		painting.Levels("azimuths", n.Azimuths, painting.MaxViews),
		painting.Levels("lightings", n.Lightings, len(norbLights)))
}

// Build creates the toys. Images are drawn on first use.
func (n *Norb) Build(uint64) (datasets.Dataset, error) {
	if err := n.Validate(); err != nil {
		return nil, err
	}
	elevations, azimuths := between(30, 70, n.Elevations), painting.WholeTurn(n.Azimuths)
	set := gridSet{name: "norb", shape: [3]int{n.Size, n.Size, 1}, grid: factor.Grid{
		{Name: "category", Size: objects.Categories, Kind: factor.Categorical},
		{Name: "instance", Size: n.Instances, Kind: factor.Categorical},
		{Name: "elevation", Size: n.Elevations, Kind: factor.Ordinal, Values: elevations},
		{Name: "azimuth", Size: n.Azimuths, Kind: factor.Circular, Values: azimuths},
		{Name: "lighting", Size: n.Lightings, Kind: factor.Categorical},
	}}
	models := make([]*model, objects.Categories*n.Instances)
	parallel.For(len(models), func(_, i int) {
		models[i] = newModel(objects.Figure(objects.Category(i/n.Instances), i%n.Instances))
	})
	d := newRendered(set, func() painter {
		p, colour := newStage(n.Size), make([]uint8, 3*n.Size*n.Size)
		return func(i int, dst []uint8) {
			light, rest := i%n.Lightings, i/n.Lightings
			azimuth, rest := rest%n.Azimuths, rest/n.Azimuths
			p.draw(models[rest/n.Elevations], elevations[rest%n.Elevations], azimuths[azimuth], &norbLights[light], colour)
			for k := range dst {
				dst[k] = colour[3*k]
			}
		}
	})
	if n.Instance {
		return d, nil
	}
	return &without{renderedSet: d, factors: append(factor.Grid{set.grid[0]}, set.grid[2:]...)}, nil
}

// without is a Norb set without the factor instance.
type without struct {
	*renderedSet
	factors factor.Grid
}

func (d *without) Factors() []factor.Factor { return d.factors }

func (d *without) FactorsAt(i int, dst []int) {
	var levels [5]int
	d.grid.At(i, levels[:])
	dst[0] = levels[0]
	copy(dst[1:], levels[2:])
}

// norbLights are the lightings: from the left, the right, the front, above, both sides, and dim from behind.
var norbLights = [...]lighting{
	norbLight(0.4, 0.52, 0.34, [3]float64{-0.55, 1, 0.35}),
	norbLight(0.4, 0.52, 0.34, [3]float64{0.55, 1, 0.35}),
	norbLight(0.35, 0.62, 0.42, [3]float64{-0.1, 0.9, 0.8}),
	norbLight(0.5, 0.72, 0.52, [3]float64{0.15, 1, 0.1}),
	norbLight(0.3, 0.38, 0.25, [3]float64{-0.6, 0.8, 0}, [3]float64{0.9, 0.4, 0.5}),
	norbLight(0.32, 0.28, 0.18, [3]float64{0.25, 1, -0.5}),
}

// norbLight returns a lighting by directions of equal strength.
func norbLight(ambient, table, shadow float64, directions ...[3]float64) lighting {
	l := lighting{ambient: ambient, sky: table, shadow: shadow}
	for _, d := range directions {
		const strength = 0.7
		c := strength / (0.25 + 0.75*float64(len(directions)))
		l.lights = append(l.lights, render.Light{Direction: d, Colour: [3]float64{c, c, c}})
	}
	return l
}
