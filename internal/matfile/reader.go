package matfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/unravel-ml/unravel/internal/dtype"
)

// elements reads the subelements of a variable in order.
type elements struct {
	order  binary.ByteOrder
	src    io.Reader
	packed bool
	left   int64  // remaining bytes of the variable
	inline []byte // data of a small element, stored in its tag
	pad    int64  // padding after the element in bytes
}

// tag reads the type and the size of the next subelement.
func (e *elements) tag() (kind int, n int64, err error) {
	var b [8]byte
	if err := e.full(b[:]); err != nil {
		return 0, 0, err
	}
	e.inline, e.pad = nil, 0
	word := e.order.Uint32(b[:])
	if size := word >> 16; size != 0 {
		if size > 4 {
			return 0, 0, fmt.Errorf("a small element of %d bytes: %w", size, errCutOff)
		}
		e.inline = b[4 : 4+size]
		return int(word & 0xffff), int64(size), nil
	}
	n = int64(e.order.Uint32(b[4:]))
	e.pad = -n & 7
	return int(word), n, nil
}

// full fills b from the variable.
func (e *elements) full(b []byte) error {
	if int64(len(b)) > e.left {
		return errCutOff
	}
	e.left -= int64(len(b))
	if _, err := io.ReadFull(e.src, b); err != nil {
		return early(err, errCutOff)
	}
	return nil
}

// small reads a whole subelement of the given type.
func (e *elements) small(want int) ([]byte, error) {
	kind, n, err := e.tag()
	if err != nil {
		return nil, err
	}
	if kind != want || n > maxText {
		return nil, fmt.Errorf("a part of type %d and %d bytes; want type %d and at most %d: %w",
			kind, n, want, maxText, errCutOff)
	}
	if e.inline != nil {
		return e.inline, nil
	}
	b := make([]byte, n+e.pad)
	if err := e.full(b); err != nil {
		return nil, err
	}
	return b[:n], nil
}

// Reader reads the elements of a variable in the order of the file: the first index varies fastest. It is not safe for
// concurrent use.
type Reader struct {
	v      *Variable
	e      *elements
	stored dtype.Type
	left   int // number of remaining elements
	buffer []byte
}

// String describes the variable in errors: its file, name, shape and class.
func (v *Variable) String() string {
	if v.why != "" {
		return fmt.Sprintf("%s: %s (%v)", v.file.name, v.Name, v.Shape)
	}
	return fmt.Sprintf("%s: %s (%v, %s)", v.file.name, v.Name, v.Shape, v.Type)
}

// Err returns why the variable cannot be read, or nil.
func (v *Variable) Err() error {
	if v.why == "" {
		return nil
	}
	return fmt.Errorf("%v %s, which is not read; want an array of numbers or logical values", v, v.why)
}

func (v *Variable) NewReader() (*Reader, error) {
	if err := v.Err(); err != nil {
		return nil, err
	}
	r, err := v.newReader()
	if err != nil {
		return nil, fmt.Errorf("%v: %w", v, err)
	}
	return r, nil
}

func (v *Variable) newReader() (*Reader, error) {
	e, err := v.elements()
	if err != nil {
		return nil, err
	}
	var again Variable
	again.file = v.file
	if err := again.describe(e); err != nil { // skips to the numbers
		return nil, err
	}
	r := &Reader{v: v, e: e, left: 1}
	for _, s := range v.Shape {
		r.left *= s
	}
	if r.left == 0 && e.left == 0 {
		return r, nil
	}
	kind, n, err := e.tag()
	if err != nil {
		return nil, err
	}
	var ok bool
	if r.stored, ok = storedTypes[kind]; !ok {
		return nil, fmt.Errorf("numbers of type %d: %w", kind, errCutOff)
	}
	if int64(r.left)*int64(r.stored.Size) != n || e.inline == nil && n > e.left {
		return nil, fmt.Errorf("%d bytes of numbers stored as %s; want %d: %w", n, r.stored, r.left*r.stored.Size, errCutOff)
	}
	return r, nil
}

// bufferSize is the number of bytes per conversion.
const bufferSize = 1 << 16

