// Package plain makes text from foreign files harmless: for terminals it removes control characters, which start escape
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

// appendPlain appends src to dst, escaped as by Text. Unless src is complete, it returns the beginning
// of a character at the end of src.
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

// Writer escapes text as [Text] does, writes it to another writer, and keeps the first error.
// Goroutines may share it.
type Writer struct {
	w       io.Writer
	forgive bool

	lock sync.Mutex
	rest []byte // bytes of an incomplete character
	err  error
}

// NewWriter returns a writer of results, which reports errors.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w} }

// NewLog returns a writer of messages for people. Nothing depends on them: it reports no errors.
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

// Err returns the first error of a writer of results.
func (w *Writer) Err() error {
	w.lock.Lock()
	defer w.lock.Unlock()
	return w.err
}

// Terminal returns the terminal behind a writer, without escaping; nil if the writer is no terminal.
func Terminal(w io.Writer) *os.File {
	if p, ok := w.(*Writer); ok {
		w = p.w
	}
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return f
	}
	return nil
}

// WriteCSV writes records without formulas for a spreadsheet. A text gets an apostrophe in front if it is not a number
// and begins with =, +, -, @, or white space before them. Control characters are escaped.
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
