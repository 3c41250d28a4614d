package report

import "testing"

// TestShown checks that a figure of codes shows all images of a small set. For a large set, the images cover all
// positions: evenly spaced images would have few levels of the last factors.
func TestShown(t *testing.T) {
	for i, image := range Shown(100) {
		if image != i {
			t.Fatalf("image %d is %d", i, image)
		}
	}
	const sprites, positions = 737280, 1024
	list, met := Shown(sprites), map[int]bool{}
	for _, image := range list {
		if image < 0 || image >= sprites {
			t.Fatalf("there is no image %d", image)
		}
		met[image%positions] = true
	}
	if len(list) != maxShown || len(met) < positions*99/100 {
		t.Errorf("%d images at %d of %d positions, want %d at nearly all", len(list), len(met), positions, maxShown)
	}
}
