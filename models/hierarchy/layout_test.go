package hierarchy

import (
	"slices"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
)

// Places agree with Masks: a dimension is active exactly if its option is chosen.
func TestPlaces(t *testing.T) {
	h, err := Parse([]byte(`[{"type":"continuous"},{"type":"categorical","options":[[],[{"type":"continuous"},
		{"type":"categorical","options":[[{"type":"continuous"}],[]]}]]},{"type":"categorical","options":[[{"type":"continuous"}],[]]},{"type":"continuous"}]`))
	must.OK(t, err)
	categorical, continuous := h.Places()
	if !slices.Equal(categorical, []int{-1, 1, -1}) || !slices.Equal(continuous, []int{-1, 1, 2, 4, -1}) {
		t.Errorf("%v, %v", categorical, continuous)
	}
	mask := make([]bool, h.Continuous())
	for _, choice := range [][]int{{0, -1, 0}, {1, 0, 1}, {1, 1, 0}} {
		chosen, first := map[int]bool{-1: true}, 0 // columns of chosen options of active dimensions
		for c, options := range h.Categoricals() {
			if choice[c] >= 0 {
				chosen[first+choice[c]] = chosen[categorical[c]]
			}
			first += options
		}
		h.Masks(choice, mask)
		for i, c := range continuous {
			if chosen[c] != mask[i] {
				t.Errorf("choices %v: dimension %d is active %v by its place, %v by the mask", choice, i, chosen[c], mask[i])
			}
		}
	}
	if a, b := (Hierarchy{}).Places(); a != nil || b != nil {
		t.Errorf("places %v, %v of nothing", a, b)
	}
}
