package logic

import (
	"math"
	"slices"

	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/losses/logic/internal/program"
	"github.com/unravel-ml/unravel/losses/logic/syntax"
)

// mentioned lists the factors of a row in a formula. A row with any of them unknown is not in the variable's domain.
func (c *compiler) mentioned(f syntax.Formula, name string) ([]int, error) {
	var known []int
	var first error
	syntax.Inspect(f, func(part any) bool {
		a, ok := part.(*syntax.Access)
		if !ok || a.Codes || string(a.Row) != name {
			return true
		}
		columns, err := c.columnsOf(a)
		if err != nil && first == nil {
			first = err
		}
		for _, k := range columns {
			if !slices.Contains(known, k) {
				known = append(known, k)
			}
		}
		return true
	})
	slices.Sort(known)
	return known, first
}

// group turns an equality of the variable's factor into the group of rows of the variable. The other side is a factor
// of an earlier variable, or a value. It reports whether it could.
func (c *compiler) group(b *binding, e *syntax.Equality) bool {
	if e.Not || b.Set != syntax.RowSet {
		return false
	}
	for _, sides := range [][2]syntax.Term{{e.A, e.B}, {e.B, e.A}} {
		own, ok := syntax.Bare(sides[0]).(*syntax.Access)
		if !ok || own.Codes || string(own.Row) != b.name {
			continue
		}
		factors, err := c.columnsOf(own)
		if err != nil {
			return false
		}
		var other *binding
		switch t := syntax.Bare(sides[1]).(type) {
		case *syntax.Access:
			if string(t.Row) != b.name {
				other, _ = c.row(t)
			}
		case syntax.Variable:
			if v, err := c.lookup(t, e); err == nil && v.Set == syntax.ValueSet {
				other = v
			}
		}
		if other == nil || b.By >= 0 {
			continue
		}
		b.By, b.Like, b.LikeValue = factors[0], other.Variable, other.Set == syntax.ValueSet
		b.List = c.program.List(b.known, b.By)
		return len(factors) == 1
	}
	return false
}

// binding is a variable of a sentence.
type binding struct {
	*program.Binder
	name    string
	members []syntax.Term // of MemberSet, without places
	columns []int         // of MemberSet: the columns of the members' numbers
	width   int           // of MemberSet: 0 for numbers, -1 for levels
	known   []int         // of RowSet: factors that must be known, ascending
	from    *binding      // of MoveSet: the transformation leads from this row
	to      *binding      // to this one
	exists  bool          // exists binds it
}

// lookup finds a variable.
func (c *compiler) lookup(v syntax.Variable, part any) (*binding, error) {
	var names []string
	for _, b := range slices.Backward(c.scope) {
		if b.name == string(v) {
			return b, nil
		}
		names = append(names, b.name)
	}
	if len(names) == 0 {
		return nil, c.fail(part, "there is no variable %s; want a quantifier that binds it, such as forall %s: ...", v, v)
	}
	return nil, c.fail(part, "there is no variable %s%s", v, registry.Suggest(string(v), names))
}

// row finds the variable of a row.
func (c *compiler) row(a *syntax.Access) (*binding, error) {
	b, err := c.lookup(a.Row, a)
	if err == nil && b.Set != syntax.RowSet {
		return nil, c.fail(a, "%s stands for %s, want a variable that stands for a row", a.Row, b.what())
	}
	return b, err
}

func (b *binding) what() string {
	switch b.Set {
	case syntax.ValueSet:
		return "a value of a factor"
	case syntax.MemberSet:
		return "a constant"
	case syntax.PointSet:
		return "a point of the codes"
	case syntax.MoveSet:
		return "a transformation"
	}
	return "a row"
}

// factor finds a factor.
func (c *compiler) factor(name string, part any) (int, error) {
	i := slices.Index(c.schema.Factors, name)
	if i < 0 {
		return 0, c.fail(part, "there is no factor %q%s", name, registry.Suggest(name, c.schema.Factors))
	}
	return i, nil
}

// columnsOf lists the columns of z or y that an access selects.
func (c *compiler) columnsOf(a *syntax.Access) ([]int, error) {
	all := len(c.schema.Factors)
	if a.Codes {
		all = c.schema.Codes
	}
	switch {
	case a.Name != "" && a.Codes:
		columns, ok := c.schema.SubCodes[a.Name]
		if !ok {
			return nil, c.fail(a, "there is no sub-code %q%s", a.Name, registry.Suggest(a.Name, sortedKeys(c.schema.SubCodes)))
		}
		return columns, nil
	case a.Name != "":
		i, err := c.factor(a.Name, a)
		return []int{i}, err
	case len(a.Columns) > 0:
		var columns []int
		for _, r := range a.Columns {
			if r.Lo < 0 || r.Hi <= r.Lo || r.Hi > all {
				return nil, c.fail(a, "columns %d:%d do not exist: the %s have %d columns", r.Lo, r.Hi, syntax.SpaceName(a.Codes), all)
			}
			for i := r.Lo; i < r.Hi; i++ {
				if slices.Contains(columns, i) {
					return nil, c.fail(a, "column %d is named twice", i)
				}
				columns = append(columns, i)
			}
		}
		return columns, nil
	}
	if all == 0 {
		return nil, c.fail(a, "there are no %s", syntax.SpaceName(a.Codes))
	}
	columns := make([]int, all)
	for i := range columns {
		columns[i] = i
	}
	return columns, nil
}

