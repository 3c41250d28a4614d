package objects

import (
	"math"

	"github.com/unravel-ml/unravel/datasets/internal/render"
	"github.com/unravel-ml/unravel/graph/rng"
)

// loft returns the closed surface through rings of equally many points, with flat ends. A ring of one point is a tip.
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

// triangulate cuts a flat polygon, not always convex, into triangles with the polygon's winding, by ear clipping.
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

// ring returns n points of a super-ellipse around a point at height z. Exponent 2 is an ellipse, 8 nearly a rectangle.
func ring(x, y, z, rx, ry, exponent float64, n int) []vec {
	points := make([]vec, n)
	for i := range points {
		sin, cos := sincos(360 * (float64(i) + 0.5) / float64(n))
		points[i] = vec{x + rx*power(cos, 2/exponent), y + ry*power(sin, 2/exponent), z}
	}
	return points
}

func power(v, e float64) float64 { return snap(math.Copysign(math.Pow(math.Abs(v), e), v)) }

// box returns a box around the origin with chamfered edges.
func box(w, h, d, chamfer float64) *shape { return taper(w, d, w, d, h, chamfer) }

// taper returns a chamfered box around the origin with different bottom (w0 x d0) and top (w1 x d1).
func taper(w0, d0, w1, d1, h, chamfer float64) *shape {
	level := func(y, t, inset float64) []vec {
		x, z, c := (w0+(w1-w0)*t)/2-inset, (d0+(d1-d0)*t)/2-inset, chamfer
		return []vec{{x, y, z - c}, {x - c, y, z}, {c - x, y, z}, {-x, y, z - c}, {-x, y, c - z}, {c - x, y, -z},
			{x - c, y, -z}, {x, y, c - z}}
	}
	b := chamfer
	return loft(level(-h/2, 0, b), level(b-h/2, b/h, 0), level(h/2-b, 1-b/h, 0), level(h/2, 1, b))
}

// lathe returns the surface of revolution of radii and heights about the y axis, with n sides. Radius 0 is a tip.
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
	return lathe(n, [2]float64{radius - c, -height / 2}, [2]float64{radius, c - height/2},
		[2]float64{radius, height/2 - c}, [2]float64{radius - c, height / 2})
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

// station is a cross section at z: a super-ellipse around (0, y) with half axes rx and ry. If rx is 0, it is a tip.
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
		return []vec{{x, y, z}, {x, y + 0.45*t, z - 0.1*chord}, {x, y + 0.55*t, z - 0.35*chord}, {x, y, z - chord},
			{x, y - 0.45*t, z - 0.35*chord}, {x, y - 0.4*t, z - 0.1*chord}}
	}
	return loft(section(-half, tip, -back, up), section(0, root, 0, 0), section(half, tip, -back, up))
}

// revolvedSides is the number of sides of objects that are symmetric about the y axis. At a radius of 30 pixels they
// deviate from the circle by a fiftieth of a pixel.
const revolvedSides = 96

// Cone returns a white cone with its tip along the y axis. It is symmetric about that axis, like [Vase] and [Bottle].
func Cone() []render.Part { return revolved([2]float64{0.55, -0.8}, [2]float64{0, 0.8}) }

// Vase returns a white vase with a foot, a belly, a neck and a hollow in its top.
func Vase() []render.Part {
	profile := [][2]float64{{0.34, -1}, {0.34, -0.94}}
	for i := range 25 {
		t := float64(i) / 24
		sin, _ := render.Sincos(math.Pi * (0.12 + float64(1.2*t)))
		profile = append(profile, [2]float64{0.22 + float64(0.38*max(sin, 0)) + float64(0.12*float64(t*t)),
			-0.9 + float64(1.8*t)})
	}
	return revolved(append(profile, [2]float64{0.42, 1}, [2]float64{0.34, 1}, [2]float64{0.2, 0.6}, [2]float64{0, 0.5})...)
}

// Bottle returns a white bottle with a neck and a cap.
func Bottle() []render.Part {
	return revolved([2]float64{0.36, -1}, [2]float64{0.4, -0.96}, [2]float64{0.4, 0.2}, [2]float64{0.37, 0.32},
		[2]float64{0.29, 0.43}, [2]float64{0.2, 0.52},
		[2]float64{0.14, 0.62}, [2]float64{0.13, 0.7}, [2]float64{0.13, 0.9}, [2]float64{0.17, 0.9}, [2]float64{0.17, 1})
}

func revolved(profile ...[2]float64) []render.Part {
	a := &assembly{}
	a.add(vec{1, 1, 1}, lathe(revolvedSides, profile...))
	return a.parts()
}

