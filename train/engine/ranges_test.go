package engine_test

import (
	"testing"

	"github.com/unravel-ml/unravel/configs/config/configtest"
	"github.com/unravel-ml/unravel/train/engine"
)

// Numbers of settings are accepted in the ranges that their messages state.
func TestRanges(t *testing.T) {
	configtest.CheckRanges(t, engine.Optimizers.Entries, 28)
	configtest.CheckRanges(t, engine.Schedules.Entries, 10)
}
