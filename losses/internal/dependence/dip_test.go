package dependence_test

import (
	"math"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph/gradcheck"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/losses/internal/dependence"
)

// dipOf computes the regulariser by definition. logVariance may be nil.
func dipOf(n, d int, mean, logVariance []float64, off, diagonal float64) float64 {
	sum := 0.0
	for i := range d {
		for j := range d {
			product, a, b, variance := 0.0, 0.0, 0.0, 0.0
			for r := range n {
				x, y := mean[r*d+i], mean[r*d+j]
				product, a, b = product+x*y/float64(n), a+x/float64(n), b+y/float64(n)
				if logVariance != nil {
					variance += math.Exp(logVariance[r*d+i]) / float64(n)
				}
			}
			c := product - a*b
			if i == j {
				c += variance - 1
				sum += diagonal * c * c
			} else {
				sum += off * c * c
			}
		}
	}
	return sum
}

func TestDIP(t *testing.T) {
	dip := func(name string, n, d int, second bool, mean gradcheck.Input) gradcheck.Case {
		mean.Shape = []int{n, d}
		// The mean of equal numbers has a rounding error in float64.
		c := gradcheck.Case{Name: name, Inputs: []gradcheck.Input{mean}, Floor32: 1e-9,
			Build: func(in []*gorgonia.Node) (*gorgonia.Node, error) {
				if second {
					return dependence.DIP(in[0], in[1], 3, 0.5)
				}
				return dependence.DIP(in[0], nil, 3, 0.5)
			},
			Want: func(in [][]float64) []float64 {
				if second {
					return []float64{dipOf(n, d, in[0], in[1], 3, 0.5)}
				}
				return []float64{dipOf(n, d, in[0], nil, 3, 0.5)}
			}}
		if second {
			c.Inputs = append(c.Inputs, gradcheck.Input{Shape: []int{n, d}, Lo: -3, Hi: 1})
		}
		return c
	}
	constant := gradcheck.Input{Values: []float64{2, -1, 0.5}}
	for _, second := range []bool{false, true} {
		gradcheck.CheckAll(t, []gradcheck.Case{
			dip("a few rows", 5, 3, second, gradcheck.Input{}),
			dip("many rows and columns", 130, 19, second, gradcheck.Input{}),
			dip("one row", 1, 3, second, gradcheck.Input{}),
			dip("one column", 6, 1, second, gradcheck.Input{}),
			dip("constant codes", 6, 3, second, constant),
			dip("far from zero", 9, 2, second, gradcheck.Input{Lo: 1000, Hi: 1004}),
		})
	}
	g := gorgonia.NewGraph()
	a := gorgonia.NewMatrix(g, tensor.Float64, gorgonia.WithShape(3, 2), gorgonia.WithName("a"))
	b := gorgonia.NewMatrix(g, tensor.Float64, gorgonia.WithShape(3, 3), gorgonia.WithName("b"))
	must.ErrorOf(dependence.DIP(a, b, 1, 1))(t, "one shape")
}
