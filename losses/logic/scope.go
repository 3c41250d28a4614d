package logic

import (
	"maps"
	"math"
	"slices"

	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/internal/numeric"
	"github.com/unravel-ml/unravel/losses/logic/internal/program"
	"github.com/unravel-ml/unravel/losses/logic/internal/syntax"
)

// mentionedFactors lists the factors of a row in a formula. Rows where one is unknown are not in the variable's domain.
func (c *compiler) mentionedFactors(f syntax.Formula, name string) []int {
	var known []int
	syntax.Inspect(f, func(part syntax.Part) bool {
		if a, ok := part.(*syntax.Access); ok && !a.Codes && string(a.Row) == name {
			known = append(known, c.columnsOf(a)...)
		}
		return true
	})
	slices.Sort(known)
	return slices.Compact(known)
}

// groupRows tries to turn an equality of the variable's factor into a group of rows for the variable. The other side is
// a factor of an earlier variable, or a value. It reports whether it succeeded.
func (c *compiler) groupRows(b *binding, e *syntax.Equality) bool {
	if e.Not || b.Set != syntax.RowSet {
		return false
	}
	for _, sides := range [][2]syntax.Term{{e.A, e.B}, {e.B, e.A}} {
		access, ok := syntax.Bare(sides[0]).(*syntax.Access)
		if !ok || access.Codes || string(access.Row) != b.name {
			continue
		}
		factors := c.columnsOf(access)
		var other *binding
		switch t := syntax.Bare(sides[1]).(type) {
		case *syntax.Access:
			if string(t.Row) != b.name {
				other = c.row(t.Row, t)
			}
		case syntax.Variable:
			if v := c.lookup(t, e); v.Set == syntax.ValueSet {
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
	members []syntax.Term // for MemberSet, without positions
	columns []int         // for MemberSet: the columns with the members' numbers
	width   int           // for MemberSet: 0 for numbers, -1 for levels
	known   []int         // for RowSet: factors that must be known, in ascending order
	from    *binding      // for MoveSet: the transformation starts at this row
	to      *binding      // and ends at this row
	exists  bool          // bound by exists
}

func (c *compiler) lookup(v syntax.Variable, part syntax.Part) *binding {
	var names []string
	for _, b := range slices.Backward(c.scope) {
		if b.name == string(v) {
			return b
		}
		names = append(names, b.name)
	}
	if len(names) == 0 {
		panic(c.error(part, "there is no variable %s; want a quantifier that binds it, such as forall %s: ...", v, v))
	}
	panic(c.error(part, "there is no variable %s%s", v, registry.Suggest(string(v), names)))
}

// row finds the variable of a row.
func (c *compiler) row(v syntax.Variable, part syntax.Part) *binding {
	b := c.lookup(v, part)
	if b.Set != syntax.RowSet {
		panic(c.error(part, "%s stands for %s, want a variable that stands for a row", v, b.kind()))
	}
	return b
}

// operand finds a variable that may occur in an equality: a row, a value or a constant.
func (c *compiler) operand(v syntax.Variable, t syntax.Term) *binding {
	b := c.lookup(v, t)
	if b.Set == syntax.MoveSet {
		panic(c.error(t, "%s stands for a transformation; want codes, such as act(%s, z(%s))", v, v, b.from.name))
	}
	return b
}

func (b *binding) kind() string {
	switch b.Set {
	case syntax.ValueSet:
		return "a value of a factor"
	case syntax.MemberSet:
		return "a constant"
	case syntax.MoveSet:
		return "a transformation"
	}
	return "a row"
}

func (c *compiler) factor(name string, part syntax.Part) int {
	i := slices.Index(c.schema.Factors, name)
	if i < 0 {
		panic(c.error(part, "there is no factor %q%s", name, registry.Suggest(name, c.schema.Factors)))
	}
	return i
}

// columnsOf lists the columns of z or y that an access selects.
func (c *compiler) columnsOf(a *syntax.Access) []int {
	all := len(c.schema.Factors)
	if a.Codes {
		all = c.schema.Codes
	}
	switch {
	case a.Name != "" && a.Codes:
		columns, ok := c.schema.SubCodes[a.Name]
		if !ok {
			panic(c.error(a, "there is no sub-code %q%s", a.Name,
				registry.Suggest(a.Name, slices.Sorted(maps.Keys(c.schema.SubCodes)))))
		}
		return columns
	case a.Name != "":
		return []int{c.factor(a.Name, a)}
	case len(a.Columns) > 0:
		var columns []int
		for _, r := range a.Columns {
			if r.Hi > all {
				panic(c.error(a, "columns %d:%d do not exist: the %s have %d columns", r.Lo, r.Hi, syntax.SpaceName(a.Codes), all))
			}
			for i := r.Lo; i < r.Hi; i++ {
				if slices.Contains(columns, i) {
					panic(c.error(a, "column %d is named twice", i))
				}
				columns = append(columns, i)
			}
		}
		return columns
	}
	if all == 0 {
		panic(c.error(a, "there are no %s", syntax.SpaceName(a.Codes)))
	}
	return numeric.UpTo(all)
}

func validNumber(x float64) bool { return math.Abs(x) <= 1e150 }

// bind resolves the variables of a quantifier and adds them to the scope. Rows range over the rows where the factors in
// the formula over are known.
func (c *compiler) bind(f *syntax.Quantified, over syntax.Formula) []*binding {
	d := f.Domain
	if len(d.Names) == 0 {
		panic(c.error(f, "a quantifier without a variable"))
	}
	var binders []*binding
	for _, name := range d.Names {
		c.declare(f, name)
		binder := &program.Binder{Variable: c.program.Variables, Set: d.Set, List: -1, By: -1}
		b := &binding{Binder: binder, name: name, exists: !f.Universal && f.Fold == syntax.NoFold}
		c.program.Variables++
		c.resolve(f, b, over)
		c.scope = append(c.scope, b)
		if b.Set == syntax.RowSet {
			b.List = c.program.List(b.known, -1)
		}
		binders = append(binders, b)
	}
	c.bindMoves(f, binders)
	return binders
}

// declare checks the name of a new variable.
func (c *compiler) declare(f *syntax.Quantified, name string) {
	if slices.ContainsFunc(c.scope, func(b *binding) bool { return b.name == name }) {
		panic(c.error(f, "the variable %s is bound already, want another name", name))
	}
}

func (c *compiler) unbind(n int) { c.scope = c.scope[:len(c.scope)-n] }

// resolve determines the domain of a variable.
func (c *compiler) resolve(f *syntax.Quantified, b *binding, over syntax.Formula) {
	switch f.Domain.Set {
	case syntax.RowSet:
		b.known = c.mentionedFactors(over, b.name)
	case syntax.ValueSet:
		c.program.NeedsLabels = true
		b.Factor = c.factor(f.Domain.Factor, f.Domain)
		c.program.Leveled[b.Factor] = true
	case syntax.MemberSet:
		c.resolveMembers(f.Domain, b)
	case syntax.PointSet:
		panic(c.error(f, "%s", wantCentre))
	case syntax.FunctionSet:
		panic(c.error(application(f),
			"a plain = of a function's value has no gradient; want a premetric, such as =[euclidean]"))
	}
}

// resolveMembers creates columns for the constants of a finite set.
func (c *compiler) resolveMembers(d syntax.Domain, b *binding) {
	for i, t := range d.Members {
		v := syntax.Bare(t)
		width := 0
		switch v := v.(type) {
		case syntax.Vector:
			width = len(v)
		case syntax.Level:
			width = -1
		}
		if i > 0 && width != b.width {
			panic(c.error(d, "the constants of a set are of different kinds; want numbers, or vectors of one width, or names of levels"))
		}
		b.members, b.width = append(b.members, v), width
	}
	if b.Members = len(b.members); b.width < 0 {
		return
	}
	for k := range max(b.width, 1) {
		numbers := make([]float64, len(b.members))
		for i, m := range b.members {
			numbers[i] = c.linear(m).coordinates[k].Offset
		}
		b.columns = append(b.columns, c.program.Constants(numbers))
	}
}

// attachGuards attaches each test to the last variable that it mentions, and turns equalities of a factor into groups.
// It returns the tests that mention no variable.
func (c *compiler) attachGuards(binders []*binding, guards []syntax.Formula) (tests []program.Test) {
	for _, g := range guards {
		t := c.crispTest(g)
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
		if e, ok := g.(*syntax.Equality); ok && c.groupRows(b, e) {
			continue
		}
		b.Tests = append(b.Tests, t)
	}
	return tests
}

func domains(binders []*binding) []*program.Binder {
	all := make([]*program.Binder, len(binders))
	for i, b := range binders {
		all[i] = b.Binder
	}
	return all
}

// bindMoves resolves the transformations of a quantifier: the later row of each stays in the earlier row's group.
func (c *compiler) bindMoves(f *syntax.Quantified, binders []*binding) {
	for _, m := range f.Domain.Moves {
		c.declare(f, m.Name)
		b := &binding{Binder: &program.Binder{Set: syntax.MoveSet}, name: m.Name}
		b.from, b.to = c.row(m.From, m), c.row(m.To, m)
		if b.from == b.to {
			panic(c.error(m, "%s leads from %s to itself; want two rows", m.Name, m.From))
		}
		if len(c.schema.Turns) == 0 {
			panic(c.error(m, "%s(%s, %s): no transformations between images are known; want data with a circular factor or one of rotations, "+
				"and in training a supervision that gives its transformations: pairs, paths or groups", m.Name, m.From, m.To))
		}
		c.relateRows(b, binders, m)
		c.scope = append(c.scope, b)
	}
}

// relateRows makes the later row of a transformation range over the group of the earlier one.
func (c *compiler) relateRows(m *binding, binders []*binding, part syntax.PairMove) {
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
		panic(c.error(part, "%s relates only rows of other quantifiers; want a row that this quantifier binds", part.Name))
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
	for _, b := range binders { // the rows of a list are known before the list itself
		if b.Set == syntax.RowSet {
			b.List = c.program.List(b.known, b.By)
		}
	}
}
