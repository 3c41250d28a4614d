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
func (p *parser) atom() (expression, error) {
	t := p.next()
	at, here := t.offset, Place(t.offset+1)
	switch {
	case t.kind == quotation:
		return expression{Term: &placed{here, Level(t.text)}, at: at}, nil
	case t.kind == symbol && t.text == "(":
		e, err := p.expression(levelImplies)
		if err == nil {
			err = p.expect(")", " that closes a parenthesis")
		}
		return expression{Formula: e.Formula, Term: e.Term, at: at}, err
	case t.kind == symbol && t.text == "[":
		v, err := p.vector()
		return expression{Term: &placed{here, v}, at: at}, err
	case t.kind == word && (t.text == "forall" || t.text == "exists"):
		f, err := p.quantified(t)
		return expression{Formula: f, at: at}, err
	case t.kind == word && !isKeyword(t.text):
		return p.named(t)
	}
	return expression{}, p.found(t, wantPart)
}

// named reads a variable, or a code or factor of a row.
func (p *parser) named(t token) (expression, error) {
	if e, ok, err := p.application(t); ok {
		return e, err
	}
	n := p.peek()
	accessed := n.kind == symbol && (n.text == "(" || n.text == "." || n.text == "[" && n.joined)
	if !accessed {
		if (n.kind == word && !isKeyword(n.text)) || p.at("[") {
			return expression{}, errorAt(p.text, t.offset, "found %v before %v, want %s%s", t, n, wantPart,
				hint(t.text, []string{"forall", "exists", "not"}))
		}
		return expression{Term: &placed{Place(t.offset + 1), Variable(t.text)}, at: t.offset}, nil
	}
	switch {
	case t.text == "independent" && n.text != ".":
		f, err := p.independent(t)
		return expression{Formula: f, at: t.offset}, err
	case t.text == "act" && n.text != ".":
		a, err := p.act(t)
		return expression{Term: a, at: t.offset}, err
	case t.text == "z", t.text == "y":
		a, err := p.access(t)
		return expression{Term: a, at: t.offset}, err
	}
	return expression{}, p.unknownName(t, n)
}

// unknownName returns the error about a name before a bracket or a dot.
func (p *parser) unknownName(t, n token) error {
	if h := hint(t.text, []string{"forall", "exists", "not"}); h != "" && n.text != "." {
		return errorAt(p.text, t.offset, "found %v, want a formula%s", t, h)
	}
	if slices.Contains(p.moves, t.text) && n.text == "(" {
		return errorAt(p.text, t.offset, "found %v before %v, want act(%s, ...), as %s is a transformation", t, n, t.text, t.text)
	}
	want := "y (factors) or z (codes)"
	if n.text == "(" {
		want += fmt.Sprintf("; or bind a function: exists %s: z -> y in affine: ...", t.text)
	}
	return errorAt(p.text, t.offset, "found %v before %v, want %s", t, n, want)
}

// access reads the selection after y or z, and the variable of a row in parentheses.
func (p *parser) access(t token) (*Access, error) {
	a, err := p.space(t)
	if err != nil {
		return nil, err
	}
	after := " and the variable of a row"
	if w := p.peek(); a.Name != "" && w.kind == word {
		words := a.Name
		for k := p.i; p.tokens[k].kind == word; k++ {
			words += " " + p.tokens[k].text
		}
		after += fmt.Sprintf("; a name of several words stands in double quotes: %s.%q(i)", t.text, strings.TrimSpace(words))
	}
	if err := p.expect("(", after); err != nil {
		return nil, err
	}
	v := p.next()
	if v.kind != word || isKeyword(v.text) {
		return nil, p.found(v, "the variable of a row")
	}
	a.Row = Variable(v.text)
	return a, p.expect(")", " after the variable of a row")
}

// space reads the selection after y or z: nothing, a name, or columns.
func (p *parser) space(t token) (*Access, error) {
	a := &Access{Place: Place(t.offset + 1), Codes: t.text == "z"}
	switch {
	case p.accept("."):
		n := p.next()
		if n.kind != quotation && (n.kind != word || isKeyword(n.text)) {
			return nil, p.found(n, "the name of a factor")
		}
		a.Name = n.text
	case p.accept("["):
		for {
			r, err := p.columnRange()
			if err != nil {
				return nil, err
			}
			a.Columns = append(a.Columns, r)
			if p.accept("]") {
				return a, nil
			}
			if err := p.expect(",", " or ] after columns"); err != nil {
				return nil, err
			}
		}
	}
	return a, nil
}

// columnRange reads `3` or `0:2`.
func (p *parser) columnRange() (Range, error) {
	lo, err := p.column()
	if err != nil || !p.accept(":") {
		return Range{lo, lo + 1}, err
	}
	t := p.peek()
	hi, err := p.column()
	if err == nil && hi <= lo {
		err = errorAt(p.text, t.offset, "found columns %d:%d, want a second number that is larger than the first", lo, hi)
	}
	return Range{lo, hi}, err
}

