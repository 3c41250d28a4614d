package npy

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/unravel-ml/unravel/internal/dtype"
	"github.com/unravel-ml/unravel/internal/wording"
)

const (
	magic     = "\x93NUMPY"
	maxHeader = 1 << 20 // in bytes; typical headers have about a hundred
)

// ErrFormat is the error for a file in another format.
var ErrFormat = errors.New("not a .npy file")

// readHeader reads the part before the elements, and returns its length.
func readHeader(r io.Reader) (h Header, dt dtype.Type, length int64, err error) {
	var start [8]byte
	if n, err := io.ReadFull(r, start[:]); err != nil {
		return h, dt, 0, unexpected(err, fmt.Errorf("%w: only %d bytes long", ErrFormat, n))
	}
	if string(start[:6]) != magic {
		return h, dt, 0, fmt.Errorf("%w: it begins with %q, want %q", ErrFormat, start[:6], magic)
	}
	size := 2
	switch start[6] {
	case 1:
	case 2, 3:
		size = 4
	default:
		return h, dt, 0, fmt.Errorf(".npy format version %d.%d is not known; want 1 to 3", start[6], start[7])
	}
	var field [4]byte
	if _, err := io.ReadFull(r, field[:size]); err != nil {
		return h, dt, 0, unexpected(err, errors.New("truncated in the header"))
	}
	n := int(binary.LittleEndian.Uint32(field[:]))
	if n > maxHeader {
		return h, dt, 0, fmt.Errorf("a header of %d bytes; at most %d are read", n, maxHeader)
	}
	text := make([]byte, n)
	if got, err := io.ReadFull(r, text); err != nil {
		return h, dt, 0, unexpected(err, fmt.Errorf("truncated in the header: %d of %d bytes", got, n))
	}
	if !utf8.Valid(text) {
		return h, dt, 0, errors.New("the header is not text")
	}
	h, dt, err = parseHeader(string(text))
	if err != nil {
		return h, dt, 0, fmt.Errorf("header %q: %w", wording.Shorten(strings.TrimSpace(string(text)), 200), err)
	}
	return h, dt, int64(8 + size + n), nil
}

// unexpected returns meaning for an early end of the file, and err otherwise.
func unexpected(err, meaning error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return meaning
	}
	return err
}

// parseHeader parses a Python dictionary with exactly the keys descr, fortran_order and shape, in any order.
func parseHeader(text string) (h Header, dt dtype.Type, err error) {
	p := parser{text: text}
	seen := map[string]bool{}
	p.want('{')
	for p.err == nil && !p.accept('}') {
		key := p.str()
		p.want(':')
		if seen[key] {
			p.fail("the key %q twice", key)
		}
		seen[key] = true
		switch key {
		case "descr":
			if p.peek() == '[' {
				p.fail("a structured array, which is not read; want booleans, integers or floats")
				break
			}
			descr := p.str()
			if p.err == nil {
				dt, h.BigEndian, p.err = parseDescr(descr)
			}
		case "fortran_order":
			h.Fortran = p.boolean()
		case "shape":
			h.Shape = p.tuple()
		default:
			p.fail("unknown key %q", key)
		}
		if !p.accept(',') && p.peek() != '}' {
			p.fail("want , or }")
		}
	}
	if p.skip(); p.err == nil && p.text != "" {
		p.fail("%q after the dictionary", wording.Shorten(p.text, 200))
	}
	if p.err == nil && len(seen) != 3 {
		p.fail("want the keys descr, fortran_order and shape")
	}
	h.DType = dt.Name
	return h, dt, p.err
}

// parser reads the subset of Python's syntax that headers use. After an error its methods do nothing.
type parser struct {
	text string
	err  error
}

func (p *parser) fail(format string, args ...any) {
	if p.err == nil {
		p.err = fmt.Errorf(format, args...)
	}
}

func (p *parser) skip() { p.text = strings.TrimLeft(p.text, " \t\r\n") }

func (p *parser) peek() byte {
	p.skip()
	if p.err != nil || p.text == "" {
		return 0
	}
	return p.text[0]
}

func (p *parser) accept(c byte) bool {
	if p.peek() != c || p.err != nil {
		return false
	}
	p.text = p.text[1:]
	return true
}

func (p *parser) want(c byte) {
	if !p.accept(c) {
		p.fail("want %c", c)
	}
}

func (p *parser) str() string {
	quote := p.peek()
	if quote != '\'' && quote != '"' {
		p.fail("want a string")
		return ""
	}
	s, rest, ok := strings.Cut(p.text[1:], string(quote))
	if !ok {
		p.fail("a string without end")
		return ""
	}
	p.text = rest
	return s
}

func (p *parser) boolean() bool {
	p.skip()
	for _, word := range []string{"True", "False"} {
		if rest, ok := strings.CutPrefix(p.text, word); ok {
			p.text = rest
			return word == "True"
		}
	}
	p.fail("fortran_order: want True or False")
	return false
}

func (p *parser) tuple() []int {
	p.want('(')
	shape := []int{}
	for p.err == nil && !p.accept(')') {
		p.skip()
		digits := p.text[:len(p.text)-len(strings.TrimLeft(p.text, "+-0123456789"))]
		d, err := strconv.Atoi(digits)
		if err != nil || d < 0 || len(shape) >= 64 {
			p.fail("shape: want integers from 0")
			return nil
		}
		p.text = strings.TrimPrefix(p.text[len(digits):], "L") // Python 2 wrote 3L for 3
		shape = append(shape, d)
		if !p.accept(',') && p.peek() != ')' {
			p.fail("shape: want , or )")
		}
	}
	return shape
}

// header returns the part before the elements, padded to a multiple of 64 bytes.
func header(shape []int, dt dtype.Type) []byte {
	tuple := strings.ReplaceAll(strings.Trim(fmt.Sprint(shape), "[]"), " ", ", ")
	if len(shape) == 1 {
		tuple += ","
	}
	order := byte('<')
	if dt.Size == 1 {
		order = '|'
	}
	text := fmt.Sprintf("{'descr': '%c%c%d', 'fortran_order': False, 'shape': (%s), }", order, dt.Kind, dt.Size, tuple)
	const start = len(magic) + 4
	pad := 63 - (start+len(text))%64
	b := binary.LittleEndian.AppendUint16([]byte(magic+"\x01\x00"), uint16(len(text)+pad+1))
	return append(b, text+strings.Repeat(" ", pad)+"\n"...)
}
