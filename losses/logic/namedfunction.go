package logic

import (
	"slices"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/losses/logic/syntax"
)

// functions splits a quantifier over functions into a quantifier for each operand of a sum. It recognises product
// approximations (proposition 2 of Zhang and Sugiyama 2024) as the deviations from the centres of levels.
func (n *namer) functions(f *syntax.Quantified, weight float64, all *[]summand) {
	switch body := f.Body.(type) {
	case *syntax.Scaled:
		part := *f
		part.Body = body.A
		n.functions(&part, weight*body.Weight, all)
		return
	case *syntax.Connective:
		if body.Kind == syntax.AndKind && n.sentence.And == syntax.AndAdd {
			n.split(quantify(f, body.A), weight, all)
			n.split(quantify(f, body.B), weight, all)
			return
		}
	}
	s := summand{weight: weight, part: f}
	if q, ok := f.Body.(*syntax.Quantified); ok && len(f.Domain.Functions) == 1 && q.Universal && q.Fold == syntax.NoFold {
		n.product(f.Domain.Functions[0].Function, q, &s)
	}
	*all = append(*all, s)
}

// quantify quantifies a part of the body over the functions that it applies.
func quantify(f *syntax.Quantified, part syntax.Formula) syntax.Formula {
	own := f.Domain
	own.Names, own.Functions = nil, nil
	used := syntax.Applications(part)
	for i, d := range f.Domain.Functions {
		if slices.ContainsFunc(used, func(a *syntax.Application) bool { return a.Function == d.Name }) {
			own.Names, own.Functions = append(own.Names, f.Domain.Names[i]), append(own.Functions, d)
		}
	}
	if len(own.Names) == 0 {
		return part
	}
	r := *f
	r.Domain, r.Body = own, part
	return &r
}

// product recognises the deviation of codes from a function of the levels of one factor.
func (n *namer) product(m syntax.Function, f *syntax.Quantified, s *summand) {
	from, err := n.columnsOf(m.From.Access(0))
	if err != nil || m.Class != syntax.AnyFunction || m.By != syntax.ByBody || m.From.Codes || !m.To.Codes || len(from) != 1 {
		return
	}
	if f.Domain.Set == syntax.RowSet { // over all levels: of the largest distances, the largest
		guards, rest := f.Guards()
		e, ok := rest.(*syntax.Equality)
		if !ok || len(guards) > 0 || f.Aggregate != factor.Max || e.Premetric != syntax.Euclidean || len(f.Domain.Names) != 1 {
			return
		}
		if code := n.imaged(e, f.Domain.Names[0], ""); code != nil {
			if columns, err := n.columnsOf(code); err == nil && distinct(columns) {
				s.modularity(factor.Radius, factor.Max, from[0], columns)
			}
		}
		return
	}
	if f.Domain.Set != syntax.ValueSet || len(f.Domain.Names) != 1 || slices.Index(n.schema.Factors, f.Domain.Factor) != from[0] {
		return
	}
	if body := n.centred(f.Body, f.Domain.Names[0]); body != nil {
		part := *f
		part.Body = body
		n.modularity(&part, s)
	}
}

// centred writes `forall i: y.a(i) = v -> z(i) = m(v)` as `exists c in z: forall i: y.a(i) = v -> z(i) = c`. It returns
// nil for other formulas.
func (n *namer) centred(f syntax.Formula, value string) syntax.Formula {
	switch f := f.(type) {
	case *syntax.Scaled:
		if a := n.centred(f.A, value); a != nil {
			return &syntax.Scaled{Weight: f.Weight, A: a}
		}
	case *syntax.Quantified:
		guards, rest := f.Guards()
		e, ok := rest.(*syntax.Equality)
		if !ok || !f.Universal || f.Fold != syntax.NoFold || f.Domain.Set != syntax.RowSet || len(f.Domain.Names) != 1 || len(guards) != 1 {
			return nil
		}
		code := n.imaged(e, f.Domain.Names[0], value)
		if code == nil {
			return nil
		}
		p := e.Premetric
		if columns, err := n.columnsOf(code); err != nil || p == syntax.Absolute && len(columns) == 1 {
			p = syntax.Euclidean
		}
		if _, _, ok := centreOf(f.Aggregate, p); !ok {
			return nil
		}
		space, inner, point := *code, *f, "centre"
		space.Row = ""
		inner.Body = &syntax.Connective{Kind: syntax.ImpliesKind, A: guards[0], B: &syntax.Equality{A: code, B: syntax.Variable(point), Premetric: p}}
		return &syntax.Quantified{Domain: syntax.Domain{Names: []string{point}, Set: syntax.PointSet, Space: &space}, Body: &inner}
	}
	return nil
}

// imaged returns the code of a row that an equality compares with a function of the row's level, or of a value.
func (n *namer) imaged(e *syntax.Equality, row, value string) *syntax.Access {
	a, other, err := n.applied(e)
	if err != nil {
		return nil
	}
	code, ok := syntax.Bare(other).(*syntax.Access)
	if !ok || !code.Codes || string(code.Row) != row {
		return nil
	}
	x, ok := syntax.Bare(a.A).(*syntax.Access)
	if ok && string(x.Row) == row || value != "" && syntax.Bare(a.A) == syntax.Variable(value) {
		return code
	}
	return nil
}
