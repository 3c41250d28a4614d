package logic

import (
	"slices"

	"github.com/unravel-ml/unravel/losses/logic/syntax"
)

// bindMoves resolves the transformations of a quantifier, and restricts the later of their rows
// to the group of the earlier one.
func (c *compiler) bindMoves(f *syntax.Quantified, binders []*binder) error {
	for _, m := range f.Domain.Moves {
		if err := c.declare(f, m.Name); err != nil {
			return err
		}
		b := &binding{name: m.Name, set: syntax.MoveSet}
		for _, row := range []struct {
			name syntax.Variable
			to   **binding
		}{{m.From, &b.from}, {m.To, &b.to}} {
			found, err := c.lookup(row.name, m.Place)
			if err != nil {
				return err
			}
			if found.set != syntax.RowSet {
				return c.fail(m.Place, "%s stands for %s, want a variable that stands for a row", row.name, found.what())
			}
			*row.to = found
		}
		if b.from == b.to {
			return c.fail(m.Place, "%s leads from %s to itself; want two rows", m.Name, m.From)
		}
		if len(c.schema.Turns) == 0 {
			return c.fail(m.Place, "%s(%s, %s): no transformations between images are known; want data with a circular factor or one of rotations, "+
				"and in training a supervision that gives its transformations: pairs, paths or groups", m.Name, m.From, m.To)
		}
		if err := c.relate(b, binders, m); err != nil {
			return err
		}
		c.scope = append(c.scope, b)
	}
	return nil
}

// relate makes the later row of a transformation range over the group of the earlier one.
func (c *compiler) relate(m *binding, binders []*binder, part syntax.PairMove) error {
	group := c.program.factors // groups of moves come after the factors
	c.program.input(moves, c.schema.moves())
	var later *binder
	for _, b := range binders {
		if b.binding == m.from || b.binding == m.to {
			if !slices.Contains(b.known, group) {
				b.known = append(b.known, group)
			}
			later = b
		}
	}
	if later == nil {
		return c.fail(part.Place, "%s relates rows of other quantifiers; want one of them bound by this one", part.Name)
	}
	earlier := m.from
	if later.binding == m.from {
		earlier = m.to
	}
	if later.by < 0 {
		later.by, later.like = group, earlier.id
	} else {
		a, b := earlier.id, later.id
		later.tests = append(later.tests, test{holds: func(m *evaluator) bool {
			of := m.data.levels[group]
			return of[m.index[a]] >= 0 && of[m.index[a]] == of[m.index[b]]
		}})
	}
	for _, b := range binders { // the rows of a list are known before the list
		if b.set == syntax.RowSet {
			b.list = c.program.index(b.known, b.by)
		}
	}
	return nil
}
