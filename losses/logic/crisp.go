package logic

import (
	"slices"

	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/losses/logic/internal/program"
	"github.com/unravel-ml/unravel/losses/logic/internal/syntax"
)

// test compiles a crisp formula.
func (c *compiler) test(f syntax.Formula) program.Test {
	switch f := f.(type) {
	case *syntax.Equality:
		same := c.same(f)
		if f.Not {
			return &program.Not{Test: same}
		}
		return same
	case *syntax.Negated:
		return &program.Not{Test: c.test(f.A)}
	case *syntax.Scaled:
		return c.test(f.A)
	case *syntax.Connective:
		return &program.Joined{Kind: f.Kind, A: c.test(f.A), B: c.test(f.B)}
	}
	q := f.(*syntax.Quantified)
	if len(q.Domain.Moves) > 0 {
		panic(c.wrong(q, "a transformation has no effect in a crisp formula; want it in a quantifier over distances of codes"))
	}
	binders := c.bind(q, q.Body)
	defer c.unbind(len(binders))
	return &program.Tried{Universal: q.Universal, Binders: domains(binders), Body: c.test(q.Body)}
}

// side is one side of a crisp equality.
type side struct {
	row    *binding        // a row
	levels []syntax.Term   // names of levels: a single name, or the members of a variable
	member *binding        // the variable of the levels
	owner  *binding        // for factors: the row, or the value
	labels []int           // the factors
	values []program.Entry // the numbers of factors, or constants
	number bool            // the number denotes a vector of any width
}

// same compiles an equality of rows, factors or constants.
func (c *compiler) same(e *syntax.Equality) program.Test {
	a, b := c.side(e.A, e), c.side(e.B, e)
	if len(a.labels) == 0 {
		a, b = b, a
	}
	switch {
	case a.row != nil && b.row != nil:
		return &program.SameRow{A: a.row.Variable, B: b.row.Variable}
	case len(a.labels) > 0 && len(b.labels) > 0:
		if !slices.Equal(a.labels, b.labels) {
			panic(c.wrong(e, "%s and %s are values of different factors, want =[absolute] or another premetric", syntax.TextOf(e.A), syntax.TextOf(e.B)))
		}
		return &program.SameNumbers{A: c.labelsOf(a), B: c.labelsOf(b)}
	case len(a.labels) == 1 && b.levels != nil:
		named := c.levelEntry(a.labels[0], b, e)
		return &program.SameNumbers{A: c.labelsOf(a), B: []program.Entry{named}}
	case len(a.values) > 0 && len(b.values) > 0:
		return c.sameNumbers(e, a, b)
	}
	panic(c.wrong(e, "%s and %s cannot be compared; want two rows, two values of one factor, or a factor and a constant", syntax.TextOf(e.A), syntax.TextOf(e.B)))
}

// sameNumbers compares numbers rounded to float32.
func (c *compiler) sameNumbers(e *syntax.Equality, a, b side) program.Test {
	n := max(len(a.values), len(b.values))
	for _, s := range []*side{&a, &b} {
		if s.number {
			s.values = slices.Repeat(s.values, n)
		}
		if len(s.values) != n {
			panic(c.widthsDiffer(e, len(a.values), len(b.values)))
		}
	}
	if len(a.labels) > 0 {
		c.program.NeedsValues = true
	}
	return &program.SameNumbers{A: a.values, B: b.values, Single: true}
}

// labelsOf lists the labels of a row's factors, or the label of a value.
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
func (c *compiler) side(t syntax.Term, e *syntax.Equality) side {
	switch v := syntax.Bare(t).(type) {
	case *syntax.Access:
		if v.Codes {
			panic(c.wrong(e, "a plain = of codes has no gradient; want a premetric, such as =[euclidean]"))
		}
		s := side{owner: c.row(v.Row, v), labels: c.columnsOf(v)}
		for _, f := range s.labels {
			s.values = append(s.values, program.Entry{Column: c.program.Values + f, Variable: s.owner.Variable})
		}
		c.program.NeedsLabels = true
		return s
	case syntax.Number:
		return side{values: []program.Entry{{Constant: float64(v), Column: -1}}, number: true}
	case syntax.Vector:
		s := side{}
		for _, x := range v {
			s.values = append(s.values, program.Entry{Constant: x, Column: -1})
		}
		return s
	case syntax.Level:
		return side{levels: []syntax.Term{v}}
	case syntax.Variable:
		return c.sideVariable(v, t)
	case *syntax.Moved:
		panic(c.wrong(e, "a plain = of transformed codes; want a premetric, such as =[squared]"))
	case *syntax.Application:
		panic(c.wrong(e, "a plain = of a function's value has no gradient; want a premetric, such as =[euclidean]"))
	}
	panic(c.wrong(e, "a plain = of a sum or multiple; want a premetric, such as =[absolute]"))
}

func (c *compiler) sideVariable(v syntax.Variable, t syntax.Term) side {
	b := c.element(v, t)
	switch {
	case b.Set == syntax.RowSet:
		return side{row: b}
	case b.Set == syntax.ValueSet:
		value := program.Entry{Column: c.program.LevelValues + b.Factor, Variable: b.Variable}
		return side{owner: b, labels: []int{b.Factor}, values: []program.Entry{value}}
	case b.width < 0:
		return side{levels: b.members, member: b}
	}
	s := side{number: b.width == 0}
	for _, column := range b.columns {
		s.values = append(s.values, program.Entry{Column: column, Variable: b.Variable})
	}
	return s
}

// levelEntry translates the names of levels to their numbers.
func (c *compiler) levelEntry(factor int, s side, e *syntax.Equality) program.Entry {
	name := c.schema.Factors[factor]
	numbers := make([]float64, len(s.levels))
	for i, l := range s.levels {
		known, level := c.schema.Levels[name], string(l.(syntax.Level))
		at := slices.Index(known, level)
		if at < 0 {
			panic(c.wrong(e, "the factor %s has no level %q%s", name, level, registry.Suggest(level, known)))
		}
		numbers[i] = float64(at)
	}
	if s.member == nil {
		return program.Entry{Constant: numbers[0], Column: -1}
	}
	return program.Entry{Column: c.program.Constants(numbers), Variable: s.member.Variable}
}
