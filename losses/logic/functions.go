package logic

import (
	"slices"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/internal/geometry"
	"github.com/unravel-ml/unravel/internal/wording"
	"github.com/unravel-ml/unravel/losses/logic/internal/program"
	"github.com/unravel-ml/unravel/losses/logic/internal/syntax"
)

// wantFunction describes the supported quantifiers over functions, for error messages.
const wantFunction = "want exists h: z -> y in affine: forall i: ... -> h(z(i)) =[...] y(i), with one equality for each function: " +
	"in affine or linear, forall[mean] or [sum] with =[squared], [absolute] or [euclidean], forall[mean-square] with =[euclidean], " +
	"or forall with =[euclidean] or [squared] (of one column also [absolute]); in isometry, forall[mean] or [sum] with =[squared], or " +
	"[mean-square] with =[euclidean]; from levels, such as m.a: y.a -> z.a, m.a(y.a(i)) with all of these; " +
	"or, behind by least squares, absolute or max, any aggregate with =[euclidean], [squared] or [absolute]"

// wantAlone is the part of wantFunction that says where a function may be used.
const wantAlone = "want h(z(i)) alone on one side of one equality, such as h(z(i)) =[squared] y(i), under forall, in no negation and not left of ->"

// mapping is a function in scope.
type mapping struct {
	*syntax.Function
	from, to []int
	outer    int // number of variables bound outside
	fit      *program.Fit
	network  *program.Network // for MLP
}

// functions compiles `exists h: z -> y in affine: body`. If the parts of the body share no function and the body grows
// with its parts, its minimum follows from the minima of the parts.
func (c *compiler) functions(f *syntax.Quantified) program.Node {
	if f.Fold != syntax.NoFold {
		panic(c.wrong(f, "exists[%v] of functions, want exists, which takes the minimum", f.Fold))
	}
	before := len(c.maps)
	defer func() { c.maps = c.maps[:before] }()
	for _, d := range f.Domain.Functions {
		c.maps = append(c.maps, c.mapping(d))
	}
	own := c.maps[before:]
	c.networks(f, own)
	c.growing(f.Body, own)
	body := c.node(f.Body)
	for _, m := range own {
		if m.network != nil {
			continue
		}
		if m.fit == nil {
			panic(c.wrong(m, "the function %s is not applied: %s", m.Name, wantAlone))
		}
		c.program.Fits = append(c.program.Fits, m.fit)
	}
	return body
}

// mapping checks a function and finds its columns.
func (c *compiler) mapping(f *syntax.Function) *mapping {
	m := &mapping{Function: f, outer: len(c.scope), from: c.columnsOf(f.From), to: c.columnsOf(f.To)}
	switch {
	case f.Class == syntax.AnyFunction && f.From.Codes:
		panic(c.wrong(f, "%s has no class, and only functions of levels may omit it; want in affine, linear, isometry or mlp, or a function such as m.a: y.a -> z.a", f.Name))
	case f.Class == syntax.Isometry && len(m.to) < len(m.from):
		panic(c.wrong(f, "there is no isometry of %s into %s; want as many columns or more", wording.Count(len(m.from), "column"), wording.Count(len(m.to), "column")))
	}
	return m
}

func (c *compiler) mapped(name string) *mapping {
	for _, m := range c.maps {
		if m.Name == name {
			return m
		}
	}
	return nil
}

// applies reports whether a formula applies any of the functions.
func applies(f syntax.Formula, maps []*mapping) bool {
	return slices.ContainsFunc(syntax.Applications(f), func(a *syntax.Application) bool {
		return slices.ContainsFunc(maps, func(m *mapping) bool { return m.Name == a.Function })
	})
}

