package objects

import (
	"github.com/unravel-ml/unravel/datasets/internal/render"
	"github.com/unravel-ml/unravel/graph/rng"
)

// Airplane returns the airplane of a seed: an airliner with two or four engines, a jet with engines at its tail, a
// fighter, a propeller plane with a high or a low wing, a biplane or a glider. Proportions and colours vary.
func Airplane(seed uint64) []render.Part {
	s, a := rng.New(seed, "airplane"), &assembly{}
	kinds := []func(*assembly,
		*rng.Stream){airliner, airliner, tailJet, fighter, sportsPlane, sportsPlane, biplane, glider, transport}
	kinds[s.IntN(len(kinds))](a, s)
	return a.parts()
}

// fuselage adds a body with round cross sections from the tail to the nose at z = length/2, with a cockpit window.
func fuselage(a *assembly, colour vec, length, radius, nose, tail, lift float64) {
	z := func(t float64) float64 { return length * (t - 0.5) }
	a.add(colour, body(12, 2,
		station{z(0), lift, 0, 0}, station{z(0.01), lift, 0.12 * radius, 0.16 * radius},
		station{z(0.5 * tail), 0.6 * lift, 0.55 * radius, 0.6 * radius}, station{z(tail), 0, radius, radius},
		station{z(1 - nose), 0, radius, radius}, station{z(1 - 0.45*nose), -0.05 * radius, 0.82 * radius, 0.82 * radius},
		station{z(1 - 0.12*nose), -0.14 * radius, 0.45 * radius, 0.45 * radius}, station{z(1), -0.2 * radius, 0, 0}))
	window := body(8, 3, station{z(1-0.72*nose) - 0.4*radius, 0, 0.5 * radius, 0.15 * radius},
		station{z(1 - 0.72*nose), 0, 0.62 * radius, 0.22 * radius},
		station{z(1 - 0.3*nose), -0.25 * radius, 0.5 * radius, 0.12 * radius})
	a.add(glass, window.move(0, 0.66*radius, 0))
}

// fin returns a vertical tail wing, with the root of its leading edge at (y, z).
func fin(y, z, height, root, tip, back float64) *shape {
	section := func(y, z, chord float64) []vec {
		t := 0.06 * chord
		return []vec{{0, y, z}, {t, y, z - 0.3*chord}, {0, y, z - chord}, {-t, y, z - 0.3*chord}}
	}
	return loft(section(y, z, root), section(y+height, z-back, tip))
}

// engine adds a turbine along z.
func engine(a *assembly, colour vec, x, y, z, length, radius float64) {
	cowl := body(8, 2, station{-length / 2, 0, 0.6 * radius, 0.6 * radius}, station{0, 0, radius, radius},
		station{length / 2, 0, 0.92 * radius, 0.92 * radius})
	inlet := body(8, 2, station{length/2 - 0.02, 0, 0.75 * radius, 0.75 * radius},
		station{length/2 + 0.015, 0, 0.7 * radius, 0.7 * radius})
	a.add(colour, both(cowl.move(x, y, z))...)
	a.add(rubber, both(inlet.move(x, y, z))...)
}

// propeller adds a spinner and blades around the z axis.
func propeller(a *assembly, colour vec, x, y, z, radius float64, blades int) {
	a.add(colour, body(8, 2, station{0, 0, 0.16 * radius, 0.16 * radius},
		station{0.12 * radius, 0, 0.12 * radius, 0.12 * radius}, station{0.3 * radius, 0, 0, 0}).move(x, y, z))
	for n := range blades {
		blade := box(0.16*radius, radius, 0.05*radius, 0.01*radius).move(0, radius/2, 0.06*radius).turn(2,
			20+360*float64(n)/float64(blades))
		a.add(rubber, blade.move(x, y, z))
	}
}

