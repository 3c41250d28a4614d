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
	"maps"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/unravel-ml/unravel/internal/dims"
)

const (
	metadataKey = "__metadata__"
	checksumKey = "unravel.sha256"
)

// noChecksum is the placeholder for the checksum during its computation.
var noChecksum = strings.Repeat("0", 2*sha256.Size)

// entry is a tensor in the header.
type entry struct {
	DType   string   `json:"dtype"`
	Shape   []int    `json:"shape"`
	Offsets [2]int64 `json:"data_offsets"`
}

// Encode returns the bytes of a file with its checksum. Tensors are sorted by element size, then by name, which aligns
// all of them.
func Encode(f *File) ([]byte, error) {
	tensors := slices.Clone(f.Tensors)
	if err := check(f); err != nil {
		return nil, err
	}
	slices.SortFunc(tensors, func(a, b Tensor) int {
		left, _, _ := dtypeOf(a.Data)
		right, _, _ := dtypeOf(b.Data)
		return cmp.Or(cmp.Compare(sizes[right], sizes[left]), cmp.Compare(a.Name, b.Name))
	})
	head, size, err := encodeHeader(f.Metadata, tensors)
	if err != nil {
		return nil, err
	}
	out := make([]byte, 0, 8+int64(len(head))+size)
	out = binary.LittleEndian.AppendUint64(out, uint64(len(head)))
	out = append(out, head...)
	for _, t := range tensors {
		out = appendElements(out, t.Data)
	}
	sum := sha256.Sum256(out)
	at := bytes.Index(out, []byte(checksumField(noChecksum))) + len(checksumField("")) - 1
	hex.Encode(out[at:], sum[:])
	return out, nil
}

// checksumField is the text of the checksum in the header, at the start of the metadata.
func checksumField(sum string) string {
	return `{"` + metadataKey + `":{"` + checksumKey + `":"` + sum + `"`
}

func check(f *File) error {
	seen := map[string]bool{metadataKey: true}
	for _, t := range f.Tensors {
		dtype, n, err := dtypeOf(t.Data)
		if err != nil {
			return fmt.Errorf("tensor %q: %w", t.Name, err)
		}
		want, err := dims.Count(t.Shape, sizes[dtype])
		if err != nil {
			return fmt.Errorf("tensor %q: %w", t.Name, err)
		}
		if n != want {
			return fmt.Errorf("tensor %q: %d elements for shape %v; want %d", t.Name, n, t.Shape, want)
		}
		if seen[t.Name] || !utf8.ValidString(t.Name) {
			return fmt.Errorf("tensor %q: the name is taken or not UTF-8", t.Name)
		}
		seen[t.Name] = true
		if half, ok := t.Data.(Half); ok {
			if i := slices.IndexFunc(half, func(x float32) bool { return halfBits(x)&infinite == infinite }); i >= 0 {
				return fmt.Errorf("tensor %q: element %d is %v; want a number that float16 holds, at most 65504",
					t.Name, i, half[i])
			}
		}
	}
	for k, v := range f.Metadata {
		if k == checksumKey || !utf8.ValidString(k) || !utf8.ValidString(v) {
			return fmt.Errorf("metadata %q: the key is reserved for the checksum, or it is not UTF-8", k)
		}
	}
	return nil
}

// encodeHeader returns the header with zeros for the checksum, and the size of the data.
func encodeHeader(metadata map[string]string, tensors []Tensor) (head []byte, size int64, err error) {
	var b bytes.Buffer
	b.WriteString(checksumField(noChecksum))
	for _, k := range slices.Sorted(maps.Keys(metadata)) {
		b.WriteByte(',')
		err = errors.Join(err, writeJSON(&b, k, metadata[k]))
	}
	b.WriteByte('}')
	for _, t := range tensors {
		name, n, _ := dtypeOf(t.Data)
		end := size + int64(n)*int64(sizes[name])
		b.WriteByte(',')
		err = errors.Join(err, writeJSON(&b, t.Name, entry{name, append([]int{}, t.Shape...), [2]int64{size, end}}))
		size = end
	}
	b.WriteByte('}')
	b.WriteString(strings.Repeat(" ", (8-b.Len()%8)%8)) // aligns the data
	return b.Bytes(), size, err
}

// writeJSON writes "key":value.
func writeJSON(b *bytes.Buffer, key string, value any) error {
	k, err := json.Marshal(key)
	if err != nil {
		return err
	}
	v, err := json.Marshal(value)
	if err != nil {
		return err
	}
	b.Write(k)
	b.WriteByte(':')
	b.Write(v)
	return nil
}

func appendElements(out []byte, data any) []byte {
	if half, ok := data.(Half); ok {
		for _, x := range half {
			out = binary.LittleEndian.AppendUint16(out, halfBits(x))
		}
		return out
	}
	out, _ = binary.Append(out, binary.LittleEndian, data) // all other types have a fixed size
	return out
}

// infinite is the float16 +Inf: all exponent bits are 1, as in NaN.
const infinite = 0x7c00

// halfBits rounds a number to the nearest float16, ties to even.
func halfBits(x float32) uint16 {
	bits := math.Float32bits(x)
	sign, magnitude := uint16(bits>>16)&0x8000, bits&(1<<31-1)
	switch {
	case magnitude >= 255<<23: // infinite, or not a number
		return sign | infinite | uint16(min(magnitude-255<<23, 1))
	case magnitude >= (127+16)<<23:
		return sign | infinite
	case magnitude < (127-14)<<23: // subnormal: a multiple of 2^-24
		return sign | uint16(math.RoundToEven(math.Abs(float64(x))*(1<<24)))
	}
	magnitude += 1<<12 - 1 + magnitude>>13&1 // a carry into the exponent gives the next power of 2, or infinity
	return sign | uint16((magnitude-(127-15)<<23)>>13)
}
