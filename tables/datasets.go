package tables

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/unravel-ml/unravel/config"
	"github.com/unravel-ml/unravel/registry"
	"github.com/unravel-ml/unravel/runs/sweep"
)

// DataSet is one of several data sets that the rows of a table are trained on. Every column is then shown for
// each of them.
type DataSet struct {
	Label  string         `yaml:"label" doc:"its name, in the reference file too, in place of reference.dataset"`
	Values sweep.Settings `yaml:"values" doc:"name: value, which stands for $name in the configs and settings of rows"`
	Set    sweep.Settings `yaml:"set" doc:"key.path: value, on top of what a row sets"`
	Quick  sweep.Settings `yaml:"quick" doc:"key.path: value, on top of all that is set at the scale quick, but for what a row has there"`
	Full   bool           `yaml:"full" doc:"it is part of the table at the scale full only"`
}

// Validate checks the settings.
func (d *DataSet) Validate() error {
	if d.Label == "" {
		return config.Invalid("label", "the data set has no label")
	}
	return nil
}

var placeholders = regexp.MustCompile(`\$[A-Za-z_][A-Za-z0-9_]*`)

// fill puts values in the places of their names.
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

// scaled is the table without the data sets that are not part of it at a scale.
func (t *Table) scaled(scale string) *Table {
	one := *t
	one.DataSets = slices.DeleteFunc(slices.Clone(t.DataSets), func(d DataSet) bool { return d.Full && scale != FullScale })
	return &one
}

// places is the table for each of its data sets: itself if it has no list of them.
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

// heads are the columns as they are shown: of several data sets, a group for each column.
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

// cellName is what a cell calls its column.
func (t *Table) cellName(c Column) string {
	if t.at == nil {
		return c.Label
	}
	return c.Label + ", " + t.at.Label
}