func validNumber(x float64) bool { return math.Abs(x) <= 1e150 }

// bind resolves the variables of a quantifier and puts them into scope. Rows range over the rows in which the factors
// that over mentions are known.
func (c *compiler) bind(f *syntax.Quantified, over syntax.Formula) ([]*binding, error) {
	d := f.Domain
	if len(d.Names) == 0 {
		return nil, c.fail(f, "a quantifier without a variable")
	}
	var binders []*binding
	for _, name := range d.Names {
		if err := c.declare(f, name); err != nil {
			return nil, err
		}
		b := &binding{Binder: &program.Binder{Variable: c.program.Variables, Set: d.Set, List: -1, By: -1}, name: name,
			exists: !f.Universal && f.Fold == syntax.NoFold}
		c.program.Variables++
		if err := c.resolve(f, b, over); err != nil {
			return nil, err
		}
		c.scope = append(c.scope, b)
		if b.Set == syntax.RowSet {
			b.List = c.program.List(b.known, -1)
		}
		binders = append(binders, b)
	}
	return binders, c.bindMoves(f, binders)
}

// declare checks the name of a new variable.
func (c *compiler) declare(f *syntax.Quantified, name string) error {
	if !syntax.IsName(name) || name == "y" || name == "z" {
		return c.fail(f, "%q cannot be a variable; want a name other than y and z", name)
	}
	if slices.ContainsFunc(c.scope, func(b *binding) bool { return b.name == name }) {
		return c.fail(f, "the variable %s is bound already, want another name", name)
	}
	return nil
}

func (c *compiler) unbind(n int) { c.scope = c.scope[:len(c.scope)-n] }

// resolve determines the domain of a variable.
func (c *compiler) resolve(f *syntax.Quantified, b *binding, over syntax.Formula) (err error) {
	d := f.Domain
	switch d.Set {
	case syntax.RowSet:
		b.known, err = c.mentioned(over, b.name)
	case syntax.ValueSet:
		c.program.NeedsLabels = true
		if b.Factor, err = c.factor(d.Factor, d); err == nil {
			c.program.Leveled[b.Factor] = true
		}
	case syntax.MemberSet:
		err = c.resolveMembers(f, b)
	case syntax.PointSet:
		err = c.fail(f, "%s", wantCentre)
	case syntax.FunctionSet:
		err = c.fail(plainly(f), "a plain = of a function's value has no gradient; want a premetric, such as =[euclidean]")
	}
	return err
}

// resolveMembers makes columns of the constants of a finite set.
func (c *compiler) resolveMembers(f *syntax.Quantified, b *binding) error {
	for i, t := range f.Domain.Members {
		v := syntax.Bare(t)
		width := 0
		switch v := v.(type) {
		case syntax.Number:
		case syntax.Vector:
			width = len(v)
		case syntax.Level:
			width = -1
		default:
			return c.fail(f, "%s is not a constant; want numbers, vectors or names of levels", syntax.TextOf(t))
		}
		if i > 0 && width != b.width {
			return c.fail(f.Domain, "the constants of a set are of different kinds; want numbers, or vectors of one width, or names of levels")
		}
		b.members, b.width = append(b.members, v), width
	}
	if len(b.members) == 0 {
		return c.fail(f, "the set of %s is empty", b.name)
	}
	if b.Members = len(b.members); b.width < 0 {
		return nil
	}
	for k := range max(b.width, 1) {
		numbers := make([]float64, len(b.members))
		for i, m := range b.members {
			l, err := c.linear(m)
			if err != nil {
				return err
			}
			numbers[i] = l.coordinates[k].Offset
		}
		b.columns = append(b.columns, c.program.Constants(numbers))
	}
	return nil
}

// guard attaches each test to the last variable that it mentions, and turns equalities of a factor into groups. It
// returns the tests that mention no variable.
func (c *compiler) guard(binders []*binding, guards []syntax.Formula) (tests []program.Test, err error) {
	for _, g := range guards {
		t, err := c.test(g)
		if err != nil {
			return nil, err
		}
		last := -1
		for k, b := range binders {
			if syntax.Mentions(g, b.name) {
				last = k
			}
		}
		if last < 0 {
			tests = append(tests, t)
			continue
		}
		b := binders[last]
		if e, ok := g.(*syntax.Equality); ok && c.group(b, e) {
			continue
		}
		b.Tests = append(b.Tests, t)
	}
	return tests, nil
}

// domains lists the domains of variables.
func domains(binders []*binding) []*program.Binder {
	all := make([]*program.Binder, len(binders))
	for i, b := range binders {
		all[i] = b.Binder
	}
	return all
}

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
		return c.fail(part.Place, "%s relates only rows of other quantifiers; want a row that this quantifier binds", part.Name)
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
