package dependence

import (
	"math"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/vulkan"
	"github.com/unravel-ml/unravel/internal/device/kernels"
	"github.com/unravel-ml/unravel/internal/numeric"
	"github.com/unravel-ml/unravel/losses/internal/check"
)

// DIP adds the node that losses.DIP documents, or with log variances losses.DIPCode.
func DIP(mean, logVariance *gorgonia.Node, offDiagonal, diagonal float64) (*gorgonia.Node, error) {
	in := check.Optional(mean, logVariance)
	return graph.Apply(graph.Spec{
		Name:  "dip",
		Key:   graph.Key(offDiagonal, diagonal),
		Shape: check.Scalar("means and log variances"),
		New: graph.Bodies(
			func(in []tensor.Shape) graph.Body[float32] { return newDIP[float32](in[0], offDiagonal, diagonal) },
			func(in []tensor.Shape) graph.Body[float64] { return newDIP[float64](in[0], offDiagonal, diagonal) }),
		Device: func(in []tensor.Shape, _ tensor.Shape) (graph.Recording, error) {
			rows, d := in[0][0], in[0][1]
			return graph.Recording{
				Forward: func(t *vulkan.Tape, in []vulkan.Buffer, out vulkan.Buffer) {
					kernels.DIP(t, in[0], check.Buffer(in, 1), out, offDiagonal, diagonal, rows, d)
				},
				Backward: func(t *vulkan.Tape, in []vulkan.Buffer, _, dout vulkan.Buffer, din []vulkan.Buffer) {
					kernels.DIPGradient(t, in[0], check.Buffer(in, 1), dout, din[0], check.Buffer(din, 1), offDiagonal, diagonal,
						rows, d)
				},
			}, nil
		},
	}, in...)
}

type dip[T graph.Float] struct {
	rows, columns         int
	offDiagonal, diagonal float64

	centred    []float64 // column by column
	slope      []float64 // gradient of the regulariser with respect to C
	in, din    [][]T
	factor     float64
	covariance *numeric.Loop
	gradient   *numeric.Loop
}

func newDIP[T graph.Float](s tensor.Shape, offDiagonal, diagonal float64) *dip[T] {
	f := &dip[T]{rows: s[0], columns: s[1], offDiagonal: offDiagonal, diagonal: diagonal}
	f.centred = make([]float64, s.TotalSize())
	f.slope = make([]float64, s[1]*s[1])
	f.covariance = numeric.NewLoop(s[1], 8, f.covarianceRows)
	f.gradient = numeric.NewLoop(s[0], 64, f.gradientRows)
	return f
}

func (f *dip[T]) Forward(in [][]T, out []T) {
	n := f.rows
	for c := range f.columns {
		column, mean := f.centred[c*n:][:n], 0.0
		for r := range column {
			column[r] = float64(in[0][r*f.columns+c])
			mean += column[r] / float64(n)
		}
		for r := range column {
			column[r] -= mean
		}
	}
	f.in = in
	out[0] = T(f.covariance.Run())
}

// covarianceRows computes the gradient for rows of C, and returns their contribution to the value.
func (f *dip[T]) covarianceRows(lo, hi int) float64 {
	n, d, sum := f.rows, f.columns, 0.0
	for i := lo; i < hi; i++ {
		a, slope := f.centred[i*n:][:n], f.slope[i*d:][:d]
		for j := range slope {
			c := numeric.Dot(a, f.centred[j*n:][:n]) / float64(n)
			if i != j {
				sum += f.offDiagonal * c * c
				slope[j] = 2 * f.offDiagonal * c
				continue
			}
			if len(f.in) > 1 {
				for r := range n {
					c += math.Exp(float64(f.in[1][r*d+i])) / float64(n)
				}
			}
			sum += f.diagonal * (c - 1) * (c - 1)
			slope[j] = 2 * f.diagonal * (c - 1)
		}
	}
	return sum
}

func (f *dip[T]) Backward(in [][]T, _, dout []T, din [][]T) {
	f.in, f.din, f.factor = in, din, float64(dout[0])/float64(f.rows)
	f.gradient.Run()
}

func (f *dip[T]) gradientRows(lo, hi int) float64 {
	n, d := f.rows, f.columns
	for r := lo; r < hi; r++ {
		if dMean := f.din[0]; dMean != nil {
			for i := range d {
				sum := 0.0
				for j, s := range f.slope[i*d:][:d] {
					sum += s * f.centred[j*n+r]
				}
				dMean[r*d+i] = T(2 * f.factor * sum)
			}
		}
		if len(f.din) > 1 && f.din[1] != nil {
			for i := range d {
				f.din[1][r*d+i] = T(f.factor * f.slope[i*d+i] * math.Exp(float64(f.in[1][r*d+i])))
			}
		}
	}
	return 0
}
