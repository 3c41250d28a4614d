// Package npy reads and writes arrays in NumPy's files: .npy (format versions 1 to 3,
// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html) and .npz (a zip archive of .npy files).
//
// The package reads all boolean, integer and floating-point types with 8 to 64 bits, in either byte order. [Read]
// expects elements in C order (the last index varies fastest); package arrays reads both orders. A [Reader] checks the
// header against the size of the file, and then returns elements in blocks. An array need not fit in memory:
//
//	r, err := npy.Open("images.npy")
//	defer r.Close()
//	row := make([]float32, r.RowLen())
//	for range r.Rows() {
//		err := npy.Read(r, row)
//		...
//	}
//
// Object arrays, which contain Python pickles, and structured arrays are rejected.
package npy

import (
	"errors"
	"fmt"
	"io"
	"reflect"

	"github.com/unravel-ml/unravel/internal/dims"
	"github.com/unravel-ml/unravel/internal/dtype"
	"github.com/unravel-ml/unravel/internal/memory"
)

// Header describes an array.
type Header struct {
	Shape     []int  // empty for a scalar
	DType     string // bool, int8 ... int64, uint8 ... uint64, float16, float32, float64
	Fortran   bool   // Fortran order: the first index varies fastest
	BigEndian bool
}

// Element is a Go type for elements.
type Element = dtype.Element

func (h Header) Len() int {
	n := 1
	for _, d := range h.Shape {
		n *= d
	}
	return n
}

// Rows returns the size of the first dimension, or 1 for a scalar.
func (h Header) Rows() int {
	if len(h.Shape) == 0 {
		return 1
	}
	return h.Shape[0]
}

// RowLen returns the number of elements per row (with the same first index).
func (h Header) RowLen() int {
	n := 1
	for _, d := range h.Shape[min(1, len(h.Shape)):] {
		n *= d
	}
	return n
}

// Array is an array in memory, with its elements in C order.
type Array[T Element] struct {
	Shape []int
	Data  []T
}

// ReadFile reads a .npy file as elements of type T, with the conversions of [Read].
func ReadFile[T Element](path string) (*Array[T], error) {
	r, err := Open(path)
	if err != nil {
		return nil, err
	}
	a, err := ReadAll[T](r)
	return a, errors.Join(err, r.Close())
}

// ReadAll reads the remaining elements. If none have been read, the result has the shape of the array; otherwise it has
// one dimension.
func ReadAll[T Element](r *Reader) (*Array[T], error) {
	shape := r.Shape
	if r.left != r.Len() {
		shape = []int{r.left}
	}
	// The size in the header may be wrong if it is unchecked, so memory grows with the data.
	const block = 1 << 20
	data := []T{}
	if r.sizeKnown {
		var element T
		if err := memory.Check(fmt.Sprintf("its array of shape %v", r.Shape), memory.Product(r.left, int(reflect.TypeOf(element).Size()))); err != nil {
			return nil, fmt.Errorf("%s: %w", r.name, err)
		}
		data = make([]T, 0, r.left)
	}
	for r.left > 0 {
		n := min(r.left, block)
		data = append(data, make([]T, n)...)
		if err := Read(r, data[len(data)-n:]); err != nil {
			return nil, err
		}
	}
	return &Array[T]{append([]int{}, shape...), data}, nil
}

// Read fills dst with the next elements in C order. Floats are rounded to the type of dst. If dst has integers or
// booleans, the conversion must be exact. Reading more elements than remain is an error.
func Read[T Element](r *Reader, dst []T) error {
	if len(dst) > r.left {
		return fmt.Errorf("%s: want %d elements, but %d are left of shape %v", r.name, len(dst), r.left, r.Shape)
	}
	if r.Fortran && len(r.Shape) > 1 {
		return fmt.Errorf("%s: the array is in Fortran order; want C order", r.name)
	}
	size := r.dt.Size
	for len(dst) > 0 {
		n := min(len(dst), len(r.buf)/size)
		raw := r.buf[:n*size]
		if _, err := io.ReadFull(r.src, raw); err != nil {
			return r.truncated(err)
		}
		if r.BigEndian {
			dtype.Swap(raw, size)
		}
		if bad := dtype.Decode(dst[:n], raw, r.dt); bad >= 0 {
			return fmt.Errorf("%s: element %d of a %s array does not fit into %T", r.name, r.Len()-r.left+bad, r.DType, dst[0])
		}
		r.left -= n
		dst = dst[n:]
	}
	if r.left == 0 {
		return r.finish()
	}
	return nil
}

// ReadRaw fills p with the next elements as little-endian bytes, in the order of the file. In Fortran order, the first
// index varies fastest.
func (r *Reader) ReadRaw(p []byte) error {
	n, size := len(p)/r.dt.Size, r.dt.Size
	if len(p)%size != 0 || n > r.left {
		return fmt.Errorf("%s: want %d bytes, but %d are left of shape %v of %s",
			r.name, len(p), r.left*size, r.Shape, r.DType)
	}
	if _, err := io.ReadFull(r.src, p); err != nil {
		return r.truncated(err)
	}
	if r.BigEndian {
		dtype.Swap(p, size)
	}
	return r.took(n)
}

// Skip skips n elements, in the order of the file.
func (r *Reader) Skip(n int) error {
	if n < 0 || n > r.left {
		return fmt.Errorf("%s: want %d elements, but %d are left of shape %v", r.name, n, r.left, r.Shape)
	}
	if s, ok := r.src.(io.Seeker); ok && r.sizeKnown {
		if _, err := s.Seek(int64(n)*int64(r.dt.Size), io.SeekCurrent); err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
	} else if _, err := io.CopyN(io.Discard, r.src, int64(n)*int64(r.dt.Size)); err != nil {
		return r.truncated(err)
	}
	return r.took(n)
}

// took counts the elements read.
func (r *Reader) took(n int) error {
	if r.left -= n; r.left == 0 && n > 0 {
		return r.finish()
	}
	return nil
}

// Start returns the number of bytes before the elements.
func (r *Reader) Start() int { return r.start }

func (r *Reader) DataType() dtype.Type { return r.dt }

// Plausible reports whether the size of the array has been checked against the size of the file, as far as compression
// allows.
func (r *Reader) Plausible() bool { return r.sizeKnown }

// count returns the number of elements of a shape, or an error if no such array can exist.
func count(shape []int, size int) (int, error) {
	if len(shape) > 32 {
		return 0, fmt.Errorf("%d dimensions; at most 32 are possible", len(shape))
	}
	return dims.Count(shape, size)
}
