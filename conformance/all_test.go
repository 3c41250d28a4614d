package conformance_test

import (
	"testing"

	"github.com/unravel-ml/unravel/conformance"
)

// TestParts holds every registered part of Unravel to the rules of its kind.
func TestParts(t *testing.T) { conformance.All(t) }
