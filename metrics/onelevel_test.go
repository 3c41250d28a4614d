package metrics_test

import (
	"strings"
	"testing"

	. "github.com/unravel-ml/unravel/metrics"
)

// A factor with one level changes no metric of mutual information. With one other factor, there is nothing to compare.
func TestFactorsOfOneLevel(t *testing.T) {
	code := func(l []int, z []float64) {
		z[0], z[1], z[2] = float64(l[0]+l[1]), float64(l[1]), float64(l[0]*l[1])
	}
	two, three, one := gridInput(ordinals(4, 3), 3, code), gridInput(ordinals(4, 3, 1), 3, code), gridInput(ordinals(4, 1), 3, code)
	three.Factors[2].Size = 5 // levels that do not occur
	for _, name := range strings.Fields("med principal-med modularity co-occurrence responses beta-vae factor-vae") {
		got := evaluated(t, three, []Choice{choice(name)})
		notes := strings.Join(got.Notes, "; ")
		switch name {
		case "responses":
			near(t, name, got.Value, evaluated(t, two, []Choice{choice(name)}).Value, 0)
		case "beta-vae", "factor-vae":
			if !strings.Contains(notes, "factor f2 has only one level, so no column can predict it") {
				t.Errorf("%s: notes %q", name, notes)
			}
		default:
			near(t, name, got.Value, evaluated(t, two, []Choice{choice(name)}).Value, 0)
			if !strings.Contains(notes, "factor f2 has only one level and is left out") {
				t.Errorf("%s: notes %q", name, notes)
			}
		}
	}
	for _, name := range strings.Fields("med principal-med modularity co-occurrence responses manipulation beta-vae factor-vae") {
		err := choice(name).Value.(Selective).Suits(one)
		if err == nil || err.Error() != "1 of 2 factors have several levels in the 4 rows; want at least 2" {
			t.Errorf("%s of one varying factor: %v", name, err)
		}
	}
}
