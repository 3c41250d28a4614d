package logic

import (
	"github.com/unravel-ml/unravel/losses/logic/internal/program"
	"slices"

	"github.com/unravel-ml/unravel/losses/logic/syntax"
)

func (c *compiler) node(f syntax.Formula) (program.Node, error) {
	if f == nil {
		return nil, c.fail(nil, "a formula is nil")
	}
	if syntax.IsCrisp(f) {
		t, err := c.test(f)
		return &program.Indicator{Test: t}, err
	}
	switch f := f.(type) {
	case *syntax.Equality:
		return c.equality(f)
	case *syntax.Connective:
		return c.connective(f)
	case *syntax.Negated:
		a, err := c.node(f.A)
		if err != nil {
			return nil, err
		}
		if c.sentence.Not == syntax.NotStrict && a.Smooth() {
			return nil, c.fail(f.A, "not = strict jumps where %s goes to 0; "+wantIsolated+", or not = complement", syntax.TextOf(f.A))
		}
		return &program.Negated{By: c.sentence.Not, Body: a}, nil
	case *syntax.Independence:
		return c.independence(f)
	case *syntax.Scaled:
		if !syntax.ValidWeight(f.Weight) {
			return nil, c.fail(f, "a formula is multiplied by %v, want a number of more than 0", f.Weight)
		}
		a, err := c.node(f.A)
		return &program.Scaled{Weight: f.Weight, Body: a}, err
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

func (c *compiler) connective(f *syntax.Connective) (program.Node, error) {
	if f.A == nil || f.B == nil {
		return nil, c.fail(f, "a formula is nil")
	}
	if f.Kind == syntax.ImpliesKind && syntax.IsCrisp(f.A) {
		t, err := c.test(f.A)
		if err != nil {
			return nil, err
		}
		b, err := c.node(f.B)
		return &program.Guarded{Test: t, Body: b}, err
	}
	a, err := c.node(f.A)
	if err != nil {
		return nil, err
	}
	if f.Kind == syntax.ImpliesKind && c.sentence.Implies == syntax.ImpliesStrict && a.Smooth() {
		return nil, c.fail(f.A, "-> = strict jumps where %s goes to 0; "+wantIsolated+", or -> = monus", syntax.TextOf(f.A))
	}
	b, err := c.node(f.B)
	return &program.Connective{Kind: f.Kind, By: c.sentence.Quantale, A: a, B: b}, err
}

func (c *compiler) equality(e *syntax.Equality) (program.Node, error) {
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
	d := difference.coordinates
	return &program.Equality{Premetric: e.Premetric, Period: e.Period, Difference: d, Codes: c.program.Varies(d)}, nil
}

// cosine compiles an equality under the cosine distance.
func (c *compiler) cosine(e *syntax.Equality) (program.Node, error) {
	a, err := c.linear(e.A)
	if err != nil {
		return nil, err
	}
	b, err := c.linear(e.B)
	if err != nil {
		return nil, err
	}
	zero := func(l linear) linear {
		return linear{coordinates: make([]program.Coordinate, len(l.coordinates)), number: l.number}
	}
	if a, err = c.add(e, a, zero(b)); err != nil { // a number becomes a vector
		return nil, err
	}
	if b, err = c.add(e, b, zero(a)); err != nil {
		return nil, err
	}
	return &program.Cosine{A: a.coordinates, B: b.coordinates, Codes: c.program.Varies(a.coordinates, b.coordinates)}, nil
}

const wantPosteriors = "want codes of two rows, such as z(i) =[kl] z(j) or z.shape(i) =[kl] z.shape(j): the posteriors of these columns"

// posteriors compiles an equality of posteriors.
func (c *compiler) posteriors(e *syntax.Equality) (program.Node, error) {
	var means, variances [2]linear
	for i, t := range []syntax.Term{e.A, e.B} {
		a, ok := syntax.Bare(t).(*syntax.Access)
		if !ok || !a.Codes {
			return nil, c.fail(e, "=[%v] compares %s and %s; %s", e.Premetric, syntax.TextOf(e.A), syntax.TextOf(e.B), wantPosteriors)
		}
		row, err := c.row(a)
		if err != nil {
			return nil, err
		}
		columns, err := c.columnsOf(a)
		if err != nil {
			return nil, err
		}
		mean := 0
		if c.sentence.Sampled {
			mean = c.program.Input(program.Means, c.program.Codes)
		}
		for _, k := range columns {
			means[i].add(mean+k, row)
		}
		variance := c.program.Input(program.LogVariances, c.program.Codes)
		for _, k := range columns {
			variances[i].add(variance+k, row)
		}
	}
	difference, err := c.add(e, means[0], means[1].times(-1))
	return &program.Posteriors{Premetric: e.Premetric, Differences: difference.coordinates, A: variances[0].coordinates, B: variances[1].coordinates}, err
}

// quantifier compiles a quantifier over a finite set. The formula over decides which rows are in the domain.
func (c *compiler) quantifier(f *syntax.Quantified, over syntax.Formula) (program.Node, error) {
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
	tests, err := c.guard(binders, guards)
	if err != nil {
		return nil, err
	}
	body, err := c.node(rest)
	return &program.Quantifier{
		Universal: f.Universal, Aggregate: f.Aggregate, Fold: f.Fold, Temperature: f.Temperature,
		Binders: domains(binders), Tests: tests, Leaf: !syntax.HasQuantifier(rest), Symmetric: syntax.Symmetric(f, guards, rest), Body: body,
	}, err
}

// domains lists the domains of variables.
func domains(binders []*binding) []*program.Binder {
	all := make([]*program.Binder, len(binders))
	for i, b := range binders {
		all[i] = b.Binder
	}
	return all
}

// guard attaches each test to the last variable that it mentions, and turns equalities of a factor into groups. It
// returns the tests that mention no variable.
func (c *compiler) guard(binders []*binding, guards []syntax.Formula) (tests []program.Test, err error) {
	for _, g := range guards {
		t, err := c.test(g)
		if err != nil {
			return nil, err
		}
		names := map[string]bool{}
		syntax.VariablesOf(g, names)
		last := -1
		for k, b := range binders {
			if names[b.name] {
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
		b := &binding{Binder: &program.Binder{Variable: c.program.Variables, Set: d.Set, List: -1, By: -1}, name: name, exists: !f.Universal && f.Fold == syntax.NoFold}
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
