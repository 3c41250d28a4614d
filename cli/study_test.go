package cli_test

import (
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/cli/internal/clitest"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
)

// TestLongObjectives trains the experiment entangled/both with every pair of a modularity and an informativeness loss.
// It prints the table of docs/studies.md: go test ./cli -run LongObjectives -study -v
func TestLongObjectives(t *testing.T) {
	long.Study(t)
	modular := []string{"variance: {weight: 100}", "mad: {weight: 5}", "mpd: {weight: 5}", "radius: {weight: 1}", "diameter: {weight: 1}"}
	informative := []string{"contraction: {weight: 10}", "contraction: {weight: 10, aggregate: max}", "left-inverse: {weight: 10}",
		"left-inverse: {weight: 10, kind: least-absolute}", "left-inverse: {weight: 10, kind: minimax}"}
	metrics := []string{"variance", "mpd", "diameter", "contraction-mean", "contraction-max", "mse", "mae"}
	fmt.Printf("| losses | seconds | %s |\n|---|---|%s\n", strings.Join(metrics, " | "), strings.Repeat("---|", len(metrics)))
	row := func(list ...string) []float64 {
		t.Helper()
		losses := "[{" + strings.Join(list, "}, {") + "}]"
		o := clitest.OK(t, "train", "entangled/both", "--json", "--run", filepath.Join(t.TempDir(), "run"), "train.figures=false",
			"losses="+losses, "metrics=["+strings.Join(metrics, ", ")+"]")
		var result struct {
			Seconds float64
			Metrics []struct{ Value float64 }
		}
		must.OK(t, json.Unmarshal([]byte(o.Out), &result))
		scores := make([]float64, len(metrics))
		cells := []string{strings.Join(list, ", "), fmt.Sprintf("%.1f", result.Seconds)}
		for i, m := range result.Metrics {
			scores[i] = math.Exp(-m.Value)
			cells = append(cells, fmt.Sprintf("%.3f", scores[i]))
		}
		fmt.Printf("| %s |\n", strings.Join(cells, " | "))
		return scores
	}
	for _, m := range modular {
		if s := row(m); !(s[0] >= 0.99 && s[3] <= 0.6) {
			t.Errorf("%s alone: scores %.3f, want constant codes", m, s)
		}
	}
	for i, inf := range informative {
		if s := row(inf); !(s[0] <= 0.97 && s[5] >= 0.99) || i < 2 && !(s[3] >= 0.95) {
			t.Errorf("%s alone: scores %.3f, want entangled codes that hold everything", inf, s)
		}
		for _, m := range modular {
			if s := row(m, inf); !(s[0] >= 0.99 && s[5] >= 0.99) || i < 2 && !(s[3] >= 0.95) {
				t.Errorf("%s and %s: scores %.3f, want a product function", m, inf, s)
			}
		}
	}
}
