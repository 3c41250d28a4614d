package objects

import (
	"github.com/unravel-ml/unravel/datasets/internal/render"
	"github.com/unravel-ml/unravel/graph/rng"
)

// Category is a category of toys of SmallNORB (LeCun et al. 2004), in the order of that set.
type Category uint8

// The categories.
const (
	Animal Category = iota
	Human
	Plane
	Truck
	CarCategory
)

// Categories and Instances are the number of categories and the number of figures per category.
const (
	Categories = 5
	Instances  = 10
)

var categoryNames = [Categories]string{"animal", "human", "plane", "truck", "car"}

func (c Category) String() string { return categoryNames[c] }

// Greys of figures.
var (
	paint = vec{0.8, 0.8, 0.8}
	dark  = vec{0.5, 0.5, 0.5}
)

// Figure returns the toy of a category and an instance from 0 to 9, painted grey. It panics for other numbers.
func Figure(c Category, instance int) []render.Part {
	a, s := &assembly{}, rng.New(uint64(instance), "figure "+c.String())
	switch c {
	case Animal:
		animals[instance].build(a)
	case Human:
		humans[instance].build(a)
	case Plane:
		planes[instance](a, s)
	case Truck:
		build(a, s, trucks[instance])
	case CarCategory:
		build(a, s, cars[instance])
	}
	parts := a.parts()
	for i := range parts {
		switch parts[i].Colour {
		case paint, dark:
		case glass, rubber:
			parts[i].Colour = dark
		default:
			parts[i].Colour = paint
		}
	}
	return parts
}

var (
	planes = [Instances]func(*assembly,
		*rng.Stream){airliner, tailJet, fighter, sportsPlane, biplane, glider, transport, airliner, sportsPlane, fighter}
	trucks = [Instances]func(*carBody){lorryWith(crate), lorryWith(tank), lorryWith(tipper), pickUp, articulated,
		lorryWith(mixer), lorryWith(crane), lorryWith(ladder), lorryWith(logs), van}
	cars = [Instances]func(*carBody){hatchback, sedan, estate, coupe, convertible, offRoader, racer, oldTimer, bus,
		minibus}
)

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
	{length: 1.3, girth: 0.3, height: 1.05, belly: 0.1, leg: 0.085, neck: 0.75, neckUp: 52, neckWidth: 0.17, head: 0.17,
		snout: 0.38, ears: 0.14, tail: 0.8, tailUp: -60, tailWidth: 0.07, more: mane},
	{length: 1.4, girth: 0.4, height: 0.9, belly: 0.2, leg: 0.1, neck: 0.4, neckUp: 15, neckWidth: 0.2, head: 0.2,
		snout: 0.3, ears: 0.14, earsOut: 80, tail: 0.75, tailUp: -78, tailWidth: 0.035, more: horns},
	{length: 1.4, girth: 0.6, height: 1.25, belly: 0.15, leg: 0.2, neck: 0.4, neckUp: 25, neckWidth: 0.3, head: 0.34,
		snout: 0.1, ears: 0.5, earsOut: 95, tail: 0.6, tailUp: -75, tailWidth: 0.04, more: trunkAndTusks},
	{length: 1.1, girth: 0.32, height: 1.5, belly: 0.1, leg: 0.085, neck: 1.5, neckUp: 65, neckWidth: 0.13, head: 0.15,
		snout: 0.26, ears: 0.12, earsOut: 50, tail: 0.6, tailUp: -70, tailWidth: 0.03, more: knobs},
	{length: 1.1, girth: 0.42, height: 0.6, belly: 0.25, leg: 0.1, neck: 0.34, neckUp: 2, neckWidth: 0.2, head: 0.27,
		snout: 0.24, ears: 0.17, earsOut: 30, tail: 0.2, tailUp: 40, tailWidth: 0.04},
	{length: 1.3, girth: 0.28, height: 0.8, leg: 0.1, neck: 0.4, neckUp: 30, neckWidth: 0.2, head: 0.21, snout: 0.2,
		ears: 0.11, earsOut: 40, tail: 1, tailUp: 12, tailWidth: 0.04, more: ruff},
	{length: 1.3, girth: 0.34, height: 1.2, belly: 0.1, leg: 0.085, neck: 0.9, neckUp: 38, neckWidth: 0.13, head: 0.16,
		snout: 0.3, ears: 0.08, tail: 0.5, tailUp: -60, tailWidth: 0.04, more: humps},
	{length: 1.6, girth: 0.48, height: 0.8, belly: 0.2, leg: 0.15, neck: 0.4, neckUp: -5, neckWidth: 0.3, head: 0.26,
		snout: 0.4, ears: 0.16, tail: 0.4, tailUp: -60, tailWidth: 0.04, more: noseHorn},
	{length: 1.4, girth: 0.45, height: 0.85, belly: 0.25, leg: 0.16, neck: 1.5, neckUp: 42, neckWidth: 0.19, head: 0.17,
		snout: 0.2, tail: 1.6, tailUp: -12, tailWidth: 0.22},
	{length: 1.4, girth: 0.25, height: 0.35, belly: 0.2, leg: 0.09, neck: 0.25, neckUp: 0, neckWidth: 0.2, head: 0.2,
		snout: 0.7, tail: 1.3, tailUp: -4, tailWidth: 0.18, more: plates},
}

