package tables

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/results/tables/internal/reference"
	"github.com/unravel-ml/unravel/train/rundir"
)

// Limits of the numbers in a table.
const (
	maxSeeds    = 10000
	maxDecimals = 12
	maxDraws    = 1 << 24
)

// Validate checks the table on its own; Load checks it against the printed values.
func (t *Table) Validate() error {
	if err := rundir.CheckName(t.Name); err != nil { // files have this name, too
		return config.Invalid("name", "%w", err)
	}
	if t.Folder != "" {
		if err := rundir.CheckName(t.Folder); err != nil {
			return config.Invalid("runs", "%w", err)
		}
	}
	switch {
	case t.Decimals < 0 || t.Decimals > maxDecimals:
		return config.Invalid("decimals", "%d is out of range; want 0 to %d", t.Decimals, maxDecimals)
	case len(t.Rows) == 0:
		return config.Invalid("rows", "there are no rows")
	case len(t.Columns) == 0:
		return config.Invalid("columns", "there are no columns")
	}
	if err := t.checkDataSetList(); err != nil {
		return err
	}
	if err := t.checkScales(); err != nil {
		return err
	}
	for i, r := range t.Rows {
		if err := t.checkDataSets(fmt.Sprintf("rows.%d.on", i), r.On); err != nil {
			return err
		}
	}
	rows, err := distinctLabels("rows", "rows", t.Rows, func(r Row) string { return r.Label })
	if err != nil {
		return err
	}
	columns, err := distinctLabels("columns", "columns", t.Columns, func(c Column) string { return c.Label })
	if err != nil {
		return err
	}
	if t.Boxes != nil {
		if err := t.Boxes.checkLabels(rows, columns); err != nil {
			return err
		}
	}
	if err := t.checkCurves(columns); err != nil {
		return err
	}
	return t.checkNotes(rows, columns)
}

// distinctLabels lists the labels of rows, columns or data sets. It returns an error for repeated labels.
func distinctLabels[T any](key, what string, list []T, label func(T) string) (labels []string, err error) {
	for i, entry := range list {
		if slices.Contains(labels, label(entry)) {
			return nil, config.Invalid(fmt.Sprintf("%s.%d.label", key, i), "there are two %s %q", what, label(entry))
		}
		labels = append(labels, label(entry))
	}
	return labels, nil
}

// checkDataSetList checks that data sets are distinct and that rows are trained on them.
func (t *Table) checkDataSetList() error {
	if known, err := distinctLabels("datasets", "data sets", t.DataSets, func(d DataSet) string { return d.Label }); err != nil || known == nil {
		return err
	}
	for i, r := range t.Rows {
		_, trained := r.From.Value.(Trained)
		if _, quotes := r.From.Value.(quoting); !trained && !quotes && r.Missing == "" {
			return config.Invalid(fmt.Sprintf("rows.%d.from", i), "row %q is not trained, and the table has a list of data sets",
				r.Label)
		}
	}
	if t.Printed.Dataset != "" {
		return config.Invalid("reference.dataset", "%q: the table has a list of data sets, and their labels count",
			t.Printed.Dataset)
	}
	for _, scale := range t.Scales {
		if scale.Dataset != "" {
			return config.Invalid("scales."+scale.Name+".dataset",
				"%q: the table has a list of data sets, and their labels count", scale.Dataset)
		}
	}
	return nil
}

type byScaler interface{ byScale() ScaleSettings }

func (r *Runs) byScale() ScaleSettings { return r.ByScale }

func (m *explored) byScale() ScaleSettings { return m.ByScale }

func (t *Table) checkScales() error {
	for i, r := range t.Rows {
		key := fmt.Sprintf("rows.%d", i)
		if err := t.checkScaleNames(key, r.Scales); err != nil {
			return err
		}
		if s, ok := r.From.Value.(byScaler); ok {
			if err := s.byScale().checkScales(key+".from."+r.From.Name+".by_scale", t.Scales); err != nil {
				return err
			}
		}
	}
	for i, d := range t.DataSets {
		key := fmt.Sprintf("datasets.%d", i)
		if err := t.checkScaleNames(key, d.Scales); err != nil {
			return err
		}
		if err := d.ByScale.checkScales(key+".by_scale", t.Scales); err != nil {
			return err
		}
	}
	for _, s := range t.Scales {
		if len(t.DataSets) > 0 &&
			!slices.ContainsFunc(t.DataSets, func(d DataSet) bool { return inScales(s.Name, d.Scales) }) {
			return config.Invalid("datasets", "none of them is at the scale %s; want at least one", s.Name)
		}
	}
	return nil
}

