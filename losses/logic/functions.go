package logic

import (
	"slices"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/internal/geometry"
	"github.com/unravel-ml/unravel/internal/wording"
	"github.com/unravel-ml/unravel/losses/logic/internal/program"
	"github.com/unravel-ml/unravel/losses/logic/syntax"
)

// wantFunction describes the supported quantifiers over functions, for errors.
const wantFunction = "want exists h: z -> y in affine: forall i: ... -> h(z(i)) =[...] y(i), with one equality for each function: " +
	"in affine or linear, forall[mean] or [sum] with =[squared], [absolute] or [euclidean], forall[mean-square] with =[euclidean], " +
	"or forall with =[euclidean] or [squared] (of one column also [absolute]); in isometry, forall[mean] or [sum] with =[squared], or " +
	"[mean-square] with =[euclidean]; from levels, such as m.a: y.a -> z.a, m.a(y.a(i)) with all of these; " +
	"or, behind by least squares, absolute or max, any aggregate with =[euclidean], [squared] or [absolute]"

// wantAlone is the part of wantFunction that says where a function stands.
const wantAlone = "want h(z(i)) alone on one side of one equality, such as h(z(i)) =[squared] y(i), under forall, in no negation and not left of ->"

// mapping is a function in scope.
type mapping struct {
	syntax.Declaration
	from, to []int
	outer    int // variables bound around
	fit      *program.Fit
	network  *program.Network // of MLP
}

// functions compiles `exists h: z -> y in affine: body`. The least quantity of the body consists of its parts' least
// quantities if the parts share no function and the body grows with them.
func (c *compiler) functions(f *syntax.Quantified) (program.Node, error) {
	if f.Universal {
		return nil, c.fail(f, "functions stand behind forall, want exists")
	}
	if f.Fold != syntax.NoFold {
		return nil, c.fail(f, "exists[%v] of functions, want exists, which takes the least", f.Fold)
	}
	if len(f.Domain.Functions) == 0 {
		return nil, c.fail(f, "a quantifier without a variable")
	}
	if f.Body == nil {
		return nil, c.fail(f, "a formula is nil")
	}
	before := len(c.maps)
	defer func() { c.maps = c.maps[:before] }()
	for _, d := range f.Domain.Functions {
		m, err := c.mapping(d)
		if err != nil {
			return nil, err
		}
		c.maps = append(c.maps, m)
	}
	own := c.maps[before:]
	if err := c.networks(f, own); err != nil {
		return nil, err
	}
	if err := c.growing(f.Body, own); err != nil {
		return nil, err
	}
	body, err := c.node(f.Body)
	if err != nil {
		return nil, err
	}
	for _, m := range own {
		if m.network != nil {
			continue
		}
		if m.fit == nil {
			return nil, c.fail(m.Declaration, "the function %s is not applied: %s", m.Name, wantAlone)
		}
		c.program.Fits = append(c.program.Fits, m.fit)
	}
	return body, nil
}

// mapping checks a function and finds its columns.
func (c *compiler) mapping(d syntax.Declaration) (m *mapping, err error) {
	m = &mapping{Declaration: d, outer: len(c.scope)}
	switch {
	case !syntax.ValidFunction(d.Name):
		return nil, c.fail(d, "%q cannot be a function; want a name other than y and z, or two with a dot between", d.Name)
	case c.mapped(d.Name) != nil:
		return nil, c.fail(d, "the function %s is bound already, want another name", d.Name)
	case d.Class > syntax.MLP || d.By > syntax.ByMax:
		return nil, c.fail(d, "unknown class %v or criterion %v of functions", d.Class, d.By)
	}
	if m.from, err = c.columnsOf(d.From.Access(d.FromPlace)); err != nil {
		return nil, err
	}
	if m.to, err = c.columnsOf(d.To.Access(d.ToPlace)); err != nil {
		return nil, err
	}
	switch {
	case d.Class == syntax.AnyFunction && d.From.Codes:
		return nil, c.fail(d, "%s has no class, which only functions of levels can do without; want in affine, linear, isometry or mlp, or a function such as m.a: y.a -> z.a", d.Name)
	case d.Class == syntax.Isometry && len(m.to) < len(m.from):
		return nil, c.fail(d, "there is no isometry of %s into %s; want as many columns or more", wording.Count(len(m.from), "column"), wording.Count(len(m.to), "column"))
	}
	return m, nil
}

