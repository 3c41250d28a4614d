package logic

import (
	"math"
	"slices"
	"strings"
)

// Move names a transformation that a quantifier has bound, [Domain.Moving], and how it acts.
type Move struct {
	Name      Variable
	Turn      string  // acts by this turn alone, on columns of any name; empty: by all turns, each on the sub-code of its name
	Frequency float64 // of angles; 0: 1
}

// Act moves codes by a transformation: `act(g, z(i))`. A frequency, `act[2](g, z(i))`, multiplies angles. With a turn,
// `act(g.angle, z[0:2](i))`, this turn acts on the columns.
func Act(m Move, a Term) Term { return &moved{move: m, a: a} }

// Moving binds the transformation that leads from one row to another, `g(i, j)`. It restricts the rows to pairs with a
// known transformation.
func (d Domain) Moving(name string, from, to Variable) Domain {
	d.moves = append(slices.Clone(d.moves), pairMove{name: name, from: from, to: to})
	return d
}

type (
	// pairMove is a transformation that a quantifier binds.
	pairMove struct {
		place
		name     string
		from, to Variable
	}

	// moved is a term moved by a transformation.
	moved struct {
		place
		move Move
		a    Term
	}
)

func (*moved) term() {}

func (m Move) frequency() float64 {
	if m.Frequency == 0 {
		return 1
	}
	return m.Frequency
}

// Moves reports whether the sentence uses transformations between rows.
func (s Sentence) Moves() bool { return hasMoves(s.Body) }

func hasMoves(f Formula) bool {
	switch f := f.(type) {
	case *connective:
		return hasMoves(f.a) || hasMoves(f.b)
	case *negation:
		return hasMoves(f.a)
	case *scaled:
		return hasMoves(f.a)
	case *quantified:
		return len(f.domain.moves) > 0 || hasMoves(f.body)
	}
	return false
}

// move reads the rows of `g(i, j)` after its name.
func (p *parser) move(name token) (pairMove, error) {
	m := pairMove{place: place(name.offset + 1), name: name.text}
	if err := p.expect("(", " and two rows"); err != nil {
		return m, err
	}
	for k, to := range []*Variable{&m.from, &m.to} {
		if t := p.peek(); k > 0 && !p.accept(",") {
			return m, p.found(t, "a comma and a second row: a transformation leads from a row to another, such as g(i, j)")
		}
		v := p.next()
		if v.kind != word || isKeyword(v.text) {
			return m, p.found(v, "the variable of a row")
		}
		*to = Variable(v.text)
	}
	return m, p.expect(")", " after the rows of a transformation")
}

// act reads `act[2](g.angle, z(i))` after its first word.
func (p *parser) act(t token) (Term, error) {
	m := &moved{place: place(t.offset + 1)}
	if p.accept("[") {
		at := p.peek()
		x, err := p.number("a frequency")
		if err != nil {
			return nil, err
		}
		if m.move.Frequency = x; x == 0 || math.Abs(x) > maxFrequency {
			return nil, errorAt(p.text, at.offset, "the frequency %v is out of range; want a number other than 0, to %g", x, float64(maxFrequency))
		}
		if err := p.expect("]", " after a frequency"); err != nil {
			return nil, err
		}
	}
	if err := p.expect("(", " and a transformation, such as g"); err != nil {
		return nil, err
	}
	v := p.next()
	if v.kind != word || isKeyword(v.text) {
		return nil, p.found(v, "the name of a transformation")
	}
	m.move.Name = Variable(v.text)
	if p.accept(".") {
		n := p.next()
		if n.kind != quotation && (n.kind != word || isKeyword(n.text)) {
			return nil, p.found(n, "the name of a turn")
		}
		m.move.Turn = n.text
	}
	if err := p.expect(",", " and the codes that move"); err != nil {
		return nil, err
	}
	e, err := p.expression(levelImplies)
	if err != nil {
		return nil, err
	}
	if m.a, err = p.asTerm(e); err != nil {
		return nil, err
	}
	return m, p.expect(")", " after the codes that move")
}

const maxFrequency = 1e6

func (w *writer) moved(m *moved) {
	w.add("act")
	if f := m.move.frequency(); f != 1 {
		w.add("[", number(f), "]")
	}
	w.add("(", string(m.move.Name))
	if m.move.Turn != "" {
		w.add(".", quoteName(m.move.Turn))
	}
	w.add(", ")
	w.term(m.a, levelPlus)
	w.add(")")
}

// variables writes the variables of a domain, `i, j, g(i, j)`.
func (d Domain) variables() string {
	all := slices.Clone(d.names)
	for i, f := range d.functions {
		all[i] = f.String()
	}
	for _, m := range d.moves {
		all = append(all, m.name+"("+string(m.from)+", "+string(m.to)+")")
	}
	return strings.Join(all, ", ")
}

// bindMoves resolves the transformations of a quantifier, and restricts the later of their rows
// to the group of the earlier one.
func (c *compiler) bindMoves(f *quantified, binders []*binder) error {
	for _, m := range f.domain.moves {
		if err := c.declare(f, m.name); err != nil {
			return err
		}
		b := &binding{name: m.name, set: moveSet}
		for _, row := range []struct {
			name Variable
			to   **binding
		}{{m.from, &b.from}, {m.to, &b.to}} {
			found, err := c.lookup(row.name, m.place)
			if err != nil {
				return err
			}
			if found.set != rowSet {
				return c.fail(m.place, "%s stands for %s, want a variable that stands for a row", row.name, found.what())
			}
			*row.to = found
		}
		if b.from == b.to {
			return c.fail(m.place, "%s leads from %s to itself; want two rows", m.name, m.from)
		}
		if len(c.schema.Turns) == 0 {
			return c.fail(m.place, "%s(%s, %s): no transformations between images are known; want data with a circular factor or one of rotations, "+
				"and in training a supervision that gives its transformations: pairs, paths or groups", m.name, m.from, m.to)
		}
		if err := c.relate(b, binders, m); err != nil {
			return err
		}
		c.scope = append(c.scope, b)
	}
	return nil
}

// relate makes the later row of a transformation range over the group of the earlier one.
func (c *compiler) relate(m *binding, binders []*binder, part pairMove) error {
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
		return c.fail(part.place, "%s relates rows of other quantifiers; want one of them bound by this one", part.name)
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
		if b.set == rowSet {
			b.list = c.program.index(b.known, b.by)
		}
	}
	return nil
}
