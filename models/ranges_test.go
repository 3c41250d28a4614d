package models_test

import (
	"testing"

	"github.com/unravel-ml/unravel/internal/configtest"
	"github.com/unravel-ml/unravel/models"
)

// Numbers of settings are accepted in the ranges that their messages state.
func TestRanges(t *testing.T) {
	configtest.CheckRanges(t, "testdata/ranges.txt", models.Registry.Entries)
}
