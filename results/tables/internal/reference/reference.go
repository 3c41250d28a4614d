// Package reference reads files of printed values: the numbers in a paper's table, with their digits.
package reference

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/unravel-ml/unravel/internal/disk"
)

// File holds all printed cells of one table.
type File struct {
	Name  string
	Cells []Cell // in the file's order
}

// Cell is one printed cell.
type Cell struct {
	Table, Dataset string // "Table 2", "Synthetic data"
	Row, Column    string
	Mean, Std      Decimal // empty Text if the paper prints no number
	Note           string
	Line           int // line in the file
}

// Decimal is a number with its printed digits.
type Decimal struct {
	Value    float64
	Text     string // "0.40"; empty: no number
	Decimals int    // digits after the decimal point: 2
}

// Half returns half a unit of the last printed digit, which is the maximum rounding error.
func (d Decimal) Half() float64 {
	half := 0.5
	for range d.Decimals {
		half /= 10
	}
	return half
}

const slack = 1e-9 // allows for rounding errors when a printed value is halfway between two of our values

// Rounding returns the maximum difference between the printed value and a value that rounds to it.
func (c *Cell) Rounding() float64 { return c.Mean.Half() * (1 + slack) }

var header = []string{"table", "dataset", "row", "column", "mean", "std", "note"} // first line of a file

// Parse reads the printed cells of a table. A file is UTF-8 text with the header
//
//	table,dataset,row,column,mean,std,note
//
// and one line per cell. Lines end in a line feed. mean and std are decimal numbers with the printed digits; std may be
// empty. If mean is empty, note quotes the printed text. Then dataset, row and column may be *, which means all cells
// without a line. Errors contain the file and the line.
func Parse(file string, src []byte) (*File, error) {
	if err := plainLines(file, src); err != nil {
		return nil, err
	}
	reader := csv.NewReader(bytes.NewReader(src))
	reader.FieldsPerRecord = -1 // the number of fields is checked below, for a better error
	ref := &File{Name: file}
	first := map[[3]string]int{} // line of each cell
	for number := 0; ; number++ {
		fields, err := reader.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		var bad *csv.ParseError
		if errors.As(err, &bad) {
			return nil, fmt.Errorf("%s:%d: %w", file, bad.Line, bad.Err)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		line, _ := reader.FieldPos(0)
		if number == 0 {
			if !slices.Equal(fields, header) {
				return nil, fmt.Errorf("%s:%d: the header is %q; want %s",
					file, line, strings.Join(fields, ","), strings.Join(header, ","))
			}
			continue
		}
		p, err := parseCell(fields)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, line, err)
		}
		p.Line = line
		cell := [3]string{p.Dataset, p.Row, p.Column}
		if before := first[cell]; before > 0 {
			return nil, fmt.Errorf("%s:%d: row %q, column %q of %q was given in line %d",
				file, line, p.Row, p.Column, p.Dataset, before)
		}
		first[cell] = line
		ref.Cells = append(ref.Cells, p)
	}
	if len(ref.Cells) == 0 {
		return nil, fmt.Errorf("%s: there are no cells in it; want a header and a line for each cell", file)
	}
	return ref, nil
}

// plainLines returns an error for anything but complete lines of UTF-8 text, such as truncated files.
func plainLines(file string, src []byte) error {
	for i, line := range bytes.SplitAfter(src, []byte("\n")) {
		switch {
		case len(line) == 0:
			continue
		case !utf8.Valid(line):
			return fmt.Errorf("%s:%d: not UTF-8", file, i+1)
		case bytes.HasPrefix(line, []byte("\ufeff")):
			return fmt.Errorf("%s:%d: a byte order mark; want the text alone", file, i+1)
		case bytes.ContainsFunc(line[:len(line)-1], func(r rune) bool { return r < ' ' || r == 0x7f }):
			return fmt.Errorf("%s:%d: a control character; want lines that end in a line feed only", file, i+1)
		case line[len(line)-1] != '\n':
			return fmt.Errorf("%s:%d: the last line does not end with a line break: the file may be cut off", file, i+1)
		}
	}
	return nil
}

