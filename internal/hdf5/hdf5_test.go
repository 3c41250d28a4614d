package hdf5

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/internal/dtype"
	"github.com/unravel-ml/unravel/internal/long"
)

func open(t testing.TB, name string) *File {
	t.Helper()
	h, err := Open(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
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
		t.Errorf("%s: got %v, want %v", a.label(), got[:min(30, len(got))], want[:min(30, len(want))])
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
			t.Errorf("%s: rows %d to %d: %v, want %v", a.label(), from, to, part, want[from*row:to*row])
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
		a, err := open(t, file).Array("x")
		if err != nil {
			t.Fatal(err)
		}
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
			a, err := h.Array(name)
			if err != nil {
				t.Fatal(err)
			}
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
		if _, err := open(t, "refused.h5").Array(name); err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "testdata/refused.h5: ") {
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
			if _, err := h.Array(name); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %s: %v, want %s", file, name, err, want)
			}
		}
	}
	for path, want := range map[string]string{
		"testdata":         "testdata is a folder; want a file",
		"testdata/make.py": "testdata/make.py: not an HDF5 file: it has no signature",
		"testdata/none":    "no such file",
	} {
		if _, err := Open(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", path, err, want)
		}
	}
}

func TestReadErrors(t *testing.T) {
	a, err := open(t, "earliest.h5").Array("le_u2")
	if err != nil {
		t.Fatal(err)
	}
	r, err := a.NewReader()
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range [][3]int{{6, 1, 3}, {6, -1, 0}, {7, 0, 1}, {6, 1, 0}} {
		if err := r.ReadRows(make([]byte, bad[0]), bad[1], bad[2]); err == nil || !strings.Contains(err.Error(), "there are 2 rows of 6 bytes") {
			t.Errorf("%v: %v", bad, err)
		}
	}
	if _, err := readAll[bool](a); err == nil || !strings.Contains(err.Error(), "element 0 does not fit into bool") {
		t.Error(err)
	}
}

// TestDamaged modifies and truncates files: errors are allowed, but no panic and no large allocation.
func TestDamaged(t *testing.T) {
	for _, name := range []string{"userblock.h5", "old_chunked.h5", "refused.h5"} {
		whole, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
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

// readEverything writes a file and reads its arrays, ignoring errors.
func readEverything(t testing.TB, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
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
		if a.Bytes() > mostPacked*len(data)+1<<26 {
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
		data, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
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
		if _, err := w.deflated(make([]byte, 3), packed[:n]); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%d of %d bytes: %v", n, len(packed), err)
		}
	}
	for size, want := range map[int]string{3: "abc", 5: "abc", 2: ""} {
		if out, err := w.deflated(make([]byte, size), packed); string(out) != want || (err != nil) != (size < 3) {
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
		if got := lookup3([]byte(want.data)); got != want.hash {
			t.Errorf("%q: %x, want %x", want.data, got, want.hash)
		}
	}
	fillWith(dst, []byte{1, 2, 3})
	if !bytes.Equal(dst, []byte{1, 2, 3, 1, 2, 3, 1, 2, 3, 1}) {
		t.Error(dst)
	}
	if !Is([]byte(signature)) || Is([]byte(signature[:7])) || !Is(append(make([]byte, 512), signature...)) || Is(make([]byte, 600)) {
		t.Error("signatures")
	}
	if n := numberBytes(255); n != 1 || numberBytes(256) != 2 || numberBytes(math.MaxUint32) != 4 {
		t.Error(n)
	}
}
