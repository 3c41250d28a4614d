package tables

import (
	"fmt"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/catalog"
)

// OnReal returns the table with runs on public data sets instead of the twins that we draw.
func (t *Table) OnReal() *Table {
	real := *t
	real.real = true
	return &real
}

// ofOneSeed returns the table with one seed at every scale. All seeds have the same data sets.
func (t *Table) ofOneSeed() *Table {
	one := *t
	one.Scales = slices.Clone(t.Scales)
	for i := range one.Scales {
		one.Scales[i].Seeds = 1
	}
	return &one
}

// Stand is a training data set of a table's runs.
type Stand struct {
	Name string // name of the data set
	Real string // the twin's public data set; empty: not a twin
}

// Stands lists the data sets of a table's runs at a scale, in the order of the rows.
func (t *Table) Stands(scale string) ([]Stand, error) {
	if t.Quotes() {
		return t.quotedStands(scale)
	}
	if !t.Trains() {
		return nil, nil
	}
	runs, err := t.ofOneSeed().Runs(scale)
	if err != nil {
		return nil, err
	}
	var list []Stand
	for _, r := range runs {
		s := Stand{Name: r.Config.Dataset.Name}
		if real, ok := catalog.RealOf(r.Config.Dataset.Value); ok {
			s.Real = real.Name
		}
		if !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	return list, nil
}

// isPublic reports whether a data set is public.
func isPublic(name string) bool {
	c, err := catalog.Named(name)
	if err != nil {
		return false
	}
	_, ok := c.Value.(datasets.Public)
	return ok
}

// StandsOn names the data sets behind a result if they include twins of public data sets or, with [Table.OnReal],
// public ones.
func (r *Result) StandsOn() string {
	if r.standsOn == nil {
		text := r.standsText()
		r.standsOn = &text
	}
	return *r.standsOn
}

func (r *Result) standsText() string {
	stands, err := r.Table.Stands(r.Scale)
	if err != nil {
		return "" // the table was computed before, so Stands succeeds
	}
	var twins, real []string
	for _, s := range stands {
		switch {
		case s.Real != "":
			twins = append(twins, fmt.Sprintf("%s, a twin of %s", s.Name, s.Real))
		case isPublic(s.Name):
			real = append(real, s.Name)
		}
	}
	switch {
	case len(twins) > 0:
		return fmt.Sprintf("Trained cells stand on %s; with --real they stand on the public data sets.", strings.Join(twins, ", and on "))
	case len(real) > 0:
		return fmt.Sprintf("Trained cells stand on public data sets: %s.", strings.Join(real, ", "))
	}
	return ""
}

// quotedStands lists the data sets of the quoted tables.
func (t *Table) quotedStands(scale string) ([]Stand, error) {
	quoted, err := t.quotedTables()
	if err != nil {
		return nil, err
	}
	var list []Stand
	for _, other := range quoted {
		stands, err := other.Stands(scale)
		if err != nil {
			return nil, err
		}
		for _, s := range stands {
			if !slices.Contains(list, s) {
				list = append(list, s)
			}
		}
	}
	return list, nil
}
