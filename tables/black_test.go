package tables

import (
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/train"
)

// TestBlackDecoder checks that a cell whose value agrees does not count as reproduced where a run's decoder is black.
func TestBlackDecoder(t *testing.T) {
	reference := &Reference{Cells: []Printed{{Row: "a", Column: "D", Mean: Decimal{Value: 0.5, Text: "0.5", Decimals: 1}}}}
	table := Table{Reference: reference}
	alive, black := &train.Fit{Square: 1, Decoded: 0.5, Converged: true}, &train.Fit{Square: 1, Decoded: 0.009, Why: "the decoder is black"}
	unknown := &train.Fit{Converged: true} // of a run before squares were recorded
	for _, c := range []struct {
		name  string
		value float64
		fits  []*train.Fit
		want  Status
	}{
		{"alive", 0.5, []*train.Fit{alive, unknown, nil}, Same},
		{"one is black", 0.5, []*train.Fit{alive, black, nil}, Known},
		{"black, differs", 0.9, []*train.Fit{black, black, black}, Differs},
	} {
		d := drawn{fits: c.fits}
		for range c.fits {
			d.results = append(d.results, metrics.Result{Value: c.value})
		}
		got := table.cell(Row{Label: "a"}, Column{Label: "D"}, d, nil)
		if got.Status != c.want || (c.want == Known) != strings.Contains(got.Reason, "black in 1 of 3 runs") {
			t.Errorf("%s: %v, %q, want %v", c.name, got.Status, got.Reason, c.want)
		}
	}
	slow := &train.Fit{Square: 1, Decoded: 1, Why: "slow"}
	notes := strings.Join(unconverged(drawn{fits: []*train.Fit{slow, black, alive, slow}}), "; ")
	if notes != "1 of 4 runs not converged: the decoder is black; 2 of 4 runs not converged: slow" {
		t.Error(notes)
	}
}
