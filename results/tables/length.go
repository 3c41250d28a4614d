package tables

import (
	"fmt"
	"math"
	"reflect"

	"github.com/unravel-ml/unravel/datasets/catalog"
	drawnsets "github.com/unravel-ml/unravel/datasets/drawn"
	"github.com/unravel-ml/unravel/train"
	"github.com/unravel-ml/unravel/train/sweep"
)

// FindLengths sets the Length of all cells, once. Length is the number of images seen over all epochs at the result's
// scale, divided by the number at the scale full. The scale full sees at least as many images as the paper. A cell of
// several runs takes the smallest share. Length stays 0 for a cell without runs, or if the scale full has none.
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

// training computes lengths of training.
type training struct {
	tables map[string][][]float64 // the lengths of other tables at the scale, by name
	sizes  []size
}

// size is the number of images of a data set.
type size struct {
	data   catalog.Choice
	images float64
}

// lengths returns the share of training of every row, on each data set of a scale.
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
				share = least(share, x.share(c, full[key][k]))
			}
			line = append(line, share)
		}
		list = append(list, line)
	}
	return list, nil
}

// runsAt is a row on a data set.
type runsAt struct {
	row   int
	place string
}

// seen lists the configs of the runs of the first seed at a scale.
func (t *Table) seen(named string) (map[runsAt][]train.Config, error) {
	if !t.Trains() {
		return nil, nil
	}
	t, scale, err := t.at(named)
	if err != nil {
		return nil, err
	}
	p, err := t.planner(scale)
	if err != nil {
		return nil, err
	}
	p.unhashed = true
	list := map[runsAt][]train.Config{}
	err = p.each(t, 0, func(row int, on place, _ *Planner, runs []sweep.Run) {
		for _, r := range runs {
			list[runsAt{row, on.label()}] = append(list[runsAt{row, on.label()}], r.Config)
		}
	})
	return list, err
}

// quoted returns the smallest share of the cells that a row quotes; NaN without quoted cells.
func (x *training) quoted(on place, row Row, scale string) (share float64, err error) {
	share = math.NaN()
	source, ok := row.From.Value.(quoting)
	if !ok {
		return share, nil
	}
	for _, name := range source.quoted() {
		if name, err = on.fill(name); err != nil {
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
				share = least(share, one)
			}
		}
	}
	return share, nil
}

// least returns the smaller of two shares and ignores NaN.
func least(a, b float64) float64 {
	switch {
	case math.IsNaN(a):
		return b
	case math.IsNaN(b):
		return a
	}
	return min(a, b)
}

// images returns the number of images of a config's data set; NaN if it cannot be opened.
func (x *training) images(c train.Config) float64 {
	switch d := c.Dataset.Value.(type) { // sets that draw their images when opened
	case *drawnsets.Chopsticks:
		return float64(d.Samples)
	case *drawnsets.Spaceshapes:
		return float64(d.Samples)
	case *drawnsets.Cars:
		return float64(d.Elevations * d.Azimuths * d.Objects)
	case *drawnsets.Room: // it has four shapes
		return float64(d.Hues * d.Hues * d.Hues * d.Scales * 4 * d.Orientations)
	}
	for _, known := range x.sizes {
		if reflect.DeepEqual(known.data, c.Dataset) {
			return known.images
		}
	}
	images := math.NaN()
	if set, err := c.Dataset.Build(c.Seed); err == nil {
		images = float64(set.Len())
	}
	x.sizes = append(x.sizes, size{c.Dataset, images})
	return images
}

// epoch returns the images of an epoch: all of the data set, or the images of its steps.
func (x *training) epoch(c train.Config) float64 {
	n := x.images(c)
	if steps := c.Train.EpochSteps * c.Train.Batch; steps > 0 {
		n = min(n, float64(steps))
	}
	return n
}

// share returns the number of images that a run sees, divided by the number that a run of the scale full sees. It is
// NaN if one of them does not train, or its data set cannot be opened.
func (x *training) share(here, full train.Config) float64 {
	a, b := float64(here.Train.Epochs), float64(full.Train.Epochs)
	if h, f := here.Train, full.Train; h.EpochSteps != f.EpochSteps || h.Batch != f.Batch || !reflect.DeepEqual(here.Dataset, full.Dataset) {
		a, b = a*x.epoch(here), b*x.epoch(full)
	}
	if !(a > 0 && b > 0) {
		return math.NaN()
	}
	return a / b
}

// lengthText says how long the runs of a result trained, if shorter than at the scale full; empty otherwise.
func (r *Result) lengthText() string {
	if r.FindLengths() != nil {
		return "" // the scale full cannot be planned
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
	return fmt.Sprintf("runs trained for %s of %s", percents(low, high), of)
}

// Provenance returns the source of the table. If the runs trained for less than at the scale full, it adds the length
// of training.
func (r *Result) Provenance() string {
	if length := r.lengthText(); length != "" {
		return r.Source + "; " + length
	}
	return r.Source
}

// percents writes a range of shares in percent, in two digits.
func percents(low, high float64) string {
	from, to := fmt.Sprintf("%.2g", 100*low), fmt.Sprintf("%.2g", 100*min(high, 1))
	if high >= 0.995 {
		to = "100"
	}
	if from == to {
		return from + " %"
	}
	return from + " to " + to + " %"
}
