package density

import (
	"fmt"
	"slices"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/internal/numeric"
	"github.com/unravel-ml/unravel/losses/internal/check"
)

// ScoreMatching adds the node that losses.ScoreMatching documents.
func ScoreMatching(f func(images *gorgonia.Node) (*gorgonia.Node, error), g, known, images, noise *gorgonia.Node, sigma float64) (*gorgonia.Node, error) {
	y, err := Noised(images, noise, nil, sigma)
	if err != nil {
		return nil, err
	}
	return Score(f, g, known, y, noise, sigma)
}

// Score is [ScoreMatching] for images y that already contain the noise.
func Score(f func(images *gorgonia.Node) (*gorgonia.Node, error), g, known, y, noise *gorgonia.Node, sigma float64) (*gorgonia.Node, error) {
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
	r, err := combined("score residual", []float64{-sigma * sigma, sigma}, slope, noise) // counts as constant
	if err != nil {
		return nil, err
	}
	along, err := graph.JVP(columns, y, r)
	if err != nil {
		return nil, fmt.Errorf("score matching differentiates the energy twice: %w", err)
	}
	in := check.Optional(r, along, weights, known)
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
func (f *scoreMatching[T]) read(in [][]T) (part float64) {
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
	part := f.read(in)
	out[0] = T(part * f.squares.Run() / 2)
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
		return combined("noised images", []float64{1, sigma}, images, noise)
	}
	return combined("noised images", []float64{255. / 256, sigma, 1. / 256}, images, noise, uniform)
}

// combined returns a weighted sum of nodes of the same shape, without a gradient.
func combined(name string, weights []float64, x ...*gorgonia.Node) (*gorgonia.Node, error) {
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
