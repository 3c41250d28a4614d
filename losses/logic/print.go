package logic

import (
	"slices"
	"strconv"
	"strings"

	"github.com/unravel-ml/unravel/datasets/factor"
)

// String returns the sentence as text. Parse(s.String()) is the same sentence.
func (s Sentence) String() string {
	w := writer{}
	switch q := s.Quantale.String(); {
	case s.Sampled && q != "":
		w.add("with z ~ q, ", strings.TrimPrefix(q, "with "), " ")
	case s.Sampled:
		w.add("with z ~ q: ")
	case q != "":
		w.add(q, " ")
	}
	w.formula(s.Body, levelImplies)
	return w.String()
}

// textOf returns a part of a sentence as text.
func textOf(part any) string {
	w := writer{}
	switch part := part.(type) {
	case Formula:
		w.formula(part, levelImplies)
	case Term:
		w.term(part, levelPlus)
	}
	return w.String()
}

// writer writes parts of sentences with the necessary parentheses.
type writer struct{ strings.Builder }

func (w *writer) add(parts ...string) {
	for _, p := range parts {
		w.WriteString(p)
	}
}

// enclosed writes a part, in parentheses if it binds looser than its context requires.
func (w *writer) enclosed(binds, wanted int, write func()) {
	if binds < wanted {
		w.add("(")
		defer w.add(")")
	}
	write()
}

func (w *writer) formula(f Formula, level int) {
	switch f := f.(type) {
	case *equality:
		w.enclosed(levelEqual, level, func() { w.equality(f) })
	case *connective:
		w.connective(f, level)
	case *negation:
		w.enclosed(levelNot, level, func() { w.add("not "); w.formula(f.a, levelNot) })
	case *independence:
		w.independence(f)
	case *scaled:
		w.enclosed(levelEqual, level, func() { w.add(number(f.weight), " * "); w.formula(f.a, levelAtom) })
	case *quantified:
		// The body extends as far as possible: it is alone or in parentheses.
		w.enclosed(levelImplies, level, func() { w.quantified(f) })
	default:
		w.add("?")
	}
}

func (w *writer) connective(f *connective, level int) {
	name, binds, left, right := " and ", levelAnd, levelAnd, levelNot
	switch f.kind {
	case disjunction:
		name, binds, left, right = " or ", levelOr, levelOr, levelAnd
	case implication:
		name, binds, left, right = " -> ", levelImplies, levelOr, levelImplies
	}
	w.enclosed(binds, level, func() {
		w.formula(f.a, left)
		w.add(name)
		w.formula(f.b, right)
	})
}

func (w *writer) equality(e *equality) {
	w.term(e.a, levelPlus)
	switch {
	case e.not:
		w.add(" != ")
	case e.premetric == Crisp:
		w.add(" = ")
	case e.premetric == Circular && e.period != 1:
		w.add(" =[circular ", number(e.period), "] ")
	default:
		w.add(" =[", e.premetric.String(), "] ")
	}
	w.term(e.b, levelPlus)
}

func (w *writer) quantified(q *quantified) {
	switch {
	case q.fold == anySoft:
		w.add("exists[soft ", number(q.temperature), "] ")
	case q.fold != noFold && q.universal:
		w.add("forall[", q.fold.String(), "] ")
	case q.fold != noFold:
		w.add("exists[", q.fold.String(), "] ")
	case !q.universal:
		w.add("exists ")
	case q.aggregate == factor.Max:
		w.add("forall ")
	default:
		w.add("forall[", q.aggregate.String(), "] ")
	}
	w.add(q.domain.variables())
	switch q.domain.set {
	case valueSet:
		w.add(" in y.", quoteName(q.domain.factor))
	case memberSet:
		w.add(" in {")
		for i, c := range q.domain.members {
			if i > 0 {
				w.add(", ")
			}
			w.term(c, levelAtom)
		}
		w.add("}")
	case pointSet:
		w.add(" in ")
		w.access(q.domain.space)
	}
	w.add(": ")
	w.formula(q.body, levelImplies)
}

