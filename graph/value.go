package graph

import (
	"fmt"

	"github.com/chewxy/hm"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// elementType returns the element type of a node, float32 or float64, or an error.
func elementType(n *gorgonia.Node) (tensor.Dtype, error) {
	t := n.Type()
	if tt, ok := t.(gorgonia.TensorType); ok {
		t = tt.Of
	}
	if dt, ok := t.(tensor.Dtype); ok && (dt == tensor.Float32 || dt == tensor.Float64) {
		return dt, nil
	}
	return tensor.Dtype{}, fmt.Errorf("want float32 or float64 elements, got %v", n.Type())
}

func typeOf(dt tensor.Dtype, s tensor.Shape) hm.Type {
	if s.IsScalar() {
		return dt
	}
	return gorgonia.TensorType{Dims: s.Dims(), Of: dt}
}

// operands views the values of an operation's inputs as arrays.
type operands struct {
	dtype  tensor.Dtype
	shapes []tensor.Shape
	arrays []Array
	copies []Array // copies of values that are not in row-major order
}

func newOperands(dt tensor.Dtype, shapes []tensor.Shape) operands {
	o := operands{dtype: dt, shapes: shapes, arrays: make([]Array, len(shapes)), copies: make([]Array, len(shapes))}
	for i, s := range shapes {
		o.arrays[i].Shape = s
	}
	return o
}

// read sets the arrays to the elements of the values. It copies a value only if it is not in row-major order.
func (o *operands) read(values []gorgonia.Value) error {
	if len(values) != len(o.shapes) {
		return fmt.Errorf("want %d inputs, got %d", len(o.shapes), len(values))
	}
	for i, v := range values {
		a, c := &o.arrays[i], &o.copies[i]
		a.F32, a.F64 = nil, nil
		switch v := v.(type) {
		case *gorgonia.F32:
			c.F32 = append(c.F32[:0], float32(*v))
			a.F32 = c.F32
		case *gorgonia.F64:
			c.F64 = append(c.F64[:0], float64(*v))
			a.F64 = c.F64
		case *tensor.Dense:
			if v.Dtype() != o.dtype {
				return fmt.Errorf("input %d: want elements of type %v, got %v", i, o.dtype, v.Dtype())
			}
			if err := o.readDense(i, v); err != nil {
				return fmt.Errorf("input %d: %w", i, err)
			}
		default:
			return fmt.Errorf("input %d: want a dense tensor or a scalar, got %T", i, v)
		}
		if got, want := len(a.F32)+len(a.F64), o.shapes[i].TotalSize(); got != want || v.Dtype() != o.dtype {
			return fmt.Errorf("input %d: want %d elements of type %v (shape %v), got %d of type %v (shape %v)",
				i, want, o.dtype, o.shapes[i], got, v.Dtype(), v.Shape())
		}
	}
	return nil
}

func (o *operands) readDense(i int, t *tensor.Dense) error {
	a := &o.arrays[i]
	if !t.RequiresIterator() && t.DataOrder().IsRowMajor() {
		if o.dtype == tensor.Float32 {
			a.F32 = t.Float32s()
		} else {
			a.F64 = t.Float64s()
		}
		return nil
	}
	c := &o.copies[i]
	c.F32, c.F64 = c.F32[:0], c.F64[:0]
	if t.IsMasked() {
		return fmt.Errorf("want a tensor without a mask")
	}
	for iterator := t.Iterator(); ; {
		j, err := iterator.Next()
		if err != nil {
			break // the iterator returns an error at the end
		}
		if o.dtype == tensor.Float32 {
			c.F32 = append(c.F32, t.Float32s()[j])
		} else {
			c.F64 = append(c.F64, t.Float64s()[j])
		}
	}
	a.F32, a.F64 = c.F32, c.F64
	return nil
}

// result is the value of an operation, in its own memory.
type result struct {
	shape tensor.Shape
	dtype tensor.Dtype
	array Array
	held  gorgonia.Value
}

func (r *result) allocated() bool { return r.held != nil }

// value returns the Gorgonia value of the array. A scalar is a copy.
func (r *result) value() gorgonia.Value {
	switch v := r.held.(type) {
	case *gorgonia.F32:
		*v = gorgonia.F32(r.array.F32[0])
	case *gorgonia.F64:
		*v = gorgonia.F64(r.array.F64[0])
	}
	return r.held
}

func (r *result) allocate() {
	if r.held != nil {
		return
	}
	r.array.Shape = r.shape
	n, scalar := r.shape.TotalSize(), r.shape.IsScalar()
	var backing any
	if r.dtype == tensor.Float32 {
		r.array.F32 = make([]float32, n)
		backing = r.array.F32
	} else {
		r.array.F64 = make([]float64, n)
		backing = r.array.F64
	}
	switch {
	case !scalar:
		r.held = tensor.New(tensor.WithShape(r.shape.Clone()...), tensor.WithBacking(backing))
	case r.dtype == tensor.Float32:
		r.held = gorgonia.NewF32(0)
	default:
		r.held = gorgonia.NewF64(0)
	}
}
