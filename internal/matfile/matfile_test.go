package matfile

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/internal/dtype"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
)

func open(t testing.TB, name string) *File {
	t.Helper()
	f := must.Get(Open(filepath.Join("testdata", name)))(t)
	t.Cleanup(func() { f.Close() })
	return f
}

// ramp returns the elements in the files of testdata/make.py.
func ramp(n int, t dtype.Type) []float64 {
	list := make([]float64, n)
	for i := range list {
		list[i] = float64(i % 113)
		if t == dtype.Bool {
			list[i] = float64(i % 113 % 2)
		}
	}
	return list
}

// check compares all elements, from a single read and from reads with gaps.
func check(t *testing.T, v *Variable, want []float64) {
	t.Helper()
	r, err := v.NewReader()
	if err != nil {
		t.Error(err)
		return
	}
	raw, got := make([]byte, len(want)*v.Type.Size), make([]float64, len(want))
	if err := r.ReadFull(raw); err != nil {
		t.Error(err)
		return
	}
	if dtype.Decode(got, raw, v.Type); !slices.Equal(got, want) {
		t.Errorf("%v: %v; want %v", v, got, want)
	}
	must.Error(t, r.ReadFull(make([]byte, v.Type.Size)), "but 0 are left", v)
	if r, err = v.NewReader(); err != nil {
		t.Fatal(err)
	}
	for at := 0; at+3 <= len(want); at += 3 {
		if err := r.ReadFull(raw[:2*v.Type.Size]); err != nil {
			t.Error(err)
			return
		}
		if err := r.Skip(int64(v.Type.Size)); err != nil {
			t.Error(err)
			return
		}
		if dtype.Decode(got[:2], raw, v.Type); !slices.Equal(got[:2], want[at:at+2]) {
			t.Errorf("%v: %v at %d; want %v", v, got[:2], at, want[at:at+2])
			return
		}
	}
}

func TestVariables(t *testing.T) {
	types := map[string]string{"x_i1": "int8", "x_i2": "int16", "x_i4": "int32", "x_i8": "int64", "x_u1": "uint8",
		"x_u2": "uint16", "x_u4": "uint32", "x_u8": "uint64",
		"x_f4": "float32", "x_f8": "float64", "x_?": "bool", "none": "float64"}
	shapes := map[string][]int{"im": {16, 16, 3, 6, 4}, "k": {1, 1}, "wide": {1, 7}, "tall": {7, 1}, "three": {1, 3},
		"none": {0, 3}, "a_name_that_is_longer_than_others": {2, 2}}
	for _, file := range []string{"plain.mat", "packed.mat"} {
		f := open(t, file)
		for _, name := range slices.Concat([]string{"im", "k", "wide", "tall", "three", "none", "a_name_that_is_longer_than_others"},
			strings.Fields("x_i1 x_i2 x_i4 x_i8 x_u1 x_u2 x_u4 x_u8 x_f4 x_f8 x_?")) {
			v := f.Find(name)
			if v == nil {
				t.Errorf("%s: no %s in %v", file, name, f.Names())
				continue
			}
			shape, kind := []int{3, 4, 5}, "uint8"
			if s, ok := shapes[name]; ok {
				shape = s
			}
			if k, ok := types[name]; ok {
				kind = k
			}
			if !slices.Equal(v.Shape, shape) || v.Type.Name != kind {
				t.Errorf("%s: %v; want %v of %s", file, v, shape, kind)
				continue
			}
			n := 1
			for _, s := range shape {
				n *= s
			}
			check(t, v, ramp(n, v.Type))
		}
	}
}

// Numbers of a class may have a smaller storage type, in both byte orders.
func TestStored(t *testing.T) {
	for _, file := range []string{"smaller.mat", "smaller_packed.mat", "big_endian.mat", "big_endian_packed.mat"} {
		f := open(t, file)
		must.Equal(t, len(f.Names()), 56, file, "variables")
		for _, name := range f.Names() {
			v := f.Find(name)
			if name == "few" {
				check(t, v, []float64{7, 9})
				continue
			}
			class := kind(name[0], int(name[1]-'0'))
			if v.Type != class || !slices.Equal(v.Shape, []int{3, 5}) {
				t.Errorf("%s: %v; want %s", file, v, class)
			}
			check(t, v, ramp(15, v.Type))
		}
	}
}

