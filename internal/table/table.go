// Package table reads tables of numbers from NumPy, HDF5 and MATLAB files, and tables of numbers and words from text
// files such as .csv. Commands use it to read codes, factors, labels, pairs and answers.
package table

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/unravel-ml/unravel/internal/arrays"
	"github.com/unravel-ml/unravel/internal/memory"
	"github.com/unravel-ml/unravel/internal/npy"
)

// Table is a matrix of numbers.
type Table struct {
	Rows, Cols int
	Names      []string   // column names in the first line of a .csv file; nil: none
	Data       []float64  // Rows*Cols numbers in row-major order
	Ints       [][]int64  // by column: exact values of integers, 0 for NaN from ReadFactors; nil: the column has other numbers
	Lines      []int      // line of each row in a .csv file, from 1; nil for other files
	Words      [][]string // by column: words of levels 0, 1, ...; nil, for one column or all: numbers
	Notes      []string   // remarks on how the file was read

	file           string
	dropped        []string // fields of the index that was left out; nil: none
	counted, reals bool     // as in Text
}

// Read reads a file. The extension determines the format: a text table (.csv, .tsv or .txt, see [ReadText]), a file of
// several arrays (.npz, .h5, .hdf5 or .mat), or .npy for all other extensions. Arrays may have any numeric type, byte
// order and axis order; a vector is one column, also a row of a MATLAB file. FILE.npz:NAME reads the array NAME of a
// file of several arrays. Without a name, Read uses the only array or the array called role.
// Read drops an index before the columns of a text table: a column without a name.
func Read(path, role string) (*Table, error) {
	return read(path, role, false, nil, (*Text).numbers)
}

// ReadFactors is Read for tables with missing values, which become NaN, and columns of words. A column may have both
// words and numbers, dates, or many words, if categorical is true for its name, its number and the number of columns.
// The name is empty in a table without names. A nil function means false. The only column of an array in a file of
// several arrays has the array's name, unless this is role.
func ReadFactors(path, role string, categorical Categorical) (*Table, error) {
	t, err := read(path, role, false, nil, categorical.read)
	if file, _, ok := splitArchive(path); ok && err == nil && t.Cols == 1 {
		if name := filepath.Base(strings.TrimPrefix(t.file, file+": ")); name != role {
			t.Names = []string{name}
		}
	}
	return t, err
}

// Categorical reports whether a column has kind categorical.
type Categorical func(name string, column, columns int) bool

func (categorical Categorical) read(t *Text, c int) (*Column, error) {
	name := ""
	if t.Names != nil {
		name = t.Names[c]
	}
	free := categorical != nil && categorical(name, c, len(t.Rows[0]))
	return t.Factor(c, free, free)
}

type columnReader func(*Text, int) (*Column, error)

// ReadBlocks is Read for rows that may be blocks of numbers: all axes of an array after the first one become columns.
func ReadBlocks(path, role string) (*Table, error) {
	return read(path, role, true, nil, (*Text).numbers)
}

func read(path, role string, blocks bool, change func(*Text) error, column columnReader) (*Table, error) {
	if isText(path) {
		text, err := ReadTextFile(path, false)
		if err == nil && change != nil {
			err = change(text)
		}
		if err != nil {
			return nil, err
		}
		return text.table(column)
	}
	f, a, err := open(path, role)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readArray(a, blocks)
}

func (t *Text) numbers(c int) (*Column, error) { return t.Numbers(c, false) }

// table reads the columns of a text table, without an index.
func (t *Text) table(column columnReader) (*Table, error) {
	if err := t.DropUnnamed(-1); err != nil {
		return nil, err
	}
	n, k := len(t.Rows), len(t.Rows[0])
	m := &Table{Rows: n, Cols: k, Names: t.Names, Lines: t.Lines, Notes: t.Notes, Data: make([]float64, n*k),
		Ints: make([][]int64, k), file: t.file, dropped: t.dropped, counted: t.counted, reals: t.reals}
	if isCount(m.Names) {
		m.Names = nil
	}
	for j := range k {
		c, err := column(t, j)
		if err != nil {
			return nil, err
		}
		for i, v := range c.Values {
			m.Data[i*k+j] = v
		}
		if m.Ints[j] = c.Ints; c.Words != nil {
			if m.Words == nil {
				m.Words = make([][]string, k)
			}
			m.Words[j] = c.Words
		}
	}
	return m, nil
}

