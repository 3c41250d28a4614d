package render

import "math"

// Products are converted to float64 before they are added: that is what keeps the compiler from fusing the two.

func dot(a, b [3]float64) float64 {
	return float64(a[0]*b[0]) + float64(a[1]*b[1]) + float64(a[2]*b[2])
}

func cross(a, b [3]float64) [3]float64 {
	return [3]float64{
		float64(a[1]*b[2]) - float64(a[2]*b[1]),
		float64(a[2]*b[0]) - float64(a[0]*b[2]),
		float64(a[0]*b[1]) - float64(a[1]*b[0]),
	}
}

func sub(a, b [3]float64) [3]float64 { return [3]float64{a[0] - b[0], a[1] - b[1], a[2] - b[2]} }

func add(a, b [3]float64) [3]float64 { return [3]float64{a[0] + b[0], a[1] + b[1], a[2] + b[2]} }

func scale(s float64, a [3]float64) [3]float64 {
	return [3]float64{float64(s * a[0]), float64(s * a[1]), float64(s * a[2])}
}

// unit returns a vector of length 1, or 0 for 0.
func unit(a [3]float64) [3]float64 {
	largest := max(math.Abs(a[0]), math.Abs(a[1]), math.Abs(a[2]))
	if largest == 0 {
		return a
	}
	if largest < 1e-100 || largest > 1e100 { // squares would leave the range
		a = [3]float64{a[0] / largest, a[1] / largest, a[2] / largest}
	}
	length := math.Sqrt(dot(a, a))
	return [3]float64{a[0] / length, a[1] / length, a[2] / length}
}

// apply returns m*v for a matrix by rows.
func apply(m *[9]float64, v [3]float64) [3]float64 {
	return [3]float64{
		float64(m[0]*v[0]) + float64(m[1]*v[1]) + float64(m[2]*v[2]),
		float64(m[3]*v[0]) + float64(m[4]*v[1]) + float64(m[5]*v[2]),
		float64(m[6]*v[0]) + float64(m[7]*v[1]) + float64(m[8]*v[2]),
	}
}

// Product returns the matrix a*b, both by rows: the turn b followed by the turn a.
func Product(a, b [9]float64) [9]float64 {
	var m [9]float64
	for i := range 3 {
		for j := range 3 {
			m[3*i+j] = float64(a[3*i]*b[j]) + float64(a[3*i+1]*b[3+j]) + float64(a[3*i+2]*b[6+j])
		}
	}
	return m
}

// Turn returns the matrix, by rows, of the rotation about an axis by an angle in radians, counter-clockwise for who looks
// against the axis. An axis of length 0 gives the identity.
func Turn(axis [3]float64, angle float64) [9]float64 {
	u := unit(axis)
	if u == [3]float64{} {
		return identity
	}
	sin, cos := Sincos(angle)
	rest := 1 - cos
	entry := func(i, j int, s float64) float64 { return float64(rest*float64(u[i]*u[j])) + s }
	return [9]float64{
		entry(0, 0, cos), entry(0, 1, float64(-sin*u[2])), entry(0, 2, float64(sin*u[1])),
		entry(1, 0, float64(sin*u[2])), entry(1, 1, cos), entry(1, 2, float64(-sin*u[0])),
		entry(2, 0, float64(-sin*u[1])), entry(2, 1, float64(sin*u[0])), entry(2, 2, cos),
	}
}

var identity = [9]float64{1, 0, 0, 0, 1, 0, 0, 0, 1}

// Sincos returns the sine and the cosine of an angle in radians, with the same bits on every machine. The error is below 1e-15
// for angles up to 1e6; multiples of pi/2, as float64 has them, give exactly 0, 1 or -1.
func Sincos(angle float64) (sin, cos float64) {
	if !(math.Abs(angle) <= 1e6) {
		angle = math.Mod(angle, 2*math.Pi) // exact
	}
	quarter := math.RoundToEven(angle / (math.Pi / 2))
	// pi/2 in three pieces, of which the first two have 33 bits: their multiples are exact.
	r := angle - float64(quarter*halfPi1)
	r -= float64(quarter * halfPi2)
	r -= float64(quarter * halfPi3)
	if math.Abs(r) < 1e-16*max(1, math.Abs(angle)) {
		r = 0
	}
	s, c := series(r)
	switch n := int64(quarter) & 3; n {
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
