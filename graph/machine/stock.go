package machine

import (
	"fmt"
	"slices"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/internal/numeric"
)

// stockOp recognises the few Gorgonia operations that may write into a value from an earlier run: elementwise
// arithmetic with two operands, and matrix products. For all other operations it uses Do, which is always correct. For
// example, the gradient of Slice adds to the value that it is given.
func stockOp(o gorgonia.Op) (add, reuse bool) {
	if o == nil {
		return false, false
	}
	switch fmt.Sprintf("%T", o) {
	case "gorgonia.elemBinOp":
		switch o.String() {
		case "+ false":
			return true, true
		case "- false", "⊙ false", "÷ false":
			return false, true
		}
	case "gorgonia.linAlgBinOp":
		switch o.String() {
		case "A × B", "Aᵀ × B", "A × Bᵀ", "Aᵀ × Bᵀ":
			return false, true
		}
	}
	return false, false
}

// stockProduct reports whether an operation is Gorgonia's product, element by element.
func stockProduct(o gorgonia.Op) bool {
	return fmt.Sprintf("%T", o) == "gorgonia.elemBinOp" && o.String() == "⊙ false"
}

// shared reports whether a value may share memory with an operand. The machine must not overwrite such a value.
func shared(v gorgonia.Value, operands []gorgonia.Value) bool {
	t, ok := v.(*tensor.Dense)
	if !ok {
		return true
	}
	return slices.ContainsFunc(operands, func(o gorgonia.Value) bool {
		return o.Uintptr() == t.Uintptr() || o.Dtype() != t.Dtype()
	})
}

// total is a sum of two values; tensors are added in parallel.
type total struct {
	value   gorgonia.Value
	singles *adder[float32]
	doubles *adder[float64]
}

// add computes a + b for two scalars, or for dense tensors of one shape in row-major order. For other values it
// returns false and does nothing.
func (t *total) add(a, b gorgonia.Value) bool {
	switch a := a.(type) {
	case *gorgonia.F32:
		return addScalars(&t.value, a, b)
	case *gorgonia.F64:
		return addScalars(&t.value, a, b)
	case *tensor.Dense:
		b, ok := b.(*tensor.Dense)
		return ok && t.addDense(a, b)
	}
	return false
}

func addScalars[S gorgonia.F32 | gorgonia.F64](sum *gorgonia.Value, a *S, b gorgonia.Value) bool {
	other, ok := any(b).(*S)
	if !ok {
		return false
	}
	s, ok := any(*sum).(*S)
	if !ok {
		s = new(S)
		*sum = any(s).(gorgonia.Value)
	}
	*s = *a + *other
	return true
}

func (t *total) addDense(a, b *tensor.Dense) bool {
	if !plain(a) || !plain(b) || a.Dtype() != b.Dtype() || !slices.Equal(a.Shape(), b.Shape()) {
		return false
	}
	s, ok := t.value.(*tensor.Dense)
	if !ok {
		s = tensor.New(tensor.Of(a.Dtype()), tensor.WithShape(a.Shape().Clone()...))
		t.value = s
		if a.Dtype() == tensor.Float32 {
			t.singles = newAdder[float32](s.DataSize())
		} else {
			t.doubles = newAdder[float64](s.DataSize())
		}
	}
	if a.Dtype() == tensor.Float32 {
		t.singles.add(s.Float32s(), a.Float32s(), b.Float32s())
	} else {
		t.doubles.add(s.Float64s(), a.Float64s(), b.Float64s())
	}
	return true
}

func plain(t *tensor.Dense) bool {
	dt := t.Dtype()
	return (dt == tensor.Float32 || dt == tensor.Float64) && !t.RequiresIterator() && t.DataOrder().IsRowMajor() &&
		!t.IsScalar()
}

// adder adds arrays of equal length on all threads.
type adder[T float32 | float64] struct {
	s, a, b []T
	loop    *numeric.Loop
}

func newAdder[T float32 | float64](n int) *adder[T] {
	d := &adder[T]{}
	d.loop = numeric.NewLoop(n, numeric.BlockSize, func(lo, hi int) float64 {
		s, a, b := d.s[lo:hi], d.a[lo:hi], d.b[lo:hi]
		for i := range s {
			s[i] = a[i] + b[i]
		}
		return 0
	})
	return d
}

func (d *adder[T]) add(s, a, b []T) {
	d.s, d.a, d.b = s, a, b
	d.loop.Run()
}