func (w *writer) term(t Term, level int) {
	switch t := t.(type) {
	case *placed:
		w.term(t.Term, level)
	case Variable:
		w.add(string(t))
	case Number:
		w.add(number(float64(t)))
	case Vector:
		w.add("[")
		for i, x := range t {
			if i > 0 {
				w.add(", ")
			}
			w.add(number(x))
		}
		w.add("]")
	case Level:
		w.add(strconv.Quote(string(t)))
	case *access:
		w.access(t)
	case *moved:
		w.moved(t)
	case *application:
		w.add(quoteFunction(t.function), "(")
		w.term(t.a, levelPlus)
		w.add(")")
	case *arithmetic:
		w.enclosed(levelPlus, level, func() {
			w.term(t.a, levelPlus)
			if t.minus {
				w.add(" - ")
			} else {
				w.add(" + ")
			}
			w.term(t.b, levelTimes)
		})
	case *multiple:
		w.enclosed(levelTimes, level, func() { w.add(number(t.factor), " * "); w.term(t.a, levelTimes) })
	default:
		w.add("?")
	}
}

func (w *writer) access(a *access) {
	if a.codes {
		w.add("z")
	} else {
		w.add("y")
	}
	if a.name != "" {
		w.add(".", quoteName(a.name))
	} else if len(a.columns) > 0 {
		w.add("[")
		for i, r := range a.columns {
			if i > 0 {
				w.add(", ")
			}
			w.add(strconv.Itoa(r.Lo))
			if r.Hi != r.Lo+1 {
				w.add(":", strconv.Itoa(r.Hi))
			}
		}
		w.add("]")
	}
	if a.row != "" {
		w.add("(", string(a.row), ")")
	}
}

// aggregateName is the name of the aggregate of a universal quantifier.
func (q *quantified) aggregateName() string {
	if q.fold != noFold {
		return q.fold.String()
	}
	return q.aggregate.String()
}

func number(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// String returns the function as a quantifier has it.
func (f Function) String() string {
	w := writer{}
	w.add(quoteFunction(f.Name), ": ")
	w.access(f.From.access(0))
	w.add(" -> ")
	w.access(f.To.access(0))
	if f.Class != AnyFunction {
		w.add(" in ", f.Class.String())
	}
	if f.Class == MLP && f.Layers != nil {
		w.add(" {layers: [")
		for i, n := range f.Layers {
			if i > 0 {
				w.add(", ")
			}
			w.add(strconv.Itoa(n))
		}
		w.add("]}")
	}
	if f.By != ByBody {
		w.add(" by ", f.By.String())
	}
	return w.String()
}

// quoteFunction writes the name of a function as it stands in a sentence.
func quoteFunction(name string) string {
	head, tail, dotted := strings.Cut(name, ".")
	if !dotted {
		return head
	}
	return head + "." + quoteName(tail)
}

func (w *writer) moved(m *moved) {
	w.add("act")
	if f := m.move.frequency(); f != 1 {
		w.add("[", number(f), "]")
	}
	w.add("(", string(m.move.Name))
	if m.move.Turn != "" {
		w.add(".", quoteName(m.move.Turn))
	}
	w.add(", ")
	w.term(m.a, levelPlus)
	w.add(")")
}

// variables writes the variables of a domain, `i, j, g(i, j)`.
func (d Domain) variables() string {
	all := slices.Clone(d.names)
	for i, f := range d.functions {
		all[i] = f.String()
	}
	for _, m := range d.moves {
		all = append(all, m.name+"("+string(m.from)+", "+string(m.to)+")")
	}
	return strings.Join(all, ", ")
}

func (w *writer) independence(f *independence) {
	w.add("independent")
	if f.by != HSIC {
		w.add("[", f.by.String(), "]")
	}
	w.add("(", f.list(), ")")
}

// list writes the sub-codes.
func (f *independence) list() string {
	var all []string
	for _, t := range f.codes {
		all = append(all, textOf(t))
	}
	return strings.Join(all, ", ")
}
