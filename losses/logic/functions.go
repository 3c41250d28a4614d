package logic

import (
	"slices"

	"github.com/unravel-ml/unravel/factor"
	"github.com/unravel-ml/unravel/internal/geometry"
)

// wantFunction describes the supported quantifiers over functions, for errors.
const wantFunction = "want exists h: z -> y in affine: forall i: ... -> h(z(i)) =[...] y(i), with one equality for each function: " +
	"in affine or linear, forall[mean] or [sum] with =[squared], [absolute] or [euclidean], forall[mean-square] with =[euclidean], " +
	"or forall with =[euclidean] or [squared] (of one column also [absolute]); in isometry, forall[mean] or [sum] with =[squared], or " +
	"[mean-square] with =[euclidean]; from levels, such as m.a: y.a -> z.a, m.a(y.a(i)) with all of these; " +
	"or, behind by least squares, absolute or max, any aggregate with =[euclidean], [squared] or [absolute]"

// mapping is a function in scope.
type mapping struct {
	declaration
	from, to []int
	outer    int // variables bound around
	fit      *fitted
}

// functions compiles `exists h: z -> y in affine: body`. The least quantity of the body is that of its
// parts, as long as they share no function and the body grows with them.
func (c *compiler) functions(f *quantified) (node, error) {
	if f.universal {
		return nil, c.fail(f, "functions stand behind forall, want exists")
	}
	if f.fold != noFold {
		return nil, c.fail(f, "exists[%v] of functions, want exists, which takes the least", f.fold)
	}
	if len(f.domain.functions) == 0 {
		return nil, c.fail(f, "a quantifier without a variable")
	}
	if f.body == nil {
		return nil, c.fail(f, "a formula is nil")
	}
	before := len(c.maps)
	defer func() { c.maps = c.maps[:before] }()
	for _, d := range f.domain.functions {
		m, err := c.mapping(d)
		if err != nil {
			return nil, err
		}
		c.maps = append(c.maps, m)
	}
	own := c.maps[before:]
	if err := c.growing(f.body, own); err != nil {
		return nil, err
	}
	lane, width := c.lane, c.width
	c.lane, c.width = -1, 1
	body, err := c.node(f.body)
	c.lane, c.width = lane, width
	if err != nil {
		return nil, err
	}
	for _, m := range own {
		if m.fit == nil {
			return nil, c.fail(m.declaration, "the function %s is not applied: %s", m.Name, wantFunction)
		}
		c.program.fitted = append(c.program.fitted, m.fit)
	}
	return body, nil
}

// mapping checks a function and finds its columns.
func (c *compiler) mapping(d declaration) (m *mapping, err error) {
	m = &mapping{declaration: d, outer: len(c.scope)}
	switch {
	case !validFunction(d.Name):
		return nil, c.fail(d, "%q cannot be a function; want a name other than y and z, or two with a dot between", d.Name)
	case c.mapped(d.Name) != nil:
		return nil, c.fail(d, "the function %s is bound already, want another name", d.Name)
	case int(d.Class) >= len(classNames()) || int(d.By) >= len(fitNames()):
		return nil, c.fail(d, "unknown class %v or criterion %v of functions", d.Class, d.By)
	}
	if m.from, err = c.columnsOf(d.From.access(d.place)); err != nil {
		return nil, err
	}
	if m.to, err = c.columnsOf(d.To.access(d.place)); err != nil {
		return nil, err
	}
	switch {
	case d.Class == AnyFunction && d.From.Codes:
		return nil, c.fail(d, "%s has no class, which only functions of levels can do without; want in affine, linear, isometry or mlp, or a function such as m.a: y.a -> z.a", d.Name)
	case d.Class == Isometry && len(m.to) < len(m.from):
		return nil, c.fail(d, "there is no isometry of %s into %s; want as many columns or more", plural(len(m.from), "column"), plural(len(m.to), "column"))
	case d.Class == MLP:
		return nil, c.fail(d, "a function in mlp has no exact solution here: %s", wantFunction)
	}
	return m, nil
}

