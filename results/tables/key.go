package tables

import (
	"fmt"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/metrics"
)

// Keys of cells that compare orders, and of cells from printed numbers.
const (
	KeyPrinted = "printed" // computed from printed numbers, without a measurement of ours
	KeyItself  = "itself"  // an order compared with itself, without a measurement and a printed number
	KeyPair    = "pair "   // prefix of the keys of two orders; a symmetric table has each such key twice
)

type fromPrinted interface{ fromPrinted() bool } // source that computes values from a paper's printed numbers

func (*printedTau) fromPrinted() bool     { return true }
func (*printedProduct) fromPrinted() bool { return true }
func (s *Over) fromPrinted() bool         { return s.Of == ofPrinted }

// Keys returns the keys of every cell, by row: one for its measurement, and one for its printed number. Cells with
// equal keys count as one cell, also across tables. Two cells have equal keys if they show the same metric of the same
// codes with equal printed numbers. The two cells of a pair in a symmetric table of orders also have equal keys.
func (r *Result) Keys() ([][][]string, error) {
	var planner *Planner
	if r.Table.Trains() {
		var err error
		if planner, err = r.Table.planner(r.Scale); err != nil {
			return nil, fmt.Errorf("table %s: %w", r.Name, err)
		}
	}
	var list [][][]string
	views := r.Table.views()
	for _, row := range r.Table.Rows {
		line := make([][]string, len(r.Table.Columns)*len(views))
		for p, view := range views {
			scaledRow := view.row(row, r.Scale)
			source, err := view.key(planner, scaledRow)
			if err != nil {
				return nil, fmt.Errorf("table %s, row %q: %w", r.Name, row.Label, err)
			}
			for c := range r.Table.Columns {
				keys, err := view.cellKeys(scaledRow, &r.Table.Columns[c], source)
				if err != nil {
					return nil, fmt.Errorf("table %s, row %q: %w", r.Name, row.Label, err)
				}
				line[c*len(views)+p] = keys
			}
		}
		list = append(list, line)
	}
	return list, nil
}

// key identifies the codes of a row: by its runs, or by the settings of its source.
func (p view) key(planner *Planner, row Row) (string, error) {
	source := row.From.Value
	if s, ok := source.(*Runs); ok {
		_, runs, err := planner.runsOf(s, p, row, 0)
		if err != nil {
			return "", err
		}
		key := p.RunsFolder()
		for _, r := range runs {
			key += " " + r.Hash
		}
		return key, nil
	}
	if source == nil {
		return "missing " + p.Name + " " + row.Label + " " + p.data.Label, nil
	}
	text, err := config.Encode(struct{ From SourceChoice }{row.From})
	return fmt.Sprintf("%s%s %s", text, p.Folder, p.data.Label), err
}

// cellKeys returns the keys of a cell: the key of its measurement and, with a printed number, the key of that number.
func (p view) cellKeys(row Row, c *Column, source string) ([]string, error) {
	if s, ok := row.From.Value.(fromPrinted); ok && s.fromPrinted() {
		return []string{KeyPrinted}, nil
	}
	if s, ok := row.From.Value.(*tau); ok {
		pair := []string{s.Column, c.Label}
		if slices.Sort(pair); pair[0] == pair[1] {
			return []string{KeyItself}, nil
		}
		return []string{fmt.Sprintf("%s%s %t %s", KeyPair, s.Table, s.Raw, strings.Join(pair, " "))}, nil
	}
	metric := *c
	metric.Label, metric.Group, metric.Doc, metric.Decimals = "", "", "", nil
	if !c.unmeasured() {
		metric.Metric = p.data.adaptMetrics([]metrics.Choice{c.Metric})[0]
	}
	text, err := config.Encode(metric)
	if err != nil {
		return nil, err
	}
	keys := []string{source + "\n" + string(text)}
	if cell := p.printedCell(&row, c.Label); cell != nil && cell.Mean.Text != "" {
		keys[0] += cell.Mean.Text
		paper, _, _ := strings.Cut(p.Source, ",")
		keys = append(keys, strings.Join([]string{paper, cell.Table, cell.Dataset, cell.Row, cell.Column}, "\n"))
	}
	return keys, nil
}
