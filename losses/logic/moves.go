package logic

import (
	"github.com/unravel-ml/unravel/losses/logic/internal/program"
	"slices"

	"github.com/unravel-ml/unravel/losses/logic/syntax"
)

// bindMoves resolves the transformations of a quantifier, and restricts the later of their rows
// to the group of the earlier one.
func (c *compiler) bindMoves(f *syntax.Quantified, binders []*binding) error {
	for _, m := range f.Domain.Moves {
		if err := c.declare(f, m.Name); err != nil {
			return err
		}
		b := &binding{Binder: &program.Binder{Set: syntax.MoveSet}, name: m.Name}
		for _, row := range []struct {
			name syntax.Variable
			to   **binding
		}{{m.From, &b.from}, {m.To, &b.to}} {
			found, err := c.lookup(row.name, m.Place)
			if err != nil {
				return err
			}
			if found.Set != syntax.RowSet {
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
func (c *compiler) relate(m *binding, binders []*binding, part syntax.PairMove) error {
	group := c.program.Factors // groups of moves come after the factors
	c.program.Input(program.Moves, c.schema.moves())
	var later *binding
	for _, b := range binders {
		if b == m.from || b == m.to {
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
	if later == m.from {
		earlier = m.to
	}
	if later.By < 0 {
		later.By, later.Like = group, earlier.Variable
	} else {
		later.Tests = append(later.Tests, &program.SameGroup{Factor: group, A: earlier.Variable, B: later.Variable})
	}
	for _, b := range binders { // the rows of a list are known before the list
		if b.Set == syntax.RowSet {
			b.List = c.program.List(b.known, b.By)
		}
	}
	return nil
}
