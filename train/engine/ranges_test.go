package engine_test

import (
	"testing"

	"github.com/unravel-ml/unravel/internal/configtest"
	"github.com/unravel-ml/unravel/train/engine"
)

// Settings accept numbers in the ranges of their error messages.
func TestRanges(t *testing.T) {
	configtest.CheckRanges(t, "testdata/optimizerranges.txt", engine.Optimizers.Entries)
	configtest.CheckRanges(t, "testdata/scheduleranges.txt", engine.Schedules.Entries)
}
