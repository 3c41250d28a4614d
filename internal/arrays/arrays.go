// Package arrays reads arrays of numbers from files in several formats: NumPy's .npy and .npz and folders of .npy
// files, HDF5, and MATLAB.
//
// An [Array] need not fit in memory: [Array.Rows] reads some rows at a time, optionally with permuted axes.
package arrays

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/internal/disk"
	"github.com/unravel-ml/unravel/internal/dtype"
	"github.com/unravel-ml/unravel/internal/hdf5"
	"github.com/unravel-ml/unravel/internal/matfile"
	"github.com/unravel-ml/unravel/internal/npy"
)

// File is an open file or folder with arrays.
type File interface {
	// Names lists the names of arrays and other objects in the file.
	Names() []string
	// Open opens an array. If no array has that name, the error is [fs.ErrNotExist].
	Open(name string) (*Array, error)
	// Label returns the name of an array with the file, for errors.
	Label(name string) string
	Close() error
}

// Array is an array in a file. It is safe for concurrent use if each goroutine has its own Stream.
type Array struct {
	Label    string // for errors: file and name
	Shape    []int  // empty for a scalar
	Type     dtype.Type
	Reversed bool // Fortran order, as in MATLAB: the first index varies fastest

	Files []string // files with consecutive rows if there are several; otherwise nil

	open  func() (Stream, error)
	start int // offset of the elements in a file that otherwise has only little-endian elements; 0 for other files
}

// Plain returns the offset of the elements if the file Label has them as little-endian bytes in the order of the axes.
func Plain(a *Array, axes []int) (start int, ok bool) {
	return a.start, a.start > 0 && !a.Reversed && slices.IsSorted(axes)
}

// Stream returns the elements of an array in the order of the file, as little-endian bytes.
type Stream interface {
	// ReadFull fills p with whole elements.
	ReadFull(p []byte) error
	// Skip skips bytes of whole elements.
	Skip(bytes int64) error
	// Unit is the best size of a read in bytes, at multiples of it; 0 if all sizes are equally good.
	Unit() int
	Close() error
}

// String describes the array in errors: its label, shape and type.
func (a *Array) String() string { return fmt.Sprintf("%s (%v, %s)", a.Label, a.Shape, a.Type) }

// Open opens a file or a folder of .npy files. The content of a file determines its format.
func Open(path string) (File, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return folder(path), nil
	}
	f, err := disk.Open(path)
	if err != nil {
		return nil, err
	}
	start := make([]byte, 1024)
	n, err := io.ReadFull(f, start)
	f.Close()
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return nil, err
	}
	start = start[:n]
	if matfile.Is(start) {
		return openMAT(path)
	}
	switch ext := strings.ToLower(filepath.Ext(path)); {
	case bytes.HasPrefix(start, []byte("\x93NUMPY")):
		return single(path), nil
	case bytes.HasPrefix(start, []byte("PK\x03\x04")), bytes.HasPrefix(start, []byte("PK\x05\x06")):
		return OpenNPZ(path)
	case hdf5.Is(start):
		return openHDF5(path, start)
	case ext == ".npy":
		return single(path), nil
	case ext == ".npz":
		return OpenNPZ(path)
	case ext == ".h5", ext == ".hdf5":
		return openHDF5(path, start)
	case ext == ".mat":
		return openMAT(path)
	}
	return nil, fmt.Errorf("%s is no file of arrays; want .npy, .npz, HDF5 (.h5, .hdf5), MATLAB (.mat) or a folder with images.npy", path)
}

// absent is the error of a missing array: an [fs.ErrNotExist] that does not call the file missing.
type absent struct {
	path, name string
	names      []string
}

func (a absent) Error() string {
	if len(a.names) == 0 {
		return fmt.Sprintf("%s: no array %q, and no other", a.path, a.name)
	}
	return fmt.Sprintf("%s: no array %q; there are %s", a.path, a.name, strings.Join(a.names, ", "))
}

