package hdf5

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/unravel-ml/unravel/internal/dtype"
	"github.com/unravel-ml/unravel/internal/memory"
	"github.com/unravel-ml/unravel/internal/parallel"
	"github.com/unravel-ml/unravel/internal/strided"
)

// Reader reads rows of an array on all processors. It is not safe for concurrent use.
type Reader struct {
	*index
	workers     []worker
	groupChunks int // number of chunks that a worker unpacks together
	dst         []byte
	from        int
	to          int
	errs        []error
	readGroup   func(worker, i int) // loop body of ReadRows
	firstGroup  int                 // number of the call's first group
}

const (
	parallelBytes = 32 << 20  // size from which all processors are worth starting, in bytes
	maxSlab       = 256 << 20 // maximum size of a slab in bytes, unless a row is larger
	maxGroup      = 32 << 20  // maximum size of a group of chunks in bytes
	copiedRows    = 8         // rows per copy: their cache lines stay in the cache, even for thin chunks
)

// NewReader reads the locations of the array's chunks.
func (a *Array) NewReader() (*Reader, error) {
	r := &Reader{index: &index{Array: a}, groupChunks: 1}
	if a.layout.class != chunkedLayout {
		return r, nil
	}
	x, err := newIndex(a)
	if err != nil {
		return nil, fmt.Errorf("%s: %s: %w", a.file.path, a.describe(), err)
	}
	r.index = x
	for i := len(x.grid) - 1; i > 0 && r.groupChunks*x.grid[i] <= maxGroup/a.chunkBytes(); i-- {
		r.groupChunks *= x.grid[i]
	}
	r.workers, r.errs = make([]worker, parallel.Threads()), make([]error, parallel.Threads())
	if err := memory.Check(fmt.Sprintf("%s: %s: unpacking chunks of shape %v", a.file.path, a.describe(), a.Chunk),
		memory.Product(len(r.workers), r.groupChunks, a.chunkBytes())); err != nil {
		return nil, err
	}
	r.readGroup = func(worker, i int) {
		if r.errs[worker] == nil {
			r.errs[worker] = r.workers[worker].readGroup(r, r.firstGroup+i)
		}
	}
	return r, nil
}

// Slab returns the best number of rows to read together, starting at a multiple of this number. It is the number of
// rows of whole chunks, up to 256 MiB.
func (r *Reader) Slab() int {
	row, rows := max(1, r.RowBytes()), max(1, r.Rows())
	if r.Chunk == nil {
		return min(rows, max(1, parallelBytes/row))
	}
	slab := r.Chunk[0] * max(1, parallelBytes/row/r.Chunk[0])
	return min(rows, slab, max(1, maxSlab/row))
}

// ReadRows reads rows from <= i < to into dst: little-endian elements in C order.
func (r *Reader) ReadRows(dst []byte, from, to int) error {
	row := r.RowBytes()
	if from < 0 || to > r.Rows() || from > to || len(dst) != (to-from)*row {
		return fmt.Errorf("%s: %s: rows %d to %d into %d bytes; there are %d rows of %d bytes",
			r.file.path, r.describe(), from, to, len(dst), r.Rows(), row)
	}
	if len(dst) == 0 {
		return nil
	}
	var err error
	switch a := r.Array; {
	case a.layout.class == compactLayout:
		copy(dst, a.layout.compact[from*row:to*row])
	case a.layout.class == contiguousLayout && a.layout.addr == undefined:
		fillWith(dst, a.fill)
	case a.layout.class == contiguousLayout:
		err = a.file.readInto(dst, a.layout.addr+uint64(from*row))
	default:
		err = r.readChunks(dst, from, to)
	}
	if err != nil {
		return fmt.Errorf("%s: %s: rows %d to %d: %w", r.file.path, r.describe(), from, to, err)
	}
	if r.bigEndian {
		dtype.Swap(dst, r.Type.Size)
	}
	return nil
}

// readChunks unpacks the chunks of the rows, in groups of neighbouring chunks.
func (r *Reader) readChunks(dst []byte, from, to int) error {
	band := len(r.chunks) / r.grid[0] / r.groupChunks // groups with the same rows
	r.firstGroup = from / r.Chunk[0] * band
	r.dst, r.from, r.to = dst, from, to
	parallel.ForWorkers(len(r.workers), ((to-1)/r.Chunk[0]+1)*band-r.firstGroup, r.readGroup)
	r.dst = nil
	err := cmp.Or(r.errs...)
	clear(r.errs)
	return err
}

// readGroup unpacks a group of chunks and copies them into the rows of a call.
func (w *worker) readGroup(r *Reader, group int) error {
	size, n, first := r.chunkBytes(), r.groupChunks, group*r.groupChunks
	for i := range n {
		if err := r.checkRatio(first + i); err != nil {
			return fmt.Errorf("chunk %d: %w", first+i, err)
		}
	}
	if len(w.chunks) < n*size {
		w.chunks = make([]byte, n*size)
	}
	for i := range n {
		if err := w.unpack(r, first+i, w.chunks[i*size:(i+1)*size]); err != nil {
			return fmt.Errorf("chunk %d: %w", first+i, err)
		}
	}
	rank := len(r.Shape)
	var strides, chunkStrides, origin [maxRank]int // strides in rows and in a chunk, in bytes, and the first element
	s, c := r.Type.Size, r.Type.Size
	for i := rank - 1; i >= 0; i-- {
		strides[i], chunkStrides[i] = s, c
		s, c = s*r.Shape[i], c*r.Chunk[i]
	}
	r.origin(first, &origin)
	low, high := max(origin[0], r.from), min(origin[0]+r.Chunk[0], r.to)
	for a := low; a < high; a += copiedRows {
		for i := range n {
			r.origin(first+i, &origin)
			var count [maxRank]int
			count[0] = min(copiedRows, high-a)
			offset := (a - r.from) * strides[0]
			for j := 1; j < rank; j++ {
				count[j] = min(r.Chunk[j], r.Shape[j]-origin[j])
				offset += origin[j] * strides[j]
			}
			strided.Copy(r.dst[offset:], w.chunks[i*size+(a-origin[0])*chunkStrides[0]:(i+1)*size], count[:rank], strides[:rank],
				chunkStrides[:rank], r.Type.Size)
		}
	}
	return nil
}

// checkRatio returns an error for a chunk whose size in the file is too small for its content.
func (r *Reader) checkRatio(i int) error {
	c, size := r.chunks[i], r.chunkBytes()
	if c.addr != undefined && size > maxDeflateRatio*c.size+1<<10 {
		return fmt.Errorf("%d bytes in the file; want more for %d bytes of data: the file is damaged", c.size, size)
	}
	return nil
}

// origin sets the index of a chunk's first element.
func (x *index) origin(i int, origin *[maxRank]int) {
	for j, g := range slices.Backward(x.grid) {
		origin[j] = i % g * x.Chunk[j]
		i /= g
	}
}

// isEdge reports whether a chunk extends beyond the array.
func (x *index) isEdge(i int) bool {
	for j, g := range slices.Backward(x.grid) {
		if (i%g+1)*x.Chunk[j] > x.Shape[j] {
			return true
		}
		i /= g
	}
	return false
}