// build adds the animal in grey.
func (p animal) build(a *assembly) {
	front, back := p.length/2, -p.length/2
	end := p.girth * (1 - p.belly)
	at := func(z, y, r float64) station { return station{z, p.height + y, 0.85 * r, r} }
	a.add(paint, body(12, 2, station{back - 0.3*p.girth, p.height, 0, 0}, at(back-0.2*p.girth, 0, 0.6*end),
		at(back+0.1*p.length, 0, end), at(0, -0.08*p.girth, p.girth), at(front-0.1*p.length, 0, end),
		at(front+0.2*p.girth, 0, 0.6*end), station{front + 0.3*p.girth, p.height, 0, 0}))
	for n, z := range []float64{back + p.leg, back + p.leg, front - p.leg, front - p.leg} {
		x := (0.75*p.girth - 0.4*p.leg) * float64(2*(n%2)-1)
		step := 0.12 * p.height * float64([]int{1, -1, -1, 1}[n]) // a walking pose
		a.add(paint, limb(8, [4]float64{x, p.height - 0.2*p.girth, z, 1.35 * p.leg},
			[4]float64{x, 0.5 * p.height, z + 0.4*step, 0.95 * p.leg}, [4]float64{x, 0.7 * p.leg, z + step, p.leg}))
	}
	sin, cos := sincos(p.neckUp)
	base := vec{0, p.height + 0.35*p.girth, front - 0.3*p.girth}
	head := plus(base, vec{0, p.neck * sin, p.neck*cos + 0.2*p.girth})
	base[1] -= 0.2 * p.girth
	a.add(paint, limb(9, around(base, 1.4*p.neckWidth), around(times(plus(base, head), 0.5), 1.1*p.neckWidth),
		around(head, p.neckWidth)))
	a.add(paint, ball(0.85*p.head, p.head, 1.05*p.head, 10).move(0, head[1], head[2]+0.2*p.head))
	a.add(paint, limb(8, [4]float64{0, head[1], head[2] + 0.3*p.head, 0.75 * p.head},
		[4]float64{0, head[1] - 0.25*p.head - 0.2*p.snout, head[2] + 0.5*p.head + p.snout, 0.52 * p.head}))
	if p.ears > 0 {
		ear := taper(0.6*p.ears, 0.2*p.ears, 0.3*p.ears, 0.1*p.ears, p.ears, 0.03*p.ears).move(0, 0.5*p.ears, 0).turn(2,
			-p.earsOut).move(0.55*p.head, head[1]+0.6*p.head, head[2])
		a.add(paint, both(ear)...)
	}
	sin, cos = sincos(p.tailUp)
	root := vec{0, p.height + 0.4*end, back - 0.1*p.girth}
	a.add(paint, limb(7, [4]float64{0, root[1], root[2], p.tailWidth},
		[4]float64{0, root[1] + 0.5*p.tail*sin, root[2] - 0.5*p.tail*cos, 0.75 * p.tailWidth},
		[4]float64{0, root[1] + p.tail*sin, root[2] - p.tail*cos - 0.1*p.tail, 0.4 * p.tailWidth}))
	if p.more != nil {
		p.more(a, p, head)
	}
}

