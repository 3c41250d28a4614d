package logic

import (
	"fmt"

	"github.com/unravel-ml/unravel/losses/logic/internal/syntax"
)

// Truth relates a quantity of 0 to the truth of the sentence (Zhang and Sugiyama 2024, theorem 1).
type Truth struct {
	Implied    bool   // if the quantity is 0, the sentence is true
	Equivalent bool   // also, if the sentence is true, the quantity is 0
	Reason     string // the reason
}

func (t Truth) String() string {
	switch {
	case t.Equivalent:
		return "0 if and only if the sentence is true: " + t.Reason
	case t.Implied:
		return "0 implies that the sentence is true, but a true sentence may not have 0: " + t.Reason
	}
	return "0 does not show that the sentence is true: " + t.Reason
}

// Truth says what a quantity of 0 means. Most formulas are 0 if and only if they are true, in every quantale here:
// equalities, conjunctions, disjunctions, quantifiers, multiples, implications from crisp formulas, and strict
// implications and negations. Any other implication a -> b is 0 if a >= b, so it can be true and not 0 if a < b. Any
// other negation can also be true and not 0, and so can a soft minimum, which is 0 only if all its quantities are 0. If
// the negated formula, or the antecedent of an implication, contains such a formula, a quantity of 0 says nothing.
// (Theorem 1 omits this case. Its proof, by theorem 10, assumes parts that are 0 if and only if they are true.) The
// cosine distance is also 0 for different vectors with the same direction.
func (s Sentence) Truth() Truth {
	q := s.tree.Quantale
	l := linkOf(q, s.tree.Body)
	t := Truth{Implied: l.sound == "", Equivalent: l.sound == "" && l.complete == ""}
	switch {
	case t.Equivalent:
		t.Reason = "it has no negation, and only crisp formulas (= or !=) imply others"
		if q.Implies == syntax.ImpliesStrict || q.Not == syntax.NotStrict {
			t.Reason = "its negations are strict, and its implications strict or from crisp formulas"
		}
	case t.Implied:
		t.Reason = l.complete
	default:
		t.Reason = l.sound
	}
	return t
}

// link holds two reasons: why zero does not imply truth (sound), and why truth does not imply zero (complete). An empty
// reason means that the implication holds.
type link struct{ sound, complete string }

func linkOf(q syntax.Quantale, f syntax.Formula) link {
	if syntax.IsCrisp(f) {
		return link{}
	}
	switch f := f.(type) {
	case *syntax.Equality:
		if f.Premetric == syntax.Cosine {
			return link{sound: fmt.Sprintf("=[cosine] compares directions: 0 of %s means that %s and %s have the same direction, not that they are equal",
				syntax.TextOf(f), syntax.TextOf(f.A), syntax.TextOf(f.B))}
		}
	case *syntax.Connective:
		a, b := linkOf(q, f.A), linkOf(q, f.B)
		switch {
		case f.Kind != syntax.ImpliesKind:
			return link{either(a.sound, b.sound), either(a.complete, b.complete)}
		case syntax.IsCrisp(f.A):
			return b
		case q.Implies == syntax.ImpliesStrict:
			return link{either(b.sound, antecedent(f, a.complete)), either(b.complete, a.sound)}
		}
		l := link{sound: b.sound, complete: fmt.Sprintf("the implication %s may be true where %s is nearer to 0 than %s, but not 0", syntax.TextOf(f), syntax.TextOf(f.A), syntax.TextOf(f.B))}
		l.sound = either(l.sound, antecedent(f, a.complete))
		return l
	case *syntax.Negated:
		a := linkOf(q, f.A)
		l := link{complete: fmt.Sprintf("the negation of %[1]s may be true and not 0, where %[1]s is false with a small value", syntax.TextOf(f.A))}
		if a.complete != "" {
			l.sound = fmt.Sprintf("%s, which is negated, may be true and not 0: %s", syntax.TextOf(f.A), a.complete)
		}
		if q.Not == syntax.NotStrict {
			l.complete = a.sound
		}
		return l
	case *syntax.Independence:
		return linkOfIndependence(f)
	case *syntax.Scaled:
		return linkOf(q, f.A)
	case *syntax.Quantified:
		l := linkOf(q, f.Body)
		for _, d := range f.Domain.Functions {
			if d.Class == syntax.MLP {
				l.complete = either(l.complete, fmt.Sprintf("training may not find the function %s in mlp for which %s is true", d.Name, syntax.TextOf(f)))
			}
		}
		if f.Fold == syntax.AnySoft {
			l.complete = either(l.complete, fmt.Sprintf("the soft minimum of %s is 0 only where all its quantities are 0; one is enough for truth", syntax.TextOf(f)))
		}
		return l
	}
	return link{}
}

// antecedent is the reason why an implication is not sound if its antecedent can be true and not 0.
func antecedent(f *syntax.Connective, complete string) string {
	if complete == "" {
		return ""
	}
	return fmt.Sprintf("%s, from which %s follows, may be true and not 0: %s", syntax.TextOf(f.A), syntax.TextOf(f.B), complete)
}

func either(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// linkOfIndependence says that 0 means independence of the sub-codes for a row drawn at random from the batch.
func linkOfIndependence(f *syntax.Independence) link {
	switch f.By {
	case syntax.TotalCorrelation:
		return link{sound: fmt.Sprintf("%s is also 0 for uncorrelated codes that depend on each other", syntax.TextOf(f))}
	case syntax.ByDiscriminator:
		estimate := fmt.Sprintf("%s is the estimate of a discriminator", syntax.TextOf(f))
		return link{estimate, estimate}
	}
	return link{}
}
