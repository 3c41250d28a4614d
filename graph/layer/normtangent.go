package layer

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/internal/parallel"
)

var errBatchTangent = errors.New("the moments of a batch couple its images, and a derivative along one image moves all; want norm group, layer, instance or none, or frozen running moments")

// normTangent adds the tangent of the normalisation that plan describes. A group of n elements has s = sqrt(variance +
// epsilon) and h = (x - mean)/s. For a direction t of x, the tangent is
//
//	gamma (t - mean(t) - h mean(h t))/s
//
// With given moments, the tangent is gamma t/s. The node is differentiable with respect to x, gamma and t.
func normTangent(plan func(in []tensor.Shape) (normShape, error), key string, in []*gorgonia.Node,
	out, t *gorgonia.Node) (*gorgonia.Node, error) {
	shapes := make([]tensor.Shape, len(in))
	diff := make([]bool, len(in)+1)
	for i, n := range in {
		shapes[i] = n.Shape()
	}
	s, err := plan(shapes)
	if err != nil {
		return nil, err
	}
	if s.moments && !s.given {
		return nil, errBatchTangent
	}
	diff[0], diff[len(in)] = !s.given, true
	if s.affine {
		diff[len(in)-2] = true // gamma; nothing depends on beta
	}
	u, err := graph.Apply(graph.Spec{
		Name: "norm tangent",
		Key:  graph.Key(key, s.moments, s.affine),
		Shape: func(in []tensor.Shape) (tensor.Shape, error) {
			if t := in[len(in)-1]; !slices.Equal(t, in[0]) {
				return nil, graph.Wanted(fmt.Sprintf("a direction of shape %v", in[0]), t)
			}
			return in[0], nil
		},
		New: graph.Bodies(func([]tensor.Shape) *tangentNorm[float32] { return newTangentNorm[float32](s) },
			func([]tensor.Shape) *tangentNorm[float64] { return newTangentNorm[float64](s) }),
		Diff: diff,
	}, append(slices.Clone(in), t)...)
	if err != nil || !s.relu {
		return u, err
	}
	return graph.ActivationTangent(out, u, graph.ReLU)
}

// tangentNorm computes the tangent of a normalisation. The unit of parallel work is a set. Sums over a group use double
// precision and a fixed order.
type tangentNorm[T graph.Float] struct {
	normShape
	x, moments, gamma, t, y   []T
	dy, dx, dt                []T
	gammaSums                 []float64 // for each set and channel: sums of dy P t
	forwardItem, backwardItem func(worker, i int)
}

func newTangentNorm[T graph.Float](s normShape) *tangentNorm[T] {
	f := &tangentNorm[T]{normShape: s, gammaSums: make([]float64, s.sets*s.channels)}
	f.forwardItem, f.backwardItem = f.forwardSet, f.backwardSet
	return f
}

func (f *tangentNorm[T]) read(in [][]T) {
	f.x, f.t = in[0], in[len(in)-1]
	if f.moments = nil; f.normShape.moments {
		f.moments = in[1]
	}
	if f.gamma = nil; f.affine {
		f.gamma = in[len(in)-3]
	}
}

func (f *tangentNorm[T]) Forward(in [][]T, out []T) {
	f.read(in)
	f.y = out
	parallel.For(f.sets, f.forwardItem)
}

// factor returns gamma of a channel, or 1 without gamma.
func (f *tangentNorm[T]) factor(c int) float64 {
	if f.gamma == nil {
		return 1
	}
	return float64(f.gamma[c])
}

// width returns the number of channels that share moments.
func (f *tangentNorm[T]) width() int {
	if f.given {
		return 1
	}
	return f.channels / f.groups
}

// groupMoments holds the moments and means of a group of elements.
type groupMoments struct {
	mean, inverse float64 // mean and 1/s of x
	u, hu         float64 // means of u and of h u
}

