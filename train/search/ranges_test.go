package search_test

import (
	"testing"

	"github.com/unravel-ml/unravel/internal/configtest"
	"github.com/unravel-ml/unravel/train/search"
)

// Numbers of settings are accepted in the ranges that their messages state.
func TestRanges(t *testing.T) {
	configtest.CheckRanges(t, "testdata/ranges.txt", search.Methods.Entries)
}
