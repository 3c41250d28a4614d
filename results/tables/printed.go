package tables

import (
	"fmt"
	"slices"

	"github.com/unravel-ml/unravel/configs/registry"
)

// name returns the row's name among the printed cells.
func (r *Row) name() string {
	if r.Printed != "" {
		return r.Printed
	}
	return r.Label
}

// againstReference checks that the reference file has the labels and all their cells. It returns the wrong key.
func (t *Table) againstReference() (key string, err error) {
	type named struct{ key, set, row string }
	var list []named
	switch all := slices.ContainsFunc(t.Rows, func(r Row) bool { return r.Dataset == "" }); {
	case len(t.DataSets) > 0:
		for i, d := range t.DataSets {
			list = append(list, named{fmt.Sprintf("datasets.%d.label", i), d.Label, ""})
		}
	case all || t.Printed.Dataset != "":
		list = append(list, named{"reference.dataset", t.Printed.Dataset, ""})
	}
	for _, s := range t.Scales {
		if s.Dataset != "" {
			list = append(list, named{"scales." + s.Name + ".dataset", s.Dataset, ""})
		}
	}
	for i, r := range t.Rows {
		if r.Dataset != "" {
			list = append(list, named{fmt.Sprintf("rows.%d.dataset", i), r.Dataset, r.Dataset})
		}
	}
	for _, n := range list {
		if key, err := t.againstSet(n.key, n.set, n.row); err != nil {
			return key, err
		}
	}
	return "", nil
}

// againstSet checks the cells of one data set, for the rows with rowSet as their data set. named is the key in errors
// about the data set.
func (t *Table) againstSet(named, set, rowSet string) (key string, err error) {
	ref := t.Reference
	if known := ref.sets(); !slices.Contains(known, set) && !slices.Contains(known, anyName) {
		return named, fmt.Errorf("%s has no data set %q%s", ref.File, set, registry.Suggest(set, known))
	}
	rows := ref.names(set, func(p *Printed) string { return p.Row })
	columns := ref.names(set, func(p *Printed) string { return p.Column })
	for i, c := range t.Columns {
		if err := amongPrinted("column", c.Label, columns); err != nil {
			return fmt.Sprintf("columns.%d.label", i), fmt.Errorf("%s: %w", ref.File, err)
		}
	}
	for i, r := range t.Rows {
		if r.Dataset != rowSet {
			continue
		}
		at := fmt.Sprintf("rows.%d.label", i)
		if r.Printed != "" {
			at = fmt.Sprintf("rows.%d.printed", i)
		}
		if err := amongPrinted("row", r.name(), rows); err != nil {
			return at, fmt.Errorf("%s: %w", ref.File, err)
		}
		for _, c := range t.Columns {
			if ref.Find(set, r.name(), c.Label) == nil {
				return at, fmt.Errorf("%s: there is no cell of row %q, column %q", ref.File, r.name(), c.Label)
			}
		}
	}
	return "", nil
}

// Coverage counts printed cells without computing anything: the cells reproduced according to the table's notes, and
// all cells of its data sets. Times never count as reproduced.
func (t *Table) Coverage() (reproduced, printed int) {
	sets := map[string]bool{}
	for _, p := range t.places() {
		for _, r := range t.Rows {
			sets[p.printedSet(&r)] = true
		}
	}
	for i := range t.Reference.Cells {
		p := &t.Reference.Cells[i]
		if !sets[p.Dataset] || p.Mean.Text == "" {
			continue
		}
		printed++
		if !t.Timed() && t.comesOut(p) {
			reproduced++
		}
	}
	return reproduced, printed
}

// comesOut reports whether the table has a printed cell, can compute it, and has no note on it.
func (t *Table) comesOut(p *Printed) bool {
	for _, r := range t.Rows {
		places := t.places()
		at := slices.IndexFunc(places, func(place place) bool { return place.printedSet(&r) == p.Dataset })
		if at < 0 || r.name() != p.Row || r.Missing != "" {
			continue
		}
		for _, c := range t.Columns {
			if c.Label == p.Column {
				return places[at].note(r.Label, c.Label) == nil
			}
		}
	}
	return false
}

// sets lists the data sets of the cells.
func (r *Reference) sets() []string {
	var sets []string
	for i := range r.Cells {
		if c := &r.Cells[i]; !slices.Contains(sets, c.Dataset) {
			sets = append(sets, c.Dataset)
		}
	}
	return sets
}