func mane(a *assembly, p animal, head vec) {
	a.add(dark, limb(6, [4]float64{0, head[1] + 0.16, head[2] - 0.1, 0.07}, [4]float64{0, p.height + 0.5*p.girth + 0.25,
		0.5*p.length - 0.2, 0.08}, [4]float64{0, p.height + p.girth, 0.5*p.length - 0.35, 0.05}))
}

func horns(a *assembly, _ animal, head vec) {
	a.add(dark, both(limb(6, [4]float64{0.1, head[1] + 0.15, head[2] + 0.05, 0.05},
		[4]float64{0.3, head[1] + 0.2, head[2] + 0.1, 0.045}, [4]float64{0.36, head[1] + 0.38, head[2] + 0.16, 0.02}))...)
}

func trunkAndTusks(a *assembly, p animal, head vec) {
	y, z := head[1], head[2]+p.head
	a.add(paint, limb(8, [4]float64{0, y, z, 0.15}, [4]float64{0, y - 0.35, z + 0.2, 0.12},
		[4]float64{0, y - 0.8, z + 0.22, 0.09}, [4]float64{0, y - 1, z + 0.4, 0.07}))
	a.add(dark, both(limb(6, [4]float64{0.16, y - 0.15, z, 0.05}, [4]float64{0.2, y - 0.35, z + 0.3, 0.045},
		[4]float64{0.18, y - 0.25, z + 0.5, 0.02}))...)
}

func knobs(a *assembly, _ animal, head vec) {
	a.add(dark, both(limb(6, [4]float64{0.05, head[1] + 0.1, head[2], 0.03},
		[4]float64{0.06, head[1] + 0.28, head[2] - 0.02, 0.04}))...)
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
	a.add(dark, limb(7, [4]float64{0, y, z, 0.1}, [4]float64{0, y + 0.3, z + 0.08, 0.06}, [4]float64{0, y + 0.5, z, 0.02}),
		limb(6, [4]float64{0, y + 0.1, z - 0.3, 0.08}, [4]float64{0, y + 0.34, z - 0.3, 0.02}))
}

func plates(a *assembly, p animal, _ vec) {
	for n := range 9 {
		z := 0.45*p.length - 0.24*float64(n)
		a.add(dark, taper(0.1, 0.18, 0.02, 0.04, 0.2, 0.01).move(0, p.height+0.9*p.girth-0.03*max(0, float64(n)-5), z))
	}
}

// human describes a standing figure in numbers: metres and degrees. Angles of limbs are measured forwards from hanging
// down. Arms and legs have one angle for the left and one for the right.
type human struct {
	width, belly, head float64    // half the width of the shoulders, radius of the waist, radius of the head
	arm, arms          [2]float64 // swing of the upper arms, bend of the elbows
	out                [2]float64 // how far the arms are raised sideways
	leg, knee          [2]float64 // swing of the thighs, bend of the knees
	more               func(a *assembly, p human, hands [2]vec)
}

