package arrays

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/unravel-ml/unravel/internal/dtype"
	"github.com/unravel-ml/unravel/internal/memory"
	"github.com/unravel-ml/unravel/internal/parallel"
	"github.com/unravel-ml/unravel/internal/strided"
)

const (
	usualSlab = 16 << 20  // bytes of rows per read
	mostSlab  = 256 << 20 // the same, if each read scans the whole file
	mostRuns  = 4 << 20   // bytes of runs to scatter together
)

// Rows reads consecutive rows of an array with permuted axes. It is not safe for concurrent use.
type Rows struct {
	a      *Array
	shape  []int // shape of the result
	row    int   // size of a row in bytes
	slab   int
	next   int
	stream Stream // a stream of rows that are contiguous in the file; nil: rows are scattered

	stored  []int // shape in the file
	strides []int // strides of elements in a row in bytes, by axis of the file
	rows    int   // the file's axis for rows
	buffer  []byte
}

// Rows returns a reader of rows. axes has the array's axis for each axis of the result; the first axis counts rows. nil
// keeps all axes in order. If rows of the result are scattered over the file, each call of Read scans the whole file.
func (a *Array) Rows(axes []int) (*Rows, error) {
	shape := a.Shape
	if len(shape) == 0 {
		shape = []int{1}
	}
	rank := len(shape)
	if axes == nil {
		for i := range rank {
			axes = append(axes, i)
		}
	}
	sorted := slices.Sorted(slices.Values(axes))
	for i := range rank {
		if len(axes) != rank || sorted[i] != i {
			return nil, fmt.Errorf("%v: axes %v; want each of 0 to %d", a, axes, rank-1)
		}
	}
	r := &Rows{a: a, stored: slices.Clone(shape), strides: make([]int, rank)}
	place := func(axis int) int { return axis }
	if a.Reversed {
		slices.Reverse(r.stored)
		place = func(axis int) int { return rank - 1 - axis }
	}
	bytes := a.Type.Size
	for _, axis := range slices.Backward(axes) {
		r.row = bytes
		r.strides[place(axis)] = bytes
		bytes *= shape[axis]
	}
	for _, axis := range axes {
		r.shape = append(r.shape, shape[axis])
	}
	r.rows = place(axes[0])
	return r, r.begin()
}

// begin determines how to read rows.
func (r *Rows) begin() (err error) {
	unit := mostSlab
	if r.rows == 0 {
		if r.stream, err = r.a.open(); err != nil {
			return err
		}
		unit = cmp.Or(r.stream.Unit(), usualSlab)
	}
	r.slab = min(max(1, r.shape[0]), max(1, unit/max(1, r.row)))
	return nil
}

// Shape returns the shape with the permuted axes; the first number is the number of rows.
func (r *Rows) Shape() []int { return r.shape }

func (r *Rows) RowBytes() int { return r.row }

// Slab returns the best number of rows per read.
func (r *Rows) Slab() int { return r.slab }

func (r *Rows) Close() error {
	if r.stream == nil {
		return nil
	}
	return r.stream.Close()
}

// Read reads the next rows into dst as little-endian elements in C order.
func (r *Rows) Read(dst []byte) error {
	n := len(dst) / max(1, r.row)
	if n*r.row != len(dst) || n > r.shape[0]-r.next {
		return fmt.Errorf("%v: %d bytes at row %d of %d; want whole rows of %d bytes",
			r.a, len(dst), r.next, r.shape[0], r.row)
	}
	if n == 0 {
		return nil
	}
	var err error
	switch {
	case r.stream == nil:
		err = r.gather(dst, n)
	case r.straight():
		err = r.stream.ReadFull(dst)
	default:
		err = r.permute(dst, n)
	}
	r.next += n
	return err
}

// straight reports whether the file has the rows in the order of the result.
func (r *Rows) straight() bool {
	bytes := r.a.Type.Size
	for i := len(r.stored) - 1; i > 0; i-- {
		if r.stored[i] > 1 && r.strides[i] != bytes {
			return false
		}
		bytes *= r.stored[i]
	}
	return true
}

