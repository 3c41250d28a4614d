package hdf5

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/internal/dtype"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
)

func open(t testing.TB, name string) *File {
	t.Helper()
	h := must.Get(Open(filepath.Join("testdata", name)))(t)
	t.Cleanup(func() { h.Close() })
	return h
}

// ramp returns the elements in the files of testdata/make.py.
func ramp(n int, kind dtype.Type) []float64 {
	list := make([]float64, n)
	for i := range list {
		list[i] = float64((7*i + 3) % 127)
		switch kind.Kind {
		case 'f':
			list[i] += .5
		case 'b':
			list[i] = float64((7*i + 3) % 127 % 2)
		}
	}
	return list
}

// readAll reads an array in slabs as elements of type T.
func readAll[T dtype.Element](a *Array) ([]T, error) {
	r, err := a.NewReader()
	if err != nil {
		return nil, err
	}
	raw := make([]byte, a.Bytes())
	for from := 0; from < a.Rows(); from += r.Slab() {
		to := min(from+r.Slab(), a.Rows())
		if err := r.ReadRows(raw[from*a.RowBytes():to*a.RowBytes()], from, to); err != nil {
			return nil, err
		}
	}
	out := make([]T, a.Bytes()/a.Type.Size)
	if bad := dtype.Decode(out, raw, a.Type); bad >= 0 {
		return nil, fmt.Errorf("element %d does not fit into %T", bad, out[0])
	}
	return out, nil
}

// check compares all elements, read in slabs of the reader and in smaller slabs.
func check(t *testing.T, a *Array, want []float64) {
	t.Helper()
	got, err := readAll[float64](a)
	if err != nil {
		t.Error(err)
		return
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s: got %v, want %v", a.describe(), got[:min(30, len(got))], want[:min(30, len(want))])
		return
	}
	r, err := a.NewReader()
	if err != nil {
		t.Error(err)
		return
	}
	row := a.RowBytes() / a.Type.Size
	for from, n := 0, 1; from < a.Rows(); from, n = from+n, n+2 {
		to := min(from+n, a.Rows())
		raw, part := make([]byte, (to-from)*a.RowBytes()), make([]float64, (to-from)*row)
		if err := r.ReadRows(raw, from, to); err != nil {
			t.Error(err)
			return
		}
		if dtype.Decode(part, raw, a.Type); !slices.Equal(part, want[from*row:to*row]) {
			t.Errorf("%s: rows %d to %d: %v, want %v", a.describe(), from, to, part, want[from*row:to*row])
			return
		}
	}
}

func TestArrays(t *testing.T) {
	square, image := []int{2, 3}, []int{13, 5, 6, 3}
	shapes := map[string][]int{"wide": {9, 40}, "compact": {4, 6}, "big_chunk": {3, 5}, "implicit_grown": {5, 6}, "grows_always": {60, 50},
		"skipped": {4, 10}, "some/where/deep": square, "some/where/soft": square, "soft": square, "enum": square, "named": square}
	types := map[string]string{"be_chunked": "int16", "wide": "float64", "bool": "bool", "enum": "int16", "named": "int32"}
	names := strings.Fields(`bool be_chunked enum named contiguous compact one_chunk one_plain big_chunk implicit implicit_grown bounded bounded_gzip
		grows_0 grows_1 grows_2 grows_3 grows_twice skipped some/where/deep some/where/hard some/where/soft soft /some/where//deep`)
	for _, filters := range []string{"plain", "gzip", "lzf", "shuffle", "fletcher", "every", "lzf_shuffle"} {
		names = append(names, "chunks_"+filters, "wide_"+filters)
	}
	for _, kind := range strings.Fields("i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8") {
		dt, _ := dtype.Find(kind[0], int(kind[1]-'0'))
		for _, order := range []string{"le_", "be_"} {
			names = append(names, order+kind)
			shapes[order+kind], types[order+kind] = square, dt.Name
		}
	}
	shapes["bool"], shapes["/some/where//deep"] = square, square
	for _, file := range []string{"earliest.h5", "latest.h5"} {
		h := open(t, file)
		list := names
		if file == "latest.h5" {
			list = append(slices.Clone(names), "grows_always")
		}
		for _, name := range list {
			a, err := h.Array(name)
			if err != nil {
				t.Error(err)
				continue
			}
			group, _, _ := strings.Cut(name, "_")
			shape, kind := image, "uint8"
			for _, key := range []string{group, name} {
				if s, ok := shapes[key]; ok {
					shape = s
				}
				if k, ok := types[key]; ok {
					kind = k
				}
			}
			if !slices.Equal(a.Shape, shape) || a.Type.Name != kind {
				t.Errorf("%s: %s: %v of %s, want %v of %s", file, name, a.Shape, a.Type, shape, kind)
				continue
			}
			check(t, a, ramp(a.Bytes()/a.Type.Size, a.Type))
		}
	}
	for _, file := range []string{"userblock.h5", "old_contiguous.h5", "old_chunked.h5"} {
		a := must.Get(open(t, file).Array("x"))(t)
		check(t, a, ramp(13*5*6*3, a.Type))
	}
}

