package logic

import (
	"errors"
	"fmt"
	"slices"

	"github.com/unravel-ml/unravel/datasets/factor"
)

// terms calls a function with every term of a formula.
func terms(f Formula, visit func(Term)) {
	switch f := f.(type) {
	case *equality:
		termsOf(f.a, visit)
		termsOf(f.b, visit)
	case *connective:
		terms(f.a, visit)
		terms(f.b, visit)
	case *negation:
		terms(f.a, visit)
	case *independence:
		for _, t := range f.codes {
			termsOf(t, visit)
		}
	case *scaled:
		terms(f.a, visit)
	case *quantified:
		terms(f.body, visit)
	}
}

func termsOf(t Term, visit func(Term)) {
	if t == nil {
		return
	}
	visit(bare(t))
	switch t := t.(type) {
	case *arithmetic:
		termsOf(t.a, visit)
		termsOf(t.b, visit)
	case *multiple:
		termsOf(t.a, visit)
	case *moved:
		termsOf(t.a, visit)
	case *application:
		termsOf(t.a, visit)
	}
}

// variablesOf collects the names of variables in a formula.
func variablesOf(f Formula, names map[string]bool) {
	terms(f, func(t Term) {
		switch t := t.(type) {
		case Variable:
			names[string(t)] = true
		case *access:
			names[string(t.row)] = true
		}
	})
}

// isCrisp reports whether a formula is 0 or infinity: it has no premetric.
func isCrisp(f Formula) bool {
	switch f := f.(type) {
	case *equality:
		return f.premetric == Crisp
	case *connective:
		return isCrisp(f.a) && isCrisp(f.b)
	case *negation:
		return isCrisp(f.a)
	case *scaled:
		return isCrisp(f.a)
	case *quantified:
		return isCrisp(f.body)
	}
	return false
}

// guards splits the body of a quantifier into crisp formulas that restrict its
// domain, and the rest.
func (q *quantified) guards() (crisp []Formula, rest Formula) {
	if rest = q.body; q.domain.set == functionSet {
		return nil, rest
	}
	if q.universal {
		for {
			c, ok := rest.(*connective)
			if !ok || c.kind != implication || !isCrisp(c.a) || isCrisp(c.b) {
				return crisp, rest
			}
			crisp, rest = append(crisp, conjuncts(c.a, nil)...), c.b
		}
	}
	if q.universal || isCrisp(rest) {
		return crisp, rest
	}
	var kept Formula
	for _, f := range conjuncts(rest, nil) {
		switch {
		case isCrisp(f):
			crisp = append(crisp, f)
		case kept == nil:
			kept = f
		default:
			kept = &connective{place: place(f.position()), kind: conjunction, a: kept, b: f}
		}
	}
	return crisp, kept
}

// conjuncts lists the operands of a conjunction.
func conjuncts(f Formula, list []Formula) []Formula {
	if c, ok := f.(*connective); ok && c.kind == conjunction {
		return conjuncts(c.b, conjuncts(c.a, list))
	}
	return append(list, f)
}

// unbounded finds a crisp part that can make the quantity of a formula infinite.
func unbounded(f Formula) Formula {
	if isCrisp(f) {
		return f
	}
	switch f := f.(type) {
	case *connective:
		a, b := unbounded(f.a), unbounded(f.b)
		switch {
		case f.kind == implication:
			return b
		case f.kind == disjunction && (a == nil || b == nil):
			return nil
		case a != nil:
			return a
		}
		return b
	case *scaled:
		return unbounded(f.a)
	case *quantified:
		_, rest := f.guards()
		return unbounded(rest)
	}
	return nil // a premetric is finite, and a negation of infinity is 0
}

// hasQuantifier reports whether a formula computes quantities of quantifiers.
func hasQuantifier(f Formula) bool {
	if isCrisp(f) {
		return false
	}
	switch f := f.(type) {
	case *connective:
		return hasQuantifier(f.a) || hasQuantifier(f.b)
	case *negation:
		return hasQuantifier(f.a)
	case *scaled:
		return hasQuantifier(f.a)
	case *quantified, *independence: // one tuple at a time
		return true
	}
	return false
}

// checkAggregate returns an error if the aggregate of the quantifier does not exist, or does not suit its domain.
func (q *quantified) checkAggregate() error {
	switch {
	case q.fold == noFold && (!q.universal || q.aggregate <= factor.MeanSquare):
		return nil
	case q.fold == noFold:
		return fmt.Errorf("unknown aggregate %v", q.aggregate)
	case q.fold >= wrongFold || q.fold.universal() != q.universal:
		return errors.New("unknown aggregate of a quantifier")
	case q.fold == anySoft && !validTemperature(q.temperature):
		return fmt.Errorf("the soft minimum has the temperature %v, want a number of more than 0", q.temperature)
	case q.domain.set == pointSet:
		return fmt.Errorf("exists[%v] is an aggregate of finitely many, not of all points of %s; want exists without an aggregate", q.fold, textOf(q.domain.space))
	}
	return nil
}

