package metrics_test

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/losses"
	. "github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/metrics/matrix"
)

// kernelRows returns random codes and three kinds of factors. The codes have two sub-codes of two columns, and the
// second sub-code partly depends on the first.
func kernelRows(n int) *Input {
	s := rng.New(11, "kernels")
	in := &Input{Codes: matrix.Matrix{Rows: n, Cols: 6}, Factors: []factor.Factor{
		{Name: "a", Size: 4, Kind: factor.Ordinal}, {Name: "b", Size: 6, Kind: factor.Circular}, {Name: "c", Size: 3, Kind: factor.Categorical}}}
	for range n {
		a, b, c := s.IntN(4), s.IntN(6), s.IntN(3)
		x := s.NormFloat64()
		in.Levels = append(in.Levels, a, b, c)
		in.Codes.Data = append(in.Codes.Data, x, float64(a)+s.NormFloat64(), x*x, float64(b), s.NormFloat64(), float64(c)+0.1*s.NormFloat64())
	}
	return in
}

// TestHSICLoss compares the metric with the loss hsic.
func TestHSICLoss(t *testing.T) {
	in := kernelRows(200)
	g := gorgonia.NewGraph()
	node := func(name string, cols int, data []float64) *gorgonia.Node {
		return gorgonia.NewMatrix(g, tensor.Float64, gorgonia.WithName(name),
			gorgonia.WithValue(tensor.New(tensor.WithShape(len(data)/cols, cols), tensor.WithBacking(data))))
	}
	var turns, levels []float64
	for i := range in.Codes.Rows {
		turns, levels = append(turns, float64(in.Levels[3*i+1])/6), append(levels, float64(in.Levels[3*i+2]))
	}
	z, y, c := node("z", 6, in.Codes.Data), node("y", 1, turns), node("c", 1, levels)
	gauss := func(s float64, columns ...int) losses.Kernel { return losses.Kernel{Columns: columns, Bandwidth: s} }
	blocks := factor.SubCodes{"a": {0, 1}, "b": {2, 3}, "c": {4, 5}}
	var nodes gorgonia.Nodes
	for _, pair := range []struct {
		x, y   *gorgonia.Node
		kx, ky losses.Kernel
	}{
		{z, z, gauss(0, 0, 1), gauss(0, 2, 3)}, {z, z, gauss(0, 0, 1), gauss(0, 4, 5)}, {z, z, gauss(0, 2, 3), gauss(0, 4, 5)}, // between codes
		{z, y, gauss(1.5, 0, 1), losses.Kernel{Kind: losses.CircularKernel}}, {z, c, gauss(1.5, 2, 3), losses.Kernel{Kind: losses.EqualKernel}}, // between factors
	} {
		n := must.Get(losses.HSIC(pair.x, pair.y, nil, pair.kx, pair.ky))(t)
		nodes = append(nodes, n)
	}
	machine := gorgonia.NewTapeMachine(g)
	defer machine.Close()
	must.OK(t, machine.RunAll())
	value := func(i int) float64 { return nodes[i].Value().Data().(float64) }
	r := compute(t, &HSIC{Codes: blocks, Between: "codes"}, in)
	near(t, "between codes", r.Value, value(0)+value(1)+value(2), 1e-12)
	near(t, "of a and b", r.Grids[0].Values[0][1], value(0), 1e-12)
	r = compute(t, &HSIC{Codes: blocks, Between: "factors", Bandwidth: 1.5}, in)
	near(t, "codes of a and factor b", r.Grids[0].Values[0][1], value(3), 1e-12)
	near(t, "codes of b and factor c", r.Grids[0].Values[1][2], value(4), 1e-12)
	near(t, "own factor", r.Grids[0].Values[2][2], 0, 0)
}

// TestHSICIndependent compares independent normal columns with the expectation (1 - k)^2/n. The median distance is
// s = 0.954, and the mean similarity k = 1/sqrt(1 + 2/s^2) = 0.559.
func TestHSICIndependent(t *testing.T) {
	s, sum := rng.New(5, "independent"), 0.0
	for range 200 {
		in := &Input{Codes: matrix.Matrix{Rows: 60, Cols: 2}, Factors: []factor.Factor{{Name: "a", Size: 2}, {Name: "b", Size: 2}}}
		for i := range 120 {
			in.Codes.Data, in.Levels = append(in.Codes.Data, s.NormFloat64()), append(in.Levels, i%2)
		}
		sum += compute(t, &HSIC{Between: "codes"}, in).Value
	}
	near(t, "60 times the mean", 60*sum/200, 0.194, 0.03)
}

