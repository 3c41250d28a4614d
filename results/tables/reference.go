package tables

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

	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/internal/disk"
)

// Reference holds all printed cells of one table.
type Reference struct {
	File  string
	Cells []Printed // in the file's order
}

// Printed is one printed cell.
type Printed struct {
	Table, Dataset string // "Table 2", "Synthetic data"
	Row, Column    string
	Mean, Std      Decimal // without text if the paper prints no number
	Note           string
	Line           int // line of the file
}

// Decimal is a number with its printed digits.
type Decimal struct {
	Value    float64
	Text     string // "0.40"; empty: no number
	Decimals int    // digits behind the point: 2
}

// Half returns half a unit of the last printed digit, the largest rounding error.
func (d Decimal) Half() float64 {
	half := 0.5
	for range d.Decimals {
		half /= 10
	}
	return half
}

// referenceHeader is the first line of a reference file.
var referenceHeader = []string{"table", "dataset", "row", "column", "mean", "std", "note"}

// ParseReference reads the printed cells of a table. A file is UTF-8 text with the header
//
//	table,dataset,row,column,mean,std,note
//
// and a line for each cell. Lines end in a line feed. mean and std are decimal numbers with the printed digits. std
// may be empty. If mean is empty, note quotes the printed text; dataset, row and column may then be *, for all cells
// without their own line. An error names file and line.
func ParseReference(file string, src []byte) (*Reference, error) {
	if err := plainLines(file, src); err != nil {
		return nil, err
	}
	reader := csv.NewReader(bytes.NewReader(src))
	reader.FieldsPerRecord = -1 // counted here, for the error
	ref := &Reference{File: file}
	first := map[[3]string]int{} // the line of a cell
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
			if !slices.Equal(fields, referenceHeader) {
				return nil, fmt.Errorf("%s:%d: the header is %q; want %s", file, line, strings.Join(fields, ","), strings.Join(referenceHeader, ","))
			}
			continue
		}
		p, err := parsePrinted(fields)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, line, err)
		}
		p.Line = line
		cell := [3]string{p.Dataset, p.Row, p.Column}
		if before := first[cell]; before > 0 {
			return nil, fmt.Errorf("%s:%d: row %q, column %q of %q was given in line %d", file, line, p.Row, p.Column, p.Dataset, before)
		}
		first[cell] = line
		ref.Cells = append(ref.Cells, p)
	}
	if len(ref.Cells) == 0 {
		return nil, fmt.Errorf("%s: there are no cells in it; want a header and a line for each cell", file)
	}
	return ref, nil
}

// plainLines refuses files that are not whole lines of UTF-8 text, such as truncated files.
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
			return fmt.Errorf("%s:%d: the last line has no end: the file may be cut off", file, i+1)
		}
	}
	return nil
}

func parsePrinted(fields []string) (p Printed, err error) {
	if len(fields) != len(referenceHeader) {
		return p, fmt.Errorf("there are %d fields; want %d: %s", len(fields), len(referenceHeader), strings.Join(referenceHeader, ","))
	}
	for i, name := range referenceHeader[:4] {
		if fields[i] == "" || strings.TrimSpace(fields[i]) != fields[i] || strings.Contains(fields[i], "\n") {
			return p, fmt.Errorf("%s is %q; want a name without space around it", name, fields[i])
		}
	}
	p = Printed{Table: fields[0], Dataset: fields[1], Row: fields[2], Column: fields[3], Note: fields[6]}
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
	case p.Mean.Text != "" && slices.Contains(fields[1:4], anyName):
		return p, fmt.Errorf("a line for all cells has the mean %s; want one line with a value for each cell", p.Mean.Text)
	case p.Mean.Text == "" && p.Note == "":
		return p, fmt.Errorf("there is no mean; want a note with the printed text")
	}
	return p, nil
}

// maxDigits is the longest printed number with exact digits.
const maxDigits = 15

// parseDecimal reads a number such as -0.40; an empty text gives an empty Decimal.
func parseDecimal(text string) (Decimal, error) {
	if text == "" {
		return Decimal{}, nil
	}
	whole, fraction, point := strings.Cut(strings.TrimPrefix(text, "-"), ".")
	digits := func(s string) bool {
		return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return r < '0' || r > '9' })
	}
	if !digits(whole) || point && !digits(fraction) || len(whole)+len(fraction) > maxDigits || len(whole) > 1 && whole[0] == '0' {
		return Decimal{}, fmt.Errorf("%q is not a decimal number such as 0.40", text)
	}
	value, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return Decimal{}, err
	}
	return Decimal{Value: value, Text: text, Decimals: len(fraction)}, nil
}

// maxReference bounds the bytes of a reference file.
const maxReference = 64 << 20

func readBounded(fsys fs.FS, path, shown string) ([]byte, error) {
	f, err := fsys.Open(path)
	if err != nil {
		return nil, err
	}
	src, err := disk.ReadLimited(f, shown, maxReference)
	return src, errors.Join(err, f.Close())
}