// growing checks that a formula's quantity grows with the quantities of the parts that apply functions.
func (c *compiler) growing(f syntax.Formula, maps []*mapping) {
	switch f := f.(type) {
	case *syntax.Connective:
		if f.Kind != syntax.ImpliesKind {
			c.growing(f.A, maps)
		} else if applies(f.A, maps) {
			panic(c.wrong(f, "a function is applied left of ->, where smaller is not better: %s", wantAlone))
		}
		c.growing(f.B, maps)
	case *syntax.Negated:
		if applies(f.A, maps) {
			panic(c.wrong(f, "a function is applied in a negation, where smaller is not better: %s", wantAlone))
		}
	case *syntax.Scaled:
		c.growing(f.A, maps)
	case *syntax.Quantified:
		c.growing(f.Body, maps)
	}
}

// fitting compiles the aggregate over rows of an equality between a function and a term. It also accepts conjunctions
// of such equalities, if the aggregate distributes over the conjunction.
func (c *compiler) fitting(f *syntax.Quantified, guards []syntax.Formula, rest, over syntax.Formula) program.Node {
	if f.Fold != syntax.NoFold {
		panic(c.wrong(f, "forall[%v] of a function's values: %s", f.Fold, wantFunction))
	}
	switch r := rest.(type) {
	case *syntax.Scaled:
		weight := r.Weight
		if f.Aggregate == factor.MeanSquare {
			weight *= weight
		}
		return &program.Scaled{Weight: weight, Body: c.fitting(f, guards, r.A, over)}
	case *syntax.Connective:
		adds := c.sentence.And == syntax.AndAdd && (f.Aggregate == factor.Mean || f.Aggregate == factor.Sum)
		largest := c.sentence.And == syntax.AndMax && f.Aggregate == factor.Max
		if r.Kind != syntax.AndKind || !adds && !largest {
			panic(c.wrong(r, "the minimum under forall[%v] differs from the minima of the parts, combined by %s: %s", f.Aggregate, r.Kind, wantFunction))
		}
		return &program.Connective{By: c.sentence.Quantale, A: c.fitting(f, guards, r.A, over), B: c.fitting(f, guards, r.B, over)}
	case *syntax.Equality:
		if len(syntax.Applications(r)) > 0 {
			return c.fitted(f, guards, r, over)
		}
	}
	part := *f
	part.Body = rest
	if len(guards) > 0 {
		part.Body = &syntax.Connective{Kind: syntax.ImpliesKind, A: allOf(guards), B: rest}
	}
	return c.quantifier(&part, over)
}

// plainly returns the first application of a function in a crisp quantifier, or the quantifier itself.
func plainly(f *syntax.Quantified) syntax.Part {
	if all := syntax.Applications(f.Body); len(all) > 0 {
		return all[0]
	}
	return f
}

func allOf(guards []syntax.Formula) syntax.Formula {
	f := guards[0]
	for _, g := range guards[1:] {
		f = &syntax.Connective{Kind: syntax.AndKind, A: f, B: g}
	}
	return f
}

// fitted compiles `forall i: guards -> h(x(i)) =[premetric] t(i)`.
func (c *compiler) fitted(f *syntax.Quantified, guards []syntax.Formula, e *syntax.Equality, over syntax.Formula) program.Node {
	a, target := c.applied(e)
	m := c.mapped(a.Function)
	switch {
	case f.Domain.Set != syntax.RowSet:
		panic(c.wrong(f, "a function is fitted to rows: %s", wantFunction))
	case m.fit != nil:
		panic(c.wrong(a, "%s is applied twice, and its quantities are not separate: %s", m.Name, wantFunction))
	}
	n := &program.Fit{Function: m.Function, FromColumns: m.from, ToColumns: m.to, Aggregate: f.Aggregate, Premetric: e.Premetric, Row: -1}
	m.fit = n
	outer := len(c.scope)
	binders := c.bind(f, over)
	defer c.unbind(len(binders) + len(f.Domain.Moves))
	n.Binders = domains(binders)
	n.Tests = c.guard(binders, guards)
	c.argument(n, a)
	t := c.linear(target)
	if len(t.coordinates) != len(m.to) && !t.number {
		panic(c.wrong(e, "%s has %s and the other term %s, want terms of one width", syntax.TextOf(a), wording.Count(len(m.to), "column"), wording.Count(len(t.coordinates), "column")))
	}
	for k := range m.to {
		n.Target = append(n.Target, t.at(k))
	}
	for _, x := range slices.Concat(n.Source, n.Target) {
		if slices.ContainsFunc(x.Parts, func(p program.Part) bool { return len(p.By) > 0 }) {
			panic(c.wrong(e, "a function's argument or the other term is transformed: %s", wantFunction))
		}
	}
	n.Codes = c.program.Varies(n.Source, n.Target)
	c.shared(m, a, guards, c.scope[m.outer:outer])
	c.choose(n, e)
	return n
}