// TestHSICTrace compares the metric with the trace of matrices.
func TestHSICTrace(t *testing.T) {
	in := kernelRows(40)
	in.Codes = in.Codes.Columns([]int{0, 2})
	in.Factors, in.Levels = in.Factors[:2], in.Levels[:80]
	for i := range in.Levels {
		in.Levels[i] = i % 4
	}
	const n, s = 40, 0.7
	kernel := func(c int) *mat.Dense {
		k := mat.NewDense(n, n, nil)
		for i := range n {
			for j := range n {
				d := in.Codes.Row(i)[c] - in.Codes.Row(j)[c]
				k.Set(i, j, math.Exp(-d*d/(2*s*s)))
			}
		}
		return k
	}
	centre := mat.NewDense(n, n, nil)
	for i := range n {
		for j := range n {
			centre.Set(i, j, -1.0/n)
		}
		centre.Set(i, i, 1-1.0/n)
	}
	var product mat.Dense
	product.Product(kernel(0), centre, kernel(1), centre)
	near(t, "trace", compute(t, &HSIC{Between: "codes", Bandwidth: s}, in).Value, mat.Trace(&product)/(n*n), 1e-14)
}

func TestConditionalTC(t *testing.T) {
	in := kernelRows(300)
	in.Codes = in.Codes.Columns([]int{0, 1, 4, 5})
	always := &ConditionalTC{Active: []ActiveCodes{{Columns: []int{0}, Factor: "c", Levels: []int{0, 1, 2}}}}
	near(t, "all columns active", compute(t, always, in).Value, compute(t, named("total-correlation"), in).Value, 1e-12)

	// columns 0 and 1 are active where c is 0, and have correlation 1/2 there
	for i := range in.Codes.Rows {
		row := in.Codes.Row(i)
		row[1] = row[0] + row[2]
		row[2] = row[3]
	}
	in.Codes = in.Codes.Columns([]int{0, 1, 2})
	some := &ConditionalTC{Active: []ActiveCodes{{Columns: []int{0, 1}, Factor: "c", Levels: []int{0}}}}
	r := compute(t, some, in)
	part := &Input{Codes: matrix.Matrix{Cols: 2}, Factors: in.Factors}
	var third, thirdThere []float64
	for i := range in.Codes.Rows {
		row := in.Codes.Row(i)
		third = append(third, row[2])
		if in.Levels[3*i+2] == 0 {
			part.Codes.Data, part.Codes.Rows = append(part.Codes.Data, row[:2]...), part.Codes.Rows+1
			part.Levels = append(part.Levels, in.Levels[3*i:3*i+3]...)
			thirdThere = append(thirdThere, row[2])
		}
	}
	// the correlation with column 2, and the residual variance, by Gram-Schmidt
	c := mat.NewDense(part.Codes.Rows, 3, nil)
	for i := range part.Codes.Rows {
		c.SetRow(i, append(append([]float64(nil), part.Codes.Row(i)...), thirdThere[i]))
	}
	var covariance mat.SymDense
	gram(&covariance, c)
	var cholesky mat.Cholesky
	cholesky.Factorize(&covariance)
	mean, variance := moments(third)
	want, square := 0.0, 0.0
	for _, v := range thirdThere {
		square += (v - mean) * (v - mean) / float64(len(thirdThere)) / variance
	}
	want = (math.Log(covariance.At(0, 0)) + math.Log(covariance.At(1, 1)) + math.Log(variance) + 2 + square - 3 - cholesky.LogDet()) / 2
	near(t, "where c is 0", r.Parts[0].Values[0], want, 1e-10)
	near(t, "of all rows", r.Value, want*float64(part.Codes.Rows)/300, 1e-10)
}

// gram sets c to the covariance of the columns of x.
func gram(c *mat.SymDense, x *mat.Dense) {
	n, k := x.Dims()
	y := mat.DenseCopyOf(x)
	for j := range k {
		mean, _ := moments(mat.Col(nil, j, x))
		for i := range n {
			y.Set(i, j, x.At(i, j)-mean)
		}
	}
	c.SymOuterK(1/float64(n), y.T())
}

// moments returns the mean and the population variance.
func moments(x []float64) (mean, variance float64) {
	for _, v := range x {
		mean += v / float64(len(x))
	}
	for _, v := range x {
		variance += (v - mean) * (v - mean) / float64(len(x))
	}
	return mean, variance
}
