package logic

import (
	"slices"

	"github.com/unravel-ml/unravel/datasets/factor"
)

// functions splits a quantifier over functions into a quantifier for each operand of a sum. It recognises product
// approximations (proposition 2 of Zhang and Sugiyama 2024) as the deviations from the centres of levels.
func (n *namer) functions(f *quantified, weight float64, all *[]summand) {
	switch body := f.body.(type) {
	case *scaled:
		part := *f
		part.body = body.a
		n.functions(&part, weight*body.weight, all)
		return
	case *connective:
		if body.kind == conjunction && n.sentence.And == AndAdd {
			n.split(quantify(f, body.a), weight, all)
			n.split(quantify(f, body.b), weight, all)
			return
		}
	}
	s := summand{weight: weight, part: f}
	if q, ok := f.body.(*quantified); ok && len(f.domain.functions) == 1 && q.universal && q.fold == noFold {
		n.product(f.domain.functions[0].Function, q, &s)
	}
	*all = append(*all, s)
}

// quantify quantifies a part of the body over the functions that it applies.
func quantify(f *quantified, part Formula) Formula {
	own := f.domain
	own.names, own.functions = nil, nil
	used := applications(part)
	for i, d := range f.domain.functions {
		if slices.ContainsFunc(used, func(a *application) bool { return a.function == d.Name }) {
			own.names, own.functions = append(own.names, f.domain.names[i]), append(own.functions, d)
		}
	}
	if len(own.names) == 0 {
		return part
	}
	r := *f
	r.domain, r.body = own, part
	return &r
}

// product recognises the deviation of codes from a function of the levels of one factor.
func (n *namer) product(m Function, f *quantified, s *summand) {
	from, err := n.columnsOf(m.From.access(0))
	if err != nil || m.Class != AnyFunction || m.By != ByBody || m.From.Codes || !m.To.Codes || len(from) != 1 {
		return
	}
	if f.domain.set == rowSet { // over all levels: of the largest distances, the largest
		guards, rest := f.guards()
		e, ok := rest.(*equality)
		if !ok || len(guards) > 0 || f.aggregate != factor.Max || e.premetric != Euclidean || len(f.domain.names) != 1 {
			return
		}
		if code := n.imaged(e, f.domain.names[0], ""); code != nil {
			if columns, err := n.columnsOf(code); err == nil && distinct(columns) {
				s.modularity(factor.Radius, factor.Max, from[0], columns)
			}
		}
		return
	}
	if f.domain.set != valueSet || len(f.domain.names) != 1 || slices.Index(n.schema.Factors, f.domain.factor) != from[0] {
		return
	}
	if body := n.centred(f.body, f.domain.names[0]); body != nil {
		part := *f
		part.body = body
		n.modularity(&part, s)
	}
}

// centred writes `forall i: y.a(i) = v -> z(i) = m(v)` as `exists c in z: forall i: y.a(i) = v -> z(i) = c`. It returns
// nil for other formulas.
func (n *namer) centred(f Formula, value string) Formula {
	switch f := f.(type) {
	case *scaled:
		if a := n.centred(f.a, value); a != nil {
			return &scaled{weight: f.weight, a: a}
		}
	case *quantified:
		guards, rest := f.guards()
		e, ok := rest.(*equality)
		if !ok || !f.universal || f.fold != noFold || f.domain.set != rowSet || len(f.domain.names) != 1 || len(guards) != 1 {
			return nil
		}
		code := n.imaged(e, f.domain.names[0], value)
		if code == nil {
			return nil
		}
		p := e.premetric
		if columns, err := n.columnsOf(code); err != nil || p == Absolute && len(columns) == 1 {
			p = Euclidean
		}
		if _, _, ok := centreOf(f.aggregate, p); !ok {
			return nil
		}
		space, inner, point := *code, *f, "centre"
		space.row = ""
		inner.body = &connective{kind: implication, a: guards[0], b: &equality{a: code, b: Variable(point), premetric: p}}
		return &quantified{domain: Domain{names: []string{point}, set: pointSet, space: &space}, body: &inner}
	}
	return nil
}

// imaged returns the code of a row that an equality compares with a function of the row's level, or of a value.
func (n *namer) imaged(e *equality, row, value string) *access {
	a, other, err := n.applied(e)
	if err != nil {
		return nil
	}
	code, ok := bare(other).(*access)
	if !ok || !code.codes || string(code.row) != row {
		return nil
	}
	x, ok := bare(a.a).(*access)
	if ok && string(x.row) == row || value != "" && bare(a.a) == Variable(value) {
		return code
	}
	return nil
}
