// Package matfile reads arrays of numbers from version 5 MATLAB files
// (https://www.mathworks.com/help/pdf_doc/matlab/matfile_format.pdf). MATLAB writes this format as versions 5 to 7. The
// package reads plain and compressed elements in both byte orders, and numeric and logical arrays with any storage
// type.
//
// Cells, structures, strings, sparse and complex arrays have a name and a shape, but opening them gives an error.
// Elements are in the order of the file: the first index varies fastest. Files of version 7.3 are HDF5 files.
package matfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/klauspost/compress/zlib"

	"github.com/unravel-ml/unravel/internal/dims"
	"github.com/unravel-ml/unravel/internal/disk"
	"github.com/unravel-ml/unravel/internal/dtype"
)

// Data types in files.
const (
	typeInt8       = 1
	typeInt32      = 5
	typeUint32     = 6
	typeMatrix     = 14
	typeCompressed = 15
)

// storedTypes are the storage types of numbers.
var storedTypes = map[int]dtype.Type{
	1: kind('i', 1), 2: kind('u', 1), 3: kind('i', 2), 4: kind('u', 2), 5: kind('i', 4), 6: kind('u', 4), 7: kind('f', 4),
	9:  kind('f', 8),
	12: kind('i', 8), 13: kind('u', 8),
}

// numberClasses are the numeric classes of arrays.
var numberClasses = map[int]dtype.Type{
	6: kind('f', 8), 7: kind('f', 4), 8: kind('i', 1), 9: kind('u', 1), 10: kind('i', 2), 11: kind('u', 2),
	12: kind('i', 4), 13: kind('u', 4),
	14: kind('i', 8), 15: kind('u', 8),
}

// otherClasses has the names of classes that the package does not support.
var otherClasses = map[int]string{
	1: "a cell array", 2: "a structure", 3: "an object", 4: "text", 5: "a sparse array", 16: "a function", 17: "an object",
}

const opaqueClass = 17

func kind(k byte, size int) dtype.Type {
	t, _ := dtype.Find(k, size)
	return t
}

const (
	headerSize   = 128
	maxVariables = 1 << 16
	maxText      = 1 << 12 // maximum size of a name or of the dimensions of an array, in bytes
	mostPacked   = 1040    // maximum compression ratio of deflate
)

// File is an open file. It is safe for concurrent use.
type File struct {
	name   string
	r      io.ReaderAt
	size   int64
	order  binary.ByteOrder
	closer io.Closer
	list   []*Variable
}

type Variable struct {
	Name  string
	Shape []int
	Type  dtype.Type // type of the class; without a name if the class is not supported

	file   *File
	why    string // why the variable cannot be read
	at     int64  // position of the element in the file, after its tag
	n      int64  // size of the element in the file
	packed bool
}

// Open opens a file and lists its variables.
func Open(path string) (*File, error) {
	f, size, err := disk.OpenSized(path)
	if err != nil {
		return nil, err
	}
	m, err := New(f, size, path)
	if err != nil {
		f.Close()
		return nil, err
	}
	m.closer = f
	return m, nil
}

