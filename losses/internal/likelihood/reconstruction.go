// Package likelihood computes negative log likelihoods of images, and errors of options.
package likelihood

import (
	"cmp"
	"fmt"
	"math"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/vulkan"
	"github.com/unravel-ml/unravel/internal/device/kernels"
	"github.com/unravel-ml/unravel/internal/kernel"
	"github.com/unravel-ml/unravel/internal/numeric"
	"github.com/unravel-ml/unravel/losses/internal/check"
)

// Gaussian is a losses.Gaussian.
type Gaussian struct {
	Sigma    float64
	Constant bool
	Linear   bool
}

// GaussianReconstruction adds the node that losses.GaussianReconstruction documents.
func GaussianReconstruction(x, logits *gorgonia.Node, o Gaussian) (*gorgonia.Node, error) {
	o.Sigma = cmp.Or(o.Sigma, 1/math.Sqrt2)
	if !(o.Sigma > 0) || math.IsInf(o.Sigma, 0) {
		return nil, fmt.Errorf("gaussian reconstruction: %w", graph.Wanted("a positive sigma", o.Sigma))
	}
	return graph.Apply(graph.Spec{
		Name:  "gaussian reconstruction",
		Key:   graph.Key(o.Sigma, o.Constant, o.Linear),
		Shape: scalarOfImages,
		New:   graph.Bodies(newGaussian[float32](o), newGaussian[float64](o)),
		Device: func(in []tensor.Shape, _ tensor.Shape) (graph.Recording, error) {
			n, scale, constant := in[0].TotalSize(), o.scale(in[0]), o.constant(in[0])
			return graph.Recording{
				Forward: func(t *vulkan.Tape, in []vulkan.Buffer, out vulkan.Buffer) {
					kernels.GaussianReconstruction(t, in[0], in[1], out, scale, constant, o.Linear, n)
				},
				Backward: func(t *vulkan.Tape, in []vulkan.Buffer, _, dout vulkan.Buffer, din []vulkan.Buffer) {
					kernels.GaussianReconstructionGradient(t, in[0], in[1], dout, din[0], din[1], scale, o.Linear, n)
				},
			}, nil
		},
	}, x, logits)
}

// BernoulliReconstruction adds the node that losses.BernoulliReconstruction documents.
func BernoulliReconstruction(x, logits *gorgonia.Node) (*gorgonia.Node, error) {
	return graph.Apply(graph.Spec{
		Name:  "bernoulli reconstruction",
		Shape: scalarOfImages,
		New:   graph.Bodies(newBernoulli[float32], newBernoulli[float64]),
		Device: func(in []tensor.Shape, _ tensor.Shape) (graph.Recording, error) {
			n, scale := in[0].TotalSize(), 1/float64(in[0][0])
			return graph.Recording{
				Forward: func(t *vulkan.Tape, in []vulkan.Buffer, out vulkan.Buffer) {
					kernels.BernoulliReconstruction(t, in[0], in[1], out, scale, n)
				},
				Backward: func(t *vulkan.Tape, in []vulkan.Buffer, _, dout vulkan.Buffer, din []vulkan.Buffer) {
					kernels.BernoulliReconstructionGradient(t, in[0], in[1], dout, din[0], din[1], scale, n)
				},
			}, nil
		},
	}, x, logits)
}

func scalarOfImages(in []tensor.Shape) (tensor.Shape, error) {
	return tensor.ScalarShape(), check.Pair("images", "their reconstruction", in)
}

// scale is the factor of the sum of squares for images of the given shape: 1 / (2 sigma^2 B).
func (o Gaussian) scale(s tensor.Shape) float64 { return 1 / (2 * o.Sigma * o.Sigma * float64(s[0])) }

// constant is the sum of the constants of an image's pixels, or 0 without Constant.
func (o Gaussian) constant(s tensor.Shape) float64 {
	if !o.Constant {
		return 0
	}
	return float64(s.TotalSize()) / float64(s[0]) * (math.Log(o.Sigma) + 0.5*math.Log(2*math.Pi))
}

type gaussian[T graph.Float] struct {
	linear         bool
	scale          float64 // factor of the sum of squares
	constant       float64
	mean           []T // sigmoid(logits)
	g              T
	x, logits      []T
	dx, dlogits    []T
	errors, slopes *numeric.Loop
}

func newGaussian[T graph.Float](o Gaussian) func(in []tensor.Shape) *gaussian[T] {
	return func(in []tensor.Shape) *gaussian[T] {
		n := in[0].TotalSize()
		f := &gaussian[T]{linear: o.Linear, scale: o.scale(in[0]), constant: o.constant(in[0])}
		if !o.Linear {
			f.mean = make([]T, n)
		}
		f.errors = numeric.NewLoop(n, numeric.BlockSize, f.errorBlock)
		f.slopes = numeric.NewLoop(n, numeric.BlockSize, f.slopeBlock)
		return f
	}
}

