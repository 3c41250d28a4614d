package drawn

import (
	"cmp"
	"fmt"
	"math"
	"sync"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/internal/painting"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/memory"
	"github.com/unravel-ml/unravel/internal/parallel"
	"github.com/unravel-ml/unravel/models/hierarchy"
)

// Spaceshapes are the pictures of Ross and Doshi-Velez 2021, section 4.1, which we draw ourselves: a white moon, star
// or ship on a black sky, in Size x Size pixels. Each shape has a third of the images, in this order. The second half
// of the ships has a jet. All dimensions are uniform on [0, 1):
//
//   - x, y: position, from left to right and from bottom to top
//   - phase: phase of a moon, from a thin crescent to the full disc
//   - shine: shape of a star, from four thin rays to a full diamond
//   - rot: rotation of a ship, from 45 degrees counter-clockwise to 45 degrees clockwise
//   - jetlen: length of a ship's jet, from short to long
//
// The hierarchy consists of x, y and a categorical dimension with a group for each shape. The ship's group has rot and
// a categorical dimension jet, with the options none (empty) and jetlen.
//
// A picture is drawn with black and white pixels at four times the resolution along each side. Shapes move by whole
// pixels of this resolution (fine pixels). A triangle filter with a width of 8 fine pixels reduces the picture, first
// along rows and then along columns. Each result is rounded to 8 bits.
type Spaceshapes struct {
	Size    int  `yaml:"size" doc:"height and width of the images, pixels"`
	Samples int  `yaml:"samples" doc:"number of images"`
	Binary  bool `yaml:"binary" doc:"round pixels to black or white, a half to white"`
}

const (
	spaceImage = 64  // default height and width of the images
	spaceRatio = 4   // fine pixels along each side of an image pixel
	spaceSteps = 256 // number of distinct drawings along a shape's dimension
)

// The shapes: options of the categorical dimension.
const (
	moon = iota
	star
	ship
)

// size returns the height and width of the images; 0, the zero value in Go code, means 64.
func (s *Spaceshapes) size() int { return cmp.Or(s.Size, spaceImage) }

func (s *Spaceshapes) Validate() error {
	if err := painting.ValidSide(s.size()); err != nil {
		return err
	}
	if s.Samples < 1 || s.Samples > maxSamples/64 {
		return config.Invalid("samples", "%d is out of range; want 1 to %d", s.Samples, maxSamples/64)
	}
	if err := memory.Check(fmt.Sprintf("%d images of %d x %d", s.Samples, s.size(), s.size()),
		memory.Product(s.Samples, s.size(), s.size())); err != nil {
		return config.Invalid("samples", "%w", err)
	}
	return nil
}

// Build draws the images.
func (s *Spaceshapes) Build(seed uint64) (datasets.Dataset, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	size := s.size()
	d := &spaceshapes{dimensions: dimensions{name: "spaceshapes", shape: [3]int{size, size, 1}}}
	one := hierarchy.Hierarchy{{}}
	ships := hierarchy.Hierarchy{{}, {Options: []hierarchy.Hierarchy{{}, one}}}
	d.tree = hierarchy.Hierarchy{{}, {}, {Options: []hierarchy.Hierarchy{one, one, ships}}}
	d.categorical("shape", 3)
	d.categorical("jet", 2)
	for _, name := range []string{"x", "y", "phase", "shine", "rot", "jetlen"} {
		d.continuous(name, 0, 1)
	}
	d.pixels = make([]uint8, s.Samples*size*size)
	drawings := newDrawings(size)
	d.draw(s.Samples, seed, func(i int, stream *rng.Stream) {
		choice, v := d.choiceRow(i), d.valueRow(i)
		choice[0] = int8(3 * i / s.Samples)
		v[0], v[1], v[2+choice[0]] = stream.Float64(), stream.Float64(), stream.Float64()
		if choice[0] == ship {
			choice[1] = int8(6*i/s.Samples - 4)
			if choice[1] == 1 {
				v[5] = stream.Float64()
			}
		}
		image := d.pixels[i*size*size:][:size*size]
		drawings.render(int(choice[0]), choice[1] == 1, v, image)
		if s.Binary {
			for p, b := range image {
				image[p] = 255 * (b >> 7)
			}
		}
	})
	return d, nil
}

type spaceshapes struct {
	dimensions
	pixels []uint8
}

