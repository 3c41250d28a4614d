package npy

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/internal/dtype"
	"testing/iotest"
)

// open opens an array written by NumPy.
func open(t testing.TB, z *NPZ, name string) *Reader {
	t.Helper()
	r, err := z.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

func openNPZ(t testing.TB, path string) *NPZ {
	t.Helper()
	z, err := OpenNPZ(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { z.Close() })
	return z
}

func TestAllTypes(t *testing.T) {
	for _, file := range []string{"testdata/stored.npz", "testdata/compressed.npz"} {
		z := openNPZ(t, file)
		if n := len(z.Names()); n != 28 {
			t.Errorf("%s: %d arrays: %v", file, n, z.Names())
		}
		for _, kind := range strings.Fields("b1 i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8") {
			dt, _ := dtype.Find(kind[0], int(kind[1]-'0'))
			for _, order := range []string{"le", "be"} {
				name := order + "_" + kind
				r := open(t, z, name)
				if want := (Header{[]int{2, 3}, dt.Name, false, order == "be" && dt.Size > 1}); !reflect.DeepEqual(r.Header, want) {
					t.Errorf("%s: header %+v, want %+v", name, r.Header, want)
				}
				want := []float32{0, 1, 2, 3, 100, 127}
				if dt.Name == "bool" {
					want = []float32{0, 1, 1, 1, 1, 1}
				}
				checkEqual(t, name, r, want)
				checkEqual(t, name, open(t, z, name), convertAll[float64](want))
				checkEqual(t, name, open(t, z, name), convertAll[int](want))
				checkEqual(t, name, open(t, z, name), convertAll[int8](want))
				checkEqual(t, name, open(t, z, name), convertAll[int16](want))
				checkEqual(t, name, open(t, z, name), convertAll[int32](want))
				checkEqual(t, name, open(t, z, name), convertAll[int64](want))
				checkEqual(t, name, open(t, z, name), convertAll[uint8](want))
				checkEqual(t, name, open(t, z, name), convertAll[uint16](want))
				checkEqual(t, name, open(t, z, name), convertAll[uint32](want))
				checkEqual(t, name, open(t, z, name), convertAll[uint64](want))
			}
		}
		checkEqual(t, "bool", open(t, z, "le_b1"), []bool{false, true, true, true, true, true})
		if _, err := ReadAll[float32](open(t, z, "fortran")); err == nil || !strings.Contains(err.Error(), "in Fortran order") {
			t.Error(err)
		}
		inf := float32(math.Inf(1))
		checkEqual(t, "half", open(t, z, "half"), []float32{0.5, -2, 65504, 5.9604645e-08, inf, -inf, float32(math.Copysign(0, -1))})
		checkEqual(t, "limits", open(t, z, "limits"), []int64{math.MinInt64, math.MaxInt64})
		checkEqual(t, "unsigned", open(t, z, "unsigned"), []uint64{0, math.MaxUint64})
	}
}

func convertAll[T dtype.Number](from []float32) []T {
	to := make([]T, len(from))
	for i, x := range from {
		to[i] = T(x)
	}
	return to
}

func checkEqual[T Element](t *testing.T, name string, r *Reader, want []T) {
	t.Helper()
	got, err := ReadAll[T](r)
	if err != nil {
		t.Errorf("%s: %v", name, err)
	} else if !reflect.DeepEqual(got.Data, want) || !reflect.DeepEqual(got.Shape, r.Shape) {
		t.Errorf("%s: got %v of shape %v, want %v of %v", name, got.Data, got.Shape, want, r.Shape)
	}
}

func TestFiles(t *testing.T) {
	for _, test := range []struct {
		file  string
		shape []int
		want  []float64
	}{
		{"version1.npy", []int{3}, []float64{0, 1, 2}},
		{"version2.npy", []int{3}, []float64{0, 1, 2}},
		{"version3.npy", []int{3}, []float64{0, 1, 2}},
		{"scalar.npy", []int{}, []float64{2.5}},
		{"empty.npy", []int{0, 3}, []float64{}},
	} {
		got, err := ReadFile[float64](filepath.Join("testdata", test.file))
		if err != nil || !reflect.DeepEqual(got, &Array[float64]{test.shape, test.want}) {
			t.Errorf("%s: got %+v, %v", test.file, got, err)
		}
	}
}

// Reads in blocks of any size give the same elements as a single read, also between skipped blocks.
func TestBlocks(t *testing.T) {
	for _, size := range []int{1, 3, 7, 16, 80} {
		for _, file := range []string{"images.npy", "version1.npy"} {
			r, err := Open(filepath.Join("testdata", file))
			if err != nil {
				t.Fatal(err)
			}
			for i := 0; i < r.Len(); i += size {
				if i/size%3 == 1 {
					if err := r.Skip(min(size, r.Len()-i)); err != nil {
						t.Fatal(err)
					}
					continue
				}
				block := make([]float32, min(size, r.Len()-i))
				if err := Read(r, block); err != nil {
					t.Fatal(err)
				}
				for k, x := range block {
					if x != float32(i+k) {
						t.Fatalf("%s, blocks of %d: element %d is %g", file, size, i+k, x)
					}
				}
			}
			if err := Read(r, make([]float64, 1)); err == nil || !strings.Contains(err.Error(), "want 1 elements, but 0 are left of shape") {
				t.Errorf("past the end: %v", err)
			}
			r.Close()
		}
	}
}

// Conversions to integers must be exact, and booleans must be 0 or 1.
func TestInexact(t *testing.T) {
	var file bytes.Buffer
	write := func(err error) *Reader {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		r, err := NewReader(&file, "x.npy")
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	check := func(err error, want string) {
		t.Helper()
		if err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
		file.Reset()
	}
	floats := func(x float64) *Reader { return write(Write(&file, []int{2}, []float64{0, x})) }
	for _, x := range []float64{0.5, 1e30, -1e30, math.NaN(), math.Inf(1), 1 << 63} {
		check(Read(floats(x), make([]int64, 2)), "x.npy: element 1 of a float64 array does not fit into int64")
	}
	for _, x := range []float64{256, -1, 0.5} {
		check(Read(floats(x), make([]uint8, 2)), "x.npy: element 1 of a float64 array does not fit into uint8")
	}
	check(Read(floats(1), make([]bool, 2)), "x.npy: element 0 of a float64 array does not fit into bool")
	check(Read(write(Write(&file, []int{1}, []uint64{math.MaxUint64})), make([]int64, 1)),
		"x.npy: element 0 of a uint64 array does not fit into int64")
	check(Read(write(Write(&file, []int{1}, []int64{-1})), make([]uint64, 1)), "x.npy: element 0 of a int64 array does not fit into uint64")
	odd := func(at int) *Reader { // a bool array with an invalid byte
		err := Write(&file, []int{3}, []bool{true, false, true})
		file.Bytes()[file.Len()-3+at] = 2
		return write(err)
	}
	for at := range 3 {
		check(Read(odd(at), make([]bool, 3)), fmt.Sprintf("x.npy: element %d of a bool array does not fit into bool", at))
		check(Read(odd(at), make([]uint8, 3)), fmt.Sprintf("x.npy: element %d of a bool array does not fit into uint8", at))
	}
}

func TestErrors(t *testing.T) {
	_, missing := os.Open(filepath.Join("testdata", "missing.npy"))
	for file, want := range map[string]string{
		"object.npy":     "an array of Python objects (|O)",
		"structured.npy": "a structured array, which is not read",
		"text.npy":       `an array of text (<U2), which is not read; want numbers`,
		"complex.npy":    `element type "<c16" is not read`,
		"missing.npy":    missing.Error(),
		"make.py":        "not a .npy file: it begins with",
		".":              "testdata is a folder; want a file",
	} {
		path := filepath.Join("testdata", file)
		if _, err := Open(path); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: got %v, want %s", file, err, want)
		}
	}
	if _, err := OpenNPZ("testdata/scalar.npy"); err == nil || !strings.Contains(err.Error(), "testdata/scalar.npy: not a .npz file") {
		t.Errorf("npz: %v", err)
	}
	if _, err := OpenNPZ("testdata/missing.npz"); err == nil || !os.IsNotExist(err) {
		t.Errorf("npz: %v", err)
	}
	if _, err := openNPZ(t, "testdata/stored.npz").Open("missing"); err == nil ||
		!strings.Contains(err.Error(), `stored.npz: no array "missing"; there are le_b1, be_b1`) {
		t.Errorf("npz: %v", err)
	}
}

// npyFile returns a file with a given header text.
func npyFile(version byte, text string, data int) []byte {
	b := append([]byte(magic), version, 0, byte(len(text)), byte(len(text)>>8))
	if version > 1 {
		b = append(b, 0, 0)
	}
	return append(append(b, text...), make([]byte, data)...)
}

func TestHostileHeaders(t *testing.T) {
	const start = "{'descr': '<f4', 'fortran_order': False, 'shape': "
	for _, test := range []struct {
		data []byte
		want string
	}{
		{nil, "only 0 bytes long"},
		{[]byte("\x93NUM"), "only 4 bytes long"},
		{[]byte("PK\x03\x04....."), `begins with "PK`},
		{[]byte("\x93NUMPY\x04\x00......"), "version 4.0 is not known; want 1 to 3"},
		{[]byte("\x93NUMPY\x01\x00\x01"), "truncated in the header"},
		{[]byte("\x93NUMPY\x01\x00\xff\x00{"), "truncated in the header: 1 of 255 bytes"},
		{[]byte("\x93NUMPY\x02\x00\xff\xff\xff\xff"), "a header of 4294967295 bytes; at most 1048576 are read"},
		{npyFile(1, "\xff", 0), "not text"},
		{npyFile(1, "", 0), "want {"},
		{npyFile(1, "{}", 0), "want the keys descr, fortran_order and shape"},
		{npyFile(1, strings.Repeat("x", 200), 0), `header "` + strings.Repeat("x", 200) + `":`},
		{npyFile(1, strings.Repeat("x", 201), 0), `header "` + strings.Repeat("x", 197) + `...":`},
		{npyFile(1, "{'descr'", 0), "want :"},
		{npyFile(1, "{'descr", 0), "a string without end"},
		{npyFile(1, "{3: 4}", 0), "want a string"},
		{npyFile(1, "{'descr': '<f4', 'descr': '<f4'}", 0), `the key "descr" twice`},
		{npyFile(1, "{'x': 3}", 0), `unknown key "x"`},
		{npyFile(1, "{'fortran_order': 1}", 0), "want True or False"},
		{npyFile(1, "{'descr': '<f4' 'shape': ()}", 0), "want , or }"},
		{npyFile(1, "{'descr': 'f4'}", 0), `element type "f4"`},
		{npyFile(1, "{'descr': ''}", 0), `element type ""`},
		{npyFile(1, "{'descr': '<f16'}", 0), `element type "<f16"`},
		{npyFile(1, start+"(3)}", 12), ""},
		{npyFile(1, start+"(3L, 1L)}", 12), ""},
		{npyFile(3, start+"(3, 1), }\n\n", 12), ""},
		{npyFile(1, start+"(-1,)}", 0), "want integers from 0"},
		{npyFile(1, start+"(1.5,)}", 0), "want , or )"},
		{npyFile(1, start+"(1 2)}", 0), "want , or )"},
		{npyFile(1, start+"(9999999999999999999,)}", 0), "want integers from 0"},
		{npyFile(1, start+"(9223372036854775807, 2)}", 0), "too many elements"},
		{npyFile(1, start+"(0, 9223372036854775807, 9223372036854775807)}", 0), "too many elements"},
		{npyFile(1, start+"("+strings.Repeat("1,", 33)+")}", 4), "33 dimensions; at most 32"},
		{npyFile(1, start+"("+strings.Repeat("1,", 100)+")}", 4), "want integers"},
		{npyFile(1, start+"(1000000000,)}", 8), "truncated: 8 bytes of data; want 4000000000 for shape [1000000000] of float32"},
		{npyFile(1, start+"(1,)}", 8), "too long: 8 bytes of data; want 4"},
		{npyFile(1, start+"(1,)} x", 4), `"x" after the dictionary`},
	} {
		path := filepath.Join(t.TempDir(), "x.npy")
		if err := os.WriteFile(path, test.data, 0o600); err != nil {
			t.Fatal(err)
		}
		a, err := ReadFile[float32](path)
		if test.want == "" {
			if err != nil || len(a.Data) != 3 {
				t.Errorf("%q: %v, %v", test.data, a, err)
			}
		} else if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%q: got %v, want %s", test.data, err, test.want)
		}
	}
}

