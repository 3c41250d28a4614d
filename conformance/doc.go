// Package conformance tests the parts of Unravel, also parts that a program registers. The test
//
//	func TestParts(t *testing.T) { conformance.All(t) }
//
// checks all registered parts. [Losses], [Models] and others check the parts of one kind. [CheckLoss], [CheckModel]
// and others check one entry. Parallel tests must not call these functions, because they count allocations.
package conformance

import "testing"

// All checks every registered part, with a subtest for each kind. It takes about 20 s of processor time.
func All(t *testing.T) {
	for _, kind := range []struct {
		name  string
		check func(*testing.T)
	}{
		{"losses", Losses}, {"models", Models}, {"latents", Latents}, {"encoders", Encoders}, {"decoders", Decoders}, {"layers", Layers},
		{"metrics", Metrics}, {"datasets", Datasets}, {"supervisions", Supervisions}, {"augmentations", Augmentations},
		{"optimizers", Optimizers}, {"schedules", Schedules},
	} {
		t.Run(kind.name, kind.check)
	}
}