// permute reads rows that are contiguous in the file, and permutes their elements.
func (r *Rows) permute(dst []byte, n int) error {
	if len(r.buffer) < len(dst) {
		r.buffer = make([]byte, len(dst))
	}
	src := r.buffer[:len(dst)]
	if err := r.stream.ReadFull(src); err != nil {
		return err
	}
	from := contiguous(r.stored, r.a.Type.Size)
	parallel.For(n, func(_, i int) {
		strided.Copy(dst[i*r.row:(i+1)*r.row], src[i*r.row:], r.stored[1:], r.strides[1:], from[1:], r.a.Type.Size)
	})
	return nil
}

// contiguous returns the strides of an array in C order, in bytes.
func contiguous(shape []int, size int) []int {
	strides := make([]int, len(shape))
	for i, s := range slices.Backward(shape) {
		strides[i] = size
		size *= s
	}
	return strides
}

// gather reads rows that are scattered over the file. For each index of the axes before the row axis, a run has a part
// of each row.
func (r *Rows) gather(dst []byte, n int) error {
	stream, err := r.a.open()
	if err != nil {
		return err
	}
	defer stream.Close() // nothing was written
	size := r.a.Type.Size
	outer, inner := 1, size
	for _, s := range r.stored[:r.rows] {
		outer *= s
	}
	for _, s := range r.stored[r.rows+1:] {
		inner *= s
	}
	run := n * inner
	batch := min(outer, max(1, mostRuns/run))
	if len(r.buffer) < batch*run {
		r.buffer = make([]byte, batch*run)
	}
	before, after := int64(r.next*inner), int64((r.shape[0]-r.next-n)*inner)
	for first := 0; first < outer; first += batch {
		count := min(batch, outer-first)
		for i := range count {
			if err := stream.Skip(before); err != nil {
				return err
			}
			if err := stream.ReadFull(r.buffer[i*run : (i+1)*run]); err != nil {
				return err
			}
			if err := stream.Skip(after); err != nil {
				return err
			}
		}
		r.scatter(dst, n, first, count, inner)
	}
	return nil
}

// scatter copies count runs, starting from run first, to their positions in n rows.
func (r *Rows) scatter(dst []byte, n, first, count, inner int) {
	at := make([]int, count) // position of the run in a row
	for i := range at {
		o := first + i
		for axis := r.rows - 1; axis >= 0; axis-- {
			at[i] += o % r.stored[axis] * r.strides[axis]
			o /= r.stored[axis]
		}
	}
	size, run := r.a.Type.Size, n*inner
	shape := r.stored[r.rows+1:]
	from := contiguous(shape, size)
	parallel.For(n, func(_, row int) {
		out, src := dst[row*r.row:(row+1)*r.row], r.buffer[row*inner:]
		if inner == 1 {
			for i, a := range at {
				out[a] = src[i*run]
			}
			return
		}
		for i, a := range at {
			strided.Copy(out[a:], src[i*run:], shape, r.strides[r.rows+1:], from, size)
		}
	})
}

// ReadAll reads an array in C order as elements of type T, with the conversions of [dtype.Decode].
func ReadAll[T dtype.Element](a *Array) ([]T, error) {
	r, err := a.Rows(nil)
	if err != nil {
		return nil, err
	}
	defer r.Close() // nothing was written
	n, per := r.shape[0], r.row/a.Type.Size
	if err := memory.Check(a.String(), memory.Product(n, per, dtype.Of[T]().Size)); err != nil {
		return nil, err
	}
	out := make([]T, n*per)
	raw := make([]byte, min(n, r.slab)*r.row)
	for row := 0; row < n; row += r.slab {
		part := out[row*per : min(n, row+r.slab)*per]
		b := raw[:len(part)*a.Type.Size]
		if err := r.Read(b); err != nil {
			return nil, err
		}
		if bad := dtype.Decode(part, b, a.Type); bad >= 0 {
			return nil, fmt.Errorf("%v: element %d does not fit into %T", a, row*per+bad, out[0])
		}
	}
	return out, nil
}
