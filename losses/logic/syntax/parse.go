package syntax

import (
	"errors"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/configs/registry"
)

// Limits of a text, which keep any input from exhausting the stack.
const (
	maxText  = 1 << 14 // bytes
	maxDepth = 2000    // operators within operators
)

// Parse reads a sentence; see the package comment for the grammar. Its error is an
// [*Error]. Names of factors and sub-codes are checked by logic.Compile.
func Parse(text string) (Sentence, error) {
	if len(text) > maxText {
		return Sentence{}, errorAt(text, maxText, "a sentence of %d bytes, want at most %d", len(text), maxText)
	}
	tokens, err := scan(text)
	if err != nil {
		return Sentence{}, err
	}
	p := &parser{text: text, tokens: tokens}
	s, err := p.sentence()
	if err != nil {
		return Sentence{}, err
	}
	s.text = text
	return s, nil
}

// UnmarshalText parses a sentence, for use in settings.
func (s *Sentence) UnmarshalText(text []byte) (err error) {
	*s, err = Parse(string(text))
	return err
}

// MarshalText returns the sentence as text.
func (s Sentence) MarshalText() ([]byte, error) {
	if s.Body == nil {
		return nil, errors.New("logic: a sentence without a formula")
	}
	return []byte(s.String()), nil
}

// parser reads tokens by recursive descent; operators climb by their precedence.
type parser struct {
	text   string
	tokens []token
	i      int
	depth  int
	scope  []string // names of functions
	moves  []string // names of transformations
}

// expression is a formula or a term, known after reading it.
type expression struct {
	Formula
	Term
	at int
}

func (p *parser) peek() token { return p.tokens[p.i] }

func (p *parser) next() token {
	t := p.tokens[p.i]
	if t.kind != end {
		p.i++
	}
	return t
}

func (p *parser) place() Place { return Place(p.peek().offset + 1) }

func (p *parser) found(t token, want string) error {
	return errorAt(p.text, t.offset, "found %v, want %s", t, want)
}

// at reports whether a symbol is next.
func (p *parser) at(text string) bool {
	t := p.peek()
	return t.kind == symbol && t.text == text
}

// accept reads a symbol or keyword if it is next.
func (p *parser) accept(text string) bool {
	if t := p.peek(); t.text == text && (t.kind == symbol || t.kind == word && isKeyword(text)) {
		p.i++
		return true
	}
	return false
}

func (p *parser) expect(text, after string) error {
	if p.accept(text) {
		return nil
	}
	return p.found(p.peek(), text+after)
}

func (p *parser) sentence() (s Sentence, err error) {
	if p.accept("with") {
		if err := p.settings(&s); err != nil {
			return s, err
		}
	}
	if s.Body, err = p.formula(); err != nil {
		return s, err
	}
	if t := p.peek(); t.kind != end {
		want := "the end, or an operator (and, or, ->)"
		if t.kind == word {
			want += hint(t.text, []string{"and", "or"})
		}
		return s, p.found(t, want)
	}
	return s, nil
}

// settings reads `z ~ q, and = max, or = min:`.
func (p *parser) settings(s *Sentence) error {
	seen := map[string]bool{}
	for {
		t := p.next()
		if t.kind == word && t.text == "z" {
			if s.Sampled {
				return errorAt(p.text, t.offset, "z ~ q is set twice")
			}
			if err := p.sampled(); err != nil {
				return err
			}
			s.Sampled = true
		} else if err := p.operation(&s.Quantale, t, seen); err != nil {
			return err
		}
		if p.accept(":") {
			return nil
		}
		if err := p.expect(",", " or : after a setting"); err != nil {
			return err
		}
	}
}

// sampled reads `~ q` after z.
func (p *parser) sampled() error {
	if err := p.expect("~", " and q, the posterior of a row"); err != nil {
		return err
	}
	if t := p.next(); t.kind != word || t.text != "q" {
		return p.found(t, "q, the posterior of a row")
	}
	return nil
}

// operation reads `= max` after a connective.
func (p *parser) operation(q *Quantale, t token, seen map[string]bool) error {
	connectives := []string{"and", "or", "->", "not"}
	if !slices.Contains(connectives, t.text) || t.kind == quotation {
		return p.found(t, "a connective (and, or, -> or not), or z ~ q")
	}
	if seen[t.text] {
		return errorAt(p.text, t.offset, "the operation of %s is set twice", t.text)
	}
	seen[t.text] = true
	if err := p.expect("=", " and an operation"); err != nil {
		return err
	}
	at := p.peek()
	name, err := p.hyphenated("an operation")
	if err != nil {
		return err
	}
	if err := q.set(t.text, name); err != nil {
		return errorAt(p.text, at.offset, "%v", err)
	}
	return nil
}

