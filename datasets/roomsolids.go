package datasets

import "math"

// solid is an object on the floor. Meet returns the distance to the point where a ray first enters the solid, the
// number of the side, and the normal there. A distance of 0 or less means that the ray misses.
type solid struct {
	meet func(eye, ray vector) (t float64, side int, normal vector)
}

// solids make the objects of a scale.
var solids = [...]func(scale float64) solid{cube, cylinder, ball, capsule}

// Sizes at scale 1.
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

// capsule is a tube with half a ball on each end.
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
