package metrics_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/datasets/factor"
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

// A factor with one level leaves the value of a metric as it is, or a note names it.
func TestNoteOfOneLevel(t *testing.T) {
	code := func(l []int, z []float64) {
		z[0], z[1], z[2] = float64(l[0]), float64(l[1])+0.1*float64(l[0]), float64(l[0]*l[1])
	}
	two, three := gridInput(ordinals(25, 20), 3, code), gridInput(ordinals(25, 20, 1), 3, code)
	for _, e := range entries() {
		c := []Choice{fewRows(e.Name)}
		if Suits(two, c) != nil || Suits(three, c) != nil {
			continue
		}
		want, got := evaluated(t, two, c), evaluated(t, three, c)
		notes := strings.Join(got.Notes, "; ")
		if got.Value != want.Value && !strings.Contains(notes, "f2") && !strings.Contains(notes, "only one level") {
			t.Errorf("%s: %v, without the factor of one level %v; notes %q", e.Name, got.Value, want.Value, notes)
		}
	}
	for _, name := range []string{"contraction-mean", "contraction-max"} { // of many factors, one with one level adds 0
		got := evaluated(t, gridInput(ordinals(1), 3, func([]int, []float64) {}), []Choice{choice(name)})
		if !strings.Contains(strings.Join(got.Notes, "; "), "f0 has only one level") {
			t.Errorf("%s without a factor that varies: notes %q", name, got.Notes)
		}
	}
	gap := gridInput(ordinals(5, 4, 1), 3, code)
	gap.Levels[0] = factor.Unknown // each factor is measured on its own rows
	const note = "factor f2 has only one level and counts nevertheless; leave it out if it should not"
	if got := evaluated(t, gap, []Choice{choice("mse")}); strings.Join(got.Notes, "; ") != note {
		t.Errorf("mse with an unknown level: notes %q; want %q", got.Notes, note)
	}
	for _, name := range []string{"explicitness", "sap"} { // they refuse the rows of this factor
		if got := evaluated(t, gap, []Choice{fewRows(name)}); !slices.Contains(got.Notes, "factor f2 has only one level and is left out") {
			t.Errorf("%s with an unknown level: notes %q", name, got.Notes)
		}
	}
	some := gridInput(ordinals(25, 20), 4, code)
	if got := evaluated(t, some, []Choice{choice("mutual-information")}); strings.Join(got.Notes, "; ") != "1 of 4 columns are constant and count as 0" {
		t.Errorf("a constant column: notes %q", got.Notes)
	}
}
