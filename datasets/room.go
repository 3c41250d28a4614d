package datasets

import (
	"math"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/internal/parallel"
)

// Room is a twin of 3D Shapes (Burgess and Kim 2018), drawn by our own code: an object on the
// floor of a room, in front of the corner of two walls, Size x Size pixels in three channels. Its factors are, the last one
// fastest,
//
//   - floor_hue, wall_hue, object_hue: level/Hues of the colour circle (circular)
//   - scale: the size of the object, evenly spread from 0.75 to 1.25 (ordinal)
//   - shape: cube, cylinder, ball, capsule (categorical)
//   - orientation: the angle of the camera around the object, evenly spread from -30 to 30 degrees
//     (ordinal). The walls, the cube and the light rotate in the picture.
//
// The default is the 480,000 combinations of 3D Shapes, 64 x 64 pixels. A single scale is 1, a
// single orientation 0 degrees.
type Room struct {
	Size         int `yaml:"size" doc:"height and width of the images, pixels"`
	Hues         int `yaml:"hues" doc:"number of hues of the floor, of the walls and of the object"`
	Scales       int `yaml:"scales" doc:"number of sizes of the object"`
	Orientations int `yaml:"orientations" doc:"number of camera positions"`
}

const (
	roomImage   = 64   // height and width of the images by default, and the longest run of pixels that is copied at once
	maxRoomHues = 100  // a million colours of floor, walls and object
	maxRooms    = 1024 // scales times orientations (60 kB each)
)

// size returns the height and width of the images; 0, in Go code that says nothing, is 64.
func (r *Room) size() int {
	if r.Size == 0 {
		return roomImage
	}
	return r.Size
}

// Validate checks the settings.
func (r *Room) Validate() error {
	if err := validSide(r.size()); err != nil {
		return err
	}
	switch drawn := len(solids) * r.size() * r.size(); { // pixels of a drawing of each solid
	case r.Hues < 1 || r.Hues > maxRoomHues:
		return config.Invalid("hues", "%d is out of range; want 1 to %d", r.Hues, maxRoomHues)
	case r.Scales < 1 || r.Scales > maxRooms:
		return config.Invalid("scales", "%d is out of range; want 1 to %d", r.Scales, maxRooms)
	case r.Orientations < 1 || r.Orientations > maxRooms/r.Scales:
		return config.Invalid("orientations", "%d is out of range; want 1 to %d, with %d scales", r.Orientations, maxRooms/r.Scales, r.Scales)
	case r.Scales*r.Orientations > maxDrawn/drawn:
		return config.Invalid("orientations", "%d scales and %d orientations of %d x %d pixels need too much memory; want at most %d of both together at this size",
			r.Scales, r.Orientations, r.size(), r.size(), maxDrawn/drawn)
	}
	return nil
}

// Build draws every shape at every scale and orientation once, without its colours.
func (r *Room) Build(uint64) (Dataset, error) {
	if err := r.Validate(); err != nil {
		return nil, err
	}
	hues := make([]float64, r.Hues)
	for l := range hues {
		hues[l] = float64(l) / float64(r.Hues)
	}
	scales, degrees := between(0.75, 1.25, r.Scales), between(-30, 30, r.Orientations)
	d := &room{
		gridSet: gridSet{name: "room", shape: [3]int{r.size(), r.size(), 3}, grid: factor.Grid{
			{Name: "floor_hue", Size: r.Hues, Kind: factor.Circular, Values: hues},
			{Name: "wall_hue", Size: r.Hues, Kind: factor.Circular, Values: hues},
			{Name: "object_hue", Size: r.Hues, Kind: factor.Circular, Values: hues},
			{Name: "scale", Size: r.Scales, Kind: factor.Ordinal, Values: scales},
			{Name: "shape", Size: len(solids), Kind: factor.Categorical},
			{Name: "orientation", Size: r.Orientations, Kind: factor.Ordinal, Values: degrees},
		}},
		colours:  make([][3]float32, r.Hues),
		drawings: make([]roomDrawing, r.Scales*len(solids)*r.Orientations),
	}
	for l, h := range hues {
		d.colours[l] = pureHue(h)
	}
	parallel.For(len(d.drawings), func(_, n int) {
		o, rest := n%r.Orientations, n/r.Orientations
		d.drawings[n] = drawRoom(r.size(), solids[rest%len(solids)](scales[rest/len(solids)]), degrees[o]*math.Pi/180)
	})
	return d, nil
}

// between returns n evenly spread numbers; a single one is the middle.
func between(low, high float64, n int) []float64 {
	list := make([]float64, n)
	for i := range list {
		list[i] = (low + high) / 2
		if n > 1 {
			list[i] = low + (high-low)*float64(i)/float64(n-1)
		}
	}
	return list
}

type room struct {
	gridSet
	colours  [][3]float32  // by hue
	drawings []roomDrawing // by scale, shape and orientation
}

// roomDrawing is a picture without hues, as lists of what a row of pixels shows. A part of a
// surface with one shade has the same colour everywhere.
type roomDrawing struct {
	plain  []plainRun
	object []shade // of the pixels of runs, one run after the other
	runs   []objectRun
	mixed  []mixedPixel
}

// plainRun is a run of pixels of one plain surface, at most roomImage.
type plainRun struct {
	at      uint16 // the first pixel
	length  uint8
	surface uint8
}

// objectRun is a run of pixels that show the object alone.
type objectRun struct{ at, length uint16 }

// mixedPixel shows several surfaces: parts of white and of the hues of floor, walls and object.
type mixedPixel struct {
	at    int
	white float32
	parts [3]float32
}

func (r *room) Image(i int, dst []float32) {
	hues, n := len(r.colours), len(r.drawings)
	drawing := &r.drawings[i%n]
	i /= n
	floor, wall, object := r.colours[i/hues/hues], r.colours[i/hues%hues], r.colours[i%hues]
	dst = dst[:r.shape[0]*r.shape[1]*3]
	var rows [plainSurfaces][3 * roomImage]float32 // of one colour each
	for s := range rows {
		colour := wall
		if s == surfaceFloor || s == surfaceFloorShadow {
			colour = floor
		}
		fillRow(&rows[s], colour, plainShades[s])
	}
	for _, run := range drawing.plain {
		copy(dst[3*int(run.at):], rows[run.surface][:3*int(run.length)])
	}
	shades := drawing.object
	for _, run := range drawing.runs {
		part := dst[3*int(run.at):][:3*int(run.length)]
		for _, s := range shades[:run.length] {
			part[0], part[1], part[2] = s.white+float32(s.colour*object[0]), s.white+float32(s.colour*object[1]), s.white+float32(s.colour*object[2])
			part = part[3:]
		}
		shades = shades[run.length:]
	}
	for _, m := range drawing.mixed {
		pixel := dst[3*m.at : 3*m.at+3 : 3*m.at+3]
		for k := range pixel {
			pixel[k] = m.white + float32(m.parts[0]*floor[k]) + float32(m.parts[1]*wall[k]) + float32(m.parts[2]*object[k])
		}
	}
}

// fillRow fills a row of pixels with a shade of a colour.
func fillRow(row *[3 * roomImage]float32, colour [3]float32, shade float32) {
	for k := range colour {
		row[k] = shade * colour[k]
	}
	for n := 3; n < len(row); n *= 2 {
		copy(row[n:], row[:n])
	}
}
