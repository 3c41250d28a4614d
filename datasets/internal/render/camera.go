package render

import (
	"cmp"
	"fmt"
	"math"
)

// Camera is the viewer. The zero Camera is a perspective camera at (0, 0, 3) that shows the unit ball around the origin
// with a margin of 5%.
type Camera struct {
	Eye    [3]float64 // position; zero: (0, 0, 3)
	Target [3]float64 // point that appears in the centre of the picture
	Up     [3]float64 // direction that points up in the picture; zero: y
	Angle  float64    // angle of view of a perspective camera across the picture's shorter side, radians; 0: 2 asin(0.35)
	Half   float64    // half of the view across the shorter side, in world units; not 0: orthographic camera
	Near   float64    // minimum distance along the axis of anything drawn; 0: 0.01
}

// Check returns an error for a camera without a direction, and for numbers out of range.
func (c *Camera) Check() error {
	switch {
	case !finite(c.Eye) || !finite(c.Target) || !finite(c.Up):
		return fmt.Errorf("camera at %v looks at %v with %v up; want finite numbers", c.Eye, c.Target, c.Up)
	case c.eye() == c.Target:
		return fmt.Errorf("camera at %v looks at itself; want another target", c.Target)
	case !(c.Angle >= 0 && c.Angle < math.Pi):
		return fmt.Errorf("camera has an angle of view of %v; want 0 to less than pi", c.Angle)
	case !(c.Half >= 0 && c.Half <= math.MaxFloat64):
		return fmt.Errorf("camera shows half an extent of %v; want 0 or more", c.Half)
	case !(c.Near >= 0 && c.Near <= math.MaxFloat64):
		return fmt.Errorf("camera draws from %v on; want 0 or more", c.Near)
	}
	return nil
}

// Orbit returns the position of a camera that looks at the origin from a distance. At azimuth 0 and elevation 0 it is
// on +z; azimuth rotates towards +x, elevation towards +y (radians).
func Orbit(distance, azimuth, elevation float64) [3]float64 {
	sa, ca := Sincos(azimuth)
	se, ce := Sincos(elevation)
	return [3]float64{distance * (ce * sa), distance * se, distance * (ce * ca)}
}

func (c *Camera) eye() [3]float64 {
	if c.Eye == [3]float64{} {
		return [3]float64{0, 0, 3}
	}
	return c.Eye
}

// axes returns the camera's axes in world coordinates, by rows: right, up and back.
func (c *Camera) axes() [9]float64 {
	back := vector(c.eye()).minus(vector(c.Target)).unit()
	up := vector(c.Up).unit()
	if up == (vec{}) {
		up = vec{0, 1, 0}
	}
	right := up.cross(back)
	for _, other := range []vec{{0, 0, -1}, {1, 0, 0}} { // if up is parallel to the view
		if right.dot(right) < 1e-20 {
			right = other.cross(back)
		}
	}
	right = right.unit()
	up = back.cross(right)
	return [9]float64{right.x, right.y, right.z, up.x, up.y, up.z, back.x, back.y, back.z}
}

// lens is a camera with the data for a picture.
type lens struct {
	axes        [9]float64
	eye         vec
	ortho       bool
	focalLength float64 // subsamples per unit of x/depth (perspective) or x (orthographic)
	near        float64
}

// lens returns the lens for a picture with side samples along its shorter side.
func (c *Camera) lens(side int) lens {
	l := lens{axes: c.axes(), eye: vector(c.eye()), ortho: c.Half > 0, near: c.Near}
	l.near = cmp.Or(l.near, 0.01)
	halfSide := float64(side) / 2 * subUnits
	switch {
	case l.ortho:
		l.focalLength = halfSide / c.Half
	case c.Angle == 0:
		l.focalLength = halfSide * (math.Sqrt(1-0.35*0.35) / 0.35)
	default:
		sin, cos := Sincos(c.Angle / 2)
		l.focalLength = halfSide * (cos / sin)
	}
	return l
}

// ray returns the line of sight through a point, in camera coordinates. The point is in subsamples, y down.
func (l *lens) ray(x, y float64) (origin, direction vec) {
	x, y = x/l.focalLength, -y/l.focalLength
	if l.ortho {
		return vec{x, y, 0}, vec{0, 0, -1}
	}
	return vec{}, vec{x, y, -1}
}

