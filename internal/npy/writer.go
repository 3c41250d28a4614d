package npy

import (
	"encoding/binary"
	"fmt"
	"io"
	"slices"

	"github.com/unravel-ml/unravel/internal/dtype"
)

// Write writes an array in C order, little-endian, in format version 1.
func Write[T Element](w io.Writer, shape []int, data []T) error {
	dt := dtype.Of[T]()
	n, err := count(shape, dt.Size)
	if err != nil {
		return fmt.Errorf("npy: %w", err)
	}
	if n != len(data) {
		return fmt.Errorf("npy: %d elements for shape %v; want %d", len(data), shape, n)
	}
	if err := WriteHeader[T](w, shape); err != nil {
		return err
	}
	return WriteElements(w, data)
}

// WriteElements writes elements of an array after its header or after earlier elements.
func WriteElements[T Element](w io.Writer, data []T) error {
	var buf []byte
	for block := range slices.Chunk(data, 1<<13) {
		buf = encode(buf[:0], block)
		if _, err := w.Write(buf); err != nil {
			return err
		}
	}
	return nil
}

// WriteHeader writes the header of an array. The elements must follow in C order, little-endian.
func WriteHeader[T Element](w io.Writer, shape []int) error {
	dt := dtype.Of[T]()
	if _, err := count(shape, dt.Size); err != nil {
		return fmt.Errorf("npy: %w", err)
	}
	_, err := w.Write(header(shape, dt))
	return err
}

// encode appends elements to buf in little-endian order.
func encode[T Element](buf []byte, data []T) []byte {
	if list, ok := any(data).([]int); ok { // the size of int depends on the machine
		for _, x := range list {
			buf = binary.LittleEndian.AppendUint64(buf, uint64(x))
		}
		return buf
	}
	buf, _ = binary.Append(buf, binary.LittleEndian, data) // all other types have a fixed size
	return buf
}
