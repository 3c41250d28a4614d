package safetensors

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/unravel-ml/unravel/internal/dims"
	"github.com/unravel-ml/unravel/internal/dtype"
)

// maxHeader is the maximum header length of the format.
const maxHeader = 100_000_000

// Decode decodes a file from Encode, and verifies its checksum.
func Decode(data []byte) (*File, error) { return decode(data, true) }

// DecodeForeign decodes a file from any program, and verifies its checksum if it has one.
func DecodeForeign(data []byte) (*File, error) { return decode(data, false) }

func decode(data []byte, strict bool) (*File, error) {
	head, body, err := split(data)
	if err != nil {
		return nil, err
	}
	entries, metadata, err := parseHeader(head)
	if err != nil {
		return nil, fmt.Errorf("damaged or not a safetensors file: header: %w", err)
	}
	if end := lastEnd(entries); end > int64(len(body)) {
		return nil, fmt.Errorf("truncated: %d bytes of data; want %d", len(body), end)
	}
	if sum, ok := metadata[checksumKey]; ok {
		if !matches(data, len(head), sum) {
			return nil, ErrDamaged
		}
	} else if strict {
		return nil, ErrNoChecksum
	}
	delete(metadata, checksumKey)
	tensors, err := decodeTensors(entries, body)
	if err != nil {
		return nil, fmt.Errorf("damaged or not a safetensors file: %w", err)
	}
	return &File{metadata, tensors}, nil
}

// described returns the number of bytes to read: the size according to the header plus one byte, at most the size of
// the file. For a file without a complete header, it returns enough bytes to detect this.
func described(r io.ReaderAt, size int64) int64 {
	entries, _, whole, err := readHeader(r, size)
	if err != nil {
		return whole
	}
	if end := lastEnd(entries); end < size-whole {
		return whole + end + 1
	}
	return size
}

// readHeader reads the header of a file with the given size. whole is the number of bytes in the header and its length
// field. For an invalid header, it is enough bytes to detect the error.
func readHeader(r io.ReaderAt, size int64) (entries []named, metadata map[string]string, whole int64, err error) {
	var start [8]byte
	if _, err := r.ReadAt(start[:], 0); err != nil {
		return nil, nil, size, err
	}
	n := binary.LittleEndian.Uint64(start[:])
	if n > maxHeader {
		return nil, nil, int64(len(start)), errTooLong(n)
	}
	head := make([]byte, min(int64(n), size-int64(len(start))))
	whole = int64(len(start) + len(head))
	if _, err := r.ReadAt(head, int64(len(start))); err != nil {
		return nil, nil, whole, err
	}
	entries, metadata, err = parseHeader(head)
	return entries, metadata, whole, err
}

func errTooLong(header uint64) error {
	return fmt.Errorf("damaged or not a safetensors file: a header of %d bytes; at most %d are possible",
		header, maxHeader)
}

// split separates the header from the elements.
func split(data []byte) (head, body []byte, err error) {
	if len(data) < 8 {
		return nil, nil, fmt.Errorf("truncated or not a safetensors file: only %d bytes long", len(data))
	}
	n := binary.LittleEndian.Uint64(data)
	zip := bytes.HasPrefix(data, []byte("PK\x03\x04"))
	data = data[8:]
	switch {
	case n > maxHeader && zip:
		return nil, nil, errors.New("a ZIP archive, such as torch.save or numpy.savez writes; want a safetensors file")
	case n > maxHeader:
		return nil, nil, errTooLong(n)
	case n > uint64(len(data)):
		return nil, nil, fmt.Errorf("truncated or damaged: %d bytes of header; want %d", len(data), n)
	}
	return data[:n], data[n:], nil
}

// matches reports whether the checksum matches the file, with zeros in place of the checksum.
func matches(data []byte, head int, sum string) bool {
	at := bytes.Index(data[:8+head], []byte(checksumField(sum)))
	if at != 8 || len(sum) != len(noChecksum) {
		return false
	}
	at += len(checksumField("")) - 1
	h := sha256.New()
	h.Write(data[:at])
	io.WriteString(h, noChecksum)
	h.Write(data[at+len(noChecksum):])
	return hex.EncodeToString(h.Sum(nil)) == sum
}