// mapped finds a function by its name; nil if there is none.
func (c *compiler) mapped(name string) *mapping {
	for _, m := range c.maps {
		if m.Name == name {
			return m
		}
	}
	return nil
}

// applies reports whether a formula applies one of the functions.
func applies(f Formula, maps []*mapping) bool {
	return slices.ContainsFunc(applications(f), func(a *application) bool {
		return slices.ContainsFunc(maps, func(m *mapping) bool { return m.Name == a.function })
	})
}

// growing checks that the quantity of a formula grows with those of its parts that apply functions.
func (c *compiler) growing(f Formula, maps []*mapping) error {
	switch f := f.(type) {
	case *connective:
		if f.kind == implication && f.a != nil && applies(f.a, maps) {
			return c.fail(f, "a function is applied left of ->, where less is not better: %s", wantFunction)
		}
		if f.kind != implication && f.a != nil {
			if err := c.growing(f.a, maps); err != nil {
				return err
			}
		}
		if f.b != nil {
			return c.growing(f.b, maps)
		}
	case *negation:
		if f.a != nil && applies(f.a, maps) {
			return c.fail(f, "a function is applied in a negation, where less is not better: %s", wantFunction)
		}
	case *scaled:
		return c.growing(f.a, maps)
	case *quantified:
		if f.body != nil {
			return c.growing(f.body, maps)
		}
	}
	return nil
}

// fitting compiles the aggregate over rows of an equality of a function and a term, or of conjunctions
// of such equalities over which the aggregate distributes.
func (c *compiler) fitting(f *quantified, guards []Formula, rest Formula, over Formula) (node, error) {
	if err := c.checkAggregate(f); err != nil {
		return nil, err
	}
	if f.fold != noFold {
		return nil, c.fail(f, "forall[%v] of a function's values: %s", f.fold, wantFunction)
	}
	switch r := rest.(type) {
	case *scaled:
		if !validWeight(r.weight) {
			return nil, c.fail(r, "a formula is multiplied by %v, want a number of more than 0", r.weight)
		}
		n := &scale{base: c.program.node(1), weight: r.weight}
		if f.aggregate == factor.MeanSquare {
			n.weight *= r.weight
		}
		var err error
		n.body, err = c.fitting(f, guards, r.a, over)
		return n, err
	case *connective:
		and := c.sentence.And
		if r.kind != conjunction || !(and == AndAdd && (f.aggregate == factor.Mean || f.aggregate == factor.Sum) || and == AndMax && f.aggregate == factor.Max) {
			return nil, c.fail(r, "the least quantity under forall[%v] is not that of the parts, joined by %s: %s", f.aggregate, connectiveName(r.kind), wantFunction)
		}
		a, err := c.fitting(f, guards, r.a, over)
		if err != nil {
			return nil, err
		}
		b, err := c.fitting(f, guards, r.b, over)
		return &binary{c.program.node(1), a, b, conjunctions(and)}, err
	case *equality:
		if len(applications(r)) > 0 {
			return c.fitted(f, guards, r, over)
		}
	}
	part := *f
	part.over, part.body = over, rest
	if len(guards) > 0 {
		part.body = &connective{kind: implication, a: allOf(guards), b: rest}
	}
	return c.quantifier(&part)
}

func allOf(guards []Formula) Formula {
	f := guards[0]
	for _, g := range guards[1:] {
		f = &connective{kind: conjunction, a: f, b: g}
	}
	return f
}

func connectiveName(k kind) string { return [...]string{"and", "or", "->"}[k] }

