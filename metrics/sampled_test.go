package metrics_test

import (
	"math"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
	. "github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/metrics/matrix"
)

// Few rows overestimate mutual information. The gap of perfect circular codes grows, because the histograms of their
// columns differ.
func TestSampledCircles(t *testing.T) {
	const side = 64
	in := &Input{Codes: matrix.Matrix{Rows: side * side, Cols: 4}}
	in.Factors, in.Levels = grid(side, side)
	for i := range side {
		for j := range side {
			a, b := 2*math.Pi*(float64(i)+0.3)/side, 2*math.Pi*(float64(j)+0.7)/side
			in.Codes.Data = append(in.Codes.Data, math.Cos(a), math.Sin(a), math.Cos(b), math.Sin(b))
		}
	}
	all := evaluated(t, in, []Choice{chosen(t, "mig")})
	few := evaluated(t, in, []Choice{chosen(t, "{sampled: {rows: 100, draws: 20, of: mig}}")})
	if few.Name != "sampled-mig" || !(all.Value <= 1e-3) || !(few.Value >= 0.015 && few.Value <= 0.04) {
		t.Errorf("all rows %v, 100 rows %s %v; want 0 and about 0.025", all.Value, few.Name, few.Value)
	}
	draws := few.Part("draws")
	sum := 0.0
	for _, v := range draws {
		sum += v
	}
	if len(draws) != 20 || draws[0] == draws[1] {
		t.Errorf("draws %v", draws)
	}
	near(t, "mean over the draws", few.Value, sum/20, 1e-12)
	for _, p := range few.Parts {
		if p.Name == "draws" && (p.Labels[0] != "1" || p.Labels[19] != "20") {
			t.Errorf("labels of the draws: %v", p.Labels)
		}
	}
}

// A large sample has the value of all rows.
func TestSampledMany(t *testing.T) {
	in, _ := encoded(t, "entanglement")
	for _, text := range []string{"mig", "modularity"} {
		near(t, text, evaluated(t, in, []Choice{chosen(t, "{sampled: {rows: 200000, of: "+text+"}}")}).Value,
			evaluated(t, in, []Choice{chosen(t, text)}).Value, 0.01)
	}
}

func TestSampledSettings(t *testing.T) {
	in, _ := encoded(t, "nonlinear")
	for text, want := range map[string]string{
		"sampled":                               "of: there is no metric; want one of the sample",
		"{sampled: {rows: 1, of: mig}}":         "rows: 1 is out of range; want 2 to 16777216",
		"{sampled: {draws: 0, of: mig}}":        "draws: 0 is out of range",
		"{sampled: {of: {sampled: {of: mig}}}}": "of: the rows are a sample already",
		"{sampled: {of: {mig: {bins: 0}}}}":     "bins: 0 is out of range",
	} {
		c, err := choose(text)
		if err == nil {
			_, err = Evaluate(t.Context(), in, 0, []Choice{c})
		}
		must.Error(t, err, want, text)
	}
}
