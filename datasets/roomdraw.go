package datasets

import "math"

// The room in its own coordinates: z is up, the floor is z = 0, and the object stands on it around the
// origin. The walls are x = -roomWall and y = -roomWall.
const (
	roomWall       = 2.6
	cameraDistance = 7.0 // from the z axis
	cameraHeight   = 3.0
	cameraTarget   = 0.8  // height above the origin that the camera looks at
	cameraWidth    = 0.31 // half of the picture's width, at distance 1
)

// The surfaces that a ray can hit: plain surfaces, and from surfaceObject on the sides of the object.
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

// vector is a point or a direction. The conversions in this file keep products separate from sums, which arm64 would
// otherwise fuse. They keep pixels equal on all machines.
type vector [3]float64

func (a vector) dot(b vector) float64 {
	return float64(a[0]*b[0]) + float64(a[1]*b[1]) + float64(a[2]*b[2])
}
func (a vector) scale(f float64) vector { return vector{f * a[0], f * a[1], f * a[2]} }
func (a vector) add(b vector) vector    { return vector{a[0] + b[0], a[1] + b[1], a[2] + b[2]} }
func (a vector) unit() vector           { return a.scale(1 / math.Sqrt(a.dot(a))) }

func (a vector) cross(b vector) vector {
	return vector{float64(a[1]*b[2]) - float64(a[2]*b[1]), float64(a[2]*b[0]) - float64(a[0]*b[2]), float64(a[0]*b[1]) - float64(a[1]*b[0])}
}

// light is the direction towards the light, which hangs in the room.
var light = vector{0.75, 0.35, 1.15}.unit()

// camera holds the origin and the axes of the rays.
type camera struct{ eye, forward, right, up vector }

// cameraAt looks at the corner from an angle off its bisector.
func cameraAt(angle float64) camera {
	sin, cos := math.Sincos(math.Pi/4 + angle)
	c := camera{eye: vector{cameraDistance * cos, cameraDistance * sin, cameraHeight}}
	c.forward = vector{0, 0, cameraTarget}.add(c.eye.scale(-1)).unit()
	c.right = c.forward.cross(vector{0, 0, 1}).unit()
	c.up = c.right.cross(c.forward)
	return c
}

// ray returns the direction through a point of a picture of width and height 2 half, in pixels from its top left
// corner.
func (c *camera) ray(x, y, half float64) vector {
	return c.forward.add(c.right.scale(cameraWidth * (x/half - 1))).add(c.up.scale(cameraWidth * (1 - y/half))).unit()
}

// drawRoom draws an object seen from an angle, in a picture of size x size pixels. It samples a pixel at its corners
// and its middle. If these show different surfaces, it samples the pixel on a grid.
func drawRoom(size int, object solid, angle float64) roomDrawing {
	c, half := cameraAt(angle), float64(size)/2
	corners := make([]int, (size+1)*(size+1))
	for i := range corners {
		corners[i], _ = object.look(c.eye, c.ray(float64(i%(size+1)), float64(i/(size+1)), half))
	}
	var d roomDrawing
	for p := range size * size {
		row, col := p/size, p%size
		surface, s := object.look(c.eye, c.ray(float64(col)+0.5, float64(row)+0.5, half))
		at := row*(size+1) + col
		if surface != corners[at] || surface != corners[at+1] || surface != corners[at+size+1] || surface != corners[at+size+2] {
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
		if n := len(d.plain) - 1; n >= 0 && p%size > 0 && d.plain[n].length < roomImage && int(d.plain[n].surface) == surface && int(d.plain[n].at)+int(d.plain[n].length) == p {
			d.plain[n].length++
			return
		}
		d.plain = append(d.plain, plainRun{uint16(p), 1, uint8(surface)})
		return
	}
	d.object = append(d.object, s)
	if n := len(d.runs) - 1; n >= 0 && int(d.runs[n].at)+int(d.runs[n].length) == p {
		d.runs[n].length++
		return
	}
	d.runs = append(d.runs, objectRun{uint16(p), 1})
}

// roomSamples is the number of samples along each side of a pixel.
const roomSamples = 5

// sample averages over a pixel.
func (o solid) sample(c *camera, p, size int) mixedPixel {
	m := mixedPixel{at: p}
	const part = 1.0 / (roomSamples * roomSamples)
	for n := range roomSamples * roomSamples {
		x := float64(p%size) + (float64(n%roomSamples)+0.5)/roomSamples
		y := float64(p/size) + (float64(n/roomSamples)+0.5)/roomSamples
		surface, s := o.look(c.eye, c.ray(x, y, float64(size)/2))
		m.white += float32(part * s.white)
		m.parts[hueOf(surface)] += float32(part * s.colour)
	}
	return m
}

// hueOf returns the hue of a surface: 0 the floor's, 1 the walls', 2 the object's.
func hueOf(surface int) int {
	switch {
	case surface >= surfaceObject:
		return 2
	case surface >= surfaceRight:
		return 1
	}
	return 0
}

// look returns the first surface that a ray hits, and its shade there.
func (o solid) look(eye, ray vector) (surface int, s shade) {
	if t, side, normal := o.meet(eye, ray); t > 0 {
		return surfaceObject + side, objectShade(ray, normal)
	}
	t := math.Inf(1)
	for plane, axis := range [3]int{2, 0, 1} { // floor, right wall, left wall
		at := -roomWall
		if plane == 0 {
			at = 0
		}
		if ray[axis] >= 0 {
			continue
		}
		if d := (at - eye[axis]) / ray[axis]; d < t {
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
