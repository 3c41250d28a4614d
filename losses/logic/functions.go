package logic

import (
	"slices"

	"github.com/unravel-ml/unravel/datasets/factor"
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
	declaration
	from, to []int
	outer    int // variables bound around
	fit      *fitted
	network  *learned // of MLP
}

// functions compiles `exists h: z -> y in affine: body`. The least quantity of the body consists of its parts' least
// quantities if the parts share no function and the body grows with them.
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
	if err := c.networks(f, own); err != nil {
		return nil, err
	}
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
		if m.network != nil {
			continue
		}
		if m.fit == nil {
			return nil, c.fail(m.declaration, "the function %s is not applied: %s", m.Name, wantAlone)
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
	case d.Class > MLP || d.By > ByMax:
		return nil, c.fail(d, "unknown class %v or criterion %v of functions", d.Class, d.By)
	}
	if m.from, err = c.columnsOf(d.From.access(d.from)); err != nil {
		return nil, err
	}
	if m.to, err = c.columnsOf(d.To.access(d.to)); err != nil {
		return nil, err
	}
	switch {
	case d.Class == AnyFunction && d.From.Codes:
		return nil, c.fail(d, "%s has no class, which only functions of levels can do without; want in affine, linear, isometry or mlp, or a function such as m.a: y.a -> z.a", d.Name)
	case d.Class == Isometry && len(m.to) < len(m.from):
		return nil, c.fail(d, "there is no isometry of %s into %s; want as many columns or more", plural(len(m.from), "column"), plural(len(m.to), "column"))
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
func applies(f Formula, maps []*mapping) bool {
	return slices.ContainsFunc(applications(f), func(a *application) bool {
		return slices.ContainsFunc(maps, func(m *mapping) bool { return m.Name == a.function })
	})
}

// growing checks that the quantity of a formula grows with the quantities of its parts that apply functions.
func (c *compiler) growing(f Formula, maps []*mapping) error {
	switch f := f.(type) {
	case *connective:
		if f.kind == implication && f.a != nil && applies(f.a, maps) {
			return c.fail(f, "a function is applied left of ->, where less is not better: %s", wantAlone)
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
			return c.fail(f, "a function is applied in a negation, where less is not better: %s", wantAlone)
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

// fitting compiles the aggregate over rows of an equality of a function and a term. It also takes conjunctions of such
// equalities, if the aggregate distributes over the conjunction.
func (c *compiler) fitting(f *quantified, guards []Formula, rest Formula, over Formula) (node, error) {
	if err := f.checkAggregate(); err != nil {
		return nil, c.fail(f, "%v", err)
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
			return nil, c.fail(r, "the least quantity under forall[%v] is not that of the parts, joined by %s: %s", f.aggregate, r.kind, wantFunction)
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
	part.body = rest
	if len(guards) > 0 {
		part.body = &connective{kind: implication, a: allOf(guards), b: rest}
	}
	return c.quantifier(&part, over)
}

// plainly returns the first application of a function in a crisp quantifier, or the quantifier.
func plainly(f *quantified) any {
	if all := applications(f.body); len(all) > 0 {
		return all[0]
	}
	return f
}

func allOf(guards []Formula) Formula {
	f := guards[0]
	for _, g := range guards[1:] {
		f = &connective{kind: conjunction, a: f, b: g}
	}
	return f
}
