package tables

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/unravel-ml/unravel/config"
	"github.com/unravel-ml/unravel/registry"
	"github.com/unravel-ml/unravel/sweep"
)

// DataSet is one of several data sets that the rows of a table are trained on. Every column is shown for each data set.
type DataSet struct {
	Label  string         `yaml:"label" doc:"label of the data set, also in the reference file, in place of reference.dataset"`
	Values sweep.Settings `yaml:"values" doc:"name: value, which replaces $name in the configs and settings of rows"`
	Set    sweep.Settings `yaml:"set" doc:"key.path: value, overrides the settings of rows"`
	Quick  sweep.Settings `yaml:"quick" doc:"key.path: value at the scale quick; overrides all but the quick settings of a row"`
	Full   bool           `yaml:"full" doc:"show it at the scale full only"`
}

// Validate checks the settings.
func (d *DataSet) Validate() error {
	if d.Label == "" {
		return config.Invalid("label", "the data set has no label")
	}
	return nil
}

var placeholders = regexp.MustCompile(`\$[A-Za-z_][A-Za-z0-9_]*`)

// fill replaces $name by its value.
func (d *DataSet) fill(text string) (filled string, err error) {
	filled = placeholders.ReplaceAllStringFunc(text, func(name string) string {
		var known []string
		for _, v := range d.Values {
			if "$"+v.Key == name {
				return v.Value
			}
			known = append(known, "$"+v.Key)
		}
		err = fmt.Errorf("%s: the data set %q has no value of that name%s", text, d.Label, registry.Suggest(name, known))
		return name
	})
	return filled, err
}

// scaled returns the table with the data sets of a scale.
func (t *Table) scaled(scale string) *Table {
	one := *t
	one.DataSets = slices.DeleteFunc(slices.Clone(t.DataSets), func(d DataSet) bool { return d.Full && scale != FullScale })
	return &one
}

// places returns the table for each of its data sets; itself if it has no list of them.
func (t *Table) places() []*Table {
	if len(t.DataSets) == 0 {
		return []*Table{t}
	}
	var list []*Table
	for i := range t.DataSets {
		one := *t
		one.at, one.Printed.Dataset = &t.DataSets[i], t.DataSets[i].Label
		list = append(list, &one)
	}
	return list
}

// heads returns the columns to show: with several data sets, a group of them for each column.
func (t *Table) heads() []Column {
	if len(t.DataSets) == 0 {
		return t.Columns
	}
	var list []Column
	for _, c := range t.Columns {
		for _, d := range t.DataSets {
			one := c
			one.Group, one.Label = c.Label, d.Label
			list = append(list, one)
		}
	}
	return list
}

// cellName returns the name of a column in cells.
func (t *Table) cellName(c Column) string {
	if t.at == nil {
		return c.Label
	}
	return c.Label + ", " + t.at.Label
}
