package hdf5

import (
	"errors"
	"fmt"
	"math/bits"
)

// fractalHeap stores objects of different sizes, such as the links of a large group. The objects are in blocks. A table
// lists the blocks in rows, whose block sizes double from row to row.
type fractalHeap struct {
	file    *File
	id      int    // size of an object's ID in bytes
	offset  int    // width of an offset in bytes
	length  int    // width of a length in bytes
	width   int    // blocks per row
	start   uint64 // size of a block in the first row, in bytes
	direct  int    // rows of blocks with objects; blocks of later rows have tables
	root    uint64
	rows    int // rows of the root table; 0: the root is a block with objects
	largest uint64
}

func (h *File) fractalHeap(addr uint64) (*fractalHeap, error) {
	b, err := h.checked(addr, 142, "FRHP")
	if err != nil {
		return nil, err
	}
	if le.Uint16(b[7:]) != 0 {
		return nil, errors.New("a group with packed links is not read")
	}
	f := &fractalHeap{
		file: h, id: int(le.Uint16(b[5:])), width: int(le.Uint16(b[110:])), start: le.Uint64(b[112:]), largest: le.Uint64(b[120:]),
		root: le.Uint64(b[132:]), rows: int(le.Uint16(b[140:])),
	}
	if f.width < 1 || bits.OnesCount64(f.start) != 1 || bits.OnesCount64(f.largest) != 1 || f.start > f.largest || f.largest > 1<<40 || f.rows > 64 {
		return nil, fmt.Errorf("the heap at %d has odd sizes: the file is damaged", addr)
	}
	f.offset = (int(le.Uint16(b[128:])) + 7) / 8
	f.length = min((bits.Len64(f.largest)+6)/8, numberBytes(max(1, uint64(le.Uint32(b[10:])))))
	f.direct = bits.Len64(f.largest) - bits.Len64(f.start) + 2
	return f, nil
}

func (f *fractalHeap) object(id []byte) ([]byte, error) {
	r := &cursor{b: id}
	if kind := r.uint(1) >> 4 & 3; kind != 0 {
		return nil, errors.New("a link with a very long name is not read")
	}
	offset, length := r.uint(f.offset), r.int(f.length)
	if r.err != nil {
		return nil, r.err
	}
	at, rows := f.root, f.rows
	for rows > 0 {
		var err error
		if at, offset, rows, err = f.child(at, offset, rows); err != nil {
			return nil, err
		}
	}
	return f.file.at(at+offset, length)
}

// child returns the block at an offset of a table: its address, the offset in the block, and its number of rows if it
// is a table.
func (f *fractalHeap) child(at, offset uint64, rows int) (uint64, uint64, int, error) {
	b, err := f.file.checked(at, 13+f.offset+8*f.width*rows, "FHIB")
	if err != nil {
		return 0, 0, 0, err
	}
	row, size, first := 0, f.start, uint64(0) // blocks of the first two rows have equal sizes
	for width := uint64(f.width); row < rows && offset-first >= size*width; row++ {
		first += size * width
		if row > 0 {
			size *= 2
		}
	}
	if row >= rows {
		return 0, 0, 0, errors.New("a link is outside its heap: the file is damaged")
	}
	column := (offset - first) / size
	next := le.Uint64(b[13+f.offset+8*(row*f.width+int(column)):])
	below := 0
	if row >= f.direct {
		below = bits.Len64(size) - bits.Len64(f.start*uint64(f.width)) + 1
	}
	return next, offset - first - column*size, below, nil
}
