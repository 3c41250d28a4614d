package tables_test

import (
	"math"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
	. "github.com/unravel-ml/unravel/results/tables"
)

// Table 3 and the sentences repeat cells of table 2, and figure 4 repeats cells of table 4. Different orders have the
// same key, and calculations with printed numbers have none.
func TestKeys(t *testing.T) {
	keys := func(name, scale string) (*Result, [][][]string) {
		table := open(t, name)
		r := must.Get(table.Compute(t.Context(), Options{Scale: scale, RunsOnly: true}))(t)
		all := must.Get(r.Keys())(t)
		return r, all
	}
	for _, c := range []struct {
		small, large, scale string
		repeated, of        int // printed cells of the small table that the large table contains
	}{
		{"enriching-table3", "enriching-table2", QuickScale, 30, 30},
		{"enriching-sentences", "enriching-table2", QuickScale, 100, 100},
		{"enriching-table4", "enriching-table2", QuickScale, 0, 30},
		{"negative-free-figure4", "negative-free-table4", MediumScale, 42, 42},
	} {
		known := map[string]bool{}
		_, all := keys(c.large, c.scale)
		for _, row := range all {
			for _, cell := range row {
				for _, key := range cell {
					known[key] = true
				}
			}
		}
		r, all := keys(c.small, c.scale)
		repeated, of := 0, 0
		for i, row := range r.Rows {
			for j, cell := range row.Cells {
				if cell.Theirs == nil {
					continue
				}
				of++
				if known[all[i][j][0]] || known[all[i][j][len(all[i][j])-1]] {
					repeated++
				}
			}
		}
		if repeated != c.repeated || of != c.of {
			t.Errorf("%s repeats %d of %d cells of %s; want %d of %d", c.small, repeated, of, c.large, c.repeated, c.of)
		}
	}
	_, all := keys("enriching-table6", QuickScale)
	if a, b := all[0][3][0], all[3][0][0]; a != b || !strings.HasPrefix(a, KeyPair) || all[2][2][0] != KeyItself || a == all[16][3][0] {
		t.Errorf("%q, %q, %q", a, b, all[2][2])
	}
	if _, all := keys("enriching-table5-printed", QuickScale); all[0][0][0] != KeyPrinted {
		t.Errorf("%q", all[0][0])
	}
}

// Our values of table 3 are exact. Shuffled counts printed values of other rows that they round to.
func TestShuffled(t *testing.T) {
	r := quick(t, "enriching-table3")
	got, sum := r.Shuffled(), 0.0
	for i, row := range r.Rows {
		for j, c := range row.Cells {
			if !c.Exact {
				continue
			}
			agree := 0
			for k := range r.Rows {
				if other := r.Rows[k].Cells[j]; k != i && math.Abs(*c.Ours-*other.Theirs) <= 0.005 {
					agree++
				}
			}
			must.Equal(t, got[i][j], float64(agree)/5, row.Label, c.Column)
			sum += got[i][j]
		}
	}
	if !(sum >= 0.5 && sum <= 5) { // some rows have equal printed numbers
		t.Errorf("%v cells agree in other rows", sum)
	}
}