// mapped finds a function by its name, or returns nil.
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

// growing checks that the quantity of a formula grows with the quantities of its parts that apply functions.
func (c *compiler) growing(f syntax.Formula, maps []*mapping) error {
	switch f := f.(type) {
	case *syntax.Connective:
		if f.Kind == syntax.ImpliesKind && f.A != nil && applies(f.A, maps) {
			return c.fail(f, "a function is applied left of ->, where less is not better: %s", wantAlone)
		}
		if f.Kind != syntax.ImpliesKind && f.A != nil {
			if err := c.growing(f.A, maps); err != nil {
				return err
			}
		}
		if f.B != nil {
			return c.growing(f.B, maps)
		}
	case *syntax.Negated:
		if f.A != nil && applies(f.A, maps) {
			return c.fail(f, "a function is applied in a negation, where less is not better: %s", wantAlone)
		}
	case *syntax.Scaled:
		return c.growing(f.A, maps)
	case *syntax.Quantified:
		if f.Body != nil {
			return c.growing(f.Body, maps)
		}
	}
	return nil
}

// fitting compiles the aggregate over rows of an equality of a function and a term. It also takes conjunctions of such
// equalities, if the aggregate distributes over the conjunction.
func (c *compiler) fitting(f *syntax.Quantified, guards []syntax.Formula, rest syntax.Formula, over syntax.Formula) (program.Node, error) {
	if err := f.CheckAggregate(); err != nil {
		return nil, c.fail(f, "%v", err)
	}
	if f.Fold != syntax.NoFold {
		return nil, c.fail(f, "forall[%v] of a function's values: %s", f.Fold, wantFunction)
	}
	switch r := rest.(type) {
	case *syntax.Scaled:
		if !syntax.ValidWeight(r.Weight) {
			return nil, c.fail(r, "a formula is multiplied by %v, want a number of more than 0", r.Weight)
		}
		weight := r.Weight
		if f.Aggregate == factor.MeanSquare {
			weight *= weight
		}
		body, err := c.fitting(f, guards, r.A, over)
		return &program.Scaled{Weight: weight, Body: body}, err
	case *syntax.Connective:
		and := c.sentence.And
		if r.Kind != syntax.AndKind || !(and == syntax.AndAdd && (f.Aggregate == factor.Mean ||
			f.Aggregate == factor.Sum) || and == syntax.AndMax && f.Aggregate == factor.Max) {
			return nil, c.fail(r, "the least quantity under forall[%v] differs from the least quantity of the parts, joined by %s: %s", f.Aggregate, r.Kind, wantFunction)
		}
		a, err := c.fitting(f, guards, r.A, over)
		if err != nil {
			return nil, err
		}
		b, err := c.fitting(f, guards, r.B, over)
		return &program.Connective{By: c.sentence.Quantale, A: a, B: b}, err
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

// plainly returns the first application of a function in a crisp quantifier, or the quantifier.
func plainly(f *syntax.Quantified) any {
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
	n := &program.Fit{Function: m.Function, FromColumns: m.from, ToColumns: m.to, Aggregate: f.Aggregate,
		Premetric: e.Premetric, Row: -1}
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
		return nil, c.fail(e, "%s has %s and the other term %s, want terms of one width", syntax.TextOf(a), wording.Count(len(m.to), "column"), wording.Count(len(t.coordinates), "column"))
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
	if len(syntax.Applications(a.A))+len(syntax.Applications(other)) > 0 || other == nil || a.A == nil {
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
		return c.fail(a, "%s is a function of %s, got %s of %d", n.Name, wording.Count(len(n.FromColumns), "column"), syntax.TextOf(a.A), len(l.coordinates))
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
		if m.Class == syntax.AnyFunction && b.Set == syntax.ValueSet && slices.Contains(m.from, b.Factor) && c.pinned(a,
			guards, b) {
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
		n.Method = [...]program.Method{syntax.ByLeastSquares: program.Squares, syntax.ByAbsolute: program.Absolute,
			syntax.ByMax: program.Max}[n.By]
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
	if joint := n.Method == program.Max || n.Method == program.Norms; joint && n.Class != syntax.AnyFunction &&
		(len(n.FromColumns)+1)*len(n.ToColumns) >= geometry.MaxJoint {
		return c.fail(e, "a map of %d numbers, want fewer than %d for forall[%v] with =[%v]", (len(n.FromColumns)+1)*len(n.ToColumns), geometry.MaxJoint, n.Aggregate, n.Premetric)
	}
	return nil
}

// network makes the values of a function in mlp an input. The function is trained along, or fitted to the whole
// sentence. Its quantifier must therefore be a summand of the sentence.
func (c *compiler) network(m *mapping, f *syntax.Quantified) error {
	switch {
	case m.By != syntax.ByBody:
		return c.fail(m.Declaration, "a function in mlp is trained by the quantity itself; want no `by`, or in affine or linear by %v", m.By)
	case !c.isSummand(f, c.sentence.Body):
		return c.fail(f, "a function in mlp is trained by the whole sentence; want its quantifier as a part of a sum by and, with a factor or without")
	}
	for _, n := range c.program.Networks {
		if n.Name == m.Name {
			return c.fail(m.Declaration, "two functions in mlp are called %s, and have parameters of this name; want another name", m.Name)
		}
	}
	if !m.From.Codes {
		c.program.NeedsValues = true
	}
	layers := m.Layers
	if layers == nil {
		layers = defaultLayers
	}
	m.network = &program.Network{Function: m.Function, Layers: layers, Columns: m.from, To: m.to,
		At: c.program.Input(program.Computed, len(m.to))}
	c.program.Networks = append(c.program.Networks, m.network)
	return nil
}

// networkValue compiles the value of a function in mlp at codes or factors of a row.
func (c *compiler) networkValue(a *syntax.Application, m *mapping) (linear, error) {
	x, ok := syntax.Bare(a.A).(*syntax.Access)
	if !ok {
		return linear{}, c.fail(a, "%s in mlp is a function of %s of a row, got %s", m.Name, syntax.TextOf(m.From.Access(0)), syntax.TextOf(a.A))
	}
	row, err := c.row(x)
	if err != nil {
		return linear{}, err
	}
	columns, err := c.columnsOf(x)
	if err != nil {
		return linear{}, err
	}
	if x.Codes != m.From.Codes || !slices.Equal(columns, m.from) {
		return linear{}, c.fail(a, "%s is a function of %s, got %s", m.Name, syntax.TextOf(m.From.Access(0)), syntax.TextOf(a.A))
	}
	var l linear
	for k := range m.to {
		l.add(m.network.At+k, row)
	}
	return l, nil
}

// networks makes inputs of the functions in mlp. A quantifier that mixes functions in mlp with others is an error.
func (c *compiler) networks(f *syntax.Quantified, own []*mapping) error {
	for _, m := range own {
		if m.Class == syntax.MLP {
			if err := c.network(m, f); err != nil {
				return err
			}
		}
	}
	if n := len(c.exact()); n > 0 && n < len(c.maps) {
		return c.fail(f, "functions in mlp and other functions share a quantifier; want a separate quantifier for functions in mlp")
	}
	return nil
}

// exact lists the functions in scope that are fitted by solving a problem rather than by training.
func (c *compiler) exact() []*mapping {
	return slices.DeleteFunc(slices.Clone(c.maps), func(m *mapping) bool { return m.Class == syntax.MLP })
}

// defaultLayers are the hidden layers of a function in mlp without layers.
var defaultLayers = []int{64}
