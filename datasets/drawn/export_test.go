package drawn

import (
	"sync"
)

var drawn = sync.OnceValue(func() *drawings { return newDrawings(spaceImage) })

// RenderSpaceshape draws one image.
func RenderSpaceshape(shape int, jet bool, v []float64) []uint8 {
	image := make([]uint8, spaceImage*spaceImage)
	drawn().render(shape, jet, v, image)
	return image
}

// ChopsticksLine returns the row of sticks with the given intercepts and slopes; NaN means none.
func ChopsticksLine(overwrite string, numbers ...[2]float64) []float64 {
	var l line
	for level, n := range numbers {
		at := &stick{level: level}
		for k, v := range n {
			if v == v {
				at.kinds = append(at.kinds, kind(k))
			}
		}
		l.add(at, n, overwrite)
	}
	return l.times[:]
}

// SpaceshapesFit reports whether all shapes, at every rotation, are away from the edges of their squares.
func SpaceshapesFit() bool {
	fits := func(d *drawing) bool {
		side := 2 * d.radius
		for i := range side {
			if d.pixels[i]+d.pixels[(side-1)*side+i]+d.pixels[i*side]+d.pixels[i*side+side-1] > 0 {
				return false
			}
		}
		return true
	}
	all := drawn()
	for n := range spaceSteps {
		turned := all.jets[spaceSteps-1].rotate(90*float64(n)/(spaceSteps-1) - 45)
		if !fits(&turned) || !fits(&all.moons[n]) || !fits(&all.stars[n]) || !fits(&all.jets[n]) {
			return false
		}
	}
	return true
}

var Weighted = weighted
