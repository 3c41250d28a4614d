package render

// Turn returns the matrix, row by row, of the rotation about an axis by an angle in radians, counter-clockwise as seen
// against the axis. An axis of length 0 gives the identity.
func Turn(axis [3]float64, angle float64) [9]float64 {
	u := vector(axis).unit()
	if u == (vec{}) {
		return identity
	}
	sin, cos := Sincos(angle)
	rest := 1 - cos
	xy, yz, zx := float64(rest*float64(u.x*u.y)), float64(rest*float64(u.y*u.z)), float64(rest*float64(u.z*u.x))
	return [9]float64{
		float64(rest*float64(u.x*u.x)) + cos, xy - float64(sin*u.z), zx + float64(sin*u.y),
		xy + float64(sin*u.z), float64(rest*float64(u.y*u.y)) + cos, yz - float64(sin*u.x),
		zx - float64(sin*u.y), yz + float64(sin*u.x), float64(rest*float64(u.z*u.z)) + cos,
	}
}