// Filters have any order and may occur twice. A second gzip compresses the output of the first, which was longer than
// its input.
func TestFilterOrders(t *testing.T) {
	h := open(t, "filters.h5")
	for _, order := range strings.Fields("gg ggg sgg gsg ggs gs fg gf sfg gfs fgf gfgf fsgf gsgsg") {
		for _, kind := range []string{"u1", "i4"} {
			a, err := h.Array(order + "_" + kind)
			if err != nil {
				t.Error(err)
				continue
			}
			check(t, a, ramp(60, a.Type))
		}
	}
}

func TestUnwritten(t *testing.T) {
	for _, file := range []string{"earliest.h5", "latest.h5"} {
		h := open(t, file)
		for name, places := range map[string]map[int]float64{
			"sparse_fixed":      {3: 1, 1040: 2, 4998: 3},
			"sparse_extensible": {3: 1, 1040: 2, 4998: 3, 135000: 4, 139999: 5, 199999: 6},
			"never":             nil,
			"never_chunked":     nil,
			"never_single":      nil,
			"scalar":            nil,
			"none":              nil,
		} {
			a := must.Get(h.Array(name))(t)
			want := make([]float64, a.Bytes()/a.Type.Size)
			for i := range want {
				want[i] = 517
				switch {
				case name == "scalar":
					want[i] = 3
				case places == nil:
					want[i] = 2.5
				}
				if v, ok := places[i]; ok {
					want[i] = v
				}
			}
			if got, err := readAll[float64](a); err != nil || !slices.Equal(got, want) {
				t.Errorf("%s: %s: %v", file, name, err)
			}
		}
	}
}

// MATLAB 7.3 stores texts and empty arrays as arrays of integers with attributes.
func TestMATLAB(t *testing.T) {
	for _, file := range []string{"matlab_earliest.h5", "matlab_latest.h5"} {
		h := open(t, file)
		for name, want := range map[string]string{"numbers": "[3 1 2]", "truth": "[1 0 1]",
			"text": "text ([3], uint16): is text; want numbers", "none": "none ([2], uint64): is empty; want numbers"} {
			a, err := h.Array(name)
			got := fmt.Sprint(err)
			if err == nil {
				values, err := readAll[float64](a)
				if got = fmt.Sprint(values); err != nil {
					t.Error(err)
				}
			}
			if !strings.HasSuffix(got, want) {
				t.Errorf("%s: %s: %s, want %s", file, name, got, want)
			}
		}
	}
}

