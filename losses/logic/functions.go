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
	from, to       []int
	outerVariables int // number of variables bound outside
	fit            *program.Fit
	network        *program.Network // for MLP
}

// functions compiles `exists h: z -> y in affine: body`. If the parts of the body share no function and the body grows
// with its parts, its minimum follows from the minima of the parts.
func (c *compiler) functions(f *syntax.Quantified) program.Node {
	if f.Fold != syntax.NoFold {
		panic(c.error(f, "exists[%v] of functions, want exists, which takes the minimum", f.Fold))
	}
	outer := len(c.maps)
	defer func() { c.maps = c.maps[:outer] }()
	for _, d := range f.Domain.Functions {
		c.maps = append(c.maps, c.mapping(d))
	}
	bound := c.maps[outer:]
	c.networks(f, bound)
	c.checkMonotone(f.Body, bound)
	body := c.node(f.Body)
	for _, m := range bound {
		if m.network != nil {
			continue
		}
		if m.fit == nil {
			panic(c.error(m, "the function %s is not applied: %s", m.Name, wantAlone))
		}
		c.program.Fits = append(c.program.Fits, m.fit)
	}
	return body
}

// mapping checks a function and finds its columns.
func (c *compiler) mapping(f *syntax.Function) *mapping {
	m := &mapping{Function: f, outerVariables: len(c.scope), from: c.columnsOf(f.From), to: c.columnsOf(f.To)}
	switch {
	case f.Class == syntax.AnyFunction && f.From.Codes:
		panic(c.error(f, "%s has no class, and only functions of levels may omit it; want in affine, linear, isometry or mlp, or a function such as m.a: y.a -> z.a", f.Name))
	case f.Class == syntax.Isometry && len(m.to) < len(m.from):
		panic(c.error(f, "there is no isometry of %s into %s; want as many columns or more",
			wording.Count(len(m.from), "column"), wording.Count(len(m.to), "column")))
	}
	return m
}

