package arrays

import (
	"bytes"
	"errors"
	"io/fs"
	"slices"

	"github.com/unravel-ml/unravel/internal/hdf5"
)

// hdf5File is an HDF5 file. In MATLAB files, the dimensions of arrays are reversed.
type hdf5File struct {
	*hdf5.File
	path   string
	matlab bool
}

func openHDF5(path string, start []byte) (File, error) {
	f, err := hdf5.Open(path)
	if err != nil {
		return nil, err
	}
	return &hdf5File{f, path, bytes.HasPrefix(start, []byte("MATLAB 7.3"))}, nil
}

func (f *hdf5File) Open(name string) (*Array, error) {
	a, err := f.Array(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, absent{f.path, name, f.Names()}
	}
	if err != nil {
		return nil, err
	}
	out := &Array{Label: f.Label(name), Shape: slices.Clone(a.Shape), Type: a.Type, open: func() (Stream, error) {
		r, err := a.NewReader()
		return &hdf5Stream{r: r}, err
	}}
	if f.matlab && len(a.Shape) > 1 {
		slices.Reverse(out.Shape)
		out.Reversed = true
	}
	return out, nil
}

func (f *hdf5File) Label(name string) string { return f.path + ": " + name }

// hdf5Stream reads slabs of rows.
type hdf5Stream struct {
	r    *hdf5.Reader
	pos  int64  // position in the array, in bytes
	slab []byte // the last rows read
	at   int64  // position of the slab
}

func (s *hdf5Stream) Close() error         { return nil }
func (s *hdf5Stream) Unit() int            { return s.r.Slab() * s.r.RowBytes() }
func (s *hdf5Stream) Skip(n int64) error   { s.pos += n; return nil }
func (s *hdf5Stream) inSlab(at int64) bool { return at >= s.at && at < s.at+int64(len(s.slab)) }

func (s *hdf5Stream) ReadFull(p []byte) error {
	unit, row := int64(s.Unit()), int64(s.r.RowBytes())
	for len(p) > 0 {
		if s.inSlab(s.pos) {
			n := copy(p, s.slab[s.pos-s.at:])
			s.pos, p = s.pos+int64(n), p[n:]
			continue
		}
		from := int(s.pos / unit * unit / row)
		to := min(from+int(unit/row), s.r.Rows())
		n := (to - from) * int(row)
		if s.pos%unit == 0 && len(p) >= n { // complete slabs go directly to p
			if err := s.r.ReadRows(p[:n], from, to); err != nil {
				return err
			}
			s.pos, p = s.pos+int64(n), p[n:]
			continue
		}
		if cap(s.slab) < n {
			s.slab = make([]byte, unit)
		}
		s.slab, s.at = s.slab[:0], 0
		if err := s.r.ReadRows(s.slab[:n], from, to); err != nil {
			return err
		}
		s.slab, s.at = s.slab[:n], s.pos/unit*unit
	}
	return nil
}
