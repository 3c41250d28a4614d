package tables

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/train/sweep"
)

// DataSet is one of several data sets for training the rows of a table. Every column is shown for each data set.
type DataSet struct {
	Label   string          `yaml:"label" doc:"label of the data set, also in the reference file, in place of reference.dataset"`
	Values  sweep.Settings  `yaml:"values" doc:"name: value, which replaces $name in the configs and settings of rows; the elements of a list replace $name... in a list"`
	Codes   factor.SubCodes `yaml:"codes" doc:"columns of each factor's sub-code, for the metrics of sub-codes, and $codes in settings of rows"`
	Set     sweep.Settings  `yaml:"set" doc:"key.path: value, overrides the settings of rows"`
	Quick   sweep.Settings  `yaml:"quick" doc:"key.path: value at the scale quick; overrides all but the quick settings of a row"`
	ByScale ScaleSettings   `yaml:"by_scale" doc:"scale: {key.path: value}, overrides all but the by_scale settings of a row"`
	Full    bool            `yaml:"full" doc:"show it at the scale full only"`
	Scales  []string        `yaml:"scales" doc:"in place of full: the scales that show it; none: all"`
	Real    bool            `yaml:"real" doc:"compute it with --real only, because it is a public data set without a twin"`

	Components int `yaml:"components" doc:"number of principal components of the metrics that take them; 0: their own"`
}

// Validate checks the settings.
func (d *DataSet) Validate() error {
	if d.Label == "" {
		return config.Invalid("label", "the data set has no label")
	}
	if len(d.Codes) > 0 && slices.ContainsFunc(d.Values, func(v sweep.Setting) bool { return v.Key == "codes" }) {
		return config.Invalid("values.codes", "$codes are the codes of the data set; want another name")
	}
	if d.Components < 0 {
		return config.Invalid("components", "%d is negative; want 0 (the metrics' own) or more", d.Components)
	}
	return d.Codes.Validate()
}

// placeholders match $name and, in lists, $name... with the comma behind it.
var placeholders = regexp.MustCompile(`\$([A-Za-z_][A-Za-z0-9_]*)(\.\.\.(, *)?)?`)

// fill replaces $name by its value, and $name... by the elements of its value.
func (d *DataSet) fill(text string) (filled string, err error) {
	values := d.Values
	if len(d.Codes) > 0 {
		values = append(slices.Clone(values), sweep.Setting{Key: "codes", Value: d.codesText()})
	}
	filled = placeholders.ReplaceAllStringFunc(text, func(found string) string {
		parts := placeholders.FindStringSubmatch(found)
		name, spread, comma := parts[1], parts[2] != "", parts[3]
		var known []string
		for _, v := range values {
			known = append(known, "$"+v.Key)
			switch inner, list := elements(v.Value); {
			case v.Key != name:
			case !spread:
				return v.Value
			case !list:
				err = fmt.Errorf("%s: $%s of the data set %q is %s; want a list where $%s... stands for its elements", text, name, d.Label, v.Value, name)
			case inner == "":
				return ""
			default:
				return inner + comma
			}
		}
		if !slices.Contains(known, "$"+name) {
			err = fmt.Errorf("%s: the data set %q has no value of that name%s", text, d.Label, registry.Suggest("$"+name, known))
		}
		return found
	})
	return filled, err
}

// elements returns the text between the brackets of a list.
func elements(text string) (inner string, list bool) {
	inner, open := strings.CutPrefix(strings.TrimSpace(text), "[")
	inner, closed := strings.CutSuffix(inner, "]")
	return strings.TrimSpace(inner), open && closed
}

// codesText writes the sub-codes as a config does, in alphabetical order.
func (d *DataSet) codesText() string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(d.Codes)) {
		parts = append(parts, fmt.Sprintf("%s: [%s]", name, strings.ReplaceAll(strings.Trim(fmt.Sprint(d.Codes[name]), "[]"), " ", ", ")))
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// measuring returns metrics with the data set's sub-codes and number of principal components.
func (d *DataSet) measuring(list []metrics.Choice) []metrics.Choice {
	list = slices.Clone(list)
	for i, c := range list {
		if _, ok := c.Value.(metrics.SubCoded); ok && len(d.Codes) > 0 {
			list[i].Value = clone(c.Value)
			list[i].Value.(metrics.SubCoded).SetCodes(d.Codes, metrics.AssignAuto)
		}
		list[i].Value = d.reduced(list[i].Value)
	}
	return list
}

// reduced returns a metric with the data set's number of principal components, if the metric takes components.
func (d *DataSet) reduced(m metrics.Metric) metrics.Metric {
	if d.Components == 0 {
		return m
	}
	m = clone(m)
	switch one := m.(type) {
	case *metrics.MIG:
		d.reduce(&one.Components)
	case *metrics.SAP:
		d.reduce(&one.Components)
	}
	return m
}

// reduce sets the number of principal components unless it is 0. 0 means no components.
func (d *DataSet) reduce(components *int) {
	if *components > 0 {
		*components = d.Components
	}
}

// scaled returns the table with the data sets of a scale.
func (t *Table) scaled(scale string) *Table {
	one := *t
	one.DataSets = slices.DeleteFunc(slices.Clone(t.DataSets), func(d DataSet) bool { return !belongs(scale, d.Scales, d.Full) })
	return &one
}

// places returns a copy of the table for each of its data sets. A table without a list of data sets returns itself.
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

// label returns the label of the data set; empty if the table lists none.
func (t *Table) label() string {
	if t.at == nil {
		return ""
	}
	return t.at.Label
}

// heads returns the shown columns. With several data sets, each column becomes a group of them.
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
