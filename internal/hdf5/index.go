package hdf5

import (
	"errors"
	"fmt"
	"slices"
)

// chunk describes the location of a chunk.
type chunk struct {
	addr uint64
	size int // size in the file, in bytes
	mask uint32
}

type index struct {
	*Array
	grid   []int   // number of chunks in every dimension
	chunks []chunk // in row-major order of the grid
	nodes  int     // nodes of a tree read so far
	order  []int   // dimensions in the order in which an array index counts chunks
	sizes  []int   // number of chunks along each of these dimensions
}

// newIndex reads the locations of all chunks.
func newIndex(a *Array) (*index, error) {
	x := &index{Array: a, grid: make([]int, len(a.Shape))}
	n := 1
	for i, s := range a.Shape {
		x.grid[i] = (s-1)/a.Chunk[i] + 1
		if s == 0 {
			x.grid[i] = 0
		}
	}
	// A stored chunk takes at least 8 bytes of the file. Some chunks may not be stored.
	limit := int(min(1<<24, a.file.size/8+1<<20))
	for _, g := range x.grid {
		if g > 0 && n > limit/g {
			return nil, fmt.Errorf("a grid of %v chunks; want at most %d in a file of %d bytes", x.grid, limit, a.file.size)
		}
		n *= g
	}
	if err := x.setOrder(limit); err != nil {
		return nil, err
	}
	x.chunks = make([]chunk, n)
	for i := range x.chunks {
		x.chunks[i].addr = undefined
	}
	if a.layout.addr == undefined || n == 0 {
		return x, nil
	}
	switch a.layout.index {
	case btree1Index:
		return x, x.readTree1(a.layout.addr, -1)
	case singleIndex:
		x.chunks[0] = a.layout.single
	case implicitIndex:
		for i := range x.indexSize() {
			if position := x.chunkPosition(i); position >= 0 {
				x.chunks[position] = chunk{a.layout.addr + uint64(i*a.chunkBytes()), a.chunkBytes(), 0}
			}
		}
	case fixedIndex:
		return x, x.fixedArray()
	case extensibleIndex:
		return x, x.extensibleArray()
	case btree2Index:
		return x, x.readTree2()
	}
	return x, nil
}

// setOrder determines how array indices number the chunks: by the maximum shape, with an unlimited dimension first.
func (x *index) setOrder(maxChunks int) error {
	for i := range x.grid {
		if x.Array.maxSizes != nil && x.Array.maxSizes[i] == undefined {
			x.order = append(x.order, i)
		}
	}
	if x.layout.index == extensibleIndex && len(x.order) != 1 {
		return fmt.Errorf("an index for one dimension that grows, and %d that do: the file is damaged", len(x.order))
	}
	if x.layout.index != extensibleIndex {
		x.order = nil
	}
	for i := range x.grid {
		if !slices.Contains(x.order, i) {
			x.order = append(x.order, i)
		}
	}
	n := 1
	for _, i := range x.order {
		g := x.grid[i]
		inTree := x.layout.index == btree1Index || x.layout.index == btree2Index
		if !inTree && x.Array.maxSizes != nil && x.Array.maxSizes[i] != undefined {
			maxSize := x.Array.maxSizes[i]
			if maxSize < uint64(x.Shape[i]) || maxSize>>62 != 0 {
				return fmt.Errorf("dimension %d is %d and may be %d at most: the file is damaged", i, x.Shape[i], maxSize)
			}
			g = (int(maxSize) + x.Chunk[i] - 1) / x.Chunk[i]
		}
		if g > 0 && n > maxChunks/g {
			return fmt.Errorf("an index of %d x %d chunks or more; want at most %d in a file of %d bytes",
				n, g, maxChunks, x.file.size)
		}
		n *= g
		x.sizes = append(x.sizes, g)
	}
	return nil
}

// indexSize returns the number of chunks that an array index counts.
func (x *index) indexSize() int {
	n := 1
	for _, s := range x.sizes {
		n *= s
	}
	return n
}

// chunkPosition returns the position in chunks of entry i of an array index, or -1 for a chunk outside the array.
func (x *index) chunkPosition(i int) int {
	var coordinates [maxRank]int
	for k := len(x.order) - 1; k >= 0; k-- {
		coordinates[x.order[k]] = i % x.sizes[k]
		i /= x.sizes[k]
	}
	n := 0
	for i, g := range x.grid {
		if coordinates[i] >= g {
			return -1
		}
		n = n*g + coordinates[i]
	}
	return n
}