func (f *gaussian[T]) Forward(in [][]T, out []T) {
	f.x, f.logits = in[0], in[1]
	if f.linear {
		f.mean = in[1]
	}
	out[0] = T(f.scale*f.errors.Run() + f.constant)
}

func (f *gaussian[T]) errorBlock(lo, hi int) float64 {
	if f.linear {
		return numeric.SquaredError(f.x[lo:hi], f.mean[lo:hi])
	}
	return sigmoidError(f.mean[lo:hi], f.logits[lo:hi], f.x[lo:hi])
}

func (f *gaussian[T]) Backward(in [][]T, _, dout []T, din [][]T) {
	f.x, f.dx, f.dlogits = in[0], din[0], din[1]
	if f.linear {
		f.mean = in[1]
	}
	f.g = T(2 * f.scale * float64(dout[0]))
	f.slopes.Run()
}

func (f *gaussian[T]) slopeBlock(lo, hi int) float64 {
	x, mean := f.x[lo:hi], f.mean[lo:hi]
	if f.dx != nil {
		difference(f.dx[lo:hi], x, mean, f.g)
	}
	switch {
	case f.dlogits == nil:
	case f.linear:
		difference(f.dlogits[lo:hi], mean, x, f.g)
	default:
		sigmoidErrorGradient(f.dlogits[lo:hi], mean, x, f.g)
	}
	return 0
}

// difference sets d = g (a - b).
func difference[T graph.Float](d, a, b []T, g T) {
	for i, v := range a {
		d[i] = g * (v - b[i])
	}
}

// sigmoidError sets mean to sigmoid(logits), and returns the sum of (x - mean)^2.
func sigmoidError[T graph.Float](mean, logits, x []T) float64 {
	if mean32, ok := numeric.Singles(mean); ok {
		logits32, _ := numeric.Singles(logits)
		x32, _ := numeric.Singles(x)
		return kernel.SigmoidError(mean32, logits32, x32)
	}
	numeric.Sigmoid(mean, logits)
	return numeric.SquaredError(x, mean)
}

// sigmoidErrorGradient sets d = g (m - x) m (1 - m).
func sigmoidErrorGradient[T graph.Float](d, mean, x []T, g T) {
	if d32, ok := numeric.Singles(d); ok {
		mean32, _ := numeric.Singles(mean)
		x32, _ := numeric.Singles(x)
		kernel.SigmoidErrorGrad(d32, mean32, x32, float32(g))
		return
	}
	for i, m := range mean {
		d[i] = g * (m - x[i]) * (m * (1 - m))
	}
}

type bernoulli[T graph.Float] struct {
	rows           float64
	g              T
	x, logits      []T
	dx, dlogits    []T
	errors, slopes *numeric.Loop
}

func newBernoulli[T graph.Float](in []tensor.Shape) *bernoulli[T] {
	n := in[0].TotalSize()
	f := &bernoulli[T]{rows: float64(in[0][0])}
	f.errors = numeric.NewLoop(n, numeric.BlockSize, func(lo, hi int) float64 {
		return logisticError(f.logits[lo:hi], f.x[lo:hi])
	})
	f.slopes = numeric.NewLoop(n, numeric.BlockSize, f.slopeBlock)
	return f
}

func (f *bernoulli[T]) Forward(in [][]T, out []T) {
	f.x, f.logits = in[0], in[1]
	out[0] = T(f.errors.Run() / f.rows)
}

func (f *bernoulli[T]) Backward(in [][]T, _, dout []T, din [][]T) {
	f.x, f.logits, f.dx, f.dlogits = in[0], in[1], din[0], din[1]
	f.g = T(float64(dout[0]) / f.rows)
	f.slopes.Run()
}

func (f *bernoulli[T]) slopeBlock(lo, hi int) float64 {
	x, logits := f.x[lo:hi], f.logits[lo:hi]
	if f.dlogits != nil {
		logisticErrorGradient(f.dlogits[lo:hi], logits, x, f.g)
	}
	if f.dx != nil {
		dx := f.dx[lo:hi]
		for i, l := range logits {
			dx[i] = -f.g * l
		}
	}
	return 0
}

// logisticError returns the sum of log(1 + exp(l)) - x l.
func logisticError[T graph.Float](logits, x []T) float64 {
	if x32, ok := numeric.Singles(x); ok {
		logits32, _ := numeric.Singles(logits)
		return kernel.LogisticError(logits32, x32)
	}
	sum := 0.0
	for i, l := range logits {
		sum += numeric.Softplus(float64(l)) - float64(x[i])*float64(l)
	}
	return sum
}

// logisticErrorGradient sets d = g (sigmoid(l) - x).
func logisticErrorGradient[T graph.Float](d, logits, x []T, g T) {
	if d32, ok := numeric.Singles(d); ok {
		logits32, _ := numeric.Singles(logits)
		x32, _ := numeric.Singles(x)
		kernel.LogisticErrorGrad(d32, logits32, x32, float32(g))
		return
	}
	for i, l := range logits {
		d[i] = g * T(numeric.Logistic(float64(l))-float64(x[i]))
	}
}

