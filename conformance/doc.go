// Package conformance tests the parts of Unravel, including parts that a program registers. The test
//
//	func TestParts(t *testing.T) { conformance.All(t) }
//
// checks all registered parts. [CheckLoss], [CheckModel] and others check one entry. Do not call these functions in
// parallel tests, because they count allocations.
package conformance

import (
	"testing"

	"github.com/unravel-ml/unravel/datasets/augment"
	"github.com/unravel-ml/unravel/datasets/catalog"
	"github.com/unravel-ml/unravel/datasets/supervision"
	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/losses"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/models"
	"github.com/unravel-ml/unravel/models/latent"
	"github.com/unravel-ml/unravel/train/engine"
)

// All checks every registered part, with a subtest for each kind. It takes about 20 s of CPU time.
func All(t *testing.T) {
	for _, kind := range []struct {
		name  string
		check func(*testing.T)
	}{
		{"losses", testEach(losses.Registry.Entries, CheckLoss)},
		{"models", testEach(models.Registry.Entries, CheckModel)},
		{"latents", testEach(latent.Registry.Entries, CheckLatent)},
		{"encoders", testEach(nn.Encoders.Entries, CheckEncoder)},
		{"decoders", testEach(nn.Decoders.Entries, CheckDecoder)},
		{"layers", testEach(nn.Parts.Entries, CheckLayer)},
		{"metrics", testEach(metrics.Registry.Entries, CheckMetric)},
		{"datasets", testEach(catalog.Registry.All(), CheckDataset)},
		{"supervisions", testEach(supervision.Registry.Entries, CheckSupervision)},
		{"augmentations", testEach(augment.Registry.Entries, CheckAugmentation)},
		{"pipelines", testEach(augment.Presets.Entries, CheckPipeline)},
		{"optimizers", testEach(engine.Optimizers.Entries, CheckOptimizer)},
		{"schedules", testEach(engine.Schedules.Entries, CheckSchedule)},
	} {
		t.Run(kind.name, kind.check)
	}
}