// New lists the variables of a file with the given size. Errors start with name.
func New(r io.ReaderAt, size int64, name string) (*File, error) {
	f := &File{name: name, r: r, size: size}
	if err := f.read(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return f, nil
}

func (f *File) Close() error {
	if f.closer == nil {
		return nil
	}
	return f.closer.Close()
}

// Is reports whether start may be the start of a version 5 file.
func Is(start []byte) bool {
	if len(start) < headerSize {
		return false
	}
	end := string(start[headerSize-4 : headerSize])
	return end == "\x00\x01IM" || end == "\x01\x00MI"
}

// Names lists the variables in the order of the file.
func (f *File) Names() []string {
	names := make([]string, len(f.list))
	for i, v := range f.list {
		names[i] = v.Name
	}
	return names
}

// Find returns the variable with the given name, or nil.
func (f *File) Find(name string) *Variable {
	i := slices.IndexFunc(f.list, func(v *Variable) bool { return v.Name == name })
	if i < 0 {
		return nil
	}
	return f.list[i]
}

func (f *File) read() error {
	header := make([]byte, headerSize)
	n, err := f.r.ReadAt(header, 0)
	switch version := string(header[headerSize-4:]); {
	case n > 4 && slices.Contains(header[:4], 0):
		return errors.New("not a MATLAB file of version 5 to 7, perhaps of version 4; want a file saved with -v7")
	case n < headerSize:
		return early(err, fmt.Errorf("not a MATLAB file: it has only %d bytes", n))
	case Is(header):
		f.order = binary.LittleEndian
		if version[2:] == "MI" {
			f.order = binary.BigEndian
		}
	case version == "\x00\x02IM":
		return errors.New("a file of MATLAB 7.3, which is HDF5; want version 5 to 7, saved with -v7")
	default:
		return errors.New("not a MATLAB file")
	}
	for at := int64(headerSize); at < f.size; {
		v, next, err := f.variable(at)
		if err != nil {
			return fmt.Errorf("element %d at byte %d: %w", len(f.list)+1, at, err)
		}
		if v != nil {
			f.list = append(f.list, v)
		}
		if len(f.list) > maxVariables {
			return fmt.Errorf("more than %d variables", maxVariables)
		}
		at = next
	}
	return nil
}

// variable reads the description of the variable at a position, or returns nil if the element is not a variable. next
// is the position of the next element.
func (f *File) variable(at int64) (v *Variable, next int64, err error) {
	var tag [8]byte
	if n, err := f.r.ReadAt(tag[:], at); n < len(tag) {
		return nil, 0, early(err, errCutOff)
	}
	v = &Variable{file: f, at: at + 8, n: int64(f.order.Uint32(tag[4:]))}
	kind := int(f.order.Uint32(tag[:]))
	next = v.at + v.n
	if next > f.size {
		return nil, 0, fmt.Errorf("%w: it says that it has %d bytes, and the file ends after %d", errCutOff, v.n, f.size-v.at)
	}
	if kind != typeMatrix && kind != typeCompressed {
		return nil, next, nil
	}
	v.packed = kind == typeCompressed
	e, err := v.elements()
	if err == nil {
		err = v.describe(e)
	}
	return v, next, err
}

var errCutOff = errors.New("the file is damaged or cut off")

// early returns meaning for an unexpected end of the file, and err otherwise.
func early(err, meaning error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return meaning
	}
	return err
}

// elements returns the subelements of the variable, after the tag of the matrix.
func (v *Variable) elements() (*elements, error) {
	e := &elements{order: v.file.order, left: v.n, src: io.NewSectionReader(v.file.r, v.at, v.n)}
	if !v.packed {
		return e, nil
	}
	z, err := zlib.NewReader(e.src)
	if err != nil {
		return nil, early(err, errCutOff)
	}
	e.src, e.packed = z, true
	kind, n, err := e.tag()
	if err != nil {
		return nil, err
	}
	if kind != typeMatrix || n > mostPacked*v.n+1<<10 {
		return nil, fmt.Errorf("%d packed bytes that hold %d of type %d: %w", v.n, n, kind, errCutOff)
	}
	e.left = n
	return e, nil
}

// describe reads the class, shape and name of a variable.
func (v *Variable) describe(e *elements) error {
	flags, err := e.small(typeUint32)
	if err != nil {
		return err
	}
	if len(flags) != 8 {
		return fmt.Errorf("flags of %d bytes: %w", len(flags), errCutOff)
	}
	word := v.file.order.Uint32(flags)
	class, logical, isComplex := int(word&0xff), word&0x200 != 0, word&0x800 != 0
	if class != opaqueClass { // opaque objects have no shape
		sizes, err := e.small(typeInt32)
		if err != nil {
			return err
		}
		for i := 0; i+4 <= len(sizes); i += 4 {
			v.Shape = append(v.Shape, int(int32(v.file.order.Uint32(sizes[i:]))))
		}
	}
	name, err := e.small(typeInt8)
	if err != nil {
		return err
	}
	v.Name = string(name)
	t, ok := numberClasses[class]
	switch {
	case !ok && otherClasses[class] != "":
		v.why = "is " + otherClasses[class]
	case !ok:
		v.why = fmt.Sprintf("is of an unknown class %d", class)
	case isComplex:
		v.why = "is an array of complex numbers"
	case logical && t.Size == 1:
		v.Type = dtype.Bool
	default:
		v.Type = t
	}
	if v.why == "" && len(v.Shape) < 2 {
		return fmt.Errorf("%s has %d dimensions; want at least 2: %w", v.Name, len(v.Shape), errCutOff)
	}
	if v.why == "" {
		_, err = dims.Count(v.Shape, t.Size)
	}
	return err
}
