package hierarchy

import (
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
)

func TestDistanceGolden(t *testing.T) {
	var hierarchies map[string]Hierarchy
	var want map[string]struct{ Value, Tolerance float64 }
	must.ReadJSON(t, "testdata/hierarchies.json", &hierarchies)
	must.ReadJSON(t, "testdata/expected.json", &want)
	if len(want) != 81 {
		t.Fatalf("%d pairs; want 81", len(want))
	}
	for pair, value := range want {
		names := strings.Split(pair, "__")
		a, b := hierarchies[names[0]], hierarchies[names[1]]
		if a == nil || b == nil {
			t.Fatalf("%s: no such hierarchies", pair)
		}
		if got := Distance(a, b); float64(got) != value.Value {
			t.Errorf("%s: %d, want %v", pair, got, value.Value)
		}
		if got := Distance(b, a); float64(got) != value.Value {
			t.Errorf("%s, the other way round: %d, want %v", pair, got, value.Value)
		}
	}
}