// Costs returns [n, 1]: scale times a sum over the pixels of each image. The summand is (x - sigmoid(logit))^2 (kind
// gaussian), (x - m)^2 where m is the reconstruction itself (linear), or log(1 + exp(logit)) - x logit (bernoulli).
func Costs(images, logits *gorgonia.Node, kind string, scale float64) (*gorgonia.Node, error) {
	return graph.Apply(graph.Spec{
		Name:       "reconstruction costs",
		Key:        graph.Key(kind, scale),
		Attributes: map[string]any{"kind": kind, "scale": scale},
		Shape: func(in []tensor.Shape) (tensor.Shape, error) {
			if err := check.Pair("images", "their reconstruction", in); err != nil {
				return nil, err
			}
			return tensor.Shape{in[0][0], 1}, nil
		},
		New:  graph.Bodies(newCosts[float32](kind, scale), newCosts[float64](kind, scale)),
		Diff: []bool{false, false},
	}, images, logits)
}

type costs[T graph.Float] struct {
	in   [][]T
	out  []T
	rows *numeric.Loop
}

func newCosts[T graph.Float](kind string, scale float64) func(in []tensor.Shape) *costs[T] {
	return func(in []tensor.Shape) *costs[T] {
		f, pixels := &costs[T]{}, in[0].TotalSize()/in[0][0]
		var mean []T // sigmoids of the logits
		if kind == "gaussian" {
			mean = make([]T, in[0].TotalSize())
		}
		f.rows = numeric.NewLoop(in[0][0], 1, func(i, _ int) float64 {
			start, end, cost := i*pixels, (i+1)*pixels, 0.0
			switch x, logits := f.in[0][start:end], f.in[1][start:end]; kind {
			case "linear":
				cost = numeric.SquaredError(x, logits)
			case "bernoulli":
				cost = logisticError(logits, x)
			default:
				cost = sigmoidError(mean[start:end], logits, x)
			}
			f.out[i] = T(scale * cost)
			return 0
		})
		return f
	}
}

func (f *costs[T]) Forward(in [][]T, out []T) {
	f.in, f.out = in, out
	f.rows.Run()
}

func (*costs[T]) Backward(_ [][]T, _, _ []T, _ [][]T) {}

// Assignment adds the node that losses.Assignment documents.
func Assignment(weights, labels *gorgonia.Node, sizes, columns []int) (*gorgonia.Node, error) {
	return graph.Apply(graph.Spec{
		Name: "assignment error",
		Key:  graph.Key(sizes, columns),
		Shape: func(in []tensor.Shape) (tensor.Shape, error) {
			rows, k, err := graph.Matrix("weights", in[0])
			if err != nil {
				return nil, err
			}
			labelRows, l, err := graph.Matrix("labels", in[1])
			switch total := sumOf(sizes); {
			case err != nil:
				return nil, err
			case labelRows != rows:
				return nil, graph.Wanted(fmt.Sprintf("%d rows of labels", rows), in[1])
			case total != k || len(columns) != len(sizes):
				return nil, graph.Wanted(fmt.Sprintf("blocks of %d columns of weights, with one column of labels each", k),
					[2][]int{sizes, columns})
			}
			for _, c := range columns {
				if c < 0 || c >= l {
					return nil, graph.Wanted(fmt.Sprintf("columns of labels below %d", l), c)
				}
			}
			return tensor.ScalarShape(), nil
		},
		New: graph.Bodies(
			func(in []tensor.Shape) graph.Body[float32] {
				return assignmentError[float32]{sizes, columns, in[0][0], in[1][1]}
			},
			func(in []tensor.Shape) graph.Body[float64] {
				return assignmentError[float64]{sizes, columns, in[0][0], in[1][1]}
			}),
		Diff: []bool{true, false},
	}, weights, labels)
}

type assignmentError[T graph.Float] struct {
	sizes, columns []int
	rows, labels   int
}

// forWeights calls visit for every weight with its target, 0 or 1. It skips unknown labels.
func (f assignmentError[T]) forWeights(in [][]T, visit func(index int, target T)) {
	index := 0
	for row := range f.rows {
		for b, n := range f.sizes {
			label := in[1][row*f.labels+f.columns[b]]
			for j := range n {
				if label >= 0 {
					target := T(0)
					if int(label) == 1+j {
						target = 1
					}
					visit(index, target)
				}
				index++
			}
		}
	}
}

func (f assignmentError[T]) Forward(in [][]T, out []T) {
	var sum float64
	f.forWeights(in, func(index int, target T) {
		d := float64(target - in[0][index])
		sum += d * d
	})
	out[0] = T(sum / float64(f.rows))
}

func (f assignmentError[T]) Backward(in [][]T, _, dout []T, din [][]T) {
	clear(din[0])
	scale := 2 * dout[0] / T(f.rows)
	f.forWeights(in, func(index int, target T) { din[0][index] = scale * (in[0][index] - target) })
}

func sumOf(sizes []int) (total int) {
	for _, n := range sizes {
		total += n
	}
	return total
}
