package drawn

import (
	"cmp"
	"math"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/datasets/internal/painting"
	"github.com/unravel-ml/unravel/internal/parallel"
)

// Room is a twin of 3D Shapes (Burgess and Kim 2018) that we draw ourselves. An object stands on the floor of a room,
// in front of a corner between two walls. Images have Size x Size pixels with three channels. The factors are, with the
// last one fastest,
//
//   - floor_hue, wall_hue, object_hue: hue, level/Hues of the colour circle (circular)
//   - scale: size of the object, evenly spaced from 0.75 to 1.25 (ordinal)
//   - shape: cube, cylinder, ball, capsule (categorical)
//   - orientation: angle of the camera around the object, evenly spaced from -30 to 30 degrees (ordinal). The walls,
//     the cube and the light rotate in the picture.
//
// The default is the 480,000 combinations of 3D Shapes with 64 x 64 pixels. If there is only one scale, it is 1; if
// there is only one orientation, it is 0 degrees.
type Room struct {
	Size         int `yaml:"size" doc:"height and width of the images, pixels"`
	Hues         int `yaml:"hues" doc:"number of hues of the floor, of the walls and of the object"`
	Scales       int `yaml:"scales" doc:"number of sizes of the object"`
	Orientations int `yaml:"orientations" doc:"number of camera positions"`
}

const (
	roomImage   = 64   // default height and width of the images, and the longest run of pixels that is copied at once
	maxRoomHues = 100  // a million colours of floor, walls and object
	maxRooms    = 1024 // scales times orientations (60 kB each)
)

// size returns the height and width of the images; 0, the zero value in Go code, means 64.
func (r *Room) size() int { return cmp.Or(r.Size, roomImage) }

func (r *Room) Validate() error {
	if err := painting.ValidSide(r.size()); err != nil {
		return err
	}
	switch pixels := len(solids) * r.size() * r.size(); { // pixels of one drawing of each solid
	case r.Hues < 1 || r.Hues > maxRoomHues:
		return config.Invalid("hues", "%d is out of range; want 1 to %d", r.Hues, maxRoomHues)
	case r.Scales < 1 || r.Scales > maxRooms:
		return config.Invalid("scales", "%d is out of range; want 1 to %d", r.Scales, maxRooms)
	case r.Orientations < 1 || r.Orientations > maxRooms/r.Scales:
		return config.Invalid("orientations", "%d is out of range; want 1 to %d, with %d scales",
			r.Orientations, maxRooms/r.Scales, r.Scales)
	case r.Scales*r.Orientations > maxPixels/pixels:
		return config.Invalid("orientations",
			"%d scales and %d orientations of %d x %d pixels need too much memory; want at most %d of both together at this size",
			r.Scales, r.Orientations, r.size(), r.size(), maxPixels/pixels)
	}
	return nil
}

// Build draws every shape once at every scale and orientation, without its colours.
func (r *Room) Build(uint64) (datasets.Dataset, error) {
	if err := r.Validate(); err != nil {
		return nil, err
	}
	hues, colours := painting.Hues(r.Hues)
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
		colours:  colours,
		drawings: make([]roomDrawing, r.Scales*len(solids)*r.Orientations),
	}
	parallel.For(len(d.drawings), func(_, n int) {
		o, rest := n%r.Orientations, n/r.Orientations
		d.drawings[n] = drawRoom(r.size(), solids[rest%len(solids)](scales[rest/len(solids)]), degrees[o]*math.Pi/180)
	})
	return d, nil
}

// between returns n evenly spaced numbers. If n is 1, it returns the middle.
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

// roomDrawing is a picture without hues: for each row of pixels, it lists the visible surfaces. Pixels of the same
// surface with equal shades have equal colours.
type roomDrawing struct {
	plain  []plainRun
	object []shade // shades of the pixels of runs, one run after the other
	runs   []objectRun
	mixed  []mixedPixel
}

// plainRun is a run of pixels of one plain surface, with a length of at most roomImage.
type plainRun struct {
	start   uint16 // the first pixel
	length  uint8
	surface uint8
}

// objectRun is a run of pixels that show only the object.
type objectRun struct{ start, length uint16 }

// mixedPixel is a pixel that shows several surfaces: fractions of white and of the hues of floor, walls and object.
type mixedPixel struct {
	index int
	white float32
	parts [3]float32
}

