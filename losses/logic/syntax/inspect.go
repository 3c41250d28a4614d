package syntax

import (
	"errors"
	"fmt"
	"slices"

	"github.com/unravel-ml/unravel/datasets/factor"
)

// terms calls a function with every term of a formula.
func Terms(f Formula, visit func(Term)) {
	switch f := f.(type) {
	case *Equality:
		TermsOf(f.A, visit)
		TermsOf(f.B, visit)
	case *Connective:
		Terms(f.A, visit)
		Terms(f.B, visit)
	case *Negated:
		Terms(f.A, visit)
	case *Independence:
		for _, t := range f.Codes {
			TermsOf(t, visit)
		}
	case *Scaled:
		Terms(f.A, visit)
	case *Quantified:
		Terms(f.Body, visit)
	}
}

func TermsOf(t Term, visit func(Term)) {
	if t == nil {
		return
	}
	visit(Bare(t))
	switch t := t.(type) {
	case *Arithmetic:
		TermsOf(t.A, visit)
		TermsOf(t.B, visit)
	case *Multiple:
		TermsOf(t.A, visit)
	case *Moved:
		TermsOf(t.A, visit)
	case *Application:
		TermsOf(t.A, visit)
	}
}

// variablesOf collects the names of variables in a formula.
func VariablesOf(f Formula, names map[string]bool) {
	Terms(f, func(t Term) {
		switch t := t.(type) {
		case Variable:
			names[string(t)] = true
		case *Access:
			names[string(t.Row)] = true
		}
	})
}

// isCrisp reports whether a formula is 0 or infinity: it has no premetric.
func IsCrisp(f Formula) bool {
	switch f := f.(type) {
	case *Equality:
		return f.Premetric == Crisp
	case *Connective:
		return IsCrisp(f.A) && IsCrisp(f.B)
	case *Negated:
		return IsCrisp(f.A)
	case *Scaled:
		return IsCrisp(f.A)
	case *Quantified:
		return IsCrisp(f.Body)
	}
	return false
}

// guards splits the body of a quantifier into crisp formulas that restrict its
// domain, and the rest.
func (q *Quantified) Guards() (crisp []Formula, rest Formula) {
	if rest = q.Body; q.Domain.Set == FunctionSet {
		return nil, rest
	}
	if q.Universal {
		for {
			c, ok := rest.(*Connective)
			if !ok || c.Kind != ImpliesKind || !IsCrisp(c.A) || IsCrisp(c.B) {
				return crisp, rest
			}
			crisp, rest = append(crisp, conjuncts(c.A, nil)...), c.B
		}
	}
	if q.Universal || IsCrisp(rest) {
		return crisp, rest
	}
	var kept Formula
	for _, f := range conjuncts(rest, nil) {
		switch {
		case IsCrisp(f):
			crisp = append(crisp, f)
		case kept == nil:
			kept = f
		default:
			kept = &Connective{Place: Place(f.position()), Kind: AndKind, A: kept, B: f}
		}
	}
	return crisp, kept
}

// conjuncts lists the operands of a conjunction.
func conjuncts(f Formula, list []Formula) []Formula {
	if c, ok := f.(*Connective); ok && c.Kind == AndKind {
		return conjuncts(c.B, conjuncts(c.A, list))
	}
	return append(list, f)
}

// unbounded finds a crisp part that can make the quantity of a formula infinite.
func Unbounded(f Formula) Formula {
	if IsCrisp(f) {
		return f
	}
	switch f := f.(type) {
	case *Connective:
		a, b := Unbounded(f.A), Unbounded(f.B)
		switch {
		case f.Kind == ImpliesKind:
			return b
		case f.Kind == OrKind && (a == nil || b == nil):
			return nil
		case a != nil:
			return a
		}
		return b
	case *Scaled:
		return Unbounded(f.A)
	case *Quantified:
		_, rest := f.Guards()
		return Unbounded(rest)
	}
	return nil // a premetric is finite, and a negation of infinity is 0
}

// hasQuantifier reports whether a formula computes quantities of quantifiers.
func HasQuantifier(f Formula) bool {
	if IsCrisp(f) {
		return false
	}
	switch f := f.(type) {
	case *Connective:
		return HasQuantifier(f.A) || HasQuantifier(f.B)
	case *Negated:
		return HasQuantifier(f.A)
	case *Scaled:
		return HasQuantifier(f.A)
	case *Quantified, *Independence: // one tuple at a time
		return true
	}
	return false
}

// checkAggregate returns an error if the aggregate of the quantifier does not exist, or does not suit its domain.
func (q *Quantified) CheckAggregate() error {
	switch {
	case q.Fold == NoFold && (!q.Universal || q.Aggregate <= factor.MeanSquare):
		return nil
	case q.Fold == NoFold:
		return fmt.Errorf("unknown aggregate %v", q.Aggregate)
	case q.Fold >= WrongFold || q.Fold.Universal() != q.Universal:
		return errors.New("unknown aggregate of a quantifier")
	case q.Fold == AnySoft && !validTemperature(q.Temperature):
		return fmt.Errorf("the soft minimum has the temperature %v, want a number of more than 0", q.Temperature)
	case q.Domain.Set == PointSet:
		return fmt.Errorf("exists[%v] is an aggregate of finitely many, not of all points of %s; want exists without an aggregate", q.Fold, TextOf(q.Domain.Space))
	}
	return nil
}