// Without a known size, a wrong shape is detected at the end of the data, without a large allocation.
func TestHugeShapeOfStream(t *testing.T) {
	file := npyFile(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (1000000, 1000000, 1000)}", 1000)
	r, err := NewReader(iotest.OneByteReader(bytes.NewReader(file)), "stream")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ReadAll[float32](r); err == nil || !strings.Contains(err.Error(), "stream: truncated: fewer than the") {
		t.Errorf("got %v", err)
	}
	r, err = NewReader(iotest.ErrReader(io.ErrClosedPipe), "pipe")
	if err == nil || err.Error() != "pipe: io: read/write on closed pipe" {
		t.Errorf("%v, %v", r, err)
	}
}

// The checksum detects a damaged archive.
func TestDamagedNPZ(t *testing.T) {
	src, err := os.ReadFile("testdata/stored.npz")
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(src, []byte("\n\x00\x01\x02\x03\x64\x7f")) // the data of le_i1
	if at < 0 {
		t.Fatal("no data")
	}
	src[at+3]++
	path := filepath.Join(t.TempDir(), "x.npz")
	if err := os.WriteFile(path, src, 0o600); err != nil {
		t.Fatal(err)
	}
	z := openNPZ(t, path)
	if _, err := ReadAll[int8](open(t, z, "le_i1")); err == nil || !strings.Contains(err.Error(), "checksum") {
		t.Errorf("got %v", err)
	}
}

// An archive with wrong sizes gives an error without a large allocation.
func TestHugeShapeInNPZ(t *testing.T) {
	for _, claimed := range []struct{ shape, uncompressed, compressed uint64 }{
		{1 << 58, 1<<61 + 128, 1 << 51},
		{1 << 58, 1<<61 + 128, 128},
		{16, 1<<63 + 128, 128},
	} {
		data := header([]int{int(claimed.shape)}, dtype.Of[float64]())
		path := filepath.Join(t.TempDir(), "x.npz")
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		archive := zip.NewWriter(f)
		w, err := archive.CreateRaw(&zip.FileHeader{Name: "x.npy", UncompressedSize64: claimed.uncompressed,
			CompressedSize64: claimed.compressed})
		if err != nil {
			t.Fatal(err)
		}
		_, err = w.Write(data)
		if err := errors.Join(err, archive.Close(), f.Close()); err != nil {
			t.Fatal(err)
		}
		r, err := openNPZ(t, path).Open("x")
		if err == nil {
			_, err = ReadAll[float64](r)
		}
		if err == nil || !strings.Contains(err.Error(), path+": x.npy: ") {
			t.Errorf("%+v: got %v", claimed, err)
		}
	}
}
