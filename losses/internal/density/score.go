// Package density estimates density ratios with a discriminator, and matches scores of densities with an energy.
package density

import (
	"fmt"
	"math"
	"slices"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/vulkan"
	"github.com/unravel-ml/unravel/internal/device/kernels"
	"github.com/unravel-ml/unravel/internal/numeric"
	"github.com/unravel-ml/unravel/losses/internal/check"
)

// ScoreMatching adds the node that losses.ScoreMatching documents.
func ScoreMatching(f func(images *gorgonia.Node) (*gorgonia.Node, error), g, known, images, noise *gorgonia.Node,
	sigma float64) (*gorgonia.Node, error) {
	y, err := Noised(images, noise, nil, sigma)
	if err != nil {
		return nil, err
	}
	return Score(f, g, known, y, noise, sigma)
}

// Score is [ScoreMatching] for images y that already contain the noise.
func Score(f func(images *gorgonia.Node) (*gorgonia.Node, error), g, known, y, noise *gorgonia.Node,
	sigma float64) (*gorgonia.Node, error) {
	if y.Graph() == nil {
		return nil, fmt.Errorf("score matching: %w", graph.Wanted("images or noise of a graph", "constants"))
	}
	columns, err := f(y)
	if err != nil {
		return nil, err
	}
	weights := g
	if g == nil {
		if weights, err = graph.Exp(graph.ZerosLike(columns)); err != nil { // ones
			return nil, err
		}
	}
	slope, err := graph.VJP(columns, weights, y)
	if err != nil {
		return nil, fmt.Errorf("gradient of the energy: %w", err)
	}
	r, err := combine("score residual", []float64{-sigma * sigma, sigma}, slope, noise) // counts as constant
	if err != nil {
		return nil, err
	}
	derivative, err := graph.JVP(columns, y, r)
	if err != nil {
		return nil, fmt.Errorf("score matching differentiates the energy twice: %w", err)
	}
	in := check.Optional(r, derivative, weights, known)
	return graph.Apply(graph.Spec{
		Name: "score matching",
		Key:  graph.Key(sigma, known != nil),
		Shape: func(in []tensor.Shape) (tensor.Shape, error) {
			rows, _, err := graph.Matrix("columns of the energy", in[1])
			switch {
			case err != nil:
				return nil, err
			case in[0][0] != rows || !slices.Equal(in[2], in[1]):
				return nil, graph.Wanted(fmt.Sprintf("residuals, columns and g of equal numbers of rows, g of shape %v", in[1]), in)
			case len(in) > 3 && !slices.Equal(in[3], tensor.Shape{rows}):
				return nil, graph.Wanted(fmt.Sprintf("known of shape (%d)", rows), in[3])
			}
			return tensor.ScalarShape(), nil
		},
		New: graph.Bodies(func(in []tensor.Shape) *scoreMatching[float32] { return newScoreMatching[float32](in, sigma) },
			func(in []tensor.Shape) *scoreMatching[float64] { return newScoreMatching[float64](in, sigma) }),
		Diff: []bool{false, true, g != nil, false}[:len(in)],
	}, in...)
}

// scoreMatching computes the value from the residual, and the gradient from the tangents of the columns.
type scoreMatching[T graph.Float] struct {
	rows, columns, pixels int
	sigma                 float64
	r                     []T
	known                 []T
	squares               *numeric.Loop
}

func newScoreMatching[T graph.Float](in []tensor.Shape, sigma float64) *scoreMatching[T] {
	f := &scoreMatching[T]{rows: in[1][0], columns: in[1][1], pixels: in[0].TotalSize() / in[0][0], sigma: sigma}
	f.squares = numeric.NewLoop(f.rows, 1, func(row, _ int) float64 {
		return f.counts(row) * numeric.Square(f.r[row*f.pixels:][:f.pixels])
	})
	return f
}

// counts returns 1 if a row counts, and 0 if it does not.
func (f *scoreMatching[T]) counts(row int) float64 {
	if f.known == nil || f.known[row] > 0 {
		return 1
	}
	return 0
}

// read finds the inputs, and returns the row's contribution to the mean.
func (f *scoreMatching[T]) read(in [][]T) (rowWeight float64) {
	f.r, f.known = in[0], nil
	if len(in) > 3 {
		f.known = in[3]
	}
	n := 0.0
	for row := range f.rows {
		n += f.counts(row)
	}
	return 1 / max(n, 1)
}

func (f *scoreMatching[T]) Forward(in [][]T, out []T) {
	rowWeight := f.read(in)
	out[0] = T(rowWeight * f.squares.Run() / 2)
}

func (f *scoreMatching[T]) Backward(in [][]T, _, dout []T, din [][]T) {
	factor := -f.sigma * f.sigma * f.read(in) * float64(dout[0])
	for i := range din[1] {
		din[1][i] = T(factor * f.counts(i/f.columns) * float64(in[2][i]))
	}
	for i := range din[2] {
		din[2][i] = T(factor * f.counts(i/f.columns) * float64(in[1][i]))
	}
}

// Noised returns images + sigma noise. With uniform noise it dequantises the images: 255/256 images + uniform/256.
func Noised(images, noise, uniform *gorgonia.Node, sigma float64) (*gorgonia.Node, error) {
	if uniform == nil {
		return combine("noised images", []float64{1, sigma}, images, noise)
	}
	return combine("noised images", []float64{255. / 256, sigma, 1. / 256}, images, noise, uniform)
}

