package logic

import (
	"github.com/unravel-ml/unravel/losses/logic/internal/program"
	"slices"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/internal/geometry"
	"github.com/unravel-ml/unravel/losses/logic/syntax"
)

// fitted compiles `forall i: guards -> h(x(i)) =[premetric] t(i)`.
func (c *compiler) fitted(f *syntax.Quantified, guards []syntax.Formula, e *syntax.Equality, over syntax.Formula) (program.Node, error) {
	a, target, err := c.applied(e)
	if err != nil {
		return nil, err
	}
	m := c.mapped(a.Function)
	switch {
	case m == nil:
		return nil, c.fail(a, "there is no function %s; want exists %s: ... around it", a.Function, a.Function)
	case f.Domain.Set != syntax.RowSet:
		return nil, c.fail(f, "a function is fitted to rows: %s", wantFunction)
	case m.fit != nil:
		return nil, c.fail(a, "%s is applied twice, and its quantities are not separate: %s", m.Name, wantFunction)
	}
	n := &program.Fit{Function: m.Function, FromColumns: m.from, ToColumns: m.to, Aggregate: f.Aggregate, Premetric: e.Premetric, Row: -1}
	m.fit = n
	outer := len(c.scope)
	binders, err := c.bind(f, over)
	if err != nil {
		return nil, err
	}
	defer c.unbind(len(binders) + len(f.Domain.Moves))
	n.Binders = domains(binders)
	if n.Tests, err = c.guard(binders, guards); err != nil {
		return nil, err
	}
	if err := c.argument(n, a); err != nil {
		return nil, err
	}
	t, err := c.linear(target)
	if err != nil {
		return nil, err
	}
	if len(t.coordinates) != len(m.to) && !t.number {
		return nil, c.fail(e, "%s has %s and the other term %s, want terms of one width", syntax.TextOf(a), plural(len(m.to), "column"), plural(len(t.coordinates), "column"))
	}
	for k := range m.to {
		n.Target = append(n.Target, t.at(k))
	}
	for _, x := range slices.Concat(n.Source, n.Target) {
		if slices.ContainsFunc(x.Parts, func(p program.Part) bool { return len(p.By) > 0 }) {
			return nil, c.fail(e, "a function's argument or the other term is moved by a transformation: %s", wantFunction)
		}
	}
	n.Codes = c.program.Varies(n.Source, n.Target)
	if err := c.shared(m, a, guards, c.scope[m.outer:outer]); err != nil {
		return nil, err
	}
	return n, c.choose(n, e)
}

// applied splits an equality into a function's value and the other term.
func (c *compiler) applied(e *syntax.Equality) (*syntax.Application, syntax.Term, error) {
	a, ok := syntax.Bare(e.A).(*syntax.Application)
	other := e.B
	if !ok {
		a, ok = syntax.Bare(e.B).(*syntax.Application)
		other = e.A
	}
	if !ok || e.Not {
		return nil, nil, c.fail(e, "a function's value is not alone on its side: %s", wantAlone)
	}
	nested := false
	for _, t := range []syntax.Term{a.A, other} {
		syntax.TermsOf(t, func(t syntax.Term) {
			if _, ok := t.(*syntax.Application); ok {
				nested = true
			}
		})
	}
	if nested || other == nil || a.A == nil {
		return nil, nil, c.fail(e, "two functions are applied in one equality: %s", wantAlone)
	}
	return a, other, nil
}

// argument compiles the argument of a function.
func (c *compiler) argument(n *program.Fit, a *syntax.Application) error {
	x, isAccess := syntax.Bare(a.A).(*syntax.Access)
	if isAccess {
		columns, err := c.columnsOf(x)
		if err != nil {
			return err
		}
		if x.Codes != n.From.Codes || !slices.Equal(columns, n.FromColumns) {
			return c.fail(a, "%s is a function of %s, got %s", n.Name, syntax.TextOf(n.From.Access(0)), syntax.TextOf(a.A))
		}
	}
	if n.Class == syntax.AnyFunction {
		return c.levels(n, a, x)
	}
	l, err := c.linear(a.A)
	if err != nil {
		return err
	}
	if len(l.coordinates) != len(n.FromColumns) {
		return c.fail(a, "%s is a function of %s, got %s of %d", n.Name, plural(len(n.FromColumns), "column"), syntax.TextOf(a.A), len(l.coordinates))
	}
	n.Source = l.coordinates
	return nil
}

