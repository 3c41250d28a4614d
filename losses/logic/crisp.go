package logic

import (
	"slices"

	"github.com/unravel-ml/unravel/internal/wording"
	"github.com/unravel-ml/unravel/losses/logic/internal/program"

	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/losses/logic/syntax"
)

// test compiles a crisp formula.
func (c *compiler) test(f syntax.Formula) (program.Test, error) {
	switch f := f.(type) {
	case *syntax.Equality:
		same, err := c.same(f)
		if f.Not {
			return &program.Not{Test: same}, err
		}
		return same, err
	case *syntax.Negated:
		a, err := c.test(f.A)
		return &program.Not{Test: a}, err
	case *syntax.Scaled:
		if !syntax.ValidWeight(f.Weight) {
			return nil, c.fail(f, "a formula is multiplied by %v, want a number of more than 0", f.Weight)
		}
		return c.test(f.A)
	case *syntax.Connective:
		a, err := c.test(f.A)
		if err != nil {
			return nil, err
		}
		b, err := c.test(f.B)
		return &program.Joined{Kind: f.Kind, A: a, B: b}, err
	case *syntax.Quantified:
		if len(f.Domain.Moves) > 0 {
			return nil, c.fail(f, "a transformation moves nothing in a crisp formula; want it in a quantifier over distances of codes")
		}
		binders, err := c.bind(f, f.Body)
		if err != nil {
			return nil, err
		}
		defer c.unbind(len(binders))
		body, err := c.test(f.Body)
		return &program.Tried{Universal: f.Universal, Binders: domains(binders), Body: body}, err
	}
	return nil, c.fail(f, "%T is not a formula of this package", f)
}

// side is a side of a crisp equality.
type side struct {
	row    *binding        // a row
	levels []syntax.Term   // names of levels: one, or the members of a variable
	member *binding        // the variable of the levels
	owner  *binding        // of factors: the row, or the value
	labels []int           // the factors
	values []program.Entry // as numbers: of factors, numbers and vectors
	number bool            // the number denotes a vector of any width
}

// same compiles an equality of rows, factors or constants.
func (c *compiler) same(e *syntax.Equality) (program.Test, error) {
	a, err := c.side(e.A, e)
	if err != nil {
		return nil, err
	}
	b, err := c.side(e.B, e)
	if err != nil {
		return nil, err
	}
	if len(a.labels) == 0 {
		a, b = b, a
	}
	switch {
	case a.row != nil && b.row != nil:
		return &program.SameRow{A: a.row.Variable, B: b.row.Variable}, nil
	case len(a.labels) > 0 && len(b.labels) > 0:
		if !slices.Equal(a.labels, b.labels) {
			return nil, c.fail(e, "%s and %s are values of different factors, want =[absolute] or another premetric", syntax.TextOf(e.A), syntax.TextOf(e.B))
		}
		return &program.SameNumbers{A: c.labelsOf(a), B: c.labelsOf(b)}, nil
	case len(a.labels) == 1 && b.levels != nil:
		named, err := c.levelEntry(a.labels[0], b, e)
		return &program.SameNumbers{A: c.labelsOf(a), B: []program.Entry{named}}, err
	case len(a.values) > 0 && len(b.values) > 0:
		return c.sameNumbers(e, a, b)
	}
	return nil, c.fail(e, "%s and %s cannot be compared; want two rows, two values of one factor, or a factor and a constant", syntax.TextOf(e.A), syntax.TextOf(e.B))
}

// sameNumbers compares numbers rounded to float32.
func (c *compiler) sameNumbers(e *syntax.Equality, a, b side) (program.Test, error) {
	n := max(len(a.values), len(b.values))
	for _, s := range []*side{&a, &b} {
		if s.number {
			s.values = slices.Repeat(s.values, n)
		}
		if len(s.values) != n {
			return nil, c.fail(e, "a term has %s and the other %s, want terms of one width", wording.Count(len(a.values), "column"), wording.Count(len(b.values), "column"))
		}
	}
	if len(a.labels) > 0 {
		c.program.NeedsValues = true
	}
	return &program.SameNumbers{A: a.values, B: b.values, Single: true}, nil
}