func parseCell(fields []string) (p Cell, err error) {
	if len(fields) != len(header) {
		return p, fmt.Errorf("there are %d fields; want %d: %s", len(fields), len(header), strings.Join(header, ","))
	}
	for i, name := range header[:4] {
		if fields[i] == "" || strings.TrimSpace(fields[i]) != fields[i] || strings.Contains(fields[i], "\n") {
			return p, fmt.Errorf("%s is %q; want a name without space around it", name, fields[i])
		}
	}
	p = Cell{Table: fields[0], Dataset: fields[1], Row: fields[2], Column: fields[3], Note: fields[6]}
	if p.Mean, err = parseDecimal(fields[4]); err != nil {
		return p, fmt.Errorf("mean: %w", err)
	}
	if p.Std, err = parseDecimal(fields[5]); err != nil {
		return p, fmt.Errorf("std: %w", err)
	}
	switch {
	case p.Std.Value < 0:
		return p, fmt.Errorf("std: %s is negative; want a standard deviation", p.Std.Text)
	case p.Mean.Text == "" && p.Std.Text != "":
		return p, fmt.Errorf("there is a std of %s and no mean", p.Std.Text)
	case p.Mean.Text != "" && slices.Contains(fields[1:4], Any):
		return p, fmt.Errorf("a line for all cells has the mean %s; want one line with a value for each cell", p.Mean.Text)
	case p.Mean.Text == "" && p.Note == "":
		return p, fmt.Errorf("there is no mean; want a note with the printed text")
	}
	return p, nil
}

const maxDigits = 15 // maximum number of digits of a printed number that are exact

// parseDecimal parses a number such as -0.40. An empty text gives an empty Decimal.
func parseDecimal(text string) (Decimal, error) {
	if text == "" {
		return Decimal{}, nil
	}
	whole, fraction, point := strings.Cut(strings.TrimPrefix(text, "-"), ".")
	digits := func(s string) bool {
		return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return r < '0' || r > '9' })
	}
	if !digits(whole) || point && !digits(fraction) || len(whole)+len(fraction) > maxDigits ||
		len(whole) > 1 && whole[0] == '0' {
		return Decimal{}, fmt.Errorf("%q is not a decimal number such as 0.40", text)
	}
	value, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return Decimal{}, err
	}
	return Decimal{Value: value, Text: text, Decimals: len(fraction)}, nil
}

const maxFile = 64 << 20

func readBounded(fsys fs.FS, path, shown string) ([]byte, error) {
	f, err := fsys.Open(path)
	if err != nil {
		return nil, err
	}
	src, err := disk.ReadLimited(f, shown, maxFile)
	return src, errors.Join(err, f.Close())
}

// Read reads a file. Errors refer to it as shown.
func Read(fsys fs.FS, path, shown string) (*File, error) {
	src, err := readBounded(fsys, path, shown)
	if err != nil {
		var where *fs.PathError
		if errors.As(err, &where) {
			err = where.Err
		}
		return nil, fmt.Errorf("%s: %w", shown, err)
	}
	return Parse(shown, src)
}

// Any, in a line without a value, matches all data sets, rows or columns that have no line.
const Any = "*"

// Find returns a cell of a data set, or nil if it is not printed.
func (r *File) Find(dataset, row, column string) *Cell {
	var general *Cell
	for i := range r.Cells {
		c := &r.Cells[i]
		if c.Dataset == dataset && c.Row == row && c.Column == column {
			return c
		}
		if general == nil && c.Mean.Text == "" && matches(c.Dataset, dataset) && matches(c.Row, row) &&
			matches(c.Column, column) {
			general = c
		}
	}
	return general
}

func matches(name, of string) bool { return name == of || name == Any }

func (r *File) Names(dataset string, name func(*Cell) string) []string {
	var names []string
	for i := range r.Cells {
		if c := &r.Cells[i]; matches(c.Dataset, dataset) && !slices.Contains(names, name(c)) {
			names = append(names, name(c))
		}
	}
	return names
}

func (r *File) Sets() []string {
	var sets []string
	for i := range r.Cells {
		if c := &r.Cells[i]; !slices.Contains(sets, c.Dataset) {
			sets = append(sets, c.Dataset)
		}
	}
	return sets
}
