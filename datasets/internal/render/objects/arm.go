package objects

import "github.com/unravel-ml/unravel/datasets/internal/render"

// Measures of an arm. The table is at height 0.
const (
	ArmHeight = 0.5  // height of the shoulder's axis
	ArmReach  = 1.05 // length from the shoulder's axis to the tip
)

// Arm returns a robot arm with two axes. The foot is at the origin. The shoulder on the foot rotates about the vertical
// axis. The link reaches from the origin to its tip at (0, 0, ArmReach), and also rotates about the shoulder's x axis.
func Arm() (foot, shoulder, link []render.Part) {
	var a, b, c assembly
	a.add(metal, cylinder(0.4, 0.16, 20).move(0, 0.08, 0))
	a.add(rubber, lathe(16, [2]float64{0.26, 0.16}, [2]float64{0.2, 0.3}))
	b.add(metal, cylinder(0.26, 0.12, 16).move(0, 0.34, 0))
	b.add(metal, both(box(0.08, 0.36, 0.3, 0.03).move(0.19, 0.48, 0))...)
	b.add(rubber, cylinder(0.09, 0.52, 12).turn(2, 90).move(0, ArmHeight, 0))
	c.add(metal, taper(0.28, 0.26, 0.2, 0.18, 0.85, 0.03).turn(0, 90).move(0, 0, 0.35))
	c.add(rubber, cylinder(0.13, 0.18, 12).turn(0, 90).move(0, 0, 0.84))
	c.add(metal, box(0.14, 0.14, 0.16, 0.02).move(0, 0, 0.98))
	return a.inPlace(), b.inPlace(), c.inPlace()
}

// Table returns a white round table; its top is at height 0.
func Table(radius float64) []render.Part {
	var a assembly
	a.add(white, prism(48, radius, 0.1, 1).move(0, -0.05, 0))
	return a.inPlace()
}

// Tools is the number of tools.
const Tools = 6

// Tool returns an object for the arm to hold: a cone (0), cube, cylinder, hexagonal prism, pyramid or ball (5). The
// object is white and just fits into the unit sphere around the origin. Tool panics for other numbers.
func Tool(n int) []render.Part {
	var a assembly
	a.add(white, [Tools]func() *shape{
		func() *shape { return lathe(20, [2]float64{0.85, -0.7}, [2]float64{0.85, -0.6}, [2]float64{0, 1}) },
		func() *shape { return box(1.2, 1.2, 1.2, 0.06) },
		func() *shape { return cylinder(0.62, 1.5, 20) },
		func() *shape { return prism(6, 0.9, 0.8, 1) },
		func() *shape { return prism(4, 1, 1.4, 0) },
		func() *shape { return ball(1, 1, 1, 18) },
	}[n]())
	return a.parts()
}
