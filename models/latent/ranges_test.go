package latent_test

import (
	"testing"

	"github.com/unravel-ml/unravel/internal/configtest"
	"github.com/unravel-ml/unravel/models/latent"
)

// Numbers of settings are accepted in the ranges that their messages state.
func TestRanges(t *testing.T) {
	configtest.CheckRanges(t, "testdata/ranges.txt", latent.Registry.Entries)
}