func (a absent) Is(target error) bool { return target == fs.ErrNotExist }

// Only returns the name of the only array in an archive, or "" if the file has several arrays or is not an archive.
func Only(f File) string {
	switch f.(type) {
	case folder, single:
		return ""
	}
	if names := f.Names(); len(names) == 1 {
		return names[0]
	}
	return ""
}

// folder is a folder of .npy files. The rows of an array may be in several files, see [Shards].
type folder string

func (d folder) Names() []string {
	files, _ := filepath.Glob(filepath.Join(string(d), "*.npy")) // if this fails, opening a file reports the error
	for i, f := range files {
		files[i] = strings.TrimSuffix(filepath.Base(f), ".npy")
	}
	return files
}

func (d folder) Open(name string) (*Array, error) {
	if !filepath.IsLocal(name) {
		return nil, fmt.Errorf("%q is no name of an array; want the name of a file in %s, without .npy", name, string(d))
	}
	if files := Shards(string(d), name); len(files) > 0 {
		return openShards(filepath.Join(string(d), name+"-*.npy"), files)
	}
	return openNPY(d.Label(name))
}

func (d folder) Label(name string) string { return filepath.Join(string(d), name+".npy") }
func (d folder) Close() error             { return nil }

// single is a .npy file; its array has any name.
type single string

func (f single) Names() []string {
	return []string{strings.TrimSuffix(filepath.Base(string(f)), ".npy")}
}
func (f single) Open(name string) (*Array, error) { return openNPY(string(f)) }
func (f single) Label(string) string              { return string(f) }
func (f single) Close() error                     { return nil }

func openNPY(path string) (*Array, error) {
	start := 0
	a, err := newNPY(path, func() (*npy.Reader, error) {
		r, err := npy.Open(path)
		if err == nil && !r.BigEndian {
			start = r.Start()
		}
		return r, err
	})
	if err == nil {
		a.start = start
	}
	return a, err
}

func newNPY(label string, open func() (*npy.Reader, error)) (*Array, error) {
	r, err := open()
	if err != nil {
		return nil, err
	}
	if !r.Plausible() {
		err = fmt.Errorf("%s (%v, %s) is larger than the archive can hold: it is damaged", label, r.Shape, r.DType)
	}
	a := &Array{Label: label, Shape: r.Shape, Type: r.DataType(), Reversed: r.Fortran && len(r.Shape) > 1}
	a.open = func() (Stream, error) {
		r, err := open()
		if err != nil {
			return nil, err
		}
		return npyStream{r}, nil
	}
	return a, errors.Join(err, r.Close())
}

type npyStream struct{ *npy.Reader }

func (s npyStream) ReadFull(p []byte) error { return s.ReadRaw(p) }
func (s npyStream) Skip(n int64) error      { return s.Reader.Skip(int(n) / s.DataType().Size) }
func (s npyStream) Unit() int               { return 0 }

// archive is a file with several named arrays.
type archive struct {
	path  string
	names func() []string
	open  func(name, label string) (*Array, error)
	close func() error
}

func (a *archive) Names() []string          { return a.names() }
func (a *archive) Label(name string) string { return a.path + ": " + name }
func (a *archive) Close() error             { return a.close() }

func (a *archive) Open(name string) (*Array, error) {
	if names := a.names(); !slices.Contains(names, name) {
		return nil, absent{a.path, name, names}
	}
	return a.open(name, a.Label(name))
}

// OpenNPY returns a file with one array in NumPy's format. The array has any name.
func OpenNPY(path string) File { return single(path) }

// OpenNPZ opens an archive of arrays in NumPy's format.
func OpenNPZ(path string) (File, error) {
	z, err := npy.OpenNPZ(path)
	if err != nil {
		return nil, err
	}
	return &archive{path, z.Names, func(name, label string) (*Array, error) {
		return newNPY(label, func() (*npy.Reader, error) { return z.Open(name) })
	}, z.Close}, nil
}