func (c *compiler) findMapping(name string) *mapping {
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

// checkMonotone checks that a formula's quantity grows with the quantities of the parts that apply functions.
func (c *compiler) checkMonotone(f syntax.Formula, maps []*mapping) {
	switch f := f.(type) {
	case *syntax.Connective:
		if f.Kind != syntax.ImpliesKind {
			c.checkMonotone(f.A, maps)
		} else if applies(f.A, maps) {
			panic(c.error(f, "a function is applied left of ->, where smaller is not better: %s", wantAlone))
		}
		c.checkMonotone(f.B, maps)
	case *syntax.Negated:
		if applies(f.A, maps) {
			panic(c.error(f, "a function is applied in a negation, where smaller is not better: %s", wantAlone))
		}
	case *syntax.Scaled:
		c.checkMonotone(f.A, maps)
	case *syntax.Quantified:
		c.checkMonotone(f.Body, maps)
	}
}

// fitParts compiles the aggregate over rows of an equality between a function and a term. It also accepts conjunctions
// of such equalities, if the aggregate distributes over the conjunction.
func (c *compiler) fitParts(f *syntax.Quantified, guards []syntax.Formula, rest, over syntax.Formula) program.Node {
	if f.Fold != syntax.NoFold {
		panic(c.error(f, "forall[%v] of a function's values: %s", f.Fold, wantFunction))
	}
	switch r := rest.(type) {
	case *syntax.Scaled:
		weight := r.Weight
		if f.Aggregate == factor.MeanSquare {
			weight *= weight
		}
		return &program.Scaled{Weight: weight, Body: c.fitParts(f, guards, r.A, over)}
	case *syntax.Connective:
		sums := c.sentence.And == syntax.AndAdd && (f.Aggregate == factor.Mean || f.Aggregate == factor.Sum)
		largest := c.sentence.And == syntax.AndMax && f.Aggregate == factor.Max
		if r.Kind != syntax.AndKind || !sums && !largest {
			panic(c.error(r, "the minimum under forall[%v] differs from the minima of the parts, combined by %s: %s",
				f.Aggregate, r.Kind, wantFunction))
		}
		return &program.Connective{By: c.sentence.Quantale, A: c.fitParts(f, guards, r.A, over),
			B: c.fitParts(f, guards, r.B, over)}
	case *syntax.Equality:
		if len(syntax.Applications(r)) > 0 {
			return c.fit(f, guards, r, over)
		}
	}
	part := *f
	part.Body = rest
	if len(guards) > 0 {
		part.Body = &syntax.Connective{Kind: syntax.ImpliesKind, A: conjunction(guards), B: rest}
	}
	return c.quantifier(&part, over)
}

// application returns the first application of a function in a crisp quantifier, or the quantifier itself.
func application(f *syntax.Quantified) syntax.Part {
	if all := syntax.Applications(f.Body); len(all) > 0 {
		return all[0]
	}
	return f
}

func conjunction(guards []syntax.Formula) syntax.Formula {
	f := guards[0]
	for _, g := range guards[1:] {
		f = &syntax.Connective{Kind: syntax.AndKind, A: f, B: g}
	}
	return f
}

// fit compiles `forall i: guards -> h(x(i)) =[premetric] t(i)`.
func (c *compiler) fit(f *syntax.Quantified, guards []syntax.Formula, e *syntax.Equality, over syntax.Formula) program.Node {
	a, target := c.splitApplication(e)
	m := c.findMapping(a.Function)
	switch {
	case f.Domain.Set != syntax.RowSet:
		panic(c.error(f, "a function is fitted to rows: %s", wantFunction))
	case m.fit != nil:
		panic(c.error(a, "%s is applied twice, and its quantities are not separate: %s", m.Name, wantFunction))
	}
	n := &program.Fit{Function: m.Function, Text: syntax.TextOf(f), FromColumns: m.from, ToColumns: m.to,
		Aggregate: f.Aggregate, Premetric: e.Premetric, Row: -1}
	m.fit = n
	outer := len(c.scope)
	binders := c.bind(f, over)
	defer c.unbind(len(binders) + len(f.Domain.Moves))
	n.Binders = domains(binders)
	n.Tests = c.attachGuards(binders, guards)
	c.argument(n, a)
	t := c.linear(target)
	if len(t.coordinates) != len(m.to) && !t.number {
		panic(c.error(e, "%s has %s and the other term %s, want terms of one width",
			syntax.TextOf(a), wording.Count(len(m.to), "column"), wording.Count(len(t.coordinates), "column")))
	}
	for k := range m.to {
		n.Target = append(n.Target, t.at(k))
	}
	for _, x := range slices.Concat(n.Source, n.Target) {
		if slices.ContainsFunc(x.Parts, func(p program.Part) bool { return len(p.By) > 0 }) {
			panic(c.error(e, "a function's argument or the other term is transformed: %s", wantFunction))
		}
	}
	n.Codes = c.program.Varies(n.Source, n.Target)
	c.checkNotShared(m, a, guards, c.scope[m.outerVariables:outer])
	c.chooseMethod(n, e)
	return n
}

// splitApplication splits an equality into the application of a function and the other term.
func (c *compiler) splitApplication(e *syntax.Equality) (*syntax.Application, syntax.Term) {
	a, ok := syntax.Bare(e.A).(*syntax.Application)
	target := e.B
	if !ok {
		a, ok = syntax.Bare(e.B).(*syntax.Application)
		target = e.A
	}
	if !ok || e.Not {
		panic(c.error(e, "a function's value is not alone on its side: %s", wantAlone))
	}
	if len(syntax.Applications(a.A))+len(syntax.Applications(target)) > 0 {
		panic(c.error(e, "two functions are applied in one equality: %s", wantAlone))
	}
	return a, target
}

func (c *compiler) argument(n *program.Fit, a *syntax.Application) {
	x, isAccess := syntax.Bare(a.A).(*syntax.Access)
	if isAccess {
		c.checkDomain(n.Function, n.FromColumns, a, x)
	}
	if n.Class == syntax.AnyFunction {
		c.levelArgument(n, a, x)
		return
	}
	l := c.linear(a.A)
	if len(l.coordinates) != len(n.FromColumns) {
		panic(c.error(a, "%s is a function of %s, got %s of %d", n.Name, wording.Count(len(n.FromColumns), "column"),
			syntax.TextOf(a.A), len(l.coordinates)))
	}
	n.Source = l.coordinates
}

// checkDomain checks that a function is applied to its own columns.
func (c *compiler) checkDomain(f *syntax.Function, from []int, a *syntax.Application, x *syntax.Access) {
	if x.Codes != f.From.Codes || !slices.Equal(c.columnsOf(x), from) {
		panic(c.error(a, "%s is a function of %s, got %s", f.Name, syntax.TextOf(f.From), syntax.TextOf(a.A)))
	}
}

// levelArgument compiles the argument of a function of levels: factors of a row, or a value.
func (c *compiler) levelArgument(n *program.Fit, a *syntax.Application, x *syntax.Access) {
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
	panic(c.error(a, "%s is a function of levels of %s, got %s", n.Name, syntax.TextOf(n.From), syntax.TextOf(a.A)))
}

// checkNotShared rejects a function that several fits would share: every variable between the function and its rows
// must be fixed as a value in its argument, or be another function.
func (c *compiler) checkNotShared(m *mapping, a *syntax.Application, guards []syntax.Formula, between []*binding) {
	for _, b := range between {
		levelArgument := m.Class == syntax.AnyFunction && b.Set == syntax.ValueSet && slices.Contains(m.from, b.Factor)
		if !b.exists && !(levelArgument && c.fixesValue(a, guards, b)) {
			panic(c.error(a, "%s is one function for all %s, and each of them would need its own: %s",
				m.Name, b.name, wantFunction))
		}
	}
}

// fixesValue reports whether the argument of a function fixes the value of a variable.
func (c *compiler) fixesValue(a *syntax.Application, guards []syntax.Formula, b *binding) bool {
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
			access, ok := syntax.Bare(sides[0]).(*syntax.Access)
			if ok && !access.Codes && access.Row == x.Row && syntax.Bare(sides[1]) == syntax.Variable(b.name) &&
				slices.Equal(c.columnsOf(access), []int{b.Factor}) {
				return true
			}
		}
		return false
	})
}

