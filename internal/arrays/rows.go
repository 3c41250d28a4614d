package arrays

import (
	"fmt"
	"slices"

	"github.com/unravel-ml/unravel/internal/dtype"
	"github.com/unravel-ml/unravel/internal/memory"
	"github.com/unravel-ml/unravel/internal/parallel"
	"github.com/unravel-ml/unravel/internal/strided"
)

const (
	usualSlab = 16 << 20  // bytes of rows that are read together
	mostSlab  = 256 << 20 // the same, where each reading passes through the whole file
	mostRuns  = 4 << 20   // bytes of runs that are put to their places together
)

// Rows reads rows of an array, one after the other, with its axes in another order. It is used by one goroutine.
type Rows struct {
	a      *Array
	shape  []int // sizes in the order of the result's axes
	row    int   // bytes of a row
	slab   int
	next   int
	stream Stream // a stream of rows that follow each other in the file; nil: rows are scattered

	stored  []int // shape in the order of the file
	strides []int // bytes from one element of a row to the next, by axis of the file
	rows    int   // the axis of the file that counts rows
	buffer  []byte
}

// Rows returns a reader of rows. axes has the array's axis for each axis of the result, the axis of the rows first; nil
// keeps all axes in order. If rows of the result are scattered over the file, each call of Read passes through the
// whole file.
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

// begin decides how rows are read.
func (r *Rows) begin() (err error) {
	if r.rows != 0 {
		r.slab = min(max(1, r.shape[0]), max(1, mostSlab/max(1, r.row)))
		return nil
	}
	if r.stream, err = r.a.open(); err != nil {
		return err
	}
	unit := r.stream.Unit()
	if unit == 0 {
		unit = usualSlab
	}
	r.slab = min(max(1, r.shape[0]), max(1, unit/max(1, r.row)))
	return nil
}

// Shape returns the shape with the axes in their order; the first is the number of rows.
func (r *Rows) Shape() []int { return r.shape }

// RowBytes returns the bytes of a row.
func (r *Rows) RowBytes() int { return r.row }

// Slab returns how many rows are best read at once.
func (r *Rows) Slab() int { return r.slab }

// Close ends reading.
func (r *Rows) Close() error {
	if r.stream == nil {
		return nil
	}
	return r.stream.Close()
}

// Read reads the next rows into dst, as little-endian elements with the last axis fastest.
func (r *Rows) Read(dst []byte) error {
	n := len(dst) / max(1, r.row)
	if n*r.row != len(dst) || n > r.shape[0]-r.next {
		return fmt.Errorf("%v: %d bytes at row %d of %d; want whole rows of %d bytes", r.a, len(dst), r.next, r.shape[0], r.row)
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

// straight reports whether the file stores rows as the caller wants them.
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

// permute reads rows that follow each other in the file, and reorders their elements.
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

// contiguous returns the bytes from one element to the next along the axes of an array in C order.
func contiguous(shape []int, size int) []int {
	strides := make([]int, len(shape))
	for i, s := range slices.Backward(shape) {
		strides[i] = size
		size *= s
	}
	return strides
}

// gather reads rows that are spread over the file: each combination of the axes before theirs has a run with a part of each row.
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

// scatter puts count runs from the first to their places in n rows.
func (r *Rows) scatter(dst []byte, n, first, count, inner int) {
	at := make([]int, count) // the run's position in a row
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

// ReadAll reads a whole array, in C order, as elements of type T, converted as by [dtype.Decode].
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
