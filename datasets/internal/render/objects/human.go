package objects

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
	{width: 0.23, belly: 0.15, head: 0.13, arm: [2]float64{55, -50}, arms: [2]float64{80, 80}, leg: [2]float64{-40, 50}, knee: [2]float64{60, 50}},
	{width: 0.2, belly: 0.14, head: 0.14, arm: [2]float64{10, 20}, arms: [2]float64{10, 40}, out: [2]float64{10, 130}, more: dress},
	{width: 0.25, belly: 0.18, head: 0.13, arms: [2]float64{70, 70}, out: [2]float64{35, 35}, leg: [2]float64{12, -12}, more: hat},
	{width: 0.25, belly: 0.17, head: 0.13, arm: [2]float64{50, 75}, arms: [2]float64{60, 20}, leg: [2]float64{25, -20}, more: rifle},
	{width: 0.28, belly: 0.2, head: 0.15, arm: [2]float64{60, 30}, arms: [2]float64{40, 60}, out: [2]float64{10, 40}, leg: [2]float64{15, -10}, more: shield},
	{width: 0.19, belly: 0.19, head: 0.22, arm: [2]float64{75, 75}, arms: [2]float64{10, 10}, more: balloon},
	{width: 0.24, belly: 0.17, head: 0.13, arm: [2]float64{-15, 45}, arms: [2]float64{10, 45}, leg: [2]float64{28, -22}, knee: [2]float64{10, 15}, more: pack},
	{width: 0.22, belly: 0.15, head: 0.13, out: [2]float64{85, 85}, leg: [2]float64{-75, 0}, more: skates},
	{width: 0.24, belly: 0.22, head: 0.14, out: [2]float64{155, 155}, leg: [2]float64{0, 0}, more: skirt},
}

const (
	hip      = 0.86
	shoulder = 1.42
)

func (p human) build(a *assembly) {
	a.add(paint, body(10, 2.4, station{hip - 0.08, 0, 0.8 * p.belly, 0.75 * p.belly}, station{hip + 0.06, 0, 1.1 * p.belly, 0.85 * p.belly}, station{hip + 0.22, 0, p.belly, 0.8 * p.belly},
		station{shoulder - 0.12, 0, 0.98 * p.width, 0.62 * p.width}, station{shoulder + 0.02, 0, 0.8 * p.width, 0.5 * p.width}, station{shoulder + 0.07, 0, 0.3 * p.width, 0.3 * p.width}).turn(0, -90))
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
		a.add(paint, limb(7, around(joint, 0.075), around(elbow, 0.06), around(hand, 0.05)), ball(0.065, 0.065, 0.065, 6).move(hand[0], hand[1], hand[2]))
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
	a.add(dark, lathe(12, [2]float64{0.28, y}, [2]float64{0.3, y + 0.03}, [2]float64{0.14, y + 0.05}, [2]float64{0.12, y + 0.2}, [2]float64{0.05, y + 0.23}))
}

func rifle(a *assembly, _ human, hands [2]vec) {
	at := times(plus(hands[0], hands[1]), 0.5)
	a.add(dark, box(0.06, 0.09, 0.95, 0.015).turn(0, -8).move(at[0], at[1]+0.05, at[2]+0.1), ball(0.19, 0.12, 0.21, 8).move(0, shoulder+0.36, 0))
}

func shield(a *assembly, _ human, hands [2]vec) {
	a.add(dark, cylinder(0.3, 0.07, 14).turn(0, 90).move(hands[0][0]+0.02, hands[0][1], hands[0][2]+0.08))
	a.add(dark, limb(6, around(plus(hands[1], vec{0, -0.1, 0}), 0.03), around(plus(hands[1], vec{-0.1, 0.7, 0.15}), 0.035)), box(0.24, 0.04, 0.05, 0.01).move(hands[1][0], hands[1][1]+0.06, hands[1][2]))
	a.add(dark, prism(8, 0.1, 0.25, 0).move(0, shoulder+0.12+2*0.15+0.1, 0))
}

func balloon(a *assembly, _ human, hands [2]vec) {
	a.add(dark, ball(0.2, 0.2, 0.2, 10).move(0, hands[0][1]+0.02, hands[0][2]+0.08))
}

func pack(a *assembly, _ human, hands [2]vec) {
	a.add(dark, box(0.36, 0.52, 0.24, 0.06).move(0, shoulder-0.22, -0.27), cylinder(0.1, 0.5, 8).turn(2, 90).move(0, shoulder+0.12, -0.26))
	a.add(dark, limb(6, around(plus(hands[1], vec{0, 0.3, 0}), 0.028), [4]float64{hands[1][0], 0.03, hands[1][2] + 0.15, 0.028}))
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
