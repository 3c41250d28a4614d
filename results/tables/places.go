package tables

import (
	"fmt"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/train/sweep"
)

// row returns a row at a scale and on the data set of this copy of the table. A row that does not belong there is
// missing, with the reason.
func (t *Table) row(r Row, scale string) Row {
	if reason := t.absent(r, scale); reason != "" && r.Missing == "" {
		r.From, r.Missing = SourceChoice{}, reason
	}
	return r
}

// absent says why a row is not computed at a scale and on the data set; empty if it is computed.
func (t *Table) absent(r Row, scale string) string {
	switch {
	case !belongs(scale, r.Scales, r.Full):
		return onlyAt(r.Scales)
	case t.at == nil:
		return ""
	case len(r.On) > 0 && !slices.Contains(r.On, t.at.Label):
		return "only on " + strings.Join(r.On, ", ")
	case t.at.Real && !t.real:
		return fmt.Sprintf("%s has no twin; computed with --real", t.at.Label)
	}
	return ""
}

// validPlaces checks the data sets that rows and notes name.
func (t *Table) validPlaces() error {
	for i, r := range t.Rows {
		if err := t.amongDataSets(fmt.Sprintf("rows.%d.on", i), r.On); err != nil {
			return err
		}
	}
	for i, n := range t.Notes {
		if err := t.amongDataSets(fmt.Sprintf("notes.%d.on", i), n.On); err != nil {
			return err
		}
	}
	return nil
}

// amongDataSets checks the labels of data sets below a key.
func (t *Table) amongDataSets(key string, labels []string) error {
	var known []string
	for _, d := range t.DataSets {
		known = append(known, d.Label)
	}
	for i, label := range labels {
		key := fmt.Sprintf("%s.%d", key, i)
		if known == nil {
			return config.Invalid(key, "%q: the table has no list of data sets", label)
		}
		if err := among("data set", label, known); err != nil {
			return config.Invalid(key, "%w", err)
		}
	}
	return nil
}

// measurer is a source with extra metrics for its runs.
type measurer interface{ also() []metrics.Choice }

func (r *Runs) also() []metrics.Choice { return r.Also }

// with returns the planner with the extra metrics of a source.
func (p *Planner) with(s Source) (*Planner, error) {
	m, ok := s.(measurer)
	if !ok || len(m.also()) == 0 {
		return p, nil
	}
	one := *p
	more := m.also()
	if p.at != nil {
		more = p.at.measuring(more)
	}
	return &one, one.add(more)
}

// runsOf lists the runs of a row on a data set for a seed. It also returns their planner.
func (p *Planner) runsOf(s Trained, place *Table, row Row, seed uint64) (*Planner, []sweep.Run, error) {
	one, err := p.on(place.at).with(s)
	if err != nil {
		return nil, nil, err
	}
	runs, err := s.Plan(one, row.Label, seed)
	return one, runs, err
}
