package config

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/unravel-ml/unravel/internal/wording"
)

// syntaxError explains why the source is not valid YAML. It quotes the wrong line.
func syntaxError(start position, path string, src []byte, err error) *Error {
	var syntax *yaml.SyntaxError
	if !errors.As(err, &syntax) {
		return start.fail(path, err)
	}
	pos := start.of(syntax.Token)
	s := &source{strings.Split(strings.ReplaceAll(string(src), "\r\n", "\n"), "\n")}
	f := s.explain(pos.line, pos.column, syntax.Message)
	if start.line == 0 { // an override has no place except its text
		return start.fail(path, errors.New(f.text))
	}
	pos.line, pos.column = f.line, f.column
	return pos.fail(path, fmt.Errorf("%s; line %d is %s", f.text, f.line, s.shorten(f.line)))
}

type source struct{ lines []string }

// fault is a mistake in a source; line and column start at 1.
type fault struct {
	line, column int
	text         string
}

const shownLine = 100 // maximum number of characters of a line in a message

// shorten returns a line, shortened for a message.
func (s *source) shorten(line int) string {
	text := wording.Shorten(strings.TrimRight(s.lines[line-1], " \r"), shownLine)
	if strings.Contains(text, `"`) && strconv.CanBackquote(text) {
		return "`" + text + "`"
	}
	return strconv.Quote(text)
}

// explain finds the mistake at the parser's position, or on the lines around it.
func (s *source) explain(line, column int, message string) fault {
	line = min(max(line, 1), len(s.lines))
	if message == tooNested {
		return fault{line, column, message}
	}
	for _, find := range []func(line int, message string) *fault{s.unpaired, s.unquoted} {
		if f := find(line, message); f != nil {
			return *f
		}
	}
	for _, nearLine := range []int{line, line + 1, line - 1} {
		if nearLine < 1 || nearLine > len(s.lines) || s.isBlank(nearLine) {
			continue
		}
		for _, find := range []func(line int) *fault{s.tab, s.spacing, s.colons, s.comma, s.list, s.reserved, s.dash, s.indentation, s.keyless} {
			if f := find(nearLine); f != nil {
				return *f
			}
		}
	}
	return fault{line, max(column, 1), "the parser of YAML cannot read on here: " + message}
}

func (s *source) indent(line int) int {
	text := s.lines[line-1]
	return len(text) - len(strings.TrimLeft(text, " "))
}

// isBlank reports whether a line is empty or only a comment.
func (s *source) isBlank(line int) bool {
	text := strings.TrimSpace(s.lines[line-1])
	return text == "" || text[0] == '#'
}

func (s *source) isElement(line int) bool {
	text := strings.TrimSpace(s.lines[line-1])
	return text == "-" || strings.HasPrefix(text, "- ")
}

// content returns a line without indentation, dashes and comment, and the number of characters before it.
func (s *source) content(line int) (text string, before int) {
	text = s.lines[line-1]
	before = s.indent(line)
	for text = text[before:]; strings.HasPrefix(text, "- "); {
		rest := strings.TrimLeft(text[2:], " ")
		before += len(text) - len(rest)
		text = rest
	}
	text, _, _ = strings.Cut(text, " #")
	return strings.TrimSpace(text), before
}

// previousLine returns the last non-blank line above a line, or 0.
func (s *source) previousLine(line int) int {
	for line--; line > 0 && s.isBlank(line); line-- {
	}
	return line
}

// at returns a fault at the first character of a line.
func (s *source) at(line int, format string, args ...any) *fault {
	return &fault{line, s.indent(line) + 1, fmt.Sprintf(format, args...)}
}

// unpaired finds an unmatched bracket.
func (s *source) unpaired(_ int, message string) *fault {
	if !strings.ContainsAny(message, "[]{}") && !strings.Contains(message, "value is not allowed") {
		return nil
	}
	type open struct {
		fault
		closer rune
	}
	var stack []open
	for i, line := range s.lines {
		if strings.HasPrefix(strings.TrimSpace(line), "#") {
			continue
		}
		quote := rune(0)
		for column, c := range []rune(line) {
			opening := fault{line: i + 1, column: column + 1}
			switch {
			case quote != 0:
				if c == quote {
					quote = 0
				}
			case c == '"' || c == '\'':
				quote = c
			case c == '[':
				stack = append(stack, open{opening, ']'})
			case c == '{':
				stack = append(stack, open{opening, '}'})
			case c != ']' && c != '}':
			case len(stack) == 0:
				opening.text = fmt.Sprintf("this %c closes nothing; take it out, or open it before", c)
				return &opening
			case stack[len(stack)-1].closer != c:
				opening.text = fmt.Sprintf("this %c cannot close the bracket at %d:%d; want %c before it",
					c, stack[len(stack)-1].line, stack[len(stack)-1].column, stack[len(stack)-1].closer)
				return &opening
			default:
				stack = stack[:len(stack)-1]
			}
		}
	}
	if len(stack) == 0 {
		return nil
	}
	last := stack[len(stack)-1]
	last.text = fmt.Sprintf("this bracket is not closed; want a %c", last.closer)
	return &last.fault
}

// unquoted finds an unclosed quote.
func (s *source) unquoted(line int, message string) *fault {
	quote := ""
	switch {
	case strings.Contains(message, "end character of double-quoted"):
		quote = `"`
	case strings.Contains(message, "end character of single-quoted"):
		quote = "'"
	default:
		return nil
	}
	column := max(strings.Index(s.lines[line-1], quote), 0) + 1
	return &fault{line, column, fmt.Sprintf("this quote is not closed; want a second %s", quote)}
}