// Settle is [Table.WantRows] for codes and their factors, which have equal numbers of rows. It returns an error if both
// tables have the same index in different orders: rows belong together by position.
func Settle(codes, factors *Table) error {
	if codes.counted && codes.reals && factors.counted && factors.Cols > 1 && codes.Rows == factors.Rows { // both by chance is unlikely
		codes.WantRows(codes.Rows - 1)
	}
	codes.WantRows(factors.Rows)
	factors.WantRows(codes.Rows)
	if !slices.Equal(codes.dropped, factors.dropped) && slices.Equal(slices.Sorted(slices.Values(codes.dropped)),
		slices.Sorted(slices.Values(factors.dropped))) {
		return fmt.Errorf("rows of %s and %s have the same index in different orders, first %q and %q; want one order",
			codes.file, factors.file, codes.dropped[0], factors.dropped[0])
	}
	return nil
}

// NameRows reads the index of a table without one from a file with a name a line.
func (t *Table) NameRows(path string) error {
	info, err := os.Stat(path)
	if err != nil || t.dropped != nil || !info.Mode().IsRegular() {
		return err
	}
	text, err := os.ReadFile(path)
	t.dropped = strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	return err
}

// WantRows decides whether a first line 0, 1, 2, ... is a row or the numbers of the columns. The caller expects n rows.
// A remark records the decision.
func (t *Table) WantRows(n int) {
	switch {
	case !t.counted:
		return
	case t.Rows == n+1:
		t.Notes = append(t.Notes,
			fmt.Sprintf("%s: line %d counts from 0 and is taken for the numbers of the columns, as there are %d rows below",
				t.file, t.Lines[0], n))
		t.Rows, t.Lines, t.Data = n, t.Lines[1:], t.Data[t.Cols:]
		for j, ints := range t.Ints {
			t.Ints[j] = ints[min(1, len(ints)):]
		}
	case t.Cols > 1:
		t.Notes = append(t.Notes,
			fmt.Sprintf("%s: line %d counts from 0 and is read as a row; leave it out if it numbers the columns",
				t.file, t.Lines[0]))
	}
	t.counted = false
}

// DropCounter drops a first column 0, 1, 2, ... that numbers the rows, if the columns have no names: it is an index. It
// keeps the only column of a table. It also keeps the column in a table with names, and adds a remark. Other columns
// with the numbers of all rows in any order, from 0 or 1, get a remark, too.
func (t *Table) DropCounter() {
	if t.Cols < 2 || t.Rows < 3 {
		return
	}
	first, ascending := t.numbersRows(0)
	index := first == 0 && ascending
	for c := range t.Cols {
		if index && c == 0 && t.Names == nil {
			continue
		}
		if first, ascending := t.numbersRows(c); first >= 0 && (index && c == 0 || t.Rows >= minRows) {
			name, finding := strconv.Itoa(c), "counts the rows"
			if t.Names != nil {
				name = t.Names[c]
			}
			if !ascending {
				finding = "has the numbers of all rows in another order"
			}
			t.Notes = append(t.Notes, fmt.Sprintf("%s: column %s %s, %d to %d; leave it out if it is an index",
				t.file, name, finding, first, first+t.Rows-1))
		}
	}
	if !index || t.Names != nil {
		return
	}
	t.Notes = append(t.Notes,
		fmt.Sprintf("%s: the first column counts the rows, 0 to %d, is taken for an index and left out; a text table with names of columns would keep it", t.file, t.Rows-1))
	for i := range t.Rows {
		t.dropped = append(t.dropped, strconv.Itoa(i))
	}
	var data []float64
	for i := 0; i < len(t.Data); i += t.Cols {
		data = append(data, t.Data[i+1:i+t.Cols]...)
	}
	t.Cols--
	t.Data, t.Ints, t.Words = data, t.Ints[min(1, len(t.Ints)):], t.Words[min(1, len(t.Words)):]
}

