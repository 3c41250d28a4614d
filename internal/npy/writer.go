package npy

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"github.com/unravel-ml/unravel/internal/dtype"
)

// Write writes an array in C order, little endian, format version 1.
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

// WriteElements writes elements of an array behind its header, or behind others.
func WriteElements[T Element](w io.Writer, data []T) error {
	const block = 1 << 13
	buf := make([]byte, 0, min(block, len(data))*dtype.Of[T]().Size)
	for len(data) > 0 {
		part := data[:min(block, len(data))]
		if _, err := w.Write(encode(buf, part)); err != nil {
			return err
		}
		data = data[len(part):]
	}
	return nil
}

// WriteHeader writes the header of an array. The elements must follow in C order, little endian.
func WriteHeader[T Element](w io.Writer, shape []int) error {
	dt := dtype.Of[T]()
	if _, err := count(shape, dt.Size); err != nil {
		return fmt.Errorf("npy: %w", err)
	}
	_, err := w.Write(header(shape, dt))
	return err
}

// encode appends elements to buf, little endian.
func encode[T Element](buf []byte, data []T) []byte {
	le := binary.LittleEndian
	for _, x := range data {
		switch x := any(x).(type) {
		case bool:
			var b byte
			if x {
				b = 1
			}
			buf = append(buf, b)
		case int8:
			buf = append(buf, byte(x))
		case uint8:
			buf = append(buf, x)
		case int16:
			buf = le.AppendUint16(buf, uint16(x))
		case uint16:
			buf = le.AppendUint16(buf, x)
		case int32:
			buf = le.AppendUint32(buf, uint32(x))
		case uint32:
			buf = le.AppendUint32(buf, x)
		case float32:
			buf = le.AppendUint32(buf, math.Float32bits(x))
		case int64:
			buf = le.AppendUint64(buf, uint64(x))
		case int:
			buf = le.AppendUint64(buf, uint64(x))
		case uint64:
			buf = le.AppendUint64(buf, x)
		case float64:
			buf = le.AppendUint64(buf, math.Float64bits(x))
		}
	}
	return buf
}