// applied splits an equality into the application of a function and the other term.
func (c *compiler) applied(e *syntax.Equality) (*syntax.Application, syntax.Term) {
	a, ok := syntax.Bare(e.A).(*syntax.Application)
	other := e.B
	if !ok {
		a, ok = syntax.Bare(e.B).(*syntax.Application)
		other = e.A
	}
	if !ok || e.Not {
		panic(c.wrong(e, "a function's value is not alone on its side: %s", wantAlone))
	}
	if len(syntax.Applications(a.A))+len(syntax.Applications(other)) > 0 {
		panic(c.wrong(e, "two functions are applied in one equality: %s", wantAlone))
	}
	return a, other
}

func (c *compiler) argument(n *program.Fit, a *syntax.Application) {
	x, isAccess := syntax.Bare(a.A).(*syntax.Access)
	if isAccess {
		c.domainOf(n.Function, n.FromColumns, a, x)
	}
	if n.Class == syntax.AnyFunction {
		c.levels(n, a, x)
		return
	}
	l := c.linear(a.A)
	if len(l.coordinates) != len(n.FromColumns) {
		panic(c.wrong(a, "%s is a function of %s, got %s of %d", n.Name, wording.Count(len(n.FromColumns), "column"), syntax.TextOf(a.A), len(l.coordinates)))
	}
	n.Source = l.coordinates
}

// domainOf checks that a function is applied to its own columns.
func (c *compiler) domainOf(f *syntax.Function, from []int, a *syntax.Application, x *syntax.Access) {
	if x.Codes != f.From.Codes || !slices.Equal(c.columnsOf(x), from) {
		panic(c.wrong(a, "%s is a function of %s, got %s", f.Name, syntax.TextOf(f.From), syntax.TextOf(a.A)))
	}
}

// levels compiles the argument of a function of levels: factors of a row, or a value.
func (c *compiler) levels(n *program.Fit, a *syntax.Application, x *syntax.Access) {
	c.program.NeedsLabels = true
	if x != nil {
		n.Row = c.row(x.Row, x).Variable
		for _, f := range n.FromColumns {
			c.program.Leveled[f] = true
		}
		return
	}
	if v, ok := syntax.Bare(a.A).(syntax.Variable); ok {
		if b := c.lookup(v, a); b.Set == syntax.ValueSet && slices.Equal(n.FromColumns, []int{b.Factor}) {
			n.Level = b.Binder
			return
		}
	}
	panic(c.wrong(a, "%s is a function of levels of %s, got %s", n.Name, syntax.TextOf(n.From), syntax.TextOf(a.A)))
}

// shared rejects a function that several fits would share: every variable between the function and its rows must be
// fixed as a value in its argument, or be another function.
func (c *compiler) shared(m *mapping, a *syntax.Application, guards []syntax.Formula, between []*binding) {
	for _, b := range between {
		ofLevel := m.Class == syntax.AnyFunction && b.Set == syntax.ValueSet && slices.Contains(m.from, b.Factor)
		if !b.exists && !(ofLevel && c.pinned(a, guards, b)) {
			panic(c.wrong(a, "%s is one function for all %s, and each of them would need its own: %s", m.Name, b.name, wantFunction))
		}
	}
}

// pinned reports whether the argument of a function fixes the value of a variable.
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
			if ok && !own.Codes && own.Row == x.Row && syntax.Bare(sides[1]) == syntax.Variable(b.name) &&
				slices.Equal(c.columnsOf(own), []int{b.Factor}) {
				return true
			}
		}
		return false
	})
}

