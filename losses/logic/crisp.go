package logic

import (
	"fmt"
	"slices"

	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/losses/logic/syntax"
)

// test is a crisp formula as a function of the variables' values.
type test struct {
	holds func(m *evaluator) bool
	cost  func(e *engine) float64 // bounds the tuples of its quantifiers; nil: no quantifiers
}

func (t test) costs(e *engine) float64 {
	if t.cost == nil {
		return 0
	}
	return t.cost(e)
}

// test compiles a crisp formula.
func (c *compiler) test(f syntax.Formula) (test, error) {
	switch f := f.(type) {
	case *syntax.Equality:
		same, err := c.same(f)
		if err == nil && f.Not {
			return test{holds: func(m *evaluator) bool { return !same(m) }}, nil
		}
		return test{holds: same}, err
	case *syntax.Negated:
		a, err := c.test(f.A)
		return test{func(m *evaluator) bool { return !a.holds(m) }, a.cost}, err
	case *syntax.Scaled:
		if !syntax.ValidWeight(f.Weight) {
			return test{}, c.fail(f, "a formula is multiplied by %v, want a number of more than 0", f.Weight)
		}
		return c.test(f.A)
	case *syntax.Connective:
		return c.testConnective(f)
	case *syntax.Quantified:
		return c.testQuantified(f)
	}
	return test{}, c.fail(f, "%T is not a formula of this package", f)
}

func (c *compiler) testConnective(f *syntax.Connective) (test, error) {
	a, err := c.test(f.A)
	if err != nil {
		return a, err
	}
	b, err := c.test(f.B)
	t := test{cost: func(e *engine) float64 { return a.costs(e) + b.costs(e) }}
	switch f.Kind {
	case syntax.AndKind:
		t.holds = func(m *evaluator) bool { return a.holds(m) && b.holds(m) }
	case syntax.OrKind:
		t.holds = func(m *evaluator) bool { return a.holds(m) || b.holds(m) }
	default:
		t.holds = func(m *evaluator) bool { return !a.holds(m) || b.holds(m) }
	}
	return t, err
}

// testQuantified compiles a quantifier over a crisp formula.
func (c *compiler) testQuantified(f *syntax.Quantified) (test, error) {
	if len(f.Domain.Moves) > 0 {
		return test{}, c.fail(f, "a transformation moves nothing in a crisp formula; want it in a quantifier over distances of codes")
	}
	binders, err := c.bind(f, f.Body)
	if err != nil {
		return test{}, err
	}
	defer c.unbind(len(binders))
	body, err := c.test(f.Body)
	if err != nil {
		return test{}, err
	}
	var try func(m *evaluator, k int) bool
	try = func(m *evaluator, k int) bool {
		if k == len(binders) {
			return body.holds(m)
		}
		for _, v := range binders[k].all(m.data) {
			m.index[binders[k].variable] = v
			if try(m, k+1) != f.Universal {
				return !f.Universal
			}
		}
		return f.Universal
	}
	return test{func(m *evaluator) bool { return try(m, 0) }, func(e *engine) float64 {
		cost := 1 + body.costs(e)
		for _, b := range binders {
			cost *= b.most(&e.data)
		}
		return cost
	}}, nil
}

// entry is a number to compare: a constant, or an entry of a column.
type entry struct {
	constant float64
	column   int // -1: the constant
	variable int
}

func (e entry) value(m *evaluator) float64 {
	if e.column < 0 {
		return e.constant
	}
	return m.data.columns[e.column][m.index[e.variable]]
}

// side is a side of a crisp equality.
type side struct {
	row    *binding      // a row
	levels []syntax.Term // names of levels: one, or the members of a variable
	member *binding      // the variable of the levels
	owner  *binding      // of factors: the row, or the value
	labels []int         // the factors
	values []entry       // as numbers: of factors, numbers and vectors
	number bool          // the number denotes a vector of any width
}