func (s *source) tab(line int) *fault {
	text := s.lines[line-1]
	if i := strings.IndexByte(text, '\t'); i >= 0 && strings.TrimSpace(text[:i]) == "" {
		return &fault{line, i + 1, "a tab indents this line; want spaces"}
	}
	return nil
}

var noDashSpace = regexp.MustCompile(`^-([^\s\d.-].*)$`)

// spacing finds a dash or a colon without a following space.
func (s *source) spacing(line int) *fault {
	text, before := s.content(line)
	if m := noDashSpace.FindStringSubmatch(text); m != nil {
		return &fault{line, before + 1, "write a space after the dash: - " + m[1]}
	}
	if hint := colonHint(text); hint != "" {
		return &fault{line, before + 1, hint}
	}
	return nil
}

var twoColons = regexp.MustCompile(`^([\w."-]+:\s+)([^\s"'\[{|>#][^"\[{]*):(\s|$)`)

// colons finds a second key on a line.
func (s *source) colons(line int) *fault {
	text, before := s.content(line)
	m := twoColons.FindStringSubmatch(text)
	if m == nil {
		return nil
	}
	return &fault{line, before + len(m[1]) + len(m[2]) + 1,
		"a second colon in a line; write {KEY: VALUE} for options, and quotes around a text with a colon"}
}

var reservedStart = regexp.MustCompile("^(?:[\\w.\"-]+:\\s+)?([@`%])")

// reserved finds a text that starts with a reserved character of YAML.
func (s *source) reserved(line int) *fault {
	text, before := s.content(line)
	m := reservedStart.FindStringSubmatchIndex(text)
	if m == nil {
		return nil
	}
	return &fault{line, before + m[2] + 1, fmt.Sprintf("a text cannot begin with %s; want it in quotes", text[m[2]:m[3]])}
}

// comma finds a comma at the end of a line, as in JSON and Python.
func (s *source) comma(line int) *fault {
	text, before := s.content(line)
	if !strings.HasSuffix(text, ",") {
		return nil
	}
	return &fault{line, before + len([]rune(text)), "a comma ends this line; take it out"}
}

var inlineList = regexp.MustCompile(`^([\w."-]+:\s+)- (.*)$`)

// list finds the first element of a list in a wrong position: after its key, or below keys with values.
func (s *source) list(line int) *fault {
	text, before := s.content(line)
	if m := inlineList.FindStringSubmatch(text); m != nil {
		return &fault{line, before + len(m[1]) + 1, fmt.Sprintf("a list cannot begin behind its key; write %s[%s]",
			m[1], m[2])}
	}
	if up := s.previousLine(line); up > 0 && s.isElement(line) && !s.isElement(up) && s.indent(up) == s.indent(line) {
		if text, _ := s.content(up); !strings.HasSuffix(text, ":") {
			return s.at(line, "the line above is a key with a value, and this an element of a list; want one kind")
		}
	}
	return nil
}

// dash finds a line in a list without a dash.
func (s *source) dash(line int) *fault {
	if s.isElement(line) {
		return nil
	}
	list := false
	for up := s.previousLine(line); up > 0 && s.indent(up) >= s.indent(line); up = s.previousLine(up) {
		if s.indent(up) > s.indent(line) {
			continue
		}
		if !s.isElement(up) { // a key in this column ends the list above
			return nil
		}
		list = true
	}
	if !list {
		return nil
	}
	text, _ := s.content(line)
	return s.at(line, "the lines above are elements of a list; want a dash: - %s", text)
}

// indentation finds a line with an indentation that no line above has.
func (s *source) indentation(line int) *fault {
	up := s.previousLine(line)
	if up == 0 {
		return nil
	}
	text, column := s.content(up)
	key, value, _ := strings.Cut(text, ":")
	have := s.indent(line)
	full := value != "" && !strings.ContainsAny(strings.TrimSpace(value)[:1], "|>[{\"'") ||
		value == "" && !strings.HasSuffix(text, ":")
	if have > column && full {
		return s.at(line, "%s here, and %s above, where %s has a value already; want both in one column",
			spaces(have), spaces(column), key)
	}
	if have > column {
		return nil
	}
	for ; up > 0; up = s.previousLine(up) {
		_, column := s.content(up)
		if have == column || have == s.indent(up) {
			return nil
		}
		if s.indent(up) < have {
			return s.at(line, "%s here; want %s or %s, as in the lines above",
				spaces(have), spaces(s.indent(up)), spaces(s.moreIndented(up)))
		}
	}
	return nil
}

// moreIndented returns the indentation of the next non-blank line.
func (s *source) moreIndented(line int) int {
	for line++; line <= len(s.lines); line++ {
		if !s.isBlank(line) {
			return s.indent(line)
		}
	}
	return 0
}

func spaces(n int) string {
	if n == 1 {
		return "1 space"
	}
	return fmt.Sprintf("%d spaces", n)
}

// keyless finds a line that is neither a key with a value nor an element of a list.
func (s *source) keyless(line int) *fault {
	text, _ := s.content(line)
	if s.isElement(line) || strings.HasSuffix(text, ":") || strings.Contains(text, ": ") ||
		strings.ContainsAny(text, "[]{}\"'") {
		return nil
	}
	return s.at(line, "%q is no key with a value; want KEY: VALUE, or in a list - %s", text, text)
}
