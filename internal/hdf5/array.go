package hdf5

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/unravel-ml/unravel/internal/dims"
	"github.com/unravel-ml/unravel/internal/dtype"
)

// Array is an array in a file. It is safe for concurrent use.
type Array struct {
	Shape []int // empty for a scalar
	Type  dtype.Type
	Chunk []int // shape of a chunk; nil: not chunked

	file      *File
	name      string
	bigEndian bool
	fill      []byte // the fill value in the file's format; nil: zeros
	filters   []filter
	layout    dataLayout
	maxSizes  []uint64 // maximum size of every dimension, undefined if unlimited; nil: fixed sizes
}

type dataLayout struct {
	class     int
	addr      uint64 // address of the data or of the chunk index
	compact   []byte
	index     int   // kind of the chunk index
	single    chunk // the only chunk, for an index of a single chunk
	wholeEdge bool  // chunks at the edge of the array are not filtered
}

// maxRank is the maximum number of dimensions in the format.
const maxRank = 32

// Layout classes.
const (
	compactLayout    = 0
	contiguousLayout = 1
	chunkedLayout    = 2
	virtualLayout    = 3
)

// Kinds of chunk indices. The first kind has no number in files.
const (
	btree1Index     = 0
	singleIndex     = 1
	implicitIndex   = 2
	fixedIndex      = 3
	extensibleIndex = 4
	btree2Index     = 5
)

// maxChunk limits the size of a chunk in bytes; the limit of the format is four times as large.
const maxChunk = 1 << 30

func (h *File) Array(path string) (*Array, error) {
	addr, err := h.find(h.root, path, 0)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", h.path, err)
	}
	a := &Array{file: h, name: path}
	if err := a.read(addr); err != nil {
		return nil, fmt.Errorf("%s: %s: %w", h.path, a.describe(), err)
	}
	return a, nil
}

// describe describes the array in errors: its name, and its shape and type if they are known.
func (a *Array) describe() string {
	switch {
	case a.Type.Name != "":
		return fmt.Sprintf("%s (%v, %s)", a.name, a.Shape, a.Type)
	case a.Shape != nil:
		return fmt.Sprintf("%s (%v)", a.name, a.Shape)
	}
	return a.name
}

// Rows returns the size of the first dimension, or 1 for a scalar.
func (a *Array) Rows() int {
	if len(a.Shape) == 0 {
		return 1
	}
	return a.Shape[0]
}

func (a *Array) RowBytes() int { return a.bytesAlong(min(1, len(a.Shape))) }

func (a *Array) Bytes() int { return a.bytesAlong(0) }

// bytesAlong returns the size of all elements that share their first i indices, in bytes.
func (a *Array) bytesAlong(i int) int {
	n := a.Type.Size
	for _, s := range a.Shape[i:] {
		n *= s
	}
	return n
}

func (a *Array) chunkBytes() int {
	n := a.Type.Size
	for _, c := range a.Chunk {
		n *= c
	}
	return n
}

func (a *Array) read(addr uint64) error {
	messages, err := a.file.header(addr)
	if err != nil {
		return err
	}
	readers := map[uint16]func(*cursor) error{
		dataspaceMessage: a.readSpace, datatypeMessage: a.readType, layoutMessage: a.readLayout, filterMessage: a.readFilters,
		oldFillMessage: a.readOldFill, fillMessage: a.readFill, externalMessage: refuseExternal,
		attributeMessage: refuseMATLAB,
	}
	// The type is needed to read the other messages, and errors contain the shape and type of the array.
	slices.SortStableFunc(messages, func(x, y message) int { return int(x.kind) - int(y.kind) })
	seen := map[uint16]bool{}
	for _, m := range messages {
		read, ok := readers[m.kind]
		if !ok || m.kind == attributeMessage && m.shared {
			continue
		}
		seen[m.kind] = true
		data, err := a.file.resolveShared(m)
		if err != nil {
			return err
		}
		r := &cursor{b: data}
		if err := errors.Join(read(r), r.err); err != nil {
			return err
		}
	}
	if !seen[dataspaceMessage] || !seen[datatypeMessage] || !seen[layoutMessage] {
		return errors.New("is a group, not an array")
	}
	return a.checkConsistency()
}