// vec is a vector that the compiler keeps in registers, unlike an array. Products are converted to float64 before a
// sum, so the compiler does not fuse them.
type vec struct{ x, y, z float64 }

func vector(a [3]float64) vec   { return vec{a[0], a[1], a[2]} }
func (a vec) array() [3]float64 { return [3]float64{a.x, a.y, a.z} }
func (a vec) plus(b vec) vec    { return vec{a.x + b.x, a.y + b.y, a.z + b.z} }
func (a vec) minus(b vec) vec   { return vec{a.x - b.x, a.y - b.y, a.z - b.z} }

func (a vec) times(s float64) vec { return vec{float64(s * a.x), float64(s * a.y), float64(s * a.z)} }

func (a vec) dot(b vec) float64 { return float64(a.x*b.x) + float64(a.y*b.y) + float64(a.z*b.z) }

func (a vec) cross(b vec) vec {
	return vec{
		float64(a.y*b.z) - float64(a.z*b.y),
		float64(a.z*b.x) - float64(a.x*b.z),
		float64(a.x*b.y) - float64(a.y*b.x),
	}
}

// unit returns a vector of length 1, or 0 for 0.
func (a vec) unit() vec {
	square := a.dot(a)
	if square < 1e-200 || !(square < 1e200) { // squares may have overflowed or underflowed
		largest := max(math.Abs(a.x), math.Abs(a.y), math.Abs(a.z))
		if largest == 0 {
			return vec{}
		}
		a = vec{a.x / largest, a.y / largest, a.z / largest}
		square = a.dot(a)
	}
	return a.times(1 / math.Sqrt(square))
}

func (a vec) finite() bool { return math.Abs(a.x)+math.Abs(a.y)+math.Abs(a.z) <= math.MaxFloat64 }

// apply returns m*v for a matrix in row-major order.
func apply(m *[9]float64, v vec) vec {
	return vec{
		float64(m[0]*v.x) + float64(m[1]*v.y) + float64(m[2]*v.z),
		float64(m[3]*v.x) + float64(m[4]*v.y) + float64(m[5]*v.z),
		float64(m[6]*v.x) + float64(m[7]*v.y) + float64(m[8]*v.z),
	}
}

var identity = [9]float64{1, 0, 0, 0, 1, 0, 0, 0, 1}

// Sincos returns the sine and the cosine of an angle in radians, with the same bits on every machine. The error is
// below 1e-15 for angles up to 1e6. Multiples of pi/2 in float64 give exactly 0, 1 or -1.
func Sincos(angle float64) (sin, cos float64) {
	if !(math.Abs(angle) <= 1e6) {
		angle = math.Mod(angle, 2*math.Pi) // exact
	}
	quarter := math.RoundToEven(angle / (math.Pi / 2))
	// pi/2 in three parts; the first two have 33 bits, which makes their multiples exact
	r := angle - float64(quarter*halfPi1)
	r -= float64(quarter * halfPi2)
	r -= float64(quarter * halfPi3)
	if math.Abs(r) < 1e-16*max(1, math.Abs(angle)) {
		r = 0
	}
	s, c := series(r)
	switch int64(quarter) & 3 {
	case 0:
		return s, c
	case 1:
		return c, -s
	case 2:
		return -s, -c
	default:
		return -c, s
	}
}

// pi/2 = halfPi1 + halfPi2 + halfPi3, the first two with trailing zeros.
const (
	halfPi1 = 0x1.921fb544p+0
	halfPi2 = 0x1.0b4611a6p-34
	halfPi3 = 0x1.3198a2e037073p-69
)

// series sums the Taylor series for an angle of at most pi/4.
func series(r float64) (sin, cos float64) {
	q := r * r
	s, c := 1.0, 1.0
	for n := 18.0; n >= 2; n -= 2 {
		c = 1 - float64(float64(q/((n-1)*n))*c)
		s = 1 - float64(float64(q/(n*(n+1)))*s)
	}
	return r * s, c
}
