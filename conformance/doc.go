// Package conformance tests the parts of Unravel, also parts that a program registers. The test
//
//	func TestParts(t *testing.T) { conformance.All(t) }
//
// checks all registered parts. [CheckLoss], [CheckModel] and others check one entry. Parallel tests must not call
// these functions, because they count allocations.
package conformance

import "testing"

// All checks every registered part, with a subtest for each kind. It takes about 20 s of processor time.
func All(t *testing.T) {
	for _, kind := range []struct {
		name  string
		check func(*testing.T)
	}{
		{"losses", allLosses}, {"models", allModels}, {"latents", allLatents},
		{"encoders", allEncoders}, {"decoders", allDecoders}, {"layers", allLayers},
		{"metrics", allMetrics}, {"datasets", allDatasets}, {"supervisions", allSupervisions},
		{"augmentations", allAugmentations}, {"optimizers", allOptimizers}, {"schedules", allSchedules},
	} {
		t.Run(kind.name, kind.check)
	}
}