// minRows is the number of rows that distinct levels may count by chance.
const minRows = 20

// numbersRows reports whether a column has each number from first, 0 or 1, to the last row once; otherwise first is -1.
func (t *Table) numbersRows(c int) (first int, ascending bool) {
	if t.Words != nil && t.Words[c] != nil {
		return -1, false
	}
	seen := make([]bool, t.Rows+1)
	ascending = true
	for i := range t.Rows {
		v := t.Data[i*t.Cols+c]
		if !(v >= 0 && v <= float64(t.Rows)) || v != math.Trunc(v) || seen[int(v)] {
			return -1, false
		}
		seen[int(v)] = true
		ascending = ascending && (i == 0 || v > t.Data[(i-1)*t.Cols+c])
	}
	if !seen[0] {
		return 1, ascending
	}
	if seen[t.Rows] {
		return -1, false
	}
	return 0, ascending
}

// Column returns a column.
func (t *Table) Column(column int) *Column {
	c := &Column{Values: make([]float64, t.Rows)}
	for i := range c.Values {
		c.Values[i] = t.Data[i*t.Cols+column]
	}
	if t.Ints != nil {
		c.Ints = t.Ints[column]
	}
	if t.Words != nil {
		c.Words = t.Words[column]
	}
	return c
}

// Size returns the size of the array that Read would read. It reads only the header. A text table has -1 rows: the
// number is unknown before its end.
func Size(path, role string) (rows, cols int, err error) {
	if isText(path) {
		return -1, 0, nil
	}
	f, a, err := open(path, role)
	if err != nil {
		return 0, 0, err
	}
	defer f.Close()
	return sizes(a, false)
}

// Beside returns the name, for Read, of the array called role in the archive of path. It returns "" if the archive has
// no such array, or if path is this array.
func Beside(path, role string) string {
	file, name, ok := splitArchive(path)
	if !ok || name == role {
		return ""
	}
	z, err := arrays.Open(file)
	if err != nil {
		return "" // Read will report the error
	}
	defer z.Close()
	if names := z.Names(); !slices.Contains(names, role) || len(names) == 1 {
		return ""
	}
	return file + ":" + role
}

func isText(path string) bool {
	return slices.Contains([]string{".csv", ".tsv", ".txt"}, strings.ToLower(filepath.Ext(path)))
}

// open opens the array of a path: a .npy file or an array of an archive, see splitArchive. Without a name, it is the
// archive's only array or the array called role.
func open(path, role string) (f arrays.File, a *arrays.Array, err error) {
	file, name, ok := splitArchive(path)
	if f = arrays.OpenNPY(path); ok {
		if f, err = arrays.Open(file); err != nil {
			return nil, nil, err
		}
	}
	if names := f.Names(); name == "" {
		switch {
		case len(names) == 1:
			name = names[0]
		case slices.Contains(names, role):
			name = role
		case len(names) == 0:
			err = fmt.Errorf("%s: there is no array in it", file)
		default:
			matrix := func(name string) bool { a, err := f.Open(name); return err == nil && len(a.Shape) == 2 }
			err = fmt.Errorf("%s: there are the arrays %s; want one called %s, or a name behind the file's, such as %s:%s",
				file, strings.Join(names, ", "), role, file, names[max(0, slices.IndexFunc(names, matrix))])
		}
	}
	if err == nil {
		a, err = f.Open(name)
	}
	if ending := filepath.Ext(path); errors.Is(err, npy.ErrFormat) && !ok && !strings.EqualFold(ending, ".npy") {
		err = fmt.Errorf("%w; want a file that ends in .npy, .npz, .h5, .hdf5, .mat, .csv, .tsv or .txt", err)
	}
	if err != nil {
		f.Close() // nothing was written
		return nil, nil, err
	}
	return f, a, nil
}