// levels compiles the argument of a function of levels: factors of a row, or a value.
func (c *compiler) levels(n *program.Fit, a *syntax.Application, x *syntax.Access) error {
	c.program.NeedsLabels = true
	if x != nil {
		b, err := c.row(x)
		if err != nil {
			return err
		}
		n.Row = b.Variable
		for _, f := range n.FromColumns {
			c.program.Leveled[f] = true
		}
		return nil
	}
	v, ok := syntax.Bare(a.A).(syntax.Variable)
	if ok {
		b, err := c.lookup(v, a)
		if err != nil {
			return err
		}
		if b.Set == syntax.ValueSet && slices.Equal(n.FromColumns, []int{b.Factor}) {
			n.Level = b.Binder
			return nil
		}
	}
	return c.fail(a, "%s is a function of levels of %s, got %s", n.Name, syntax.TextOf(n.From.Access(0)), syntax.TextOf(a.A))
}

// shared rejects a function that several fits share: the variables between it and its rows must stand for values in its
// argument, or be sought too.
func (c *compiler) shared(m *mapping, a *syntax.Application, guards []syntax.Formula, between []*binding) error {
	for _, b := range between {
		if b.exists {
			continue
		}
		if m.Class == syntax.AnyFunction && b.Set == syntax.ValueSet && slices.Contains(m.from, b.Factor) && c.pinned(a, guards, b) {
			continue
		}
		return c.fail(a, "%s is one function for all %s, and each of them would need its own: %s", m.Name, b.name, wantFunction)
	}
	return nil
}

// pinned reports whether the argument of a function has the value of a variable.
func (c *compiler) pinned(a *syntax.Application, guards []syntax.Formula, b *binding) bool {
	x, ok := syntax.Bare(a.A).(*syntax.Access)
	if !ok {
		return syntax.Bare(a.A) == syntax.Variable(b.name)
	}
	return slices.ContainsFunc(guards, func(g syntax.Formula) bool {
		e, ok := g.(*syntax.Equality)
		if !ok || e.Not {
			return false
		}
		for _, sides := range [][2]syntax.Term{{e.A, e.B}, {e.B, e.A}} {
			own, ok := syntax.Bare(sides[0]).(*syntax.Access)
			if !ok || own.Codes || own.Row != x.Row || syntax.Bare(sides[1]) != syntax.Variable(b.name) {
				continue
			}
			if columns, err := c.columnsOf(own); err == nil && slices.Equal(columns, []int{b.Factor}) {
				return true
			}
		}
		return false
	})
}

// choose finds the method of the fit.
func (c *compiler) choose(n *program.Fit, e *syntax.Equality) error {
	p := n.Premetric
	if len(n.ToColumns) == 1 && p == syntax.Absolute {
		p = syntax.Euclidean // for numbers they are the same
	}
	if p != syntax.Euclidean && p != syntax.Squared && p != syntax.Absolute {
		return c.fail(e, "=[%v] of a function's values: %s", n.Premetric, wantFunction)
	}
	n.Premetric = p
	mean := n.Aggregate == factor.Mean || n.Aggregate == factor.Sum
	switch {
	case n.By != syntax.ByBody:
		n.Method = [...]program.Method{syntax.ByLeastSquares: program.Squares, syntax.ByAbsolute: program.Absolute, syntax.ByMax: program.Max}[n.By]
	case p == syntax.Squared && mean, p == syntax.Euclidean && n.Aggregate == factor.MeanSquare:
		n.Method = program.Squares
	case p == syntax.Absolute && mean:
		n.Method = program.Absolute
	case p == syntax.Euclidean && mean:
		n.Method = program.Norms
	case n.Aggregate == factor.Max && p != syntax.Absolute:
		n.Method = program.Max
	default:
		return c.fail(e, "forall[%v] with =[%v] has no exact solution here: %s", n.Aggregate, n.Premetric, wantFunction)
	}
	if n.Class == syntax.Isometry && n.Method != program.Squares {
		return c.fail(e, "an isometry by %v with =[%v] has no exact solution here: %s", n.Aggregate, n.Premetric, wantFunction)
	}
	if joint := n.Method == program.Max || n.Method == program.Norms; joint && n.Class != syntax.AnyFunction && (len(n.FromColumns)+1)*len(n.ToColumns) >= geometry.MaxJoint {
		return c.fail(e, "a map of %d numbers, want fewer than %d for forall[%v] with =[%v]", (len(n.FromColumns)+1)*len(n.ToColumns), geometry.MaxJoint, n.Aggregate, n.Premetric)
	}
	return nil
}