func TestRefused(t *testing.T) {
	for _, file := range []string{"plain.mat", "packed.mat"} {
		f := open(t, file)
		for name, want := range map[string]string{
			"text": ": text ([1 9]) is text, which is not read; want an array of numbers or logical values", "cell": "is a cell array", "struct": "is a structure",
			"sparse": "is a sparse array", "z": "is an array of complex numbers",
		} {
			if _, err := f.Find(name).NewReader(); err == nil || !strings.Contains(err.Error(), want) ||
				!strings.HasPrefix(err.Error(), filepath.Join("testdata", file)) {
				t.Errorf("%s: %v; want %s", name, err, want)
			}
		}
		if f.Find("nothing") != nil {
			t.Error("a variable that is not there")
		}
	}
	hdf5 := append(bytes.Repeat([]byte{' '}, 124), "\x00\x02IM"...)
	for want, data := range map[string][]byte{
		"not a MATLAB file: it has only 3 bytes": []byte("abc"),
		"not a MATLAB file":                      bytes.Repeat([]byte("x"), 200),
		"a file of MATLAB 7.3, which is HDF5":    hdf5,
	} {
		if _, err := New(bytes.NewReader(data), int64(len(data)), "x.mat"); err == nil || !strings.HasPrefix(err.Error(), "x.mat: "+want) {
			t.Errorf("%v; want %s", err, want)
		}
	}
	for path, want := range map[string]string{"testdata": "is a folder; want a file",
		"testdata/version4.mat": "perhaps of version 4", "none": must.NoFile(t)} {
		must.ErrorOf(Open(path))(t, want, path)
	}
}

// readEverything reads all variables, ignoring errors. It returns the number of variables that it could read, and a
// hash of them.
func readEverything(t testing.TB, data []byte) (read int, sum uint32) {
	t.Helper()
	f, err := New(bytes.NewReader(data), int64(len(data)), "x.mat")
	if err != nil {
		return 0, 0
	}
	for _, v := range f.list {
		r, err := v.NewReader()
		if err != nil {
			continue
		}
		if n := int64(r.left) * int64(r.stored.Size); n > mostPacked*int64(len(data))+1<<11 {
			t.Errorf("%v: %d bytes in a file of %d", v, n, len(data))
		}
		buffer := make([]byte, min(r.left, 1<<12)*v.Type.Size)
		for r.left > 0 && err == nil {
			part := buffer[:min(r.left*v.Type.Size, len(buffer))]
			err = r.ReadFull(part)
			sum = crc32.Update(sum, crc32.IEEETable, part)
		}
		if err == nil {
			read++
		}
	}
	return read, sum
}

// Damaged files give errors or other numbers; truncated files give errors.
func TestDamaged(t *testing.T) {
	for _, name := range []string{"smaller.mat", "smaller_packed.mat", "big_endian_packed.mat"} {
		whole := must.Read(t, filepath.Join("testdata", name))
		all, sum := readEverything(t, whole)
		step := 31 * 5
		if long.Enabled() {
			step = 31
		}
		for i := 130; i < len(whole); i += step {
			damaged := slices.Clone(whole)
			damaged[i] ^= byte(1 << (i % 8))
			if n, other := readEverything(t, damaged); n == all && other != sum && strings.Contains(name, "packed") {
				t.Errorf("%s: a changed byte %d changes numbers and is not noticed", name, i)
			}
			if f, err := New(bytes.NewReader(whole[:i]), int64(i), "x.mat"); err == nil && len(f.list) >= all {
				t.Errorf("%s: cut off after %d bytes, and all is there", name, i)
			}
		}
	}
}

// An impossible size gives an error without an allocation.
func TestHuge(t *testing.T) {
	data := must.Read(t, "testdata/smaller.mat")
	at := bytes.Index(data, []byte{3, 0, 0, 0, 5, 0, 0, 0})
	binary.LittleEndian.PutUint32(data[at:], 1<<30)
	f := must.Get(New(bytes.NewReader(data), int64(len(data)), "x.mat"))(t)
	must.ErrorOf(f.list[0].NewReader())(t, "bytes of numbers stored as int8; want 5368709120")
}

func FuzzFile(f *testing.F) {
	for _, name := range []string{"smaller.mat", "smaller_packed.mat", "big_endian.mat", "plain.mat", "packed.mat"} {
		data := must.Read(f, filepath.Join("testdata", name))
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) { readEverything(t, data) })
}
