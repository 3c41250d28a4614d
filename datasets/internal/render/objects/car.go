package objects

import (
	"github.com/unravel-ml/unravel/datasets/internal/render"
	"github.com/unravel-ml/unravel/graph/rng"
)

// Car returns the car of a seed: a hatchback, sedan, estate, coupe, convertible, off-roader, van, pick-up, lorry, bus,
// racing car or vintage car. Lengths, cabins and colours vary.
func Car(seed uint64) []render.Part {
	s, a := rng.New(seed, "car"), &assembly{}
	build(a, s, carKinds[s.IntN(len(carKinds))])
	return a.parts()
}

var carKinds = []func(*carBody){hatchback, sedan, estate, coupe, convertible, offRoader, van, minibus, pickUp, bus,
	racer, oldTimer, lorryWith(crate), lorryWith(tank), lorryWith(tipper)}

// build adds a car of a kind, in two random colours.
func build(a *assembly, s *rng.Stream, kind func(*carBody)) {
	c := &carBody{assembly: a, s: s}
	c.paint, c.second = twoPaints(s)
	kind(c)
}

// carBody is a car while it is built. The road is at y = 0; units are metres.
type carBody struct {
	*assembly
	s             *rng.Stream
	paint, second vec
	length, width float64
	clear, waist  float64 // heights of the floor and of the windows' lower edges
	roof          float64 // height of the roof
	wheel         float64 // radius of the wheels
}

// size sets the measures with small random variations.
func (c *carBody) size(length, width, clear, waist, roof, wheel float64) {
	vary := func(v, part float64) float64 { return v * within(c.s, 1-part, 1+part) }
	c.length, c.width, c.clear, c.waist, c.roof, c.wheel = vary(length, 0.1), vary(width, 0.04), vary(clear, 0.1),
		vary(waist, 0.05), vary(roof, 0.05), vary(wheel, 0.08)
}

// at returns the z coordinate of a fraction of the length, from 0 at the rear to 1 at the front.
func (c *carBody) at(t float64) float64 { return c.length * (t - 0.5) }

// lower adds the body below the windows, given the heights of its upper side at fractions of the length.
func (c *carBody) lower(heights ...[2]float64) {
	var stations []station
	for i, h := range heights {
		bottom, half := c.clear, c.width/2
		if i == 0 || i == len(heights)-1 {
			half, bottom = 0.9*half, c.clear+0.1
		}
		stations = append(stations, station{c.at(h[0]), (bottom + h[1]) / 2, half, (h[1] - bottom) / 2})
	}
	c.add(c.paint, body(12, 7, stations...))
}

// cabin adds windows and a roof. Its arguments are fractions of the length: the rear of the windows' lower edges, the
// rear and the front of the roof, and the front of the lower edges.
func (c *carBody) cabin(rear, rearTop, frontTop, front float64, roof vec) {
	w, t := 0.93*c.width/2, 0.74*c.width/2
	level := func(y, half, back, front float64) []vec {
		const b = 0.07
		return []vec{{half - b, y, front}, {half, y, front - b}, {half, y, back + b}, {half - b, y, back},
			{b - half, y, back}, {-half, y, back + b}, {-half, y, front - b}, {b - half, y, front}}
	}
	r0, r1, f1, f0 := c.at(rear), c.at(rearTop), c.at(frontTop), c.at(front)
	c.add(glass, loft(level(c.waist-0.12, w, r0, f0), level(c.roof-0.07, t, r1, f1)))
	c.add(roof, loft(level(c.roof-0.09, t+0.02, r1-0.03, f1+0.03), level(c.roof-0.03, t+0.02, r1, f1),
		level(c.roof, t-0.08, r1+0.1, f1-0.1)))
	c.add(roof, both(c.pillar(w, t, (r0+f0)/2-0.05, (r1+f1)/2-0.05))...) // between the doors
}

// pillar returns a post from the waist to the roof.
func (c *carBody) pillar(w, t, z0, z1 float64) *shape {
	level := func(y, x, z float64) []vec {
		return []vec{{x + 0.02, y, z + 0.07}, {x + 0.02, y, z - 0.07}, {x - 0.1, y, z - 0.07}, {x - 0.1, y, z + 0.07}}
	}
	return loft(level(c.waist-0.1, w, z0), level(c.roof-0.06, t, z1))
}

