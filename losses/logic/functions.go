package logic

import (
	"github.com/unravel-ml/unravel/losses/logic/internal/program"
	"slices"

	"github.com/unravel-ml/unravel/datasets/factor"
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
		if r.Kind != syntax.AndKind || !(and == syntax.AndAdd && (f.Aggregate == factor.Mean || f.Aggregate == factor.Sum) || and == syntax.AndMax && f.Aggregate == factor.Max) {
			return nil, c.fail(r, "the least quantity under forall[%v] is not that of the parts, joined by %s: %s", f.Aggregate, r.Kind, wantFunction)
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