// Moves reports whether the sentence uses transformations between rows.
func (s Sentence) Moves() bool { return hasMoves(s.Body) }

func hasMoves(f Formula) bool {
	switch f := f.(type) {
	case *Connective:
		return hasMoves(f.A) || hasMoves(f.B)
	case *Negated:
		return hasMoves(f.A)
	case *Scaled:
		return hasMoves(f.A)
	case *Quantified:
		return len(f.Domain.Moves) > 0 || hasMoves(f.Body)
	}
	return false
}

// applications lists the applications of functions in a formula.
func Applications(f Formula) (all []*Application) {
	Terms(f, func(t Term) {
		if a, ok := t.(*Application); ok {
			all = append(all, a)
		}
	})
	return all
}

// mentions reports whether a formula contains a variable.
func Mentions(f Formula, name string) bool {
	names := map[string]bool{}
	VariablesOf(f, names)
	return names[name]
}

func (k Kind) String() string { return [...]string{"and", "or", "->"}[k] }

// symmetric reports whether the last two variables of a quantifier are interchangeable.
func Symmetric(f *Quantified, guards []Formula, body Formula) bool {
	n := len(f.Domain.Names)
	if n < 2 || f.Domain.Set != RowSet || len(f.Domain.Moves) > 0 {
		return false
	}
	i, j := f.Domain.Names[n-2], f.Domain.Names[n-1]
	return shape(guards, body, i, j) == shape(guards, body, j, i)
}

// shape writes guards and a body with two variables renamed. Its normal form of equalities, conjunctions and
// disjunctions does not depend on the order of operands.
func shape(guards []Formula, body Formula, i, j string) string {
	rename := func(v string) string {
		switch v {
		case i:
			return "#1"
		case j:
			return "#2"
		}
		return v
	}
	all := make([]string, len(guards))
	for k, g := range guards {
		all[k] = shapeOf(g, rename)
	}
	slices.Sort(all)
	r := shapeOf(body, rename)
	for _, g := range all {
		r += " | " + g
	}
	return r
}

func shapeOf(f Formula, rename func(string) string) string {
	switch f := f.(type) {
	case *Equality:
		sides := []string{shapeOfTerm(f.A, rename), shapeOfTerm(f.B, rename)}
		if f.Premetric != KL { // the others are symmetric
			slices.Sort(sides)
		}
		head := *f
		head.A, head.B = Variable(sides[0]), Variable(sides[1])
		return TextOf(&head)
	case *Connective:
		sides := []string{shapeOf(f.A, rename), shapeOf(f.B, rename)}
		if f.Kind != ImpliesKind {
			slices.Sort(sides)
		}
		return "(" + sides[0] + " " + string("&|>"[f.Kind]) + " " + sides[1] + ")"
	case *Negated:
		return "not " + shapeOf(f.A, rename)
	case *Independence:
		return TextOf(f)
	case *Scaled:
		return FormatNumber(f.Weight) + " * " + shapeOf(f.A, rename)
	case *Quantified:
		head := *f
		head.Body = &Equality{A: Variable(""), B: Variable("")}
		head.Domain.Moves = slices.Clone(f.Domain.Moves)
		for k := range head.Domain.Moves {
			m := &head.Domain.Moves[k]
			m.From, m.To = Variable(rename(string(m.From))), Variable(rename(string(m.To)))
		}
		return "(" + TextOf(&head) + shapeOf(f.Body, rename) + ")"
	}
	return "?"
}

func shapeOfTerm(t Term, rename func(string) string) string {
	switch t := t.(type) {
	case *placed:
		return shapeOfTerm(t.Term, rename)
	case Variable:
		return rename(string(t))
	case *Access:
		a := *t
		a.Row = Variable(rename(string(a.Row)))
		return TextOf(&a)
	case *Arithmetic:
		sign := " + "
		if t.Minus {
			sign = " - "
		}
		return "(" + shapeOfTerm(t.A, rename) + sign + shapeOfTerm(t.B, rename) + ")"
	case *Application:
		return quoteFunction(t.Function) + "(" + shapeOfTerm(t.A, rename) + ")"
	case *Multiple:
		return FormatNumber(t.Factor) + " * " + shapeOfTerm(t.A, rename)
	case *Moved:
		m := *t
		m.A = Variable(shapeOfTerm(t.A, rename))
		return TextOf(&m)
	}
	return TextOf(t)
}

// Mentions reports whether the sentence is about factors, and whether it has sub-codes by name, such as z.shape.
func (s Sentence) Mentions() (factors, subCodes bool) {
	note := func(t Term) {
		if a, ok := t.(*Access); ok {
			factors = factors || !a.Codes
			subCodes = subCodes || a.Codes && a.Name != ""
		}
	}
	Terms(s.Body, note)
	domains(s.Body, func(d Domain) {
		factors = factors || d.Set == ValueSet
		if d.Set == PointSet {
			note(d.Space)
		}
	})
	return factors, subCodes
}

// domains calls a function with the domain of every quantifier of a formula.
func domains(f Formula, visit func(Domain)) {
	switch f := f.(type) {
	case *Connective:
		domains(f.A, visit)
		domains(f.B, visit)
	case *Negated:
		domains(f.A, visit)
	case *Scaled:
		domains(f.A, visit)
	case *Quantified:
		visit(f.Domain)
		domains(f.Body, visit)
	}
}
