package arrays

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/internal/dtype"
	"github.com/unravel-ml/unravel/internal/must"
)

func open(t testing.TB, path string) File {
	t.Helper()
	f := must.Get(Open(filepath.Join("testdata", path)))(t)
	t.Cleanup(func() { f.Close() })
	return f
}

// ramp returns the elements in the files of testdata/make.py.
func ramp(n int) []float64 {
	list := make([]float64, n)
	for i := range list {
		list[i] = float64(i % 251)
	}
	return list
}

// transposed returns an array with permuted axes.
func transposed(values []float64, shape, axes []int) []float64 {
	strides := contiguous(shape, 1)
	out := make([]float64, 0, len(values))
	var walk func(k, at int)
	walk = func(k, at int) {
		if k == len(axes) {
			out = append(out, values[at])
			return
		}
		for i := range shape[axes[k]] {
			walk(k+1, at+i*strides[axes[k]])
		}
	}
	walk(0, 0)
	return out
}

func TestArrays(t *testing.T) {
	for path, prefixes := range map[string][]string{
		"stored.npz": {"images", "words", "vector", "scalar", "none", "fortran", "fortran_words"},
		"packed.npz": {"images", "words", "vector", "scalar", "none", "fortran", "fortran_words"},
		"folder":     {"images", "fortran"}, "folder/fortran.npy": {"any"},
		"arrays.h5":    {"in/images", "in/packed_images", "in/words", "in/packed_words", "in/vector", "in/scalar", "in/none"},
		"matlab73.mat": {"images"}, "plain.mat": {"images", "words", "none"}, "packed.mat": {"images", "words", "none"},
	} {
		f := open(t, path)
		for _, name := range prefixes {
			a, err := f.Open(name)
			if err != nil {
				t.Error(err)
				continue
			}
			shape, kind := []int{7, 4, 5, 3}, "uint8"
			switch {
			case strings.HasSuffix(name, "words"):
				shape, kind = []int{6, 5, 4}, "uint16"
			case strings.HasSuffix(name, "vector"):
				shape, kind = []int{9}, "float32"
			case strings.HasSuffix(name, "scalar"):
				shape, kind = []int{}, "float64"
			case strings.HasSuffix(name, "none"):
				shape = []int{0, 3}
			}
			if !slices.Equal(a.Shape, shape) || a.Type.Name != kind {
				t.Errorf("%v: want %v of %s", a, shape, kind)
				continue
			}
			n := 1
			for _, s := range shape {
				n *= s
			}
			must.EqualSlices(t, must.Get(ReadAll[float64](a))(t), ramp(n), a)
			checkOrders(t, a)
		}
	}
}

// checkOrders reads an array with several axis orders, a few rows at a time.
func checkOrders(t *testing.T, a *Array) {
	t.Helper()
	all := map[int][][]int{3: {{0, 1, 2}, {2, 0, 1}, {1, 2, 0}},
		4: {{0, 1, 2, 3}, {0, 2, 3, 1}, {0, 3, 1, 2}, {3, 0, 1, 2}, {2, 3, 1, 0}, {1, 0, 2, 3}}}
	for _, axes := range all[len(a.Shape)] {
		n := len(ramp(1))
		for _, s := range a.Shape {
			n *= s
		}
		want := transposed(ramp(n), a.Shape, axes)
		for _, step := range []int{1, 2, 100} {
			r, err := a.Rows(axes)
			if err != nil {
				t.Error(err)
				return
			}
			per := r.RowBytes() / a.Type.Size
			for from := 0; from < r.Shape()[0]; from += step {
				to := min(from+step, r.Shape()[0])
				raw, got := make([]byte, (to-from)*r.RowBytes()), make([]float64, (to-from)*per)
				if err := r.Read(raw); err != nil {
					t.Error(err)
					return
				}
				if dtype.Decode(got, raw, a.Type); !slices.Equal(got, want[from*per:to*per]) {
					t.Errorf("%v: axes %v, rows %d to %d: %v; want %v", a, axes, from, to, got, want[from*per:to*per])
					return
				}
			}
			must.Error(t, r.Read(make([]byte, r.RowBytes())), "want whole rows")
			if err := r.Close(); err != nil || r.Slab() < 1 {
				t.Error(err, r.Slab())
			}
		}
	}
	must.ErrorOf(a.Rows(make([]int, len(a.Shape)+2)))(t, "want each of 0 to")
}

// A variable that occurs twice in a MATLAB file is an error, because it is ambiguous.
func TestTwice(t *testing.T) {
	data := must.Read(t, "testdata/plain.mat")
	path := filepath.Join(t.TempDir(), "twice.mat")
	const header = 128
	must.Write(t, path, append(data, data[header:]...))
	f := must.Get(Open(path))(t)
	defer f.Close()
	name := f.Names()[0]
	must.ErrorOf(f.Open(name))(t, "several variables are called "+name+"; want one", name)
}

func TestErrors(t *testing.T) {
	for path, names := range map[string]map[string]string{
		"stored.npz":        {"x": `no array "x"; there are images, words`, "object": "an array of Python objects"},
		"folder":            {"x": must.NoFile(t), "../folder/images": "no name of an array"},
		"arrays.h5":         {"x": `no array "x"; there are in/images`, "in/text": "holds variable-length strings", "in": "is a group, not an array"},
		"packed.mat":        {"x": `no array "x"; there are images, words, none, text`, "text": "is text, which is not read"},
		"folder/images.npy": nil,
	} {
		f := open(t, path)
		for name, want := range names {
			_, err := f.Open(name)
			if err == nil || !strings.Contains(err.Error(), want) || name == "x" != errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s: %s: %v; want %s", path, name, err, want)
			}
		}
		if len(f.Names()) == 0 {
			t.Errorf("%s has no names", path)
		}
	}
	other := must.Write(t, filepath.Join(t.TempDir(), "x.txt"), "text")
	must.ErrorOf(Open(other))(t, "is no file of arrays; want .npy")
	if _, err := Open("none"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// A big-endian array in Fortran order is read as little-endian elements in C order.
func TestBigEndianFortran(t *testing.T) {
	f := must.Get(Open(filepath.Join("..", "npy", "testdata", "fortran_be.npy")))(t)
	defer f.Close()
	a := must.Get(f.Open(""))(t)
	got, err := ReadAll[float64](a)
	if err != nil || !slices.Equal(a.Shape, []int{2, 3}) || !slices.Equal(got, []float64{0, 1, 2, 3, 4, 5}) {
		t.Errorf("%v of shape %v, %v", got, a.Shape, err)
	}
}
