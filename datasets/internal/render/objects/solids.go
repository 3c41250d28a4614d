package objects

import "math"

// loft returns the closed surface through consecutive rings with equal numbers of points, with flat ends. A ring of one
// point is a tip.
func loft(rings ...[]vec) *shape {
	s := &shape{}
	first := make([]int32, len(rings))
	for i, r := range rings {
		first[i] = int32(len(s.points))
		s.points = append(s.points, r...)
	}
	for i := range len(rings) - 1 {
		s.bridge(first[i], len(rings[i]), first[i+1], len(rings[i+1]))
	}
	last := len(rings) - 1
	for _, f := range triangulate(rings[0]) {
		s.faces = append(s.faces, [3]int32{first[0] + f[0], first[0] + f[2], first[0] + f[1]})
	}
	for _, f := range triangulate(rings[last]) {
		s.faces = append(s.faces, [3]int32{first[last] + f[0], first[last] + f[1], first[last] + f[2]})
	}
	return s
}

// bridge adds the triangles between two rings, given by their first points and sizes.
func (s *shape) bridge(a int32, n int, b int32, m int) {
	for j := range int32(max(n, m)) {
		next := (j + 1) % int32(max(n, m))
		switch {
		case m == 1:
			s.faces = append(s.faces, [3]int32{a + j, a + next, b})
		case n == 1:
			s.faces = append(s.faces, [3]int32{a, b + next, b + j})
		default:
			s.faces = append(s.faces, [3]int32{a + j, a + next, b + next}, [3]int32{a + j, b + next, b + j})
		}
	}
}

// triangulate cuts a flat polygon, which need not be convex, into triangles with the polygon's winding, by ear
// clipping.
func triangulate(polygon []vec) (faces [][3]int32) {
	var normal vec
	rest := make([]int32, len(polygon))
	for i, p := range polygon {
		normal = plus(normal, product(p, polygon[(i+1)%len(polygon)]))
		rest[i] = int32(i)
	}
	side := func(a, b, p int32) float64 {
		return dot(normal, product(minus(polygon[b], polygon[a]), minus(polygon[p], polygon[a])))
	}
	for len(rest) > 3 {
		n, cut := len(rest), -1
		for i := 0; i < n && cut < 0; i++ {
			a, b, c := rest[(i+n-1)%n], rest[i], rest[(i+1)%n]
			if side(a, b, c) <= 0 {
				continue
			}
			cut = i
			for _, p := range rest {
				if p != a && p != b && p != c && side(a, b, p) >= 0 && side(b, c, p) >= 0 && side(c, a, p) >= 0 {
					cut = -1
					break
				}
			}
		}
		cut = max(cut, 0) // the rest has no area
		faces = append(faces, [3]int32{rest[(cut+n-1)%n], rest[cut], rest[(cut+1)%n]})
		rest = append(rest[:cut], rest[cut+1:]...)
	}
	if len(rest) == 3 {
		faces = append(faces, [3]int32{rest[0], rest[1], rest[2]})
	}
	return faces
}

// ring returns n points of a super-ellipse around a point of the plane at height z. Exponent 2 gives an ellipse, and 8
// nearly a rectangle.
func ring(x, y, z, rx, ry, exponent float64, n int) []vec {
	points := make([]vec, n)
	for i := range points {
		sin, cos := sincos(360 * (float64(i) + 0.5) / float64(n))
		points[i] = vec{x + rx*power(cos, 2/exponent), y + ry*power(sin, 2/exponent), z}
	}
	return points
}

// power returns sign(v) |v|^e.
func power(v, e float64) float64 { return snap(math.Copysign(math.Pow(math.Abs(v), e), v)) }

// box returns a box around the origin with chamfered edges.
func box(w, h, d, chamfer float64) *shape { return taper(w, d, w, d, h, chamfer) }

// taper returns a chamfered box around the origin with different bottom (w0 x d0) and top (w1 x d1).
func taper(w0, d0, w1, d1, h, chamfer float64) *shape {
	level := func(y, t, inset float64) []vec {
		x, z, c := (w0+(w1-w0)*t)/2-inset, (d0+(d1-d0)*t)/2-inset, chamfer
		return []vec{{x, y, z - c}, {x - c, y, z}, {c - x, y, z}, {-x, y, z - c}, {-x, y, c - z}, {c - x, y, -z}, {x - c, y, -z}, {x, y, c - z}}
	}
	b := chamfer
	return loft(level(-h/2, 0, b), level(b-h/2, b/h, 0), level(h/2-b, 1-b/h, 0), level(h/2, 1, b))
}

