package npy

import (
	"archive/zip"
	"bytes"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// The bytes equal the bytes that NumPy writes.
func TestWriteLikeNumPy(t *testing.T) {
	pixels := make([]uint8, 80)
	for i := range pixels {
		pixels[i] = uint8(i)
	}
	for file, write := range map[string]func(io.Writer) error{
		"version1.npy": func(w io.Writer) error { return Write(w, []int{3}, []float64{0, 1, 2}) },
		"images.npy":   func(w io.Writer) error { return Write(w, []int{5, 4, 4}, pixels) },
		"scalar.npy":   func(w io.Writer) error { return Write(w, nil, []float64{2.5}) },
		"empty.npy":    func(w io.Writer) error { return Write(w, []int{0, 3}, []float32{}) },
	} {
		want, err := os.ReadFile(filepath.Join("testdata", file))
		if err != nil {
			t.Fatal(err)
		}
		var got bytes.Buffer
		if err := write(&got); err != nil || !bytes.Equal(got.Bytes(), want) {
			t.Errorf("%s: %v\ngot  %q\nwant %q", file, err, got.Bytes(), want)
		}
	}
}

func roundTrip[T Element](t *testing.T, name string, make func() T, n int) {
	t.Helper()
	data := []T{}
	for range n {
		data = append(data, make())
	}
	var file bytes.Buffer
	if err := Write(&file, []int{n, 1}, data); err != nil {
		t.Fatal(err)
	}
	r, err := NewReader(&file, name)
	if err != nil {
		t.Fatal(err)
	}
	checkEqual(t, name, r, data)
}

func TestRoundTrip(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{0, 1, 100, 20000} {
		roundTrip(t, "bool", func() bool { return random.IntN(2) == 1 }, n)
		roundTrip(t, "int8", func() int8 { return int8(random.Uint64()) }, n)
		roundTrip(t, "int16", func() int16 { return int16(random.Uint64()) }, n)
		roundTrip(t, "int32", func() int32 { return int32(random.Uint64()) }, n)
		roundTrip(t, "int64", func() int64 { return int64(random.Uint64()) }, n)
		roundTrip(t, "int", func() int { return int(random.Uint64()) }, n)
		roundTrip(t, "uint8", func() uint8 { return uint8(random.Uint64()) }, n)
		roundTrip(t, "uint16", func() uint16 { return uint16(random.Uint64()) }, n)
		roundTrip(t, "uint32", random.Uint32, n)
		roundTrip(t, "uint64", random.Uint64, n)
		roundTrip(t, "float32", func() float32 { return float32(random.NormFloat64()) }, n)
		roundTrip(t, "float64", random.NormFloat64, n)
	}
}

func TestWriteErrors(t *testing.T) {
	for _, test := range []struct {
		shape []int
		want  string
	}{
		{[]int{2}, "npy: 3 elements for shape [2]; want 2"},
		{nil, "npy: 3 elements for shape []; want 1"},
		{[]int{-3, -1}, "npy: negative dimension"},
		{[]int{math.MaxInt, 4}, "too many elements"},
		{make([]int, 33), "33 dimensions; at most 32"},
	} {
		if err := Write(io.Discard, test.shape, []float32{1, 2, 3}); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v: got %v, want %s", test.shape, err, test.want)
		}
	}
	full := errors.New("disk full")
	for room := range 3 {
		if err := Write(&limited{room, full}, []int{20000}, make([]float64, 20000)); !errors.Is(err, full) {
			t.Errorf("room for %d writes: %v", room, err)
		}
	}
}

// limited fails after a number of writes.
type limited struct {
	room int
	err  error
}

func (l *limited) Write(p []byte) (int, error) {
	if l.room == 0 {
		return 0, l.err
	}
	l.room--
	return len(p), nil
}

// archive is a .npz file of one array, compressed.
func archive(name string, shape []int, data []float32) ([]byte, error) {
	var file bytes.Buffer
	z := zip.NewWriter(&file)
	w, err := z.Create(name + ".npy")
	if err != nil {
		return nil, err
	}
	err = errors.Join(Write(w, shape, data), z.Close())
	return file.Bytes(), err
}

func TestNPZRoundTrip(t *testing.T) {
	file, err := archive("a", []int{2}, []float32{1, 2})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "x.npz")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	z := openNPZ(t, path)
	if got := z.Names(); !reflect.DeepEqual(got, []string{"a"}) {
		t.Errorf("names: %v", got)
	}
	checkEqual(t, "a", open(t, z, "a"), []float32{1, 2})
}

func FuzzRead(f *testing.F) {
	files, err := filepath.Glob("testdata/*.npy")
	if err != nil || len(files) == 0 {
		f.Fatal(err, files)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := newReader(bytes.NewReader(data), "fuzz", int64(len(data)))
		if err != nil {
			return
		}
		a, err := ReadAll[float64](r)
		if err != nil && (r.dt.Kind == 'b' || r.Fortran) { // bytes other than 0 and 1; Fortran order
			return
		}
		if err != nil || len(a.Data) != r.Len() {
			t.Fatalf("%v: %d elements, header %+v", err, len(a.Data), r.Header)
		}
		var file bytes.Buffer
		if err := Write(&file, a.Shape, a.Data); err != nil {
			t.Fatal(err)
		}
		again, err := NewReader(&file, "again")
		if err != nil {
			t.Fatal(err)
		}
		b, err := ReadAll[float64](again)
		if err != nil || len(b.Data) != len(a.Data) || len(b.Shape) != len(a.Shape) {
			t.Fatalf("%v: %v, want %v", err, b, a)
		}
		for i, x := range a.Data {
			if math.Float64bits(x) != math.Float64bits(b.Data[i]) && x == x {
				t.Fatalf("element %d: %g, want %g", i, b.Data[i], x)
			}
		}
	})
}

// FuzzNPZ tests that no archive causes a panic.
func FuzzNPZ(f *testing.F) {
	small, err := archive("a", []int{2}, []float32{1, 2})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(small)
	path := filepath.Join(f.TempDir(), "fuzz.npz")
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		z, err := OpenNPZ(path)
		if err != nil {
			return
		}
		defer z.Close()
		for _, name := range z.Names() {
			r, err := z.Open(name)
			if err != nil {
				continue
			}
			if a, err := ReadAll[float64](r); err == nil && len(a.Data) != r.Len() {
				t.Errorf("%s: %d elements, header %+v", name, len(a.Data), r.Header)
			}
			r.Close() // for damaged data, this may also be an error
		}
	})
}

func BenchmarkReadImages(b *testing.B) {
	const rows, pixels = 256, 64 * 64
	var file bytes.Buffer
	if err := Write(&file, []int{rows, pixels}, make([]uint8, rows*pixels)); err != nil {
		b.Fatal(err)
	}
	dst := make([]float32, pixels)
	b.SetBytes(rows * pixels)
	for b.Loop() {
		r, err := NewReader(bytes.NewReader(file.Bytes()), "images")
		if err != nil {
			b.Fatal(err)
		}
		for range rows {
			if err := Read(r, dst); err != nil {
				b.Fatal(err)
			}
		}
	}
}
