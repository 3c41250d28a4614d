// Package check checks the inputs of losses: blocks of code columns, labels, and arrays of equal shapes.
package check

import (
	"fmt"
	"slices"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/vulkan"
	"github.com/unravel-ml/unravel/internal/numeric"
)

// Blocks checks blocks of columns of codes and labels, the two inputs.
func Blocks(blocks []factor.Block, in []tensor.Shape) error {
	rows, columns, err := graph.Matrix("codes", in[0])
	if err != nil {
		return err
	}
	factors, err := Labels("labels", in[1], rows)
	switch {
	case err != nil:
		return err
	case len(blocks) == 0:
		return graph.Wanted("a block of code columns for a factor", "none")
	}
	for _, b := range blocks {
		if b.Factor < 0 || b.Factor >= factors {
			return graph.Wanted(fmt.Sprintf("blocks of factors 0 to %d, the columns of the labels", factors-1), b.Factor)
		}
		if len(b.Columns) == 0 {
			return graph.Wanted(fmt.Sprintf("a code column for factor %d", b.Factor), "none")
		}
		if err := Distinct("code columns", b.Columns, columns); err != nil {
			return fmt.Errorf("factor %d: %w", b.Factor, err)
		}
	}
	return nil
}

// OrEven returns a copy of blocks. If there are none, it divides the columns of z evenly among the columns of labels.
func OrEven(blocks []factor.Block, z, labels *gorgonia.Node) ([]factor.Block, error) {
	if len(blocks) > 0 {
		blocks = slices.Clone(blocks)
		for i, b := range blocks {
			blocks[i].Columns = slices.Clone(b.Columns)
		}
		return blocks, nil
	}
	if z == nil || labels == nil || z.Dims() != 2 || labels.Dims() < 1 || labels.Dims() > 2 {
		return nil, fmt.Errorf("want codes [n, d] and groups [n] or [n, K], got %v and %v", ShapeOf(z), ShapeOf(labels))
	}
	width, factors := z.Shape()[1], 1
	if labels.Dims() == 2 {
		factors = labels.Shape()[1]
	}
	if factors == 0 || width%factors != 0 || width == 0 {
		return nil, fmt.Errorf("%d code columns cannot be divided evenly among %d factors; want blocks", width, factors)
	}
	return Shares(width, factors), nil
}

// Shares gives each factor width/factors consecutive columns.
func Shares(width, factors int) []factor.Block {
	blocks, share := make([]factor.Block, factors), width/factors
	for i := range blocks {
		blocks[i] = factor.Block{Factor: i, Columns: numeric.UpTo(width)[i*share : (i+1)*share]}
	}
	return blocks
}

// Optional returns the inputs of an operation, without the last input if it is nil.
func Optional(in ...*gorgonia.Node) []*gorgonia.Node {
	if last := len(in) - 1; in[last] == nil {
		return in[:last]
	}
	return in
}

// Buffer returns input i of an operation on a device, or a zero Buffer if there is no such input.
func Buffer(in []vulkan.Buffer, i int) (b vulkan.Buffer) {
	if i < len(in) {
		b = in[i]
	}
	return b
}

// ShapeOf returns the shape of a node for an error message.
func ShapeOf(n *gorgonia.Node) any {
	if n == nil {
		return "nothing"
	}
	return n.Shape()
}

// Labels checks that a shape is [rows, K] or [rows], and returns K.
func Labels(name string, s tensor.Shape, rows int) (int, error) {
	switch {
	case s.Dims() == 1 && s[0] == rows:
		return 1, nil
	case s.Dims() == 2 && s[0] == rows && s[1] >= 1:
		return s[1], nil
	}
	return 0, graph.Wanted(fmt.Sprintf("%s of shape [%d] or [%d, factors]", name, rows, rows), s)
}

// Factors returns the number of columns of labels.
func Factors(labels tensor.Shape) int { return labels.TotalSize() / labels[0] }

// Distinct checks that indices are distinct and below a bound.
func Distinct(name string, indices []int, bound int) error {
	for i, v := range indices {
		if v < 0 || v >= bound || slices.Contains(indices[:i], v) {
			return graph.Wanted(fmt.Sprintf("different %s from 0 to %d", name, bound-1), indices)
		}
	}
	return nil
}

// Matrices checks that the inputs have the same shape [rows, columns].
func Matrices(names string, in ...tensor.Shape) error {
	for _, s := range in {
		if s.Dims() != 2 || s.TotalSize() < 1 || !slices.Equal(s, in[0]) {
			return graph.Wanted(names+" of one shape [rows, columns]", in)
		}
	}
	return nil
}

// Scalar returns the Shape function of an operation with inputs of the same shape [rows, columns] and a scalar result.
func Scalar(names string) func(in []tensor.Shape) (tensor.Shape, error) {
	return func(in []tensor.Shape) (tensor.Shape, error) { return tensor.ScalarShape(), Matrices(names, in...) }
}

// Pair checks that two inputs have the same shape [rows, ...].
func Pair(a, b string, in []tensor.Shape) error {
	if !slices.Equal(in[0], in[1]) || in[0].Dims() < 1 || in[0].TotalSize() < 1 {
		return graph.Wanted(fmt.Sprintf("%s and %s of one shape [rows, ...]", a, b), in)
	}
	return nil
}