func airliner(a *assembly, s *rng.Stream) {
	first, second := twoPaints(s)
	hull := choice(s, white, first, metal)
	length, radius := within(s, 1.7, 2.4), within(s, 0.14, 0.2)
	half, root := within(s, 0.85, 1.2), within(s, 0.42, 0.6)
	back := within(s, 0.35, 0.65)
	fuselage(a, hull, length, radius, 0.18, 0.35, 0.35*radius)
	front := within(s, 0.15, 0.3)
	wings := choice(s, second, metal, second)
	a.add(wings, wing(half, root, 0.16, back, 0.1, 0.12).move(0, -0.5*radius, front))
	tail := -length/2 + 0.32
	a.add(wings, wing(0.38, 0.24, 0.1, 0.2, 0.03, 0.1).move(0, 0.3*radius, tail))
	a.add(second, fin(0.5*radius, tail+0.1, within(s, 0.38, 0.5), 0.34, 0.15, 0.28))
	four := s.IntN(3) == 0
	size := within(s, 0.065, 0.09)
	at := func(x float64) (y, z float64) { return -0.5*radius - 1.1*size + 0.1*x/half, front - back*x/half + 0.1 }
	y, z := at(0.36 * half)
	engine(a, second, 0.36*half, y, z, 0.3, size)
	if four {
		y, z = at(0.66 * half)
		engine(a, second, 0.66*half, y, z, 0.27, 0.85*size)
	}
	if s.IntN(2) == 0 { // a stripe of windows
		a.add(first, box(2*radius*1.01, 0.05, 0.5*length, 0.01).move(0, 0.02, 0.03*length))
	}
}

func tailJet(a *assembly, s *rng.Stream) {
	first, second := twoPaints(s)
	length, radius := within(s, 1.6, 2.1), within(s, 0.12, 0.16)
	fuselage(a, choice(s, white, first), length, radius, 0.22, 0.3, 0.2*radius)
	a.add(second, wing(within(s, 0.75, 1), within(s, 0.4, 0.5), 0.14, within(s, 0.25, 0.45), 0.06, 0.1).move(0,
		-0.7*radius, 0.1))
	tail, height := -length/2+0.3, within(s, 0.34, 0.44)
	a.add(second, fin(0.5*radius, tail+0.1, height, 0.36, 0.22, 0.26))
	a.add(first, wing(0.4, 0.24, 0.11, 0.16, 0, 0.1).move(0, 0.5*radius+height, tail-0.14))
	engine(a, first, 1.75*radius, 0.35*radius, -0.3*length+0.06, 0.38, 0.085)
	if s.IntN(3) == 0 {
		a.add(first, body(8, 2, station{-0.2, 0, 0.06, 0.06}, station{0.05, 0, 0.08, 0.08},
			station{0.1, 0, 0.07, 0.07}).move(0, 0.5*radius+0.11, tail+0.05))
	}
}

func fighter(a *assembly, s *rng.Stream) {
	first, second := twoPaints(s)
	length, r := within(s, 1.8, 2.2), within(s, 0.12, 0.15)
	z := func(t float64) float64 { return length * (t - 0.5) }
	a.add(first, body(8, 3, station{z(0), 0, 0.75 * r, 0.75 * r}, station{z(0.3), 0, 1.15 * r, r},
		station{z(0.62), 0, 1.1 * r, r}, station{z(0.78), 0, 0.7 * r, 0.8 * r}, station{z(0.93), -0.1 * r, 0.3 * r, 0.3 * r},
		station{z(1), -0.15 * r, 0, 0}))
	a.add(rubber, body(8, 2, station{z(0) - 0.05, 0, 0.5 * r, 0.5 * r}, station{z(0) + 0.02, 0, 0.62 * r, 0.62 * r}))
	a.add(yellow, body(8, 2, station{z(0.56), 0.6 * r, 0, 0}, station{z(0.63), 0.75 * r, 0.42 * r, 0.45 * r},
		station{z(0.72), 0.75 * r, 0.45 * r, 0.5 * r}, station{z(0.84), 0.35 * r, 0, 0}))
	delta := within(s, 0.7, 1.1)
	a.add(second, wing(within(s, 0.6, 0.8), delta, within(s, 0.12, 0.25), delta-within(s, 0.1, 0.3), -0.02, 0.05).move(0,
		0, z(0.2)+0.75*delta))
	if twin := s.IntN(2) == 0; twin {
		a.add(first, both(fin(0, 0, 0.36, 0.36, 0.16, 0.26).turn(2, -18).move(0.8*r, 0.6*r, z(0.2)))...)
	} else {
		a.add(first, fin(0.6*r, z(0.28), 0.42, 0.5, 0.18, 0.36))
	}
	if s.IntN(2) == 0 { // canards, or a tail
		a.add(second, wing(0.36, 0.24, 0.08, 0.18, 0.02, 0.06).move(0, 0.3*r, z(0.72)))
	} else {
		a.add(second, wing(0.45, 0.28, 0.12, 0.22, 0, 0.06).move(0, 0, z(0.1)))
	}
}

