// Package safetensors reads and writes named tensors in the safetensors format
// (https://huggingface.co/docs/safetensors). A file consists of the length of a JSON header in eight bytes, the header,
// and the elements (little-endian, C order).
//
// Written files have a checksum with the metadata key "unravel.sha256": the SHA-256 of the file with zeros in place of
// the 64 digits of the checksum. Readers detect any change or truncation of such a file. For other programs, the
// checksum is one more metadata entry. Equal tensors and metadata give equal bytes.
package safetensors

import (
	"errors"
	"fmt"
	"io"

	"github.com/unravel-ml/unravel/internal/disk"
	"github.com/unravel-ml/unravel/internal/memory"
)

type Tensor struct {
	Name  string
	Shape []int // empty for a scalar
	Data  any   // []float32, [Half], []float64, []int64 or []uint8, in C order; F16 and BF16 become []float32
}

// Half is written as F16: each element is rounded to the nearest float16, ties to even. The maximum is 65504.
type Half []float32

type File struct {
	Metadata map[string]string // excluding the checksum
	Tensors  []Tensor
}

// ErrNoChecksum is the error for files of other programs; ReadForeign and DecodeForeign accept them.
var ErrNoChecksum = errors.New("no checksum: not written by this program, or damaged")

// ErrDamaged is the error for a file whose content does not match its checksum.
var ErrDamaged = errors.New("damaged: the content does not match the checksum")

func (f *File) Get(name string) (Tensor, bool) {
	for _, t := range f.Tensors {
		if t.Name == name {
			return t, true
		}
	}
	return Tensor{}, false
}

// Float32s returns the elements of a float32 tensor of the given shape.
func (f *File) Float32s(name string, shape ...int) ([]float32, error) {
	return elements[float32](f, name, shape)
}

func elements[T any](f *File, name string, shape []int) ([]T, error) {
	t, ok := f.Get(name)
	if !ok {
		return nil, fmt.Errorf("no tensor %q", name)
	}
	data, ok := t.Data.([]T)
	if !ok || fmt.Sprint(t.Shape) != fmt.Sprint(shape) {
		return nil, fmt.Errorf("tensor %q is %T of shape %v; want %T of shape %v", name, t.Data, t.Shape, data, shape)
	}
	return data, nil
}

// Write writes a file with its checksum.
func Write(w io.Writer, f *File) error {
	data, err := Encode(f)
	if err != nil {
		return err
	}
	_, err = w.Write(data)
	return err
}

// ReadFile reads a file from Write, and verifies its checksum.
func ReadFile(path string) (*File, error) { return readFile(path, Decode) }

// ReadForeign reads a file from any program, and verifies its checksum if it has one.
func ReadForeign(path string) (*File, error) { return readFile(path, DecodeForeign) }

// ReadMetadata reads only the metadata of a file. It does not verify the checksum.
func ReadMetadata(path string) (map[string]string, error) {
	f, size, err := disk.OpenSized(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() // it was only read
	_, metadata, _, err := readHeader(f, size)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return metadata, nil
}

func readFile(path string, decode func([]byte) (*File, error)) (*File, error) {
	data, err := readDescribed(path)
	if err != nil {
		return nil, err
	}
	f, err := decode(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return f, nil
}

// readDescribed reads a file up to the size according to its header. If the file is longer, it reads one more byte, so
// decode detects the error.
func readDescribed(path string) ([]byte, error) {
	f, whole, err := disk.OpenSized(path)
	if err != nil {
		return nil, err
	}
	size := min(whole, described(f, whole))
	if err := memory.Check("its content", memory.Product(int(size))); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), f.Close())
	}
	data := make([]byte, size)
	_, err = io.ReadFull(f, data)
	return data, errors.Join(err, f.Close())
}

// sizes are the sizes of supported element types in bytes. BF16 is only read.
var sizes = map[string]int{"F64": 8, "I64": 8, "F32": 4, "F16": 2, "BF16": 2, "U8": 1}

// dtypeOf returns the format's name for a tensor's elements and their number.
func dtypeOf(data any) (name string, n int, err error) {
	switch data := data.(type) {
	case []float32:
		return "F32", len(data), nil
	case Half:
		return "F16", len(data), nil
	case []float64:
		return "F64", len(data), nil
	case []int64:
		return "I64", len(data), nil
	case []uint8:
		return "U8", len(data), nil
	}
	return "", 0, fmt.Errorf("elements of type %T; want []float32, Half, []float64, []int64 or []uint8", data)
}
