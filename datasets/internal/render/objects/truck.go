package objects

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
	drum := body(12, 2, station{-2, 0, 0.45, 0.45}, station{-1.2, 0, 0.8, 0.8}, station{0.2, 0, 1.05, 1.05}, station{1.2, 0, 0.6, 0.6})
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
