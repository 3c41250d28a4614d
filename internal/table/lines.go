package table

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/unicode"
)

// Lines reads the lines of a text table (RFC 4180).
type Lines struct {
	Comma rune // separator of fields

	name string
	csv  *csv.Reader
	src  *rowReader
	line int // line of the last field read
}

// peekSize is the number of bytes that decide about the separator.
const peekSize = 1 << 16

// NewLines starts to read UTF-8, or UTF-16 with a byte-order mark. The first line determines the separator of fields:
// comma, semicolon, tab, or spaces between numbers. Errors start with name, and count lines and fields from 1, like
// editors.
func NewLines(r io.Reader, name string) (*Lines, error) {
	src := bufio.NewReaderSize(&lineReader{r: r, name: name}, peekSize)
	switch mark, _ := src.Peek(3); { // shorter in an empty file
	case string(mark) == "\ufeff":
		src.Discard(3) // the bytes just peeked at
	case bytes.HasPrefix(mark, []byte("\xff\xfe")), bytes.HasPrefix(mark, []byte("\xfe\xff")):
		decoder := unicode.UTF16(unicode.LittleEndian, unicode.ExpectBOM).NewDecoder()
		src = bufio.NewReaderSize(decoder.Reader(src), peekSize)
	}
	if mark, _ := src.Peek(2); string(mark) == "# " { // before the names that numpy.savetxt writes
		src.Discard(2)
	}
	start, _ := src.Peek(peekSize)                                             // shorter in a short file
	if bytes.IndexByte(start, '\r') >= 0 && bytes.IndexByte(start, '\n') < 0 { // line ends of Excel's CSV (Macintosh)
		src = bufio.NewReaderSize(oldMacReader{src}, peekSize)
		start, _ = src.Peek(peekSize)
	}
	if bytes.IndexByte(start, 0) >= 0 {
		return nil, fmt.Errorf("%s has zero bytes, as UTF-16 without a byte-order mark has; want UTF-8, or UTF-16 with a mark", name)
	}
	row := &rowReader{r: src}
	l := &Lines{Comma: separator(start), name: name, csv: csv.NewReader(row), src: row}
	l.csv.Comma, l.csv.TrimLeadingSpace, l.csv.FieldsPerRecord, l.csv.ReuseRecord = l.Comma, l.Comma != '\t', -1, true
	return l, nil
}

// oldMacReader replaces carriage returns by line feeds.
type oldMacReader struct{ r io.Reader }

func (o oldMacReader) Read(p []byte) (int, error) {
	n, err := o.r.Read(p)
	copy(p, bytes.ReplaceAll(p[:n], []byte("\r"), []byte("\n")))
	return n, err
}

// maxLine is the maximum length of a line in bytes. Without it, a file without line ends could use all memory.
const maxLine = 256 << 20

// lineReader returns an error for a line that is too long.
type lineReader struct {
	r    io.Reader
	name string
	n    int // bytes since the last line end
}

func (l *lineReader) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	if end := bytes.LastIndexByte(p[:n], '\n'); end >= 0 {
		l.n = n - end - 1
	} else {
		l.n += n
	}
	if l.n > maxLine {
		return 0, fmt.Errorf("%s has a line of more than %d bytes; want a row in each line", l.name, maxLine)
	}
	return n, err
}

// maxQuoted is the maximum size of a row in bytes after its first line. A quoted field may have several lines, but a
// missing end quote would take the rest of the file.
const maxQuoted = 1 << 20

var errQuoted = fmt.Errorf("a quoted field does not end within %d bytes; want a closing quote", maxQuoted)

// rowReader returns an error for a row with too many bytes after its first line.
type rowReader struct {
	r             io.Reader
	firstLineRead bool // the reader has read the first line of the row
	n             int  // bytes after the first line, excluding line ends, which may be empty lines
}

func (r *rowReader) Read(p []byte) (int, error) {
	n, err := r.r.Read(p)
	rest := p[:n]
	if !r.firstLineRead {
		_, rest, r.firstLineRead = bytes.Cut(rest, []byte("\n"))
	}
	if r.n += len(rest) - bytes.Count(rest, []byte("\n")); r.n > maxQuoted {
		return 0, errQuoted
	}
	return n, err
}

// Read returns the fields of the next nonempty line, without spaces at both ends, or io.EOF at the end. The fields are
// valid until the next call. Quoting errors wrap a [csv.ParseError].
func (l *Lines) Read() ([]string, error) {
	l.src.firstLineRead, l.src.n = false, 0
	fields, err := l.csv.Read()
	switch {
	case err == io.EOF:
		return nil, err
	case errors.Is(err, errQuoted):
		return nil, fmt.Errorf("%s:%d: %w", l.name, l.line+1, err)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", l.name, err)
	}
	l.line, _ = l.csv.FieldPos(len(fields) - 1)
	if n := len(fields) - 1; l.Comma == ' ' && fields[n] == "" { // spaces at the end of the line
		fields = fields[:n]
	}
	for i, f := range fields {
		if !utf8.ValidString(f) {
			line, _ := l.csv.FieldPos(i)
			return nil, fmt.Errorf("%s:%d: %q is not UTF-8, but perhaps Latin-1 or Windows-1252; "+
				`want UTF-8, from iconv -f WINDOWS-1252 -t UTF-8, or from Excel's "CSV UTF-8"`, l.name, line, f)
		}
		fields[i] = strings.TrimSpace(f)
	}
	return fields, nil
}

// Pos returns the line and the byte position of a field from the last Read, from 1.
func (l *Lines) Pos(field int) (line, column int) { return l.csv.FieldPos(field) }

// separator returns the most frequent separator in the first nonempty line, outside quotes. If all commas are between
// digits and the line has another separator, the commas are decimal commas.
func separator(begin []byte) rune {
	begin = bytes.TrimLeft(begin, "\r\n")
	if spaceSeparated(string(begin)) {
		return ' '
	}
	count, between, quoted := map[byte]int{}, 0, false
	digit := func(i int) bool { return i >= 0 && i < len(begin) && begin[i] >= '0' && begin[i] <= '9' }
	for i, c := range begin {
		switch {
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '\n' || c == '\r':
			begin = begin[:i]
		case c == ',' && digit(i-1) && digit(i+1):
			between++
			fallthrough
		default:
			count[c]++
		}
		if i >= len(begin) {
			break
		}
	}
	if count[','] == between && count[';']+count['\t'] > 0 {
		count[','] = 0
	}
	best := byte(',')
	for _, c := range []byte(";\t") {
		if count[c] > count[best] {
			best = c
		}
	}
	return rune(best)
}

// spaceSeparated reports whether the first line has several numbers with spaces between them and no other separator, as
// numpy.savetxt writes. The first line may also have as many names, above such numbers.
func spaceSeparated(start string) bool {
	first, rest, found := strings.Cut(start, "\n")
	if !found && len(start) == peekSize { // it may end within a number
		first = first[:max(strings.LastIndexByte(first, ' '), 0)]
	}
	second, _, _ := strings.Cut(strings.TrimLeft(rest, "\r\n"), "\n")
	if strings.ContainsAny(first, ",;\t|\"") || strings.Contains(second, "|") {
		return false
	}
	return isRow(first) || isRow(second) && len(strings.Fields(first)) == len(strings.Fields(second))
}
