package tfevents

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// maxRecord is the maximum size of a record in bytes, for reading and writing.
const maxRecord = 64 << 20

// ErrTorn is the error for an incomplete or damaged record.
var ErrTorn = errors.New("torn or damaged record")

const FilePrefix = "events.out.tfevents."

// Find returns the path of the first event file in a folder by name, or "" if there is none.
func Find(dir string) (string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), FilePrefix) {
			return filepath.Join(dir, e.Name()), nil
		}
	}
	return "", nil
}

type Reader struct {
	r      *bufio.Reader
	offset int64
	record []byte
}

func NewReader(r io.Reader) *Reader { return &Reader{r: bufio.NewReader(r)} }

// Offset returns the file offset after the last event.
func (r *Reader) Offset() int64 { return r.offset }

// Next returns the next event, or io.EOF at the end of the file. For an incomplete or damaged record, the error wraps
// ErrTorn, and no further event can be read.
func (r *Reader) Next() (*Event, error) {
	data, err := r.next()
	if err != nil {
		return nil, err
	}
	e, err := unmarshal(data)
	if err != nil {
		return nil, fmt.Errorf("at byte %d: %w: not a message in wire format", r.offset, ErrTorn)
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
	// a wrong length must not cause a large allocation: read only existing bytes
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
