package logic

import (
	"slices"

	"github.com/unravel-ml/unravel/losses/logic/syntax"
)

// node is a compiled part of a sentence. It computes quantities of one tuple of rows, or of many tuples that differ in
// the innermost variable.
type node interface {
	number() int

	// value returns the quantities of the evaluator's first n tuples. They are valid until the node computes again.
	value(m *evaluator, n int) []float64

	// gradient adds to the evaluator's gradients of the codes, given the gradients g of the quantities. The last call
	// of value must have had the same tuples. It does not change g.
	gradient(m *evaluator, n int, g []float64)

	// smooth reports whether the node has a gradient in the codes.
	smooth() bool

	// cost bounds the number of computed tuples.
	cost(e *engine) float64
}

type base struct{ id int }

func (b base) number() int { return b.id }

func (c *compiler) node(f syntax.Formula) (node, error) {
	if f == nil {
		return nil, c.fail(nil, "a formula is nil")
	}
	if syntax.IsCrisp(f) {
		t, err := c.test(f)
		return &indicator{c.program.node(c.width), t, c.lane}, err
	}
	switch f := f.(type) {
	case *syntax.Equality:
		return c.atom(f)
	case *syntax.Connective:
		return c.connective(f)
	case *syntax.Negated:
		a, err := c.node(f.A)
		if err != nil {
			return nil, err
		}
		if c.sentence.Not == syntax.NotStrict && a.smooth() {
			return nil, c.fail(f.A, "not = strict jumps where %s goes to 0; "+wantIsolated+", or not = complement", syntax.TextOf(f.A))
		}
		return &unary{c.program.node(c.width), a, negations(c.sentence.Not)}, nil
	case *syntax.Independence:
		return c.independence(f)
	case *syntax.Scaled:
		if !syntax.ValidWeight(f.Weight) {
			return nil, c.fail(f, "a formula is multiplied by %v, want a number of more than 0", f.Weight)
		}
		a, err := c.node(f.A)
		return &scale{c.program.node(c.width), a, f.Weight}, err
	case *syntax.Quantified:
		switch {
		case f.Domain.Set == syntax.FunctionSet:
			return c.functions(f)
		case f.Domain.Set == syntax.PointSet && !f.Universal:
			return c.centre(f)
		}
		return c.quantifier(f, f.Body)
	}
	return nil, c.fail(f, "%T is not a formula of this package", f)
}

// wantIsolated describes what strict operations can have, for errors.
const wantIsolated = "want what does not vary with the codes: crisp equalities, =[discrete], values of factors, and what connectives and quantifiers make of them"

func (c *compiler) connective(f *syntax.Connective) (node, error) {
	if f.A == nil || f.B == nil {
		return nil, c.fail(f, "a formula is nil")
	}
	if f.Kind == syntax.ImpliesKind && syntax.IsCrisp(f.A) {
		t, err := c.test(f.A)
		if err != nil {
			return nil, err
		}
		b, err := c.node(f.B)
		return &guarded{c.program.node(c.width), t, c.lane, b}, err
	}
	a, err := c.node(f.A)
	if err != nil {
		return nil, err
	}
	if f.Kind == syntax.ImpliesKind && c.sentence.Implies == syntax.ImpliesStrict && a.smooth() {
		return nil, c.fail(f.A, "-> = strict jumps where %s goes to 0; "+wantIsolated+", or -> = monus", syntax.TextOf(f.A))
	}
	b, err := c.node(f.B)
	if err != nil {
		return nil, err
	}
	var o operation
	switch f.Kind {
	case syntax.AndKind:
		o = conjunctions(c.sentence.And)
	case syntax.OrKind:
		o = disjunctions(c.sentence.Or)
	default:
		o = implications(c.sentence.Implies)
	}
	return &binary{c.program.node(c.width), a, b, o}, nil
}

func (c *compiler) atom(e *syntax.Equality) (node, error) {
	if e.Premetric > syntax.Wasserstein || e.Not || e.Premetric == syntax.Circular && !syntax.ValidPeriod(e.Period) {
		return nil, c.fail(e, "want a premetric: euclidean, squared, absolute, discrete, circular with a period of more than 0, cosine, kl or wasserstein")
	}
	switch e.Premetric {
	case syntax.Cosine:
		return c.cosine(e)
	case syntax.KL, syntax.Wasserstein:
		return c.posteriors(e)
	}
	a, err := c.linear(e.A)
	if err != nil {
		return nil, err
	}
	b, err := c.linear(e.B)
	if err != nil {
		return nil, err
	}
	difference, err := c.add(e, a, b.times(-1))
	if err != nil {
		return nil, err
	}
	n := &atom{base: c.program.node(c.width), premetric: e.Premetric, period: e.Period}
	n.coordinates, n.codes = c.split(difference)
	return n, nil
}

