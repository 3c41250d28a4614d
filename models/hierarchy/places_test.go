package hierarchy

import (
	"slices"
	"testing"
)

// Places agree with Masks: a dimension is active exactly if its option is chosen.
func TestPlaces(t *testing.T) {
	h, err := Parse([]byte(`[{"type":"continuous"},{"type":"categorical","options":[[],[{"type":"continuous"},
		{"type":"categorical","options":[[{"type":"continuous"}],[]]}]]},{"type":"categorical","options":[[{"type":"continuous"}],[]]},{"type":"continuous"}]`))
	if err != nil {
		t.Fatal(err)
	}
	categorical, continuous := h.Places()
	if !slices.Equal(categorical, []int{-1, 1, -1}) || !slices.Equal(continuous, []int{-1, 1, 2, 4, -1}) {
		t.Errorf("%v, %v", categorical, continuous)
	}
	values, mask := make([]float64, h.Continuous()), make([]bool, h.Continuous())
	for _, choice := range [][]int{{0, -1, 0}, {1, 0, 1}, {1, 1, 0}} {
		flat := make([]float64, h.Width())
		for i := range values {
			values[i] = 7
		}
		if err := h.Flat(choice, values, flat); err != nil {
			t.Fatal(err)
		}
		h.Masks(choice, mask)
		for i, c := range continuous {
			if active := c < 0 || flat[c] == 1; active != mask[i] {
				t.Errorf("choices %v: dimension %d is active %v by its place, %v by the mask", choice, i, active, mask[i])
			}
		}
	}
	if a, b := (Hierarchy{}).Places(); a != nil || b != nil {
		t.Errorf("places %v, %v of nothing", a, b)
	}
}