// group returns the moments of the group of x that starts at channel first of a set, and the means of another array u.
// If scaled is set, u is multiplied by gamma.
func (f *tangentNorm[T]) group(set, first int, u []T, scaled bool) groupMoments {
	if f.given {
		variance := float64(f.moments[f.channels+first])
		return groupMoments{mean: float64(f.moments[first]), inverse: 1 / math.Sqrt(variance+f.epsilon)}
	}
	width, start := f.width(), set*f.rows*f.channels
	shift := float64(f.x[start+first])
	var sum, square, us, xu float64
	for r := range f.rows {
		row := start + r*f.channels
		for c := first; c < first+width; c++ {
			d, v := float64(f.x[row+c])-shift, float64(u[row+c])
			if scaled {
				v *= f.factor(c)
			}
			sum += d
			square += d * d
			us += v
			xu += d * v
		}
	}
	n := float64(width * f.rows)
	mean := sum / n
	l := groupMoments{mean: shift + mean, inverse: 1 / math.Sqrt(math.Max(0, square/n-mean*mean)+f.epsilon), u: us / n}
	l.hu = (xu/n - mean*l.u) * l.inverse
	return l
}

func (f *tangentNorm[T]) forwardSet(_, set int) {
	start, width := set*f.rows*f.channels, f.width()
	for first := 0; first < f.channels; first += width {
		l := f.group(set, first, f.t, false)
		for r := range f.rows {
			row := start + r*f.channels
			for c := first; c < first+width; c++ {
				f.y[row+c] = T(f.factor(c) * f.projected(l, row+c, f.t, 1))
			}
		}
	}
}

// projected returns element i of P u, for u times a factor: (u - mean(u) - h mean(h u))/s.
func (f *tangentNorm[T]) projected(l groupMoments, i int, u []T, factor float64) float64 {
	return (factor*float64(u[i]) - l.u - (float64(f.x[i])-l.mean)*l.inverse*l.hu) * l.inverse
}

func (f *tangentNorm[T]) Backward(in [][]T, _, dout []T, din [][]T) {
	f.read(in)
	f.dy, f.dx, f.dt = dout, din[0], din[len(din)-1]
	parallel.For(f.sets, f.backwardItem)
	if !f.affine || din[len(din)-3] == nil {
		return
	}
	for c := range f.channels {
		total := 0.0
		for i := c; i < len(f.gammaSums); i += f.channels {
			total += f.gammaSums[i]
		}
		din[len(din)-3][c] = T(total)
	}
}

// backwardSet computes the gradients of a set. Let g = gamma dy. P is symmetric, so the gradient with respect to t is P
// g, and the gradient with respect to gamma is sum dy P t. The gradient of Q(x) = <g, P t> = n (mean(g t) - mean(g)
// mean(t) - mean(h g) mean(h t))/s is
//
//	(h (3 mean(h g) mean(h t) - A) - mean(h t)(g - mean(g)) - mean(h g)(t - mean(t)))/s^2,  A = mean(g t) - mean(g) mean(t).
func (f *tangentNorm[T]) backwardSet(_, set int) {
	start, width := set*f.rows*f.channels, f.width()
	for first := 0; first < f.channels; first += width {
		t, g := f.group(set, first, f.t, false), f.group(set, first, f.dy, true)
		product := f.products(start, first, t)
		a := product/float64(width*f.rows) - g.u*t.u
		for r := range f.rows {
			row := start + r*f.channels
			for c := first; c < first+width; c++ {
				i := row + c
				if f.dt != nil {
					f.dt[i] = T(f.projected(g, i, f.dy, f.factor(c)))
				}
				if f.dx != nil && !f.given {
					h := (float64(f.x[i]) - t.mean) * t.inverse
					f.dx[i] = T((h*(3*g.hu*t.hu-a) - t.hu*(f.factor(c)*float64(f.dy[i])-g.u) - g.hu*(float64(f.t[i])-t.u)) * t.inverse * t.inverse)
				}
			}
		}
	}
}

// products adds dy P t to the sums of each channel, and returns the sum of gamma dy t.
func (f *tangentNorm[T]) products(start, first int, t groupMoments) (sum float64) {
	set := start / (f.rows * f.channels)
	clear(f.gammaSums[set*f.channels+first:][:f.width()])
	for r := range f.rows {
		row := start + r*f.channels
		for c := first; c < first+f.width(); c++ {
			d := float64(f.dy[row+c])
			f.gammaSums[set*f.channels+c] += d * f.projected(t, row+c, f.t, 1)
			sum += f.factor(c) * d * float64(f.t[row+c])
		}
	}
	return sum
}
