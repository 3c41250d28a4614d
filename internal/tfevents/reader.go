package tfevents

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
)

// maxRecord is the longest record that is written and read, in bytes.
const maxRecord = 64 << 20

// ErrTorn marks a record that is incomplete or damaged.
var ErrTorn = errors.New("torn or damaged record")

// Reader reads the events of a file.
type Reader struct {
	r      *bufio.Reader
	offset int64
	record []byte
}

// NewReader reads events from r.
func NewReader(r io.Reader) *Reader { return &Reader{r: bufio.NewReader(r)} }

// Offset returns where the last event ended, in bytes.
func (r *Reader) Offset() int64 { return r.offset }

// Next returns the next event. Its error is io.EOF at the end of the file, and wraps ErrTorn for an
// incomplete or damaged record; nothing after that can be read.
func (r *Reader) Next() (*Event, error) {
	data, err := r.next()
	if err != nil {
		return nil, err
	}
	e, err := unmarshal(data)
	if err != nil {
		return nil, fmt.Errorf("at byte %d: %w: %w", r.offset, ErrTorn, err)
	}
	r.offset += int64(len(data)) + 16
	return e, nil
}

// next returns the content of the next record, which is valid until the next call.
func (r *Reader) next() ([]byte, error) {
	var head [12]byte
	if n, err := io.ReadFull(r.r, head[:]); err != nil {
		if n == 0 && errors.Is(err, io.EOF) {
			return nil, io.EOF
		}
		return nil, r.torn(err, "cut off")
	}
	le := binary.LittleEndian
	n := le.Uint64(head[:8])
	if maskedCRC(head[:8]) != le.Uint32(head[8:]) {
		return nil, r.torn(nil, "the checksum of its length is wrong")
	}
	if n > maxRecord {
		return nil, r.torn(nil, fmt.Sprintf("%d bytes long; at most %d are read", n, maxRecord))
	}
	// a wrong length must not cost memory: read what is there
	r.record = r.record[:0]
	for want := int(n) + 4; len(r.record) < want; {
		at := len(r.record)
		r.record = append(r.record, make([]byte, min(want-at, 1<<16))...)
		if _, err := io.ReadFull(r.r, r.record[at:]); err != nil {
			return nil, r.torn(err, "cut off")
		}
	}
	data := r.record[:n]
	if maskedCRC(data) != le.Uint32(r.record[n:]) {
		return nil, r.torn(nil, "its checksum is wrong")
	}
	return data, nil
}

func (r *Reader) torn(err error, what string) error {
	if err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("at byte %d: %w: %s", r.offset, ErrTorn, what)
	}
	return err
}

// field is one field of a message.
type field struct {
	number int
	wire   int
	x      uint64 // value of wire types other than bytes
	data   []byte
}

var errMessage = errors.New("not a message in wire format")

// fields calls f for each field of a message.
func fields(b []byte, f func(field) error) error {
	for len(b) > 0 {
		tag, n := binary.Uvarint(b)
		if n <= 0 || tag>>3 == 0 || tag>>3 > 1<<29-1 {
			return errMessage
		}
		b = b[n:]
		x := field{number: int(tag >> 3), wire: int(tag & 7)}
		size := 0
		switch x.wire {
		case wireVarint, wireBytes:
			if x.x, n = binary.Uvarint(b); n <= 0 {
				return errMessage
			}
			b = b[n:]
			if x.wire == wireBytes {
				if x.x > uint64(len(b)) {
					return errMessage
				}
				size = int(x.x)
				x.data = b[:size]
			}
		case wire64:
			if size = 8; len(b) >= size {
				x.x = binary.LittleEndian.Uint64(b)
			}
		case wire32:
			if size = 4; len(b) >= size {
				x.x = uint64(binary.LittleEndian.Uint32(b))
			}
		default:
			return errMessage
		}
		if size > len(b) {
			return errMessage
		}
		b = b[size:]
		if err := f(x); err != nil {
			return err
		}
	}
	return nil
}

// unmarshal reads an Event, and skips fields that this package does not write.
func unmarshal(b []byte) (*Event, error) {
	var e Event
	err := fields(b, func(f field) error {
		switch {
		case f.number == eventWallTime && f.wire == wire64:
			e.WallTime = math.Float64frombits(f.x)
		case f.number == eventStep && f.wire == wireVarint:
			e.Step = int64(f.x)
		case f.number == eventFileVersion && f.wire == wireBytes:
			e.FileVersion = string(f.data)
		case f.number == eventSummary && f.wire == wireBytes:
			return fields(f.data, func(f field) error {
				if f.number != summaryValue || f.wire != wireBytes {
					return nil
				}
				v, err := unmarshalValue(f.data)
				e.Values = append(e.Values, v)
				return err
			})
		}
		return nil
	})
	return &e, err
}

func unmarshalValue(b []byte) (v Value, err error) {
	err = fields(b, func(f field) error {
		switch {
		case f.number == valueTag && f.wire == wireBytes:
			v.Tag = string(f.data)
		case f.number == valueScalar && f.wire == wire32:
			v.Scalar = math.Float32frombits(uint32(f.x))
		}
		return nil
	})
	return v, err
}