// lathe returns the surface of revolution of a profile of radii and heights about the y axis, with n sides. Radius 0 is
// a tip.
func lathe(n int, profile ...[2]float64) *shape {
	rings := make([][]vec, len(profile))
	for i, p := range profile {
		if p[0] == 0 {
			rings[i] = []vec{{0, p[1], 0}}
			continue
		}
		for _, q := range ring(0, 0, p[1], p[0], p[0], 2, n) {
			rings[i] = append(rings[i], vec{q[0], q[2], q[1]})
		}
	}
	return loft(rings...)
}

// cylinder returns a chamfered cylinder around the origin, upright along y.
func cylinder(radius, height float64, n int) *shape {
	c := min(radius, height) * 0.12
	return lathe(n, [2]float64{radius - c, -height / 2}, [2]float64{radius, c - height/2}, [2]float64{radius, height/2 - c}, [2]float64{radius - c, height / 2})
}

// prism returns an upright prism (top 1), pyramid (top 0) or frustum around the origin.
func prism(n int, radius, height, top float64) *shape {
	return lathe(n, [2]float64{radius, -height / 2}, [2]float64{radius * top, height / 2})
}

// ball returns an ellipsoid around the origin.
func ball(rx, ry, rz float64, n int) *shape {
	rings := n / 2
	profile := [][2]float64{{0, -1}}
	for i := 1; i < rings; i++ {
		sin, cos := sincos(180 * float64(i) / float64(rings))
		profile = append(profile, [2]float64{sin, -cos})
	}
	return lathe(n, append(profile, [2]float64{0, 1})...).scale(rx, ry, rz)
}

// torus returns a torus around the y axis with n sides, each of m points.
func torus(radius, tube float64, n, m int) *shape {
	s := &shape{}
	for i := range n {
		s.points = append(s.points, ring(radius, 0, 0, tube, tube, 2, m)...)
		one := shape{points: s.points[i*m:]}
		one.turn(1, 360*float64(i)/float64(n))
	}
	for i := range n {
		s.bridge(int32(i*m), m, int32((i+1)%n*m), m)
	}
	return s
}

// limb returns a tube with round ends along a polyline; each point has a radius.
func limb(n int, line ...[4]float64) *shape {
	var rings [][]vec
	last := len(line) - 1
	at := func(i int) vec { return vec{line[i][0], line[i][1], line[i][2]} }
	axis := unit(minus(at(1), at(0)))
	side := unit(product(axis, vec{0.36, 0.48, 0.8}))
	circle := func(centre, along vec, radius float64) {
		side = unit(minus(side, times(along, dot(side, along))))
		up, points := product(along, side), make([]vec, n)
		for j := range points {
			sin, cos := sincos(360 * float64(j) / float64(n))
			points[j] = plus(centre, plus(times(side, radius*cos), times(up, radius*sin)))
		}
		rings = append(rings, points)
	}
	for i := range line {
		r := line[i][3]
		along := unit(minus(at(min(i+1, last)), at(max(i-1, 0))))
		if i == 0 {
			rings = append(rings, []vec{minus(at(0), times(along, 0.8*r))})
			circle(minus(at(0), times(along, 0.5*r)), along, 0.72*r)
		}
		circle(at(i), along, r)
		if i == last {
			circle(plus(at(i), times(along, 0.5*r)), along, 0.72*r)
			rings = append(rings, []vec{plus(at(i), times(along, 0.8*r))})
		}
	}
	return loft(rings...)
}

// station is a cross section of a body at z: a super-ellipse around (0, y) with half width rx and half height ry. If rx
// is 0, it is a tip.
type station struct{ z, y, rx, ry float64 }

// body returns the surface through cross sections along z, each with n points.
func body(n int, exponent float64, stations ...station) *shape {
	rings := make([][]vec, len(stations))
	for i, s := range stations {
		if s.rx == 0 {
			rings[i] = []vec{{0, s.y, s.z}}
			continue
		}
		rings[i] = ring(0, s.y, s.z, s.rx, s.ry, exponent, n)
	}
	return loft(rings...)
}

// wing returns a pair of wings along x. The leading edge of their roots is at the origin and faces +z. The arguments
// are half the span, the chords of root and tip, the distances of the tips back and up, and the thickness as a fraction
// of the chord.
func wing(half, root, tip, back, up, thickness float64) *shape {
	section := func(x, chord, z, y float64) []vec {
		t := thickness * chord
		return []vec{{x, y, z}, {x, y + 0.45*t, z - 0.1*chord}, {x, y + 0.55*t, z - 0.35*chord}, {x, y, z - chord}, {x, y - 0.45*t, z - 0.35*chord}, {x, y - 0.4*t, z - 0.1*chord}}
	}
	return loft(section(-half, tip, -back, up), section(0, root, 0, 0), section(half, tip, -back, up))
}