// humans are the ten people of the category: a man, a runner, a waving woman in a dress, a cowboy, a soldier with a
// rifle, a knight with shield and sword, a child with a ball, a hiker with a stick and a pack, a skater and a cheering
// person.
var humans = [...]human{
	{width: 0.24, belly: 0.17, head: 0.14, out: [2]float64{8, 8}, leg: [2]float64{0, 0}},
	{width: 0.23, belly: 0.15, head: 0.13, arm: [2]float64{55, -50}, arms: [2]float64{80, 80}, leg: [2]float64{-40, 50},
		knee: [2]float64{60, 50}},
	{width: 0.2, belly: 0.14, head: 0.14, arm: [2]float64{10, 20}, arms: [2]float64{10, 40}, out: [2]float64{10, 130},
		more: dress},
	{width: 0.25, belly: 0.18, head: 0.13, arms: [2]float64{70, 70}, out: [2]float64{35, 35}, leg: [2]float64{12, -12},
		more: hat},
	{width: 0.25, belly: 0.17, head: 0.13, arm: [2]float64{50, 75}, arms: [2]float64{60, 20}, leg: [2]float64{25, -20},
		more: rifle},
	{width: 0.28, belly: 0.2, head: 0.15, arm: [2]float64{60, 30}, arms: [2]float64{40, 60}, out: [2]float64{10, 40},
		leg: [2]float64{15, -10}, more: shield},
	{width: 0.19, belly: 0.19, head: 0.22, arm: [2]float64{75, 75}, arms: [2]float64{10, 10}, more: balloon},
	{width: 0.24, belly: 0.17, head: 0.13, arm: [2]float64{-15, 45}, arms: [2]float64{10, 45}, leg: [2]float64{28, -22},
		knee: [2]float64{10, 15}, more: pack},
	{width: 0.22, belly: 0.15, head: 0.13, out: [2]float64{85, 85}, leg: [2]float64{-75, 0}, more: skates},
	{width: 0.24, belly: 0.22, head: 0.14, out: [2]float64{155, 155}, leg: [2]float64{0, 0}, more: skirt},
}

const (
	hip      = 0.86
	shoulder = 1.42
)

func (p human) build(a *assembly) {
	a.add(paint, body(10, 2.4, station{hip - 0.08, 0, 0.8 * p.belly, 0.75 * p.belly},
		station{hip + 0.06, 0, 1.1 * p.belly, 0.85 * p.belly}, station{hip + 0.22, 0, p.belly, 0.8 * p.belly},
		station{shoulder - 0.12, 0, 0.98 * p.width, 0.62 * p.width},
		station{shoulder + 0.02, 0, 0.8 * p.width, 0.5 * p.width},
		station{shoulder + 0.07, 0, 0.3 * p.width, 0.3 * p.width}).turn(0, -90))
	a.add(paint, limb(7, [4]float64{0, shoulder, 0, 0.07}, [4]float64{0, shoulder + 0.12, 0.01, 0.065}))
	middle := shoulder + 0.12 + 0.85*p.head
	a.add(paint, ball(0.85*p.head, 1.1*p.head, 0.95*p.head, 10).move(0, middle, 0.01))
	a.add(paint, box(0.05, 0.07, 0.08, 0.015).move(0, middle-0.02, 0.95*p.head)) // a nose
	a.add(dark, ball(0.9*p.head, 0.7*p.head, 0.8*p.head, 8).move(0, middle+0.45*p.head, -0.25*p.head))
	var hands [2]vec
	for n, side := range []float64{1, -1} {
		joint := vec{side * (p.width - 0.01), shoulder - 0.05, 0}
		elbow := plus(joint, p.hang(side, p.arm[n], p.out[n], 0.3))
		hand := plus(elbow, p.hang(side, p.arm[n]+p.arms[n], p.out[n], 0.3))
		a.add(paint, limb(7, around(joint, 0.075), around(elbow, 0.06), around(hand, 0.05)),
			ball(0.065, 0.065, 0.065, 6).move(hand[0], hand[1], hand[2]))
		hands[n] = hand
		joint = vec{side * 0.55 * p.belly, hip, 0}
		knee := plus(joint, p.hang(side, p.leg[n], 3, 0.42))
		foot := plus(knee, p.hang(side, p.leg[n]-p.knee[n], 3, 0.42))
		a.add(paint, limb(8, around(joint, 0.1), around(knee, 0.075), around(foot, 0.055)))
		a.add(dark, box(0.12, 0.1, 0.28, 0.03).turn(0, p.knee[n]-p.leg[n]).move(foot[0], foot[1]-0.05, foot[2]+0.06))
	}
	if p.more != nil {
		p.more(a, p, hands)
	}
}

