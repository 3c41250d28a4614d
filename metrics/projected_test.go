package metrics_test

import (
	"fmt"
	"testing"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/internal/must"
	. "github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/metrics/matrix"
)

// chosen reads a metric from config text.
func chosen(t *testing.T, text string) Choice {
	t.Helper()
	return must.Get(choose(text))(t)
}

func choose(text string) (Choice, error) {
	root, err := config.Parse("c.yaml", []byte("metric: "+text+"\n"))
	if err != nil {
		return Choice{}, err
	}
	var c struct{ Metric Choice }
	err = root.Decode(&c)
	return c.Metric, err
}

// Metrics of sub-codes with a projection equal the metrics of projected codes. Parts that are invariant under linear
// maps do not change.
func TestProjectedIsProjection(t *testing.T) {
	in, _ := encoded(t, "entanglement")
	for _, name := range []string{"radius", "mad", "variance", "diameter", "mpd"} {
		own := evaluated(t, in, []Choice{chosen(t, fmt.Sprintf("{%s: {project: linear}}", name))})
		other := evaluated(t, in, []Choice{chosen(t, fmt.Sprintf("{projected: {of: %s}}", name))})
		if own.Value != other.Value || other.Value == 0 || other.Name != "projected-"+name {
			t.Errorf("%s: %v, and %s %v", name, own.Value, other.Name, other.Value)
		}
	}
	for _, text := range []string{"mse", "{me: {fit: least-squares}}"} {
		near(t, text, evaluated(t, in, []Choice{chosen(t, "{projected: {of: "+text+"}}")}).Value,
			evaluated(t, in, []Choice{chosen(t, text)}).Value, 1e-9)
	}
}

// A rotation hides the factors from metrics of columns, and the projection recovers them.
func TestProjectedUndoesRotation(t *testing.T) {
	in, _ := encoded(t, "rotation")
	for _, text := range []string{"{factor-vae: {batch: 8, prune: 0, direct: true, raw: true}}", "{mig: {gap: factors}}", "{dci: {rounds: 5}}"} {
		if raw := evaluated(t, in, []Choice{chosen(t, text)}); !(raw.Value <= 0.5) {
			t.Errorf("%s of rotated codes: %v", text, raw.Value)
		}
		r := evaluated(t, in, []Choice{chosen(t, "{projected: {of: "+text+"}}")})
		near(t, text, r.Value, 1, 0.03) // some levels fall on edges of bins
		for _, v := range r.Part("explained") {
			near(t, "explained", v, 1, 1e-9)
		}
	}
}

// With project best, every factor gets its column, even if there are more columns.
func TestProjectedBest(t *testing.T) {
	in, _ := encoded(t, "nonlinear")
	wide := *in
	wide.Codes = matrix.Matrix{Rows: in.Codes.Rows, Cols: 5}
	for i := range in.Codes.Rows {
		row := in.Codes.Row(i)
		wide.Codes.Data = append(wide.Codes.Data, 0, row[2], row[0], 1, row[1])
	}
	r := evaluated(t, &wide, []Choice{chosen(t, "{projected: {project: best, of: {mse: {}}}}")})
	near(t, "mse of the best columns", r.Value, evaluated(t, in, []Choice{chosen(t, "mse")}).Value, 1e-9)
	must.Equal(t, fmt.Sprint(r.Part("columns")), "[2 4 1]", "columns")
}

func TestProjectedSettings(t *testing.T) {
	in, _ := encoded(t, "nonlinear")
	for text, want := range map[string]string{
		"projected": "of: there is no metric; want one of the projected codes",
		"{projected: {of: {projected: {of: mse}}}}":    "of: the codes are projected already",
		"{projected: {project: blocks, of: mse}}":      `project: unknown projection "blocks"; want linear or best`,
		"{projected: {of: {mig: {bins: 0}}}}":          "bins: 0 is out of range",
		"{projected: {project: best, of: h-error}}":    "hierarch",
		"{projected: {project: linear, of: {mig: {}}}": "c.yaml:1",
	} {
		c, err := choose(text)
		if err == nil {
			_, err = Evaluate(ctx, in, 1, []Choice{c})
		}
		must.Error(t, err, want, text)
	}
}

// Codes that are an affine map of all levels are perfect, for all kinds and units of factors.
func TestProjectedContractionOfKinds(t *testing.T) {
	for _, kind := range []factor.Kind{factor.Ordinal, factor.Categorical, factor.Circular} {
		factors := []factor.Factor{{Name: "a", Size: 3, Kind: kind}, {Name: "b", Size: 4, Kind: factor.Ordinal}}
		var levels []int
		var codes []float64
		for i := range 12 {
			a, b := i/4, i%4
			levels = append(levels, a, b)
			codes = append(codes, 1+2*float64(a)-float64(b), float64(a)+3*float64(b))
		}
		exact := make([]float64, 12) // of b, in other units
		for i := range exact {
			exact[i] = 10 * float64(i%4)
		}
		in := &Input{Codes: matrix.Matrix{Rows: 12, Cols: 2, Data: codes}, Levels: levels, Factors: factors, Exact: [][]float64{nil, exact}}
		for _, text := range []string{"contraction-max", "contraction-mean", "{contraction-mean: {units: range}}", "{contraction-mean: {pairs: 2}}"} {
			r := evaluated(t, in, []Choice{chosen(t, "{projected: {of: "+text+"}}")})
			near(t, fmt.Sprint(text, " ", kind), r.Value, 0, 1e-9)
		}
	}
}
