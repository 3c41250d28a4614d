package hdf5

import (
	"cmp"
	"errors"
	"fmt"
)

func (a *Array) readLayout(r *cursor) error {
	version := r.uint(1)
	switch version {
	case 1, 2:
		return a.readOldLayout(r)
	case 3, 4:
	default:
		return fmt.Errorf("a data layout of version %d; want 1 to 4", version)
	}
	p := &a.layout
	switch p.class = r.int(1); p.class {
	case compactLayout:
		p.compact = r.bytes(r.int(2))
		return nil
	case contiguousLayout:
		p.addr = r.uint(8)
		return nil
	case chunkedLayout:
	case virtualLayout:
		return errors.New("is put together from other arrays (a virtual data set), which is not read")
	default:
		return fmt.Errorf("a data layout of class %d; want 0 to 2", p.class)
	}
	if version == 3 {
		rank := r.int(1)
		p.addr = r.uint(8)
		return a.setChunk(r, rank, 4)
	}
	flags, rank, width := r.uint(1), r.int(1), r.int(1)
	p.wholeEdge = flags&1 != 0
	if err := a.setChunk(r, rank, width); err != nil {
		return err
	}
	switch p.index = r.int(1); p.index {
	case singleIndex:
		if flags&2 != 0 {
			p.single.size, p.single.mask = int(r.uint(8)), uint32(r.uint(4)) // undefined if the chunk was never written
		}
	case implicitIndex:
	case fixedIndex:
		r.skip(1) // the header of the index repeats it
	case extensibleIndex:
		r.skip(5) // the header of the index repeats them
	case btree2Index:
		r.skip(6)
	default:
		return fmt.Errorf("an index of chunks of type %d; want 1 to 5", p.index)
	}
	p.addr = r.uint(8)
	p.single.addr = p.addr
	return nil
}

// readOldLayout reads a layout in the format before HDF5 1.6.
func (a *Array) readOldLayout(r *cursor) error {
	p := &a.layout
	rank := r.int(1)
	p.class = r.int(1)
	r.skip(5)
	if p.class != compactLayout {
		p.addr = r.uint(8)
	}
	switch p.class {
	case compactLayout:
		r.skip(4 * rank)
		p.compact = r.bytes(r.int(4))
	case contiguousLayout: // the shape follows, which is also in the dataspace
	case chunkedLayout:
		return a.setChunk(r, rank, 4)
	default:
		return fmt.Errorf("a data layout of class %d; want 0 to 2", p.class)
	}
	return nil
}

// setChunk reads the shape of a chunk. The last dimension is the size of an element.
func (a *Array) setChunk(r *cursor, rank, width int) error {
	if rank < 2 || width < 1 || width > 8 {
		return errors.New("chunks without dimensions: the file is damaged")
	}
	shape, total := make([]int, 0, rank), 1
	for range rank {
		c := r.int(width)
		if r.err != nil {
			return r.err
		}
		if c < 1 || c > maxChunk/total {
			return fmt.Errorf("chunks of shape %v; want at most %d bytes", append(shape, c), maxChunk)
		}
		total *= c
		shape = append(shape, c)
	}
	if elementSize := shape[rank-1]; elementSize != a.Type.Size {
		return fmt.Errorf("chunks with elements of %d bytes; want %d", elementSize, a.Type.Size)
	}
	a.Chunk = shape[:rank-1]
	return nil
}

// filter is a step of a chunk's filter pipeline.
type filter struct {
	id     int
	values []uint32
}

// Supported filters.
const (
	deflateFilter  = 1
	shuffleFilter  = 2
	fletcherFilter = 3
	lzfFilter      = 32000
)

// otherFilters has the names of filters that the package does not support.
var otherFilters = map[int]string{4: "szip", 5: "nbit", 6: "scaleoffset", 307: "bzip2", 32001: "blosc", 32004: "lz4",
	32008: "bitshuffle", 32013: "zfp", 32015: "zstd", 32026: "blosc2"}

func (a *Array) readFilters(r *cursor) error {
	version, n := r.uint(1), r.int(1)
	switch version {
	case 1:
		r.skip(6)
	case 2:
	default:
		return fmt.Errorf("filters of version %d; want 1 or 2", version)
	}
	for range n {
		f := filter{id: r.int(2)}
		length := 0
		if version == 1 || f.id >= 256 {
			length = r.int(2)
		}
		r.skip(2)
		values := r.int(2)
		name := r.bytes(length)
		if version == 1 {
			r.skip(-length & 7)
		}
		for range values {
			f.values = append(f.values, uint32(r.uint(4)))
		}
		if version == 1 && values%2 == 1 {
			r.skip(4)
		}
		if r.err != nil {
			return r.err
		}
		switch f.id {
		case deflateFilter, shuffleFilter, fletcherFilter, lzfFilter:
		default:
			label := cmp.Or(otherFilters[f.id], string(name))
			return fmt.Errorf("is packed with filter %d (%s), which is not read; want gzip (deflate), lzf, shuffle or fletcher32", f.id, label)
		}
		a.filters = append(a.filters, f)
	}
	return nil
}
