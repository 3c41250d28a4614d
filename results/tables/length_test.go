package tables_test

import (
	"math"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
	. "github.com/unravel-ml/unravel/results/tables"
	"github.com/unravel-ml/unravel/train"
)

// The length of a run is its number of training images. Rows a and same train 2 epochs instead of the paper's 1, and
// row b trains 2 instead of 7.
func TestLengths(t *testing.T) {
	for name, c := range map[string]struct {
		replace     []string
		a, b        float64
		text, first string
	}{
		"epochs":   {nil, 2, 2. / 7, "trained for 29 to 100 % of the paper's length", "Trained rows (nobody; runs trained for 29 to 100 % of the paper's length)\n"},
		"steps":    {[]string{"train.epochs: 2", "train.epochs: 1, train.epoch_steps: 1"}, 0.5, 0.25 / 7, "trained for 3.6 to 50 % of the paper's length", ""},
		"images":   {[]string{"train.epochs: 2", "train.epochs: 1, dataset.square.step: 2"}, 0.25, 0.25 / 7, "trained for 3.6 to 25 % of the paper's length", ""},
		"the same": {[]string{"train.epochs: 2", "train.threads: 1", "train.epochs: 7", "train.batch: 32", "by_scale: {quick: {train.batch: 16}}", "by_scale: {quick: {train.batch: 32}}"}, 1, 1, "", "Trained rows (nobody)\n"},
	} {
		dir, folder := t.TempDir(), t.TempDir()
		table, err := writeTableIn(t, dir, trainedTable, append(c.replace, ", part: mig_0", "")...)
		if err != nil {
			t.Fatal(name, err)
		}
		r := computeFrom(t, table, folder)
		if err := r.FindLengths(); err != nil {
			t.Fatal(name, err)
		}
		for row, want := range map[string]float64{"a": c.a, "b/β": c.b, "none": 0} {
			if got := r.Cell(row, "D").Length; !(math.Abs(got-want) <= 1e-12) {
				t.Errorf("%s, row %s: %v; want %v", name, row, got, want)
			}
		}
		for i := range r.Rows { // the text is about cells with values
			for j := range r.Rows[i].Cells {
				r.Rows[i].Cells[j].Ours = new(float64)
			}
		}
		if got := r.Provenance(); !strings.HasSuffix(got, c.text) {
			t.Errorf("%s: %q; want %q", name, got, c.text)
		}
		if got := asText(t, r, 100); !strings.HasPrefix(got, c.first) {
			t.Errorf("%s: %q; want %q", name, got, c.first)
		}
	}
}

// A table that quotes other tables uses the lengths of the quoted rows.
func TestQuotedLengths(t *testing.T) {
	dir := t.TempDir()
	must.Get(writeTableIn(t, dir, trainedTable, ", part: mig_0", ""))(t)
	table := must.Get(openQuoting(t, dir))(t)
	r := computeFrom(t, table, t.TempDir())
	must.OK(t, r.FindLengths())
	for row, want := range map[string]float64{"a": 2, "low": 2. / 7, "nobody": 0} {
		if got := r.Cell(row, "D").Length; !(math.Abs(got-want) <= 1e-12) {
			t.Errorf("row %s: %v; want %v", row, got, want)
		}
	}
}

// A run has not learned the images if its reconstructions leave more than 60 % of the variance, or if its decoder is
// black. The ledger can also say this without numbers.
func TestUnlearned(t *testing.T) {
	for fit, want := range map[*train.Fit]bool{
		nil: false,
		{Images: 1, Reconstruction: 0.6, Variance: 1, Why: "it leaves 60 %"}:     false,
		{Images: 1, Reconstruction: 0.61, Variance: 1}:                           true,
		{Images: 1, Reconstruction: 1.35, Variance: 1}:                           true,
		{Why: "its decoder is black"}:                                            true,
		{Images: 1, Reconstruction: 0.5, Variance: 1, Square: 1, Decoded: 0.005}: true, // black
		{Images: 1, Reconstruction: 0.5, Variance: 1, Square: 1, Decoded: 0.5}:   false,
		{Images: 1, Variance: 1, Why: "wrong options"}:                           false,
	} {
		must.Equal(t, Unlearned(fit), want, fit)
	}
}
