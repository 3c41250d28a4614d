package hdf5

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
)

// Names has the paths below groups, but no soft or external links.
func TestNames(t *testing.T) {
	for _, file := range []string{"earliest.h5", "latest.h5"} {
		names := open(t, file).Names()
		if !slices.IsSorted(names) {
			t.Errorf("%s: %q is not sorted", file, names)
		}
		for name, want := range map[string]bool{
			"contiguous": true, "some/where/deep": true, "some/where/hard": true,
			"some": false, "some/where": false, "some/where/soft": false, "soft": false, "circle": false,
			"dangling": false, "outside": false,
		} {
			must.Equal(t, slices.Contains(names, name), want, file, name)
		}
	}
}

// writeObject appends an object header with messages of one kind and returns its address.
func writeObject(file *[]byte, kind byte, messages ...[]byte) uint64 {
	var body []byte
	for _, m := range messages {
		body = append(le.AppendUint16(append(body, kind), uint16(len(m))), 0)
		body = append(body, m...)
	}
	at := len(*file)
	b := append(le.AppendUint16([]byte("OHDR\x02\x01"), uint16(len(body))), body...)
	*file = append(append(*file, b...), le.AppendUint32(nil, lookup3(b))...)
	return uint64(at)
}

func hardLinkTo(name string, addr uint64) []byte {
	return le.AppendUint64(append([]byte{1, 0, byte(len(name))}, name...), addr)
}

// openGroup opens the content of a file with a root group.
func openGroup(t *testing.T, file []byte, root uint64) *File {
	t.Helper()
	f := must.Get(os.Open(must.Write(t, filepath.Join(t.TempDir(), "x.h5"), file)))(t)
	h := &File{f: f, size: int64(len(file)), root: root}
	t.Cleanup(func() { h.Close() })
	return h
}

// Names visits a group once, goes down 8 levels, and stops after 1000 arrays.
func TestNamesEnd(t *testing.T) {
	file := make([]byte, 48)
	array := writeObject(&file, layoutMessage, nil)
	group := array
	for range 10 {
		here := uint64(len(file))
		group = writeObject(&file, linkMessage, hardLinkTo("damaged", 1), hardLinkTo("down", group),
			hardLinkTo("self", here), hardLinkTo("x", array))
	}
	h := openGroup(t, file, group)
	var want []string
	for level := range 8 {
		want = append([]string{strings.Repeat("down/", level) + "x"}, want...)
	}
	must.EqualSlices(t, h.Names(), want)

	var links [][]byte
	for i := range 1001 {
		links = append(links, hardLinkTo(fmt.Sprintf("x%04d", i), array))
	}
	root := writeObject(&file, linkMessage, links...)
	names := openGroup(t, file, root).Names()
	if n := len(names); n != 1000 || names[n-1] != "x0999" {
		t.Errorf("%d names", n)
	}
}

// A table of a heap has blocks of 512, 512, 1024, 2048, 4096 and 8192 bytes in its rows of 4. The largest block with
// objects has 4096 bytes, so each block of the last row is a table: 3 rows hold 8192 bytes.
func TestHeapTables(t *testing.T) {
	const rows = 6
	table := append([]byte("FHIB"), make([]byte, 9+4)...)
	for i := range 4 * rows {
		table = le.AppendUint64(table, uint64(1000+i))
	}
	table = le.AppendUint32(table, lookup3(table))
	header := make([]byte, 142)
	copy(header, "FRHP")
	header[5], header[110], header[128], header[140] = 7, 4, 32, rows
	le.PutUint32(header[10:], 4096)
	le.PutUint64(header[112:], 512)
	le.PutUint64(header[120:], 4096)
	data := append(table, le.AppendUint32(header, lookup3(header))...)
	f := must.Get(openGroup(t, data, 0).fractalHeap(uint64(len(table))))(t)
	for _, want := range []struct{ offset, block, within, rows uint64 }{
		{0, 0, 0, 0}, {511, 0, 511, 0}, {512, 1, 0, 0}, {2047, 3, 511, 0}, {2048, 4, 0, 0}, {4095, 7, 511, 0},
		{4096, 8, 0, 0}, {5127, 9, 7, 0}, {8191, 11, 1023, 0}, {8192, 12, 0, 0}, {16383, 15, 2047, 0},
		{16384, 16, 0, 0}, {32767, 19, 4095, 0}, {32768, 20, 0, 3}, {65535, 23, 8191, 3},
	} {
		addr, within, rows, err := f.child(0, want.offset, rows)
		if err != nil || addr != 1000+want.block || within != want.within || rows != int(want.rows) {
			t.Errorf("offset %d: block %d, byte %d, %d rows, %v; want %v", want.offset, addr, within, rows, err, want)
		}
	}
	_, _, _, err := f.child(0, 65536, rows)
	must.Error(t, err, "a link is outside its heap")
}
