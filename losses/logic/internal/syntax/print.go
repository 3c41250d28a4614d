package syntax

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/unravel-ml/unravel/datasets/factor"
)

// String returns the sentence as text. Parse(s.String()) is the same sentence.
func (s Sentence) String() string {
	settings := s.settings()
	if s.Sampled {
		settings = append([]string{"z ~ q"}, settings...)
	}
	w := writer{}
	if len(settings) > 0 {
		w.add("with ", strings.Join(settings, ", "), ": ")
	}
	w.formula(s.Body, levelImplies)
	return w.String()
}

// TextOf returns a part of a sentence as text.
func TextOf(part Part) string {
	w := writer{}
	switch part := part.(type) {
	case Formula:
		w.formula(part, levelImplies)
	case Term:
		w.term(part, levelPlus)
	case *Function:
		w.function(part)
	}
	return w.String()
}

// writer prints parts of sentences with the necessary parentheses.
type writer struct {
	strings.Builder
	names map[string]string // new names of variables; if set, the order of operands does not depend on the old names
}

// text returns the output of the given function.
func (w *writer) text(write func(*writer)) string {
	v := writer{names: w.names}
	write(&v)
	return v.String()
}

func (w *writer) operands(name string, commutes bool, a, b func(*writer)) {
	left, right := w.text(a), w.text(b)
	if w.names != nil && commutes && right < left {
		left, right = right, left
	}
	w.add(left, name, right)
}

func (w *writer) variable(v Variable) {
	if name, ok := w.names[string(v)]; ok {
		v = Variable(name)
	}
	w.add(string(v))
}

func (w *writer) add(parts ...string) {
	for _, p := range parts {
		w.WriteString(p)
	}
}

// enclosed writes a part, in parentheses if it binds less tightly than its context requires.
func (w *writer) enclosed(binds, wanted int, write func()) {
	if binds < wanted {
		w.add("(")
		defer w.add(")")
	}
	write()
}

func (w *writer) formula(f Formula, level int) {
	switch f := f.(type) {
	case *Equality:
		w.enclosed(levelEqual, level, func() { w.equality(f) })
	case *Connective:
		w.connective(f, level, [...]string{" and ", " or ", " -> "}, (*writer).formula)
	case *Negated:
		w.enclosed(levelNot, level, func() { w.add("not "); w.formula(f.A, levelNot) })
	case *Independence:
		w.independence(f)
	case *Scaled:
		w.enclosed(levelEqual, level, func() { w.add(number(f.Weight), " * "); w.formula(f.A, levelAtom) })
	case *Quantified:
		// A quantifier's body extends as far as possible, so the quantifier is alone or in parentheses.
		w.enclosed(levelImplies, level, func() { w.quantified(f) })
	}
}

// connective writes a connective by one of three names, and its operands.
func (w *writer) connective(f *Connective, level int, names [3]string, write func(*writer, Formula, int)) {
	binds, left, right := levelAnd, levelAnd, levelNot
	switch f.Kind {
	case OrKind:
		binds, left, right = levelOr, levelOr, levelAnd
	case ImpliesKind:
		binds, left, right = levelImplies, levelOr, levelImplies
	}
	if w.names != nil {
		left = right
	}
	w.enclosed(binds, level, func() {
		w.operands(names[f.Kind], f.Kind != ImpliesKind, func(w *writer) { write(w, f.A, left) },
			func(w *writer) { write(w, f.B, right) })
	})
}

func (w *writer) equality(e *Equality) {
	sign := " =[" + e.Premetric.String() + "] "
	switch {
	case e.Not:
		sign = " != "
	case e.Premetric == Crisp:
		sign = " = "
	case e.Premetric == Circular && e.Period != 1:
		sign = " =[circular " + number(e.Period) + "] "
	}
	w.operands(sign, e.Premetric != KL, func(w *writer) { w.term(e.A, levelPlus) },
		func(w *writer) { w.term(e.B, levelPlus) })
}

func (w *writer) quantified(q *Quantified) {
	switch {
	case q.Fold == AnySoft:
		w.add("exists[soft ", number(q.Temperature), "] ")
	case q.Universal && q.Fold == NoFold && q.Aggregate == factor.Max:
		w.add("forall ")
	case q.Universal:
		w.add("forall[", q.AggregateName(), "] ")
	case q.Fold == NoFold:
		w.add("exists ")
	default:
		w.add("exists[", q.Fold.String(), "] ")
	}
	w.variables(q.Domain)
	switch q.Domain.Set {
	case ValueSet:
		w.add(" in y.", quoteName(q.Domain.Factor))
	case MemberSet:
		w.add(" in {", joined(q.Domain.Members,
			func(c Term) string { return w.text(func(w *writer) { w.term(c, levelAtom) }) }), "}")
	case PointSet:
		w.add(" in ")
		w.access(q.Domain.Space)
	}
	w.add(": ")
	w.formula(q.Body, levelImplies)
}