// choose selects the method of the fit.
func (c *compiler) choose(n *program.Fit, e *syntax.Equality) {
	p := n.Premetric
	if len(n.ToColumns) == 1 && p == syntax.Absolute {
		p = syntax.Euclidean // for single numbers they are equal
	}
	if p != syntax.Euclidean && p != syntax.Squared && p != syntax.Absolute {
		panic(c.wrong(e, "=[%v] of a function's values: %s", n.Premetric, wantFunction))
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
		panic(c.wrong(e, "forall[%v] with =[%v] has no exact solution here: %s", n.Aggregate, n.Premetric, wantFunction))
	}
	if n.Class == syntax.Isometry && n.Method != program.Squares {
		panic(c.wrong(e, "an isometry by %v with =[%v] has no exact solution here: %s", n.Aggregate, n.Premetric, wantFunction))
	}
	joint := n.Class != syntax.AnyFunction && (n.Method == program.Max || n.Method == program.Norms)
	if numbers := (len(n.FromColumns) + 1) * len(n.ToColumns); joint && numbers >= geometry.MaxJoint {
		panic(c.wrong(e, "a map of %d numbers, want fewer than %d for forall[%v] with =[%v]", numbers, geometry.MaxJoint, n.Aggregate, n.Premetric))
	}
}

// network makes the values of a function in mlp an input of the program. The function is trained together with the
// model, or fitted to the whole sentence. Its quantifier must therefore be a summand of the sentence.
func (c *compiler) network(m *mapping, f *syntax.Quantified) {
	switch {
	case m.By != syntax.ByBody:
		panic(c.wrong(m, "a function in mlp is trained by the quantity itself; want no `by`, or in affine or linear by %v", m.By))
	case !c.isSummand(f, c.sentence.Body):
		panic(c.wrong(f, "a function in mlp is trained by the whole sentence; want its quantifier as a summand (an operand of and), with or without a factor"))
	}
	for _, n := range c.program.Networks {
		if n.Name == m.Name {
			panic(c.wrong(m, "two functions in mlp are called %s, and have parameters of this name; want another name", m.Name))
		}
	}
	if !m.From.Codes {
		c.program.NeedsValues = true
	}
	layers := m.Layers
	if layers == nil {
		layers = []int{64}
	}
	at := c.program.Input(program.Computed, len(m.to))
	m.network = &program.Network{Function: m.Function, Layers: layers, Columns: m.from, To: m.to, At: at}
	c.program.Networks = append(c.program.Networks, m.network)
}

// networkValue compiles the value of a function in mlp at codes or factors of a row.
func (c *compiler) networkValue(a *syntax.Application, m *mapping) linear {
	x, ok := syntax.Bare(a.A).(*syntax.Access)
	if !ok {
		panic(c.wrong(a, "%s in mlp is a function of %s of a row, got %s", m.Name, syntax.TextOf(m.From), syntax.TextOf(a.A)))
	}
	row := c.row(x.Row, x)
	c.domainOf(m.Function, m.from, a, x)
	var l linear
	for k := range m.to {
		l.add(m.network.At+k, row)
	}
	return l
}

// networks makes inputs for the functions in mlp. A quantifier over these and other functions is an error.
func (c *compiler) networks(f *syntax.Quantified, own []*mapping) {
	for _, m := range own {
		if m.Class == syntax.MLP {
			c.network(m, f)
		}
	}
	if n := len(c.exact()); n > 0 && n < len(c.maps) {
		panic(c.wrong(f, "functions in mlp and other functions share a quantifier; want a separate quantifier for functions in mlp"))
	}
}

// exact lists the functions in scope that are fitted by solving a problem instead of by training.
func (c *compiler) exact() []*mapping {
	return slices.DeleteFunc(slices.Clone(c.maps), func(m *mapping) bool { return m.Class == syntax.MLP })
}
