package linear

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/unravel-ml/unravel/internal/lbfgs"
	"github.com/unravel-ml/unravel/internal/numeric"
)

// Logistic is a fitted logistic regression. It is multinomial. For two classes it has a single logit, the difference of
// the two logits.
type Logistic struct {
	Classes   []int // the labels in ascending order
	Converged bool
	columns   int
	outputs   int
	centre    []float64
	weights   []float64 // columns+1 rows of outputs, for x - centre; the last row is the intercept
}

// FitLogistic minimises
//
//	1/2 |W|^2 + c sum over rows of -ln p(label)
//
// over the weights, in at most the given number of iterations. There is no penalty on the intercepts. Inputs are
// finite, in row-major order. See [Inputs.Fit].
func FitLogistic(ctx context.Context, x []float64, columns int, labels []int, c float64, iterations int) (*Logistic, error) {
	in, err := NewInputs(x, columns)
	if err != nil {
		return nil, err
	}
	return in.Fit(ctx, labels, c, iterations)
}

// Fit fits one regression by L-BFGS. The metric of the search is first an upper bound of the second derivatives
// (Böhning 1992). Later it is the second derivatives for each output, from a sample of rows. Fit stops when all
// derivatives with respect to the weights of uncorrelated inputs are at most 1e-6 + c min(1e-9 n^2, 3e-6 n) in absolute
// value. With many columns, the derivatives are in units in which the penalty counts at most as much as the loss.
// Losses and gradients of rows use single precision, their sums use double precision. The result does not depend on the
// number of threads.
func (in *Inputs) Fit(ctx context.Context, labels []int, c float64, iterations int) (*Logistic, error) {
	path, err := in.Path(ctx, labels, []float64{c}, iterations)
	if err != nil {
		return nil, err
	}
	return path[0], nil
}

// Path fits a regression for each weight of the loss. Each fit starts from the previous solution. Path stops when the
// context ends.
func (in *Inputs) Path(ctx context.Context, labels []int, weights []float64, iterations int) ([]*Logistic, error) {
	n := in.rows.Count
	if len(labels) != n {
		return nil, fmt.Errorf("logistic regression: %d labels of %d rows; want one for each", len(labels), n)
	}
	classes := slices.Clone(labels)
	slices.Sort(classes)
	classes = slices.Compact(classes)
	outputs := len(classes)
	if outputs <= 2 {
		outputs = 1
	}
	var path []*Logistic
	var x []float64
	var f *logisticLoss
	for _, c := range weights {
		m := &Logistic{Classes: classes, columns: in.columns, outputs: outputs, centre: in.centre,
			weights: make([]float64, (in.columns+1)*outputs)}
		path = append(path, m)
		if len(classes) == 1 {
			m.Converged = true
			continue
		}
		if f == nil {
			f = newLogisticLoss(in, classes, outputs, labels)
			x = make([]float64, outputs*in.rows.Columns)
		}
		f.c = c
		if err := f.setBound(); err != nil {
			return nil, err
		}
		x, m.Converged = minimise(ctx, f, x, iterations, 1e-6+c*min(1e-9*float64(n)*float64(n), 3e-6*float64(n)))
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		m.setWeights(in, x)
	}
	return path, nil
}

// setWeights converts weights of uncorrelated inputs to weights of x - centre.
func (m *Logistic) setWeights(in *Inputs, x []float64) {
	width := in.rows.Columns
	for j := range m.outputs {
		w := x[j*width : (j+1)*width]
		m.weights[m.columns*m.outputs+j] = w[in.rank]
		for c := range m.columns {
			var sum float64
			for i, v := range w[:in.rank] {
				sum += in.toInputs.At(c, i) * v
			}
			m.weights[c*m.outputs+j] = sum
		}
	}
}

// Probabilities writes the probability of every class for a row of inputs to dst.
func (m *Logistic) Probabilities(x, dst []float64) {
	if len(m.Classes) == 1 {
		dst[0] = 1
		return
	}
	m.logits(x, dst[:m.outputs])
	if m.outputs == 1 {
		v := dst[0]
		dst[0], dst[1] = 1/(1+math.Exp(v)), 1/(1+math.Exp(-v))
		return
	}
	softmax(dst[:m.outputs])
}

