package logic

import (
	"errors"
	"slices"

	"github.com/unravel-ml/unravel/configs/registry"
)

// Limits of a text, which keep any input from exhausting the stack.
const (
	maxText  = 1 << 14 // bytes
	maxDepth = 2000    // operators within operators
)

// Parse reads a sentence; see the package comment for the grammar. Its error is an
// [*Error]. Names of factors and sub-codes are checked by [Compile].
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

func (p *parser) place() place { return place(p.peek().offset + 1) }

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
