package tables

import (
	"fmt"
	"math"

	"github.com/unravel-ml/unravel/results/tables/internal/length"
	"github.com/unravel-ml/unravel/train"
)

// FindLengths sets the Length of all cells, once. Length is the number of images seen over all epochs at the result's
// scale, divided by the number at the scale full, which sees at least as many images as the paper. For a cell of
// several runs, it is the minimum. It stays 0 for a cell without runs, or without runs at the scale full.
func (r *Result) FindLengths() error {
	if r.measured || r.origin == nil {
		return nil
	}
	lengths, err := (&training{tables: map[string][][]float64{}}).lengths(r.origin, r.Scale)
	if err != nil {
		return fmt.Errorf("table %s: %w", r.Name, err)
	}
	places := len(r.Table.places())
	for i, row := range r.Rows {
		for c := range row.Cells {
			if share := lengths[i][c%places]; !math.IsNaN(share) {
				row.Cells[c].Length = share
			}
		}
	}
	r.measured = true
	return nil
}

type training struct {
	tables map[string][][]float64 // lengths of other tables at the scale, by name
	sizes  length.Sizes
}

// lengths returns the length of training of every row, on each data set of a scale.
func (x *training) lengths(t *Table, scale string) ([][]float64, error) {
	at, _, err := t.at(scale)
	if err != nil {
		return nil, err
	}
	here, err := t.seen(scale)
	if err != nil {
		return nil, err
	}
	full, err := t.seen(FullScale)
	if err != nil {
		return nil, err
	}
	var list [][]float64
	for i, row := range t.Rows {
		var line []float64
		for _, on := range at.places() {
			share, err := x.quoted(on, row, scale)
			if err != nil {
				return nil, err
			}
			key := runsAt{i, on.label()}
			for k, c := range here[key] {
				if len(full[key]) != len(here[key]) {
					break
				}
				share = length.Least(share, x.sizes.Share(c, full[key][k]))
			}
			line = append(line, share)
		}
		list = append(list, line)
	}
	return list, nil
}

type runsAt struct {
	row   int
	place string
}

func (t *Table) seen(scale string) (map[runsAt][]train.Config, error) {
	list := map[runsAt][]train.Config{}
	return list, t.first(scale, func(row int, on place, c train.Config) {
		list[runsAt{row, on.label()}] = append(list[runsAt{row, on.label()}], c)
	})
}

// quoted returns the minimum length of the cells that a row quotes, or NaN without quoted cells.
func (x *training) quoted(on place, row Row, scale string) (share float64, err error) {
	share = math.NaN()
	source, ok := row.From.Value.(quoting)
	if !ok {
		return share, nil
	}
	for _, name := range source.quoted() {
		if name, err = on.data.fill(name); err != nil {
			return share, err
		}
		other, err := on.other(name)
		if err != nil {
			return share, fmt.Errorf("row %q: %w", row.Label, err)
		}
		if _, err := other.Scales.Find(scale); err != nil {
			continue
		}
		all := x.tables[name]
		if all == nil {
			if all, err = x.lengths(other, scale); err != nil {
				return share, err
			}
			x.tables[name] = all
		}
		for i, line := range all {
			if cells, ok := source.(*cells); ok && cells.Row != other.Rows[i].Label {
				continue
			}
			for _, one := range line {
				share = length.Least(share, one)
			}
		}
	}
	return share, nil
}

// lengthText describes the length of training of a result if it is shorter than at the scale full.
func (r *Result) lengthText() string {
	if r.FindLengths() != nil {
		return "" // the runs at the scale full cannot be planned
	}
	low, high := math.Inf(1), 0.0
	for _, row := range r.Rows {
		for _, c := range row.Cells {
			if c.Ours != nil && c.Length > 0 {
				low, high = min(low, c.Length), max(high, c.Length)
			}
		}
	}
	if !(low < 1) {
		return ""
	}
	of := "the paper's length"
	if r.Printed == 0 {
		of = "the length at the scale full"
	}
	return fmt.Sprintf("runs trained for %s of %s", length.Percents(low, high), of)
}

// Provenance returns the source of the table, and the length of training if it is shorter than at the scale full.
func (r *Result) Provenance() string {
	if text := r.lengthText(); text != "" {
		return r.Source + "; " + text
	}
	return r.Source
}
