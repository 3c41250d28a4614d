package graph

import (
	"fmt"
	"slices"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// DoDiff adds the gradients with respect to the inputs to the gradients of the nodes, given the gradient with respect
// to the result. Gorgonia's LispMachine calls it.
func (f *forward) DoDiff(_ gorgonia.ExecutionContext, inputs gorgonia.Nodes, output *gorgonia.Node) (err error) {
	defer f.explain(&err, f.shapes)
	if f.direct == nil {
		f.direct = newPullback(f)
	}
	values := make([]gorgonia.Value, 0, len(inputs)+2)
	for _, n := range inputs {
		values = append(values, n.Value())
	}
	dout, err := output.Grad()
	if err != nil {
		return err
	}
	p := f.direct
	if err := p.compute(p.all, append(values, output.Value(), dout)); err != nil {
		return err
	}
	for i, n := range inputs {
		if !p.all[i] {
			continue
		}
		held, err := n.Grad()
		if err == nil {
			err = accumulate(held, p.results[i].array)
		}
		if err != nil {
			return fmt.Errorf("gradient of input %d (%s): %w", i, n.Name(), err)
		}
	}
	return nil
}

// DoDiff returns an error, because operations have no second derivatives. It accepts a node with gradient 0, such as
// the nodes before StopGradient, because the LispMachine visits these too.
func (g *gradient) DoDiff(_ gorgonia.ExecutionContext, _ gorgonia.Nodes, output *gorgonia.Node) error {
	if d, err := output.Grad(); err == nil && zero(d) {
		return nil
	}
	return &Error{Op: g.String(), Shapes: g.pullback.op.shapes, Err: errSecond}
}

func zero(v gorgonia.Value) bool {
	switch v := v.(type) {
	case *gorgonia.F32:
		return *v == 0
	case *gorgonia.F64:
		return *v == 0
	case *tensor.Dense:
		if v.Dtype() == tensor.Float32 {
			return !slices.ContainsFunc(v.Float32s(), func(x float32) bool { return x != 0 })
		}
		return v.Dtype() == tensor.Float64 && !slices.ContainsFunc(v.Float64s(), func(x float64) bool { return x != 0 })
	}
	return false
}

// accumulate adds an array to a value of the same shape.
func accumulate(to gorgonia.Value, a Array) error {
	n := len(a.F32) + len(a.F64)
	switch v := to.(type) {
	case *gorgonia.F32:
		if a.F32 != nil && n == 1 {
			*v += gorgonia.F32(a.F32[0])
			return nil
		}
	case *gorgonia.F64:
		if a.F64 != nil && n == 1 {
			*v += gorgonia.F64(a.F64[0])
			return nil
		}
	case *tensor.Dense:
		if v.Shape().TotalSize() != n {
			break
		}
		switch {
		case a.F32 != nil && v.Dtype() == tensor.Float32:
			return accumulateDense(v, v.Float32s(), a.F32)
		case a.F64 != nil && v.Dtype() == tensor.Float64:
			return accumulateDense(v, v.Float64s(), a.F64)
		}
	}
	return fmt.Errorf("want a value of shape %v and of the operation's element type, got %T of shape %v",
		a.Shape, to, to.Shape())
}

// accumulateDense adds elements in row-major order to a tensor.
func accumulateDense[T Float](t *tensor.Dense, held, more []T) error {
	if !t.RequiresIterator() && t.DataOrder().IsRowMajor() {
		for i, x := range more {
			held[i] += x
		}
		return nil
	}
	iterator := t.Iterator()
	for _, x := range more {
		i, err := iterator.Next()
		if err != nil {
			return err
		}
		held[i] += x
	}
	return nil
}
