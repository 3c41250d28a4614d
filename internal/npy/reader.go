package npy

import (
	"archive/zip"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/klauspost/compress/flate"

	"github.com/unravel-ml/unravel/internal/disk"
	"github.com/unravel-ml/unravel/internal/dtype"
)

// Reader reads the elements of an array in order. It is not safe for concurrent use.
type Reader struct {
	Header
	name      string
	src       io.Reader
	closer    io.Closer
	dt        dtype.Type
	left      int  // number of unread elements
	sizeKnown bool // the header was checked against the size of the file
	checked   bool // src verifies a checksum at the end
	start     int  // number of bytes before the elements
	buf       []byte
}

// Open opens a .npy file and checks its header and its size.
func Open(path string) (*Reader, error) {
	f, size, err := disk.OpenSized(path)
	if err != nil {
		return nil, err
	}
	r, err := newReader(f, path, size)
	if err != nil {
		f.Close()
		return nil, err
	}
	r.closer = f
	return r, nil
}

// NewReader returns a reader for an array in r. Errors start with name.
func NewReader(r io.Reader, name string) (*Reader, error) { return newReader(r, name, -1) }

// newReader checks the header against the size of the data, if it is known.
func newReader(src io.Reader, name string, size int64) (*Reader, error) {
	h, dt, start, err := readHeader(src)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	n, err := count(h.Shape, dt.Size)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if want := int64(n) * int64(dt.Size); size >= 0 && size-start != want {
		word := "truncated"
		if size-start > want {
			word = "too long"
		}
		return nil, fmt.Errorf("%s: %s: %d bytes of data; want %d for shape %v of %s",
			name, word, size-start, want, h.Shape, h.DType)
	}
	return &Reader{
		Header: h, name: name, src: src, dt: dt, left: n, sizeKnown: size >= 0, start: int(start), buf: make([]byte, 1<<16),
	}, nil
}

func (r *Reader) Close() error {
	if r.closer == nil {
		return nil
	}
	return r.closer.Close()
}

// finish reads to the end of an archive member, where the archive verifies the checksum.
func (r *Reader) finish() error {
	if !r.checked {
		return nil
	}
	if _, err := r.src.Read(r.buf[:1]); err != nil && err != io.EOF {
		return fmt.Errorf("%s: %w", r.name, err)
	}
	r.checked = false
	return nil
}

func (r *Reader) truncated(err error) error {
	return fmt.Errorf("%s: %w", r.name, unexpected(err,
		fmt.Errorf("truncated: fewer than the %d elements of shape %v", r.Len(), r.Shape)))
}

// NPZ is an open .npz file. Reading from a damaged archive, or from one with wrong sizes, gives errors.
type NPZ struct {
	path string
	file *os.File
	size int64
	zip  *zip.Reader
}

func OpenNPZ(path string) (*NPZ, error) {
	f, size, err := disk.OpenSized(path)
	if err != nil {
		return nil, err
	}
	z, err := zip.NewReader(f, size)
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: not a .npz file: %w", path, err)
	}
	// This decompressor is a third faster than the standard library (BenchmarkDeflated).
	z.RegisterDecompressor(zip.Deflate, flate.NewReader)
	return &NPZ{path, f, size, z}, nil
}

// Names lists the arrays in the order of the file.
func (z *NPZ) Names() []string {
	var names []string
	for _, f := range z.zip.File {
		if filepath.Ext(f.Name) == ".npy" {
			names = append(names, strings.TrimSuffix(f.Name, ".npy"))
		}
	}
	return names
}

// Open returns a reader for one array; several readers may be open at the same time.
func (z *NPZ) Open(name string) (*Reader, error) {
	named := func(f *zip.File) bool { return f.Name == name+".npy" }
	i := slices.IndexFunc(z.zip.File, named)
	if i < 0 {
		return nil, fmt.Errorf("%s: no array %q; there are %s", z.path, name, strings.Join(z.Names(), ", "))
	}
	if next := slices.IndexFunc(z.zip.File[i+1:], named); next >= 0 {
		return nil, fmt.Errorf("%s: members %d and %d of the archive are both called %s.npy; want one",
			z.path, i+1, i+next+2, name)
	}
	f := z.zip.File[i]
	label := z.path + ": " + f.Name
	if f.UncompressedSize64 > math.MaxInt64 {
		return nil, fmt.Errorf("%s: the archive says that it has %d bytes", label, f.UncompressedSize64)
	}
	src, err := f.Open()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", label, err)
	}
	r, err := newReader(src, label, int64(f.UncompressedSize64))
	if err != nil {
		src.Close()
		return nil, err
	}
	// an archive can claim any size, but the maximum compression ratio is about 1000
	packed := min(f.CompressedSize64, uint64(z.size))
	r.sizeKnown = f.UncompressedSize64 <= 2000*packed+1<<20
	r.closer, r.checked = src, true
	return r, nil
}

func (z *NPZ) Close() error { return z.file.Close() }