// Predict returns the most probable label for a row of inputs. For ties, the first label wins.
func (m *Logistic) Predict(x, scratch []float64) int {
	if len(m.Classes) == 1 {
		return m.Classes[0]
	}
	v := scratch[:m.outputs]
	m.logits(x, v)
	if m.outputs == 1 {
		if v[0] > 0 {
			return m.Classes[1]
		}
		return m.Classes[0]
	}
	best := 0
	for k, l := range v {
		if l > v[best] {
			best = k
		}
	}
	return m.Classes[best]
}

func (m *Logistic) logits(x, dst []float64) {
	k := m.outputs
	copy(dst, m.weights[m.columns*k:])
	for d, v := range x {
		v -= m.centre[d]
		row := m.weights[d*k : d*k+k]
		for j, w := range row {
			dst[j] += v * w
		}
	}
}

// softmax replaces logits by probabilities.
func softmax(v []float64) {
	largest, sum := v[0], 0.0
	for _, l := range v { // slices.Max is slower, because it also checks for NaN
		if l > largest {
			largest = l
		}
	}
	for j, l := range v {
		e := math.Exp(l - largest)
		v[j] = e
		sum += e
	}
	for j, inverse := 0, 1/sum; j < len(v); j++ {
		v[j] *= inverse
	}
}

// patience is the number of steps without a smaller gradient after which the search stops, because later steps only
// follow rounding errors.
const patience = 50

// minimise runs L-BFGS (Nocedal and Wright 2006, algorithm 7.5) from x until the gradient norm is
// at most tolerance. It reports whether it converged.
func minimise(ctx context.Context, f *logisticLoss, x []float64, iterations int, tolerance float64) ([]float64, bool) {
	x = append([]float64(nil), x...)
	g, next, slope := make([]float64, len(x)), make([]float64, len(x)), make([]float64, len(x))
	value, _ := f.evaluate(ctx, x, g)
	best, bestNorm, improvedAt := append([]float64(nil), x...), math.Inf(1), 0
	stuck := false // rounding errors hide the descent
	var history lbfgs.Memory
	for i := range iterations {
		if ctx.Err() != nil {
			return x, false
		}
		if norm := f.gradientNorm(g); norm < bestNorm {
			copy(best, x)
			bestNorm, improvedAt = norm, i
		}
		if stuck = i-improvedAt > patience; stuck || bestNorm <= tolerance {
			break
		}
		if i >= 4 && i&(i-1) == 0 { // not in the first steps, which are too far from the minimum
			f.setCurvature(x)
		}
		direction := history.Direction(g, f.precondition)
		slopeAlong := numeric.Dot(g, direction)
		v, ok := f.lineSearch(ctx, x, direction, value, slopeAlong, next, slope)
		if stuck = !ok; stuck {
			break
		}
		history.Add(x, next, g, slope)
		copy(x, next)
		copy(g, slope)
		value = v
	}
	if norm := f.gradientNorm(g); norm < bestNorm {
		best, bestNorm = x, norm
	}
	return best, bestNorm <= tolerance || stuck && bestNorm <= 100*tolerance
}

// lineSearch is the line search from x, where the objective has the given value and slope. It returns the value at the
// new point, and whether it found a lower objective.
func (f *logisticLoss) lineSearch(ctx context.Context, x, direction []float64, value, descent float64,
	next, slope []float64) (v float64, ok bool) {
	for length := 1.0; length > 1e-10 && descent < 0; length /= 2 {
		for i := range x {
			next[i] = x[i] + length*direction[i]
		}
		var noise float64
		if v, noise = f.evaluate(ctx, next, slope); v <= value+1e-4*length*descent {
			return v, true
		}
		// near the minimum, rounding errors hide the decrease, but slopes still show it (Hager and Zhang 2005, sec. 4)
		if v <= value+noise && numeric.Dot(slope, direction) <= -0.9*descent {
			return v, true
		}
	}
	return value, false
}
