// Package objects generates small coloured objects for pictures of 64 x 64 pixels: airplanes, cars, animals, people and
// abstract solids. Each has a few hundred triangles.
//
// An object depends only on its seed or number, and is the same on every machine. It stands upright along y and faces
// +z. Its bounding box is centred at the origin and just fits into the unit sphere. It has one part per colour, made of
// closed surfaces (which may intersect) with normals that point outwards. Objects look different from behind than from
// the front, so a picture shows their yaw.
package objects

import (
	"github.com/unravel-ml/unravel/graph/rng"
)

// choice draws an element of a list.
func choice[T any](s *rng.Stream, list ...T) T { return list[s.IntN(len(list))] }

// within draws a number from an interval.
func within(s *rng.Stream, low, high float64) float64 { return low + (high-low)*s.Float64() }

// Colours of details.
var (
	glass  = vec{0.13, 0.17, 0.24}
	rubber = vec{0.10, 0.10, 0.11}
	metal  = vec{0.66, 0.68, 0.71}
	white  = vec{0.96, 0.96, 0.95}
	red    = vec{0.85, 0.10, 0.09}
	yellow = vec{0.98, 0.85, 0.30}
)

// paints are the colours of bodies.
var paints = []vec{
	{0.83, 0.13, 0.11}, {0.95, 0.55, 0.10}, {0.97, 0.82, 0.16}, {0.40, 0.68, 0.18}, {0.09, 0.47, 0.28}, {0.12, 0.62, 0.66},
	{0.18, 0.47, 0.86}, {0.13, 0.20, 0.55}, {0.46, 0.25, 0.66}, {0.88, 0.40, 0.63}, {0.47, 0.29, 0.15}, {0.70, 0.72, 0.75},
}

// twoPaints returns the colour of a body and a different second colour.
func twoPaints(s *rng.Stream) (first, second vec) {
	n := s.IntN(len(paints))
	return paints[n], paints[(n+1+s.IntN(len(paints)-1))%len(paints)]
}
