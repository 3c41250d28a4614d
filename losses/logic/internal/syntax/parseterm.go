package syntax

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/configs/registry"
)

const wantPart = "a term, such as z(i), y.shape(i) or a number, or a formula, such as (...), not, forall or exists"

// atom reads an expression without a leading operator.
func (p *parser) atom() expression {
	t := p.next()
	switch {
	case t.kind == quotation:
		return expression{Term: &placed{t.place(), Level(t.text)}, at: t.offset}
	case t.is("("):
		e := p.expression(levelImplies)
		p.expect(")", " that closes a parenthesis")
		e.at = t.offset
		return e
	case t.is("["):
		return expression{Term: &placed{t.place(), p.vector()}, at: t.offset}
	case t.kind == word && (t.text == "forall" || t.text == "exists"):
		return expression{Formula: p.quantified(t), at: t.offset}
	case t.kind == word && t.text == "not":
		p.found(t, "a term, or the negation in parentheses: (not ...)")
	case !t.named():
		p.found(t, wantPart)
	}
	return p.named(t)
}

// named reads a variable, or a code or factor of a row.
func (p *parser) named(t token) expression {
	if a := p.application(t); a != nil {
		return expression{Term: a, at: t.offset}
	}
	n := p.peek()
	accessed := n.is("(") || n.is(".") || n.is("[") && n.joined
	switch {
	case !accessed && (n.named() || n.is("[")):
		p.fail(t.offset, "found %v before %v, want %s%s", t, n, wantPart, hint(t.text, []string{"forall", "exists", "not"}))
	case !accessed:
		return expression{Term: &placed{t.place(), Variable(t.text)}, at: t.offset}
	case t.text == "independent" && n.text != ".":
		return expression{Formula: p.independent(t), at: t.offset}
	case t.text == "act" && n.text != ".":
		return expression{Term: p.act(t), at: t.offset}
	case t.text == "z", t.text == "y":
		return expression{Term: p.access(t), at: t.offset}
	}
	p.unknownName(t, n)
	return expression{}
}

// unknownName fails at an unknown name before a bracket or a dot.
func (p *parser) unknownName(t, n token) {
	if h := hint(t.text, []string{"forall", "exists", "not"}); h != "" && n.text != "." {
		p.fail(t.offset, "found %v, want a formula%s", t, h)
	}
	if slices.Contains(p.moves, t.text) && n.text == "(" {
		p.fail(t.offset, "found %v before %v, want act(%s, ...), as %s is a transformation", t, n, t.text, t.text)
	}
	want := "y (factors) or z (codes)"
	if n.text == "(" {
		want += fmt.Sprintf("; or bind a function: exists %s: z -> y in affine: ...", t.text)
	}
	p.fail(t.offset, "found %v before %v, want %s", t, n, want)
}

// access reads the selection after y or z, and the variable of a row in parentheses.
func (p *parser) access(t token) *Access {
	a := p.space(t)
	after := " and the variable of a row"
	if w := p.peek(); a.Name != "" && w.kind == word {
		words := a.Name
		for k := p.i; p.tokens[k].kind == word; k++ {
			words += " " + p.tokens[k].text
		}
		after += fmt.Sprintf("; a name of several words stands in double quotes: %s.%q(i)", t.text, strings.TrimSpace(words))
	}
	p.expect("(", after)
	a.Row = Variable(p.name("the variable of a row").text)
	p.expect(")", " after the variable of a row")
	return a
}

// space reads the selection after y or z: nothing, a name, or columns.
func (p *parser) space(t token) *Access {
	a := &Access{Place: t.place(), Codes: t.text == "z"}
	switch {
	case p.accept("."):
		a.Name = p.quotable("the name of a factor")
	case p.accept("["):
		p.list("]", " after columns", func() { a.Columns = append(a.Columns, p.columnRange()) })
	}
	return a
}

// columnRange reads `3` or `0:2`.
func (p *parser) columnRange() Range {
	lo := p.column()
	if !p.accept(":") {
		return Range{lo, lo + 1}
	}
	t := p.peek()
	hi := p.column()
	if hi <= lo {
		p.fail(t.offset, "found columns %d:%d, want a second number that is larger than the first", lo, hi)
	}
	return Range{lo, hi}
}

func (p *parser) column() int {
	t := p.next()
	if t.kind != numeral || t.value != float64(int32(t.value)) {
		p.found(t, "the number of a column, from 0 on")
	}
	return int(t.value)
}

// vector reads the numbers of `[1, 2]` after the bracket.
func (p *parser) vector() Vector {
	var v Vector
	p.list("]", " in a vector", func() { v = append(v, p.number("a number of a vector")) })
	return v
}

func (p *parser) number(want string) float64 {
	minus := p.accept("-")
	t := p.next()
	if t.kind != numeral {
		p.found(t, want)
	}
	if minus {
		return -t.value
	}
	return t.value
}

// application reads `h(z(i))` or `m.shape(y.shape(i))` after its first name, or nothing, for nil, without a function.
func (p *parser) application(t token) Term {
	name, start := t.text, p.i
	if !p.bound(name) && p.at(".") {
		p.next()
		name += "." + p.next().text
	}
	if !p.bound(name) {
		p.i = start
		return nil
	}
	p.expect("(", " and the argument of a function")
	a := &Application{Place: t.place(), Function: name, A: p.asTerm(p.expression(levelPlus))}
	p.expect(")", " after the argument of a function")
	return a
}

// act reads `act[2](g.angle, z(i))` after its first word.
func (p *parser) act(t token) Term {
	m := &Moved{Place: t.place(), Frequency: 1}
	if p.accept("[") {
		at := p.peek()
		if m.Frequency = p.number("a frequency"); m.Frequency == 0 || math.Abs(m.Frequency) > maxFrequency {
			p.fail(at.offset, "the frequency %v is out of range; want a number other than 0, to %g", m.Frequency, maxFrequency)
		}
		p.expect("]", " after a frequency")
	}
	p.expect("(", " and a transformation, such as g")
	m.Name = Variable(p.name("the name of a transformation").text)
	if p.accept(".") {
		m.Turn = p.quotable("the name of a turn")
	}
	p.expect(",", " and the codes that move")
	m.A = p.asTerm(p.expression(levelImplies))
	p.expect(")", " after the codes that move")
	return m
}

// maxFrequency is the maximum frequency of a transformation.
const maxFrequency = 1e6

// independent reads `[hsic](z.a, z.b)` after its first word.
func (p *parser) independent(t token) Formula {
	f := &Independence{Place: t.place()}
	if p.accept("[") {
		at := p.peek()
		name := p.hyphenated("a dependence: hsic, tc or discriminator")
		k := slices.Index(dependenceNames(), name)
		if k < 0 {
			p.fail(at.offset, "unknown dependence %q%s", name, registry.Suggest(name, dependenceNames()))
		}
		f.By = Dependence(k)
		p.expect("]", " after a dependence")
	}
	p.expect("(", " and sub-codes, such as (z.a, z.b)")
	p.list(")", " after a sub-code", func() {
		s := p.next()
		if s.kind != word || s.text != "z" {
			p.found(s, "a sub-code, such as z.a or z[0:2]")
		}
		f.Codes = append(f.Codes, p.space(s))
		if p.at("(") {
			p.found(p.peek(), "a sub-code without a row: independence is about all rows, such as independent(z.a, z.b)")
		}
	})
	if len(f.Codes) < 2 {
		p.fail(t.offset, "one sub-code is not independent of itself; want two or more, such as independent(z.a, z.b)")
	}
	return f
}