func (r *room) Image(i int, dst []float32) {
	hues, n := len(r.colours), len(r.drawings)
	drawing := &r.drawings[i%n]
	i /= n
	floor, wall, object := r.colours[i/hues/hues], r.colours[i/hues%hues], r.colours[i%hues]
	dst = dst[:r.shape[0]*r.shape[1]*3]
	var rows [plainSurfaces][3 * roomImage]float32 // rows of one colour
	for s := range rows {
		colour := wall
		if s == surfaceFloor || s == surfaceFloorShadow {
			colour = floor
		}
		fillRow(&rows[s], colour, plainShades[s])
	}
	for _, run := range drawing.plain {
		copy(dst[3*int(run.start):], rows[run.surface][:3*int(run.length)])
	}
	shades := drawing.object
	for _, run := range drawing.runs {
		part := dst[3*int(run.start):][:3*int(run.length)]
		for _, s := range shades[:run.length] {
			part[0], part[1], part[2] = s.white+float32(s.colour*object[0]), s.white+float32(s.colour*object[1]),
				s.white+float32(s.colour*object[2])
			part = part[3:]
		}
		shades = shades[run.length:]
	}
	for _, m := range drawing.mixed {
		pixel := dst[3*m.index : 3*m.index+3 : 3*m.index+3]
		for k := range pixel {
			pixel[k] = m.white + float32(m.parts[0]*floor[k]) + float32(m.parts[1]*wall[k]) + float32(m.parts[2]*object[k])
		}
	}
}

// fillRow fills a row of pixels with one shade of a colour.
func fillRow(row *[3 * roomImage]float32, colour [3]float32, shade float32) {
	for k := range colour {
		row[k] = shade * colour[k]
	}
	for n := 3; n < len(row); n *= 2 {
		copy(row[n:], row[:n])
	}
}

// The coordinates of the room: z is up, the floor is z = 0, and the object stands at the origin. The walls are x =
// -roomWall and y = -roomWall.
const (
	roomWall       = 2.6
	cameraDistance = 7.0 // distance from the z axis
	cameraHeight   = 3.0
	cameraTarget   = 0.8  // height above the origin of the point that the camera looks at
	cameraWidth    = 0.31 // half of the picture's width at distance 1
)

// Surfaces that a ray can hit: the plain surfaces, then the sides of the object from surfaceObject on.
const (
	surfaceFloor = iota
	surfaceFloorShadow
	surfaceRight // x = -roomWall
	surfaceRightShadow
	surfaceLeft
	surfaceLeftShadow
	plainSurfaces
	surfaceObject = plainSurfaces
)

// plainShades is the brightness of the plain surfaces.
var plainShades = [plainSurfaces]float32{0.95, 0.6, 0.8, 0.5, 0.65, 0.4}

// vector is a point or a direction. The conversions in this file keep arm64 from fusing products and sums, so pixels
// are equal on all machines.
type vector [3]float64

func (a vector) dot(b vector) float64 {
	return float64(a[0]*b[0]) + float64(a[1]*b[1]) + float64(a[2]*b[2])
}

func (a vector) scale(f float64) vector { return vector{f * a[0], f * a[1], f * a[2]} }
func (a vector) add(b vector) vector    { return vector{a[0] + b[0], a[1] + b[1], a[2] + b[2]} }
func (a vector) unit() vector           { return a.scale(1 / math.Sqrt(a.dot(a))) }

func (a vector) cross(b vector) vector {
	return vector{float64(a[1]*b[2]) - float64(a[2]*b[1]), float64(a[2]*b[0]) - float64(a[0]*b[2]),
		float64(a[0]*b[1]) - float64(a[1]*b[0])}
}

// light is the direction towards the light.
var light = vector{0.75, 0.35, 1.15}.unit()

// camera is the origin and the axes of the rays.
type camera struct{ eye, forward, right, up vector }

// cameraAt returns a camera that looks at the corner at an angle from the bisector.
func cameraAt(angle float64) camera {
	sin, cos := math.Sincos(math.Pi/4 + angle)
	c := camera{eye: vector{cameraDistance * cos, cameraDistance * sin, cameraHeight}}
	c.forward = vector{0, 0, cameraTarget}.add(c.eye.scale(-1)).unit()
	c.right = c.forward.cross(vector{0, 0, 1}).unit()
	c.up = c.right.cross(c.forward)
	return c
}

