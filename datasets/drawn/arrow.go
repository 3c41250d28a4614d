package drawn

import (
	"math"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/datasets/internal/painting"
	"github.com/unravel-ml/unravel/internal/parallel"
)

// Arrow is a coloured arrow on black that rotates and changes its hue (the Arrow set of Tonnaer et al. 2022; their
// drawing is not public, so we draw the arrow ourselves). Image (i, j) has hue i/Hues, and is rotated counter-clockwise
// by j/Rotations of a full turn. At rotation 0 the arrow points right. Both factors are circular.
//
// The arrow is drawn anew for every rotation and averaged over a sub-pixel grid, without resampling. A change of hue
// keeps saturation and value.
type Arrow struct {
	Size      int `yaml:"size" doc:"height and width of the images, pixels"`
	Hues      int `yaml:"hues" doc:"number of hues around the colour circle"`
	Rotations int `yaml:"rotations" doc:"number of rotations in a full turn"`
}

// maxPixels is the maximum number of pixels of all drawings together (8 bytes each).
const maxPixels = 1 << 25

func (a *Arrow) Validate() error {
	switch {
	case a.Size < 8 || a.Size > 1024:
		return config.Invalid("size", "%d is out of range; want 8 to 1024", a.Size)
	case a.Hues < 2 || a.Hues > 4096:
		return config.Invalid("hues", "%d is out of range; want 2 to 4096", a.Hues)
	case a.Rotations < 2 || a.Rotations > 4096:
		return config.Invalid("rotations", "%d is out of range; want 2 to 4096", a.Rotations)
	case a.Rotations*a.Size*a.Size > maxPixels:
		return config.Invalid("rotations",
			"%d drawings of %d x %d pixels need too much memory; want at most %d rotations at this size",
			a.Rotations, a.Size, a.Size, maxPixels/(a.Size*a.Size))
	}
	return nil
}

// Build draws the arrow at every rotation.
func (a *Arrow) Build(uint64) (datasets.Dataset, error) {
	if err := a.Validate(); err != nil {
		return nil, err
	}
	hues, colours := painting.Hues(a.Hues)
	d := &arrow{
		gridSet: gridSet{name: "arrow", shape: [3]int{a.Size, a.Size, 3}, grid: factor.Grid{
			{Name: "hue", Size: a.Hues, Kind: factor.Circular, Values: hues},
			{Name: "rotation", Size: a.Rotations, Kind: factor.Circular, Values: painting.WholeTurn(a.Rotations)},
		}},
		colours:  colours,
		drawings: make([][]shade, a.Rotations),
	}
	parallel.For(a.Rotations, func(_, j int) {
		d.drawings[j] = drawArrow(a.Size, 2*math.Pi*float64(j)/float64(a.Rotations))
	})
	return d, nil
}

type arrow struct {
	gridSet
	colours  [][3]float32 // by hue
	drawings [][]shade    // by rotation, one shade per pixel
}

// shade is a colour without its hue. At saturation s and value v, the colour is white + colour*(pure hue), with white =
// v(1-s) and colour = v s. Both are linear in the colour, so a pixel averages them before the hue is chosen.
type shade struct{ white, colour float32 }

func (a *arrow) Image(i int, dst []float32) {
	rotations := a.grid[1].Size
	hue, drawing := a.colours[i/rotations], a.drawings[i%rotations]
	for p, s := range drawing {
		pixel := dst[3*p : 3*p+3 : 3*p+3]
		pixel[0] = s.white + float32(s.colour*hue[0])
		pixel[1] = s.white + float32(s.colour*hue[1])
		pixel[2] = s.white + float32(s.colour*hue[2])
	}
}

// subPixels is the number of samples along each side of a pixel.
const subPixels = 8

// drawArrow draws the arrow rotated counter-clockwise by an angle, as seen on a screen (y points down).
func drawArrow(size int, angle float64) []shade {
	drawing := make([]shade, size*size)
	sin, cos := math.Sincos(angle)
	unit := 2 / float64(size) // the image spans [-1, 1] in arrow coordinates
	for row := range size {
		for col := range size {
			x0, y0 := float64(unit*float64(col))-1, 1-float64(unit*float64(row))
			if math.Hypot(x0+unit/2, y0-unit/2) > arrowRadius+unit {
				continue
			}
			var white, colour float64
			for s := range subPixels * subPixels {
				x := x0 + unit*(float64(s%subPixels)+0.5)/subPixels
				y := y0 - unit*(float64(s/subPixels)+0.5)/subPixels
				saturation, value := arrowColour(float64(x*cos)+float64(y*sin), float64(y*cos)-float64(x*sin)) // not fused on arm64
				white += float64(value * (1 - saturation))
				colour += float64(value * saturation)
			}
			const samples = subPixels * subPixels
			drawing[row*size+col] = shade{float32(white / samples), float32(colour / samples)}
		}
	}
	return drawing
}

// The arrow points right, with its tip at x = arrowRadius and its tail at -arrowRadius. It stays inside the image at
// every rotation.
const (
	arrowRadius = 0.86
	headBase    = 0.06 // x where the head begins
	headHalf    = 0.56 // half the width of the head's base
	shaftHalf   = 0.20
	notch       = 0.16 // depth of the notch in the tail
)

// arrowColour is the saturation and value at a point of the arrow that points right. Outside the arrow, the value is 0.
// The shaft brightens from the tail to the head.
func arrowColour(x, y float64) (saturation, value float64) {
	y = math.Abs(y)
	switch {
	case x >= headBase && y <= headHalf*(arrowRadius-x)/(arrowRadius-headBase):
		return 1, 1
	case x < headBase && y <= shaftHalf && x >= -arrowRadius+float64(notch*(1-y/shaftHalf)):
		position := (x + arrowRadius) / (headBase + arrowRadius)
		return 0.8, 0.45 + float64(0.4*position)
	}
	return 0, 0
}