// axles adds pairs of wheels at fractions of the length.
func (c *carBody) axles(places ...float64) {
	for _, t := range places {
		tyre := cylinder(c.wheel, 0.26, 14).turn(2, 90).move(c.width/2-0.1, c.wheel, c.at(t))
		hub := cylinder(0.55*c.wheel, 0.3, 8).turn(2, 90).move(c.width/2-0.1, c.wheel, c.at(t))
		c.add(rubber, both(tyre)...)
		c.add(metal, both(hub)...)
	}
}

// lamps adds white lamps at the front and red lamps at the rear, at the given heights.
func (c *carBody) lamps(front, rear float64) {
	lamp := func(y, z float64) []*shape { return both(box(0.34, 0.17, 0.12, 0.03).move(0.33*c.width, y, z)) }
	c.add(white, lamp(front, c.at(1)-0.02)...)
	c.add(red, lamp(rear, c.at(0)+0.02)...)
	c.add(rubber, box(0.4*c.width, 0.14, 0.1, 0.02).move(0, front-0.08, c.at(1)-0.01))
}

func (c *carBody) roofColour() vec {
	if c.s.IntN(3) == 0 {
		return choice(c.s, white, c.second, rubber)
	}
	return c.paint
}

func hatchback(c *carBody) {
	c.size(3.8, 1.7, 0.22, 0.92, 1.48, 0.32)
	c.lower([2]float64{0, c.waist - 0.05}, [2]float64{0.04, c.waist}, [2]float64{0.7, c.waist},
		[2]float64{0.96, c.waist - 0.18}, [2]float64{1, c.waist - 0.28})
	c.cabin(0.01, 0.1, 0.52, 0.76, c.roofColour())
	c.axles(0.17, 0.81)
	c.lamps(0.66, 0.8)
}

func sedan(c *carBody) {
	c.size(4.7, 1.8, 0.22, 0.92, 1.42, 0.33)
	c.lower([2]float64{0, c.waist - 0.08}, [2]float64{0.04, c.waist}, [2]float64{0.66, c.waist},
		[2]float64{0.96, c.waist - 0.15}, [2]float64{1, c.waist - 0.26})
	c.cabin(within(c.s, 0.12, 0.17), within(c.s, 0.26, 0.3), within(c.s, 0.5, 0.55), 0.72, c.roofColour())
	c.axles(0.18, 0.82)
	c.lamps(0.66, 0.76)
}

func estate(c *carBody) {
	c.size(4.8, 1.8, 0.22, 0.92, 1.46, 0.33)
	c.lower([2]float64{0, c.waist - 0.05}, [2]float64{0.03, c.waist}, [2]float64{0.7, c.waist},
		[2]float64{0.96, c.waist - 0.15}, [2]float64{1, c.waist - 0.26})
	c.cabin(0.01, 0.06, 0.55, 0.74, c.roofColour())
	if c.s.IntN(2) == 0 {
		c.add(metal, both(box(0.06, 0.07, 0.4*c.length, 0.01).move(0.3*c.width, c.roof+0.06, c.at(0.3)))...)
	}
	c.axles(0.18, 0.82)
	c.lamps(0.66, 0.78)
}

func coupe(c *carBody) {
	c.size(4.3, 1.85, 0.16, 0.82, 1.22, 0.33)
	c.lower([2]float64{0, c.waist - 0.02}, [2]float64{0.05, c.waist + 0.02}, [2]float64{0.55, c.waist},
		[2]float64{0.9, c.waist - 0.2}, [2]float64{1, c.waist - 0.36})
	c.cabin(0.08, 0.3, 0.46, 0.7, c.roofColour())
	if c.s.IntN(2) == 0 { // a spoiler
		c.add(c.second, box(0.92*c.width, 0.06, 0.3, 0.02).move(0, c.waist+0.28, c.at(0.04)))
		c.add(c.second, both(box(0.06, 0.3, 0.16, 0.01).move(0.35*c.width, c.waist+0.13, c.at(0.05)))...)
	}
	if c.s.IntN(2) == 0 { // a stripe over the bonnet
		c.add(c.second, taper(0.3, 0.42*c.length, 0.3, 0.42*c.length, 0.03, 0.01).turn(0, 7).move(0, c.waist-0.085,
			c.at(0.77)))
	}
	c.axles(0.19, 0.82)
	c.lamps(0.5, 0.68)
}

