package syntax

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Error is the error of [Parse] and of functions that compile sentences. Line and Column, in characters, count from 1;
// they are 0 if the sentence was not parsed from a text. Correct the sentence there.
type Error struct {
	Line, Column int
	Part         string // the wrong part of a sentence that was not parsed
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

// errorAt returns the error at a byte of a text.
func errorAt(text string, offset int, format string, values ...any) *Error {
	before := text[:min(offset, len(text))]
	line := strings.Count(before, "\n") + 1
	column := utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:]) + 1
	return &Error{Line: line, Column: column, Message: fmt.Sprintf(format, values...)}
}

// Errorf returns the error of a part of the sentence: a formula, a term or another node, or nil for the sentence.
func (s Sentence) Errorf(part any, format string, values ...any) error {
	message := fmt.Sprintf(format, values...)
	at := 0
	if p, ok := part.(interface{ position() int }); ok && part != nil {
		at = p.position()
	}
	if at > 0 && s.text != "" {
		return errorAt(s.text, at-1, "%s", message)
	}
	switch part := part.(type) {
	case Formula, Term:
		return &Error{Part: TextOf(part), Message: message}
	case Declaration:
		return &Error{Part: part.Function.String(), Message: message}
	}
	return &Error{Message: message}
}

type tokenKind uint8

const (
	end tokenKind = iota
	word
	numeral
	quotation
	symbol
)

// token is a piece of a text. Its text is the symbol, the word, the contents of a
// quotation, or the digits of a number.
type token struct {
	kind   tokenKind
	text   string
	value  float64
	offset int
	joined bool // no space before it
}

func (t token) String() string {
	switch t.kind {
	case end:
		return "the end"
	case quotation:
		return strconv.Quote(t.text)
	}
	return fmt.Sprintf("%q", t.text)
}

// symbols, the longer ones first.
const symbols = "-> != ( ) [ ] { } , : . * + - = ~"

// scan cuts a text into tokens; the last one is the end.
func scan(text string) ([]token, error) {
	var tokens []token
	last := -1
	for at := 0; ; {
		rest := text[at:]
		trimmed := strings.TrimLeftFunc(rest, unicode.IsSpace)
		at += len(rest) - len(trimmed)
		t, size, err := next(text, at)
		if err != nil {
			return nil, err
		}
		t.offset, t.joined = at, at == last
		tokens = append(tokens, t)
		if t.kind == end {
			return tokens, nil
		}
		at += size
		last = at
	}
}

// next returns the token at an offset without space, and its size.
func next(text string, at int) (token, int, error) {
	rest := text[at:]
	if rest == "" {
		return token{}, 0, nil
	}
	r, size := utf8.DecodeRuneInString(rest)
	switch {
	case isLetter(r):
		n := prefix(rest, func(r rune) bool { return isLetter(r) || unicode.IsDigit(r) })
		return token{kind: word, text: rest[:n]}, n, nil
	case r >= '0' && r <= '9':
		return nextNumber(text, at)
	case r == '"':
		return nextQuotation(text, at)
	}
	for s := range strings.FieldsSeq(symbols) {
		if strings.HasPrefix(rest, s) {
			return token{kind: symbol, text: s}, len(s), nil
		}
	}
	if r == utf8.RuneError && size == 1 {
		return token{}, 0, errorAt(text, at, "found a byte that is not UTF-8")
	}
	return token{}, 0, errorAt(text, at, "found %q, which has no meaning in sentences%s", r, instead(text[:at], r))
}

// instead suggests a replacement for a rune without meaning, given the text before it.
func instead(before string, r rune) string {
	before = strings.TrimSpace(before)
	switch {
	case strings.ContainsRune("'‘’“”`", r):
		return "; want double quotes, as in y.\"my shape\"(i)"
	case r == '>' && (strings.HasSuffix(before, "-") || strings.HasSuffix(before, "=")):
		return "; want ->"
	}
	return ""
}

func isLetter(r rune) bool { return r == '_' || unicode.IsLetter(r) }

func prefix(s string, keep func(rune) bool) int {
	if n := strings.IndexFunc(s, func(r rune) bool { return !keep(r) }); n >= 0 {
		return n
	}
	return len(s)
}

// nextNumber reads digits, with a fraction and an exponent if they follow.
func nextNumber(text string, at int) (token, int, error) {
	rest := text[at:]
	digits := func(n int) int {
		return n + prefix(rest[n:], func(r rune) bool { return r >= '0' && r <= '9' })
	}
	n := digits(0)
	if n < len(rest) && rest[n] == '.' {
		if m := digits(n + 1); m > n+1 {
			n = m
		}
	}
	if n < len(rest) && (rest[n] == 'e' || rest[n] == 'E') {
		m := n + 1
		if m < len(rest) && (rest[m] == '+' || rest[m] == '-') {
			m++
		}
		if k := digits(m); k > m {
			n = k
		}
	}
	value, err := strconv.ParseFloat(rest[:n], 64)
	if err != nil {
		return token{}, 0, errorAt(text, at, "found %s, want a number that float64 holds", rest[:n])
	}
	return token{kind: numeral, text: rest[:n], value: value}, n, nil
}

// nextQuotation reads a name in double quotes, as Go writes it.
func nextQuotation(text string, at int) (token, int, error) {
	quoted, err := strconv.QuotedPrefix(text[at:])
	if err != nil {
		return token{}, 0, errorAt(text, at, "found a quotation without an end or with a wrong escape, want a name in double quotes on one line")
	}
	s, err := strconv.Unquote(quoted)
	if err != nil || s == "" || !utf8.ValidString(s) {
		return token{}, 0, errorAt(text, at, "found %s, want a nonempty name", quoted)
	}
	return token{kind: quotation, text: s}, len(quoted), nil
}

// IsName reports whether a name can stand in a sentence without quotes.
func IsName(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return s != "" && isLetter(r) && !isKeyword(s) &&
		prefix(s, func(r rune) bool { return isLetter(r) || unicode.IsDigit(r) }) == len(s)
}

func isKeyword(s string) bool {
	switch s {
	case "forall", "exists", "in", "and", "or", "not", "with":
		return true
	}
	return false
}

// quoteName writes a name as it stands in a sentence.
func quoteName(s string) string {
	if IsName(s) {
		return s
	}
	return strconv.Quote(s)
}
