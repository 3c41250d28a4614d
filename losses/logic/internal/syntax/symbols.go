package syntax

import "strings"

// Formula returns the sentence in the symbols of logic, without premetrics, aggregates and multiples.
func (s Sentence) Formula() string {
	w := &writer{}
	if s.Sampled {
		w.add("z ∼ q: ")
	}
	logical(w, s.Body, levelImplies)
	return w.String()
}

// Quantity returns the formula of the sentence's quantity.
func (s Sentence) Quantity() string {
	w := measure{Quantale: s.Quantale}
	return w.formula(s.Body)
}

func logical(w *writer, f Formula, level int) {
	switch f := f.(type) {
	case *Equality:
		w.enclosed(levelEqual, level, func() { w.add(equation(f)) })
	case *Connective:
		w.connective(f, level, [...]string{" ∧ ", " ∨ ", " → "}, logical)
	case *Negated:
		w.enclosed(levelNot, level, func() { w.add("¬"); logical(w, f.A, levelAtom) })
	case *Independence:
		w.enclosed(levelEqual, level, func() { w.add(strings.ReplaceAll(f.list(), ", ", " ⫫ ")) })
	case *Scaled:
		logical(w, f.A, level)
	case *Quantified:
		w.enclosed(levelImplies, level, func() {
			if f.Universal {
				w.add("∀ ")
			} else {
				w.add("∃ ")
			}
			w.add(variables(f.Domain), ": ")
			logical(w, f.Body, levelImplies)
		})
	}
}

// equation writes an equality without the premetric.
func equation(e *Equality) string {
	sign := " = "
	if e.Not {
		sign = " ≠ "
	}
	return mathTerm(e.A) + sign + mathTerm(e.B)
}

func mathTerm(t Term) string {
	return strings.NewReplacer(" - ", " − ", "-", "−", " * ", "·").Replace(TextOf(t))
}

// variables writes the variables of a quantifier and their domain.
func variables(d Domain) string {
	w := writer{}
	w.variables(d)
	if d.Set == FunctionSet {
		return strings.ReplaceAll(w.String(), "->", "→")
	}
	switch d.Set {
	case ValueSet:
		w.add(" ∈ y.", quoteName(d.Factor))
	case MemberSet:
		w.add(" ∈ {", joined(d.Members, mathTerm), "}")
	case PointSet:
		w.add(" ∈ ")
		w.access(d.Space)
	}
	return w.String()
}

// measure writes quantities.
type measure struct{ Quantale }

func (w measure) formula(f Formula) string {
	if IsCrisp(f) {
		return "∞·[" + logicOf(&Negated{A: f}) + "]"
	}
	switch f := f.(type) {
	case *Equality:
		return distance(f)
	case *Connective:
		if f.Kind == ImpliesKind && IsCrisp(f.A) {
			return "[" + logicOf(f.A) + "]·(" + w.formula(f.B) + ")"
		}
		return w.connective(f.Kind, w.formula(f.A), w.formula(f.B))
	case *Negated:
		switch w.Not {
		case NotInverse:
			return "1 / (" + w.formula(f.A) + ")"
		case NotStrict:
			return "[" + w.formula(f.A) + " = 0]"
		}
		return "(1 ∸ " + w.formula(f.A) + ")"
	case *Independence:
		return f.By.String() + "(" + f.list() + ")"
	case *Scaled:
		return number(f.Weight) + "·" + w.formula(f.A)
	case *Quantified:
		guards, rest := f.Guards()
		if f.Domain.Set == PointSet {
			guards, rest = nil, f.Body
		}
		over := variables(f.Domain)
		for i, g := range guards {
			over += []string{" | ", ", "}[min(i, 1)] + logicOf(g)
		}
		return aggregator(f) + "{" + over + "} " + w.formula(rest)
	}
	return "?"
}

func aggregator(f *Quantified) string {
	switch {
	case f.Domain.Set == PointSet, f.Domain.Set == FunctionSet:
		return "inf"
	case f.Fold == AnySoft:
		return "soft[" + number(f.Temperature) + "]"
	case f.Universal:
		return f.AggregateName()
	}
	return f.Fold.String()
}

func logicOf(f Formula) string {
	w := &writer{}
	logical(w, f, levelImplies)
	return w.String()
}

// connective writes an operation on two quantities.
func (w measure) connective(k Kind, a, b string) string {
	switch {
	case k == AndKind && w.And == AndAdd:
		return "(" + a + " + " + b + ")"
	case k == AndKind:
		return w.And.String() + "(" + a + ", " + b + ")"
	case k == OrKind:
		return w.Or.String() + "(" + a + ", " + b + ")"
	case w.Implies == ImpliesStrict:
		return "[" + a + " = 0]·(" + b + ")"
	case w.Implies == ImpliesMonus:
		return "(" + b + " ∸ " + a + ")"
	}
	return "(" + a + " ⊸[" + w.Implies.String() + "] " + b + ")"
}

func distance(e *Equality) string {
	a, b := mathTerm(e.A), mathTerm(e.B)
	if _, ok := Bare(e.B).(*Arithmetic); ok {
		b = "(" + b + ")"
	}
	switch e.Premetric {
	case Euclidean:
		return "‖" + a + " − " + b + "‖"
	case Squared:
		return "‖" + a + " − " + b + "‖²"
	case Absolute:
		return "‖" + a + " − " + b + "‖₁"
	case Discrete:
		return "#(" + a + " ≠ " + b + ")"
	case Cosine:
		return "(1 − cos(" + a + ", " + mathTerm(e.B) + "))"
	case KL:
		return "KL(q[" + a + "] ‖ q[" + b + "])"
	case Wasserstein:
		return "W₂(q[" + a + "], q[" + b + "])"
	}
	return "arc(" + a + ", " + b + "; " + number(e.Period) + ")"
}
