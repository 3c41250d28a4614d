package metrics_test

import (
	"testing"

	. "github.com/unravel-ml/unravel/metrics"
)

// The values come from GradientBoostingRegressor of scikit-learn 1.2.1 with defaults. If columns split equally well,
// they depend on random_state. The bounds are the values for random_state 0 to 3, plus or minus 0.01.
func TestDCIRegressionGolden(t *testing.T) {
	for name, want := range map[string]struct{ d, least, most, r2 float64 }{
		"entanglement": {0.351, 0.3505, 0.3515, 0.993},
		"rotation":     {0.427, 0.4265, 0.4285, 0.995},
		"duplicate":    {1, 0.569, 0.609, 1},
		"complement":   {1, 0.606, 0.654, 1},
		"redundancy":   {1, 0.823, 0.893, 1},
		"constant":     {0, 0, 0, 0},
	} {
		in, _ := encoded(t, name)
		r := evaluated(t, in, []Choice{chosen(t, "dci-regression")})
		near(t, name+": disentanglement", r.Part("disentanglement")[0], want.d, 0.0005)
		if c := r.Part("completeness")[0]; !(c >= want.least-1e-9 && c <= want.most) {
			t.Errorf("%s: completeness %v, want %v to %v", name, c, want.least, want.most)
		}
		near(t, name+": informativeness", r.Part("informativeness")[0], want.r2, 0.0005)
	}
}

func TestDCIRegressionSettings(t *testing.T) {
	in, _ := encoded(t, "nonlinear")
	for _, c := range []*DCIRegression{{Score: "best", Rounds: 1, Depth: 1}, {Score: Completeness, Depth: 1}, {Score: Completeness, Rounds: 1}} {
		if _, err := Evaluate(ctx, in, 1, []Choice{{Name: "dci-regression", Value: c}}); err == nil {
			t.Errorf("%+v is no error", c)
		}
	}
}