// ReadFull fills p with the next elements of the variable's type, as little-endian bytes.
func (r *Reader) ReadFull(p []byte) error {
	size := r.v.Type.Size
	n := len(p) / size
	if len(p)%size != 0 || n > r.left {
		return fmt.Errorf("%v: want %d bytes, but %d are left", r.v, len(p), r.left*size)
	}
	for n > 0 {
		count, raw := n, p
		if r.stored.Size != size || r.stored.Kind != r.v.Type.Kind {
			if r.buffer == nil {
				r.buffer = make([]byte, bufferSize)
			}
			count = min(n, bufferSize/r.stored.Size)
			raw = r.buffer[:count*r.stored.Size]
		}
		if err := r.take(raw); err != nil {
			return fmt.Errorf("%v: %w", r.v, err)
		}
		if bad := convert(p[:count*size], r.v.Type, raw, r.stored); bad >= 0 {
			return fmt.Errorf("%v: a number stored as %s does not fit into %s: %w", r.v, r.stored, r.v.Type, errCutOff)
		}
		r.left, n, p = r.left-count, n-count, p[count*size:]
	}
	return r.end()
}

// take fills raw with numbers in their storage type as little-endian bytes.
func (r *Reader) take(raw []byte) error {
	if r.e.inline != nil {
		raw = raw[:copy(raw, r.e.inline)]
		r.e.inline = r.e.inline[len(raw):]
	} else if err := r.e.full(raw); err != nil {
		return err
	}
	if r.e.order == binary.BigEndian {
		dtype.Swap(raw, r.stored.Size)
	}
	return nil
}

func (r *Reader) Skip(bytes int64) error {
	n := int(bytes) / r.v.Type.Size
	if bytes < 0 || int64(n)*int64(r.v.Type.Size) != bytes || n > r.left {
		return fmt.Errorf("%v: %d bytes to skip; want whole elements, at most %d", r.v, bytes, r.left)
	}
	stored := int64(n) * int64(r.stored.Size)
	r.left -= n
	if r.e.inline != nil {
		r.e.inline = r.e.inline[stored:]
		return nil
	}
	r.e.left -= stored
	var err error
	if s, ok := r.e.src.(io.Seeker); ok {
		_, err = s.Seek(stored, io.SeekCurrent)
	} else {
		_, err = io.CopyN(io.Discard, r.e.src, stored)
	}
	if err != nil {
		return fmt.Errorf("%v: %w", r.v, early(err, errCutOff))
	}
	return r.end()
}

// end makes a compressed element verify its checksum after the last number.
func (r *Reader) end() error {
	if r.left > 0 || !r.e.packed {
		return nil
	}
	n, err := io.Copy(io.Discard, io.LimitReader(r.e.src, r.e.left+1))
	if err == nil && n > r.e.left {
		err = errors.New("more bytes than its tag says")
	}
	if err != nil {
		return fmt.Errorf("%v: %w", r.v, early(err, errCutOff))
	}
	return nil
}

// convert converts stored numbers to numbers of a class. It returns the index of the first number that does not fit, or
// -1.
func convert(dst []byte, class dtype.Type, raw []byte, stored dtype.Type) int {
	switch {
	case class == dtype.Bool && stored == dtype.Uint8:
		for i, b := range raw {
			dst[i] = min(b, 1)
		}
		return -1
	case class == stored:
		if &dst[0] != &raw[0] {
			copy(dst, raw)
		}
		return -1
	}
	return widening[class.Name](dst, raw, stored)
}

// widening has convert for each class.
var widening = map[string]func(dst, raw []byte, stored dtype.Type) int{
	"bool": widen[uint8], "int8": widen[int8], "uint8": widen[uint8], "int16": widen[int16], "uint16": widen[uint16],
	"int32": widen[int32], "uint32": widen[uint32], "int64": widen[int64], "uint64": widen[uint64],
	"float32": widen[float32], "float64": widen[float64],
}

func widen[T dtype.Number](dst, raw []byte, stored dtype.Type) int {
	values := make([]T, len(raw)/stored.Size)
	bad := dtype.Decode(values, raw, stored)
	if _, err := binary.Encode(dst, binary.LittleEndian, values); err != nil {
		return 0 // impossible: sizes are equal
	}
	return bad
}
