package logic

import (
	"fmt"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/datasets/factor"
)

func suggest(name string, known []string) string { return registry.Suggest(name, known) }

const wantPart = "a term, such as z(i), y.shape(i) or a number, or a formula, such as (...), not, forall or exists"

// atom reads an expression without a leading operator.
func (p *parser) atom() (expression, error) {
	t := p.next()
	at, here := t.offset, place(t.offset+1)
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
		return expression{Term: &placed{place(t.offset + 1), Variable(t.text)}, at: t.offset}, nil
	}
	if t.text == "independent" && n.text != "." {
		f, err := p.independent(t)
		return expression{Formula: f, at: t.offset}, err
	}
	if t.text == "act" && n.text != "." {
		a, err := p.act(t)
		return expression{Term: a, at: t.offset}, err
	}
	if t.text != "z" && t.text != "y" {
		if h := hint(t.text, []string{"forall", "exists", "not"}); h != "" && n.text != "." {
			return expression{}, errorAt(p.text, t.offset, "found %v, want a formula%s", t, h)
		}
		if slices.Contains(p.moves, t.text) && n.text == "(" {
			return expression{}, errorAt(p.text, t.offset, "found %v before %v, want act(%s, ...), as %s is a transformation", t, n, t.text, t.text)
		}
		want := "y (factors) or z (codes)"
		if n.text == "(" {
			want += fmt.Sprintf("; or bind a function: exists %s: z -> y in affine: ...", t.text)
		}
		return expression{}, errorAt(p.text, t.offset, "found %v before %v, want %s", t, n, want)
	}
	a, err := p.space(t)
	if err != nil {
		return expression{}, err
	}
	after := " and the variable of a row"
	if w := p.peek(); a.name != "" && w.kind == word {
		words := a.name
		for k := p.i; p.tokens[k].kind == word; k++ {
			words += " " + p.tokens[k].text
		}
		after += fmt.Sprintf("; a name of several words stands in double quotes: %s.%q(i)", t.text, strings.TrimSpace(words))
	}
	if err := p.expect("(", after); err != nil {
		return expression{}, err
	}
	v := p.next()
	if v.kind != word || isKeyword(v.text) {
		return expression{}, p.found(v, "the variable of a row")
	}
	a.row = Variable(v.text)
	return expression{Term: a, at: t.offset}, p.expect(")", " after the variable of a row")
}

// space reads the selection after y or z: nothing, a name, or columns.
func (p *parser) space(t token) (*access, error) {
	a := &access{place: place(t.offset + 1), codes: t.text == "z"}
	switch {
	case p.accept("."):
		n := p.next()
		if n.kind != quotation && (n.kind != word || isKeyword(n.text)) {
			return nil, p.found(n, "the name of a factor")
		}
		a.name = n.text
	case p.accept("["):
		for {
			r, err := p.columnRange()
			if err != nil {
				return nil, err
			}
			a.columns = append(a.columns, r)
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

// quantified reads a quantifier after its keyword, forall or exists.
func (p *parser) quantified(t token) (Formula, error) {
	q := &quantified{place: place(t.offset + 1), universal: t.text == "forall"}
	if q.universal {
		q.aggregate = factor.Max
	}
	if p.accept("[") {
		if err := p.parseAggregate(q); err != nil {
			return nil, err
		}
	}
	if p.atFunction() {
		if err := p.functions(q); err != nil {
			return nil, err
		}
		return q, p.body(q)
	}
	for {
		v := p.next()
		if v.kind != word || isKeyword(v.text) {
			return nil, p.found(v, "the name of a variable")
		}
		if v.text == "y" || v.text == "z" {
			return nil, errorAt(p.text, v.offset, "%s stands for all %s, want another name for a variable", v.text, spaceName(v.text == "z"))
		}
		if slices.Contains(q.domain.names, v.text) {
			return nil, errorAt(p.text, v.offset, "the variable %s is named twice", v.text)
		}
		if p.at("(") {
			m, err := p.move(v)
			if err != nil {
				return nil, err
			}
			q.domain.moves = append(q.domain.moves, m)
		} else {
			q.domain.names = append(q.domain.names, v.text)
		}
		if !p.accept(",") {
			break
		}
	}
	if p.accept("in") {
		if len(q.domain.moves) > 0 {
			return nil, errorAt(p.text, q.domain.moves[0].position()-1, "a transformation leads from row to row, and these variables are not rows; want forall i, j, g(i, j): ...")
		}
		if err := p.domain(&q.domain); err != nil {
			return nil, err
		}
	}
	return q, p.body(q)
}

// body reads the body of a quantifier, where its functions have names.
func (p *parser) body(q *quantified) (err error) {
	if err := p.expect(":", " after the variables of a quantifier"); err != nil {
		return err
	}
	scope, moves := p.scope, p.moves
	for _, m := range q.domain.moves {
		p.moves = append(p.moves, m.name)
	}
	for _, d := range q.domain.functions {
		if p.bound(d.Name) {
			return errorAt(p.text, d.position()-1, "the function %s is bound already, want another name", d.Name)
		}
		p.scope = append(p.scope, d.Name)
	}
	q.body, err = p.formula()
	p.scope, p.moves = scope, moves
	return err
}

func spaceName(codes bool) string {
	if codes {
		return "codes"
	}
	return "factors"
}

// domain reads the set of a quantifier's variables.
func (p *parser) domain(d *Domain) error {
	t := p.next()
	d.place = place(t.offset + 1)
	switch {
	case t.kind == symbol && t.text == "{":
		d.set = memberSet
		return p.members(d)
	case t.kind == word && t.text == "y":
		a, err := p.space(t)
		if err == nil && a.name == "" {
			err = errorAt(p.text, t.offset, "found %s without the name of a factor, want a set such as y.shape", t.text)
		}
		if err == nil {
			d.set, d.factor = valueSet, a.name
		}
		return err
	case t.kind == word && t.text == "z":
		a, err := p.space(t)
		d.set, d.space = pointSet, a
		if err == nil && len(d.names) > 1 {
			err = errorAt(p.text, t.offset, "%d variables stand for points of the codes, want one", len(d.names))
		}
		return err
	}
	return p.found(t, "a set: {constants}, y.factor, z or z.factor")
}

func (p *parser) members(d *Domain) error {
	if len(d.names) > 1 {
		return errorAt(p.text, int(d.place)-1, "%d variables stand for constants, want one", len(d.names))
	}
	for {
		t := p.peek()
		var c Term
		switch {
		case t.kind == quotation:
			p.next()
			c = Level(t.text)
		case p.accept("["):
			v, err := p.vector()
			if err != nil {
				return err
			}
			c = v
		default:
			x, err := p.number("a constant: a number, a vector such as [1, 2], or a name in quotes")
			if err != nil {
				return err
			}
			c = Number(x)
		}
		d.members = append(d.members, &placed{place(t.offset + 1), c})
		if p.accept("}") {
			return nil
		}
		if err := p.expect(",", " or } after a constant"); err != nil {
			return err
		}
	}
}