func convertible(c *carBody) {
	c.size(4.1, 1.78, 0.2, 0.86, 1.25, 0.33)
	c.lower([2]float64{0, c.waist - 0.08}, [2]float64{0.05, c.waist}, [2]float64{0.6, c.waist},
		[2]float64{0.95, c.waist - 0.12}, [2]float64{1, c.waist - 0.25})
	c.add(rubber, box(0.78*c.width, 0.1, 0.36*c.length, 0.03).move(0, c.waist+0.01, c.at(0.44)))
	screen := box(0.8*c.width, 0.42, 0.07, 0.02).turn(0, -32).move(0, c.waist+0.2, c.at(0.62))
	c.add(glass, screen)
	for _, z := range []float64{0.3, 0.47} {
		c.add(c.second, both(box(0.5, 0.42, 0.16, 0.05).turn(0, -10).move(0.23*c.width, c.waist+0.16, c.at(z)))...)
	}
	c.axles(0.18, 0.82)
	c.lamps(0.62, 0.7)
}

func offRoader(c *carBody) {
	c.size(4.2, 1.85, 0.42, 1.15, 1.85, 0.42)
	c.lower([2]float64{0, c.waist - 0.04}, [2]float64{0.03, c.waist}, [2]float64{0.7, c.waist},
		[2]float64{0.97, c.waist - 0.08}, [2]float64{1, c.waist - 0.14})
	c.cabin(0.02, 0.05, 0.6, 0.68, c.roofColour())
	c.add(rubber, cylinder(0.36, 0.2, 12).turn(0, 90).move(0, c.waist-0.15, c.at(0)-0.1))
	if c.s.IntN(2) == 0 {
		c.add(rubber, box(0.9*c.width, 0.16, 0.16, 0.03).move(0, c.clear+0.18, c.at(1)+0.05))
	}
	c.axles(0.19, 0.81)
	c.lamps(0.9, 0.85)
}

// minibus has windows all around; van has a closed box behind the front seats.
func minibus(c *carBody) {
	c.vanBody()
	c.cabin(0.01, 0.03, 0.72, 0.88, c.roofColour())
}

func van(c *carBody) {
	c.vanBody()
	c.add(c.paint, box(0.9*c.width, c.roof-c.waist+0.1, 0.52*c.length, 0.08).move(0, (c.roof+c.waist)/2, c.at(0.28)))
	c.cabin(0.45, 0.5, 0.72, 0.88, c.paint)
	c.add(c.second, both(box(0.04, 0.4, 0.3*c.length, 0.01).move(0.46*c.width, 0.5*(c.roof+c.waist)+0.02, c.at(0.28)))...)
}

func (c *carBody) vanBody() {
	c.size(4.9, 1.95, 0.26, 1.2, 2.1, 0.35)
	c.lower([2]float64{0, c.waist}, [2]float64{0.03, c.waist}, [2]float64{0.8, c.waist}, [2]float64{0.95, c.waist - 0.2},
		[2]float64{1, c.waist - 0.4})
	c.axles(0.18, 0.8)
	c.lamps(0.68, 0.9)
}

func pickUp(c *carBody) {
	c.size(5.2, 1.9, 0.36, 1.08, 1.75, 0.4)
	c.lower([2]float64{0, c.waist - 0.02}, [2]float64{0.02, c.waist}, [2]float64{0.7, c.waist},
		[2]float64{0.97, c.waist - 0.1}, [2]float64{1, c.waist - 0.2})
	c.cabin(within(c.s, 0.36, 0.44), 0.45, 0.6, 0.7, c.roofColour())
	c.add(rubber, box(0.76*c.width, 0.08, 0.32*c.length, 0.02).move(0, c.waist, c.at(0.19)))
	if c.s.IntN(2) == 0 { // a load
		c.add(c.second, box(0.66*c.width, within(c.s, 0.3, 0.6), 0.2*c.length, 0.06).move(0, c.waist+0.2, c.at(0.16)))
	}
	c.axles(0.19, 0.82)
	c.lamps(0.8, 0.85)
}