func (w *writer) term(t Term, level int) {
	switch t := t.(type) {
	case *placed:
		w.term(t.Term, level)
	case Variable:
		w.variable(t)
	case Number:
		w.add(number(float64(t)))
	case Vector:
		w.add("[", joined(t, number), "]")
	case Level:
		w.add(strconv.Quote(string(t)))
	case *Access:
		w.access(t)
	case *Moved:
		w.moved(t)
	case *Application:
		w.add(quoteFunction(t.Function), "(")
		w.term(t.A, levelPlus)
		w.add(")")
	case *Arithmetic:
		w.enclosed(levelPlus, level, func() {
			w.term(t.A, levelPlus)
			if t.Minus {
				w.add(" - ")
			} else {
				w.add(" + ")
			}
			w.term(t.B, levelTimes)
		})
	case *Multiple:
		w.enclosed(levelTimes, level, func() { w.add(number(t.Factor), " * "); w.term(t.A, levelTimes) })
	}
}

func (w *writer) access(a *Access) {
	if a.Codes {
		w.add("z")
	} else {
		w.add("y")
	}
	if a.Name != "" {
		w.add(".", quoteName(a.Name))
	} else if len(a.Columns) > 0 {
		w.add("[", joined(a.Columns, Range.String), "]")
	}
	if a.Row != "" {
		w.add("(")
		w.variable(a.Row)
		w.add(")")
	}
}

// String returns the range in the syntax of sentences.
func (r Range) String() string {
	if r.Hi == r.Lo+1 {
		return strconv.Itoa(r.Lo)
	}
	return fmt.Sprintf("%d:%d", r.Lo, r.Hi)
}

// joined joins the texts of elements with commas.
func joined[T any](all []T, text func(T) string) string {
	texts := make([]string, len(all))
	for i, x := range all {
		texts[i] = text(x)
	}
	return strings.Join(texts, ", ")
}

// AggregateName is the name of the aggregate of a universal quantifier.
func (q *Quantified) AggregateName() string {
	if q.Fold != NoFold {
		return q.Fold.String()
	}
	return q.Aggregate.String()
}

func number(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// function writes a function in the syntax of a quantifier.
func (w *writer) function(f *Function) {
	w.add(quoteFunction(f.Name), ": ")
	w.access(f.From)
	w.add(" -> ")
	w.access(f.To)
	if f.Class != AnyFunction {
		w.add(" in ", f.Class.String())
	}
	if f.Class == MLP && f.Layers != nil {
		w.add(" {layers: [", joined(f.Layers, strconv.Itoa), "]}")
	}
	if f.By != ByBody {
		w.add(" by ", f.By.String())
	}
}

// quoteFunction writes the name of a function in the syntax of sentences.
func quoteFunction(name string) string {
	head, tail, dotted := strings.Cut(name, ".")
	if !dotted {
		return head
	}
	return head + "." + quoteName(tail)
}

func (w *writer) moved(m *Moved) {
	w.add("act")
	if m.Frequency != 1 {
		w.add("[", number(m.Frequency), "]")
	}
	w.add("(", string(m.Name))
	if m.Turn != "" {
		w.add(".", quoteName(m.Turn))
	}
	w.add(", ")
	w.term(m.A, levelPlus)
	w.add(")")
}

// variables writes the variables of a domain, `i, j, g(i, j)`.
func (w *writer) variables(d Domain) {
	if d.Set == FunctionSet {
		w.add(joined(d.Functions, func(f *Function) string { return TextOf(f) }))
		return
	}
	w.add(strings.Join(d.Names, ", "))
	for _, m := range d.Moves {
		w.add(", ", m.Name, "(")
		w.variable(m.From)
		w.add(", ")
		w.variable(m.To)
		w.add(")")
	}
}

func (w *writer) independence(f *Independence) {
	w.add("independent")
	if f.By != HSIC {
		w.add("[", f.By.String(), "]")
	}
	w.add("(", f.list(), ")")
}

func (f *Independence) list() string {
	return joined(f.Codes, func(a *Access) string { return TextOf(a) })
}
