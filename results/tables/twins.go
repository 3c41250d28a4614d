package tables

import (
	"fmt"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/catalog"
	"github.com/unravel-ml/unravel/train"
)

// OnReal returns the table with runs on public data sets instead of twins.
func (t *Table) OnReal() *Table {
	real := *t
	real.real = true
	return &real
}

// Stand is a training data set of a table's runs.
type Stand struct {
	Name string // name of the data set
	Real string // public data set of the twin; empty: not a twin
}

// Stands lists the data sets of a table's runs at a scale, first of quoted tables, and then in the order of rows.
func (t *Table) Stands(scale string) (list []Stand, err error) {
	add := func(s Stand) {
		if !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	quoted, err := t.quotedTables()
	if err != nil {
		return nil, err
	}
	for _, other := range quoted {
		stands, err := other.Stands(scale)
		if err != nil {
			return nil, err
		}
		for _, s := range stands {
			add(s)
		}
	}
	return list, t.firstSeedConfigs(scale, func(_ int, _ view, c train.Config) {
		s := Stand{Name: c.Dataset.Name}
		if real, ok := catalog.RealOf(c.Dataset.Value); ok {
			s.Real = real.Name
		}
		add(s)
	})
}

func isPublic(name string) bool {
	c, err := catalog.Named(name)
	if err != nil {
		return false
	}
	_, ok := c.Value.(datasets.Public)
	return ok
}

// StandsOn names the data sets of a result if they include public data sets or their twins.
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
		return "" // the table has been computed, so Stands succeeds
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
		return fmt.Sprintf("The runs train on %s; with --real they train on the public data sets.",
			strings.Join(twins, ", and on "))
	case len(real) > 0:
		return fmt.Sprintf("The runs train on public data sets: %s.", strings.Join(real, ", "))
	}
	return ""
}
