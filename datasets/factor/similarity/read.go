package similarity

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/unravel-ml/unravel/internal/table"
	"github.com/unravel-ml/unravel/internal/wording"
)

// Rows describes the rows that a file of answers can name.
type Rows struct {
	Count int
	Find  func(name string) (row int, ok bool) // row of a name that is not a number, such as the file of a picture; nil: rows have no names
}

// maxAnswers is the maximum number of answers in a file; each takes 20 bytes.
const maxAnswers = 1 << 27

// maxFactors is the maximum number of factors in a file; each takes memory for every row.
const maxFactors = 1000

// ReadFile reads a file of answers; see [Read].
func ReadFile(path string, rows Rows) (*Answers, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return Read(f, path, rows)
}

// Read reads answers from a text table. Each line has two rows, the name of a factor, and same or different. Rows are
// numbers from 0, or names that rows.Find knows. The first line may be a header that ends with the name answer. A line
// that ends with an empty field or ? is a question without an answer. Fields are separated by commas, semicolons or
// tabs, as in the first line, and may be quoted. [table.NewLines] reads the text. A leading index column without a name
// is ignored.
//
// Errors begin with the position, name:line:column.
func Read(r io.Reader, name string, rows Rows) (*Answers, error) {
	if rows.Count < 1 || rows.Count > maxRows {
		return nil, fmt.Errorf("%s: answers are about %d rows; want 1 to %d", name, rows.Count, maxRows)
	}
	lines, err := table.NewLines(r, name)
	if err != nil {
		return nil, fmt.Errorf("%w; want row,row,factor,answer", err)
	}
	x := reader{name: name, rows: rows, lines: lines, factors: map[string]int32{}}
	x.answers = &Answers{Rows: rows.Count, Name: name}
	for first := true; ; first = false {
		fields, err := lines.Read()
		if errors.Is(err, io.EOF) {
			return x.answers, nil
		}
		if err == nil {
			err = x.line(fields, first)
		} else {
			err = x.formatError(err)
		}
		if err != nil {
			return nil, err
		}
	}
}

type reader struct {
	name    string
	rows    Rows
	lines   *table.Lines
	skip    int // number of leading index fields
	answers *Answers
	factors map[string]int32
}

// formatError returns an error of the text format, with its position.
func (x *reader) formatError(err error) error {
	var parseErr *csv.ParseError
	if errors.As(err, &parseErr) {
		return fmt.Errorf("%s:%d:%d: %w; want row,row,factor,answer", x.name, parseErr.Line, parseErr.Column, parseErr.Err)
	}
	return err
}

// errorf returns an error about a field.
func (x *reader) errorf(field int, format string, args ...any) error {
	line, column := x.lines.Pos(field + x.skip)
	return fmt.Errorf("%s:%d:%d: %s", x.name, line, column, fmt.Sprintf(format, args...))
}

func (x *reader) line(fields []string, first bool) error {
	if first && len(fields) == 5 && table.Unnamed(fields[0]) {
		x.skip = 1 // a leading index column
	}
	if len(fields) != 4+x.skip {
		return x.errorf(-x.skip, "there are %d fields; want four, row,row,factor,answer", len(fields))
	}
	fields = fields[x.skip:]
	a := Answer{}
	text := fields[3]
	unanswered := text == "" || text == "?"
	switch {
	case unanswered:
	case strings.EqualFold(text, "same"):
		a.Same = true
	case strings.EqualFold(text, "different"):
	case first && strings.EqualFold(text, "answer"):
		return nil
	default:
		return x.errorf(3, "%q is not an answer; want same, different, or an empty field if it is unknown (the first line may have names)", wording.Shorten(text, 60))
	}
	var err error
	if a.A, err = x.row(fields[0], 0); err != nil {
		return err
	}
	if a.B, err = x.row(fields[1], 1); err != nil {
		return err
	}
	factor := fields[2]
	if factor == "" {
		return x.errorf(2, "the factor has no name; want one such as colour")
	}
	k, ok := x.factors[factor]
	if !ok {
		if len(x.factors) == maxFactors {
			return x.errorf(2, "%q is factor %d; want at most %d factors", wording.Shorten(factor, 60), maxFactors+1, maxFactors)
		}
		factor = strings.Clone(factor)
		k = int32(len(x.answers.Factors))
		x.factors[factor], x.answers.Factors = k, append(x.answers.Factors, factor)
	}
	a.Factor = k
	line, _ := x.lines.Pos(0)
	a.Line = int32(line)
	if unanswered {
		x.answers.Open = append(x.answers.Open, a)
	} else {
		x.answers.List = append(x.answers.List, a)
	}
	if len(x.answers.List)+len(x.answers.Open) > maxAnswers {
		return x.errorf(0, "there are too many answers; want at most %d", maxAnswers)
	}
	return nil
}

func (x *reader) row(text string, field int) (int32, error) {
	n, err := strconv.Atoi(strings.TrimSuffix(text, ".0")) // pandas writes 3.0 in a column with gaps
	switch {
	case err == nil && n >= 0 && n < x.rows.Count:
		return int32(n), nil
	case err == nil || errors.Is(err, strconv.ErrRange):
		return 0, x.errorf(field, "there is no row %s; want 0 to %d", wording.Shorten(text, 60), x.rows.Count-1)
	case x.rows.Find == nil:
		text = wording.Shorten(text, 60)
		return 0, x.errorf(field, "%q is not a row; want a whole number from 0 to %d", text, x.rows.Count-1)
	}
	row, ok := x.rows.Find(text)
	if !ok || row < 0 || row >= x.rows.Count {
		return 0, x.errorf(field, "no row has the name %q; want the name of a file, or a number from 0 to %d",
			wording.Shorten(text, 60), x.rows.Count-1)
	}
	return int32(row), nil
}

// Write writes answers in the format of Read, unanswered questions last. name names a row; nil means numbers.
func Write(w io.Writer, a *Answers, name func(row int) string) error {
	if name == nil {
		name = strconv.Itoa
	}
	if err := a.Validate(); err != nil {
		return err
	}
	out := csv.NewWriter(w)
	if err := out.Write([]string{"row", "row", "factor", "answer"}); err != nil {
		return err
	}
	for n, x := range slices.Concat(a.List, a.Open) {
		text := "different"
		switch {
		case n >= len(a.List):
			text = ""
		case x.Same:
			text = "same"
		}
		if err := out.Write([]string{name(int(x.A)), name(int(x.B)), a.Factors[x.Factor], text}); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}