// wheels adds the landing gear of a small plane: two wheels below the wing and one at the tail.
func wheels(a *assembly, z, tail, y float64) {
	a.add(rubber, both(cylinder(0.085, 0.06, 10).turn(2, 90).move(0.24, y, z))...)
	a.add(metal, both(limb(5, [4]float64{0.22, y, z, 0.018}, [4]float64{0.06, y + 0.22, z - 0.03, 0.022}))...)
	a.add(rubber, cylinder(0.045, 0.04, 8).turn(2, 90).move(0, 0.4*y, tail))
}

func sportsPlane(a *assembly, s *rng.Stream) {
	first, second := twoPaints(s)
	length, r := within(s, 1.35, 1.7), within(s, 0.14, 0.18)
	z := func(t float64) float64 { return length * (t - 0.5) }
	a.add(first, body(10, 2.6, station{z(0), 0.3 * r, 0.12 * r, 0.3 * r}, station{z(0.5), 0, 0.8 * r, 0.85 * r},
		station{z(0.85), 0, 0.9 * r, 0.9 * r}, station{z(0.97), -0.1 * r, 0.72 * r, 0.72 * r},
		station{z(0.985), -0.1 * r, 0.5 * r, 0.5 * r}))
	a.add(glass, body(8, 3, station{z(0.4), 0.6 * r, 0.3 * r, 0.1 * r}, station{z(0.52), r, 0.66 * r, 0.6 * r},
		station{z(0.66), r, 0.66 * r, 0.6 * r}, station{z(0.8), 0.6 * r, 0.6 * r, 0.2 * r}))
	half, root := within(s, 0.85, 1.1), within(s, 0.3, 0.42)
	tip, back := root*within(s, 0.6, 1), within(s, 0, 0.06)
	if high := s.IntN(2) == 0; high {
		a.add(second, wing(half, root, tip, back, 0.03, 0.14).move(0, 1.62*r, z(0.6)+0.5*root))
		a.add(metal, both(limb(5, [4]float64{0.7 * r, -0.5 * r, z(0.6) + 0.1, 0.014},
			[4]float64{0.5 * half, 1.6 * r, z(0.6) + 0.1, 0.014}))...)
	} else {
		a.add(second, wing(half, root, tip, back, 0.12, 0.14).move(0, -0.5*r, z(0.6)+0.5*root))
	}
	a.add(second, wing(0.36, 0.22, 0.14, 0.06, 0, 0.12).move(0, 0.35*r, z(0.14)))
	a.add(choice(s, first, second), fin(0.3*r, z(0.17), within(s, 0.28, 0.38), 0.26, 0.16, 0.14))
	propeller(a, yellow, 0, -0.1*r, z(0.985), within(s, 0.28, 0.36), choice(s, 2, 3))
	wheels(a, z(0.68), z(0.04), -r-0.2)
}