// ReadReference reads the reference file at a path of a file system. Errors call it by the name shown.
func ReadReference(fsys fs.FS, path, shown string) (*Reference, error) {
	src, err := readBounded(fsys, path, shown)
	if err != nil {
		var where *fs.PathError
		if errors.As(err, &where) {
			err = where.Err
		}
		return nil, fmt.Errorf("%s: %w", shown, err)
	}
	return ParseReference(shown, src)
}

// anyName, in a line without a value, matches all data sets, rows or columns without their own line.
const anyName = "*"

// Find returns a cell of a data set; nil if it is not printed.
func (r *Reference) Find(dataset, row, column string) *Printed {
	var general *Printed
	for i := range r.Cells {
		c := &r.Cells[i]
		if c.Dataset == dataset && c.Row == row && c.Column == column {
			return c
		}
		if general == nil && c.Mean.Text == "" && meant(c.Dataset, dataset) && meant(c.Row, row) && meant(c.Column, column) {
			general = c
		}
	}
	return general
}

func meant(name, of string) bool { return name == of || name == anyName }

// names lists the distinct names in the cells of a data set; of selects the name.
func (r *Reference) names(dataset string, of func(*Printed) string) []string {
	var names []string
	for i := range r.Cells {
		if c := &r.Cells[i]; meant(c.Dataset, dataset) && !slices.Contains(names, of(c)) {
			names = append(names, of(c))
		}
	}
	return names
}

// sets lists the data sets of the cells.
func (r *Reference) sets() []string {
	var sets []string
	for i := range r.Cells {
		if c := &r.Cells[i]; !slices.Contains(sets, c.Dataset) {
			sets = append(sets, c.Dataset)
		}
	}
	return sets
}

// name returns the row's name among the printed cells.
func (r *Row) name() string {
	if r.Printed != "" {
		return r.Printed
	}
	return r.Label
}

// againstReference checks that the reference file has the labels and all their cells. It returns the wrong key.
func (t *Table) againstReference() (key string, err error) {
	type named struct{ key, set, row string }
	var list []named
	switch all := slices.ContainsFunc(t.Rows, func(r Row) bool { return r.Dataset == "" }); {
	case len(t.DataSets) > 0:
		for i, d := range t.DataSets {
			list = append(list, named{fmt.Sprintf("datasets.%d.label", i), d.Label, ""})
		}
	case all || t.Printed.Dataset != "":
		list = append(list, named{"reference.dataset", t.Printed.Dataset, ""})
	}
	for _, s := range t.Scales {
		if s.Dataset != "" {
			list = append(list, named{"scales." + s.Name + ".dataset", s.Dataset, ""})
		}
	}
	for i, r := range t.Rows {
		if r.Dataset != "" {
			list = append(list, named{fmt.Sprintf("rows.%d.dataset", i), r.Dataset, r.Dataset})
		}
	}
	for _, n := range list {
		if key, err := t.againstSet(n.key, n.set, n.row); err != nil {
			return key, err
		}
	}
	return "", nil
}

// againstSet checks the cells of one data set, for the rows with rowSet as their data set. named is the key in errors
// about the data set.
func (t *Table) againstSet(named, set, rowSet string) (key string, err error) {
	ref := t.Reference
	if known := ref.sets(); !slices.Contains(known, set) && !slices.Contains(known, anyName) {
		return named, fmt.Errorf("%s has no data set %q%s", ref.File, set, registry.Suggest(set, known))
	}
	rows := ref.names(set, func(p *Printed) string { return p.Row })
	columns := ref.names(set, func(p *Printed) string { return p.Column })
	for i, c := range t.Columns {
		if err := amongPrinted("column", c.Label, columns); err != nil {
			return fmt.Sprintf("columns.%d.label", i), fmt.Errorf("%s: %w", ref.File, err)
		}
	}
	for i, r := range t.Rows {
		if r.Dataset != rowSet {
			continue
		}
		at := fmt.Sprintf("rows.%d.label", i)
		if r.Printed != "" {
			at = fmt.Sprintf("rows.%d.printed", i)
		}
		if err := amongPrinted("row", r.name(), rows); err != nil {
			return at, fmt.Errorf("%s: %w", ref.File, err)
		}
		for _, c := range t.Columns {
			if ref.Find(set, r.name(), c.Label) == nil {
				return at, fmt.Errorf("%s: there is no cell of row %q, column %q", ref.File, r.name(), c.Label)
			}
		}
	}
	return "", nil
}

// amongPrinted is among, for names with a wildcard for all.
func amongPrinted(what, name string, known []string) error {
	if slices.Contains(known, anyName) {
		return nil
	}
	return among(what, name, known)
}

func among(what, name string, known []string) error {
	if slices.Contains(known, name) {
		return nil
	}
	return fmt.Errorf("there is no %s %q%s", what, name, registry.Suggest(name, known))
}
