package graph

import (
	"fmt"
	"strings"

	"gorgonia.org/tensor"
)

// Float is an element type of operations.
type Float interface{ float32 | float64 }

// Body computes an operation on elements of type T, so both element types share the source code.
type Body[T Float] interface {
	// Forward overwrites out, the elements of the result, given the elements of the inputs.
	Forward(in [][]T, out []T)

	// Backward overwrites din[i] with the gradient with respect to input i, given the gradient dout with respect to the
	// result. din[i] is nil if that gradient is not needed. The last Forward had the same inputs.
	Backward(in [][]T, out, dout []T, din [][]T)
}

// Bodies returns the New function of a [Spec], for a Body that depends only on the shapes of the inputs:
//
//	New: graph.Bodies(newHuber[float32], newHuber[float64])
//
// newHuber[T] takes the shapes and returns a [Body] of T.
func Bodies[A Body[float32], B Body[float64]](single func(in []tensor.Shape) A,
	double func(in []tensor.Shape) B) func([]tensor.Shape, tensor.Shape, tensor.Dtype) (Func, error) {
	return func(in []tensor.Shape, _ tensor.Shape, dt tensor.Dtype) (Func, error) {
		if dt == tensor.Float32 {
			return NewFunc[float32](single(in)), nil
		}
		return NewFunc[float64](double(in)), nil
	}
}

// function is the Func of a Body.
type function[T Float] struct {
	body    Body[T]
	in, din [][]T
}

// NewFunc returns the Func of a Body for elements of type T.
func NewFunc[T Float](b Body[T]) Func { return &function[T]{body: b} }

func (f *function[T]) Forward(in []Array, out Array) error {
	f.read(in)
	f.body.Forward(f.in, elements[T](out))
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
	f.body.Backward(f.in, elements[T](out), elements[T](dout), f.din)
	return nil
}

func (f *function[T]) read(in []Array) {
	f.in = f.in[:0]
	for _, a := range in {
		f.in = append(f.in, elements[T](a))
	}
}

func elements[T Float](a Array) []T {
	var s []T
	switch p := any(&s).(type) {
	case *[]float32:
		*p = a.F32
	case *[]float64:
		*p = a.F64
	}
	return s
}

// Wanted returns the error "want what, got got" for invalid inputs or parameters of an operation.
func Wanted(what string, got any) error { return fmt.Errorf("want %s, got %v", what, got) }

// Matrix checks that a shape is [rows, columns] with at least one of each.
func Matrix(name string, s tensor.Shape) (rows, columns int, err error) {
	if s.Dims() != 2 || s[0] < 1 || s[1] < 1 {
		return 0, 0, Wanted(name+" of shape [rows, columns]", s)
	}
	return s[0], s[1], nil
}

// Key joins the parameters of an operation into the Key of its [Spec].
func Key(parameters ...any) string {
	s := make([]string, len(parameters))
	for i, p := range parameters {
		s[i] = fmt.Sprint(p)
	}
	return strings.Join(s, " ")
}
