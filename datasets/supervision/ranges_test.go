package supervision_test

import (
	"testing"

	"github.com/unravel-ml/unravel/datasets/supervision"
	"github.com/unravel-ml/unravel/internal/configtest"
)

// Settings accept numbers in the ranges of their error messages.
func TestRanges(t *testing.T) {
	configtest.CheckRanges(t, "testdata/ranges.txt", supervision.Registry.Entries)
}
