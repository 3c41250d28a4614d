package findings

import (
	"testing"

	"github.com/unravel-ml/unravel/results/tables"
)

// A missing run gets the mean time of its row, or of the table. Runs counted before are skipped.
func TestEffort(t *testing.T) {
	list := []tables.Planned{{Key: "f/1", Kind: "VAE", Seconds: 100}, {Key: "f/2", Kind: "VAE", Seconds: 200},
		{Key: "f/3", Kind: "VAE"}, {Key: "f/4", Kind: "AE"}, {Key: "f/5", Kind: "AE"}, {Key: "f/6", Kind: "BYOL", Seconds: 900}}
	counted := map[string]bool{"f/2": true, "f/5": true, "f/6": true}
	if e := newEffort(list, counted); e != (effort{Runs: 3, Held: 1, spent: 100, remaining: 550}) ||
		e.Missing() != "0.2" || len(counted) != 6 {
		t.Errorf("%+v %s", e, e.Missing())
	}
	list = append(list, tables.Planned{Key: "f/7", Kind: "VAE", Seconds: 4000, Wall: true},
		tables.Planned{Key: "f/8", Kind: "BYOL", Seconds: 500, Wall: true},
		tables.Planned{Key: "f/9", Kind: "CC", Seconds: 50, Wall: true}, tables.Planned{Key: "f/10", Kind: "CC"})
	if e := newEffort(list, map[string]bool{"f/4": true, "f/5": true}); e != (effort{Runs: 8, Held: 6, spent: 2300, remaining: 200}) {
		t.Errorf("with wall times: %+v", e)
	}
	if e := newEffort(list[3:5], map[string]bool{}); e != (effort{Runs: 2, unknown: 2}) || e.Missing() != "not known" {
		t.Errorf("%+v", e)
	}
	sum := effort{Runs: 1, Held: 2, spent: 3, remaining: 3600, unknown: 5}
	if sum.add(effort{Runs: 10, Held: 20, spent: 30, remaining: 7200, unknown: 50}); sum != (effort{Runs: 11, Held: 22,
		spent: 33, remaining: 10800, unknown: 55}) || sum.Missing() != "3.0, and 55 runs" {
		t.Errorf("sum %+v, %s", sum, sum.Missing())
	}
}

// A cell counts once, by its key. Cells computed from printed numbers may count separately.
func TestSummaryCount(t *testing.T) {
	one, other := 1.0, 1.5
	difference := -0.5
	cell := func(ours, theirs *float64, s tables.Status) tables.Cell {
		return tables.Cell{Ours: ours, Theirs: theirs, Difference: &difference, Status: s}
	}
	const pair = tables.KeyPair + "x"
	r := &tables.Result{Table: &tables.Table{}, Rows: []tables.ResultRow{{Cells: []tables.Cell{
		cell(&one, nil, tables.Missing), cell(&one, &one, tables.Same), cell(&one, &one, tables.Same), cell(&one, &other, tables.Near),
		cell(&one, &other, tables.Differs), cell(&one, &other, tables.Differs), cell(nil, &one, tables.Missing),
		cell(&one, &one, tables.Measured), cell(nil, &one, tables.Missing),
	}}}}
	keysOf := [][][]string{{{"a"}, {tables.KeyItself}, {tables.KeyPrinted}, {"b"}, {pair}, {pair}, {"c"}, {"d", "e"}, {pair}}}
	for _, c := range []struct {
		distinct bool
		known    keys
		want     summary
	}{
		{false, keys{}, summary{Printed: 5, Computed: 3, Same: 1, Near: 1, Repeated: 1}},
		{true, keys{}, summary{Printed: 4, Computed: 2, Near: 1, Repeated: 1, FromPrinted: 1}},
		{true, keys{"b": true, "e": true}, summary{Printed: 2, Computed: 1, Repeated: 2, FromPrinted: 1}},
	} {
		var got summary
		got.count(r, keysOf, c.known, c.distinct)
		if got != c.want || got.Differs() != 1 || !c.known.containsAny([]string{"z", "c"}) || c.known["a"] ||
			c.known[tables.KeyPrinted] == c.distinct {
			t.Errorf("distinct %v: %+v, want %+v; known %v", c.distinct, got, c.want, c.known)
		}
	}
}