func (t *Table) checkScaleNames(key string, scales []string) error {
	for i, name := range scales {
		if _, err := t.Scales.Find(name); err != nil {
			return config.Invalid(fmt.Sprintf("%s.scales.%d", key, i), "%w; the table's scales are %s",
				err, strings.Join(t.Scales.Names(), ", "))
		}
		if slices.Contains(scales[:i], name) {
			return config.Invalid(fmt.Sprintf("%s.scales.%d", key, i), "%q is named twice", name)
		}
	}
	return nil
}

// checkDataSets checks that labels are data sets. key is the setting in errors.
func (t *Table) checkDataSets(key string, labels []string) error {
	if len(t.DataSets) == 0 && len(labels) > 0 {
		return config.Invalid(key+".0", "%q: the table has no list of data sets", labels[0])
	}
	return checkAllKnown(key, "data set", labels, t.dataSetLabels())
}

// dataSetLabels lists the labels of the data sets, or one empty label if the table lists none.
func (t *Table) dataSetLabels() (labels []string) {
	for _, p := range t.views() {
		labels = append(labels, p.data.Label)
	}
	return labels
}

// checkCurves checks that the columns exist and that some rows are points of the curves.
func (t *Table) checkCurves(columns []string) error {
	for i, r := range t.Rows {
		key := fmt.Sprintf("rows.%d.at", i)
		switch {
		case r.Series == "" && r.At != 0:
			return config.Invalid(key, "row %q is part of no series", r.Label)
		case r.Series != "" && t.Curves == nil:
			return config.Invalid(fmt.Sprintf("rows.%d.series", i), "the table has no curves")
		case r.At-r.At != 0 || r.Series != "" && t.Curves.Log && r.At <= 0:
			return config.Invalid(key, "%v cannot be on the axis", r.At)
		}
	}
	if t.Curves == nil {
		return nil
	}
	return checkAllKnown("curves.columns", "column", t.Curves.Columns, columns)
}

// checkNotes checks that notes are on cells of the table, with at most one note per cell.
func (t *Table) checkNotes(rows, columns []string) error {
	noted := map[[3]string]bool{} // by row, column and data set
	for i, n := range t.Notes {
		key := fmt.Sprintf("notes.%d", i)
		if err := t.checkNoteLabels(key, &n, rows, columns); err != nil {
			return err
		}
		dataSets := n.On
		if len(dataSets) == 0 {
			dataSets = t.dataSetLabels()
		}
		for _, column := range n.columns() {
			for _, row := range n.Rows {
				for _, dataSet := range dataSets {
					cell := [3]string{row, column, dataSet}
					if noted[cell] {
						return config.Invalid(key, "row %q, column %q has a note already", row, column)
					}
					noted[cell] = true
				}
			}
		}
	}
	return nil
}

func (t *Table) checkNoteLabels(key string, n *Note, rows, columns []string) error {
	err := cmp.Or(t.checkDataSets(key+".on", n.On), checkAllKnown(key+".rows", "row", n.Rows, rows),
		checkAllKnown(key+".columns", "column", n.Columns, columns))
	if err != nil {
		return err
	}
	for _, column := range slices.Sorted(maps.Keys(n.Moves)) {
		if err := checkKnown("column", column, columns); err != nil {
			return config.Invalid(key+".moves", "%w", err)
		}
	}
	return nil
}

// Validate checks the settings.
func (r *ReferenceFile) Validate() error {
	if r.Draws < 1 || r.Draws > maxDraws {
		return config.Invalid("draws", "%d is out of range; want 1 to %d", r.Draws, maxDraws)
	}
	return nil
}

// Validate checks that a row has a source of codes, or a reason why it is missing.
func (r *Row) Validate() error {
	switch {
	case r.Label == "":
		return config.Invalid("label", "the row has no label")
	case r.From.Name == "" && r.Missing == "":
		return config.Invalid("from", "row %q has no source of codes; want one, or missing: why there is none", r.Label)
	case r.From.Name != "" && r.Missing != "":
		return config.Invalid("missing", "row %q has a source of codes, too; want only one", r.Label)
	}
	return nil
}

