package objects

import (
	"github.com/unravel-ml/unravel/datasets/internal/render"
	"github.com/unravel-ml/unravel/graph/rng"
)

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
		a.add(paints[order[0]], lathe(roundSides, at(0.6, -0.5), at(within(s, 0.8, 1.1), -0.2), at(within(s, 0.6, 1), 0.1), at(within(s, 0.4, 0.7), 0.34), at(0.5, 0.5)))
	case 2: // a bowl
		a.add(paints[order[0]], lathe(roundSides, at(0.4, -0.5), at(within(s, 0.7, 0.9), -0.2), at(1.1, 0.3), at(1, 0.3)))
		top = 0.3 * height
	case 3: // a fruit
		a.add(paints[order[0]], lathe(roundSides, at(0, -0.5), at(0.55, -0.42), at(0.9, -0.2), at(1, 0.05), at(0.85, 0.3), at(0.5, 0.44), at(0, 0.5)))
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
		return lathe(16, [2]float64{0.6 * width, -height / 2}, [2]float64{within(s, 0.8, 1.1) * width, -0.2 * height}, [2]float64{within(s, 0.6, 1) * width, 0.1 * height},
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
		return limb(8, [4]float64{0, -0.6 * size, -size, 0.42 * size}, [4]float64{0, 0, 0.2 * size, 0.36 * size}, [4]float64{0, 1.1 * size, 0.8 * size, 0.28 * size})
	case 5:
		return cylinder(0.8*size, 1.6*size, 12).turn(0, 90)
	}
	return prism(4, 1.1*size, 1.6*size, within(s, 0, 0.6))
}
