package sweep

import (
	"math"
	"testing"

	"github.com/unravel-ml/unravel/train"
)

// A run without a rehearsal trains as long as a similar run, in proportion to the epochs, or to the images of short
// epochs. The length of training changes no time before or after training.
func TestSecondsOfSimilar(t *testing.T) {
	class := func(epochs, steps, batch int) *costClass {
		k := &costClass{run: Run{Config: train.Config{}}}
		k.run.Config.Train.Epochs, k.run.Config.Train.EpochSteps, k.run.Config.Train.Batch = epochs, steps, batch
		return k
	}
	for _, c := range []struct {
		own, other *costClass
		want       float64
	}{
		{class(6, 0, 10), class(2, 0, 20), 1 + 3*(10+100) + 1000},
		{class(6, 5, 10), class(2, 5, 20), 1 + 1.5*(10+100) + 1000},
		{class(6, 5, 10), class(2, 3, 20), 1 + 2.5*(10+100) + 1000},
		{class(6, 5, 10), class(2, 0, 10), 1 + 10 + 100 + 1000}, // the number of images is not known
		{class(6, 0, 10), class(2, 5, 10), 1 + 10 + 100 + 1000},
		{class(6, 0, 10), class(0, 0, 10), 1 + 10 + 100 + 1000},
		{class(6, 5, 10), class(0, 5, 10), 1 + 10 + 100 + 1000},
	} {
		c.other.estimate = &train.Estimate{Begin: 1, Training: 10, During: 100, Measure: 1000}
		c.own.nearest = c.other
		if got := c.own.seconds(); !(math.Abs(got-c.want) <= 1e-9) {
			t.Errorf("%+v: %v s, want %v", c.own.run.Config.Train, got, c.want)
		}
		if got := c.other.seconds(); got != 1111 {
			t.Errorf("rehearsed: %v s", got)
		}
	}
}

// The name of a folder has the last key of each setting, and the value in letters and digits.
func TestFolderName(t *testing.T) {
	for want, s := range map[string]Setting{
		"run_beta4":            {"losses.kl.beta", "4"},
		"run_seed1":            {"seed", "1"},
		"run_losses.2kl":       {"losses.2", "kl"},
		"run_metrics.0mig":     {"train.metrics.0", "mig"},
		"run_losseskl":         {"losses.+", "kl"},
		"run_losses-kl-beta-4": {"losses", "{kl: {beta: 4}}"},
	} {
		if got := FolderName("run", []Setting{s}); got != want {
			t.Errorf("%v: %s, want %s", s, got, want)
		}
	}
}
