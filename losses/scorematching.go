package losses

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/internal/numeric"
)

// Energy is the energy of images x under an energy-based model, E(x) = sum_j g_j f_j(x). It is the negative logarithm
// of the images' density up to a constant.
type Energy struct {
	// Columns adds f(x), [rows, columns], for images [rows, height, width, channels].
	Columns func(images *gorgonia.Node) (*gorgonia.Node, error)

	// Condition computes the energy's inputs from labels: g of every row, [rows, columns], and known, [rows]. known is
	// 1 if the row's labels for g are known, otherwise 0. nil: g is 1 everywhere.
	Condition func(l *Labels) (g, known *gorgonia.Node, err error)
}

// ScoreMatching returns denoising score matching of an energy E(y) = sum_j g_j f_j(y). The score is the energy's
// negative gradient:
//
//	mean over rows of |r|^2 / 2,  r = sigma noise - sigma^2 grad E(y),  y = images + sigma noise,
//
// summed over the pixels of an image. images and standard normal noise have one shape, [rows, ...]. f adds nodes [rows,
// columns] with the columns of f. g is [rows, columns], or nil for 1. known is [rows], 1 for rows that count and 0 for
// others, or nil for 1. Without rows that count the value is 0. For images N(0, s^2 I) and E = a |y|^2/2 the minimum is
// at a = 1/(s^2 + sigma^2).
//
// The gradient in parameters theta takes no second derivatives. With v = r held constant it is
//
//	-sigma^2 mean over rows of d/d theta <v, grad E(y)>,
//
// and <v, grad E(y)> is the derivative of E along v ([graph.JVP]): one graph with values and tangents. f must be made
// of operations with tangents. The node is differentiable in the parameters of f and in g; its gradient holds images
// and noise constant.
//
// Source: Vincent 2011 (denoising score matching), times sigma^4 as in the code of Khemakhem et al. 2020 (ICE-BeeM).
func ScoreMatching(f func(images *gorgonia.Node) (*gorgonia.Node, error), g, known, images, noise *gorgonia.Node, sigma float64) (*gorgonia.Node, error) {
	y, err := noised(images, noise, nil, sigma)
	if err != nil {
		return nil, err
	}
	return scoreOf(f, g, known, y, noise, sigma)
}

