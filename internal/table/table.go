// Package table reads tables of numbers from NumPy's .npy and .npz files, and from .csv files.
package table

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/internal/memory"
	"github.com/unravel-ml/unravel/internal/npy"
)

// Table is a matrix of numbers.
type Table struct {
	Rows, Cols int
	Names      []string  // column names from the first line of a .csv file; nil: none
	Data       []float64 // Rows*Cols, row by row
	Ints       []int64   // the same numbers exactly if all are integers, 0 for NaN of ReadGaps; else nil
	Lines      []int     // of a .csv file: the line of each row, from 1; nil of others
}

// Read reads a file by its ending: .csv (see [ReadCSV]), .npz, else .npy. Arrays may have any type of
// number, byte order and order of axes; a vector is one column. FILE.npz:NAME reads the array NAME of
// an archive; without a name, its only array or the array called role.
func Read(path, role string) (*Table, error) { return read(path, role, false, false) }

// ReadGaps is Read, where an empty field of a .csv file is NaN.
func ReadGaps(path, role string) (*Table, error) { return read(path, role, false, true) }

// ReadBlocks is Read for rows that may be blocks of numbers: an array of three dimensions or more has
// all but the first as columns.
func ReadBlocks(path, role string) (*Table, error) { return read(path, role, true, false) }

func read(path, role string, blocks, gaps bool) (*Table, error) {
	if isCSV(path) {
		return readCSVFile(path, gaps)
	}
	r, err := open(path, role)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return readArray(r.Reader, r.label, blocks)
}

// Size returns the size of the array that Read would read, from its header alone. A .csv file has -1
// rows: only its end tells their number.
func Size(path, role string) (rows, cols int, err error) {
	if isCSV(path) {
		return -1, 0, nil
	}
	r, err := open(path, role)
	if err != nil {
		return 0, 0, err
	}
	defer r.Close()
	return sizes(r.Reader, r.label, false)
}

// Beside returns the name, for Read, of the array called role in the archive that a path leads to; "" if there is none, or if it is the
// path's own array.
func Beside(path, role string) string {
	file, name, ok := splitNPZ(path)
	if !ok || name == role {
		return ""
	}
	z, err := npy.OpenNPZ(file)
	if err != nil {
		return "" // as who reads the path will say
	}
	defer z.Close()
	if names := z.Names(); !slices.Contains(names, role) || len(names) == 1 {
		return ""
	}
	return file + ":" + role
}

func isCSV(path string) bool { return strings.EqualFold(filepath.Ext(path), ".csv") }

// opened is an array whose elements are not read yet.
type opened struct {
	*npy.Reader
	label   string
	archive *npy.NPZ // nil: a .npy file
}

// Close closes the array and its archive.
func (o *opened) Close() {
	o.Reader.Close()
	if o.archive != nil {
		o.archive.Close()
	}
}

func open(path, role string) (*opened, error) {
	if file, name, ok := splitNPZ(path); ok {
		return openNPZ(file, name, role)
	}
	r, err := npy.Open(path)
	if err != nil {
		return nil, err
	}
	return &opened{r, path, nil}, nil
}

// splitNPZ splits FILE.npz:NAME; the name may be left out.
func splitNPZ(path string) (file, name string, ok bool) {
	if strings.EqualFold(filepath.Ext(path), ".npz") {
		return path, "", true
	}
	const mark = ".npz:"
	if i := strings.LastIndex(strings.ToLower(path), mark); i >= 0 {
		return path[:i+len(mark)-1], path[i+len(mark):], true
	}
	return "", "", false
}

func openNPZ(file, name, role string) (o *opened, err error) {
	z, err := npy.OpenNPZ(file)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			z.Close()
		}
	}()
	if names := z.Names(); name == "" {
		switch {
		case len(names) == 1:
			name = names[0]
		case slices.Contains(names, role):
			name = role
		case len(names) == 0:
			return nil, fmt.Errorf("%s: there is no array in it", file)
		default:
			return nil, fmt.Errorf("%s: there are the arrays %s; want one called %s, or a name behind the file's, such as %s:%s",
				file, strings.Join(names, ", "), role, file, names[0])
		}
	}
	r, err := z.Open(name)
	if err != nil {
		return nil, err
	}
	return &opened{r, file + ":" + name, z}, nil
}

// sizes returns the rows and columns of an array, or an error if reading it would take too much
// memory.
func sizes(r *npy.Reader, name string, blocks bool) (rows, cols int, err error) {
	switch n := len(r.Shape); {
	case n == 1 || n == 2 || n > 2 && blocks:
		rows, cols = r.Rows(), r.RowLen()
	default:
		return 0, 0, fmt.Errorf("%s: the array has shape %v; want two dimensions, rows and columns", name, r.Shape)
	}
	const size = 2 * 8 // bytes of a number: integers are held twice, and growing lists in part
	if err := memory.Check(fmt.Sprintf("its array of shape %v", r.Shape), memory.Product(rows, cols, size)); err != nil {
		return 0, 0, fmt.Errorf("%s: %w", name, err)
	}
	return rows, cols, nil
}

func readArray(r *npy.Reader, name string, blocks bool) (*Table, error) {
	rows, cols, err := sizes(r, name, blocks)
	if err != nil {
		return nil, err
	}
	t := &Table{Rows: rows, Cols: cols}
	if !strings.HasPrefix(r.DType, "float") {
		a, err := npy.ReadAll[int64](r)
		if err != nil {
			return nil, err
		}
		t.Ints, t.Data = a.Data, make([]float64, len(a.Data))
		for i, v := range a.Data {
			t.Data[i] = float64(v)
		}
		return t, nil
	}
	a, err := npy.ReadAll[float64](r)
	if err != nil {
		return nil, err
	}
	t.Data = a.Data
	return t, nil
}

// Finite reports the first NaN or infinite number. Rows and columns count from 0.
func (t *Table) Finite() error { return t.check(false) }

// Known reports the first infinite number; NaN stands for what is not known.
func (t *Table) Known() error { return t.check(true) }

func (t *Table) check(gaps bool) error {
	for i, v := range t.Data {
		if math.IsInf(v, 0) || math.IsNaN(v) && !gaps {
			return fmt.Errorf("row %d, column %d is %v; want finite numbers", i/t.Cols, i%t.Cols, v)
		}
	}
	return nil
}
