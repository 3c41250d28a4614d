package main

import (
	"github.com/unravel-ml/unravel/datasets/augment"
	"github.com/unravel-ml/unravel/graph/rng"
)

// invert is an augmentation: black becomes white and white black.
type invert struct{ augment.Chance }

// Suits implements augment.Op.
func (*invert) Suits(h, w, c int) error { return nil }

// Apply implements augment.Op.
func (*invert) Apply(m *augment.Canvas, _ *rng.Stream) {
	pixels := m.Pixels()
	for i, v := range pixels {
		pixels[i] = 1 - v
	}
}
