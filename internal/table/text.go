package table

import (
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/unravel-ml/unravel/internal/memory"
	"github.com/unravel-ml/unravel/internal/wording"
)

// Text is a table of words and numbers as strings.
type Text struct {
	Names []string   // column names; nil: no names
	Rows  [][]string // fields without spaces at both ends
	Lines []int      // line of each row in the file, from 1
	Notes []string   // remarks on how the file was read
	Comma bool       // numbers may have a decimal comma
	Exact bool       // only an empty field is a missing value

	file    string
	dropped []string // fields of the index that DropUnnamed dropped; nil: none
	first   []int    // column number in the file, from 1, for each column of Rows; nil: unknown

	counted, reals bool // the first row is 0, 1, 2, ..., and may number the columns; the numbers below all have a point or an exponent
}

func ReadTextFile(path string, named bool) (*Text, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() // nothing was written
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no file; want a table with a line for each image", path)
	}
	const growth = 6 // bytes in memory per byte of text
	if err := memory.Check("its text", memory.Product(int(info.Size()), growth)); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return ReadText(f, path, named)
}

// ReadText reads a text table (see [NewLines]). If named is set, the first line has the column names. Otherwise, the
// first line has the names if it contains no number and no missing value. It also has them if it numbers the columns
// from 0, as pandas does. In this case, the numbers must be above words, above three or more columns of real numbers
// (all with a point or an exponent), or after an empty field above an index. For other lines 0, 1, ...,
// [Table.WantRows] decides.
func ReadText(r io.Reader, name string, named bool) (*Text, error) {
	lines, err := NewLines(r, name)
	if err != nil {
		return nil, err
	}
	t := &Text{file: name, Comma: lines.Comma != ','}
	if lines.Comma == ' ' {
		t.Notes = append(t.Notes, name+": spaces separate the fields")
	}
	for next := 0; ; {
		fields, err := lines.Read()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		line, _ := lines.Pos(0)
		if len(t.Rows) > 0 && len(fields) != len(t.Rows[0]) {
			return nil, fmt.Errorf("%s: line %d has %s; want %d, as line %d has",
				name, line, wording.Count(len(fields), "field"), len(t.Rows[0]), t.Lines[0])
		}
		if len(fields) == 1 && len(t.Rows) > 0 && line > next {
			return nil, fmt.Errorf("%s: line %d is empty; want NaN for an unknown value, or no empty line", name, next)
		}
		next = line + 1 + strings.Count(fields[0], "\n")
		t.Rows, t.Lines = append(t.Rows, slices.Clone(fields)), append(t.Lines, line)
	}
	if len(t.Rows) == 0 {
		return nil, fmt.Errorf("%s is empty; want a line for each image, below names of columns", name)
	}
	for c := range t.Rows[0] {
		t.first = append(t.first, c+1)
	}
	if err := t.takeNames(named); err != nil {
		return nil, fmt.Errorf("%s: line %d: %w", name, t.Lines[0], err)
	}
	if len(t.Rows) == 0 {
		return nil, fmt.Errorf("%s: the only line, %s, is taken for names of columns; want lines for images or pairs below",
			name, firstFields(t.Names))
	}
	return t, nil
}

// NewText returns a table of rows. A row with line 0 is not from the file.
func NewText(file string, names []string, rows [][]string, lines []int, comma bool) *Text {
	return &Text{file: file, Names: names, Rows: rows, Lines: lines, Comma: comma}
}

// takeNames moves the first line to Names if it has the column names.
func (t *Text) takeNames(named bool) error {
	head := t.Rows[0]
	switch {
	case named:
		for i, n := range head {
			if n != "" && slices.Contains(head[:i], n) {
				return fmt.Errorf("two columns are called %q; want distinct names", n)
			}
		}
		fallthrough
	case t.mayBeNames(head), isCount(head[1:]) && Unnamed(head[0]) && t.isIndex():
		t.Names = head
	case isCount(head):
		const manyColumns = 3 // this many columns of real numbers are rarely 0, 1, 2, ... by chance
		words, reals := t.typesBelow()
		if t.counted, t.reals = true, reals; !words && (!reals || len(head) < manyColumns) {
			return nil
		}
		t.counted = false
		t.Notes = append(t.Notes, fmt.Sprintf("%s: line %d, %s, is taken for the numbers of the columns",
			t.file, t.Lines[0], firstFields(head)))
	default:
		return nil
	}
	t.Rows, t.Lines = t.Rows[1:], t.Lines[1:]
	return nil
}

// firstFields joins the first fields of a line.
func firstFields(fields []string) string {
	if len(fields) > 4 {
		fields = append(slices.Clone(fields[:4]), "...")
	}
	return strings.Join(fields, ",")
}

