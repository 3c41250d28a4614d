package logic

import (
	"github.com/unravel-ml/unravel/losses/logic/internal/program"
	"slices"

	"github.com/unravel-ml/unravel/losses/logic/syntax"
)

// linear is a numeric term, a vector. Each coordinate is a constant plus a weighted sum of entries of columns.
type linear struct {
	coordinates []program.Coordinate
	number      bool // it denotes a vector of any width with equal columns
}

// add adds a coordinate: an entry of a column.
func (l *linear) add(column int, of *binding) {
	l.coordinates = append(l.coordinates, program.Coordinate{Parts: []program.Part{{Weight: 1, Column: column, Variable: of.Variable}}})
}

// linear compiles a numeric term.
func (c *compiler) linear(t syntax.Term) (linear, error) {
	switch t := t.(type) {
	case nil:
		return linear{}, c.fail(nil, "a term is nil")
	case *syntax.Access:
		return c.linearAccess(t)
	case *syntax.Moved:
		return c.act(t)
	case *syntax.Multiple:
		a, err := c.linear(t.A)
		if err == nil && !validNumber(t.Factor) {
			err = c.fail(t, "the factor %v is out of range", t.Factor)
		}
		return a.times(t.Factor), err
	case *syntax.Arithmetic:
		a, err := c.linear(t.A)
		if err != nil {
			return a, err
		}
		b, err := c.linear(t.B)
		if err != nil {
			return b, err
		}
		if t.Minus {
			b = b.times(-1)
		}
		return c.add(t, a, b)
	}
	switch v := syntax.Bare(t).(type) {
	case *syntax.Application:
		if m := c.mapped(v.Function); m != nil && m.network != nil {
			return c.networkValue(v, m)
		}
		return linear{}, c.fail(t, "%s stands where no function can be fitted: %s", syntax.TextOf(t), wantFunction)
	case syntax.Number:
		if !validNumber(float64(v)) {
			return linear{}, c.fail(t, "the number %v is out of range", float64(v))
		}
		return linear{coordinates: []program.Coordinate{{Offset: float64(v)}}, number: true}, nil
	case syntax.Vector:
		var l linear
		for _, x := range v {
			if !validNumber(x) {
				return l, c.fail(t, "the number %v is out of range", x)
			}
			l.coordinates = append(l.coordinates, program.Coordinate{Offset: x})
		}
		if len(v) == 0 {
			return l, c.fail(t, "the vector is empty")
		}
		return l, nil
	case syntax.Level:
		return linear{}, c.fail(t, "the name of a level has no distance; want a plain = between it and a factor")
	case syntax.Variable:
		return c.linearVariable(v, t)
	}
	return linear{}, c.fail(t, "%T is not a term of this package", t)
}

func (c *compiler) linearAccess(a *syntax.Access) (linear, error) {
	b, err := c.row(a)
	if err != nil {
		return linear{}, err
	}
	columns, err := c.columnsOf(a)
	if err != nil {
		return linear{}, err
	}
	var l linear
	for _, column := range columns {
		if !a.Codes {
			c.program.NeedsValues = true
			column += c.program.Values
		}
		l.add(column, b)
	}
	return l, nil
}

func (c *compiler) linearVariable(v syntax.Variable, t syntax.Term) (linear, error) {
	b, err := c.lookup(v, t)
	if err != nil {
		return linear{}, err
	}
	switch {
	case b.Set == syntax.RowSet:
		return linear{}, c.fail(t, "%s stands for a row, want what it has, such as z(%s)", v, v)
	case b.Set == syntax.MoveSet:
		return linear{}, c.fail(t, "%s stands for a transformation, want what it moves, such as act(%s, z(%s))", v, v, b.from.name)
	case b.Set == syntax.PointSet:
		return linear{}, c.fail(t, "%s stands for any point of the codes: %s", v, wantCentre)
	case b.Set == syntax.ValueSet:
		c.program.NeedsValues = true
		var l linear
		l.add(c.program.LevelValues+b.Factor, b)
		return l, nil
	case b.width < 0:
		return linear{}, c.fail(t, "%s stands for the name of a level, which has no distance; want a plain = between it and a factor", v)
	}
	l := linear{number: b.width == 0}
	for _, column := range b.columns {
		l.add(column, b)
	}
	return l, nil
}

func (l linear) times(x float64) linear {
	r := linear{number: l.number, coordinates: make([]program.Coordinate, len(l.coordinates))}
	for i, c := range l.coordinates {
		r.coordinates[i].Offset = x * c.Offset
		for _, p := range c.Parts {
			p.Weight *= x
			r.coordinates[i].Parts = append(r.coordinates[i].Parts, p)
		}
	}
	return r
}

// add adds two terms; a number is added to every column of a vector.
func (c *compiler) add(part any, a, b linear) (linear, error) {
	n := max(len(a.coordinates), len(b.coordinates))
	if a.number && !b.number {
		n = len(b.coordinates)
	}
	if !a.number && len(a.coordinates) != n || !b.number && len(b.coordinates) != n {
		return a, c.fail(part, "a term has %s and the other %s, want terms of one width", plural(len(a.coordinates), "column"), plural(len(b.coordinates), "column"))
	}
	r := linear{number: a.number && b.number, coordinates: make([]program.Coordinate, n)}
	for i := range r.coordinates {
		x, y := a.at(i), b.at(i)
		r.coordinates[i].Offset = x.Offset + y.Offset
		r.coordinates[i].Parts = merge(append(slices.Clone(x.Parts), y.Parts...))
	}
	return r, nil
}

func (l linear) at(i int) program.Coordinate {
	if l.number {
		return l.coordinates[0]
	}
	return l.coordinates[i]
}

// merge adds up parts with the same entry, and drops parts of weight 0.
func merge(parts []program.Part) []program.Part {
	var merged []program.Part
	for _, p := range parts {
		i := slices.IndexFunc(merged, func(q program.Part) bool {
			return q.Column == p.Column && q.Variable == p.Variable && slices.Equal(q.By, p.By)
		})
		if i < 0 {
			merged = append(merged, p)
		} else {
			merged[i].Weight += p.Weight
		}
	}
	return slices.DeleteFunc(merged, func(p program.Part) bool { return p.Weight == 0 })
}