// fitted compiles `forall i: guards -> h(x(i)) =[premetric] t(i)`.
func (c *compiler) fitted(f *quantified, guards []Formula, e *equality, over Formula) (node, error) {
	a, target, err := c.applied(e)
	if err != nil {
		return nil, err
	}
	m := c.mapped(a.function)
	switch {
	case m == nil:
		return nil, c.fail(a, "there is no function %s; want exists %s: ... around it", a.function, a.function)
	case f.domain.set != rowSet:
		return nil, c.fail(f, "a function is fitted to rows: %s", wantFunction)
	case m.fit != nil:
		return nil, c.fail(a, "%s is applied twice, and its quantities are not separate: %s", m.Name, wantFunction)
	}
	n := &fitted{base: c.program.node(1), mapping: m, aggregate: f.aggregate, premetric: e.premetric, state: c.program.fits}
	c.program.fits++
	m.fit = n
	outer := len(c.scope)
	if n.binders, err = c.bind(&quantified{place: f.place, universal: true, domain: f.domain, body: over}); err != nil {
		return nil, err
	}
	defer c.unbind(len(n.binders) + len(f.domain.moves))
	q := quantifier{binders: n.binders}
	if err := c.guard(&q, guards); err != nil {
		return nil, err
	}
	n.tests = q.tests
	if err := c.argument(n, a); err != nil {
		return nil, err
	}
	t, err := c.linear(target)
	if err != nil {
		return nil, err
	}
	if len(t.coordinates) != len(m.to) && !t.number {
		return nil, c.fail(e, "%s has %s and the other term %s, want terms of one width", textOf(a), plural(len(m.to), "column"), plural(len(t.coordinates), "column"))
	}
	for k := range m.to {
		n.target = append(n.target, t.at(k))
	}
	for _, x := range slices.Concat(n.source, n.target) {
		for _, p := range x.parts {
			if len(p.by) > 0 {
				return nil, c.fail(e, "a function's argument or the other term is moved by a transformation: %s", wantFunction)
			}
			n.codes = n.codes || c.program.smooth(p.column)
		}
	}
	if err := c.shared(m, a, guards, c.scope[m.outer:outer]); err != nil {
		return nil, err
	}
	return n, c.choose(n, e)
}

// applied splits an equality into a function's value and the other term.
func (c *compiler) applied(e *equality) (*application, Term, error) {
	a, ok := bare(e.a).(*application)
	other := e.b
	if !ok {
		a, ok = bare(e.b).(*application)
		other = e.a
	}
	if !ok || e.not {
		return nil, nil, c.fail(e, "a function's value is not alone on its side: %s", wantFunction)
	}
	nested := false
	for _, t := range []Term{a.a, other} {
		termsOf(t, func(t Term) {
			if _, ok := t.(*application); ok {
				nested = true
			}
		})
	}
	if nested || other == nil || a.a == nil {
		return nil, nil, c.fail(e, "two functions are applied in one equality: %s", wantFunction)
	}
	return a, other, nil
}

// argument compiles the argument of a function.
func (c *compiler) argument(n *fitted, a *application) error {
	m := n.mapping
	x, isAccess := bare(a.a).(*access)
	if isAccess {
		columns, err := c.columnsOf(x)
		if err != nil {
			return err
		}
		if x.codes != m.From.Codes || !slices.Equal(columns, m.from) {
			return c.fail(a, "%s is a function of %s, got %s", m.Name, textOf(m.From.access(0)), textOf(a.a))
		}
	}
	if m.Class == AnyFunction {
		return c.levels(n, a, x)
	}
	l, err := c.linear(a.a)
	if err != nil {
		return err
	}
	if len(l.coordinates) != len(m.from) {
		return c.fail(a, "%s is a function of %s, got %s of %d", m.Name, plural(len(m.from), "column"), textOf(a.a), len(l.coordinates))
	}
	n.source = l.coordinates
	return nil
}

