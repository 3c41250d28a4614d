package models_test

import (
	"testing"

	"github.com/unravel-ml/unravel/internal/configtest"
	"github.com/unravel-ml/unravel/models"
)

// Settings accept numbers in the ranges of their error messages.
func TestRanges(t *testing.T) {
	configtest.CheckRanges(t, "testdata/ranges.txt", models.Registry.Entries)
}
