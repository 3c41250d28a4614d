package logic

import (
	"slices"
	"strings"
)

// The levels of binding, from the loosest to the tightest.
const (
	levelImplies = iota
	levelOr
	levelAnd
	levelNot
	levelEqual
	levelPlus
	levelTimes
	levelAtom
)

// expression reads operators that bind at least as tightly as a level.
func (p *parser) expression(level int) (e expression, err error) {
	if err := p.deeper(); err != nil {
		return e, err
	}
	defer func() { p.depth-- }()
	switch level {
	case levelImplies:
		return p.implication()
	case levelOr:
		return p.chain("or", disjunction, levelAnd)
	case levelAnd:
		return p.chain("and", conjunction, levelNot)
	case levelNot:
		return p.negation()
	case levelEqual:
		return p.equality()
	case levelPlus:
		return p.sum()
	}
	return p.product()
}

// implication groups to the right.
func (p *parser) implication() (expression, error) {
	e, err := p.expression(levelOr)
	if err != nil || !p.at("->") {
		return e, err
	}
	c := &connective{place: p.place(), kind: implication}
	if c.a, err = p.asFormula(e); err != nil {
		return e, err
	}
	p.next()
	c.b, err = p.formula()
	return expression{Formula: c, at: e.at}, err
}

// chain reads `a and b and c`, grouped to the left.
func (p *parser) chain(name string, k kind, level int) (expression, error) {
	e, err := p.expression(level)
	for err == nil {
		if t := p.peek(); t.kind != word || t.text != name {
			return e, nil
		}
		c := &connective{place: p.place(), kind: k}
		if c.a, err = p.asFormula(e); err != nil {
			return e, err
		}
		p.next()
		right, err := p.expression(level)
		if err != nil {
			return e, err
		}
		if c.b, err = p.asFormula(right); err != nil {
			return e, err
		}
		e = expression{Formula: c, at: e.at}
	}
	return e, err
}

func (p *parser) negation() (expression, error) {
	at := p.peek().offset
	if !p.accept("not") {
		return p.expression(levelEqual)
	}
	e, err := p.expression(levelNot)
	if err != nil {
		return e, err
	}
	n := &negation{place: place(at + 1)}
	n.a, err = p.asFormula(e)
	return expression{Formula: n, at: at}, err
}

func (p *parser) equality() (expression, error) {
	left, err := p.expression(levelPlus)
	if err != nil {
		return left, err
	}
	at := p.peek()
	e := &equality{place: p.place()}
	switch {
	case p.accept("!="):
		e.not = true
	case !p.accept("="):
		return left, nil
	}
	if e.a, err = p.asTerm(left); err != nil {
		return left, err
	}
	if p.at("[") && p.peek().joined {
		if e.not {
			return left, errorAt(p.text, at.offset, "found != with a premetric, want not (a =[%s] b)", p.tokens[min(p.i+1, len(p.tokens)-1)].text)
		}
		if err := p.premetric(e); err != nil {
			return left, err
		}
	}
	right, err := p.expression(levelPlus)
	if err != nil {
		return left, err
	}
	if e.b, err = p.asTerm(right); err != nil {
		return left, err
	}
	if p.at("=") || p.at("!=") {
		return left, p.found(p.peek(), "and between two equalities")
	}
	return expression{Formula: e, at: left.at}, nil
}

// premetric reads `[euclidean]` or `[circular 6.28]`.
func (p *parser) premetric(e *equality) error {
	p.next()
	t := p.next()
	known := premetricNames()[1:]
	if t.kind != word {
		return p.found(t, "a premetric: "+strings.Join(known[:len(known)-1], ", ")+" or "+known[len(known)-1])
	}
	i := slices.Index(known, t.text)
	if i < 0 {
		guess := suggest(t.text, known)
		if len(t.text) < 3 && !strings.EqualFold(t.text, KL.String()) { // every name of two letters is near kl
			guess = "; known: " + strings.Join(known, ", ")
		}
		return errorAt(p.text, t.offset, "unknown premetric %q%s", t.text, guess)
	}
	if e.premetric = Premetric(i + 1); e.premetric == Circular {
		e.period = 1
		if t := p.peek(); t.kind == numeral {
			if e.period = p.next().value; !validPeriod(e.period) {
				return p.found(t, "a period of more than 0")
			}
		}
	}
	return p.expect("]", " after a premetric")
}

func (p *parser) sum() (expression, error) {
	e, err := p.expression(levelTimes)
	for err == nil {
		t := p.peek()
		minus := p.at("-")
		if !minus && !p.at("+") {
			return e, nil
		}
		p.next()
		s := &arithmetic{place: place(t.offset + 1), minus: minus}
		if s.a, err = p.asTerm(e); err != nil {
			return e, err
		}
		right, err := p.expression(levelTimes)
		if err != nil {
			return e, err
		}
		if s.b, err = p.asTerm(right); err != nil {
			return e, err
		}
		e = expression{Term: s, at: e.at}
	}
	return e, err
}

// product reads `0.5 * x`, a multiple of a term or formula, and tighter operators.
func (p *parser) product() (expression, error) {
	t, minus := p.peek(), false
	if p.accept("-") {
		minus = true
	}
	if n := p.peek(); n.kind == numeral {
		p.next()
		value := n.value
		if minus {
			value = -value
		}
		if !p.accept("*") {
			return expression{Term: &placed{place(t.offset + 1), Number(value)}, at: t.offset}, nil
		}
		return p.times(t, value)
	}
	if minus {
		return p.times(t, -1)
	}
	return p.atom()
}

// times reads the operand of a number's multiplication.
func (p *parser) times(t token, value float64) (expression, error) {
	e, err := p.expression(levelTimes)
	if err != nil {
		return e, err
	}
	if e.Term != nil {
		return expression{Term: &multiple{place: place(t.offset + 1), factor: value, a: e.Term}, at: t.offset}, nil
	}
	if !validWeight(value) {
		return e, errorAt(p.text, t.offset, "a formula is multiplied by %v, want a number of more than 0", value)
	}
	return expression{Formula: &scaled{place: place(t.offset + 1), weight: value, a: e.Formula}, at: t.offset}, nil
}
