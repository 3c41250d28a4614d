package syntax

import (
	"slices"
	"strings"
)

// Inspect calls a function for a formula or term, and for all formulas and terms inside it. If the function returns
// false, Inspect skips the parts inside.
func Inspect(part Part, visit func(part Part) bool) {
	if t, ok := part.(Term); ok {
		part = Bare(t)
	}
	if !visit(part) {
		return
	}
	switch p := part.(type) {
	case *Equality:
		Inspect(p.A, visit)
		Inspect(p.B, visit)
	case *Connective:
		Inspect(p.A, visit)
		Inspect(p.B, visit)
	case *Negated:
		Inspect(p.A, visit)
	case *Scaled:
		Inspect(p.A, visit)
	case *Quantified:
		Inspect(p.Body, visit)
	case *Independence:
		for _, t := range p.Codes {
			Inspect(t, visit)
		}
	case *Arithmetic:
		Inspect(p.A, visit)
		Inspect(p.B, visit)
	case *Multiple:
		Inspect(p.A, visit)
	case *Moved:
		Inspect(p.A, visit)
	case *Application:
		Inspect(p.A, visit)
	}
}

// contains reports whether a part of a formula or term has a property.
func contains(part Part, is func(part Part) bool) (found bool) {
	Inspect(part, func(p Part) bool {
		found = found || is(p)
		return !found
	})
	return found
}

// Applications lists the applications of functions in a formula or term.
func Applications(part Part) (all []*Application) {
	Inspect(part, func(p Part) bool {
		if a, ok := p.(*Application); ok {
			all = append(all, a)
		}
		return true
	})
	return all
}

// Mentions reports whether a formula contains a variable.
func Mentions(f Formula, name string) bool {
	return contains(f, func(p Part) bool {
		a, ok := p.(*Access)
		return p == Variable(name) || ok && string(a.Row) == name
	})
}

// Moves reports whether the sentence uses transformations between rows.
func (s Sentence) Moves() bool {
	return contains(s.Body, func(p Part) bool {
		q, ok := p.(*Quantified)
		return ok && len(q.Domain.Moves) > 0
	})
}

// Mentions reports whether the sentence is about factors, and whether it has sub-codes by name, such as z.shape.
func (s Sentence) Mentions() (factors, subCodes bool) {
	Inspect(s.Body, func(p Part) bool {
		switch p := p.(type) {
		case *Access:
			factors = factors || !p.Codes
			subCodes = subCodes || p.Codes && p.Name != ""
		case *Quantified:
			factors = factors || p.Domain.Set == ValueSet
			subCodes = subCodes || p.Domain.Set == PointSet && p.Domain.Space.Name != ""
		}
		return true
	})
	return factors, subCodes
}

// AllRows reports whether a variable or an independence ranges over all rows, also where all factors are unknown.
func (s Sentence) AllRows() bool {
	return contains(s.Body, func(p Part) bool {
		switch p := p.(type) {
		case *Independence:
			return true
		case *Quantified:
			return p.Domain.Set == RowSet && slices.ContainsFunc(p.Domain.Names, p.free)
		}
		return false
	})
}

// free reports whether no factor and no move restricts a variable over rows.
func (q *Quantified) free(name string) bool {
	moved := func(m PairMove) bool { return string(m.From) == name || string(m.To) == name }
	return !slices.ContainsFunc(q.Domain.Moves, moved) && !contains(q.Body, func(p Part) bool {
		a, ok := p.(*Access)
		return ok && !a.Codes && string(a.Row) == name
	})
}

// Compared lists the factors by whose levels the sentence groups rows, in any order.
func (s Sentence) Compared() (factors []string) {
	add := func(part Part) {
		if a, ok := part.(*Access); ok && !a.Codes && a.Name != "" && !slices.Contains(factors, a.Name) {
			factors = append(factors, a.Name)
		}
	}
	Inspect(s.Body, func(p Part) bool {
		switch p := p.(type) {
		case *Equality:
			if p.Premetric == Crisp && !p.Not {
				add(Bare(p.A))
				add(Bare(p.B))
			}
		case *Quantified:
			for _, f := range p.Domain.Functions {
				if f.Class == AnyFunction {
					add(f.From)
				}
			}
		}
		return true
	})
	return factors
}

// IsCrisp reports whether a formula is 0 or infinity: it has no premetric.
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

// Guards splits the body of a quantifier into crisp formulas that restrict its domain, and the rest.
func (q *Quantified) Guards() (crisp []Formula, rest Formula) {
	switch {
	case q.Domain.Set == FunctionSet, !q.Universal && IsCrisp(q.Body):
		return nil, q.Body
	case q.Universal:
		for rest = q.Body; ; {
			c, ok := rest.(*Connective)
			if !ok || c.Kind != ImpliesKind || !IsCrisp(c.A) || IsCrisp(c.B) {
				return crisp, rest
			}
			crisp, rest = append(crisp, conjuncts(c.A, nil)...), c.B
		}
	}
	for _, f := range conjuncts(q.Body, nil) {
		switch {
		case IsCrisp(f):
			crisp = append(crisp, f)
		case rest == nil:
			rest = f
		default:
			rest = &Connective{Place: Place(f.position()), Kind: AndKind, A: rest, B: f}
		}
	}
	return crisp, rest
}

func conjuncts(f Formula, list []Formula) []Formula {
	if c, ok := f.(*Connective); ok && c.Kind == AndKind {
		return conjuncts(c.B, conjuncts(c.A, list))
	}
	return append(list, f)
}

// Unbounded finds a crisp part that could make the quantity of a formula infinite.
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
	return nil // premetrics are finite, and the negation of infinity is 0
}

// HasQuantifier reports whether a formula contains quantifiers that are computed one tuple at a time.
func HasQuantifier(f Formula) (has bool) {
	Inspect(f, func(p Part) bool {
		switch p.(type) {
		case *Quantified, *Independence:
			has = has || !IsCrisp(p.(Formula))
		}
		f, ok := p.(Formula)
		return ok && !IsCrisp(f)
	})
	return has
}

// Symmetric reports whether the last two variables of a quantifier are interchangeable.
func Symmetric(f *Quantified, guards []Formula, body Formula) bool {
	n := len(f.Domain.Names)
	if n < 2 || f.Domain.Set != RowSet || len(f.Domain.Moves) > 0 {
		return false
	}
	i, j := f.Domain.Names[n-2], f.Domain.Names[n-1]
	return shape(guards, body, i, j) == shape(guards, body, j, i)
}

// shape prints guards and a body with two variables renamed, so the order of operands does not depend on their names.
func shape(guards []Formula, body Formula, i, j string) string {
	w := writer{names: map[string]string{i: "#1", j: "#2"}}
	var all []string
	for _, g := range guards {
		all = append(all, w.text(func(w *writer) { w.formula(g, levelImplies) }))
	}
	slices.Sort(all)
	w.formula(body, levelImplies)
	return w.String() + " | " + strings.Join(all, " | ")
}
