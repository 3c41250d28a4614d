package report

import (
	"fmt"
	"io"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
)

func TestCodePlanes(t *testing.T) {
	factors := []Column{{Name: "a"}, {Name: "b"}}
	var codes []Column
	for i := range 5 {
		codes = append(codes, Column{Name: string(rune('u' + i))})
	}
	for i := range 6 {
		factors[0].Values, factors[1].Values = append(factors[0].Values, float64(i%2)), append(factors[1].Values, float64(i/2))
		for c := range codes {
			codes[c].Values = append(codes[c].Values, float64(i*c))
		}
	}
	for _, columns := range []int{2, 3, 5} {
		show(t, fmt.Sprintf("planes %d", columns), func(w io.Writer) error {
			return codePlanes(w, "codes", []Stage{{"before", codes[:columns]}, {"after", codes[:columns]}}, factors[:1+columns%2])
		})
	}
	must.Error(t, codePlanes(io.Discard, "", []Stage{{"before", codes}}, nil), "want at least")
	labels := 0
	for _, tick := range (sparseTicks{}).Ticks(-0.1, 0.08) {
		if tick.Label != "" {
			labels++
		}
	}
	if labels != 5 { // -0.1, -0.06, -0.02, 0.02, 0.06
		t.Errorf("%d labels from -0.1 to 0.08, want 5", labels)
	}
	if got := pairsOf(3); len(got) != 3 || got[2] != [2]int{1, 2} {
		t.Errorf("pairs of 3 columns: %v", got)
	}
	if got := pairsOf(7); len(got) != 4 || got[3] != [2]int{5, 6} {
		t.Errorf("pairs of 7 columns: %v", got)
	}
	if got := pairsOf(40); len(got) != maxPairs || got[1] != [2]int{2, 3} {
		t.Errorf("pairs of 40 columns: %v", got)
	}
}
