package tables_test

import (
	"math"
	"slices"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
)

// Ranks follow the direction of a column's shown values, and tau follows the ranks. Radii are .83, 1.52, 2.12 and 0,
// gaps are .18, .17, 1 and 0, and two of four encoders contract nothing.
func TestAgreement(t *testing.T) {
	table := must.Get(load(`name: small
title: Four encoders
source: nobody
reference: {file: small.csv, dataset: D}
agreement: true
rows:
  - {label: e, from: {entangled: {encoder: entanglement}}}
  - {label: r, from: {entangled: {encoder: rotation}}}
  - {label: c, from: {entangled: {encoder: complement}}}
  - {label: k, from: {entangled: {encoder: constant}}}
  - {label: none, missing: there is no such encoder}
columns:
  - {label: raw, group: a, metric: radius}
  - {label: score, group: a, metric: radius, transform: exp(-x)}
  - {label: gap, group: b, metric: {mig: {gap: factors}}}
  - {label: kept, group: b, metric: contraction-max, transform: x<0.1}
`, header+"T,D,*,*,,,none\n"))(t)
	r := compute(t, table, false)
	for column, want := range map[string][]float64{"raw": {2, 3, 4, 1, 0}, "score": {2, 3, 4, 1, 0},
		"gap": {2, 3, 1, 4, 0}, "kept": {3.5, 1.5, 1.5, 3.5, 0}} {
		for i, label := range []string{"e", "r", "c", "k", "none"} {
			must.Equal(t, r.Cell(label, column).Rank, want[i], label, column, "rank")
		}
	}
	a := r.Agreement
	if !slices.Equal(a.Groups, []string{"a", "b"}) || !slices.Equal(a.Columns, []string{"raw", "score", "gap", "kept"}) {
		t.Errorf("%+v", a)
	}
	for i, want := range [][]float64{{1, 1, -4.0 / 6, -4 / math.Sqrt(24)}, {1, 1, -4.0 / 6, -4 / math.Sqrt(24)}} {
		for j, w := range want {
			if !(math.Abs(a.Tau[i][j]-w) <= 1e-12) {
				t.Errorf("tau of %s and %s: %v; want %v", a.Columns[i], a.Columns[j], a.Tau[i][j], w)
			}
		}
	}
	if got := a.Ranks[1]; got[0][0] != 2.75 || got[2][0] != 1.25 || !math.IsNaN(got[4][0]) {
		t.Errorf("mean ranks of b: %v", got)
	}
}
