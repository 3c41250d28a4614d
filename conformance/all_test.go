package conformance_test

import (
	"slices"
	"testing"

	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/conformance"
	"github.com/unravel-ml/unravel/datasets/catalog"
	"github.com/unravel-ml/unravel/datasets/drawn"
	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/metrics"
)

// TestParts checks every registered part against the rules of its kind. The default test reduces the largest parts.
func TestParts(t *testing.T) {
	long.NotShort(t)
	if !long.Enabled() {
		change(t, nn.Encoders, "resnet18", func(s *nn.ResNet18) { s.Width = 8 })
		change(t, nn.Encoders, "resnet-ae", func(s *nn.ResNetAE) { s.Width, s.Features = 8, 16 })
		change(t, nn.Decoders, "resnet-ae", func(s *nn.ResNetAE) { s.Width, s.Features = 8, 16 })
		change(t, catalog.Registry, "spaceshapes", func(s *drawn.Spaceshapes) { s.Samples = 600 })
		change(t, catalog.Registry, "room", func(s *drawn.Room) { s.Scales, s.Orientations = 3, 4 })
		change(t, metrics.Registry, "r4", func(m *metrics.R4) { m.Splits = 2 })
		change(t, catalog.Registry, "cars", func(s *drawn.Cars) { s.Objects = 20 })
	}
	conformance.All(t)
}

// change changes the defaults of a registry entry during a test. S is the type of the settings.
func change[S, T any](t *testing.T, r *registry.Registry[T], name string, set func(*S)) {
	before := r.Entries
	t.Cleanup(func() { r.Entries = before })
	r.Entries = slices.Clone(before)
	e := &r.Entries[slices.Index(r.Names(), name)]
	defaults := e.New
	e.New = func() T {
		settings := defaults()
		set(any(settings).(*S))
		return settings
	}
}
