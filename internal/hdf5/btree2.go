package hdf5

import (
	"fmt"
	"math/bits"
)

type tree2 struct {
	file          *File
	nodeSize      int
	recordSize    int   // size of a record in bytes
	countWidth    int   // width of a node's record count in bytes
	subtreeWidths []int // width of the record count below a node in bytes, by level
	nodes         int
	visit         func(record []byte) error
}

// Kinds of trees, by the type of their records.
const (
	linkNames      = 5
	chunksPlain    = 10
	chunksFiltered = 11
)

// readTree2 reads the index of an array with several unlimited dimensions.
func (x *index) readTree2() error {
	rank := len(x.grid)
	position := make([]int, rank)
	return x.file.walkTree2(x.layout.addr, func(kind, size int) (func([]byte) error, error) {
		width := size - 8 - 4 - 8*rank // width of a chunk size in bytes
		if kind != chunksPlain && kind != chunksFiltered || kind == chunksPlain && size != 8+8*rank ||
			kind == chunksFiltered && (width < 1 || width > 8) {
			return nil, fmt.Errorf("the tree of the chunks has records of type %d and %d bytes: the file is damaged", kind, size)
		}
		return func(b []byte) error {
			r := &cursor{b: b}
			c := chunk{addr: r.uint(8), size: x.chunkBytes()}
			if kind == chunksFiltered {
				c.size, c.mask = int(r.uint(width)), uint32(r.uint(4))
			}
			for i := range position {
				position[i] = int(r.uint(8))
			}
			return x.set(position, c)
		}, nil
	})
}

// walkTree2 calls a function for every record of a tree. open returns the function for a type and size of records.
func (h *File) walkTree2(addr uint64, open func(kind, size int) (func([]byte) error, error)) error {
	b, err := h.readChecked(addr, 34, "BTHD")
	if err != nil {
		return err
	}
	t := &tree2{file: h, nodeSize: int(le.Uint32(b[6:])), recordSize: int(le.Uint16(b[10:]))}
	depth, root, n := int(le.Uint16(b[12:])), le.Uint64(b[16:]), int(le.Uint16(b[24:]))
	if t.visit, err = open(int(b[5]), t.recordSize); err != nil {
		return err
	}
	if t.recordSize < 1 || t.nodeSize < 10+t.recordSize || depth > 20 {
		return fmt.Errorf("the tree at %d has a depth of %d and nodes of %d bytes: the file is damaged",
			addr, depth, t.nodeSize)
	}
	if root == undefined {
		return nil
	}
	// The width of a count in a node is the width of the largest possible count.
	maxRecords := uint64((t.nodeSize - 10) / t.recordSize)
	t.countWidth = bytesFor(maxRecords)
	t.subtreeWidths = []int{0}
	maxSubtree := maxRecords
	for level := 1; level <= depth; level++ {
		pointerBytes := t.pointerSize(level)
		inside := uint64(max(0, (t.nodeSize-10-pointerBytes)/(t.recordSize+pointerBytes)))
		maxSubtree = min((inside+1)*maxSubtree+inside, 1<<40)
		t.subtreeWidths = append(t.subtreeWidths, bytesFor(maxSubtree))
	}
	return t.walk(root, n, depth)
}

// bytesFor returns the number of bytes for numbers up to n.
func bytesFor(n uint64) int { return (bits.Len64(n)-1)/8 + 1 }

// pointerSize returns the size of a child pointer in a node of the given level, in bytes.
func (t *tree2) pointerSize(level int) int { return 8 + t.countWidth + t.subtreeWidths[level-1] }

func (t *tree2) walk(addr uint64, n, level int) error {
	if t.nodes++; int64(t.nodes) > t.file.size/10+1 {
		return fmt.Errorf("a tree has no end: the file is damaged")
	}
	magic, size, pointerBytes := "BTLF", 6+n*t.recordSize, 0
	if level > 0 {
		pointerBytes = t.pointerSize(level)
		magic, size = "BTIN", size+(n+1)*pointerBytes
	}
	b, err := t.file.readChecked(addr, size, magic)
	if err != nil {
		return err
	}
	b = b[6:]
	for i := range n {
		if err := t.visit(b[i*t.recordSize : (i+1)*t.recordSize]); err != nil {
			return err
		}
	}
	if level == 0 {
		return nil
	}
	r := &cursor{b: b[n*t.recordSize:]}
	for range n + 1 {
		child, count := r.uint(8), int(r.uint(t.countWidth))
		r.skip(t.subtreeWidths[level-1])
		if r.err != nil {
			return r.err
		}
		if err := t.walk(child, count, level-1); err != nil {
			return err
		}
	}
	return nil
}
