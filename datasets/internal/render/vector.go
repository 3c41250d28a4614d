package render

import "math"

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
