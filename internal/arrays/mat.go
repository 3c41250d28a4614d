package arrays

import (
	"fmt"
	"slices"

	"github.com/unravel-ml/unravel/internal/matfile"
)

// matFile is a MATLAB file of version 5.
type matFile struct {
	*matfile.File
	path string
}

func openMAT(path string) (File, error) {
	f, err := matfile.Open(path)
	if err != nil {
		return nil, err
	}
	return &matFile{f, path}, nil
}

func (f *matFile) Open(name string) (*Array, error) {
	names := f.Names()
	first := slices.Index(names, name)
	if first < 0 {
		return nil, absent{f.path, name, names}
	}
	if slices.Contains(names[first+1:], name) {
		return nil, fmt.Errorf("%s: several variables are called %s; want one", f.path, name)
	}
	return FromMAT(f.Find(name), f.Label(name))
}

func (f *matFile) Label(name string) string { return f.path + ": " + name }

// FromMAT returns a variable of a MATLAB file as an array.
func FromMAT(v *matfile.Variable, label string) (*Array, error) {
	if err := v.Err(); err != nil {
		return nil, err
	}
	return &Array{Label: label, Shape: slices.Clone(v.Shape), Type: v.Type, Reversed: true, open: func() (Stream, error) {
		r, err := v.NewReader()
		return matStream{r}, err
	}}, nil
}

// matStream is a reader of a variable as a stream.
type matStream struct{ *matfile.Reader }

func (matStream) Unit() int    { return 0 }
func (matStream) Close() error { return nil }
