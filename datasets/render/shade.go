package render

import "math"

// fragment is what a pixel shows of a triangle.
type fragment struct {
	id       int32
	count    int32 // samples
	col, row int32 // sums over the samples
}

// resolve shades the samples and averages them over pixels.
func (r *Renderer) resolve(s *Scene, dst []uint8) {
	background := quantize(s.Background)
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

// pixel returns the mean of the samples of a pixel.
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
	var sum [3]float64
	for _, f := range fragments {
		colour := s.Background
		if f.id >= 0 {
			colour = r.shade(s, f)
		}
		sum = add(sum, scale(float64(f.count), colour))
	}
	return quantize(scale(1/float64(n*n), sum))
}

// quantize rounds a colour to numbers from 0 to 255.
func quantize(colour [3]float64) (c [3]uint8) {
	for k, v := range colour {
		c[k] = uint8(float64(255*min(max(v, 0), 1)) + 0.5)
	}
	return c
}

// shade returns the colour of a triangle at the mean place of a fragment's samples.
func (r *Renderer) shade(s *Scene, f fragment) [3]float64 {
	p := r.part(f.id)
	corners := &p.Mesh.Triangles[f.id-p.first]
	a := p.points[corners[0]].at
	ab, ac := sub(p.points[corners[1]].at, a), sub(p.points[corners[2]].at, a)

	count := float64(f.count)
	x := (float64(f.col)/count - float64(r.cols-1)/2) * subUnits
	y := (float64(r.rows-1)/2 - float64(f.row)/count) * subUnits
	origin, direction := r.lens.ray(x, y)

	normal := unit(cross(ab, ac))
	if dot(normal, direction) > 0 { // seen from behind
		normal = scale(-1, normal)
	}
	if p.Mesh.Normals != nil {
		u, v := meet(origin, direction, a, ab, ac)
		na, nb, nc := p.Mesh.Normals[corners[0]], p.Mesh.Normals[corners[1]], p.Mesh.Normals[corners[2]]
		smooth := unit(apply(&p.turn, add(add(scale(1-u-v, na), scale(u, nb)), scale(v, nc))))
		if dot(smooth, normal) < 0 {
			smooth = scale(-1, smooth)
		}
		if smooth != [3]float64{} {
			normal = smooth
		}
	}
	return r.lit(p.Colour, normal, s.Ambient)
}

// lit returns what a surface reflects.
func (r *Renderer) lit(colour, normal [3]float64, ambient float64) [3]float64 {
	light := [3]float64{ambient, ambient, ambient}
	for i := range r.lights {
		l := &r.lights[i]
		if cos := dot(normal, l.Direction); cos > 0 {
			light = add(light, scale(cos, l.Colour))
		}
	}
	for k := range light {
		light[k] = min(max(colour[k]*light[k], 0), 1)
	}
	return light
}

// part returns the part that a triangle belongs to.
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

// meet returns where a line of sight meets the plane of the triangle a, a+ab, a+ac: a + u*ab + v*ac, moved into the triangle
// (Moeller and Trumbore 1997).
func meet(origin, direction, a, ab, ac [3]float64) (u, v float64) {
	p := cross(direction, ac)
	det := dot(ab, p)
	t := sub(origin, a)
	q := cross(t, ab)
	u, v = dot(t, p)/det, dot(direction, q)/det
	if math.IsNaN(u) || math.IsNaN(v) || math.IsInf(u, 0) || math.IsInf(v, 0) { // seen from the side
		return 1. / 3, 1. / 3
	}
	u, v = max(u, 0), max(v, 0)
	if sum := u + v; sum > 1 {
		u, v = u/sum, v/sum
	}
	return u, v
}