func TestRefused(t *testing.T) {
	for name, want := range map[string]string{
		"strings":       "strings ([2]): holds variable-length strings; want booleans, integers or floats",
		"fixed_strings": "fixed_strings ([2]): holds strings; want",
		"complex":       "holds compound values (such as structures or complex numbers)",
		"compound":      "holds compound values",
		"reference":     "holds references",
		"ragged":        "holds variable-length values",
		"opaque":        "holds opaque bytes",
		"vectors":       "holds arrays",
		"empty":         "is empty: it has no shape",
		"long":          "holds floats of 80 bits with 15 bits of exponent",
		"bfloat16":      "holds floats of 16 bits with 8 bits of exponent",
		"twelve_bits":   "holds integers of 12 bits in 2 bytes",
		"bits":          "holds bit fields",
		"scaleoffset":   "is packed with filter 6 (scaleoffset), which is not read; want gzip (deflate), lzf, shuffle or fletcher32",
		"external":      "has its data in other files",
		"virtual":       "is put together from other arrays (a virtual data set)",
		"nothing":       `there is no array "nothing"; want one of bfloat16, bits, complex`,
		"/":             "is a group, not an array",
	} {
		if _, err := open(t, "refused.h5").Array(name); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.HasPrefix(err.Error(), filepath.Join("testdata", "refused.h5: ")) {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
	for _, file := range []string{"earliest.h5", "latest.h5"} {
		h := open(t, file)
		for name, want := range map[string]string{
			"circle":     "soft links without an end",
			"dangling":   `"dangling" is a link to "nowhere": there is no array "nowhere"`,
			"outside":    `"outside"`,
			"some/where": "is a group, not an array",
			"scalar/x":   `there is no array "x", and no other`,
		} {
			must.ErrorOf(h.Array(name))(t, want, file, name)
		}
	}
	for path, want := range map[string]string{
		"testdata":         "testdata is a folder; want a file",
		"testdata/make.py": "testdata/make.py: not an HDF5 file: it has no signature",
		"testdata/none":    must.NoFile(t),
	} {
		must.ErrorOf(Open(path))(t, want, path)
	}
}

func TestReadErrors(t *testing.T) {
	a := must.Get(open(t, "earliest.h5").Array("le_u2"))(t)
	r := must.Get(a.NewReader())(t)
	for _, bad := range [][3]int{{6, 1, 3}, {6, -1, 0}, {7, 0, 1}, {6, 1, 0}} {
		must.Error(t, r.ReadRows(make([]byte, bad[0]), bad[1], bad[2]), "there are 2 rows of 6 bytes", bad)
	}
	must.ErrorOf(readAll[bool](a))(t, "element 0 does not fit into bool")
}

// TestDamaged modifies and truncates files: errors are allowed, but no panic and no large allocation.
func TestDamaged(t *testing.T) {
	for _, name := range []string{"userblock.h5", "old_chunked.h5", "refused.h5"} {
		whole := must.Read(t, filepath.Join("testdata", name))
		path := filepath.Join(t.TempDir(), name)
		step := 205
		if long.Enabled() {
			step = 41
		}
		for i := 0; i < len(whole); i += step {
			damaged := slices.Clone(whole)
			damaged[i] ^= byte(1 << (i % 8))
			if i%3 == 0 {
				damaged = damaged[:i]
			}
			readEverything(t, path, damaged)
		}
	}
}

// A small file whose tree has a node many times is an error before all paths through the tree are read.
func TestManyPaths(t *testing.T) {
	const children, depth = 24, 12
	data := must.Read(t, filepath.Join("testdata", "old_chunked.h5"))
	root := le.AppendUint64(nil, uint64(bytes.Index(data, []byte("TREE"))))
	data = bytes.ReplaceAll(data, root, le.AppendUint64(nil, uint64(len(data))))
	for range depth {
		next := uint64(len(data) + 24 + 8 + 16*children)
		data = append(le.AppendUint16(append(data, "TREE\x00\x01"...), children), make([]byte, 16+8)...)
		for range children {
			data = le.AppendUint64(le.AppendUint64(data, next), 0)
		}
	}
	data = append(append(data, "SNOD"...), make([]byte, 20)...)
	path := filepath.Join(t.TempDir(), "paths.h5")
	must.Write(t, path, data)
	h := must.Get(Open(path))(t)
	defer h.Close()
	must.ErrorOf(h.members(h.root))(t, "the tree of a group has no end")
}

// readEverything writes a file and reads its arrays, ignoring errors.
func readEverything(t testing.TB, path string, data []byte) {
	t.Helper()
	must.Write(t, path, data)
	h, err := Open(path)
	if err != nil {
		return
	}
	defer h.Close()
	root, err := h.members(h.root)
	if err != nil {
		return
	}
	for name := range root {
		a, err := h.Array(name)
		if err != nil {
			continue
		}
		if a.Bytes() > maxDeflateRatio*len(data)+1<<26 {
			t.Errorf("%s: %d bytes in a file of %d", name, a.Bytes(), len(data))
		}
		r, err := a.NewReader()
		if err != nil || a.RowBytes() > 1<<24 {
			continue
		}
		for from := 0; from < a.Rows() && from < 1<<12; from += r.Slab() {
			to := min(from+r.Slab(), a.Rows(), from+max(1, 1<<20/max(1, a.RowBytes())))
			if err := r.ReadRows(make([]byte, (to-from)*a.RowBytes()), from, to); err != nil {
				break
			}
		}
	}
}

func FuzzFile(f *testing.F) {
	for _, name := range []string{"userblock.h5", "old_chunked.h5", "old_contiguous.h5", "refused.h5"} {
		data := must.Read(f, filepath.Join("testdata", name))
		f.Add(data)
	}
	path := filepath.Join(f.TempDir(), "x.h5")
	f.Fuzz(func(t *testing.T, data []byte) { readEverything(t, path, data) })
}

func FuzzLZF(f *testing.F) {
	f.Add([]byte{2, 'a', 'b', 'c', 0x40, 2, 0xe0, 1, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		if out, err := lzf(make([]byte, 100), data); err == nil && len(out) > 100 {
			t.Error(len(out))
		}
	})
}

func TestFilters(t *testing.T) {
	// A stream with a truncated header, and then a valid stream, by the same worker.
	w, packed := &worker{}, []byte{0x78, 0x9c, 0x4b, 0x4c, 0x4a, 0x06, 0x00, 0x02, 0x4d, 0x01, 0x27}
	for _, n := range []int{1, 2, 5, 9} {
		if _, err := w.inflateInto(make([]byte, 3), packed[:n]); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%d of %d bytes: %v", n, len(packed), err)
		}
	}
	for size, want := range map[int]string{3: "abc", 5: "abc", 2: ""} {
		if out, err := w.inflateInto(make([]byte, size), packed); string(out) != want || (err != nil) != (size < 3) {
			t.Errorf("room for %d: %q, %v", size, out, err)
		}
	}
	src := []byte{1, 2, 3, 11, 12, 13, 21, 22, 23, 9}
	dst := make([]byte, len(src))
	if unshuffle(dst, src, 3); !slices.Equal(dst, []byte{1, 11, 21, 2, 12, 22, 3, 13, 23, 9}) {
		t.Error(dst)
	}
	for _, want := range []struct {
		data string
		hash uint32
	}{{"", 0xdeadbeef}, {"Four score and seven years ago", 0x17770551}} { // values by the author of the hash
		must.Equal(t, lookup3([]byte(want.data)), want.hash, want.data)
	}
	fillWith(dst, []byte{1, 2, 3})
	if !bytes.Equal(dst, []byte{1, 2, 3, 1, 2, 3, 1, 2, 3, 1}) {
		t.Error(dst)
	}
	if !Is([]byte(signature)) || Is([]byte(signature[:7])) || !Is(append(make([]byte, 512), signature...)) || Is(make([]byte, 600)) {
		t.Error("signatures")
	}
	if n := bytesFor(255); n != 1 || bytesFor(256) != 2 || bytesFor(math.MaxUint32) != 4 {
		t.Error(n)
	}
}

// unhex returns the bytes of hexadecimal digits. A digit pair after x is repeated: 00x8 means eight zero bytes.
func unhex(t *testing.T, text string) []byte {
	t.Helper()
	var b []byte
	for _, word := range strings.Fields(text) {
		digits, times, repeated := strings.Cut(word, "x")
		n := 1
		if repeated {
			n, _ = strconv.Atoi(times)
		}
		some := must.Get(hex.DecodeString(digits))(t)
		b = append(b, bytes.Repeat(some, n)...)
	}
	return b
}

// Each reader of a message checks the numbers that it reads. An empty want means no error.
func TestMessages(t *testing.T) {
	short := dtype.Type{Name: "uint16", Kind: 'u', Size: 2}
	array := func(read func(*Array, *cursor) error) func(*cursor) error {
		return func(r *cursor) error { return read(&Array{Type: short}, r) }
	}
	space, fill, oldFill := array((*Array).readSpace), array((*Array).readFill), array((*Array).readOldFill)
	layout, filters := array((*Array).readLayout), array((*Array).readFilters)
	kind := func(r *cursor) error { _, _, err := readType(r); return err }
	super := func(r *cursor) error { return new(File).readSuperblock(r.bytes(len(r.b))) }
	link := func(r *cursor) error { return readLink(r.bytes(len(r.b)), map[string]member{}) }
	for i, c := range []struct {
		read    func(*cursor) error
		message string
		want    string
	}{
		{space, "00 00 00 00x5", "dataspace of version 0"},
		{space, "01 20 00 00x5 00x256", ""},
		{space, "01 21 00 00x5 00x264", "33 dimensions; want at most 32"},
		{space, "02 01 00 01 ffx7 3f", ""},
		{space, "02 01 00 01 00x7 40", "a dimension of 4611686018427387904"},
		{space, "02 01 01 01 03 00x7 05 00x6", "ends early"},
		{space, "02 00 00 02", "is empty"},
		{space, "03 00 00", "dataspace of version 3; want 1 or 2"},
		{oldFill, "02 00x3 0102", ""},
		{oldFill, "04 00x3 01020304", "a fill value of 4 bytes; want 2"},
		{fill, "00 00x8", "a fill value of version 0"},
		{fill, "01 0000 00 04000000 01020304", "of 4 bytes; want 2"},
		{fill, "02 0000 00 04000000 01020304", ""},
		{fill, "02 0000 01 04000000 01020304", "of 4 bytes; want 2"},
		{fill, "03 00 04000000 01020304", ""},
		{fill, "03 20 04000000 01020304", "of 4 bytes; want 2"},
		{fill, "03 20 02000000 01", "ends early"},
		{fill, "03 20 00000000", ""},
		{fill, "04 20", "a fill value of version 4; want 1 to 3"},
		{kind, "10 000000 02000000 0000 1000", ""},
		{kind, "10 000000 02000000 0100 1000", "16 bits in 2 bytes"},
		{kind, "10 000000 02000000 0000 0f00", "15 bits in 2 bytes"},
		{kind, "10 000000 03000000 0000 1800", "24 bits in 3 bytes"},
		{kind, "10 000000 02000000 0000", "ends early"},
		{kind, "12 000000 08000000", "holds times; want booleans, integers or floats"},
		{kind, "1a 000000 08000000", "holds arrays"},
		{kind, "1b 000000 08000000", "unknown class 11"},
		{kind, "11 201f00 04000000 0000 2000 17 08 00 17", ""},
		{kind, "11 201f00 04000000 0000 2000 17 08 00 16", "floats of 32 bits with 8 bits of exponent"},
		{kind, "11 601f00 04000000 0000 2000 17 08 00 17", "VAX floats"},
		{kind, "11 611f00 04000000 0000 2000 17 08 00 17", "VAX floats"},
		{kind, "11 201f00 04000000 0000 2000 17 08 00", "ends early"},
		{kind, "38 010000 01000000 10 000000 01000000 0000 0800 4141", "ends early"},
		{kind, "18 010000 01000000 10 000000 01000000 0000 0800 410000", "ends early"},
		{kind, "38 010000 01000000 12 000000 01000000", "holds times"},
		{layout, "00 00x20", "data layout of version 0; want 1 to 4"},
		{layout, "05 00x20", "data layout of version 5"},
		{layout, "01 02 03 00x20", "data layout of class 3; want 0 to 2"},
		{layout, "03 00 0400 01020304", ""},
		{layout, "03 00 0400 010203", "ends early"},
		{layout, "03 03", "is put together from other arrays"},
		{layout, "03 04", "data layout of class 4"},
		{layout, "03 02 02 00x8 03000000 02000000", ""},
		{layout, "03 02 01 00x8 02000000", "chunks without dimensions"},
		{layout, "03 02 02 00x8 03000000 04000000", "chunks with elements of 4 bytes; want 2"},
		{layout, "03 02 02 00x8 00000000 02000000", "chunks of shape [0]; want at most"},
		{layout, "03 02 02 00x8 00000020 02000000", ""},
		{layout, "03 02 02 00x8 01000020 02000000", "chunks of shape [536870913 2]; want at most 1073741824 bytes"},
		{layout, "03 02 02 00x8 03000000 0200", "ends early"},
		{layout, "04 02 00 02 00", "chunks without dimensions"},
		{layout, "04 02 00 02 09", "chunks without dimensions"},
		{layout, "04 02 00 02 08 03 00x7 02 00x7 02 00x8", ""},
		{layout, "04 02 00 02 01 03 02 00 00x8", "index of chunks of type 0; want 1 to 5"},
		{layout, "04 02 00 02 01 03 02 06 00x8", "index of chunks of type 6"},
		{filters, "00 01", "filters of version 0"},
		{filters, "03 01", "filters of version 3; want 1 or 2"},
		{filters, "02 01 0100 0000 0100 09000000", ""},
		{filters, "02 01 0100 0000 0100 090000", "ends early"},
		{filters, "01 01 00x6 0100 0300 0000 0100 616200 00x5 09000000 00x4", ""},
		{filters, "01 01 00x6 0100 0300 0000 0100 616200 00x5 09000000 00x3", "ends early"},
		{filters, "01 01 00x6 0100 0300 0000 0100 616200 00x4", "ends early"},
		{filters, "02 01 ff00 0000 0000", "filter 255 ()"},
		{filters, "02 01 0001 0200 0000 0000 6162", "filter 256 (ab), which is not read"},
		{filters, "02 01 3301 0200 0000 0000 6162", "filter 307 (bzip2)"},
		{super, "00x13 08 08 00x57", ""},
		{super, "00x13 08 08 00x56", "ends early"},
		{super, "00x8 01 00x4 08 08 00x61", ""},
		{super, "00x8 01 00x4 08 08 00x60", "ends early"},
		{super, "00x13 04 08 00x60", "addresses of 4 bytes and lengths of 8 bytes; want 8"},
		{super, "00x13 08 04 00x60", "addresses of 8 bytes and lengths of 4 bytes; want 8"},
		{super, "00x8 02 04 08 00x60", "addresses of 4 bytes"},
		{super, "00x8 03 08 04 00x60", "lengths of 4 bytes"},
		{super, "00x8 03 08 08 00x60", "the checksum of the superblock is wrong"},
		{super, "00x8 04 00x60", "a superblock of version 4; want 0 to 3"},
		{link, "01 00 01 61 00x8", ""},
		{link, "01 00 01 61 00x7", "ends early"},
		{link, "01 1d 40 00x8 00 0100 61 00x2", ""}, // with all optional fields
		{link, "01 1d 01 00x8 00 0100 61 00x1", "ends early"},
	} {
		r := &cursor{b: unhex(t, c.message)}
		must.Error(t, errors.Join(c.read(r), r.err), c.want, i, c.message)
	}
}

// An enumeration has the type of its numbers. Only the names FALSE and TRUE of one byte mean booleans.
func TestEnumerations(t *testing.T) {
	const one, two = "10 000000 01000000 0000 0800", "10 010000 02000000 0000 1000"
	for text, want := range map[string]string{
		"38 020000 01000000 " + one + " 46414c534500 5452554500":                 "bool false",
		"18 020000 01000000 " + one + " 46414c534500 00x2 5452554500 00x3":       "bool false",
		"38 020000 02000000 " + two + " 46414c534500 5452554500":                 "uint16 true",
		"38 020000 01000000 " + one + " 4100 4200":                               "uint8 false",
		"38 020000 01000000 " + one + " 5452554500 46414c534500":                 "uint8 false",
		"18 010000 01000000 " + one + " 4142434445464700":                        "uint8 false",
		"38 030000 01000000 " + one + " 46414c534500 5452554500 4d4159424500 00": "uint8 false",
	} {
		kind, bigEndian, err := readType(&cursor{b: unhex(t, text)})
		if got := fmt.Sprint(kind.Name, " ", bigEndian); err != nil || got != want {
			t.Errorf("%s: %s, %v; want %s", text, got, err, want)
		}
	}
}

// The messages of an array fit each other and the size of the file.
func TestConsistent(t *testing.T) {
	short, file := dtype.Type{Name: "uint16", Kind: 'u', Size: 2}, &File{size: 100}
	for i, c := range []struct {
		shape, chunk []int
		place        dataLayout
		want         string
	}{
		{[]int{50}, nil, dataLayout{class: contiguousLayout}, ""},
		{[]int{51}, nil, dataLayout{class: contiguousLayout}, "the file has 100 bytes, but says that 102 are at 0"},
		{[]int{51}, nil, dataLayout{class: contiguousLayout, addr: undefined}, ""},
		{[]int{2}, nil, dataLayout{class: contiguousLayout, addr: 96}, ""},
		{[]int{2}, nil, dataLayout{class: contiguousLayout, addr: 97}, "says that 4 are at 97"},
		{[]int{0}, nil, dataLayout{class: contiguousLayout, addr: 101}, "says that 0 are at 101"},
		{[]int{2, 1}, nil, dataLayout{compact: make([]byte, 4)}, ""},
		{[]int{2, 1}, nil, dataLayout{compact: make([]byte, 5)}, "5 bytes of data; want 4"},
		{[]int{2, 1}, []int{2}, dataLayout{class: chunkedLayout}, "has chunks of shape [2]; want as many dimensions as the array"},
		{nil, nil, dataLayout{class: chunkedLayout}, "want as many dimensions"},
		{[]int{2, 1}, []int{2, 1}, dataLayout{class: chunkedLayout}, ""},
		{[]int{(104000 + 1<<26) / 2}, []int{1}, dataLayout{class: chunkedLayout}, ""},
		{[]int{(104000+1<<26)/2 + 1}, []int{1}, dataLayout{class: chunkedLayout}, "more than a file of 100 bytes can hold"},
		{[]int{1 << 40, 1 << 40}, []int{1, 1}, dataLayout{class: chunkedLayout}, "1099511627776"},
	} {
		a := &Array{file: file, Shape: c.shape, Chunk: c.chunk, Type: short, layout: c.place}
		must.Error(t, a.checkConsistency(), c.want, i)
	}
}

// The numbers of chunks fit the shape of the array, its largest shape and the size of the file.
func TestChunkCounts(t *testing.T) {
	const most = 100/8 + 1<<20 // of a file of 100 bytes
	for i, c := range []struct {
		shape, chunk []int
		most         []uint64
		index        int
		want         string // the number of chunks that an index counts, or the error
	}{
		{[]int{5, 4}, []int{2, 4}, nil, fixedIndex, "3"},
		{[]int{0, 4}, []int{2, 4}, nil, fixedIndex, "0"},
		{[]int{5, 4}, []int{2, 2}, []uint64{5, 9}, fixedIndex, "15"},
		{[]int{5, 4}, []int{2, 2}, []uint64{5, 9}, btree1Index, "6"},
		{[]int{5, 4}, []int{2, 2}, []uint64{5, 9}, btree2Index, "6"},
		{[]int{5, 4}, []int{2, 2}, []uint64{undefined, 9}, extensibleIndex, "15"},
		{[]int{5, 4}, []int{2, 2}, []uint64{4, 9}, fixedIndex, "dimension 0 is 5 and may be 4 at most: the file is damaged"},
		{[]int{5, 4}, []int{2, 2}, []uint64{5, 1 << 62}, fixedIndex, "dimension 1 is 4 and may be 4611686018427387904 at most"},
		{[]int{5, 4}, []int{2, 2}, []uint64{undefined, undefined}, extensibleIndex, "an index for one dimension that grows, and 2 that do"},
		{[]int{5, 4}, []int{2, 2}, []uint64{5, 9}, extensibleIndex, "an index for one dimension that grows, and 0 that do"},
		{[]int{most}, []int{1}, nil, fixedIndex, strconv.Itoa(most)},
		{[]int{most + 1}, []int{1}, nil, fixedIndex, fmt.Sprintf("a grid of [%d] chunks; want at most %d in a file of 100 bytes", most+1, most)},
		{[]int{1}, []int{1}, []uint64{most + 1}, fixedIndex, fmt.Sprintf("an index of 1 x %d chunks or more; want at most %d in a file of 100 bytes", most+1, most)},
		{[]int{3, most / 2}, []int{1, 1}, nil, fixedIndex, "a grid of [3 "},
	} {
		a := &Array{Shape: c.shape, Chunk: c.chunk, maxSizes: c.most, file: &File{size: 100}, Type: dtype.Type{Size: 1},
			layout: dataLayout{addr: undefined, index: c.index}}
		x, err := newIndex(a)
		got := fmt.Sprint(err)
		if err == nil {
			got = strconv.Itoa(x.indexSize())
		}
		if got != c.want && (err == nil || !strings.Contains(got, c.want)) {
			t.Errorf("%d: %s, want %s", i, got, c.want)
		}
	}
	x := &index{Array: &Array{file: &File{size: 100}}, grid: []int{2, 3}, chunks: make([]chunk, 6)}
	for _, at := range [][]int{{2, 0}, {0, 3}, {-1, 0}} {
		must.Error(t, x.set(at, chunk{}), fmt.Sprintf("a chunk at %v of a grid of [2 3]", at), at)
	}
	if err := x.set([]int{1, 2}, chunk{addr: 7}); err != nil || x.chunks[5].addr != 7 {
		t.Errorf("%v, %v", x.chunks, err)
	}
	for n := range 6 {
		if err := x.countNode(); (err == nil) != (n < 5) {
			t.Errorf("node %d: %v", n+1, err)
		}
	}
}