func (d *spaceshapes) Image(i int, dst []float32) {
	size := d.shape[0] * d.shape[1]
	for p, b := range d.pixels[i*size:][:size] {
		dst[p] = float32(b) / 255
	}
}

// drawing holds the pixels of a shape in the middle of the fine picture: a square of 2 radius x 2 radius around the
// centre, with 1 inside the shape.
type drawing struct {
	size   int // size of the image
	radius int
	pixels []uint8
}

// drawings holds the shapes at every step of their dimension.
type drawings struct {
	size               int // size of the image
	moons, stars, jets [spaceSteps]drawing
	ship               drawing
}

// Half the sides of the squares around the shapes, in fine pixels of images of 64 x 64. The ship's square contains
// every rotation.
const (
	roundRadius = 53
	shipRadius  = 84
)

func newDrawings(size int) *drawings {
	d := &drawings{size: size}
	round, wide := (roundRadius*size+spaceImage-1)/spaceImage, (shipRadius*size+spaceImage-1)/spaceImage
	parallel.For(spaceSteps, func(_, n int) {
		t := float64(n) / (spaceSteps - 1)
		d.moons[n] = paint(size, round, insideMoon(0.4*t))
		d.stars[n] = paint(size, round, insideStar(0.2*t))
		d.jets[n] = paint(size, wide, insideShip(0.25+float64(0.42*t)))
	})
	d.ship = paint(size, wide, insideShip(0))
	return d
}

// paint draws a shape. inside gets coordinates from the middle, right and down; 1 is a quarter of the picture.
func paint(size, radius int, inside func(right, down float64) bool) drawing {
	side := 2 * radius
	d := drawing{size, radius, make([]uint8, side*side)}
	for p := range d.pixels {
		if inside(float64(p%side-radius)/float64(size), float64(p/side-radius)/float64(size)) {
			d.pixels[p] = 1
		}
	}
	return d
}

// insideMoon is a disc with a dark part that grows with a.
func insideMoon(a float64) func(x, y float64) bool {
	const radius = 0.75
	return func(x, y float64) bool {
		if float64(x*x)+float64(y*y) > radius*radius {
			return false
		}
		half := math.Sqrt(float64(radius*radius) - float64(y*y)) // not fused on arm64
		return -half < x && x < half*(1-float64(4*a))
	}
}

// insideStar is a diamond with circles cut out of its sides; the cuts grow with a.
func insideStar(a float64) func(x, y float64) bool {
	const reach = 0.8
	q := reach/2 - a // the circle passes through (0, reach), (reach, 0) and (q, q)
	centre := (float64(reach*reach) - float64(2*q*q)) / (float64(2*reach) - float64(4*q))
	square := float64(centre*centre) + float64((reach-centre)*(reach-centre))
	return func(x, y float64) bool {
		x, y = math.Abs(x), math.Abs(y)
		if x+y > reach {
			return false
		}
		return a == 0 || float64((x-centre)*(x-centre))+float64((y-centre)*(y-centre)) > square
	}
}

// insideShip is a triangle with two jets of the given length, or without jets if the length is 0.
func insideShip(jet float64) func(x, y float64) bool {
	const (
		size  = 1.1
		below = 25.0 / 64 // the distance by which the whole ship is moved down
	)
	root := math.Sqrt(3)
	return func(x, down float64) bool {
		// The rows of the drawing count up from -128 and are reversed, which shifts the drawing by one row.
		up := -down - 1.0/64 + below
		x = math.Abs(x)
		if up > 0 {
			return up < float64(root/2*size)-float64(root*x)
		}
		if jet == 0 {
			return false
		}
		if up > -0.11 {
			return up <= -0.1 && math.Abs(x-size/4) < size/6
		}
		return up > -0.11-jet && size/12 < x && x < 5*size/12
	}
}

// step returns the level nearest to a fraction of a dimension's range; ties go to the lower level.
func step(part float64) int { return int(math.Ceil(float64(part*(spaceSteps-1)) - 0.5)) }