// Validate checks the settings.
func (c *Column) Validate() error {
	switch {
	case c.Label == "":
		return config.Invalid("label", "the column has no label")
	case c.Metric.Name == "" && !c.unmeasured():
		return config.Invalid("metric", "column %q has no metric", c.Label)
	case c.Metric.Name != "" && c.Fit != "":
		return config.Invalid("fit", "column %q has a metric, too; want only one", c.Label)
	case c.timed() && (c.Metric.Name != "" || c.Fit != ""):
		return config.Invalid("seconds", "column %q has a metric or a fit, too; want only one of them", c.Label)
	case c.Of != "" && c.Part == "":
		return config.Invalid("of", "there is no part; want the part that %q is a label of", c.Of)
	case c.Decimals != nil && (*c.Decimals < 0 || *c.Decimals > maxDecimals):
		return config.Invalid("decimals", "%d is out of range; want 0 to %d", *c.Decimals, maxDecimals)
	case !c.Transform.valid():
		return config.Invalid("transform", "unknown transform %q; want x, exp(-x), 2x, 100x, or x<NUMBER such as x<0.1",
			string(c.Transform))
	}
	if c.Fit != "" {
		return c.Fit.check("fit")
	}
	return c.checkTimes()
}

// Validate checks that a note names at least one row and column and gives a reason.
func (n *Note) Validate() error {
	switch {
	case len(n.Rows) == 0:
		return config.Invalid("rows", "there are no rows")
	case len(n.Columns)+len(n.Moves) == 0:
		return config.Invalid("columns", "there are no columns")
	case n.Reason == "":
		return config.Invalid("reason", "there is no reason")
	}
	for _, column := range slices.Sorted(maps.Keys(n.Moves)) {
		if move := n.Moves[column]; move == 0 || math.IsNaN(move) || math.IsInf(move, 0) {
			return config.Invalid("moves", "column %q: %v is out of range; want a number above or below 0", column, move)
		}
	}
	return nil
}

// columns lists the columns of the note; columns with a move come last.
func (n *Note) columns() []string { return slices.Concat(n.Columns, slices.Sorted(maps.Keys(n.Moves))) }

// name returns the row's name in the printed cells.
func (r *Row) name() string { return cmp.Or(r.Printed, r.Label) }

// checkReference checks the reference file for the labels and their cells. It also returns the wrong key.
func (t *Table) checkReference() (key string, err error) {
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
		if key, err := t.checkReferenceSet(n.key, n.set, n.row); err != nil {
			return key, err
		}
	}
	return "", nil
}

// checkReferenceSet checks the cells of one data set, for the rows with rowSet as their data set. setKey is the key of
// the data set in errors.
func (t *Table) checkReferenceSet(setKey, set, rowSet string) (key string, err error) {
	ref := t.reference
	if known := ref.Sets(); !slices.Contains(known, set) && !slices.Contains(known, reference.Any) {
		return setKey, fmt.Errorf("%s has no data set %q%s", ref.Name, set, registry.Suggest(set, known))
	}
	rows := ref.Names(set, func(p *reference.Cell) string { return p.Row })
	columns := ref.Names(set, func(p *reference.Cell) string { return p.Column })
	for i, c := range t.Columns {
		if err := checkPrinted("column", c.Label, columns); err != nil {
			return fmt.Sprintf("columns.%d.label", i), fmt.Errorf("%s: %w", ref.Name, err)
		}
	}
	for i, r := range t.Rows {
		if r.Dataset != rowSet {
			continue
		}
		rowKey := fmt.Sprintf("rows.%d.label", i)
		if r.Printed != "" {
			rowKey = fmt.Sprintf("rows.%d.printed", i)
		}
		if err := checkPrinted("row", r.name(), rows); err != nil {
			return rowKey, fmt.Errorf("%s: %w", ref.Name, err)
		}
		for _, c := range t.Columns {
			if ref.Find(set, r.name(), c.Label) == nil {
				return rowKey, fmt.Errorf("%s: there is no cell of row %q, column %q; want a line for it, with a note if the number is not printed", ref.Name, r.name(), c.Label)
			}
		}
	}
	return "", nil
}

// checkPrinted is checkKnown with a wildcard for all names.
func checkPrinted(what, name string, known []string) error {
	if slices.Contains(known, reference.Any) {
		return nil
	}
	return checkKnown(what, name, known)
}

// checkAllKnown checks a list of names. key is the setting in errors.
func checkAllKnown(key, what string, names, known []string) error {
	for i, name := range names {
		if err := checkKnown(what, name, known); err != nil {
			return config.Invalid(fmt.Sprintf("%s.%d", key, i), "%w", err)
		}
	}
	return nil
}

// checkKnown returns an error for an unknown name. The error suggests a similar name.
func checkKnown(what, name string, known []string) error {
	if slices.Contains(known, name) {
		return nil
	}
	return fmt.Errorf("there is no %s %q%s", what, name, registry.Suggest(name, known))
}
