package logic

import (
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/losses/logic/internal/syntax"
)

// The functions of this file build syntax trees of sentences.

func Equal(p syntax.Premetric, a, b syntax.Term) syntax.Formula {
	e := &syntax.Equality{A: a, B: b, Premetric: p}
	if p == syntax.Circular {
		e.Period = 1
	}
	return e
}

func EqualCircular(period float64, a, b syntax.Term) syntax.Formula {
	return &syntax.Equality{A: a, B: b, Premetric: syntax.Circular, Period: period}
}

func Same(a, b syntax.Term) syntax.Formula { return &syntax.Equality{A: a, B: b} }

func Differ(a, b syntax.Term) syntax.Formula { return &syntax.Equality{A: a, B: b, Not: true} }

func And(a, b syntax.Formula, more ...syntax.Formula) syntax.Formula {
	return joinAll(syntax.AndKind, a, b, more)
}

func Or(a, b syntax.Formula, more ...syntax.Formula) syntax.Formula {
	return joinAll(syntax.OrKind, a, b, more)
}

func joinAll(k syntax.Kind, a, b syntax.Formula, more []syntax.Formula) syntax.Formula {
	f := &syntax.Connective{Kind: k, A: a, B: b}
	for _, c := range more {
		f = &syntax.Connective{Kind: k, A: f, B: c}
	}
	return f
}

func Implies(a, b syntax.Formula) syntax.Formula {
	return &syntax.Connective{Kind: syntax.ImpliesKind, A: a, B: b}
}

func Not(a syntax.Formula) syntax.Formula { return &syntax.Negated{A: a} }

func Scale(weight float64, a syntax.Formula) syntax.Formula {
	return &syntax.Scaled{Weight: weight, A: a}
}

func ForAll(a factor.Aggregate, d syntax.Domain, body syntax.Formula) syntax.Formula {
	return &syntax.Quantified{Universal: true, Aggregate: a, Domain: d, Body: body}
}

func Exists(d syntax.Domain, body syntax.Formula) syntax.Formula {
	return &syntax.Quantified{Domain: d, Body: body}
}

// ForAllBy is ForAll with the conjunction of all quantities as the aggregate.
func ForAllBy(c syntax.Conjunction, d syntax.Domain, body syntax.Formula) syntax.Formula {
	switch c {
	case syntax.AndAdd:
		return ForAll(factor.Sum, d, body)
	case syntax.AndMax:
		return ForAll(factor.Max, d, body)
	}
	return &syntax.Quantified{Universal: true, Domain: d, Body: body, Fold: syntax.AllLogExp + syntax.Fold(c-syntax.AndLogExp)}
}

// ExistsBy is Exists with the disjunction of all quantities instead of the least.
func ExistsBy(o syntax.Disjunction, d syntax.Domain, body syntax.Formula) syntax.Formula {
	return &syntax.Quantified{Domain: d, Body: body, Fold: syntax.Fold(o)}
}

func ExistsSoft(temperature float64, d syntax.Domain, body syntax.Formula) syntax.Formula {
	return &syntax.Quantified{Domain: d, Body: body, Fold: syntax.AnySoft, Temperature: temperature}
}

func Rows(names ...string) syntax.Domain { return syntax.Domain{Names: names} }

func Values(factor string, names ...string) syntax.Domain {
	return syntax.Domain{Names: names, Set: syntax.ValueSet, Factor: factor}
}

func Members(name string, constants ...syntax.Term) syntax.Domain {
	return syntax.Domain{Names: []string{name}, Set: syntax.MemberSet, Members: constants}
}

func Points(name, block string) syntax.Domain {
	return syntax.Domain{Names: []string{name}, Set: syntax.PointSet, Space: &syntax.Access{Codes: true, Name: block}}
}

func PointsOf(name string, columns ...syntax.Range) syntax.Domain {
	return syntax.Domain{Names: []string{name}, Set: syntax.PointSet, Space: &syntax.Access{Codes: true, Columns: columns}}
}

func Functions(f *syntax.Function) syntax.Domain {
	return syntax.Domain{Names: []string{f.Name}, Set: syntax.FunctionSet, Functions: []*syntax.Function{f}}
}

// Moving binds the transformation g that maps one row to another.
func Moving(d syntax.Domain, from, to syntax.Variable) syntax.Domain {
	d.Moves = []syntax.PairMove{{Name: "g", From: from, To: to}}
	return d
}

func Codes(row syntax.Variable) syntax.Term { return &syntax.Access{Codes: true, Row: row} }

func SubCode(name string, row syntax.Variable) syntax.Term {
	return &syntax.Access{Codes: true, Name: name, Row: row}
}

func CodeColumns(row syntax.Variable, columns ...syntax.Range) syntax.Term {
	return &syntax.Access{Codes: true, Columns: columns, Row: row}
}

func Factors(row syntax.Variable) syntax.Term { return &syntax.Access{Row: row} }

func Factor(name string, row syntax.Variable) syntax.Term {
	return &syntax.Access{Name: name, Row: row}
}

func FactorColumns(row syntax.Variable, columns ...syntax.Range) syntax.Term {
	return &syntax.Access{Columns: columns, Row: row}
}

func Plus(a, b syntax.Term) syntax.Term { return &syntax.Arithmetic{A: a, B: b} }

func Minus(a, b syntax.Term) syntax.Term { return &syntax.Arithmetic{A: a, B: b, Minus: true} }

func Times(factor float64, a syntax.Term) syntax.Term {
	return &syntax.Multiple{Factor: factor, A: a}
}

func Apply(function string, argument syntax.Term) syntax.Term {
	return &syntax.Application{Function: function, A: argument}
}

func Independent(by syntax.Dependence, a, b syntax.Term) syntax.Formula {
	return &syntax.Independence{By: by, Codes: []*syntax.Access{a.(*syntax.Access), b.(*syntax.Access)}}
}