// mayBeNames reports whether all fields may be names: no field is a number or a missing value, and one or more are not
// empty.
func (t *Text) mayBeNames(fields []string) bool {
	for _, f := range fields {
		if _, err := t.number(f); err == nil || f != "" && Missing(f) {
			return false
		}
	}
	return strings.Join(fields, "") != ""
}

// isCount reports whether fields are 0, 1, 2, ...
func isCount(fields []string) bool {
	for i, f := range fields {
		if f != strconv.Itoa(i) {
			return false
		}
	}
	return len(fields) > 0
}

// isIndex reports whether the first column has different whole numbers below the first line.
func (t *Text) isIndex() bool {
	seen := map[string]bool{}
	for _, row := range t.Rows[1:] {
		if _, err := strconv.Atoi(row[0]); err != nil || seen[row[0]] {
			return false
		}
		seen[row[0]] = true
	}
	return len(seen) > 0
}

// typesBelow describes the rows below a first line of whole numbers. words: one or more columns have only words. reals:
// all fields are numbers with a point or an exponent.
func (t *Text) typesBelow() (words, reals bool) {
	reals = len(t.Rows) > 1
	for c := range t.Rows[0] {
		numbers, others := 0, 0
		for _, row := range t.Rows[1:] {
			if f := row[c]; !Missing(f) {
				if _, err := t.number(f); err != nil {
					others++
				} else {
					numbers++
					reals = reals && strings.ContainsAny(f, ".,eE")
				}
			}
		}
		words = words || others > 0 && numbers == 0
		reals = reals && others == 0
	}
	return words, reals
}

// Unnamed reports whether a column name means no name, including Unnamed: 0 from pandas.
func Unnamed(name string) bool {
	number, hasPrefix := strings.CutPrefix(name, "Unnamed: ")
	_, err := parse(number)
	return name == "" || hasPrefix && err == nil
}

// DropUnnamed drops columns without a name: an index before the columns, and empty columns, but not the only column.
// Other columns without a name are an error. A named first column of many different words is an index, too. If keep is
// 0 or more, the caller finds columns by name. DropUnnamed then drops all columns without a name, except column keep.
func (t *Text) DropUnnamed(keep int) error {
	var kept []int
	for c, name := range t.Names {
		switch front := len(kept) == 0; {
		case !Unnamed(name) && !(front && keep < 0 && t.hasDistinctWords(c)) || c == keep || len(t.Names) == 1:
			kept = append(kept, c)
		case front && c < len(t.Names)-1:
			note := fmt.Sprintf("%s: column %d, called %q, is taken for an index of the rows and left out", t.file, c+1, name)
			if t.dropped = t.column(c); keep < 0 && !ascends(t.dropped) {
				note += "; its numbers are not in ascending order, and the rows keep the order of the file"
			}
			t.Notes = append(t.Notes, note)
		case keep >= 0 || !slices.ContainsFunc(t.Rows, func(row []string) bool { return row[c] != "" }):
			t.Notes = append(t.Notes, fmt.Sprintf("%s: column %d has no name and is left out", t.file, c+1))
		default:
			return fmt.Errorf("%s: column %d is called %q; want a name, or a table without the column", t.file, c+1, name)
		}
	}
	switch len(kept) {
	case len(t.Names):
		return nil
	case 0:
		return fmt.Errorf("%s: no column has a name and values; want at least one", t.file)
	}
	t.Names, t.first = selectFields(t.Names, kept), selectFields(t.first, kept)
	for r, row := range t.Rows {
		t.Rows[r] = selectFields(row, kept)
	}
	return nil
}

// hasDistinctWords reports whether a column has many words, all of them different, as names of files.
func (t *Text) hasDistinctWords(c int) bool {
	seen := map[string]bool{}
	for _, row := range t.Rows {
		if _, err := t.number(row[c]); err == nil || seen[row[c]] || isRow(row[c]) {
			return false
		}
		seen[row[c]] = true
	}
	return len(seen) > wordLimit
}

func (t *Text) column(c int) []string {
	fields := make([]string, len(t.Rows))
	for r, row := range t.Rows {
		fields[r] = row[c]
	}
	return fields
}

// ascends reports whether the numbers among the fields never decrease.
func ascends(fields []string) bool {
	last := math.Inf(-1)
	for _, text := range fields {
		v, err := parse(text)
		if err == nil && v < last {
			return false
		}
		if err == nil {
			last = v
		}
	}
	return true
}

func selectFields[T any](list []T, indices []int) []T {
	selected := make([]T, len(indices))
	for i, from := range indices {
		selected[i] = list[from]
	}
	return selected
}

// place describes the position of a field: its line and its column.
func (t *Text) place(row, column int) string {
	place := fmt.Sprintf("line %d, ", t.Lines[row])
	if t.Lines[row] == 0 {
		place = ""
	}
	if t.first == nil {
		return place + "column " + t.Names[column]
	}
	return place + fmt.Sprintf("field %d", t.first[column])
}
