package findings

import (
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/results/tables"
)

// trained returns a table with one column from runs. The arguments are values, deviations, numbers of runs, printed
// values, lengths of training, and the numbers of runs that have not learned the images.
func trained(values, deviations []float64, runs []int, theirs, lengths []float64, unlearned []int) *tables.Result {
	r := &tables.Result{Name: "t", Scale: "medium"}
	for i, v := range values {
		c := tables.Cell{Column: "a", Ours: &values[i], Deviation: deviations[i], Draws: runs[i],
			Runs: make([]float64, runs[i]), Length: lengths[i], Unlearned: unlearned[i], Status: tables.Differs}
		if theirs != nil {
			d := v - theirs[i]
			c.Theirs, c.Difference = &theirs[i], &d
		}
		r.Rows = append(r.Rows, tables.ResultRow{Label: string(rune('a' + i)), Cells: []tables.Cell{c}})
	}
	return r
}

// A difference decides nothing if single runs, short training, or runs that have not learned the images can explain it.
func TestLimits(t *testing.T) {
	whole, none := []float64{1, 1, 1}, []int{0, 0, 0}
	const below = "{table: t, column: a, rows: [a], below: {rows: [b]}}"
	for name, c := range map[string]struct {
		r       *tables.Result
		test    string
		verdict verdict
		numbers string
	}{
		"several runs":     {trained([]float64{1, 1.3}, []float64{.1, .1}, []int{4, 4}, nil, whole, none), below, holds, "a: a 1.000±0.050 < b 1.300±0.050"},
		"no negative zero": {trained([]float64{-1e-4, 1}, []float64{.1, .1}, []int{4, 4}, nil, whole, none), below, holds, "a: a 0.000±0.050 < b 1.000±0.050"},
		"one run beside several": {trained([]float64{1, 1.2}, []float64{.1, 0}, []int{4, 1}, nil, whole, none), below, undecided,
			"a: a 1.000±0.050 < b 1.200 (one run)"}, // 2 √(.05² + .1²) = .224
		"one run, far from several": {trained([]float64{1, 1.23}, []float64{.1, 0}, []int{4, 1}, nil, whole, none), below, holds, "a: a 1.000±0.050 < b 1.230 (one run)"},
		"one run of each": {trained([]float64{1, 1.5, 2}, make([]float64, 3), []int{1, 1, 1}, nil, whole, none), below, undecided,
			"a: a 1.000 (one run) < b 1.500 (one run)"}, // rows have a deviation of .5
		"one run of each, the other way": {trained([]float64{3, 1, 1.1, 1.2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, make([]float64, 17), []int{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, nil, make([]float64, 17), make([]int, 17)), below, fails,
			"a: a 3.000 (one run) > b 1.000 (one run)"},
		"short, as far as printed": {trained([]float64{2, 1}, []float64{.1, .1}, []int{4, 4}, []float64{1, 1.5}, []float64{.09, 1}, none), below, undecided,
			"a: a 2.000±0.050 (9 % of the training) > b 1.000±0.050"},
		"a tenth": {trained([]float64{2, 1}, []float64{.1, .1}, []int{4, 4}, []float64{1, 1.5}, []float64{.1, 1}, none), below, fails, "a: a 2.000±0.050 > b 1.000±0.050"},
		"short, and near what is printed": {trained([]float64{1, 2}, []float64{.1, .1}, []int{4, 4}, []float64{.9, 1.5}, []float64{.01, .01}, none), below, holds,
			"a: a 1.000±0.050 (1 % of the training) < b 2.000±0.050 (1 % of the training)"},
		"short, nothing printed": {trained([]float64{1, 200}, []float64{.1, .1}, []int{4, 4}, nil, []float64{.01, 1}, none), below, undecided,
			"a: a 1.000±0.050 (1 % of the training) < b 200.000±0.050"},
		"not learned":      {trained([]float64{1, 200}, []float64{.1, .1}, []int{4, 4}, nil, whole, []int{2, 0}), below, undecided, "a: a 1.000±0.050 (images not learned) < b 200.000±0.050"},
		"one of four only": {trained([]float64{1, 200}, []float64{.1, .1}, []int{4, 4}, nil, whole, []int{1, 0}), below, holds, "a: a 1.000±0.050 < b 200.000±0.050"},
		"order": {trained([]float64{1, 2, 3}, []float64{.1, .1, .1}, []int{4, 4, 4}, []float64{3, 2, 1}, whole, none), "{table: t, column: a, tau: printed, above: {value: 0.5}}", fails,
			"Kendall's tau of a and the printed order over 3 rows: -1.00"},
		"order of short training": {trained([]float64{1, 2, 3}, []float64{.1, .1, .1}, []int{4, 4, 4}, []float64{3, 2, 1}, []float64{.01, 1, 1}, none), "{table: t, column: a, tau: printed, above: {value: 0.2}}", undecided,
			"Kendall's tau of a and the printed order over 3 rows: -1.00, -1.00 to 0.33 with the pairs that may go either way"},
		"order with a tie": {trained([]float64{1, 2, 3}, []float64{.1, .1, .1}, []int{4, 4, 4}, []float64{3, 1, 1}, []float64{.01, 1, 1}, none), "{table: t, column: a, tau: printed, above: {value: 0.2}}", undecided,
			"Kendall's tau of a and the printed order over 3 rows: -0.82, -0.82 to 0.82 with the pairs that may go either way"},
	} {
		j, err := judge(c.test, c.r)
		if err != nil || j.Verdict != c.verdict || j.Tests[0].Numbers != c.numbers {
			t.Errorf("%s: %+v, %v; want %s, %q", name, j, err, c.verdict, c.numbers)
		}
	}
}

// A printed deviation gives the variation of a single run.
func TestPrintedSpread(t *testing.T) {
	table := must.Get(tables.Open("negative-free-figure4"))(t)
	r, err := table.Compute(t.Context(), tables.Options{Scale: tables.MediumScale, Ledger: table.Ledger(), RunsOnly: true})
	must.OK(t, err)
	must.OK(t, r.FindLengths())
	for i := range r.Rows { // as if all runs had trained for long
		for j := range r.Rows[i].Cells {
			r.Rows[i].Cells[j].Length = 1
		}
	}
	c := r.Cell("β-VAE", "BetaVAE") // printed as 84.1 ± 2.7
	if c == nil || c.Ours == nil || c.Draws != 1 {
		t.Fatalf("%+v", c)
	}
	for away, want := range map[float64]verdict{5.3: undecided, 5.5: holds} {
		bound := *c.Ours + away
		f := Finding{Tests: []Test{{Table: r.Name, Column: c.Column, Rows: []string{"β-VAE"}, Below: &Bound{Value: &bound}}}}
		*c.Theirs = *c.Ours
		*c.Difference = 0
		if j, err := f.judge(func(string) (*tables.Result, error) { return r, nil }); err != nil || j.Verdict != want {
			t.Errorf("%v away: %+v, %v; want %s", away, j, err, want)
		}
	}
}

// A table that compares sixteen orders with themselves counts half of its cells, without the diagonal.
func TestSummariseSymmetric(t *testing.T) {
	table := must.Get(tables.Open("enriching-table6"))(t)
	r, err := table.Compute(t.Context(), tables.Options{Scale: tables.MediumScale, Ledger: table.Ledger(), RunsOnly: true})
	must.OK(t, err)
	s, err := summarise(r)
	if err != nil || s.Printed != 120 || s.Computed != 120 || s.Repeated != 120 || s.Same+s.Near+s.Differs() != 120 ||
		s.Opposite < 1 || s.Opposite > s.Differs()+s.Near || !(s.Shuffled >= 1) {
		t.Errorf("%+v, %v", s, err)
	}
}

// Totals count cells that are computed from printed numbers apart.
func TestTotalsFromPrinted(t *testing.T) {
	table := must.Get(tables.Open("enriching-table5-printed"))(t)
	r := must.Get(table.Compute(t.Context(), tables.Options{Scale: tables.QuickScale}))(t)
	cells := 0
	for _, row := range r.Rows {
		for _, c := range row.Cells {
			if c.Theirs != nil {
				cells++
			}
		}
	}
	list := must.Get(totals([]*tables.Result{r}))(t)
	if cells == 0 || list[0].FromPrinted != cells || list[0].Printed != 0 || list[1].FromPrinted != 0 {
		t.Errorf("%+v, want %d cells from printed numbers", list, cells)
	}
}