// Solid returns the solid of a seed, a substitute for the household objects of COIL-100 (Nene et al. 1996): a body with
// two to four smaller things on its sides and top, in several colours. No solid is symmetric about its vertical axis.
func Solid(seed uint64) []render.Part {
	s, a := rng.New(seed, "solid"), &assembly{}
	order := s.Perm(len(paints))
	colour := func(n int) vec { return paints[order[n%len(order)]] }
	width, height := within(s, 0.42, 0.8), within(s, 0.5, 1.1)
	a.add(colour(0), trunk(s, width, height))
	if s.IntN(2) == 0 { // a lid or a foot
		a.add(colour(1), prism(choice(s, 6, 12), 0.8*width, 0.16, within(s, 0.5, 1)).move(0, height/2+0.06, 0))
	}
	angle := within(s, 0, 360)
	for n := range 2 + s.IntN(3) {
		size := within(s, 0.2, 0.4) * (1 - 0.12*float64(n))
		thing := knob(s, size)
		reach := 0.85*width + 0.35*size
		y := within(s, -0.4, 0.45) * height
		if n == 1 { // on top, off the axis
			reach, y = 0.45*width, height/2+0.5*size
		}
		a.add(colour(2+n), thing.move(0, y, reach).turn(1, angle))
		angle += within(s, 70, 150)
	}
	return a.parts()
}

// Round returns a solid of a seed that looks the same from all sides, like the cans, jars, bowls and fruits of
// COIL-100. It is a solid of revolution with a lid, a neck or a stem.
func Round(seed uint64) []render.Part {
	s, a := rng.New(seed, "round solid"), &assembly{}
	order := s.Perm(len(paints))
	width, height := within(s, 0.42, 0.8), within(s, 0.6, 1.1)
	at := func(part, y float64) [2]float64 { return [2]float64{part * width, y * height} }
	top := height / 2
	switch s.IntN(4) {
	case 0: // a can
		a.add(paints[order[0]], lathe(roundSides, at(1, -0.5), at(1, 0.5)))
	case 1: // a jar
		a.add(paints[order[0]], lathe(roundSides, at(0.6, -0.5), at(within(s, 0.8, 1.1), -0.2), at(within(s, 0.6, 1), 0.1),
			at(within(s, 0.4, 0.7), 0.34), at(0.5, 0.5)))
	case 2: // a bowl
		a.add(paints[order[0]], lathe(roundSides, at(0.4, -0.5), at(within(s, 0.7, 0.9), -0.2), at(1.1, 0.3), at(1, 0.3)))
		top = 0.3 * height
	case 3: // a fruit
		a.add(paints[order[0]], lathe(roundSides, at(0, -0.5), at(0.55, -0.42), at(0.9, -0.2), at(1, 0.05), at(0.85, 0.3),
			at(0.5, 0.44), at(0, 0.5)))
	}
	lid, tall := within(s, 0.1, 0.45)*width, within(s, 0.1, 0.3)
	a.add(paints[order[1]], lathe(roundSides, [2]float64{lid, top - 0.05}, [2]float64{lid, top + tall}))
	return a.parts()
}

// roundSides is the number of sides of round solids, large enough to make rotations invisible.
const roundSides = 96

// trunk returns the body of a solid, around the origin.
func trunk(s *rng.Stream, width, height float64) *shape {
	switch s.IntN(6) {
	case 0:
		return box(1.7*width, height, within(s, 0.8, 1.7)*width, 0.1*width)
	case 1:
		return cylinder(width, height, 16)
	case 2:
		return prism(choice(s, 3, 5, 6), 1.1*width, height, within(s, 0.5, 1))
	case 3: // a vase
		return lathe(16, [2]float64{0.6 * width, -height / 2}, [2]float64{within(s, 0.8, 1.1) * width, -0.2 * height},
			[2]float64{within(s, 0.6, 1) * width, 0.1 * height},
			[2]float64{within(s, 0.25, 0.5) * width, 0.34 * height}, [2]float64{within(s, 0.4, 0.7) * width, height / 2})
	case 4:
		return ball(width, 0.6*height, within(s, 0.7, 1)*width, 14)
	}
	return taper(1.8*width, 1.8*width, within(s, 0.4, 1)*width, within(s, 0.8, 1.6)*width, height, 0.06*width)
}

// knob returns a small attachment, around the origin.
func knob(s *rng.Stream, size float64) *shape {
	switch s.IntN(7) {
	case 0:
		return ball(size, size, size, 10)
	case 1:
		return box(1.6*size, within(s, 0.8, 2)*size, 1.6*size, 0.15*size)
	case 2: // a handle
		return torus(size, 0.3*size, 12, 7).turn(2, 90)
	case 3: // a horn
		return prism(8, 0.8*size, 2.2*size, 0).turn(0, 90)
	case 4: // a spout
		return limb(8, [4]float64{0, -0.6 * size, -size, 0.42 * size}, [4]float64{0, 0, 0.2 * size, 0.36 * size},
			[4]float64{0, 1.1 * size, 0.8 * size, 0.28 * size})
	case 5:
		return cylinder(0.8*size, 1.6*size, 12).turn(0, 90)
	}
	return prism(4, 1.1*size, 1.6*size, within(s, 0, 0.6))
}
