package metrics_test

import (
	"math"
	"testing"

	"github.com/unravel-ml/unravel/internal/long"
	. "github.com/unravel-ml/unravel/metrics"
)

// TestScale checks that a result has a scale exactly if the scale of the codes changes its value.
func TestScale(t *testing.T) {
	long.NotShort(t)
	whole, _ := gappy()
	in := kept(whole, 0, 1, 2)
	in.Factors[0].Kind, in.Factors[1].Kind = 1, 1 // circular, for D_LSBD
	wide := *in
	wide.Codes.Data = nil
	for _, v := range in.Codes.Data {
		wide.Codes.Data = append(wide.Codes.Data, v/128) // exact, and below the threshold of factor-vae
	}
	for _, e := range entries() {
		c := []Choice{fewRows(e.Name)}
		if Suits(in, c) != nil {
			continue
		}
		a, b := evaluated(t, in, c), evaluated(t, &wide, c)
		same := math.Abs(a.Value-b.Value) <= 1e-9*math.Abs(a.Value)
		if (a.Scale == 0) != same {
			t.Errorf("%s: %v, of codes of another scale %v; scale %v", e.Name, a.Value, b.Value, a.Scale)
		}
		if a.Scale > 0 && !(math.Abs(a.Scale/b.Scale-128) <= 1e-9) {
			t.Errorf("%s: scales %v and %v", e.Name, a.Scale, b.Scale)
		}
		if fractions := a.Part("fraction"); (fractions != nil) != (e.Name == "variance") {
			t.Errorf("%s: fractions %v; want them for the mean variance only", e.Name, fractions)
		}
		if e.Name != "variance" {
			continue
		}
		for j, f := range a.Part("fraction") {
			if g := b.Part("fraction")[j]; !(math.Abs(f-g) <= 1e-12) || !(f > 0 && f < 0.5) {
				t.Errorf("fractions %v and %v", f, g)
			}
		}
	}
}
