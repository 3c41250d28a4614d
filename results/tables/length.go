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
	lengths, err := (&lengthFinder{byTable: map[string][][]float64{}}).lengths(r.origin, r.Scale)
	if err != nil {
		return fmt.Errorf("table %s: %w", r.Name, err)
	}
	dataSets := len(r.Table.views())
	for i, row := range r.Rows {
		for c := range row.Cells {
			if share := lengths[i][c%dataSets]; !math.IsNaN(share) {
				row.Cells[c].Length = share
			}
		}
	}
	r.measured = true
	return nil
}

type lengthFinder struct {
	byTable map[string][][]float64 // lengths of other tables at the scale, by name
	sizes   length.Sizes
}

// lengths returns the length of training of every row, on each data set of a scale.
func (x *lengthFinder) lengths(t *Table, scale string) ([][]float64, error) {
	scaled, _, err := t.atScale(scale)
	if err != nil {
		return nil, err
	}
	configs, err := t.configsByRow(scale)
	if err != nil {
		return nil, err
	}
	full, err := t.configsByRow(FullScale)
	if err != nil {
		return nil, err
	}
	var list [][]float64
	for i, row := range t.Rows {
		var rowLengths []float64
		for _, view := range scaled.views() {
			share, err := x.quotedLength(view, row, scale)
			if err != nil {
				return nil, err
			}
			key := rowOnDataSet{i, view.data.Label}
			for k, c := range configs[key] {
				if len(full[key]) != len(configs[key]) {
					break
				}
				share = length.Least(share, x.sizes.Share(c, full[key][k]))
			}
			rowLengths = append(rowLengths, share)
		}
		list = append(list, rowLengths)
	}
	return list, nil
}

type rowOnDataSet struct {
	row     int
	dataSet string
}

func (t *Table) configsByRow(scale string) (map[rowOnDataSet][]train.Config, error) {
	list := map[rowOnDataSet][]train.Config{}
	return list, t.firstSeedConfigs(scale, func(row int, view view, c train.Config) {
		list[rowOnDataSet{row, view.data.Label}] = append(list[rowOnDataSet{row, view.data.Label}], c)
	})
}

// quotedLength returns the minimum length of the cells that a row quotes, or NaN without quoted cells.
func (x *lengthFinder) quotedLength(view view, row Row, scale string) (share float64, err error) {
	share = math.NaN()
	source, ok := row.From.Value.(quoting)
	if !ok {
		return share, nil
	}
	for _, name := range source.quoted() {
		if name, err = view.data.fill(name); err != nil {
			return share, err
		}
		other, err := view.other(name)
		if err != nil {
			return share, fmt.Errorf("row %q: %w", row.Label, err)
		}
		if _, err := other.Scales.Find(scale); err != nil {
			continue
		}
		lengths := x.byTable[name]
		if lengths == nil {
			if lengths, err = x.lengths(other, scale); err != nil {
				return share, err
			}
			x.byTable[name] = lengths
		}
		for i, rowLengths := range lengths {
			if cells, ok := source.(*cellsSource); ok && cells.Row != other.Rows[i].Label {
				continue
			}
			for _, cellLength := range rowLengths {
				share = length.Least(share, cellLength)
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
