package drawn

import (
	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/factor"
)

// Flatland is a white disc on black that moves in steps over a square. We draw it ourselves after the environment of
// Caselles-Dupré et al. 2019 and its version in Quessard et al. 2020. In image (i, j) of Period x Period images, the
// centre of the disc is at row c_i and column c_j,
//
//	c_i = Radius + 2 + i (Size - 1 - 2 Radius)/Period,
//
// in pixels; integers are the centres of pixels. The disc never touches an edge. Both factors are circular: a step
// beyond the last position leads to the first, and the disc jumps without any cue in the pixels.
//
// The public environments differ. The environment of 2019 crops a canvas of 84 x 84 x 3 to 64 x 64. Its disc moves in
// steps of 5 pixels, and the walls teleport it. Its positions drift and therefore form no single cycle. The environment
// of 2020 has this grid of positions, on a grey canvas of 84 x 84 without the crop. Both have hard edges.
type Flatland struct {
	Period  int `yaml:"period" doc:"positions along each axis"`
	Radius  int `yaml:"radius" doc:"radius of the disc, pixels"`
	Size    int `yaml:"size" doc:"height and width of the images, pixels"`
	Samples int `yaml:"samples" doc:"samples along each side of a pixel; 1: pixels are black or white"`
}

// NewFlatland returns the papers' settings as defaults.
func NewFlatland() *Flatland { return &Flatland{Period: 10, Radius: 15, Size: 64, Samples: 4} }

func (f *Flatland) Validate() error {
	switch {
	case f.Size < 8 || f.Size > 4096:
		return config.Invalid("size", "%d is out of range; want 8 to 4096", f.Size)
	case f.Radius < 1 || f.Radius > (f.Size-5)/2:
		return config.Invalid("radius", "%d is out of range; want 1 to %d at size %d", f.Radius, (f.Size-5)/2, f.Size)
	case f.Period < 2 || f.room() < 2*f.Period:
		return config.Invalid("period", "%d does not fit; want 2 to %d, steps of 2 pixels or more", f.Period, f.room()/2)
	case f.Samples < 1 || f.Samples > 16:
		return config.Invalid("samples", "%d is out of range; want 1 to 16", f.Samples)
	}
	return nil
}

// room returns Period times the distance between neighbouring positions, in pixels.
func (f *Flatland) room() int { return f.Size - 1 - 2*f.Radius }

func (f *Flatland) Build(uint64) (datasets.Dataset, error) {
	if err := f.Validate(); err != nil {
		return nil, err
	}
	centres := make([]float64, f.Period)
	for i := range centres {
		centres[i] = float64(f.centre(i)) / float64(f.unit())
	}
	return &flatland{
		Flatland: *f,
		gridSet: gridSet{name: "flatland", shape: [3]int{f.Size, f.Size, 1}, grid: factor.Grid{
			{Name: "row", Size: f.Period, Kind: factor.Circular, Values: centres},
			{Name: "column", Size: f.Period, Kind: factor.Circular, Values: centres},
		}},
	}, nil
}

// unit is the side of a pixel in the integer coordinates of the coverage test.
func (f *Flatland) unit() int { return 2 * f.Samples * f.Period }

// centre returns the disc's centre along an axis, in the integer coordinates.
func (f *Flatland) centre(i int) int { return 2 * f.Samples * (f.Period*(f.Radius+2) + i*f.room()) }

type flatland struct {
	Flatland
	gridSet
}

func (f *flatland) Image(i int, dst []float32) {
	dst = dst[:f.Size*f.Size]
	clear(dst)
	y, x := f.centre(i/f.Period), f.centre(i%f.Period)
	top, left := y/f.unit()-f.Radius-1, x/f.unit()-f.Radius-1
	for r := top; r <= top+2*f.Radius+3; r++ {
		for c := left; c <= left+2*f.Radius+3; c++ {
			if inside := f.inside(r, c, y, x); inside > 0 { // never outside the image
				dst[r*f.Size+c] = float32(inside) / float32(f.Samples*f.Samples)
			}
		}
	}
}

// inside counts the samples of a pixel that the disc around a centre covers.
func (f *flatland) inside(row, column, y, x int) (n int) {
	step, radius := 2*f.Period, f.Radius*f.unit()
	y, x = row*f.unit()-y-(f.Samples-1)*f.Period, column*f.unit()-x-(f.Samples-1)*f.Period
	for j := range f.Samples {
		for i := range f.Samples {
			if dy, dx := y+j*step, x+i*step; dy*dy+dx*dx <= radius*radius {
				n++
			}
		}
	}
	return n
}
