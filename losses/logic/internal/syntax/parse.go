package syntax

import (
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/configs/registry"
)

// Limits for a text, so no input exhausts the stack.
const (
	maxText  = 1 << 14 // bytes
	maxDepth = 2000    // nested operators
)

// Parse reads a sentence; see package logic for the grammar. Its error is an [*Error]. The compiler, not Parse, checks
// the names of factors and sub-codes.
func Parse(text string) (s Sentence, err error) {
	defer Recover(&err)
	if len(text) > maxText {
		panic(errorAtOffset(text, maxText, "a sentence of %d bytes, want at most %d", len(text), maxText))
	}
	p := &parser{text: text, tokens: scan(text)}
	return p.sentence(), nil
}

// parser is a recursive-descent parser. It panics with the [*Error] of the first invalid token.
type parser struct {
	text   string
	tokens []token
	i      int
	depth  int
	scope  []string // names of functions in scope
	moves  []string // names of transformations in scope
}

// expression is a formula or a term; which of the two is only known after reading it.
type expression struct {
	Formula
	Term
	at int
}

func (p *parser) fail(offset int, format string, values ...any) {
	panic(errorAtOffset(p.text, offset, format, values...))
}

// found fails at a token, with an error that names the expected token.
func (p *parser) found(t token, want string) { p.fail(t.offset, "found %v, want %s", t, want) }
func (p *parser) peek() token                { return p.tokens[p.i] }

func (p *parser) next() token {
	t := p.tokens[p.i]
	if t.kind != end {
		p.i++
	}
	return t
}

func (p *parser) place() Place        { return p.peek().place() }
func (p *parser) at(text string) bool { return p.peek().is(text) }

// accept reads a symbol or keyword if it is next.
func (p *parser) accept(text string) bool {
	if t := p.peek(); t.is(text) || t.kind == word && t.text == text && isKeyword(text) {
		p.i++
		return true
	}
	return false
}

func (p *parser) expect(text, after string) {
	if !p.accept(text) {
		p.found(p.peek(), text+after)
	}
}

// list reads items separated by commas up to a closing symbol.
func (p *parser) list(closing, after string, item func()) {
	for {
		item()
		if p.accept(closing) {
			return
		}
		p.expect(",", " or "+closing+after)
	}
}

// name reads a word that is not a keyword.
func (p *parser) name(want string) token {
	t := p.next()
	if !t.named() {
		p.found(t, want)
	}
	return t
}

// quotable reads a word that is not a keyword, or a quotation.
func (p *parser) quotable(want string) string {
	t := p.next()
	if t.kind != quotation && !t.named() {
		p.found(t, want)
	}
	return t.text
}

func (p *parser) sentence() Sentence {
	s := Sentence{text: p.text}
	if p.accept("with") {
		p.settings(&s)
	}
	s.Body = p.formula()
	if t := p.peek(); t.kind != end {
		want := "the end, or an operator (and, or, ->)"
		if t.kind == word {
			want += hint(t.text, []string{"and", "or"})
		}
		p.found(t, want)
	}
	return s
}

// settings reads `z ~ q, and = max, or = min:`.
func (p *parser) settings(s *Sentence) {
	seen := map[string]bool{}
	p.list(":", " after a setting", func() {
		t := p.next()
		if t.kind != word || t.text != "z" {
			p.operation(&s.Quantale, t, seen)
			return
		}
		if s.Sampled {
			p.fail(t.offset, "z ~ q is set twice")
		}
		const posterior = "q, the posterior of a row"
		p.expect("~", " and "+posterior)
		if t := p.next(); t.kind != word || t.text != "q" {
			p.found(t, posterior)
		}
		s.Sampled = true
	})
}

// operation reads `= max` after a connective.
func (p *parser) operation(q *Quantale, t token, seen map[string]bool) {
	if !slices.Contains([]string{"and", "or", "->", "not"}, t.text) || t.kind == quotation {
		p.found(t, "a connective (and, or, -> or not), or z ~ q")
	}
	if seen[t.text] {
		p.fail(t.offset, "the operation of %s is set twice", t.text)
	}
	seen[t.text] = true
	p.expect("=", " and an operation")
	at := p.peek()
	if err := q.set(t.text, p.hyphenated("an operation")); err != nil {
		p.fail(at.offset, "%v", err)
	}
}

// hyphenated reads a name such as mean-square.
func (p *parser) hyphenated(want string) string {
	t := p.next()
	if t.kind != word {
		p.found(t, want)
	}
	name := t.text
	for p.at("-") && p.peek().joined && p.tokens[p.i+1].kind == word && p.tokens[p.i+1].joined {
		p.i++
		name += "-" + p.next().text
	}
	return name
}

func (p *parser) formula() Formula { return p.asFormula(p.expression(levelImplies)) }

func (p *parser) asFormula(e expression) Formula {
	if e.Formula == nil {
		if t := p.peek(); t.kind != end && !p.at(")") {
			p.found(t, "=, !=, or =[premetric] after a term")
		}
		p.fail(e.at, "found a term, want a formula, such as an equality of two terms")
	}
	return e.Formula
}

