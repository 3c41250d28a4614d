// Package table reads tables of numbers from files that other programs write: .npy
// and .npz of NumPy, and .csv.
package table

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/internal/npy"
)

// Table is a matrix of numbers.
type Table struct {
	Rows, Cols int
	Names      []string  // of the columns, from the first line of a .csv file; nil if it has none
	Data       []float64 // Rows*Cols, row by row
	Ints       []int64   // the same, exactly, if all are integers; else nil
}

// Read reads a file by its ending: .csv (see [ReadCSV]), .npz, else .npy. Arrays may
// have any type of number and order of bytes and elements; a vector is one column.
// Of an .npz file it reads the array that follows its name, FILE.npz:NAME, or else
// the only one, or the one called role.
func Read(path, role string) (*Table, error) { return read(path, role, false) }

// ReadBlocks is Read, but rows may be blocks of numbers: of an array of three dimensions
// or more all but the first become columns.
func ReadBlocks(path, role string) (*Table, error) { return read(path, role, true) }

func read(path, role string, blocks bool) (*Table, error) {
	if strings.EqualFold(filepath.Ext(path), ".csv") {
		return readCSVFile(path)
	}
	if file, name, ok := splitNPZ(path); ok {
		return readNPZ(file, name, role, blocks)
	}
	r, err := npy.Open(path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return readArray(r, path, blocks)
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

func readNPZ(file, name, role string, blocks bool) (*Table, error) {
	z, err := npy.OpenNPZ(file)
	if err != nil {
		return nil, err
	}
	defer z.Close()
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
	defer r.Close()
	return readArray(r, file+":"+name, blocks)
}

func readArray(r *npy.Reader, name string, blocks bool) (*Table, error) {
	t := &Table{Cols: 1}
	switch n := len(r.Shape); {
	case n == 1 || n == 2 || n > 2 && blocks:
		t.Rows = r.Shape[0]
		for _, size := range r.Shape[1:] {
			t.Cols *= size
		}
	default:
		return nil, fmt.Errorf("%s: the array has shape %v; want two dimensions, rows and columns", name, r.Shape)
	}
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

// Finite reports the first number that is NaN or infinite. Rows and columns count from 0.
func (t *Table) Finite() error {
	for i, v := range t.Data {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("row %d, column %d is %v; want finite numbers", i/t.Cols, i%t.Cols, v)
		}
	}
	return nil
}
