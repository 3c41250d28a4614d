package catalog_test

import (
	"testing"

	"github.com/unravel-ml/unravel/datasets/catalog"
	"github.com/unravel-ml/unravel/internal/configtest"
)

// Numbers of settings are accepted in the ranges that their messages state.
func TestRanges(t *testing.T) {
	configtest.CheckRanges(t, "testdata/ranges.txt", catalog.Registry.Entries)
}