// File returns the file of a path for Read, without the name of an array.
func File(path string) string {
	if file, _, ok := splitArchive(path); ok {
		return file
	}
	return path
}

// archives are the endings of files of several arrays.
var archives = []string{".npz", ".h5", ".hdf5", ".mat"}

// splitArchive splits FILE.npz:NAME, or a path with another ending of archives; the name is optional.
func splitArchive(path string) (file, name string, ok bool) {
	if slices.Contains(archives, strings.ToLower(filepath.Ext(path))) {
		return path, "", true
	}
	for _, ending := range archives {
		if i := strings.LastIndex(strings.ToLower(path), ending+":"); i >= 0 {
			return path[:i+len(ending)], path[i+len(ending)+1:], true
		}
	}
	return "", "", false
}

// sizes returns the rows and columns of an array, or an error if reading it would take too much memory.
func sizes(a *arrays.Array, blocks bool) (rows, cols int, err error) {
	if n := len(a.Shape); n == 0 || n > 2 && !blocks {
		return 0, 0, fmt.Errorf("%s: the array has shape %v; want two dimensions, rows and columns", a.Label, a.Shape)
	}
	rows, cols = a.Shape[0], 1
	for _, s := range a.Shape[1:] {
		cols *= s
	}
	if a.Reversed && rows == 1 && len(a.Shape) == 2 { // MATLAB has no one-dimensional arrays
		rows, cols = cols, 1
	}
	const size = 2 * 8 // bytes per number: integers are stored twice, and growing lists in part
	if err := memory.Check(fmt.Sprintf("its array of shape %v", a.Shape), memory.Product(rows, cols, size)); err != nil {
		return 0, 0, fmt.Errorf("%s: %w", a.Label, err)
	}
	return rows, cols, nil
}

func readArray(a *arrays.Array, blocks bool) (*Table, error) {
	rows, cols, err := sizes(a, blocks)
	if err != nil {
		return nil, err
	}
	return OfArray(a, rows, cols)
}

// OfArray reads all elements of an array as a table of the given size.
func OfArray(a *arrays.Array, rows, cols int) (*Table, error) {
	t := &Table{Rows: rows, Cols: cols, file: a.Label}
	if a.Type.Kind == 'f' {
		var err error
		t.Data, err = arrays.ReadAll[float64](a)
		return t, err
	}
	all, err := arrays.ReadAll[int64](a)
	if err != nil {
		return nil, err
	}
	t.Data, t.Ints = make([]float64, len(all)), make([][]int64, cols)
	for i, v := range all {
		t.Data[i] = float64(v)
		t.Ints[i%cols] = append(t.Ints[i%cols], v)
	}
	return t, nil
}

// Finite returns an error for the first NaN or infinite number.
func (t *Table) Finite() error { return t.check(false) }

// Known returns an error for the first infinite number. NaN is a missing value.
func (t *Table) Known() error { return t.check(true) }

func (t *Table) check(gaps bool) error {
	for i, v := range t.Data {
		if math.IsInf(v, 0) || math.IsNaN(v) && !gaps {
			return fmt.Errorf("%s is %v; want finite numbers", t.Place(i/t.Cols, i%t.Cols), v)
		}
	}
	return nil
}

// Place describes the position of a number: its line in a text table or its row from 0, and its column from 0 with its
// name.
func (t *Table) Place(row, column int) string {
	place := fmt.Sprintf("row %d, column %d", row, column)
	if t.Lines != nil {
		place = fmt.Sprintf("line %d, column %d", t.Lines[row], column)
	}
	if t.Names != nil {
		place += fmt.Sprintf(" (%s)", t.Names[column])
	}
	return place
}