// split separates the parts of a term that vary over the current tuples, and reports whether the term varies with the
// codes.
func (c *compiler) split(l linear) (all []split, codes bool) {
	for _, x := range l.coordinates {
		s := split{offset: x.offset}
		for _, p := range x.parts {
			codes = codes || c.program.smooth(p.column)
			switch {
			case len(p.by) > 0:
				s.monomials = append(s.monomials, newMonomial(p, c.lane))
			case p.variable == c.lane:
				s.fast = append(s.fast, p)
			default:
				s.slow = append(s.slow, p)
			}
		}
		all = append(all, s)
	}
	return all, codes
}

// quantifier compiles a quantifier over a finite set. The formula over decides which rows are in the domain.
func (c *compiler) quantifier(f *syntax.Quantified, over syntax.Formula) (node, error) {
	if f.Body == nil {
		return nil, c.fail(f, "a formula is nil")
	}
	if err := f.CheckAggregate(); err != nil {
		return nil, c.fail(f, "%v", err)
	}
	guards, rest := f.Guards()
	if f.Universal && !syntax.HasQuantifier(rest) && applies(rest, c.exact()) {
		return c.fitting(f, guards, rest, over)
	}
	binders, err := c.bind(f, over)
	if err != nil {
		return nil, err
	}
	defer c.unbind(len(binders) + len(f.Domain.Moves))
	q := &quantifier{base: c.program.node(1), universal: f.Universal, aggregate: f.Aggregate, binders: binders, fold: f.Fold, temperature: f.Temperature}
	if err := c.guard(q, guards); err != nil {
		return nil, err
	}
	q.leaf = !syntax.HasQuantifier(rest)
	q.symmetric = syntax.Symmetric(f, guards, rest)
	lane, width := c.lane, c.width
	if c.lane, c.width = -1, 1; q.leaf {
		c.lane, c.width = binders[len(binders)-1].variable, chunk
	}
	q.body, err = c.node(rest)
	c.lane, c.width = lane, width
	if err != nil {
		return nil, err
	}
	q.state = len(c.program.quantifiers)
	c.program.quantifiers = append(c.program.quantifiers, q)
	if p := c.pairs(q); p != nil {
		return p, nil
	}
	return q, nil
}

// guard attaches each test to the last variable that it mentions, and turns equalities
// of a factor into groups.
func (c *compiler) guard(q *quantifier, guards []syntax.Formula) error {
	for _, g := range guards {
		t, err := c.test(g)
		if err != nil {
			return err
		}
		names := map[string]bool{}
		syntax.VariablesOf(g, names)
		last := -1
		for k, b := range q.binders {
			if names[b.name] {
				last = k
			}
		}
		if last < 0 {
			q.tests = append(q.tests, t)
			continue
		}
		b := q.binders[last]
		if e, ok := g.(*syntax.Equality); ok && b.group(c, e) {
			continue
		}
		b.tests = append(b.tests, t)
	}
	return nil
}

// bind resolves the variables of a quantifier and puts them into scope. Rows range over the rows in which the factors
// that over mentions are known.
func (c *compiler) bind(f *syntax.Quantified, over syntax.Formula) ([]*binder, error) {
	d := f.Domain
	if len(d.Names) == 0 {
		return nil, c.fail(f, "a quantifier without a variable")
	}
	var binders []*binder
	for _, name := range d.Names {
		if err := c.declare(f, name); err != nil {
			return nil, err
		}
		b := &binding{id: c.program.variables, name: name, set: d.Set, exists: !f.Universal && f.Fold == syntax.NoFold}
		c.program.variables++
		if err := c.resolve(f, b, over); err != nil {
			return nil, err
		}
		c.scope = append(c.scope, b)
		list := -1
		if b.set == syntax.RowSet {
			list = c.program.index(b.known, -1)
		}
		binders = append(binders, &binder{binding: b, variable: b.id, list: list, members: len(b.members), by: -1})
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
		c.program.useLabels()
		if b.factor, err = c.factor(d.Factor, d); err == nil {
			c.program.leveled[b.factor] = true
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
	if b.width < 0 {
		return nil
	}
	for k := range max(b.width, 1) {
		numbers := make([]float64, len(b.members))
		for i, m := range b.members {
			l, err := c.linear(m)
			if err != nil {
				return err
			}
			numbers[i] = l.coordinates[k].offset
		}
		b.columns = append(b.columns, c.program.constants(numbers))
	}
	return nil
}
