package metrics_test

import (
	"testing"

	"github.com/unravel-ml/unravel/configs/config/configtest"
	"github.com/unravel-ml/unravel/metrics"
)

// Numbers of settings are accepted in the ranges that their messages state.
func TestRanges(t *testing.T) {
	configtest.CheckRanges(t, metrics.Registry.Entries, 80)
}
