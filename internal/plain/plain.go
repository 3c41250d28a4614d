// Package plain writes text that may come from foreign files: to terminals without control
// characters, which begin escape sequences, and to CSV files without formulas.
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

// Text returns s with its control characters and bytes that are not UTF-8 written out, \x1b.
// Line feeds and tabs stay.
func Text(s string) string {
	b, _ := appendPlain(nil, []byte(s), true)
	return string(b)
}

// appendPlain appends src to dst as Text has it. It returns what may be the beginning of a
// character, unless src is all there is.
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
			dst = fmt.Appendf(dst, `\u%04x`, r) // which JSON has, too
		default:
			dst = append(dst, src[:size]...)
		}
		src = src[size:]
	}
	return dst, nil
}

// Writer writes text to another writer as [Text] has it, and remembers the first error.
// Goroutines may share it.
type Writer struct {
	w       io.Writer
	forgive bool

	lock sync.Mutex
	rest []byte // of a character that is not complete
	err  error
}

// NewWriter returns a writer of results.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w} }

// NewLog returns a writer of text for people, which nothing depends on: its errors are not reported.
func NewLog(w io.Writer) *Writer { return &Writer{w: w, forgive: true} }

// Write writes text.
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

// Terminal returns the terminal that a writer writes to, as it is; nil if it is none.
func Terminal(w io.Writer) *os.File {
	if p, ok := w.(*Writer); ok {
		w = p.w
	}
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return f
	}
	return nil
}

// WriteCSV writes records in which no cell is a formula to a spreadsheet: a text that begins
// with =, +, -, @, or white space that hides them, and is not a number, gets an apostrophe in front.
// Control characters are written out.
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