// levels compiles the argument of a function of levels: factors of a row, or a value.
func (c *compiler) levels(n *fitted, a *application, x *access) error {
	c.program.useLabels()
	n.variable = -1
	if x != nil {
		b, err := c.row(x)
		if err != nil {
			return err
		}
		n.variable = b.id
		for _, f := range n.mapping.from {
			c.program.leveled[f] = true
		}
		return nil
	}
	v, ok := bare(a.a).(Variable)
	if ok {
		b, err := c.lookup(v, a)
		if err != nil {
			return err
		}
		if b.set == valueSet && slices.Equal(n.mapping.from, []int{b.factor}) {
			n.level = b
			return nil
		}
	}
	return c.fail(a, "%s is a function of levels of %s, got %s", n.mapping.Name, textOf(n.mapping.From.access(0)), textOf(a.a))
}

// shared checks that a function is not shared by several fits: the variables between it and its rows
// stand for values that its argument has, or are sought too.
func (c *compiler) shared(m *mapping, a *application, guards []Formula, between []*binding) error {
	for _, b := range between {
		if b.exists {
			continue
		}
		if m.Class == AnyFunction && b.set == valueSet && slices.Contains(m.from, b.factor) && c.pinned(a, guards, b) {
			continue
		}
		return c.fail(a, "%s is one function for all %s, and each of them would need its own: %s", m.Name, b.name, wantFunction)
	}
	return nil
}

// pinned reports whether the argument of a function has the value of a variable.
func (c *compiler) pinned(a *application, guards []Formula, b *binding) bool {
	x, ok := bare(a.a).(*access)
	if !ok {
		return bare(a.a) == Variable(b.name)
	}
	return slices.ContainsFunc(guards, func(g Formula) bool {
		e, ok := g.(*equality)
		if !ok || e.not {
			return false
		}
		for _, sides := range [][2]Term{{e.a, e.b}, {e.b, e.a}} {
			own, ok := bare(sides[0]).(*access)
			if !ok || own.codes || own.row != x.row || bare(sides[1]) != Variable(b.name) {
				continue
			}
			if columns, err := c.columnsOf(own); err == nil && slices.Equal(columns, []int{b.factor}) {
				return true
			}
		}
		return false
	})
}

// choose finds the method of the fit.
func (c *compiler) choose(n *fitted, e *equality) error {
	m, p := n.mapping, n.premetric
	if len(m.to) == 1 && p == Absolute {
		p = Euclidean // of numbers they are the same
	}
	if p != Euclidean && p != Squared && p != Absolute {
		return c.fail(e, "=[%v] of a function's values: %s", n.premetric, wantFunction)
	}
	n.premetric = p
	mean := n.aggregate == factor.Mean || n.aggregate == factor.Sum
	switch {
	case m.By != ByBody:
		n.method = [...]method{ByLeastSquares: fitSquares, ByAbsolute: fitAbsolute, ByMax: fitMax}[m.By]
	case p == Squared && mean, p == Euclidean && n.aggregate == factor.MeanSquare:
		n.method = fitSquares
	case p == Absolute && mean:
		n.method = fitAbsolute
	case p == Euclidean && mean:
		n.method = fitNorms
	case n.aggregate == factor.Max && p != Absolute:
		n.method = fitMax
	default:
		return c.fail(e, "forall[%v] with =[%v] has no exact solution here: %s", n.aggregate, n.premetric, wantFunction)
	}
	if m.Class == Isometry && n.method != fitSquares {
		return c.fail(e, "an isometry by %v with =[%v] has no exact solution here: %s", n.aggregate, n.premetric, wantFunction)
	}
	if joint := n.method == fitMax || n.method == fitNorms; joint && m.Class != AnyFunction && (len(m.from)+1)*len(m.to) >= geometry.MaxJoint {
		return c.fail(e, "a map of %d numbers, want fewer than %d for forall[%v] with =[%v]", (len(m.from)+1)*len(m.to), geometry.MaxJoint, n.aggregate, n.premetric)
	}
	return nil
}