func (p *parser) column() (int, error) {
	t := p.next()
	if t.kind != numeral || t.value != float64(int32(t.value)) {
		return 0, p.found(t, "the number of a column, from 0 on")
	}
	return int(t.value), nil
}

// vector reads the numbers of `[1, 2]` after the bracket.
func (p *parser) vector() (Vector, error) {
	var v Vector
	for {
		x, err := p.number("a number of a vector")
		if err != nil {
			return nil, err
		}
		v = append(v, x)
		if p.accept("]") {
			return v, nil
		}
		if err := p.expect(",", " or ] in a vector"); err != nil {
			return nil, err
		}
	}
}

func (p *parser) number(want string) (float64, error) {
	minus := p.accept("-")
	t := p.next()
	if t.kind != numeral {
		return 0, p.found(t, want)
	}
	if minus {
		return -t.value, nil
	}
	return t.value, nil
}

// SpaceName is the word for codes or factors in messages.
func SpaceName(codes bool) string {
	if codes {
		return "codes"
	}
	return "factors"
}

// application reads `h(z(i))` or `m.shape(y.shape(i))` after its first name. It reports false, and reads nothing, if no
// such function exists.
func (p *parser) application(t token) (e expression, ok bool, err error) {
	name, start := t.text, p.i
	if !p.bound(name) && p.at(".") {
		p.next()
		name += "." + p.next().text
	}
	if !p.bound(name) {
		p.i = start
		return e, false, nil
	}
	if err := p.expect("(", " and the argument of a function"); err != nil {
		return e, true, err
	}
	inner, err := p.expression(levelPlus)
	if err != nil {
		return e, true, err
	}
	a := &Application{Place: Place(t.offset + 1), Function: name}
	if a.A, err = p.asTerm(inner); err != nil {
		return e, true, err
	}
	return expression{Term: a, at: t.offset}, true, p.expect(")", " after the argument of a function")
}

// act reads `act[2](g.angle, z(i))` after its first word.
func (p *parser) act(t token) (Term, error) {
	m := &Moved{Place: Place(t.offset + 1)}
	if p.accept("[") {
		at := p.peek()
		x, err := p.number("a frequency")
		if err != nil {
			return nil, err
		}
		if m.Move.Frequency = x; x == 0 || math.Abs(x) > MaxFrequency {
			return nil, errorAt(p.text, at.offset, "the frequency %v is out of range; want a number other than 0, to %g", x, float64(MaxFrequency))
		}
		if err := p.expect("]", " after a frequency"); err != nil {
			return nil, err
		}
	}
	if err := p.expect("(", " and a transformation, such as g"); err != nil {
		return nil, err
	}
	v := p.next()
	if v.kind != word || isKeyword(v.text) {
		return nil, p.found(v, "the name of a transformation")
	}
	m.Move.Name = Variable(v.text)
	if p.accept(".") {
		n := p.next()
		if n.kind != quotation && (n.kind != word || isKeyword(n.text)) {
			return nil, p.found(n, "the name of a turn")
		}
		m.Move.Turn = n.text
	}
	if err := p.expect(",", " and the codes that move"); err != nil {
		return nil, err
	}
	e, err := p.expression(levelImplies)
	if err != nil {
		return nil, err
	}
	if m.A, err = p.asTerm(e); err != nil {
		return nil, err
	}
	return m, p.expect(")", " after the codes that move")
}

// independent reads `[hsic](z.a, z.b)` after its first word.
func (p *parser) independent(t token) (Formula, error) {
	f := &Independence{Place: Place(t.offset + 1)}
	if p.accept("[") {
		at := p.peek()
		name, err := p.hyphenated("a dependence: hsic, tc or discriminator")
		if err != nil {
			return nil, err
		}
		k := slices.Index(dependenceNames, name)
		if k < 0 {
			return nil, errorAt(p.text, at.offset, "unknown dependence %q%s", name, registry.Suggest(name, dependenceNames))
		}
		f.By = Dependence(k)
		if err := p.expect("]", " after a dependence"); err != nil {
			return nil, err
		}
	}
	if err := p.expect("(", " and sub-codes, such as (z.a, z.b)"); err != nil {
		return nil, err
	}
	for {
		s := p.next()
		if s.kind != word || s.text != "z" {
			return nil, p.found(s, "a sub-code, such as z.a or z[0:2]")
		}
		a, err := p.space(s)
		if err != nil {
			return nil, err
		}
		if p.at("(") {
			return nil, p.found(p.peek(), "a sub-code without a row: independence is about all rows, such as independent(z.a, z.b)")
		}
		f.Codes = append(f.Codes, a)
		if p.accept(")") {
			break
		}
		if err := p.expect(",", " or ) after a sub-code"); err != nil {
			return nil, err
		}
	}
	if len(f.Codes) < 2 {
		return nil, errorAt(p.text, t.offset, "one sub-code is not independent of itself; want two or more, such as independent(z.a, z.b)")
	}
	return f, nil
}
