package drawn

import (
	"cmp"
	"fmt"
	"math"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/datasets/internal/painting"
	"github.com/unravel-ml/unravel/internal/parallel"
)

// Sprites is a twin of dSprites (Matthey et al. 2017) that we draw ourselves: one white shape on a black image of Size
// x Size pixels. Its factors are, with the last one fastest,
//
//   - shape: square, ellipse, heart (categorical)
//   - scale: evenly spaced from 0.5 to 1 (ordinal)
//   - orientation: Orientations angles, 2 pi level/Orientations radians, counter-clockwise (circular). In dSprites, the
//     last angle repeats the first; here all angles differ. As in dSprites, a square looks the same after a quarter
//     turn, and an ellipse after half a turn.
//   - x, y: centre, from left to right and from top to bottom, evenly spaced from 0 to 1 (ordinal). A position moves
//     the shape by whole pixels, at most 31 of 64, and no shape is ever cut off.
//
// The default is the 737,280 combinations of dSprites with 64 x 64 pixels. For other sizes, shapes are drawn anew, not
// resampled. If there is only one scale, it is 1; if there is only one position, it is the middle. With an Extent of
// 0.77 the mean pixel is 0.0425, as in dSprites; otherwise it is 0.0718.
type Sprites struct {
	Size         int  `yaml:"size" doc:"height and width of the images, pixels"`
	Scales       int  `yaml:"scales" doc:"number of scales"`
	Orientations int  `yaml:"orientations" doc:"number of orientations in a full turn"`
	Positions    int  `yaml:"positions" doc:"number of positions along x, and along y"`
	Antialias    bool `yaml:"antialias" doc:"antialias the outlines with grey pixels"`
	Channels     int  `yaml:"channels" doc:"1, or 3 equal channels for models of colour images"`

	Extent  float64   `yaml:"extent,omitempty" doc:"height and width of all shapes, as a fraction of the largest shapes that fit; 0: 1. 0.77 gives the mean pixel of dSprites"`
	Extents []float64 `yaml:"extents,omitempty" doc:"fractions for the square, the ellipse and the heart, multiplied by extent; absent: 1 each"`
}

const (
	spriteImage = 64   // default height and width of the images, and the unit of the outlines
	spriteHalf  = 16   // radius of a circle around any shape, in pixels of these images
	maxSprites  = 4096 // scales times orientations (13 kB each)
	minExtent   = 0.1
)

// size returns the height and width of the images; 0, the zero value in Go code, means 64.
func (s *Sprites) size() int { return cmp.Or(s.Size, spriteImage) }

// half returns half the side of the box around a shape at any orientation, without the middle pixel.
func (s *Sprites) half() int { return (spriteHalf*s.size() + spriteImage - 1) / spriteImage }

// shift returns the largest displacement of the box, in pixels.
func (s *Sprites) shift() int { return s.size() - 2*s.half() - 1 }

func (s *Sprites) Validate() error {
	if err := painting.ValidSide(s.size()); err != nil {
		return err
	}
	switch pixels := len(shapes) * s.size() * s.size() / 4; { // pixels of one drawing of each shape
	case s.Scales < 1 || s.Scales > maxSprites:
		return config.Invalid("scales", "%d is out of range; want 1 to %d", s.Scales, maxSprites)
	case s.Orientations < 1 || s.Orientations > maxSprites/s.Scales:
		return config.Invalid("orientations", "%d is out of range; want 1 to %d, with %d scales",
			s.Orientations, maxSprites/s.Scales, s.Scales)
	case s.Scales*s.Orientations > maxPixels/pixels:
		return config.Invalid("orientations",
			"%d scales and %d orientations of %d x %d pixels need too much memory; want at most %d of both together at this size",
			s.Scales, s.Orientations, s.size(), s.size(), maxPixels/pixels)
	case s.Positions < 1 || s.Positions > s.shift()+1:
		return config.Invalid("positions", "%d is out of range; want 1 to %d in images of size %d, whole pixels",
			s.Positions, s.shift()+1, s.size())
	case s.Channels < 0 || s.Channels > 3 || s.Channels == 2: // 0, the zero value in Go code, means 1
		return config.Invalid("channels", "%d is out of range; want 1 or 3, or 0 for 1", s.Channels)
	case s.Extent != 0 && !(s.Extent >= minExtent && s.Extent <= 1): // rejects NaN
		return config.Invalid("extent", "%v is out of range; want %v to 1, or 0 for 1", s.Extent, minExtent)
	case len(s.Extents) > 0 && len(s.Extents) != len(shapes):
		return config.Invalid("extents", "there are %d; want %d, of the square, the ellipse and the heart, or none",
			len(s.Extents), len(shapes))
	}
	for n := range s.Extents {
		if e := s.extent(n); !(e >= minExtent && s.Extents[n] <= 1) { // rejects NaN
			return config.Invalid(fmt.Sprintf("extents.%d", n), "%v is out of range; want %v to 1",
				s.Extents[n], minExtent/s.extent(-1))
		}
	}
	return nil
}

