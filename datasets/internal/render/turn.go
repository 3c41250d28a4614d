package render

import "math"

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
