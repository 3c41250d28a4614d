package syntax

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Error is the error about a part of a sentence, with the fields of logic.Error.
type Error struct {
	Line, Column int
	Part         string
	Message      string
}

func (e *Error) Error() string {
	switch {
	case e.Line > 0:
		return fmt.Sprintf("%d:%d: %s", e.Line, e.Column, e.Message)
	case e.Part != "":
		return fmt.Sprintf("in %s: %s", e.Part, e.Message)
	}
	return e.Message
}

// Recover stops a panic with an [*Error], as the parser and the compiler raise, and sets err to it.
func Recover(err *error) {
	switch e := recover().(type) {
	case nil:
	case *Error:
		*err = e
	default:
		panic(e)
	}
}

// errorAtOffset returns an error at a byte offset of the text.
func errorAtOffset(text string, offset int, format string, values ...any) *Error {
	before := text[:min(offset, len(text))]
	line := strings.Count(before, "\n") + 1
	column := utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:]) + 1
	return &Error{Line: line, Column: column, Message: fmt.Sprintf(format, values...)}
}

// Errorf returns an error about a part of the sentence: a formula, a term or another node.
func (s Sentence) Errorf(part Part, format string, values ...any) *Error {
	if at := part.position(); at > 0 && s.text != "" {
		return errorAtOffset(s.text, at-1, format, values...)
	}
	return &Error{Part: TextOf(part), Message: fmt.Sprintf(format, values...)}
}

type tokenKind uint8

const (
	end tokenKind = iota
	word
	numeral
	quotation
	symbol
)

// token is a lexical token. Its text is the symbol, the word, the contents of a quotation, or the digits of a number.
type token struct {
	kind   tokenKind
	text   string
	value  float64
	offset int
	joined bool // without a space before it
}

func (t token) is(text string) bool { return t.kind == symbol && t.text == text }

// named reports whether the token is a word that is not a keyword.
func (t token) named() bool  { return t.kind == word && !isKeyword(t.text) }
func (t token) place() Place { return Place(t.offset + 1) }

func (t token) String() string {
	switch t.kind {
	case end:
		return "the end"
	case quotation:
		return strconv.Quote(t.text)
	}
	return fmt.Sprintf("%q", t.text)
}

// symbols lists longer symbols first.
const symbols = "-> != ( ) [ ] { } , : . * + - = ~"

var numbers = regexp.MustCompile(`^[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?`)

// scan splits a text into tokens; the last one marks the end. It panics with an [*Error].
func scan(text string) []token {
	var tokens []token
	last := -1
	for at := 0; ; {
		rest := text[at:]
		trimmed := strings.TrimLeftFunc(rest, unicode.IsSpace)
		at += len(rest) - len(trimmed)
		t, size := next(text, at)
		t.offset, t.joined = at, at == last
		tokens = append(tokens, t)
		if t.kind == end {
			return tokens
		}
		at += size
		last = at
	}
}

// next returns the token at an offset, and its size; the offset must not be a space.
func next(text string, at int) (token, int) {
	rest := text[at:]
	if rest == "" {
		return token{}, 0
	}
	r, size := utf8.DecodeRuneInString(rest)
	switch {
	case isLetter(r):
		n := wordLength(rest)
		return token{kind: word, text: rest[:n]}, n
	case r >= '0' && r <= '9':
		digits := numbers.FindString(rest)
		value, err := strconv.ParseFloat(digits, 64)
		if err != nil {
			panic(errorAtOffset(text, at, "found %s, want a number that float64 holds", digits))
		}
		return token{kind: numeral, text: digits, value: value}, len(digits)
	case r == '"':
		return nextQuotation(text, at)
	}
	if strings.HasPrefix(rest, "==") {
		panic(errorAtOffset(text, at, "found ==, want ="))
	}
	for s := range strings.FieldsSeq(symbols) {
		if strings.HasPrefix(rest, s) {
			return token{kind: symbol, text: s}, len(s)
		}
	}
	if r == utf8.RuneError && size == 1 {
		panic(errorAtOffset(text, at, "found a byte that is not UTF-8"))
	}
	panic(errorAtOffset(text, at, "found %q, which has no meaning in sentences%s", r, replacementFor(text[:at], r)))
}

// replacementFor suggests a replacement for an invalid rune, given the text before it.
func replacementFor(before string, r rune) string {
	before = strings.TrimSpace(before)
	switch {
	case strings.ContainsRune("'‘’“”`", r):
		return "; want double quotes, as in y.\"my shape\"(i)"
	case r == '>' && (strings.HasSuffix(before, "-") || strings.HasSuffix(before, "=")):
		return "; want ->"
	}
	if word := replacements[r]; word != "" {
		return "; want " + word
	}
	return ""
}

// replacements replace symbols of logic, which notes of the metric logic contain, and operators of other languages.
var replacements = map[rune]string{
	'∀': "forall", '∃': "exists", '→': "->", '⇒': "->", '≠': "!=",
	'∧': "and", '&': "and", '∨': "or", '|': "or", '¬': "not", '!': "not",
}

func isLetter(r rune) bool { return r == '_' || unicode.IsLetter(r) }

// wordLength returns the number of bytes of the leading letters and digits.
func wordLength(s string) int {
	return len(s) - len(strings.TrimLeftFunc(s, func(r rune) bool { return isLetter(r) || unicode.IsDigit(r) }))
}

// nextQuotation reads a name in double quotes, in Go syntax.
func nextQuotation(text string, at int) (token, int) {
	quoted, err := strconv.QuotedPrefix(text[at:])
	if err != nil {
		panic(errorAtOffset(text, at,
			"found a quotation without an end or with a wrong escape, want a name in double quotes on one line"))
	}
	s, err := strconv.Unquote(quoted)
	if err != nil || s == "" || !utf8.ValidString(s) {
		panic(errorAtOffset(text, at, "found %s, want a nonempty name", quoted))
	}
	return token{kind: quotation, text: s}, len(quoted)
}

func isKeyword(s string) bool {
	switch s {
	case "forall", "exists", "in", "and", "or", "not", "with":
		return true
	}
	return false
}

// quoteName writes a name in the syntax of sentences.
func quoteName(s string) string {
	if r, _ := utf8.DecodeRuneInString(s); isLetter(r) && !isKeyword(s) && wordLength(s) == len(s) {
		return s
	}
	return strconv.Quote(s)
}