// Moves reports whether the sentence uses transformations between rows.
func (s Sentence) Moves() bool { return hasMoves(s.Body) }

func hasMoves(f Formula) bool {
	switch f := f.(type) {
	case *connective:
		return hasMoves(f.a) || hasMoves(f.b)
	case *negation:
		return hasMoves(f.a)
	case *scaled:
		return hasMoves(f.a)
	case *quantified:
		return len(f.domain.moves) > 0 || hasMoves(f.body)
	}
	return false
}

// applications lists the applications of functions in a formula.
func applications(f Formula) (all []*application) {
	terms(f, func(t Term) {
		if a, ok := t.(*application); ok {
			all = append(all, a)
		}
	})
	return all
}

// mentions reports whether a formula contains a variable.
func mentions(f Formula, name string) bool {
	names := map[string]bool{}
	variablesOf(f, names)
	return names[name]
}

func (k kind) String() string { return [...]string{"and", "or", "->"}[k] }

// symmetric reports whether the last two variables of a quantifier are interchangeable.
func symmetric(f *quantified, guards []Formula, body Formula) bool {
	n := len(f.domain.names)
	if n < 2 || f.domain.set != rowSet || len(f.domain.moves) > 0 {
		return false
	}
	i, j := f.domain.names[n-2], f.domain.names[n-1]
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
	case *equality:
		sides := []string{shapeOfTerm(f.a, rename), shapeOfTerm(f.b, rename)}
		if f.premetric != KL { // the others are symmetric
			slices.Sort(sides)
		}
		head := *f
		head.a, head.b = Variable(sides[0]), Variable(sides[1])
		return textOf(&head)
	case *connective:
		sides := []string{shapeOf(f.a, rename), shapeOf(f.b, rename)}
		if f.kind != implication {
			slices.Sort(sides)
		}
		return "(" + sides[0] + " " + string("&|>"[f.kind]) + " " + sides[1] + ")"
	case *negation:
		return "not " + shapeOf(f.a, rename)
	case *independence:
		return textOf(f)
	case *scaled:
		return number(f.weight) + " * " + shapeOf(f.a, rename)
	case *quantified:
		head := *f
		head.body = &equality{a: Variable(""), b: Variable("")}
		head.domain.moves = slices.Clone(f.domain.moves)
		for k := range head.domain.moves {
			m := &head.domain.moves[k]
			m.from, m.to = Variable(rename(string(m.from))), Variable(rename(string(m.to)))
		}
		return "(" + textOf(&head) + shapeOf(f.body, rename) + ")"
	}
	return "?"
}

func shapeOfTerm(t Term, rename func(string) string) string {
	switch t := t.(type) {
	case *placed:
		return shapeOfTerm(t.Term, rename)
	case Variable:
		return rename(string(t))
	case *access:
		a := *t
		a.row = Variable(rename(string(a.row)))
		return textOf(&a)
	case *arithmetic:
		sign := " + "
		if t.minus {
			sign = " - "
		}
		return "(" + shapeOfTerm(t.a, rename) + sign + shapeOfTerm(t.b, rename) + ")"
	case *application:
		return quoteFunction(t.function) + "(" + shapeOfTerm(t.a, rename) + ")"
	case *multiple:
		return number(t.factor) + " * " + shapeOfTerm(t.a, rename)
	case *moved:
		m := *t
		m.a = Variable(shapeOfTerm(t.a, rename))
		return textOf(&m)
	}
	return textOf(t)
}

// Mentions reports whether the sentence is about factors, and whether it has sub-codes by name, such as z.shape.
func (s Sentence) Mentions() (factors, subCodes bool) {
	note := func(t Term) {
		if a, ok := t.(*access); ok {
			factors = factors || !a.codes
			subCodes = subCodes || a.codes && a.name != ""
		}
	}
	terms(s.Body, note)
	domains(s.Body, func(d Domain) {
		factors = factors || d.set == valueSet
		if d.set == pointSet {
			note(d.space)
		}
	})
	return factors, subCodes
}

// domains calls a function with the domain of every quantifier of a formula.
func domains(f Formula, visit func(Domain)) {
	switch f := f.(type) {
	case *connective:
		domains(f.a, visit)
		domains(f.b, visit)
	case *negation:
		domains(f.a, visit)
	case *scaled:
		domains(f.a, visit)
	case *quantified:
		visit(f.domain)
		domains(f.body, visit)
	}
}