// ray returns the direction through a point of a picture of side 2 half, in pixels from its top left corner.
func (c *camera) ray(x, y, half float64) vector {
	return c.forward.add(c.right.scale(cameraWidth * (x/half - 1))).add(c.up.scale(cameraWidth * (1 - y/half))).unit()
}

// drawRoom draws an object seen from an angle, in a picture of size x size pixels. It samples each pixel at its corners
// and its middle. If these samples hit different surfaces, it samples the pixel on a grid.
func drawRoom(size int, object solid, angle float64) roomDrawing {
	c, half := cameraAt(angle), float64(size)/2
	corners := make([]int, (size+1)*(size+1))
	for i := range corners {
		corners[i], _ = object.trace(c.eye, c.ray(float64(i%(size+1)), float64(i/(size+1)), half))
	}
	var d roomDrawing
	for p := range size * size {
		row, col := p/size, p%size
		surface, s := object.trace(c.eye, c.ray(float64(col)+0.5, float64(row)+0.5, half))
		index := row*(size+1) + col
		if surface != corners[index] || surface != corners[index+1] || surface != corners[index+size+1] ||
			surface != corners[index+size+2] {
			d.mixed = append(d.mixed, object.sample(&c, p, size))
			continue
		}
		d.append(p, size, surface, s)
	}
	return d
}

// append adds a pixel that shows one surface.
func (d *roomDrawing) append(p, size, surface int, s shade) {
	if surface < plainSurfaces {
		if n := len(d.plain) - 1; n >= 0 && p%size > 0 && d.plain[n].length < roomImage &&
			int(d.plain[n].surface) == surface && int(d.plain[n].start)+int(d.plain[n].length) == p {
			d.plain[n].length++
			return
		}
		d.plain = append(d.plain, plainRun{uint16(p), 1, uint8(surface)})
		return
	}
	d.object = append(d.object, s)
	if n := len(d.runs) - 1; n >= 0 && int(d.runs[n].start)+int(d.runs[n].length) == p {
		d.runs[n].length++
		return
	}
	d.runs = append(d.runs, objectRun{uint16(p), 1})
}

// roomSamples is the number of samples along each side of a pixel.
const roomSamples = 5

// sample averages the samples of a pixel.
func (o solid) sample(c *camera, p, size int) mixedPixel {
	m := mixedPixel{index: p}
	const part = 1.0 / (roomSamples * roomSamples)
	for n := range roomSamples * roomSamples {
		x := float64(p%size) + (float64(n%roomSamples)+0.5)/roomSamples
		y := float64(p/size) + (float64(n/roomSamples)+0.5)/roomSamples
		surface, s := o.trace(c.eye, c.ray(x, y, float64(size)/2))
		m.white += float32(part * s.white)
		m.parts[hueOf(surface)] += float32(part * s.colour)
	}
	return m
}

// hueOf returns the index of a surface's hue: 0 for the floor, 1 for the walls, 2 for the object.
func hueOf(surface int) int {
	switch {
	case surface >= surfaceObject:
		return 2
	case surface >= surfaceRight:
		return 1
	}
	return 0
}

// trace returns the first surface that a ray hits, and its shade at that point.
func (o solid) trace(eye, ray vector) (surface int, s shade) {
	if t, side, normal := o.meet(eye, ray); t > 0 {
		return surfaceObject + side, objectShade(ray, normal)
	}
	t := math.Inf(1)
	for plane, axis := range [3]int{2, 0, 1} { // floor, right wall, left wall
		offset := -roomWall
		if plane == 0 {
			offset = 0
		}
		if ray[axis] >= 0 {
			continue
		}
		if d := (offset - eye[axis]) / ray[axis]; d < t {
			t, surface = d, 2*plane
		}
	}
	if blocked, _, _ := o.meet(eye.add(ray.scale(t)), light); blocked > 0 {
		surface++
	}
	return surface, shade{colour: plainShades[surface]}
}

// objectShade adds diffuse, specular and ambient light.
func objectShade(ray, normal vector) shade {
	toLight := normal.dot(light)
	s := shade{colour: float32(0.42 + float64(0.08*normal[2]) + float64(0.4*max(0, toLight)))}
	mirrored := normal.scale(2 * toLight).add(light.scale(-1))
	if shine := -mirrored.dot(ray); toLight > 0 && shine > 0 {
		s.white = float32(0.1 * math.Pow(shine, 12))
	}
	return s
}

