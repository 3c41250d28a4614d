package graph_test

import (
	"slices"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/internal/must"
)

// An operation reads values whose elements are not in row-major order: transposed matrices, parts, column-major ones.
func TestViews(t *testing.T) {
	count := func(shape ...int) *tensor.Dense {
		return tensor.New(tensor.WithShape(shape...), tensor.WithBacking(tensor.Range(tensor.Float64, 0, tensor.Shape(shape).TotalSize())))
	}
	turned := count(3, 2)
	must.OK(t, turned.T())
	part, err := count(4, 5).Slice(gorgonia.S(1, 3), gorgonia.S(1, 4))
	must.OK(t, err)
	fortran := tensor.New(tensor.WithShape(2, 3), tensor.AsFortran([]float64{0, 1, 2, 3, 4, 5}))
	masked := tensor.New(tensor.WithShape(2, 3),
		tensor.WithBacking([]float64{0, 1, 2, 3, 4, 5}, []bool{false, true, false, false, false, false}))
	for name, c := range map[string]struct {
		x    *tensor.Dense
		want []float64
	}{
		"transposed":   {turned, []float64{0, 2, 4, 1, 3, 5}},
		"part":         {part.(*tensor.Dense), []float64{6, 7, 8, 11, 12, 13}},
		"column-major": {fortran, []float64{0, 1, 2, 3, 4, 5}}, // AsFortran takes rows
		"masked":       {masked, nil},
	} {
		g := gorgonia.NewGraph()
		x := gorgonia.NewMatrix(g, tensor.Float64, gorgonia.WithShape(2, 3), gorgonia.WithName("x"))
		y, err := graph.Scale(2, x)
		must.OK(t, err)
		must.OK(t, gorgonia.Let(x, c.x))
		vm := gorgonia.NewTapeMachine(g)
		if err := vm.RunAll(); (err != nil) != (c.want == nil) {
			t.Errorf("%s: error %v", name, err)
		} else if err == nil {
			got := slices.Clone(y.Value().Data().([]float64))
			for i := range got {
				got[i] /= 2
			}
			must.EqualSlices(t, got, c.want, name)
		}
		_ = vm.Close()
	}
}
