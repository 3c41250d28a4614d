// Package plain makes text from foreign files safe: for terminals it escapes control characters, which start escape
// sequences, and for CSV files it disables formulas.
package plain

import (
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"
)

// Text returns s with control characters and invalid UTF-8 escaped, as \x1b. Line feeds and tabs stay.
func Text(s string) string {
	b, _ := appendPlain(nil, []byte(s), true)
	return string(b)
}

// appendPlain appends src to dst with the escapes of Text. Unless all is set, it returns an incomplete character at the
// end of src as rest.
func appendPlain(dst, src []byte, all bool) (text, rest []byte) {
	for len(src) > 0 {
		if !all && !utf8.FullRune(src) {
			return dst, src
		}
		r, size := utf8.DecodeRune(src)
		switch {
		case r == '\n', r == '\t':
			dst = append(dst, src[0])
		case r == utf8.RuneError && size == 1, r < ' ':
			dst = fmt.Appendf(dst, `\x%02x`, src[0])
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r):
			dst = fmt.Appendf(dst, `\u%04x`, r) // an escape that is also valid in JSON
		default:
			dst = append(dst, src[:size]...)
		}
		src = src[size:]
	}
	return dst, nil
}

// Writer escapes text like [Text], writes it to another writer, and keeps the first error. It is safe for concurrent
// use.
type Writer struct {
	w       io.Writer
	forgive bool

	lock sync.Mutex
	rest []byte // bytes of an incomplete character
	err  error
}

// NewWriter returns a writer for results, which reports errors.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w} }

// NewLog returns a writer for messages to people. It ignores errors.
func NewLog(w io.Writer) *Writer { return &Writer{w: w, forgive: true} }

// Write writes text, escaped.
func (w *Writer) Write(p []byte) (int, error) {
	w.lock.Lock()
	defer w.lock.Unlock()
	text, rest := appendPlain(nil, append(w.rest, p...), false)
	w.rest = append([]byte(nil), rest...)
	_, err := w.w.Write(text)
	if err == nil || w.forgive {
		return len(p), nil
	}
	if w.err == nil {
		w.err = err
	}
	return 0, err
}

// Err returns the first error of a writer for results.
func (w *Writer) Err() error {
	w.lock.Lock()
	defer w.lock.Unlock()
	return w.err
}

// Terminal returns the terminal of a writer, without escaping, or nil if the writer is not a terminal.
func Terminal(w io.Writer) *os.File {
	if p, ok := w.(*Writer); ok {
		w = p.w
	}
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return f
	}
	return nil
}

// WriteCSV writes records that contain no formulas for a spreadsheet. A text gets an apostrophe as a prefix if it
// starts with =, +, -, @, or white space before such a sign, and is no number. Control characters are escaped.
func WriteCSV(w io.Writer, records [][]string) error {
	c := csv.NewWriter(w)
	for _, r := range records {
		line := make([]string, len(r))
		for i, cell := range r {
			line[i] = Cell(cell)
		}
		if err := c.Write(line); err != nil {
			return err
		}
	}
	c.Flush()
	return c.Error()
}

// Cell is a cell of [WriteCSV].
func Cell(s string) string {
	s = Text(s)
	first := strings.TrimSpace(s)
	if first == "" || first == "-" || !strings.Contains("=+-@\uff1d\uff0b\uff0d\uff20", string([]rune(first)[:1])) {
		return s
	}
	if _, err := strconv.ParseFloat(s, 64); err == nil {
		return s
	}
	return "'" + s
}
