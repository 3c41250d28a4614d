package tables

import (
	"fmt"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/train/sweep"
)

// ScaleSettings are settings of runs, by name of the scale.
type ScaleSettings map[string]sweep.Settings

// among checks that the scales exist.
func (s ScaleSettings) among(key string, known Scales) error {
	for name := range s {
		if _, err := known.Find(name); err != nil {
			return config.Invalid(key+"."+name, "%w; the table's scales are %s", err, strings.Join(known.Names(), ", "))
		}
	}
	return nil
}

// belongs reports whether a row or data set belongs to a scale. scales lists its scales; full restricts it to the
// full scale.
func belongs(scale string, scales []string, full bool) bool {
	if full {
		return scale == FullScale
	}
	return len(scales) == 0 || slices.Contains(scales, scale)
}

// onlyAt names the scales of a row that other scales lack.
func onlyAt(scales []string) string {
	switch len(scales) {
	case 0:
		return "only at the scale full"
	case 1:
		return "only at the scale " + scales[0]
	}
	return "only at the scales " + strings.Join(scales, ", ")
}

// byScaler is a source with settings by scale.
type byScaler interface{ byScale() ScaleSettings }

func (r *Runs) byScale() ScaleSettings   { return r.ByScale }
func (m *Mimosa) byScale() ScaleSettings { return m.ByScale }

// validScales checks the scales that rows and data sets name.
func (t *Table) validScales() error {
	for i, r := range t.Rows {
		key := fmt.Sprintf("rows.%d", i)
		if err := t.knownScales(key, r.Scales, r.Full); err != nil {
			return err
		}
		if s, ok := r.From.Value.(byScaler); ok {
			if err := s.byScale().among(key+".from."+r.From.Name+".by_scale", t.Scales); err != nil {
				return err
			}
		}
	}
	for i, d := range t.DataSets {
		key := fmt.Sprintf("datasets.%d", i)
		if err := t.knownScales(key, d.Scales, d.Full); err != nil {
			return err
		}
		if err := d.ByScale.among(key+".by_scale", t.Scales); err != nil {
			return err
		}
	}
	return t.someDataSet()
}

// knownScales checks the scales of a row or data set.
func (t *Table) knownScales(key string, scales []string, full bool) error {
	if full && len(scales) > 0 {
		return config.Invalid(key+".scales", "full and scales exclude each other; want one of them")
	}
	for i, name := range scales {
		if _, err := t.Scales.Find(name); err != nil {
			return config.Invalid(fmt.Sprintf("%s.scales.%d", key, i), "%w; the table's scales are %s", err, strings.Join(t.Scales.Names(), ", "))
		}
		if slices.Contains(scales[:i], name) {
			return config.Invalid(fmt.Sprintf("%s.scales.%d", key, i), "%q is named twice", name)
		}
	}
	return nil
}

// someDataSet checks that every scale has a data set.
func (t *Table) someDataSet() error {
	for _, s := range t.Scales {
		if len(t.DataSets) > 0 && len(t.scaled(s.Name).DataSets) == 0 {
			return config.Invalid("datasets", "none of them is at the scale %s; want one that is", s.Name)
		}
	}
	return nil
}