// chooseMethod selects the method of the fit.
func (c *compiler) chooseMethod(n *program.Fit, e *syntax.Equality) {
	p := n.Premetric
	if len(n.ToColumns) == 1 && p == syntax.Absolute {
		p = syntax.Euclidean // for single numbers they are equal
	}
	if p != syntax.Euclidean && p != syntax.Squared && p != syntax.Absolute {
		panic(c.error(e, "=[%v] of a function's values: %s", n.Premetric, wantFunction))
	}
	n.Premetric = p
	method, ok := exactMethod(n.Aggregate, p)
	n.Method = method
	switch {
	case n.By != syntax.ByBody:
		n.Method = [...]program.Method{syntax.ByLeastSquares: program.Squares, syntax.ByAbsolute: program.Absolute,
			syntax.ByMax: program.Max}[n.By]
	case !ok:
		panic(c.error(e, "forall[%v] with =[%v] has no exact solution here: %s", n.Aggregate, n.Premetric, wantFunction))
	}
	if n.Class == syntax.Isometry && n.Method != program.Squares {
		panic(c.error(e, "an isometry by %v with =[%v] has no exact solution here: %s",
			n.Aggregate, n.Premetric, wantFunction))
	}
	joint := n.Class != syntax.AnyFunction && (n.Method == program.Max || n.Method == program.Norms)
	if numbers := (len(n.FromColumns) + 1) * len(n.ToColumns); joint && numbers >= geometry.MaxJoint {
		panic(c.error(e, "a map of %d numbers, want fewer than %d for forall[%v] with =[%v]",
			numbers, geometry.MaxJoint, n.Aggregate, n.Premetric))
	}
}

// network makes the values of a function in mlp an input of the program. The function is trained together with the
// model, or fitted to the whole sentence. Its quantifier must therefore be a summand of the sentence.
func (c *compiler) network(m *mapping, f *syntax.Quantified) {
	switch {
	case m.By != syntax.ByBody:
		panic(c.error(m, "a function in mlp is trained by the quantity itself; want no `by`, or in affine or linear by %v",
			m.By))
	case !c.isSummand(f, c.sentence.Body):
		panic(c.error(f, "a function in mlp is trained by the whole sentence; want its quantifier as a summand (an operand of and), with or without a factor"))
	}
	for _, n := range c.program.Networks {
		if n.Name == m.Name {
			panic(c.error(m, "two functions in mlp are called %s, and have parameters of this name; want another name", m.Name))
		}
	}
	if !m.From.Codes {
		c.program.NeedsValues = true
	}
	layers := m.Layers
	if layers == nil {
		layers = []int{64}
	}
	column := c.program.Input(program.Computed, len(m.to))
	m.network = &program.Network{Function: m.Function, Layers: layers, Columns: m.from, To: m.to, At: column}
	c.program.Networks = append(c.program.Networks, m.network)
}

// networkValue compiles the value of a function in mlp at codes or factors of a row.
func (c *compiler) networkValue(a *syntax.Application, m *mapping) linear {
	x, ok := syntax.Bare(a.A).(*syntax.Access)
	if !ok {
		panic(c.error(a, "%s in mlp is a function of %s of a row, got %s", m.Name, syntax.TextOf(m.From), syntax.TextOf(a.A)))
	}
	row := c.row(x.Row, x)
	c.checkDomain(m.Function, m.from, a, x)
	var l linear
	for k := range m.to {
		l.add(m.network.At+k, row)
	}
	return l
}

// networks makes inputs for the functions in mlp. A quantifier over these and other functions is an error.
func (c *compiler) networks(f *syntax.Quantified, bound []*mapping) {
	for _, m := range bound {
		if m.Class == syntax.MLP {
			c.network(m, f)
		}
	}
	if n := len(c.fittedFunctions()); n > 0 && n < len(c.maps) {
		panic(c.error(f, "functions in mlp and other functions share a quantifier; want a separate quantifier for functions in mlp"))
	}
}

// fittedFunctions lists the functions in scope that are fitted by solving a problem instead of by training.
func (c *compiler) fittedFunctions() []*mapping {
	return slices.DeleteFunc(slices.Clone(c.maps), func(m *mapping) bool { return m.Class == syntax.MLP })
}