func biplane(a *assembly, s *rng.Stream) {
	first, second := twoPaints(s)
	length, r := within(s, 1.2, 1.45), within(s, 0.13, 0.17)
	z := func(t float64) float64 { return length * (t - 0.5) }
	a.add(first, body(10, 2.4, station{z(0), 0.2 * r, 0.15 * r, 0.3 * r}, station{z(0.5), 0, 0.85 * r, r},
		station{z(0.9), 0, r, r}, station{z(1), 0, 0.8 * r, 0.8 * r}))
	a.add(rubber, ball(0.6*r, 0.35*r, 0.9*r, 8).move(0, 0.95*r, z(0.45)))
	half, chord, gap := within(s, 0.75, 0.95), within(s, 0.26, 0.34), within(s, 0.36, 0.46)
	a.add(second, wing(half, chord, 0.9*chord, 0.02, 0.02, 0.1).move(0, gap-0.4*r, z(0.72)+0.5*chord),
		wing(0.94*half, chord, 0.9*chord, 0.02, 0.03, 0.1).move(0, -0.5*r, z(0.66)+0.5*chord))
	for _, x := range []float64{0.25, 0.72} {
		a.add(metal, both(limb(5, [4]float64{x * half, -0.5 * r, z(0.67), 0.016},
			[4]float64{x * half, gap - 0.4*r, z(0.72), 0.016}))...)
	}
	a.add(second, wing(0.32, 0.22, 0.16, 0.05, 0, 0.1).move(0, 0.25*r, z(0.15)))
	a.add(second, fin(0.2*r, z(0.16), 0.3, 0.26, 0.18, 0.1))
	propeller(a, metal, 0, 0, z(1), 0.32, 2)
	wheels(a, z(0.75), z(0.03), -r-0.2)
}

func glider(a *assembly, s *rng.Stream) {
	first, second := twoPaints(s)
	length, r := within(s, 1.3, 1.5), within(s, 0.13, 0.16)
	z := func(t float64) float64 { return length * (t - 0.5) }
	a.add(choice(s, white, first),
		body(10, 2, station{z(0), 0.3 * r, 0.2 * r, 0.25 * r}, station{z(0.45), 0.3 * r, 0.4 * r, 0.45 * r},
			station{z(0.7), 0, r, 1.1 * r}, station{z(0.9), -0.1 * r, 0.75 * r, 0.8 * r}, station{z(1), -0.3 * r, 0, 0}))
	a.add(glass, body(8, 2, station{z(0.66), 0.8 * r, 0, 0}, station{z(0.75), 0.8 * r, 0.6 * r, 0.5 * r},
		station{z(0.85), 0.55 * r, 0.55 * r, 0.45 * r}, station{z(0.94), 0.2 * r, 0, 0}))
	a.add(second, wing(within(s, 0.95, 1.1), within(s, 0.28, 0.36), 0.14, within(s, 0, 0.1), 0.1, 0.14).move(0, 0.7*r,
		z(0.66)))
	tail := within(s, 0.26, 0.34)
	a.add(second, fin(0.2*r, z(0.14), tail, 0.24, 0.14, 0.1),
		wing(0.34, 0.17, 0.09, 0.05, 0, 0.1).move(0, tail+0.2*r, z(0.06)))
}

func transport(a *assembly, s *rng.Stream) {
	first, second := twoPaints(s)
	length, r := within(s, 1.5, 1.9), within(s, 0.19, 0.24)
	fuselage(a, first, length, r, 0.16, 0.4, 0.6*r)
	half, root := within(s, 0.95, 1.2), within(s, 0.36, 0.46)
	a.add(second, wing(half, root, 0.2, 0.12, -0.02, 0.13).move(0, 0.95*r, 0.25))
	turbines := [][]float64{{0.36}, {0.28, 0.58}}[s.IntN(2)]
	for _, x := range turbines {
		for _, side := range []float64{-1, 1} {
			a.add(first, body(8, 2, station{-0.3, 0, 0.03, 0.03}, station{0, 0, 0.075, 0.08},
				station{0.2, 0, 0.06, 0.06}).move(side*x*half, 0.9*r, 0.2))
			propeller(a, yellow, side*x*half, 0.9*r, 0.4, 0.24, 3)
		}
	}
	tail := -length/2 + 0.3
	a.add(second, wing(0.46, 0.26, 0.14, 0.1, 0, 0.1).move(0, 0.6*r, tail))
	if s.IntN(2) == 0 {
		a.add(second, fin(0.6*r, tail+0.08, 0.45, 0.36, 0.2, 0.18))
	} else {
		a.add(first, both(fin(0.45*r, tail-0.02, 0.36, 0.28, 0.18, 0.1).move(0.44, 0, 0))...)
	}
}
