package runs_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/cli/internal/clitest"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/metrics"
)

// someCompared is a part of compare's output.
type someCompared struct {
	Metrics []struct {
		Name    string
		Values  []float64
		Chances []*metrics.Chance
	}
	Notes []string
}

func comparedAs(t *testing.T, text string) (x someCompared) {
	t.Helper()
	must.OK(t, json.Unmarshal([]byte(text), &x))
	return x
}

// TestMetricOfLoss checks that a run's metric measures the columns trained by the loss with its name, in eval and
// compare.
func TestMetricOfLoss(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, losses := range map[string]string{"plain": "[contraction]", "variance": "[{variance: {weight: 10, codes: {row: [3], column: [0, 1]}}}]"} {
		must.Write(t, name+".yaml",
			"dataset: {square: {size: 16, side: 4}}\nmodel: {encoder: {encoder: {mlp: {hidden: [8]}}, latent: 4}}\nsupervision: {labels: {fraction: 1}}\n"+
				"losses: "+losses+"\nmetrics: [variance]\ntrain: {epochs: 2, figures: false}\n")

		clitest.OK(t, "train", name+".yaml", "--run", name)
	}
	value := func(args ...string) float64 {
		t.Helper()
		got, _ := clitest.Measure(t, append([]string{"--run", "variance", "--metrics", "variance"}, args...)...)
		return got["variance"].Value
	}
	own := value()
	must.Equal(t, value("--option", "variance.codes={row: [3], column: [0, 1]}"), own, "variance", "the loss's columns")
	shares := value("--blocks", "0-1;2-3")
	if got := value("--option", "variance.assign=order"); got != shares || got == own {
		t.Errorf("of equal shares %v and %v, of the loss's columns %v", got, shares, own)
	}
	x := comparedAs(t, clitest.OK(t, "compare", "plain", "variance", "--json").Out)
	m, notes := x.Metrics[0], strings.Join(x.Notes, "\n")
	if m.Name != "variance" || m.Values[1] != own || len(m.Chances) != 2 ||
		!strings.Contains(notes, "variance is measured on different columns: equal shares or the best columns in run 1, column [0 1] row [3] in run 2; --blocks") {
		t.Errorf("%+v, notes %s", m, notes)
	}
	x = comparedAs(t, clitest.OK(t, "compare", "plain", "variance", "--json", "--metrics", "variance", "--blocks", "0-1;2-3").Out)
	if m := x.Metrics[0]; m.Values[1] != shares || strings.Contains(strings.Join(x.Notes, "\n"), "other columns") {
		t.Errorf("%+v, notes %q", m, x.Notes)
	}
}