// refuseMATLAB returns an error for arrays of MATLAB 7.3 whose attributes say that they hold no numbers: texts, which
// are stored as integers, and empty arrays, which are stored as their shapes.
func refuseMATLAB(r *cursor) error {
	version := r.uint(1)
	r.skip(1)
	sizes := [3]int{r.int(2), r.int(2), r.int(2)} // of the name, the type and the shape
	if version == 3 {
		r.skip(1)
	}
	var name []byte
	for i, n := range sizes {
		if version == 1 {
			n = (n + 7) &^ 7
		}
		if b := r.bytes(n); i == 0 {
			name = bytes.TrimRight(b, "\x00")
		}
	}
	switch value := string(bytes.TrimRight(r.b, "\x00")); {
	case string(name) == "MATLAB_class" && value == "char":
		return errors.New("is text; want numbers")
	case string(name) == "MATLAB_empty" && value != "":
		return errors.New("is empty; want numbers")
	}
	r.err = nil // other attributes do not matter
	return nil
}

// checkConsistency checks that the messages are consistent with each other and with the size of the file.
func (a *Array) checkConsistency() error {
	if _, err := dims.Count(a.Shape, a.Type.Size); err != nil {
		return err
	}
	n, size := a.Bytes(), a.file.size
	switch a.layout.class {
	case compactLayout:
		if len(a.layout.compact) != n {
			return fmt.Errorf("%d bytes of data; want %d", len(a.layout.compact), n)
		}
	case contiguousLayout:
		if a.layout.addr != undefined && !a.file.contains(a.layout.addr, int64(n)) {
			return a.file.cutOffError(a.layout.addr, n)
		}
	case chunkedLayout:
		if len(a.Chunk) != len(a.Shape) || len(a.Shape) == 0 {
			return fmt.Errorf("has chunks of shape %v; want as many dimensions as the array", a.Chunk)
		}
		if c := a.chunkBytes(); a.layout.index == singleIndex && len(a.filters) == 0 {
			a.layout.single.size = c
		}
	}
	if float64(n) > maxDeflateRatio*float64(size)+1<<26 {
		return fmt.Errorf("takes %d bytes, more than a file of %d bytes can hold: it is damaged, or most of it was never written", n, size)
	}
	return nil
}

// maxDeflateRatio is the maximum compression ratio of deflate.
const maxDeflateRatio = 1040

func (a *Array) readSpace(r *cursor) error {
	version, rank, flags := r.uint(1), r.int(1), r.uint(1)
	switch version {
	case 1:
		r.skip(5)
	case 2:
		if r.uint(1) == 2 {
			return errors.New("is empty: it has no shape")
		}
	default:
		return fmt.Errorf("a dataspace of version %d; want 1 or 2", version)
	}
	if rank > maxRank {
		return fmt.Errorf("%d dimensions; want at most %d", rank, maxRank)
	}
	a.Shape = []int{}
	for range rank {
		n := r.uint(8)
		if n > math.MaxInt64/2 {
			return fmt.Errorf("a dimension of %d", n)
		}
		a.Shape = append(a.Shape, int(n))
	}
	if flags&1 != 0 {
		for range rank {
			a.maxSizes = append(a.maxSizes, r.uint(8))
		}
	}
	return nil
}

func (a *Array) readType(r *cursor) (err error) {
	a.Type, a.bigEndian, err = readType(r)
	return err
}

func refuseExternal(*cursor) error {
	return errors.New("has its data in other files, which are not read")
}

// readOldFill and readFill read the fill value.
func (a *Array) readOldFill(r *cursor) error { return a.setFill(r, r.int(4)) }

func (a *Array) readFill(r *cursor) error {
	version := r.uint(1)
	defined := false
	switch version {
	case 1, 2:
		r.skip(2)
		defined = r.uint(1) != 0
		defined = defined || version == 1
	case 3:
		defined = r.uint(1)&0x20 != 0
	default:
		return fmt.Errorf("a fill value of version %d; want 1 to 3", version)
	}
	if !defined {
		return nil
	}
	return a.setFill(r, r.int(4))
}

func (a *Array) setFill(r *cursor, size int) error {
	if r.err != nil || size == 0 {
		return nil
	}
	if size != a.Type.Size {
		return fmt.Errorf("a fill value of %d bytes; want %d", size, a.Type.Size)
	}
	a.fill = nil
	if b := r.bytes(size); slices.ContainsFunc(b, func(x byte) bool { return x != 0 }) {
		a.fill = slices.Clone(b)
	}
	return nil
}
