package conformance

import (
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
)

// Every image of an example but the first of its group has one action, and two levels are unknown.
func TestDrawExample(t *testing.T) {
	x := drawExample("test")
	for row := range exampleRows {
		actions, want := 0.0, 1.0
		for _, v := range x.Actions[4*row : 4*row+4] {
			actions += v
		}
		if row%exampleGroup == 0 {
			want = 0
		}
		must.Equal(t, actions, want, "row", row, "actions")
	}
	unknown := 0
	for _, level := range x.Levels {
		if level < 0 {
			unknown++
		}
	}
	must.Equal(t, unknown, 2, "unknown levels")
}
