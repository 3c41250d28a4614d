package objects

// animal describes a quadruped in numbers. Units are about a metre, and angles are in degrees.
type animal struct {
	length, girth, height   float64 // length and girth of the trunk, and height of its middle above the ground
	belly                   float64 // how much thicker the middle is than the ends
	leg                     float64 // radius of the legs
	neck, neckUp, neckWidth float64 // length, elevation, radius
	head, snout             float64 // radius of the skull, length of the snout
	ears, earsOut           float64 // size of the ears, and how far they lie back or hang
	tail, tailUp, tailWidth float64
	more                    func(a *assembly, p animal, head vec)
}

// animals are the ten animals of the category: horse, cow, elephant, giraffe, pig, lion, camel, rhinoceros, long-necked
// dinosaur and crocodile.
var animals = [...]animal{
	{length: 1.3, girth: 0.3, height: 1.05, belly: 0.1, leg: 0.085, neck: 0.75, neckUp: 52, neckWidth: 0.17, head: 0.17, snout: 0.38, ears: 0.14, tail: 0.8, tailUp: -60, tailWidth: 0.07, more: mane},
	{length: 1.4, girth: 0.4, height: 0.9, belly: 0.2, leg: 0.1, neck: 0.4, neckUp: 15, neckWidth: 0.2, head: 0.2, snout: 0.3, ears: 0.14, earsOut: 80, tail: 0.75, tailUp: -78, tailWidth: 0.035, more: horns},
	{length: 1.4, girth: 0.6, height: 1.25, belly: 0.15, leg: 0.2, neck: 0.4, neckUp: 25, neckWidth: 0.3, head: 0.34, snout: 0.1, ears: 0.5, earsOut: 95, tail: 0.6, tailUp: -75, tailWidth: 0.04, more: trunkAndTusks},
	{length: 1.1, girth: 0.32, height: 1.5, belly: 0.1, leg: 0.085, neck: 1.5, neckUp: 65, neckWidth: 0.13, head: 0.15, snout: 0.26, ears: 0.12, earsOut: 50, tail: 0.6, tailUp: -70, tailWidth: 0.03, more: knobs},
	{length: 1.1, girth: 0.42, height: 0.6, belly: 0.25, leg: 0.1, neck: 0.34, neckUp: 2, neckWidth: 0.2, head: 0.27, snout: 0.24, ears: 0.17, earsOut: 30, tail: 0.2, tailUp: 40, tailWidth: 0.04},
	{length: 1.3, girth: 0.28, height: 0.8, leg: 0.1, neck: 0.4, neckUp: 30, neckWidth: 0.2, head: 0.21, snout: 0.2, ears: 0.11, earsOut: 40, tail: 1, tailUp: 12, tailWidth: 0.04, more: ruff},
	{length: 1.3, girth: 0.34, height: 1.2, belly: 0.1, leg: 0.085, neck: 0.9, neckUp: 38, neckWidth: 0.13, head: 0.16, snout: 0.3, ears: 0.08, tail: 0.5, tailUp: -60, tailWidth: 0.04, more: humps},
	{length: 1.6, girth: 0.48, height: 0.8, belly: 0.2, leg: 0.15, neck: 0.4, neckUp: -5, neckWidth: 0.3, head: 0.26, snout: 0.4, ears: 0.16, tail: 0.4, tailUp: -60, tailWidth: 0.04, more: noseHorn},
	{length: 1.4, girth: 0.45, height: 0.85, belly: 0.25, leg: 0.16, neck: 1.5, neckUp: 42, neckWidth: 0.19, head: 0.17, snout: 0.2, tail: 1.6, tailUp: -12, tailWidth: 0.22},
	{length: 1.4, girth: 0.25, height: 0.35, belly: 0.2, leg: 0.09, neck: 0.25, neckUp: 0, neckWidth: 0.2, head: 0.2, snout: 0.7, tail: 1.3, tailUp: -4, tailWidth: 0.18, more: plates},
}