func (p *parser) asTerm(e expression) Term {
	if e.Term == nil {
		p.fail(e.at, "found a formula, want a term")
	}
	return e.Term
}

// hint suggests the keyword closest to a word.
func hint(name string, known []string) string {
	for _, k := range known {
		if s := registry.Suggest(name, []string{k}); len(name) > 1 && s != "; known: "+k {
			return s
		}
	}
	return ""
}

// The levels of operator precedence, from loosest to tightest.
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
func (p *parser) expression(level int) (e expression) {
	if p.depth++; p.depth > maxDepth {
		p.fail(p.peek().offset, "parts are nested too deeply")
	}
	switch level {
	case levelImplies:
		e = p.implication()
	case levelOr:
		e = p.chain("or", OrKind, levelAnd)
	case levelAnd:
		e = p.chain("and", AndKind, levelNot)
	case levelNot:
		e = p.negation()
	case levelEqual:
		e = p.equality()
	case levelPlus:
		e = p.sum()
	default:
		e = p.product()
	}
	p.depth--
	return e
}

// implication is right-associative.
func (p *parser) implication() expression {
	e := p.expression(levelOr)
	if !p.at("->") {
		return e
	}
	c := &Connective{Place: p.place(), Kind: ImpliesKind, A: p.asFormula(e)}
	p.next()
	c.B = p.formula()
	return expression{Formula: c, at: e.at}
}

// chain reads `a and b and c`, which is left-associative.
func (p *parser) chain(name string, k Kind, level int) expression {
	e := p.expression(level)
	for p.peek().kind == word && p.peek().text == name {
		c := &Connective{Place: p.place(), Kind: k, A: p.asFormula(e)}
		p.next()
		c.B = p.asFormula(p.expression(level))
		e = expression{Formula: c, at: e.at}
	}
	return e
}

func (p *parser) negation() expression {
	t := p.peek()
	if !p.accept("not") {
		return p.expression(levelEqual)
	}
	return expression{Formula: &Negated{Place: t.place(), A: p.asFormula(p.expression(levelNot))}, at: t.offset}
}

func (p *parser) equality() expression {
	left := p.expression(levelPlus)
	at := p.peek()
	e := &Equality{Place: at.place()}
	switch {
	case p.accept("!="):
		e.Not = true
	case !p.accept("="):
		return left
	}
	e.A = p.asTerm(left)
	if p.at("[") && p.peek().joined {
		if e.Not {
			p.fail(at.offset, "found != with a premetric, want not (a =[%s] b)", p.tokens[min(p.i+1, len(p.tokens)-1)].text)
		}
		p.premetric(e)
	}
	e.B = p.asTerm(p.expression(levelPlus))
	if p.at("=") || p.at("!=") {
		p.found(p.peek(), "and between two equalities")
	}
	return expression{Formula: e, at: left.at}
}

// premetric reads `[euclidean]` or `[circular 6.28]`.
func (p *parser) premetric(e *Equality) {
	p.next()
	t := p.next()
	known := premetricNames()[1:]
	if t.kind != word {
		p.found(t, "a premetric: "+strings.Join(known[:len(known)-1], ", ")+" or "+known[len(known)-1])
	}
	i := slices.Index(known, t.text)
	if i < 0 {
		guess := registry.Suggest(t.text, known)
		if len(t.text) < 3 && !strings.EqualFold(t.text, KL.String()) { // every two-letter name is close to kl
			guess = "; known: " + strings.Join(known, ", ")
		}
		p.fail(t.offset, "unknown premetric %q%s", t.text, guess)
	}
	if e.Premetric = Premetric(i + 1); e.Premetric == Circular {
		e.Period = 1
		if t := p.peek(); t.kind == numeral {
			if e.Period = p.next().value; e.Period <= 0 {
				p.found(t, "a period of more than 0")
			}
		}
	}
	p.expect("]", " after a premetric")
}

func (p *parser) sum() expression {
	e := p.expression(levelTimes)
	for p.at("-") || p.at("+") {
		s := &Arithmetic{Place: p.place(), Minus: p.at("-"), A: p.asTerm(e)}
		p.next()
		s.B = p.asTerm(p.expression(levelTimes))
		e = expression{Term: s, at: e.at}
	}
	return e
}

// product reads `0.5 * x`, a multiple of a term or formula, and tighter operators.
func (p *parser) product() expression {
	t := p.peek()
	minus := p.accept("-")
	value := -1.0
	if n := p.peek(); n.kind == numeral {
		p.next()
		if value = n.value; minus {
			value = -value
		}
		if !p.accept("*") {
			return expression{Term: &placed{t.place(), Number(value)}, at: t.offset}
		}
	} else if !minus {
		return p.atom()
	}
	e := p.expression(levelTimes)
	if e.Term != nil {
		return expression{Term: &Multiple{Place: t.place(), Factor: value, A: e.Term}, at: t.offset}
	}
	if !(value > 0 && value <= 1e30) {
		p.fail(t.offset, "a formula is multiplied by %v, want a number above 0", value)
	}
	return expression{Formula: &Scaled{Place: t.place(), Weight: value, A: e.Formula}, at: t.offset}
}
