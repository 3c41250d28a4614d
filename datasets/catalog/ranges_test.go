package catalog_test

import (
	"testing"

	"github.com/unravel-ml/unravel/configs/config/configtest"
	"github.com/unravel-ml/unravel/datasets/catalog"
)

// Numbers of settings are accepted in the ranges that their messages state.
func TestRanges(t *testing.T) {
	configtest.CheckRanges(t, catalog.Registry.Entries, 66, "sprites.channels", "dsprites.channels")
}
