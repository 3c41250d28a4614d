package render

import "math"

// fragment is the part of a triangle that is visible in a pixel.
type fragment struct {
	id       int32
	count    int32 // number of samples
	col, row int32 // sums over the samples
}

// resolve shades the samples and averages them for each pixel.
func (r *Renderer) resolve(s *Scene, dst []uint8) {
	background := quantize(vector(s.Background))
	n := r.samples
	top, bottom := r.dirty.top/n, (r.dirty.bottom+n-1)/n
	left, right := r.dirty.left/n, (r.dirty.right+n-1)/n
	for y := range r.h {
		row := dst[3*r.w*y : 3*r.w*(y+1)]
		first, last := left, right
		if y < top || y >= bottom {
			first, last = r.w, r.w
		}
		for x := range first {
			*(*[3]uint8)(row[3*x:]) = background
		}
		for x := first; x < last; x++ {
			*(*[3]uint8)(row[3*x:]) = r.pixel(s, y, x, background)
		}
		for x := last; x < r.w; x++ {
			*(*[3]uint8)(row[3*x:]) = background
		}
	}
}

func (r *Renderer) pixel(s *Scene, y, x int, background [3]uint8) [3]uint8 {
	n := r.samples
	fragments := r.fragments[:0]
	last := -1
	for i := range n {
		row := n*y + i
		for j, id := range r.seen[row*r.cols+n*x:][:n] {
			if last < 0 || fragments[last].id != id {
				last = 0
				for last < len(fragments) && fragments[last].id != id {
					last++
				}
				if last == len(fragments) {
					fragments = append(fragments, fragment{id: id})
				}
			}
			f := &fragments[last]
			f.count++
			f.col += int32(n*x + j)
			f.row += int32(row)
		}
	}
	if len(fragments) == 1 && fragments[0].id < 0 {
		return background
	}
	var sum vec
	for i := range fragments {
		f := &fragments[i]
		colour := vector(s.Background)
		if f.id >= 0 {
			colour = r.shade(f, s.Ambient)
		}
		sum = sum.plus(colour.times(float64(f.count)))
	}
	return quantize(sum.times(1 / float64(n*n)))
}

// quantize rounds a colour to numbers from 0 to 255.
func quantize(colour vec) [3]uint8 {
	return [3]uint8{byteOf(colour.x), byteOf(colour.y), byteOf(colour.z)}
}

func byteOf(v float64) uint8 { return uint8(float64(255*clamp(v)) + 0.5) }

func clamp(v float64) float64 {
	if v > 0 {
		if v < 1 {
			return v
		}
		return 1
	}
	return 0
}

// shade returns the colour of a triangle at the mean position of a fragment's samples.
func (r *Renderer) shade(f *fragment, ambient float64) vec {
	p := r.part(f.id)
	corners := &p.Mesh.Triangles[f.id-p.first]
	a, b, c := &p.points[corners[0]], &p.points[corners[1]], &p.points[corners[2]]
	ab, ac := b.at.minus(a.at), c.at.minus(a.at)

	count := float64(f.count)
	x := (float64(f.col)/count - float64(r.cols-1)/2) * subUnits
	y := (float64(f.row)/count - float64(r.rows-1)/2) * subUnits
	origin, direction := r.lens.ray(x, y)

	normal := ab.cross(ac)
	if normal.dot(direction) > 0 { // the viewer sees the back
		normal = normal.times(-1)
	}
	if normals := p.Mesh.Normals; normals != nil {
		u, v, w := r.weights(a, b, c, x, y, origin, direction)
		smooth := vector(normals[corners[0]]).times(u).plus(vector(normals[corners[1]]).times(v)).plus(vector(normals[corners[2]]).times(w))
		smooth = apply(&p.turn, smooth)
		switch cos := smooth.dot(normal); {
		case cos > 0:
			normal = smooth
		case cos < 0:
			normal = smooth.times(-1)
		}
	}
	return r.lit(vector(p.Colour), normal.unit(), ambient)
}

// lit returns the light that a surface reflects.
func (r *Renderer) lit(colour, normal vec, ambient float64) vec {
	sum := vec{ambient, ambient, ambient}
	for i := range r.lights {
		if cos := normal.dot(r.lights[i].direction); cos > 0 {
			sum = sum.plus(r.lights[i].colour.times(cos))
		}
	}
	return vec{clamp(colour.x * sum.x), clamp(colour.y * sum.y), clamp(colour.z * sum.z)}
}

func (r *Renderer) part(id int32) *placed {
	low, high := 0, len(r.parts)
	for high-low > 1 {
		if middle := (low + high) / 2; r.parts[middle].first <= id {
			low = middle
		} else {
			high = middle
		}
	}
	return &r.parts[low]
}

// weights returns the barycentric weights of a triangle's corners at a point of the picture, times a positive number.
func (r *Renderer) weights(a, b, c *vertex, x, y float64, origin, direction vec) (u, v, w float64) {
	if a.x <= nowhere || b.x <= nowhere || c.x <= nowhere {
		return meet(origin, direction, a.at, b.at, c.at)
	}
	// The same corners decided the coverage of samples: inside the triangle, the weights have the same sign.
	ax, ay := float64(a.x)-x, float64(a.y)-y
	bx, by := float64(b.x)-x, float64(b.y)-y
	cx, cy := float64(c.x)-x, float64(c.y)-y
	u, v, w = float64(bx*cy)-float64(by*cx), float64(cx*ay)-float64(cy*ax), float64(ax*by)-float64(ay*bx)
	if !r.lens.ortho {
		u, v, w = u*a.near, v*b.near, w*c.near
	}
	return math.Abs(u), math.Abs(v), math.Abs(w)
}

// meet returns the barycentric weights of the point where a line of sight meets a triangle's plane (Moeller and
// Trumbore 1997). It moves the point into the triangle.
func meet(origin, direction, a, b, c vec) (u, v, w float64) {
	ab, ac := b.minus(a), c.minus(a)
	p := direction.cross(ac)
	det := ab.dot(p)
	t := origin.minus(a)
	v, w = t.dot(p)/det, direction.dot(t.cross(ab))/det
	if !(math.Abs(v)+math.Abs(w) <= math.MaxFloat64) { // the triangle is seen edge-on
		return 1, 1, 1
	}
	v, w = max(v, 0), max(w, 0)
	return max(1-v-w, 0), v, w
}