// scoreOf is [ScoreMatching] of noised images y.
func scoreOf(f func(images *gorgonia.Node) (*gorgonia.Node, error), g, known, y, noise *gorgonia.Node, sigma float64) (*gorgonia.Node, error) {
	if y.Graph() == nil {
		return nil, fmt.Errorf("score matching: %w", graph.Wanted("images or noise of a graph", "constants"))
	}
	columns, err := f(y)
	if err != nil {
		return nil, err
	}
	weights := g
	if g == nil {
		if weights, err = ones(columns); err != nil {
			return nil, err
		}
	}
	slope, err := graph.VJP(columns, weights, y)
	if err != nil {
		return nil, fmt.Errorf("gradient of the energy: %w", err)
	}
	r, err := residual(slope, noise, sigma)
	if err != nil {
		return nil, err
	}
	along, err := graph.JVP(columns, y, r)
	if err != nil {
		return nil, fmt.Errorf("score matching differentiates the energy twice: %w", err)
	}
	in := []*gorgonia.Node{r, along, weights}
	if known != nil {
		in = append(in, known)
	}
	return graph.Apply(graph.Spec{
		Name: "score matching",
		Key:  graph.Key(sigma, known != nil),
		Shape: func(in []tensor.Shape) (tensor.Shape, error) {
			rows, _, err := graph.Matrix("columns of the energy", in[1])
			switch {
			case err != nil:
				return nil, err
			case in[0][0] != rows || !slices.Equal(in[2], in[1]):
				return nil, graph.Wanted(fmt.Sprintf("residuals, columns and g of as many rows, g of shape %v", in[1]), in)
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

// scoreMatching takes the value from the residual, and the gradient from the tangents of the columns.
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

// read finds the inputs, and returns a row's part of the mean.
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

// residual returns sigma noise - sigma^2 slope, which counts as constant.
func residual(slope, noise *gorgonia.Node, sigma float64) (*gorgonia.Node, error) {
	return combined("score residual", []float64{-sigma * sigma, sigma}, slope, noise)
}

// noised returns images + sigma noise. With uniform noise it dequantises the images: 255/256 images + uniform/256.
func noised(images, noise, uniform *gorgonia.Node, sigma float64) (*gorgonia.Node, error) {
	if uniform == nil {
		return combined("noised images", []float64{1, sigma}, images, noise)
	}
	return combined("noised images", []float64{255. / 256, sigma, 1. / 256}, images, noise, uniform)
}

// combined returns a weighted sum of nodes of one shape without a gradient.
func combined(name string, weights []float64, x ...*gorgonia.Node) (*gorgonia.Node, error) {
	for _, n := range x {
		if n == nil || n.Dims() < 2 {
			return nil, fmt.Errorf("%s: %w", name, graph.Wanted("images and noise of shape [rows, ...]", shapeText(n)))
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
		New: graph.Bodies(func(in []tensor.Shape) *combination[float32] {
			return newCombination[float32](in[0].TotalSize(), weights)
		},
			func(in []tensor.Shape) *combination[float64] {
				return newCombination[float64](in[0].TotalSize(), weights)
			}),
		Diff: make([]bool, len(x)),
	}, x...)
}

func shapeText(n *gorgonia.Node) any {
	if n == nil {
		return "nothing"
	}
	return n.Shape()
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
					out[j] += T(a * v) // converted, which keeps machines from fusing the product with the sum
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

// ones returns a node of ones in the shape of x.
func ones(x *gorgonia.Node) (*gorgonia.Node, error) {
	return graph.Apply(graph.Spec{
		Name:  "ones",
		Shape: func(in []tensor.Shape) (tensor.Shape, error) { return in[0], nil },
		New: graph.Bodies(func([]tensor.Shape) constantOne[float32] { return constantOne[float32]{} },
			func([]tensor.Shape) constantOne[float64] { return constantOne[float64]{} }),
		Diff: []bool{false},
	}, x)
}

type constantOne[T graph.Float] struct{}

func (constantOne[T]) Forward(_ [][]T, out []T) {
	for i := range out {
		out[i] = 1
	}
}

func (constantOne[T]) Backward(_ [][]T, _, _ []T, _ [][]T) {}

// ScoreMatchingLoss is [ScoreMatching] of a model's [Energy]. It skips rows with labels that a conditional energy does
// not know.
type ScoreMatchingLoss struct {
	Weight     Weight  `yaml:"weight" doc:"factor in the total"`
	Sigma      float64 `yaml:"sigma" doc:"standard deviation of the noise, in units of pixels"`
	Dequantise bool    `yaml:"dequantise" doc:"first dequantise pixels with 256 values in [0, 1]: 255/256 x + U[0, 1)/256"`
}

// NewScoreMatching returns the default settings.
func NewScoreMatching() *ScoreMatchingLoss {
	return &ScoreMatchingLoss{Weight: Constant(1), Sigma: 0.01, Dequantise: true}
}

// Validate checks the settings.
func (l *ScoreMatchingLoss) Validate() error {
	if !(l.Sigma > 0) || l.Sigma > 1e6 || math.IsInf(l.Sigma, 0) {
		return config.Invalid("sigma", "want a number above 0, up to 1e6, got %v", l.Sigma)
	}
	return nil
}

// Weighting implements [Loss].
func (l *ScoreMatchingLoss) Weighting() Weight { return l.Weight }

// Variants implements [Varied].
func (l *ScoreMatchingLoss) Variants() []Loss {
	return []Loss{&ScoreMatchingLoss{Weight: Constant(2), Sigma: 0.3}}
}

// Add implements [Loss].
func (l *ScoreMatchingLoss) Add(in *Input) (*gorgonia.Node, error) {
	switch {
	case in.Energy == nil || in.Images == nil:
		return nil, fmt.Errorf("%w; want the model ice-beem", missing("an energy of images"))
	case in.Images.Dims() < 2 || in.Images.Shape()[0] != in.Rows:
		return nil, graph.Wanted(fmt.Sprintf("images of %d rows", in.Rows), in.Images.Shape())
	case in.Real && l.Dequantise:
		return nil, errors.New("the pixels of these images are not 256 values in [0, 1]; want dequantise: false")
	}
	noise, err := in.Noise("noise", Normal, in.Images.Shape()...)
	if err != nil {
		return nil, err
	}
	var uniform *gorgonia.Node
	if l.Dequantise {
		if uniform, err = in.Noise("dequantising noise", Uniform, in.Images.Shape()...); err != nil {
			return nil, err
		}
	}
	var g, known *gorgonia.Node
	if in.Energy.Condition != nil {
		if g, known, err = in.Energy.Condition(in.Labels); err != nil {
			return nil, err
		}
	}
	y, err := noised(in.Images, noise, uniform, l.Sigma)
	if err != nil {
		return nil, err
	}
	return scoreOf(in.Energy.Columns, g, known, y, noise, l.Sigma)
}