// extent returns a shape's height and width as a fraction of the largest that fits, or for -1 their common extent.
func (s *Sprites) extent(shape int) float64 {
	e := cmp.Or(s.Extent, 1)
	if shape >= 0 && len(s.Extents) > 0 {
		e *= s.Extents[shape]
	}
	return e
}

// Build draws every shape once at every scale and orientation.
func (s *Sprites) Build(uint64) (datasets.Dataset, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	scales, angles := between(0.5, 1, s.Scales), make([]float64, s.Orientations)
	if s.Scales == 1 {
		scales[0] = 1
	}
	for l := range angles {
		angles[l] = 2 * math.Pi * float64(l) / float64(s.Orientations)
	}
	shift := s.shift()
	shifts, positions := make([]int, s.Positions), make([]float64, s.Positions)
	for l := range shifts {
		shifts[l] = shift / 2
		if s.Positions > 1 {
			shifts[l] = (2*shift*l + s.Positions - 1) / (2 * (s.Positions - 1)) // rounded
		}
		positions[l] = float64(shifts[l]) / float64(shift)
	}
	d := &sprites{
		gridSet: gridSet{name: "sprites", shape: [3]int{s.size(), s.size(), max(1, s.Channels)}, grid: factor.Grid{
			{Name: "shape", Size: len(shapes), Kind: factor.Categorical},
			{Name: "scale", Size: s.Scales, Kind: factor.Ordinal, Values: scales},
			{Name: "orientation", Size: s.Orientations, Kind: factor.Circular, Values: angles},
			{Name: "x", Size: s.Positions, Kind: factor.Ordinal, Values: positions},
			{Name: "y", Size: s.Positions, Kind: factor.Ordinal, Values: positions},
		}},
		shifts:   shifts,
		drawings: make([]sprite, len(shapes)*s.Scales*s.Orientations),
	}
	parallel.For(len(d.drawings), func(_, n int) {
		o, rest := n%s.Orientations, n/s.Orientations
		sin, cos := turn(o, s.Orientations)
		d.drawings[n] = drawSprite(&shapes[rest/s.Scales], s.extent(rest/s.Scales)*scales[rest%s.Scales], s.size(), sin, cos,
			s.Antialias)
	})
	return d, nil
}

type sprites struct {
	gridSet
	shifts   []int    // pixels, by level of x and y
	drawings []sprite // by shape, scale and orientation
}

// sprite is a drawing without the black rows and columns at its sides.
type sprite struct {
	top, left, width int
	pixels           []float32 // rows of width
}

func (s *sprites) Image(i int, dst []float32) {
	side, channels := s.shape[0], s.shape[2]
	dst = dst[:side*side*channels]
	clear(dst)
	positions := len(s.shifts)
	y, rest := i%positions, i/positions
	p := &s.drawings[rest/positions]
	offset := (s.shifts[y]+p.top)*side + s.shifts[rest%positions] + p.left
	for from := p.pixels; len(from) > 0; from = from[p.width:] {
		if row := from[:p.width]; channels == 1 {
			copy(dst[offset:], row)
		} else {
			grey(dst[3*offset:], row)
		}
		offset += side
	}
}