// build adds the animal in grey.
func (p animal) build(a *assembly) {
	front, back := p.length/2, -p.length/2
	end := p.girth * (1 - p.belly)
	at := func(z, y, r float64) station { return station{z, p.height + y, 0.85 * r, r} }
	a.add(paint, body(12, 2, station{back - 0.3*p.girth, p.height, 0, 0}, at(back-0.2*p.girth, 0, 0.6*end), at(back+0.1*p.length, 0, end), at(0, -0.08*p.girth, p.girth), at(front-0.1*p.length, 0, end), at(front+0.2*p.girth, 0, 0.6*end), station{front + 0.3*p.girth, p.height, 0, 0}))
	for n, z := range []float64{back + p.leg, back + p.leg, front - p.leg, front - p.leg} {
		x := (0.75*p.girth - 0.4*p.leg) * float64(2*(n%2)-1)
		step := 0.12 * p.height * float64([]int{1, -1, -1, 1}[n]) // a walking pose
		a.add(paint, limb(8, [4]float64{x, p.height - 0.2*p.girth, z, 1.35 * p.leg}, [4]float64{x, 0.5 * p.height, z + 0.4*step, 0.95 * p.leg}, [4]float64{x, 0.7 * p.leg, z + step, p.leg}))
	}
	sin, cos := sincos(p.neckUp)
	base := vec{0, p.height + 0.35*p.girth, front - 0.3*p.girth}
	head := plus(base, vec{0, p.neck * sin, p.neck*cos + 0.2*p.girth})
	base[1] -= 0.2 * p.girth
	a.add(paint, limb(9, around(base, 1.4*p.neckWidth), around(times(plus(base, head), 0.5), 1.1*p.neckWidth), around(head, p.neckWidth)))
	a.add(paint, ball(0.85*p.head, p.head, 1.05*p.head, 10).move(0, head[1], head[2]+0.2*p.head))
	a.add(paint, limb(8, [4]float64{0, head[1], head[2] + 0.3*p.head, 0.75 * p.head}, [4]float64{0, head[1] - 0.25*p.head - 0.2*p.snout, head[2] + 0.5*p.head + p.snout, 0.52 * p.head}))
	if p.ears > 0 {
		ear := taper(0.6*p.ears, 0.2*p.ears, 0.3*p.ears, 0.1*p.ears, p.ears, 0.03*p.ears).move(0, 0.5*p.ears, 0).turn(2, -p.earsOut).move(0.55*p.head, head[1]+0.6*p.head, head[2])
		a.add(paint, both(ear)...)
	}
	sin, cos = sincos(p.tailUp)
	root := vec{0, p.height + 0.4*end, back - 0.1*p.girth}
	a.add(paint, limb(7, [4]float64{0, root[1], root[2], p.tailWidth}, [4]float64{0, root[1] + 0.5*p.tail*sin, root[2] - 0.5*p.tail*cos, 0.75 * p.tailWidth}, [4]float64{0, root[1] + p.tail*sin, root[2] - p.tail*cos - 0.1*p.tail, 0.4 * p.tailWidth}))
	if p.more != nil {
		p.more(a, p, head)
	}
}

func mane(a *assembly, p animal, head vec) {
	a.add(dark, limb(6, [4]float64{0, head[1] + 0.16, head[2] - 0.1, 0.07}, [4]float64{0, p.height + 0.5*p.girth + 0.25, 0.5*p.length - 0.2, 0.08}, [4]float64{0, p.height + p.girth, 0.5*p.length - 0.35, 0.05}))
}

func horns(a *assembly, _ animal, head vec) {
	a.add(dark, both(limb(6, [4]float64{0.1, head[1] + 0.15, head[2] + 0.05, 0.05}, [4]float64{0.3, head[1] + 0.2, head[2] + 0.1, 0.045}, [4]float64{0.36, head[1] + 0.38, head[2] + 0.16, 0.02}))...)
}

func trunkAndTusks(a *assembly, p animal, head vec) {
	y, z := head[1], head[2]+p.head
	a.add(paint, limb(8, [4]float64{0, y, z, 0.15}, [4]float64{0, y - 0.35, z + 0.2, 0.12}, [4]float64{0, y - 0.8, z + 0.22, 0.09}, [4]float64{0, y - 1, z + 0.4, 0.07}))
	a.add(dark, both(limb(6, [4]float64{0.16, y - 0.15, z, 0.05}, [4]float64{0.2, y - 0.35, z + 0.3, 0.045}, [4]float64{0.18, y - 0.25, z + 0.5, 0.02}))...)
}

func knobs(a *assembly, _ animal, head vec) {
	a.add(dark, both(limb(6, [4]float64{0.05, head[1] + 0.1, head[2], 0.03}, [4]float64{0.06, head[1] + 0.28, head[2] - 0.02, 0.04}))...)
}

func ruff(a *assembly, _ animal, head vec) {
	a.add(dark, torus(0.2, 0.15, 12, 8).turn(0, 75).move(0, head[1]-0.03, head[2]-0.1))
	a.add(dark, ball(0.24, 0.24, 0.2, 8).move(0, head[1]-0.15, head[2]-0.22))
}

func humps(a *assembly, p animal, _ vec) {
	for _, z := range []float64{-0.3, 0.3} {
		a.add(paint, ball(0.2, 0.36, 0.24, 10).move(0, p.height+p.girth, z))
	}
}

func noseHorn(a *assembly, p animal, head vec) {
	y, z := head[1]-0.05, head[2]+0.4*p.head+p.snout
	a.add(dark, limb(7, [4]float64{0, y, z, 0.1}, [4]float64{0, y + 0.3, z + 0.08, 0.06}, [4]float64{0, y + 0.5, z, 0.02}), limb(6, [4]float64{0, y + 0.1, z - 0.3, 0.08}, [4]float64{0, y + 0.34, z - 0.3, 0.02}))
}

func plates(a *assembly, p animal, _ vec) {
	for n := range 9 {
		z := 0.45*p.length - 0.24*float64(n)
		a.add(dark, taper(0.1, 0.18, 0.02, 0.04, 0.2, 0.01).move(0, p.height+0.9*p.girth-0.03*max(0, float64(n)-5), z))
	}
}