// hang returns the vector along a limb that swings forwards and is raised sideways.
func (p human) hang(side, forwards, out, length float64) vec {
	sf, cf := sincos(forwards)
	so, co := sincos(out)
	return vec{side * so * length, -cf * co * length, sf * co * length}
}

func around(p vec, radius float64) [4]float64 { return [4]float64{p[0], p[1], p[2], radius} }

func dress(a *assembly, p human, _ [2]vec) {
	a.add(dark, lathe(12, [2]float64{0.36, 0.35}, [2]float64{0.3, 0.5}, [2]float64{p.belly, 1.05}))
	a.add(dark, limb(8, [4]float64{0, 1.75, -0.08, 0.1}, [4]float64{0, 1.45, -0.14, 0.08}))
}

func hat(a *assembly, p human, _ [2]vec) {
	y := shoulder + 0.12 + 1.3*p.head
	a.add(dark, lathe(12, [2]float64{0.28, y}, [2]float64{0.3, y + 0.03}, [2]float64{0.14, y + 0.05},
		[2]float64{0.12, y + 0.2}, [2]float64{0.05, y + 0.23}))
}

func rifle(a *assembly, _ human, hands [2]vec) {
	at := times(plus(hands[0], hands[1]), 0.5)
	a.add(dark, box(0.06, 0.09, 0.95, 0.015).turn(0, -8).move(at[0], at[1]+0.05, at[2]+0.1),
		ball(0.19, 0.12, 0.21, 8).move(0, shoulder+0.36, 0))
}

func shield(a *assembly, _ human, hands [2]vec) {
	a.add(dark, cylinder(0.3, 0.07, 14).turn(0, 90).move(hands[0][0]+0.02, hands[0][1], hands[0][2]+0.08))
	a.add(dark, limb(6, around(plus(hands[1], vec{0, -0.1, 0}), 0.03), around(plus(hands[1], vec{-0.1, 0.7, 0.15}),
		0.035)), box(0.24, 0.04, 0.05, 0.01).move(hands[1][0], hands[1][1]+0.06, hands[1][2]))
	a.add(dark, prism(8, 0.1, 0.25, 0).move(0, shoulder+0.12+2*0.15+0.1, 0))
}

func balloon(a *assembly, _ human, hands [2]vec) {
	a.add(dark, ball(0.2, 0.2, 0.2, 10).move(0, hands[0][1]+0.02, hands[0][2]+0.08))
}

func pack(a *assembly, _ human, hands [2]vec) {
	a.add(dark, box(0.36, 0.52, 0.24, 0.06).move(0, shoulder-0.22, -0.27),
		cylinder(0.1, 0.5, 8).turn(2, 90).move(0, shoulder+0.12, -0.26))
	a.add(dark, limb(6, around(plus(hands[1], vec{0, 0.3, 0}), 0.028),
		[4]float64{hands[1][0], 0.03, hands[1][2] + 0.15, 0.028}))
}

func skates(a *assembly, p human, _ [2]vec) {
	a.add(dark, lathe(10, [2]float64{0.3, hip - 0.12}, [2]float64{p.belly, hip + 0.15}))
	a.add(dark, box(0.04, 0.06, 0.42, 0.01).move(-0.55*p.belly-0.04, -0.08, 0.04))
}

func skirt(a *assembly, p human, hands [2]vec) {
	a.add(dark, lathe(12, [2]float64{0.26, 0.45}, [2]float64{p.belly, 1}))
	for _, h := range hands {
		a.add(dark, ball(0.12, 0.12, 0.12, 8).move(h[0], h[1]+0.05, h[2]))
	}
}