// solid is an object on the floor. Meet returns the distance to the point where a ray enters the solid, the number of
// the side, and the normal. A distance of 0 or less means that the ray misses the solid.
type solid struct {
	meet func(eye, ray vector) (t float64, side int, normal vector)
}

// solids are the shapes as functions of the scale.
var solids = [...]func(scale float64) solid{cube, cylinder, ball, capsule}

// Lengths at scale 1.
const (
	cubeHalf       = 0.72
	cylinderRadius = 0.74
	cylinderHeight = 1.5
	ballRadius     = 0.88
	capsuleRadius  = 0.56
	capsuleHeight  = 2.1
)

func cube(scale float64) solid {
	low := vector{-cubeHalf * scale, -cubeHalf * scale, 0}
	high := vector{cubeHalf * scale, cubeHalf * scale, 2 * cubeHalf * scale}
	return solid{func(eye, ray vector) (float64, int, vector) {
		enter, leave, side := math.Inf(-1), math.Inf(1), 0
		for axis := range 3 {
			a, b := (low[axis]-eye[axis])/ray[axis], (high[axis]-eye[axis])/ray[axis]
			if a > b {
				a, b = b, a
			}
			if a > enter {
				enter, side = a, axis
			}
			leave = min(leave, b)
		}
		if !(enter < leave) {
			return 0, 0, vector{}
		}
		var normal vector
		normal[side] = math.Copysign(1, -ray[side])
		return enter, side, normal
	}}
}

func cylinder(scale float64) solid {
	r, h := cylinderRadius*scale, cylinderHeight*scale
	return solid{func(eye, ray vector) (float64, int, vector) {
		if t, p, ok := tube(eye, ray, r); ok && p[2] > 0 && p[2] < h {
			return t, 0, vector{p[0] / r, p[1] / r, 0}
		}
		if ray[2] < 0 { // the top
			t := (h - eye[2]) / ray[2]
			if p := eye.add(ray.scale(t)); float64(p[0]*p[0])+float64(p[1]*p[1]) < float64(r*r) {
				return t, 1, vector{0, 0, 1}
			}
		}
		return 0, 0, vector{}
	}}
}

func ball(scale float64) solid {
	r := ballRadius * scale
	return solid{func(eye, ray vector) (float64, int, vector) {
		t, normal := sphere(eye, ray, r, r)
		return t, 0, normal
	}}
}

// capsule is a tube with a half ball on each end.
func capsule(scale float64) solid {
	r, h := capsuleRadius*scale, capsuleHeight*scale
	return solid{func(eye, ray vector) (float64, int, vector) {
		if t, p, ok := tube(eye, ray, r); ok && p[2] > r && p[2] < h-r {
			return t, 0, vector{p[0] / r, p[1] / r, 0}
		}
		for _, z := range [2]float64{h - r, r} {
			if t, normal := sphere(eye, ray, r, z); t > 0 && (normal[2] > 0) == (z > r) {
				return t, 0, normal
			}
		}
		return 0, 0, vector{}
	}}
}

// tube returns the point where a ray enters the infinite cylinder around the z axis.
func tube(eye, ray vector, r float64) (t float64, p vector, ok bool) {
	a := float64(ray[0]*ray[0]) + float64(ray[1]*ray[1])
	b := float64(eye[0]*ray[0]) + float64(eye[1]*ray[1])
	root := float64(b*b) - float64(a*(float64(eye[0]*eye[0])+float64(eye[1]*eye[1])-float64(r*r)))
	if root <= 0 || a == 0 {
		return 0, p, false
	}
	t = (-b - math.Sqrt(root)) / a
	return t, eye.add(ray.scale(t)), t > 0
}

// sphere returns the point where a ray enters the ball around (0, 0, z); t is 0 or less if the ray misses.
func sphere(eye, ray vector, r, z float64) (t float64, normal vector) {
	from := eye.add(vector{0, 0, -z})
	b := from.dot(ray)
	root := float64(b*b) - from.dot(from) + float64(r*r)
	if root <= 0 {
		return 0, normal
	}
	t = -b - math.Sqrt(root)
	return t, from.add(ray.scale(t)).scale(1 / r)
}