// named is a header entry with the name of its tensor.
type named struct {
	name string
	entry
}

// parseHeader parses the JSON object. Repeated keys are an error.
func parseHeader(head []byte) (entries []named, metadata map[string]string, err error) {
	d := json.NewDecoder(bytes.NewReader(head))
	d.DisallowUnknownFields()
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, nil, errors.New("want a JSON object")
	}
	metadata = map[string]string{}
	seen := map[string]bool{}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return nil, nil, err
		}
		key, _ := t.(string) // the decoder accepts only strings as keys
		if seen[key] {
			return nil, nil, fmt.Errorf("%q is listed twice", key)
		}
		seen[key] = true
		if key == metadataKey {
			if err := d.Decode(&metadata); err != nil {
				return nil, nil, fmt.Errorf("metadata: %w", err)
			}
			continue
		}
		e := named{name: key}
		if err := d.Decode(&e.entry); err != nil {
			return nil, nil, fmt.Errorf("tensor %q: %w", key, err)
		}
		entries = append(entries, e)
	}
	if _, err := d.Token(); err != nil {
		return nil, nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, nil, errors.New("more than one JSON object")
	}
	slices.SortStableFunc(entries, func(a, b named) int {
		return cmp.Or(cmp.Compare(a.Offsets[0], b.Offsets[0]), cmp.Compare(a.Offsets[1], b.Offsets[1]))
	})
	return entries, metadata, nil
}

func lastEnd(entries []named) int64 {
	var end int64
	for _, e := range entries {
		end = max(end, e.Offsets[1])
	}
	return end
}

// decodeTensors checks that the tensors cover the body without gaps or overlaps.
func decodeTensors(entries []named, body []byte) ([]Tensor, error) {
	tensors := make([]Tensor, len(entries))
	var at int64
	for i, e := range entries {
		size, ok := sizes[e.DType]
		if !ok {
			return nil, fmt.Errorf("tensor %q: element type %q is not read; want F32, F64, F16, BF16, I64 or U8",
				e.name, e.DType)
		}
		n, err := dims.Count(e.Shape, size)
		if err != nil {
			return nil, fmt.Errorf("tensor %q: %w", e.name, err)
		}
		want := int64(n) * int64(size)
		if begin, end := e.Offsets[0], e.Offsets[1]; begin != at || end < begin || end-begin != want {
			return nil, fmt.Errorf("tensor %q: data from %d to %d; want %d bytes from %d on for shape %v of %s",
				e.name, begin, end, want, at, e.Shape, e.DType)
		}
		tensors[i] = Tensor{e.name, append([]int{}, e.Shape...), decodeElements(e.DType, body[at:e.Offsets[1]])}
		at = e.Offsets[1]
	}
	if at != int64(len(body)) {
		return nil, fmt.Errorf("%d bytes after the last tensor", int64(len(body))-at)
	}
	return tensors, nil
}

func decodeElements(kind string, raw []byte) any {
	switch kind {
	case "F32":
		return decoded[float32](raw, 4)
	case "F64":
		return decoded[float64](raw, 8)
	case "BF16":
		return widened(raw, func(bits uint16) float32 { return math.Float32frombits(uint32(bits) << 16) })
	case "F16":
		return widened(raw, dtype.Half)
	case "I64":
		return decoded[int64](raw, 8)
	}
	return append([]uint8{}, raw...)
}

func decoded[T any](raw []byte, size int) []T {
	data := make([]T, len(raw)/size)
	binary.Decode(raw, binary.LittleEndian, data) // the sizes agree
	return data
}

func widened(raw []byte, wide func(bits uint16) float32) []float32 {
	data := make([]float32, len(raw)/2)
	for i := range data {
		data[i] = wide(binary.LittleEndian.Uint16(raw[2*i:]))
	}
	return data
}