// grey writes three equal channels.
func grey(dst, row []float32) {
	for i, v := range row {
		pixel := dst[3*i : 3*i+3 : 3*i+3]
		pixel[0], pixel[1], pixel[2] = v, v, v
	}
}

// turn returns the sine and cosine of level/size of a full turn, exactly equal for angles a quarter turn apart.
func turn(level, size int) (sin, cos float64) {
	sin, cos = math.Sincos(math.Pi / 2 * float64(4*level%size) / float64(size))
	for range 4 * level / size {
		sin, cos = cos, -sin
	}
	return sin, cos
}

// outline is a shape in its own coordinates, in pixels at scale 1 in images of 64 x 64, y up.
type outline struct {
	inside func(x, y float64) bool
	radius float64 // radius of a circle around the origin that contains the shape
}

// At scale 1 the shapes stay inside a circle of 16 pixels, and therefore inside the box at every orientation.
var shapes = [...]outline{
	{func(x, y float64) bool { return math.Abs(x) <= squareHalf && math.Abs(y) <= squareHalf }, squareHalf * math.Sqrt2},
	{func(x, y float64) bool {
		return x*x/(ellipseLong*ellipseLong)+y*y/(ellipseShort*ellipseShort) <= 1
	}, ellipseLong},
	{insideHeart, 1.25 * heartSize},
}

const (
	squareHalf   = 11.2
	ellipseLong  = 15.6
	ellipseShort = 9.1

	heartSize   = 12.2
	heartCentre = 0.25 // height of the centre of the smallest circle around the heart, in the units of its formula; its radius is 1.25
)

// insideHeart reports whether a point is inside the curve (x^2 + y^2 - 1)^3 = x^2 y^3, which has its tip at the bottom.
func insideHeart(x, y float64) bool {
	x, y = x/heartSize, y/heartSize+heartCentre
	r := float64(x*x) + float64(y*y) - 1 // not fused on arm64
	return r*r*r <= x*x*y*y*y
}

// drawSprite draws a shape in the box of images of a size. Without antialias, a pixel is white if the shape covers its
// centre. With antialias, a pixel is the fraction that the shape covers.
func drawSprite(shape *outline, scale float64, size int, sin, cos float64, antialias bool) sprite {
	scale *= float64(size) / spriteImage // in pixels of the images
	half := (&Sprites{Size: size}).half()
	side := 2*half + 1
	samples := 1 // number along each side of a pixel
	if antialias {
		samples = subPixels
	}
	var room [(2*spriteHalf + 1) * (2*spriteHalf + 1)]float32
	box := room[:]
	if side*side > len(box) {
		box = make([]float32, side*side)
	}
	top, left, bottom, right := side, side, 0, 0
	reach := float64(shape.radius*scale) + 1
	for row := range side {
		for col := range side {
			x0, y0 := float64(col-half), float64(half-row) // centre of the pixel
			if float64(x0*x0)+float64(y0*y0) > reach*reach {
				continue
			}
			count := 0
			for s := range samples * samples {
				x := (x0 + (float64(s%samples)+0.5)/float64(samples) - 0.5) / scale
				y := (y0 - (float64(s/samples)+0.5)/float64(samples) + 0.5) / scale
				if shape.inside(float64(x*cos)+float64(y*sin), float64(y*cos)-float64(x*sin)) {
					count++
				}
			}
			if count > 0 {
				top, left, bottom, right = min(top, row), min(left, col), max(bottom, row+1), max(right, col+1)
				box[row*side+col] = float32(count) / float32(samples*samples)
			}
		}
	}
	p := sprite{top: top, left: left, width: right - left}
	for row := top; row < bottom; row++ {
		p.pixels = append(p.pixels, box[row*side+left:row*side+right]...)
	}
	return p
}