// combine returns a weighted sum of nodes of the same shape, without a gradient.
func combine(name string, weights []float64, x ...*gorgonia.Node) (*gorgonia.Node, error) {
	for _, n := range x {
		if n == nil || n.Dims() < 2 {
			return nil, fmt.Errorf("%s: %w", name, graph.Wanted("images and noise of shape [rows, ...]", check.ShapeOf(n)))
		}
	}
	return graph.Apply(graph.Spec{
		Name: name,
		Key:  graph.Key(weights),
		Shape: func(in []tensor.Shape) (tensor.Shape, error) {
			for _, s := range in {
				if !slices.Equal(s, in[0]) {
					return nil, graph.Wanted("images and noise of one shape", in)
				}
			}
			return in[0], nil
		},
		New: graph.Bodies(
			func(in []tensor.Shape) graph.Body[float32] {
				return newCombination[float32](in[0].TotalSize(), weights)
			},
			func(in []tensor.Shape) graph.Body[float64] {
				return newCombination[float64](in[0].TotalSize(), weights)
			}),
		Diff: make([]bool, len(x)),
	}, x...)
}

type combination[T graph.Float] struct {
	in   [][]T
	out  []T
	loop *numeric.Loop
}

func newCombination[T graph.Float](n int, weights []float64) *combination[T] {
	f := &combination[T]{}
	f.loop = numeric.NewLoop(n, numeric.BlockSize, func(lo, hi int) float64 {
		out := f.out[lo:hi]
		for i, w := range weights {
			a, x := T(w), f.in[i][lo:hi]
			for j, v := range x {
				if i == 0 {
					out[j] = a * v
				} else {
					out[j] += T(a * v) // the conversion prevents a fused multiply-add
				}
			}
		}
		return 0
	})
	return f
}

func (f *combination[T]) Forward(in [][]T, out []T) {
	f.in, f.out = in, out
	f.loop.Run()
}

func (f *combination[T]) Backward(_ [][]T, _, _ []T, _ [][]T) {}

// DensityRatio adds the node that losses.DensityRatio documents.
func DensityRatio(logits *gorgonia.Node) (*gorgonia.Node, error) {
	return discriminate("density ratio", logits, false)
}

// Discrimination adds the node that losses.Discrimination documents.
func Discrimination(logits *gorgonia.Node) (*gorgonia.Node, error) {
	return discriminate("discrimination", logits, true)
}

// discriminate returns the mean log ratio over a discriminator's rows, or its cross-entropy.
func discriminate(name string, logits *gorgonia.Node, entropy bool) (*gorgonia.Node, error) {
	return graph.Apply(graph.Spec{
		Name: name,
		Shape: func(in []tensor.Shape) (tensor.Shape, error) {
			rows, columns, err := graph.Matrix("logits", in[0])
			switch {
			case err != nil:
				return nil, err
			case columns > 2:
				return nil, graph.Wanted("logits of shape [rows, 1] or [rows, 2]", in[0])
			case entropy && rows%2 != 0:
				return nil, graph.Wanted("an even number of rows", rows)
			}
			return tensor.ScalarShape(), nil
		},
		New: graph.Bodies(
			func(in []tensor.Shape) graph.Body[float32] {
				return discriminator[float32]{in[0][0], in[0][1], entropy}
			},
			func(in []tensor.Shape) graph.Body[float64] {
				return discriminator[float64]{in[0][0], in[0][1], entropy}
			}),
		Device: func(in []tensor.Shape, _ tensor.Shape) (graph.Recording, error) {
			rows, columns := in[0][0], in[0][1]
			return graph.Recording{
				Forward: func(t *vulkan.Tape, in []vulkan.Buffer, out vulkan.Buffer) {
					kernels.Discriminate(t, in[0], out, entropy, rows, columns)
				},
				Backward: func(t *vulkan.Tape, in []vulkan.Buffer, _, dout vulkan.Buffer, din []vulkan.Buffer) {
					kernels.DiscriminateGradient(t, in[0], dout, din[0], entropy, rows, columns)
				},
			}, nil
		},
	}, logits)
}

type discriminator[T graph.Float] struct {
	rows, columns int
	entropy       bool
}

// ratio returns the log ratio of a row: l, or l_0 - l_1.
func (f discriminator[T]) ratio(logits []T, row int) float64 {
	if f.columns == 1 {
		return float64(logits[row])
	}
	return float64(logits[2*row]) - float64(logits[2*row+1])
}

// side is -1 for codes, which should get large logits, and 1 for permuted codes.
func (f discriminator[T]) side(row int) float64 {
	if row < f.rows/2 {
		return -1
	}
	return 1
}

func (f discriminator[T]) Forward(in [][]T, out []T) {
	sum := 0.0
	for i := range f.rows {
		l := f.ratio(in[0], i)
		if f.entropy {
			l = numeric.Softplus(f.side(i) * l)
		}
		sum += l
	}
	out[0] = T(sum / float64(f.rows))
}

func (f discriminator[T]) Backward(in [][]T, _, dout []T, din [][]T) {
	g := float64(dout[0]) / float64(f.rows)
	for i := range f.rows {
		slope := g
		if f.entropy {
			slope = g * f.side(i) / (1 + math.Exp(-f.side(i)*f.ratio(in[0], i)))
		}
		din[0][i*f.columns] = T(slope)
		if f.columns == 2 {
			din[0][2*i+1] = T(-slope)
		}
	}
}