func bus(c *carBody) {
	c.size(7.6, 2.3, 0.3, 1.3, 2.6, 0.45)
	c.lower([2]float64{0, c.waist}, [2]float64{0.02, c.waist}, [2]float64{0.98, c.waist}, [2]float64{1, c.waist - 0.05})
	w := 0.95 * c.width
	c.add(glass, box(w, c.roof-c.waist, 0.96*c.length, 0.05).move(0, (c.roof+c.waist)/2-0.1, 0.01*c.length))
	c.add(choice(c.s, c.paint, white, c.second), box(w+0.06, 0.28, 0.97*c.length, 0.08).move(0, c.roof-0.1, 0))
	for n := range 4 {
		c.add(c.paint, both(box(0.08, c.roof-c.waist, 0.14, 0.01).move(w/2, (c.roof+c.waist)/2-0.1,
			c.at(0.16+0.22*float64(n))))...)
	}
	c.add(c.paint, box(w, c.roof-c.waist, 0.08, 0.02).move(0, (c.roof+c.waist)/2, c.at(0.02)))
	c.add(c.second, box(c.width+0.04, 0.16, 0.9*c.length, 0.02).move(0, c.waist-0.35, 0))
	c.axles(0.2, 0.8)
	c.lamps(0.65, 0.9)
}

func racer(c *carBody) {
	c.size(4.6, 1.9, 0.14, 0.6, 0.95, 0.36)
	c.add(c.paint, body(10, 4, station{c.at(0.04), 0.5, 0.2, 0.25}, station{c.at(0.3), 0.55, 0.42, 0.4},
		station{c.at(0.5), 0.45, 0.5, 0.32}, station{c.at(0.7), 0.42, 0.3, 0.22}, station{c.at(0.97), 0.3, 0.14, 0.1}))
	c.add(c.paint, both(box(0.42, 0.4, 0.36*c.length, 0.1).move(0.5, 0.36, c.at(0.4)))...)
	c.add(c.second, box(0.95*c.width, 0.05, 0.5, 0.015).move(0, 0.2, c.at(0.96)),
		box(0.85*c.width, 0.08, 0.4, 0.02).move(0, within(c.s, 0.9, 1.1), c.at(0.04)))
	c.add(c.second, both(box(0.05, 0.6, 0.45, 0.01).move(0.42*c.width, 0.75, c.at(0.04)))...)
	c.add(yellow, ball(0.17, 0.19, 0.17, 8).move(0, 0.85, c.at(0.5)))
	c.axles(0.14, 0.8)
}

func oldTimer(c *carBody) {
	c.size(4, 1.6, 0.35, 1.0, 1.8, 0.42)
	c.lower([2]float64{0.08, c.waist - 0.05}, [2]float64{0.12, c.waist}, [2]float64{0.6, c.waist},
		[2]float64{0.62, c.waist})
	c.add(c.paint, body(10, 4, station{c.at(0.58), 0.72, 0.45, 0.33}, station{c.at(0.95), 0.7, 0.34, 0.3}))
	c.add(metal, box(0.6, 0.62, 0.1, 0.04).move(0, 0.7, c.at(0.96)))
	c.cabin(0.1, 0.13, 0.56, 0.6, choice(c.s, rubber, c.second))
	for _, t := range []float64{0.19, 0.84} { // mudguards
		c.add(c.second, both(cylinder(1.18*c.wheel, 0.28, 12).scale(1, 1, 1).turn(2, 90).move(c.width/2-0.12, c.wheel+0.06,
			c.at(t)))...)
	}
	c.add(c.second, both(box(0.26, 0.07, 0.4*c.length, 0.02).move(c.width/2-0.1, 0.42, c.at(0.5)))...)
	c.add(yellow, both(ball(0.13, 0.13, 0.1, 8).move(0.42, 0.95, c.at(0.96)))...)
	c.axles(0.19, 0.84)
}