func (d *drawings) render(shape int, jet bool, v []float64, image []uint8) {
	var from *drawing
	switch {
	case shape == moon:
		from = &d.moons[step(1-v[2])]
	case shape == star:
		from = &d.stars[step(0.165*(1-v[3])/0.2)]
	case jet:
		from = &d.jets[step(v[5])]
	default:
		from = &d.ship
	}
	if shape == ship {
		turned := from.rotate(float64((1-v[4])*90) - 45)
		from = &turned
	}
	unit, middle := float64(d.size), spaceRatio*d.size/2 // of a shape's coordinates
	row := middle - int(math.RoundToEven(float64(2*unit*v[1])-unit)) - from.radius
	column := middle + int(math.RoundToEven(float64(2*unit*v[0])-unit)) - from.radius
	from.reduce(row, column, image)
}

// rotate rotates a drawing counter-clockwise about the middle, between pixels, by nearest-neighbour sampling.
func (d *drawing) rotate(degrees float64) drawing {
	side := 2 * d.radius
	out := drawing{d.size, d.radius, make([]uint8, side*side)}
	sin, cos := math.Sincos(degrees * math.Pi / 180)
	middle := float64(d.radius) - 0.5
	for r := range side {
		for c := range side {
			y, x := float64(r)-middle, float64(c)-middle
			fromR := int(math.Floor(float64(cos*y) + float64(sin*x) + middle + 0.5))
			fromC := int(math.Floor(float64(cos*x) - float64(sin*y) + middle + 0.5))
			if uint(fromR) < uint(side) && uint(fromC) < uint(side) {
				out.pixels[r*side+c] = d.pixels[fromR*side+fromC]
			}
		}
	}
	return out
}

// reduce writes the image of a drawing with its upper left corner at a fine row and column. A pixel of the image covers
// eight fine pixels along each side, from two before its own four to two after them. Their weights are 1, 3, 5, 7, 7,
// 5, 3 and 1. Fine pixels outside the picture are ignored.
func (d *drawing) reduce(row, column int, image []uint8) {
	const pad = 2
	clear(image)
	size, fine, side := d.size, spaceRatio*d.size, 2*d.radius
	first, last := reached(column, side, size)
	skip, width := max(-column, 0), min(side, fine-column)
	room := reductions.Get().(*[]uint8)
	defer reductions.Put(room)
	if needed := (fine + 2*pad) * (size + 1); len(*room) < needed {
		*room = make([]uint8, needed)
	}
	line, narrow := (*room)[:fine+2*pad], (*room)[fine+2*pad:]
	clear(line)
	clear(narrow[:(fine+2*pad)*size])
	for r := max(row, 0); r < min(row+side, fine); r++ {
		copy(line[pad+column+skip:], d.pixels[(r-row)*side+skip:][:width-skip])
		out := narrow[(pad+r)*size:][:size]
		for o := first; o <= last; o++ {
			p := line[spaceRatio*o:][:8]
			sum := int(p[0]+p[7]) + 3*int(p[1]+p[6]) + 5*int(p[2]+p[5]) + 7*int(p[3]+p[4])
			out[o] = weighted(255*sum, o == 0 || o == size-1)
		}
	}
	top, bottom := reached(row, side, size)
	if last < first {
		return
	}
	for o := top; o <= bottom; o++ {
		out := image[o*size+first : o*size+last+1]
		row := func(k int) []uint8 { return narrow[(spaceRatio*o+k)*size+first:][:len(out)] } // the fine rows that the pixels cover
		p0, p1, p2, p3, p4, p5, p6, p7 := row(0), row(1), row(2), row(3), row(4), row(5), row(6), row(7)
		edge := o == 0 || o == size-1
		for c := range out {
			sum := int(p0[c]) + int(p7[c]) + 3*(int(p1[c])+int(p6[c])) + 5*(int(p2[c])+int(p5[c])) + 7*(int(p3[c])+int(p4[c]))
			out[c] = weighted(sum, edge)
		}
	}
}

// reached returns the range of pixels that a drawing covers.
func reached(corner, side, size int) (first, last int) {
	return max((corner-5)/spaceRatio, 0), min((corner+side+1)/spaceRatio, size-1)
}

// weighted divides a weighted sum by the sum of its weights and rounds the result, halves up. The first and the last
// pixel, at the edges, lack the weights 1 and 3.
func weighted(sum int, edge bool) uint8 {
	if edge {
		return uint8((sum + 14) / 28)
	}
	return uint8((sum + 16) / 32)
}

// reductions holds buffers for reduce: a fine line, and all fine rows at the columns of the image.
var reductions = sync.Pool{New: func() any { return new([]uint8) }}
