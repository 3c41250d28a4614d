package augment_test

import (
	"testing"

	"github.com/unravel-ml/unravel/configs/config/configtest"
	"github.com/unravel-ml/unravel/datasets/augment"
)

// Numbers of settings are accepted in the ranges that their messages state.
func TestRanges(t *testing.T) {
	configtest.CheckRanges(t, augment.Registry.Entries, 7)
}
