package table

import (
	"slices"
	"testing"
)

// Archives of NumPy (see testdata/README.md) give equal tables for every element type, byte order and axis order.
func TestReadNumPy(t *testing.T) {
	for _, file := range []string{"testdata/numpy.npz", "testdata/numpy_compressed.npz"} {
		for name, value := range map[string]func(i int) float64{
			"codes": func(i int) float64 { return float64(i) / 4 }, "big": func(i int) float64 { return float64(i) / 4 },
			"half": func(i int) float64 { return float64(i) / 4 }, "fortran": func(i int) float64 { return float64(i) },
			"bytes": func(i int) float64 { return float64(i) }, "flags": func(i int) float64 { return float64(1 - i%2) },
		} {
			got, err := Read(file+":"+name, "codes")
			if err != nil {
				t.Errorf("%s: %s: %v", file, name, err)
				continue
			}
			want := make([]float64, 12)
			for i := range want {
				want[i] = value(i)
			}
			if got.Rows != 4 || got.Cols != 3 || !slices.Equal(got.Data, want) {
				t.Errorf("%s: %s: %+v; want 4 x 3, %v", file, name, got, want)
			}
		}
		wide, err := Read(file+":wide", "codes")
		if err != nil || wide.Ints[2][3] != 1<<60+11 {
			t.Errorf("%s: %+v, %v", file, wide, err)
		}
		if column, err := Read(file+":column", "codes"); err != nil || column.Rows != 4 || column.Cols != 1 || column.Ints[0][3] != 9 {
			t.Errorf("%s: %+v, %v", file, column, err)
		}
		if found, err := Read(file, "codes"); err != nil || found.Data[1] != 0.25 {
			t.Errorf("%s: %+v, %v", file, found, err)
		}
	}
}
