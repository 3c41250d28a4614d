package hdf5

import (
	"errors"
	"fmt"
	"math/bits"
)

// fractalHeap stores objects of different sizes, such as the links of a large group. The objects are in blocks. A table
// lists the blocks in rows, whose block sizes double from row to row.
type fractalHeap struct {
	file        *File
	idSize      int    // size of an object's ID in bytes
	offsetWidth int    // width of an offset in bytes
	lengthWidth int    // width of a length in bytes
	width       int    // blocks per row
	firstBlock  uint64 // size of a block in the first row, in bytes
	directRows  int    // rows of blocks with objects; blocks of later rows have tables
	root        uint64
	rows        int // rows of the root table; 0: the root is a block with objects
	maxBlock    uint64
}

func (h *File) fractalHeap(addr uint64) (*fractalHeap, error) {
	b, err := h.readChecked(addr, 142, "FRHP")
	if err != nil {
		return nil, err
	}
	if le.Uint16(b[7:]) != 0 {
		return nil, errors.New("a group with packed links is not read")
	}
	f := &fractalHeap{
		file: h, idSize: int(le.Uint16(b[5:])), width: int(le.Uint16(b[110:])), firstBlock: le.Uint64(b[112:]),
		maxBlock: le.Uint64(b[120:]),
		root:     le.Uint64(b[132:]), rows: int(le.Uint16(b[140:])),
	}
	if f.width < 1 || bits.OnesCount64(f.firstBlock) != 1 || bits.OnesCount64(f.maxBlock) != 1 ||
		f.firstBlock > f.maxBlock || f.maxBlock > 1<<40 || f.rows > 64 {
		return nil, fmt.Errorf("the heap at %d has odd sizes: the file is damaged", addr)
	}
	f.offsetWidth = (int(le.Uint16(b[128:])) + 7) / 8
	f.lengthWidth = min((bits.Len64(f.maxBlock)+6)/8, bytesFor(max(1, uint64(le.Uint32(b[10:])))))
	f.directRows = bits.Len64(f.maxBlock) - bits.Len64(f.firstBlock) + 2
	return f, nil
}

func (f *fractalHeap) object(id []byte) ([]byte, error) {
	r := &cursor{b: id}
	if kind := r.uint(1) >> 4 & 3; kind != 0 {
		return nil, errors.New("a link with a very long name is not read")
	}
	offset, length := r.uint(f.offsetWidth), r.int(f.lengthWidth)
	if r.err != nil {
		return nil, r.err
	}
	addr, rows := f.root, f.rows
	for rows > 0 {
		var err error
		if addr, offset, rows, err = f.child(addr, offset, rows); err != nil {
			return nil, err
		}
	}
	return f.file.readAt(addr+offset, length)
}

// child returns the block at an offset of a table: its address, the offset in the block, and its number of rows if it
// is a table.
func (f *fractalHeap) child(addr, offset uint64, rows int) (uint64, uint64, int, error) {
	b, err := f.file.readChecked(addr, 13+f.offsetWidth+8*f.width*rows, "FHIB")
	if err != nil {
		return 0, 0, 0, err
	}
	row, size, rowStart := 0, f.firstBlock, uint64(0) // blocks of the first two rows have equal sizes
	for width := uint64(f.width); row < rows && offset-rowStart >= size*width; row++ {
		rowStart += size * width
		if row > 0 {
			size *= 2
		}
	}
	if row >= rows {
		return 0, 0, 0, errors.New("a link is outside its heap: the file is damaged")
	}
	column := (offset - rowStart) / size
	childAddr := le.Uint64(b[13+f.offsetWidth+8*(row*f.width+int(column)):])
	childRows := 0
	if row >= f.directRows {
		childRows = bits.Len64(size) - bits.Len64(f.firstBlock*uint64(f.width)) + 1
	}
	return childAddr, offset - rowStart - column*size, childRows, nil
}
