package hdf5

import (
	"bytes"
	"encoding/binary"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/zlib"

	"github.com/unravel-ml/unravel/internal/must"
)

// thinChunks writes a file with one array of images of 64 x 64 x 3 in deflated chunks of rows x 4 x 4 x 1, like the
// chunks of 3D Shapes. The format is as simple as possible: a superblock of version 3, and a chunk index without pages.
func thinChunks(t testing.TB, rows, perChunk int) string {
	t.Helper()
	var file bytes.Buffer
	file.Write(make([]byte, 48)) // the superblock
	summed := func(b []byte) uint64 {
		at := uint64(file.Len())
		file.Write(le.AppendUint32(b, lookup3(b)))
		return at
	}
	var chunk, packed bytes.Buffer
	z := zlib.NewWriter(&packed)
	var entries []byte
	bands := (rows + perChunk - 1) / perChunk
	for i := range bands * 16 * 16 * 3 {
		chunk.Reset()
		packed.Reset()
		z.Reset(&packed)
		for row := range perChunk {
			for p := range 16 { // similar to drawings: flat areas and a moving edge
				chunk.WriteByte(byte(40*(i%5) + row/480%10*20 + p*(row*7+i)%97/96))
			}
		}
		must.Get(z.Write(chunk.Bytes()))(t)
		must.OK(t, z.Close())
		entries = le.AppendUint64(entries, uint64(file.Len()))
		entries = append(le.AppendUint32(entries, uint32(packed.Len())), 0, 0, 0, 0)
		file.Write(packed.Bytes())
	}
	const pageBits = 24 // larger than the number of chunks
	block := append([]byte("FADB\x00\x01"), make([]byte, 8)...)
	data := summed(append(block, entries...))
	count := uint64(bands * 16 * 16 * 3)
	index := summed(le.AppendUint64(le.AppendUint64(append([]byte("FAHD\x00\x01\x10"), pageBits), count), data))

	space := []byte{2, 4, 0, 1}
	for _, s := range []int{rows, 64, 64, 3} {
		space = le.AppendUint64(space, uint64(s))
	}
	layout := []byte{4, 2, 0, 5, 4}
	for _, c := range []int{perChunk, 4, 4, 1, 1} {
		layout = le.AppendUint32(layout, uint32(c))
	}
	layout = le.AppendUint64(append(layout, fixedIndex, pageBits), index)
	object := func(messages map[byte][]byte) uint64 {
		var body []byte
		for kind, m := range messages {
			body = append(le.AppendUint16(append(body, kind), uint16(len(m))), 0)
			body = append(body, m...)
		}
		return summed(append(le.AppendUint16([]byte("OHDR\x02\x01"), uint16(len(body))), body...))
	}
	array := object(map[byte][]byte{
		dataspaceMessage: space, datatypeMessage: {0x10, 0, 0, 0, 1, 0, 0, 0, 0, 0, 8, 0}, layoutMessage: layout,
		filterMessage: {2, 1, deflateFilter, 0, 0, 0, 1, 0, 4, 0, 0, 0},
	})
	root := object(map[byte][]byte{linkMessage: le.AppendUint64([]byte("\x01\x00\x06images"), array)})
	head := append([]byte(signature), 3, 8, 8, 0)
	for _, v := range []uint64{0, undefined, uint64(file.Len()), root} {
		head = le.AppendUint64(head, v)
	}
	out := file.Bytes()
	binary.Encode(out[copy(out, head):], le, lookup3(head)) // out is large enough
	return must.Write(t, filepath.Join(t.TempDir(), "images.h5"), out)
}

// Images read from thin chunks have the pixels that were written.
func TestThinChunks(t *testing.T) {
	h := must.Get(Open(thinChunks(t, 30, 20)))(t)
	defer h.Close()
	a := must.Get(h.Array("images"))(t)
	got := must.Get(readAll[uint8](a))(t)
	for at, v := range got {
		c, x, y, row := at%3, at/3%64, at/3/64%64, at/3/64/64
		i := ((row/20*16+y/4)*16+x/4)*3 + c
		row %= 20
		if want := byte(40*(i%5) + row/480%10*20 + (y%4*4+x%4)*(row*7+i)%97/96); v != want {
			t.Fatalf("image %d, y %d, x %d, channel %d: %d; want %d", row, y, x, c, v, want)
		}
	}
}

// BenchmarkThinChunks reads images in chunks like 3D Shapes on all processors; MB/s is the rate of pixels.
func BenchmarkThinChunks(b *testing.B) {
	const rows = 4000
	h := must.Get(Open(thinChunks(b, rows, rows/2)))(b)
	defer h.Close()
	a := must.Get(h.Array("images"))(b)
	r := must.Get(a.NewReader())(b)
	slab := r.Slab()
	pixels := make([]byte, slab*a.RowBytes())
	b.SetBytes(int64(a.Bytes()))
	for b.Loop() {
		for from := 0; from < rows; from += slab {
			must.OK(b, r.ReadRows(pixels[:(min(from+slab, rows)-from)*a.RowBytes()], from, min(from+slab, rows)))
		}
	}
}
