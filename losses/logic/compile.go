package logic

import "slices"

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

func (c *compiler) node(f Formula) (node, error) {
	if f == nil {
		return nil, c.fail(nil, "a formula is nil")
	}
	if isCrisp(f) {
		t, err := c.test(f)
		return &indicator{c.program.node(c.width), t, c.lane}, err
	}
	switch f := f.(type) {
	case *equality:
		return c.atom(f)
	case *connective:
		return c.connective(f)
	case *negation:
		a, err := c.node(f.a)
		if err != nil {
			return nil, err
		}
		if c.sentence.Not == NotStrict && a.smooth() {
			return nil, c.fail(f.a, "not = strict jumps where %s goes to 0; "+wantIsolated+", or not = complement", textOf(f.a))
		}
		return &unary{c.program.node(c.width), a, negations(c.sentence.Not)}, nil
	case *independence:
		return c.independence(f)
	case *scaled:
		if !validWeight(f.weight) {
			return nil, c.fail(f, "a formula is multiplied by %v, want a number of more than 0", f.weight)
		}
		a, err := c.node(f.a)
		return &scale{c.program.node(c.width), a, f.weight}, err
	case *quantified:
		switch {
		case f.domain.set == functionSet:
			return c.functions(f)
		case f.domain.set == pointSet && !f.universal:
			return c.centre(f)
		}
		return c.quantifier(f, f.body)
	}
	return nil, c.fail(f, "%T is not a formula of this package", f)
}

// wantIsolated describes what strict operations can have, for errors.
const wantIsolated = "want what does not vary with the codes: crisp equalities, =[discrete], values of factors, and what connectives and quantifiers make of them"

func (c *compiler) connective(f *connective) (node, error) {
	if f.a == nil || f.b == nil {
		return nil, c.fail(f, "a formula is nil")
	}
	if f.kind == implication && isCrisp(f.a) {
		t, err := c.test(f.a)
		if err != nil {
			return nil, err
		}
		b, err := c.node(f.b)
		return &guarded{c.program.node(c.width), t, c.lane, b}, err
	}
	a, err := c.node(f.a)
	if err != nil {
		return nil, err
	}
	if f.kind == implication && c.sentence.Implies == ImpliesStrict && a.smooth() {
		return nil, c.fail(f.a, "-> = strict jumps where %s goes to 0; "+wantIsolated+", or -> = monus", textOf(f.a))
	}
	b, err := c.node(f.b)
	if err != nil {
		return nil, err
	}
	var o operation
	switch f.kind {
	case conjunction:
		o = conjunctions(c.sentence.And)
	case disjunction:
		o = disjunctions(c.sentence.Or)
	default:
		o = implications(c.sentence.Implies)
	}
	return &binary{c.program.node(c.width), a, b, o}, nil
}

func (c *compiler) atom(e *equality) (node, error) {
	if e.premetric > Wasserstein || e.not || e.premetric == Circular && !validPeriod(e.period) {
		return nil, c.fail(e, "want a premetric: euclidean, squared, absolute, discrete, circular with a period of more than 0, cosine, kl or wasserstein")
	}
	switch e.premetric {
	case Cosine:
		return c.cosine(e)
	case KL, Wasserstein:
		return c.posteriors(e)
	}
	a, err := c.linear(e.a)
	if err != nil {
		return nil, err
	}
	b, err := c.linear(e.b)
	if err != nil {
		return nil, err
	}
	difference, err := c.add(e, a, b.times(-1))
	if err != nil {
		return nil, err
	}
	n := &atom{base: c.program.node(c.width), premetric: e.premetric, period: e.period}
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
func (c *compiler) quantifier(f *quantified, over Formula) (node, error) {
	if f.body == nil {
		return nil, c.fail(f, "a formula is nil")
	}
	if err := f.checkAggregate(); err != nil {
		return nil, c.fail(f, "%v", err)
	}
	guards, rest := f.guards()
	if f.universal && !hasQuantifier(rest) && applies(rest, c.exact()) {
		return c.fitting(f, guards, rest, over)
	}
	binders, err := c.bind(f, over)
	if err != nil {
		return nil, err
	}
	defer c.unbind(len(binders) + len(f.domain.moves))
	q := &quantifier{base: c.program.node(1), universal: f.universal, aggregate: f.aggregate, binders: binders, fold: f.fold, temperature: f.temperature}
	if err := c.guard(q, guards); err != nil {
		return nil, err
	}
	q.leaf = !hasQuantifier(rest)
	q.symmetric = symmetric(f, guards, rest)
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
func (c *compiler) guard(q *quantifier, guards []Formula) error {
	for _, g := range guards {
		t, err := c.test(g)
		if err != nil {
			return err
		}
		names := map[string]bool{}
		variablesOf(g, names)
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
		if e, ok := g.(*equality); ok && b.group(c, e) {
			continue
		}
		b.tests = append(b.tests, t)
	}
	return nil
}

// bind resolves the variables of a quantifier and puts them into scope. Rows range over the rows in which the factors
// that over mentions are known.
func (c *compiler) bind(f *quantified, over Formula) ([]*binder, error) {
	d := f.domain
	if len(d.names) == 0 {
		return nil, c.fail(f, "a quantifier without a variable")
	}
	var binders []*binder
	for _, name := range d.names {
		if err := c.declare(f, name); err != nil {
			return nil, err
		}
		b := &binding{id: c.program.variables, name: name, set: d.set, exists: !f.universal && f.fold == noFold}
		c.program.variables++
		if err := c.resolve(f, b, over); err != nil {
			return nil, err
		}
		c.scope = append(c.scope, b)
		list := -1
		if b.set == rowSet {
			list = c.program.index(b.known, -1)
		}
		binders = append(binders, &binder{binding: b, variable: b.id, list: list, members: len(b.members), by: -1})
	}
	return binders, c.bindMoves(f, binders)
}

// declare checks the name of a new variable.
func (c *compiler) declare(f *quantified, name string) error {
	if !isName(name) || name == "y" || name == "z" {
		return c.fail(f, "%q cannot be a variable; want a name other than y and z", name)
	}
	if slices.ContainsFunc(c.scope, func(b *binding) bool { return b.name == name }) {
		return c.fail(f, "the variable %s is bound already, want another name", name)
	}
	return nil
}

func (c *compiler) unbind(n int) { c.scope = c.scope[:len(c.scope)-n] }

// resolve determines the domain of a variable.
func (c *compiler) resolve(f *quantified, b *binding, over Formula) (err error) {
	d := f.domain
	switch d.set {
	case rowSet:
		b.known, err = c.mentioned(over, b.name)
	case valueSet:
		c.program.useLabels()
		if b.factor, err = c.factor(d.factor, d); err == nil {
			c.program.leveled[b.factor] = true
		}
	case memberSet:
		err = c.resolveMembers(f, b)
	case pointSet:
		err = c.fail(f, "%s", wantCentre)
	case functionSet:
		err = c.fail(plainly(f), "a plain = of a function's value has no gradient; want a premetric, such as =[euclidean]")
	}
	return err
}

// resolveMembers makes columns of the constants of a finite set.
func (c *compiler) resolveMembers(f *quantified, b *binding) error {
	for i, t := range f.domain.members {
		v := bare(t)
		width := 0
		switch v := v.(type) {
		case Number:
		case Vector:
			width = len(v)
		case Level:
			width = -1
		default:
			return c.fail(f, "%s is not a constant; want numbers, vectors or names of levels", textOf(t))
		}
		if i > 0 && width != b.width {
			return c.fail(f.domain, "the constants of a set are of different kinds; want numbers, or vectors of one width, or names of levels")
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
