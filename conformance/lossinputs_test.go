package conformance

import "testing"

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
		if actions != want {
			t.Errorf("row %d has %v actions, want %v", row, actions, want)
		}
	}
	unknown := 0
	for _, level := range x.Levels {
		if level < 0 {
			unknown++
		}
	}
	if unknown != 2 {
		t.Errorf("%d unknown levels, want 2", unknown)
	}
}
