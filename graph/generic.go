package graph

import (
	"fmt"
	"strings"

	"gorgonia.org/tensor"
)

type float interface{ float32 | float64 }

// body computes an operation on elements of type T. The slices of gradients that
// are not wanted are nil.
type body[T float] interface {
	forward(in [][]T, out []T)
	backward(in [][]T, out, dout []T, din [][]T)
}

// function makes a Func of an operation's body.
type function[T float] struct {
	body    body[T]
	in, din [][]T
}

func newFunc[T float](b body[T]) Func { return &function[T]{body: b} }

func (f *function[T]) Forward(in []Array, out Array) error {
	f.read(in)
	f.body.forward(f.in, elements[T](out))
	return nil
}

func (f *function[T]) Backward(in []Array, out, dout Array, din []Array, want []bool) error {
	f.read(in)
	f.din = f.din[:0]
	for i, d := range din {
		if want[i] {
			f.din = append(f.din, elements[T](d))
		} else {
			f.din = append(f.din, nil)
		}
	}
	f.body.backward(f.in, elements[T](out), elements[T](dout), f.din)
	return nil
}

func (f *function[T]) read(in []Array) {
	f.in = f.in[:0]
	for _, a := range in {
		f.in = append(f.in, elements[T](a))
	}
}

// elements returns the elements of an array whose type is known to be T.
func elements[T float](a Array) []T {
	var s []T
	switch p := any(&s).(type) {
	case *[]float32:
		*p = a.F32
	case *[]float64:
		*p = a.F64
	}
	return s
}

// singles returns x as a slice of float32 if that is what it is.
func singles[T float](x []T) ([]float32, bool) {
	p, ok := any(&x).(*[]float32)
	if !ok {
		return nil, false
	}
	return *p, true
}

// wanted formats the error of a shape that does not fit.
func wanted(what string, got any) error { return fmt.Errorf("%s wanted, got %v", what, got) }

// rowsOf checks that a shape is [rows, columns] with at least one of each.
func rowsOf(name string, s tensor.Shape) (rows, columns int, err error) {
	if s.Dims() != 2 || s[0] < 1 || s[1] < 1 {
		return 0, 0, wanted(name+" of shape [rows, columns]", s)
	}
	return s[0], s[1], nil
}

// keyOf joins parameters into a Spec's key.
func keyOf(parameters ...any) string {
	s := make([]string, len(parameters))
	for i, p := range parameters {
		s[i] = fmt.Sprint(p)
	}
	return strings.Join(s, " ")
}