// same compiles an equality of rows, factors or constants.
func (c *compiler) same(e *syntax.Equality) (func(m *evaluator) bool, error) {
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
		i, j := a.row.id, b.row.id
		return func(m *evaluator) bool { return m.index[i] == m.index[j] }, nil
	case len(a.labels) > 0 && len(b.labels) > 0:
		if !slices.Equal(a.labels, b.labels) {
			return nil, c.fail(e, "%s and %s are values of different factors, want =[absolute] or another premetric", syntax.TextOf(e.A), syntax.TextOf(e.B))
		}
		return sameEntries(c.program.labelEntries(a), c.program.labelEntries(b), false), nil
	case len(a.labels) == 1 && b.levels != nil:
		named, err := c.levelEntry(a.labels[0], b, e)
		return sameEntries(c.program.labelEntries(a), []entry{named}, false), err
	case len(a.values) > 0 && len(b.values) > 0:
		return c.sameNumbers(e, a, b)
	}
	return nil, c.fail(e, "%s and %s cannot be compared; want two rows, two values of one factor, or a factor and a constant", syntax.TextOf(e.A), syntax.TextOf(e.B))
}

// sameNumbers compares numbers rounded to float32.
func (c *compiler) sameNumbers(e *syntax.Equality, a, b side) (func(m *evaluator) bool, error) {
	n := max(len(a.values), len(b.values))
	for _, s := range []*side{&a, &b} {
		if s.number {
			s.values = slices.Repeat(s.values, n)
		}
		if len(s.values) != n {
			return nil, c.fail(e, "a term has %s and the other %s, want terms of one width", plural(len(a.values), "column"), plural(len(b.values), "column"))
		}
	}
	if len(a.labels) > 0 {
		c.program.useValues()
	}
	return sameEntries(a.values, b.values, true), nil
}

func sameEntries(a, b []entry, single bool) func(m *evaluator) bool {
	return func(m *evaluator) bool {
		for i := range a {
			x, y := a[i].value(m), b[i].value(m)
			if x != y && !(single && float32(x) == float32(y)) {
				return false
			}
		}
		return true
	}
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
			s.values = append(s.values, entry{column: c.program.values + f, variable: b.id})
		}
		c.program.useLabels()
		return s, err
	case syntax.Number:
		return side{values: []entry{{constant: float64(v), column: -1}}, number: true}, nil
	case syntax.Vector:
		s := side{}
		for _, x := range v {
			s.values = append(s.values, entry{constant: x, column: -1})
		}
		return s, nil
	case syntax.Level:
		return side{levels: []syntax.Term{v}}, nil
	case syntax.Variable:
		return c.sideVariable(v, t)
	case *syntax.Moved:
		return side{}, c.fail(e, "a plain = of what a transformation moves; want a premetric, such as =[squared]")
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
	case b.set == syntax.RowSet:
		return side{row: b}, nil
	case b.set == syntax.ValueSet:
		return side{owner: b, labels: []int{b.factor}, values: []entry{{column: c.program.levelValues + b.factor, variable: b.id}}}, nil
	case b.set == syntax.MoveSet:
		return side{}, c.fail(t, "%s stands for a transformation, want what it moves, such as act(%s, z(%s))", v, v, b.from.name)
	case b.set == syntax.PointSet:
		return side{}, c.fail(t, "%s stands for any point of the codes: %s", v, wantCentre)
	case b.width < 0:
		return side{levels: b.members, member: b}, nil
	}
	s := side{number: b.width == 0}
	for _, column := range b.columns {
		s.values = append(s.values, entry{column: column, variable: b.id})
	}
	return s, nil
}

// levelEntry finds the numbers of levels by their names.
func (c *compiler) levelEntry(factor int, s side, e *syntax.Equality) (entry, error) {
	name := c.schema.Factors[factor]
	numbers := make([]float64, len(s.levels))
	for i, l := range s.levels {
		known := c.schema.Levels[name]
		at := slices.Index(known, string(l.(syntax.Level)))
		if at < 0 {
			return entry{}, c.fail(e, "the factor %s has no level %q%s", name, string(l.(syntax.Level)), registry.Suggest(string(l.(syntax.Level)), known))
		}
		numbers[i] = float64(at)
	}
	if s.member == nil {
		return entry{constant: numbers[0], column: -1}, nil
	}
	return entry{column: c.program.constants(numbers), variable: s.member.id}, nil
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