// labelsOf lists the labels of a row's factors, or of a value.
func (c *compiler) labelsOf(s side) []program.Entry {
	at := c.program.Labels
	if s.owner.Set == syntax.ValueSet {
		at = c.program.LevelLabels
	}
	var all []program.Entry
	for _, f := range s.labels {
		all = append(all, program.Entry{Column: at + f, Variable: s.owner.Variable})
	}
	return all
}

// side classifies a side of a crisp equality.
func (c *compiler) side(t syntax.Term, e *syntax.Equality) (side, error) {
	switch v := syntax.Bare(t).(type) {
	case nil:
		return side{}, c.fail(e, "a term is nil")
	case *syntax.Access:
		if v.Codes {
			return side{}, c.fail(e, "a plain = of codes has no gradient; want a premetric, such as =[euclidean]")
		}
		b, err := c.row(v)
		if err != nil {
			return side{}, err
		}
		factors, err := c.columnsOf(v)
		s := side{owner: b, labels: factors}
		for _, f := range factors {
			s.values = append(s.values, program.Entry{Column: c.program.Values + f, Variable: b.Variable})
		}
		c.program.NeedsLabels = true
		return s, err
	case syntax.Number:
		return side{values: []program.Entry{{Constant: float64(v), Column: -1}}, number: true}, nil
	case syntax.Vector:
		s := side{}
		for _, x := range v {
			s.values = append(s.values, program.Entry{Constant: x, Column: -1})
		}
		return s, nil
	case syntax.Level:
		return side{levels: []syntax.Term{v}}, nil
	case syntax.Variable:
		return c.sideVariable(v, t)
	case *syntax.Moved:
		return side{}, c.fail(e, "a plain = of moved codes; want a premetric, such as =[squared]")
	case *syntax.Application:
		return side{}, c.fail(e, "a plain = of a function's value has no gradient; want a premetric, such as =[euclidean]")
	case *syntax.Arithmetic, *syntax.Multiple:
		return side{}, c.fail(e, "a plain = of a sum or multiple; want a premetric, such as =[absolute]")
	}
	return side{}, c.fail(e, "%T is not a term of this package", t)
}

func (c *compiler) sideVariable(v syntax.Variable, t syntax.Term) (side, error) {
	b, err := c.lookup(v, t)
	if err != nil {
		return side{}, err
	}
	switch {
	case b.Set == syntax.RowSet:
		return side{row: b}, nil
	case b.Set == syntax.ValueSet:
		return side{owner: b, labels: []int{b.Factor}, values: []program.Entry{{Column: c.program.LevelValues + b.Factor,
			Variable: b.Variable}}}, nil
	case b.Set == syntax.MoveSet:
		return side{}, c.fail(t, "%s stands for a transformation; want codes, such as act(%s, z(%s))", v, v, b.from.name)
	case b.Set == syntax.PointSet:
		return side{}, c.fail(t, "%s stands for any point of the codes: %s", v, wantCentre)
	case b.width < 0:
		return side{levels: b.members, member: b}, nil
	}
	s := side{number: b.width == 0}
	for _, column := range b.columns {
		s.values = append(s.values, program.Entry{Column: column, Variable: b.Variable})
	}
	return s, nil
}

// levelEntry finds the numbers of levels by their names.
func (c *compiler) levelEntry(factor int, s side, e *syntax.Equality) (program.Entry, error) {
	name := c.schema.Factors[factor]
	numbers := make([]float64, len(s.levels))
	for i, l := range s.levels {
		known := c.schema.Levels[name]
		at := slices.Index(known, string(l.(syntax.Level)))
		if at < 0 {
			return program.Entry{}, c.fail(e, "the factor %s has no level %q%s", name, string(l.(syntax.Level)), registry.Suggest(string(l.(syntax.Level)), known))
		}
		numbers[i] = float64(at)
	}
	if s.member == nil {
		return program.Entry{Constant: numbers[0], Column: -1}, nil
	}
	return program.Entry{Column: c.program.Constants(numbers), Variable: s.member.Variable}, nil
}
