package logic

import (
	"strconv"
	"strings"
)

// Formula returns the sentence in the symbols of logic, without premetrics, aggregates
// and multiples.
func (s Sentence) Formula() string {
	w := logician{}
	if s.Sampled {
		w.add("z ∼ q: ")
	}
	w.formula(s.Body, levelImplies)
	return w.String()
}

// Quantity returns the formula of the sentence's quantity.
func (s Sentence) Quantity() string {
	w := measure{Quantale: s.Quantale}
	return w.formula(s.Body)
}

// logician writes formulas of logic.
type logician struct{ writer }

func (w *logician) formula(f Formula, level int) {
	switch f := f.(type) {
	case *equality:
		w.enclosed(levelEqual, level, func() { w.add(equation(f)) })
	case *connective:
		name, binds, left, right := " ∧ ", levelAnd, levelAnd, levelNot
		switch f.kind {
		case disjunction:
			name, binds, left, right = " ∨ ", levelOr, levelOr, levelAnd
		case implication:
			name, binds, left, right = " → ", levelImplies, levelOr, levelImplies
		}
		w.enclosed(binds, level, func() {
			w.formula(f.a, left)
			w.add(name)
			w.formula(f.b, right)
		})
	case *negation:
		w.enclosed(levelNot, level, func() { w.add("¬"); w.formula(f.a, levelAtom) })
	case *independence:
		w.enclosed(levelEqual, level, func() { w.add(f.symbols()) })
	case *scaled:
		w.formula(f.a, level)
	case *quantified:
		w.enclosed(levelImplies, level, func() {
			if f.universal {
				w.add("∀ ")
			} else {
				w.add("∃ ")
			}
			w.add(variables(f.domain), ": ")
			w.formula(f.body, levelImplies)
		})
	default:
		w.add("?")
	}
}

// equation writes an equality without its premetric.
func equation(e *equality) string {
	sign := " = "
	if e.not {
		sign = " ≠ "
	}
	return mathTerm(e.a) + sign + mathTerm(e.b)
}

func mathTerm(t Term) string {
	return strings.NewReplacer(" - ", " − ", "-", "−", " * ", "·").Replace(textOf(t))
}

// variables writes the variables of a quantifier and their domain.
func variables(d Domain) string {
	w := writer{}
	if d.set == functionSet {
		return strings.ReplaceAll(d.variables(), "->", "→")
	}
	w.add(d.variables())
	switch d.set {
	case valueSet:
		w.add(" ∈ y.", quoteName(d.factor))
	case memberSet:
		all := make([]string, len(d.members))
		for i, m := range d.members {
			all[i] = mathTerm(m)
		}
		w.add(" ∈ {", strings.Join(all, ", "), "}")
	case pointSet:
		w.add(" ∈ ")
		w.access(d.space)
	}
	return w.String()
}

// measure writes quantities.
type measure struct{ Quantale }

func (w measure) formula(f Formula) string {
	if isCrisp(f) {
		return "∞·[" + logicOf(&negation{a: f}) + "]"
	}
	switch f := f.(type) {
	case *equality:
		return distance(f)
	case *connective:
		if f.kind == implication && isCrisp(f.a) {
			return "[" + logicOf(f.a) + "]·(" + w.formula(f.b) + ")"
		}
		return w.connective(f.kind, w.formula(f.a), w.formula(f.b))
	case *negation:
		switch w.Not {
		case NotInverse:
			return "1 / (" + w.formula(f.a) + ")"
		case NotStrict:
			return "[" + w.formula(f.a) + " = 0]"
		}
		return "(1 ∸ " + w.formula(f.a) + ")"
	case *independence:
		return f.by.String() + "(" + f.list() + ")"
	case *scaled:
		return number(f.weight) + "·" + w.formula(f.a)
	case *quantified:
		guards, rest := f.guards()
		if f.domain.set == pointSet {
			guards, rest = nil, f.body
		}
		over := variables(f.domain)
		for i, g := range guards {
			over += []string{" | ", ", "}[min(i, 1)] + logicOf(g)
		}
		return aggregator(f) + "{" + over + "} " + w.formula(rest)
	}
	return "?"
}

func aggregator(f *quantified) string {
	switch {
	case f.domain.set == pointSet, f.domain.set == functionSet:
		return "inf"
	case f.fold == anySoft:
		return "soft[" + number(f.temperature) + "]"
	case f.fold != noFold:
		return f.fold.String()
	case !f.universal:
		return "min"
	}
	return f.aggregate.String()
}

func logicOf(f Formula) string {
	w := logician{}
	w.formula(f, levelImplies)
	return w.String()
}

// connective writes an operation on two quantities.
func (w measure) connective(k kind, a, b string) string {
	switch {
	case k == conjunction && w.And == AndAdd:
		return "(" + a + " + " + b + ")"
	case k == conjunction:
		return w.And.String() + "(" + a + ", " + b + ")"
	case k == disjunction:
		return w.Or.String() + "(" + a + ", " + b + ")"
	case w.Implies == ImpliesStrict:
		return "[" + a + " = 0]·(" + b + ")"
	case w.Implies == ImpliesMonus:
		return "(" + b + " ∸ " + a + ")"
	}
	return "(" + a + " ⊸[" + w.Implies.String() + "] " + b + ")"
}

func distance(e *equality) string {
	a, b := mathTerm(e.a), mathTerm(e.b)
	if _, ok := bare(e.b).(*arithmetic); ok {
		b = "(" + b + ")"
	}
	switch e.premetric {
	case Euclidean:
		return "‖" + a + " − " + b + "‖"
	case Squared:
		return "‖" + a + " − " + b + "‖²"
	case Absolute:
		return "‖" + a + " − " + b + "‖₁"
	case Discrete:
		return "#(" + a + " ≠ " + b + ")"
	case Cosine:
		return "(1 − cos(" + a + ", " + mathTerm(e.b) + "))"
	case KL:
		return "KL(q[" + a + "] ‖ q[" + b + "])"
	case Wasserstein:
		return "W₂(q[" + a + "], q[" + b + "])"
	}
	return "arc(" + a + ", " + b + "; " + strconv.FormatFloat(e.period, 'g', -1, 64) + ")"
}

// symbols writes independence in the symbols of probability.
func (f *independence) symbols() string { return strings.ReplaceAll(f.list(), ", ", " ⫫ ") }
