package arrays

import (
	"fmt"
	"slices"

	"github.com/unravel-ml/unravel/internal/matfile"
)

// openMAT opens a version 5 MATLAB file.
func openMAT(path string) (File, error) {
	f, err := matfile.Open(path)
	if err != nil {
		return nil, err
	}
	return &archive{path, f.Names, func(name, label string) (*Array, error) {
		names := f.Names()
		if slices.Contains(names[slices.Index(names, name)+1:], name) {
			return nil, fmt.Errorf("%s: several variables are called %s; want one", path, name)
		}
		return FromMAT(f.Find(name), label)
	}, f.Close}, nil
}

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

type matStream struct{ *matfile.Reader }

func (matStream) Unit() int    { return 0 }
func (matStream) Close() error { return nil }