// hyphenated reads a name such as mean-square.
func (p *parser) hyphenated(want string) (string, error) {
	t := p.next()
	if t.kind != word {
		return "", p.found(t, want)
	}
	name := t.text
	for p.at("-") && p.peek().joined && p.tokens[p.i+1].kind == word && p.tokens[p.i+1].joined {
		p.i++
		name += "-" + p.next().text
	}
	return name, nil
}

func (p *parser) formula() (Formula, error) {
	e, err := p.expression(levelImplies)
	if err != nil {
		return nil, err
	}
	return p.asFormula(e)
}

func (p *parser) asFormula(e expression) (Formula, error) {
	if e.Formula != nil {
		return e.Formula, nil
	}
	if t := p.peek(); t.kind != end && !p.at(")") {
		return nil, p.found(t, "=, !=, or =[premetric] after a term")
	}
	return nil, errorAt(p.text, e.at, "found a term, want a formula, such as an equality of two terms")
}

func (p *parser) asTerm(e expression) (Term, error) {
	if e.Term != nil {
		return e.Term, nil
	}
	return nil, errorAt(p.text, e.at, "found a formula, want a term")
}

// deeper bounds the depth of nesting.
func (p *parser) deeper() error {
	if p.depth++; p.depth > maxDepth {
		return errorAt(p.text, p.peek().offset, "parts are nested too deeply")
	}
	return nil
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
		return p.chain("or", OrKind, levelAnd)
	case levelAnd:
		return p.chain("and", AndKind, levelNot)
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
	c := &Connective{Place: p.place(), Kind: ImpliesKind}
	if c.A, err = p.asFormula(e); err != nil {
		return e, err
	}
	p.next()
	c.B, err = p.formula()
	return expression{Formula: c, at: e.at}, err
}

// chain reads `a and b and c`, grouped to the left.
func (p *parser) chain(name string, k Kind, level int) (expression, error) {
	e, err := p.expression(level)
	for err == nil {
		if t := p.peek(); t.kind != word || t.text != name {
			return e, nil
		}
		c := &Connective{Place: p.place(), Kind: k}
		if c.A, err = p.asFormula(e); err != nil {
			return e, err
		}
		p.next()
		right, err := p.expression(level)
		if err != nil {
			return e, err
		}
		if c.B, err = p.asFormula(right); err != nil {
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
	n := &Negated{Place: Place(at + 1)}
	n.A, err = p.asFormula(e)
	return expression{Formula: n, at: at}, err
}

func (p *parser) equality() (expression, error) {
	left, err := p.expression(levelPlus)
	if err != nil {
		return left, err
	}
	at := p.peek()
	e := &Equality{Place: p.place()}
	switch {
	case p.accept("!="):
		e.Not = true
	case !p.accept("="):
		return left, nil
	}
	if e.A, err = p.asTerm(left); err != nil {
		return left, err
	}
	if p.at("[") && p.peek().joined {
		if e.Not {
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
	if e.B, err = p.asTerm(right); err != nil {
		return left, err
	}
	if p.at("=") || p.at("!=") {
		return left, p.found(p.peek(), "and between two equalities")
	}
	return expression{Formula: e, at: left.at}, nil
}

// premetric reads `[euclidean]` or `[circular 6.28]`.
func (p *parser) premetric(e *Equality) error {
	p.next()
	t := p.next()
	known := premetricNames()[1:]
	if t.kind != word {
		return p.found(t, "a premetric: "+strings.Join(known[:len(known)-1], ", ")+" or "+known[len(known)-1])
	}
	i := slices.Index(known, t.text)
	if i < 0 {
		guess := registry.Suggest(t.text, known)
		if len(t.text) < 3 && !strings.EqualFold(t.text, KL.String()) { // every name of two letters is near kl
			guess = "; known: " + strings.Join(known, ", ")
		}
		return errorAt(p.text, t.offset, "unknown premetric %q%s", t.text, guess)
	}
	if e.Premetric = Premetric(i + 1); e.Premetric == Circular {
		e.Period = 1
		if t := p.peek(); t.kind == numeral {
			if e.Period = p.next().value; !ValidPeriod(e.Period) {
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
		s := &Arithmetic{Place: Place(t.offset + 1), Minus: minus}
		if s.A, err = p.asTerm(e); err != nil {
			return e, err
		}
		right, err := p.expression(levelTimes)
		if err != nil {
			return e, err
		}
		if s.B, err = p.asTerm(right); err != nil {
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
			return expression{Term: &placed{Place(t.offset + 1), Number(value)}, at: t.offset}, nil
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
		return expression{Term: &Multiple{Place: Place(t.offset + 1), Factor: value, A: e.Term}, at: t.offset}, nil
	}
	if !ValidWeight(value) {
		return e, errorAt(p.text, t.offset, "a formula is multiplied by %v, want a number of more than 0", value)
	}
	return expression{Formula: &Scaled{Place: Place(t.offset + 1), Weight: value, A: e.Formula}, at: t.offset}, nil
}
