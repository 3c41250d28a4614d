package logic

import "fmt"

// Truth relates a quantity of 0 to the truth of the sentence (Zhang and Sugiyama 2024,
// theorem 1).
type Truth struct {
	Implied    bool   // where the quantity is 0, the sentence is true
	Equivalent bool   // and where the sentence is true, the quantity is 0
	Reason     string // why
}

func (t Truth) String() string {
	switch {
	case t.Equivalent:
		return "zero is equivalent to truth: " + t.Reason
	case t.Implied:
		return "zero implies truth: " + t.Reason
	}
	return "zero does not decide: " + t.Reason
}

// Truth determines the meaning of a quantity of 0. Equalities, conjunctions, disjunctions,
// quantifiers, multiples, and implications from crisp formulas are 0 exactly where they
// are true, in every quantale here. An implication a -> b is 0 where a >= b: it may be
// true, with a < b, and not 0. A negation may also be true and not 0. If the negated part
// or the antecedent contains such a formula, zero implies nothing. (Theorem 1 omits this
// case: its proof, by theorem 10, assumes parts that are 0 exactly where they are true.)
func (s Sentence) Truth() Truth {
	l := linkOf(s.Body)
	t := Truth{Implied: l.sound == "", Equivalent: l.sound == "" && l.complete == ""}
	switch {
	case t.Equivalent:
		t.Reason = "it has no negation, and no implication but from crisp formulas"
	case t.Implied:
		t.Reason = l.complete
	default:
		t.Reason = l.sound
	}
	return t
}

// link holds the reasons why zero does not imply truth (sound) and truth does not imply
// zero (complete); empty if it does.
type link struct{ sound, complete string }

func linkOf(f Formula) link {
	if isCrisp(f) {
		return link{}
	}
	switch f := f.(type) {
	case *connective:
		a, b := linkOf(f.a), linkOf(f.b)
		switch {
		case f.kind != implication:
			return link{either(a.sound, b.sound), either(a.complete, b.complete)}
		case isCrisp(f.a):
			return b
		}
		l := link{sound: b.sound, complete: fmt.Sprintf("the implication %s may be true where %s is nearer to 0 than %s, but not 0", textOf(f), textOf(f.a), textOf(f.b))}
		if a.complete != "" {
			l.sound = either(l.sound, fmt.Sprintf("%s, from which %s follows, may be true and not 0: %s", textOf(f.a), textOf(f.b), a.complete))
		}
		return l
	case *negation:
		a := linkOf(f.a)
		l := link{complete: fmt.Sprintf("the negation of %s is not 0 where that is only nearly true", textOf(f.a))}
		if a.complete != "" {
			l.sound = fmt.Sprintf("%s, which is negated, may be true and not 0: %s", textOf(f.a), a.complete)
		}
		return l
	case *scaled:
		return linkOf(f.a)
	case *quantified:
		return linkOf(f.body)
	}
	return link{}
}

func either(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