// lorryWith returns a kind of lorry, for Car and the category truck. load adds the load.
func lorryWith(load func(c *carBody)) func(*carBody) {
	return func(c *carBody) {
		c.size(6.2, 2.2, 0.5, 1.35, 2.2, 0.46)
		c.add(rubber, box(0.6*c.width, 0.3, 0.96*c.length, 0.05).move(0, 0.65, 0))
		c.add(c.paint, box(0.96*c.width, c.waist-0.45, 0.25*c.length, 0.1).move(0, (c.waist+0.45)/2, c.at(0.87)))
		c.cabin(0.75, 0.76, 0.93, 0.99, c.paint)
		load(c)
		c.axles(0.12, 0.28, 0.86)
		c.lamps(0.8, 0.7)
	}
}

func crate(c *carBody) {
	c.add(c.second, box(c.width, within(c.s, 1.7, 2.2), 0.72*c.length, 0.06).move(0, 1.85, c.at(0.36)))
}

func tank(c *carBody) {
	c.add(c.second, cylinder(0.5*c.width, 0.7*c.length, 14).turn(0, 90).move(0, 1.75, c.at(0.36)))
	c.add(metal, cylinder(0.25, 0.2, 8).move(0, 1.8+0.5*c.width, c.at(0.4)))
}

func tipper(c *carBody) {
	w, l := 0.9*c.width, 0.62*c.length
	c.add(c.second, taper(w, l, 1.1*w, 1.12*l, 1, 0.06).move(0, 1.35, c.at(0.36)))
	c.add(vec{0.45, 0.36, 0.26}, ball(0.42*w, 0.35, 0.42*l, 10).move(0, 1.85, c.at(0.36)))
}

func mixer(c *carBody) {
	drum := body(12, 2, station{-2, 0, 0.45, 0.45}, station{-1.2, 0, 0.8, 0.8}, station{0.2, 0, 1.05, 1.05},
		station{1.2, 0, 0.6, 0.6})
	c.add(c.second, drum.turn(0, 16).move(0, 1.95, c.at(0.42)))
	c.add(metal, box(0.5, 1.4, 0.3, 0.05).turn(0, 15).move(0, 1.5, c.at(0.04)))
}

func crane(c *carBody) {
	c.add(c.second, box(0.8*c.width, 0.9, 0.3*c.length, 0.08).move(0, 1.3, c.at(0.22)))
	c.add(c.second, box(0.3, 0.34, 1.05*c.length, 0.03).turn(0, -24).move(0, 2.8, c.at(0.62)))
	c.add(metal, box(0.08, 1.1, 0.08, 0.01).move(0, 3.4, c.at(1.08)), box(0.3, 0.3, 0.3, 0.05).move(0, 2.75, c.at(1.08)))
}

func ladder(c *carBody) {
	c.add(c.second, box(c.width, 1.2, 0.7*c.length, 0.08).move(0, 1.35, c.at(0.36)))
	c.add(metal, both(box(0.1, 0.14, 0.95*c.length, 0.02).turn(0, 8).move(0.35, 2.35, c.at(0.42)))...)
	for n := range 6 {
		c.add(metal, box(0.7, 0.1, 0.1, 0.01).move(0, 2.75-0.16*float64(n), c.at(0.04+0.15*float64(n))))
	}
}

func logs(c *carBody) {
	for n, y := range []float64{1.15, 1.15, 1.15, 1.75, 1.75, 2.3} {
		x := []float64{-0.65, 0, 0.65, -0.33, 0.33, 0}[n]
		c.add(c.second, cylinder(0.33, 0.78*c.length, 9).turn(0, 90).move(x, y, c.at(0.34)))
	}
}

func articulated(c *carBody) {
	c.size(9, 2.3, 0.5, 1.4, 2.5, 0.46)
	c.add(rubber, box(0.6*c.width, 0.3, 0.96*c.length, 0.05).move(0, 0.7, 0))
	c.add(c.paint, box(0.96*c.width, c.waist-0.45, 0.2*c.length, 0.1).move(0, (c.waist+0.45)/2, c.at(0.9)))
	c.cabin(0.82, 0.825, 0.95, 0.99, c.paint)
	c.add(c.second, box(c.width, 2.2, 0.76*c.length, 0.06).move(0, 2, c.at(0.38)))
	c.axles(0.08, 0.18, 0.7, 0.9)
	c.lamps(0.8, 0.8)
}