func (x *index) set(coordinates []int, c chunk) error {
	n := 0
	for i, g := range x.grid {
		if coordinates[i] < 0 || coordinates[i] >= g {
			return fmt.Errorf("a chunk at %v of a grid of %v: the file is damaged", coordinates, x.grid)
		}
		n = n*g + coordinates[i]
	}
	x.chunks[n] = c
	return nil
}

// countNode counts a node. Every node except the root has at least one chunk or node.
func (x *index) countNode() error {
	if x.nodes++; int64(x.nodes) > x.file.size/24+1 {
		return errors.New("the tree of the chunks has no end: the file is damaged")
	}
	return nil
}

// readTree1 walks a version 1 B-tree. The level of a child is its parent's level minus 1.
func (x *index) readTree1(addr uint64, level int) error {
	if err := x.countNode(); err != nil {
		return err
	}
	b, err := x.file.readAt(addr, 24)
	if err != nil {
		return err
	}
	if string(b[:4]) != "TREE" || b[4] != 1 || level >= 0 && int(b[5]) != level {
		return fmt.Errorf("there is no node of a tree of chunks at %d: the file is damaged", addr)
	}
	level = int(b[5])
	n, rank := int(le.Uint16(b[6:])), len(x.grid)
	key := 8 + 8*(rank+1)
	if b, err = x.file.readAt(addr+24, n*(key+8)); err != nil {
		return err
	}
	coordinates := make([]int, rank)
	for ; n > 0; n, b = n-1, b[key+8:] {
		child := le.Uint64(b[key:])
		if level > 0 {
			if err := x.readTree1(child, level-1); err != nil {
				return err
			}
			continue
		}
		for i, c := range x.Chunk {
			o := le.Uint64(b[8+8*i:])
			if o%uint64(c) != 0 || o>>62 != 0 {
				return fmt.Errorf("a chunk begins at %d of dimension %d; want a multiple of %d", o, i, c)
			}
			coordinates[i] = int(o) / c
		}
		if err := x.set(coordinates, chunk{child, int(le.Uint32(b)), le.Uint32(b[4:])}); err != nil {
			return err
		}
	}
	return nil
}

// entry decodes an entry of an array index: the address and, for filtered chunks, size and filter mask.
func (x *index) entry(b []byte) chunk {
	c := chunk{le.Uint64(b), x.chunkBytes(), 0}
	if len(b) > 8 {
		r := &cursor{b: b[8:]}
		c.size = int(r.uint(len(b) - 12))
		c.mask = uint32(r.uint(4))
	}
	return c
}

// readEntries reads n entries. The first entry has index first in the array.
func (x *index) readEntries(b []byte, width, first, n int) {
	for i := range n {
		if position := x.chunkPosition(first + i); position >= 0 {
			x.chunks[position] = x.entry(b[i*width : (i+1)*width])
		}
	}
}

func (x *index) arrayHeader(magic string, n int) (b []byte, width int, err error) {
	if b, err = x.file.readChecked(x.layout.addr, n, magic); err != nil {
		return nil, 0, err
	}
	width = int(b[6])
	if least := 13; len(x.filters) > 0 && (width < least || width > 20) || len(x.filters) == 0 && width != 8 {
		return nil, 0, fmt.Errorf("an index of chunks with entries of %d bytes: the file is damaged", width)
	}
	return b, width, nil
}

func (x *index) fixedArray() error {
	b, width, err := x.arrayHeader("FAHD", 24)
	if err != nil {
		return err
	}
	pageBits, n, addr := int(b[7]), le.Uint64(b[8:]), le.Uint64(b[16:])
	if n != uint64(x.indexSize()) || pageBits > 31 {
		return fmt.Errorf("an index of %d chunks; want %d", n, x.indexSize())
	}
	if addr == undefined {
		return nil
	}
	count, page := int(n), 1<<pageBits
	if count <= page {
		if b, err = x.file.readChecked(addr, 14+count*width, "FADB"); err == nil {
			x.readEntries(b[14:], width, 0, count)
		}
		return err
	}
	pages := (count-1)/page + 1
	if b, err = x.file.readChecked(addr, 14+(pages+7)/8, "FADB"); err != nil {
		return err
	}
	return x.readPages(addr+uint64(len(b))+4, width, page, count, 0, count, bitmap{bits: b[14:]})
}

// readPages reads n of the size entries in pages, without the pages that were never written. The first entry has index
// first in the array.
func (x *index) readPages(addr uint64, width, page, size, first, n int, written bitmap) error {
	for i := 0; i < n; i, addr = i+page, addr+uint64(page*width+4) {
		if !written.isSet(i / page) {
			continue
		}
		b, err := x.file.readChecked(addr, min(page, size-i)*width, "")
		if err != nil {
			return err
		}
		x.readEntries(b, width, first+i, min(page, n-i))
	}
	return nil
}
