package predict

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/internal/geometry"
	"github.com/unravel-ml/unravel/internal/linear"
	"github.com/unravel-ml/unravel/internal/parallel"
)

// rocArea is the area under the ROC curve of one level (Ridgeway and Mozer 2018, section 2). From the scores s of rows
// with the label (+) and without it (-) it computes the probability
//
//	P(s+ > s-) + P(s+ = s-)/2
//
// over pairs of such rows. It is NaN if rows of either kind are missing. Scores are 0 or more.
func rocArea(scores []float64, labels []int, label int) float64 {
	own := make([]float64, 0, len(scores)/8)
	for i, s := range scores {
		if labels[i] == label {
			own = append(own, s)
		}
	}
	m := len(own)
	others := len(scores) - m
	if m == 0 || others == 0 {
		return math.NaN()
	}
	slices.Sort(own)
	place := newPlaces(own)
	var below, equal int // numbers of pairs with s+ < s-, and with s+ = s-
	for i, s := range scores {
		if labels[i] != label {
			b, e := place.of(s)
			below += b
			equal += e
		}
	}
	return 1 - (float64(below)+float64(equal)/2)/(float64(m)*float64(others))
}

// ROCAreas returns the explicitness of one factor from the predicted probabilities of a model. It is the mean area over
// the levels with rows of both kinds; ROCAreas also returns the number of these levels.
func ROCAreas(
	ctx context.Context, model *linear.Logistic, x []float64, labels []int,
) (mean float64, levels int, err error) {
	n, k := len(labels), len(model.Classes)
	d := len(x) / n
	const together = 64
	scores := make([]float64, n*k) // level by level
	err = parallel.Each(ctx, (n+together-1)/together, func(part int) error {
		p := make([]float64, k)
		for i := part * together; i < min((part+1)*together, n); i++ {
			model.Probabilities(x[i*d:(i+1)*d], p)
			for c, v := range p {
				scores[c*n+i] = v
			}
		}
		return nil
	})
	if err != nil {
		return 0, 0, err
	}
	areas := make([]float64, k)
	err = parallel.Each(ctx, k, func(c int) error {
		areas[c] = rocArea(scores[c*n:(c+1)*n], labels, model.Classes[c])
		return nil
	})
	for _, a := range areas {
		if !math.IsNaN(a) {
			mean += a
			levels++
		}
	}
	return mean / float64(max(levels, 1)), levels, err
}

// places counts the sorted values below a query, and the values equal to it. The bit patterns of non-negative floats
// are ordered like the floats, so a table can be indexed by the high bits. That is faster than binary search.
type places struct {
	values []float64 // distinct values in ascending order
	before []int32   // number of values below each distinct value; last entry: all values
	least  uint64
	shift  int
	start  []int32 // by high bits: index of the first value with these or larger bits
}

// maxPlaces limits the size of the table.
const maxPlaces = 4096

func newPlaces(ordered []float64) *places {
	p := &places{least: math.Float64bits(ordered[0])}
	for i, v := range ordered {
		if i == 0 || v != ordered[i-1] {
			p.values, p.before = append(p.values, v), append(p.before, int32(i))
		}
	}
	p.before = append(p.before, int32(len(ordered)))
	span := math.Float64bits(ordered[len(ordered)-1]) - p.least
	for span>>p.shift >= maxPlaces {
		p.shift++
	}
	p.start = make([]int32, span>>p.shift+2)
	at := 0
	for b := range p.start {
		for at < len(p.values) && (math.Float64bits(p.values[at])-p.least)>>p.shift < uint64(b) {
			at++
		}
		p.start[b] = int32(at)
	}
	return p
}

// of counts the values below s, and the values equal to s.
func (p *places) of(s float64) (below, equal int) {
	bits := math.Float64bits(s)
	if bits < p.least {
		return 0, 0
	}
	at := (bits - p.least) >> p.shift
	if at >= uint64(len(p.start)-1) {
		return int(p.before[len(p.values)]), 0
	}
	i, end := int(p.start[at]), int(p.start[at+1])
	if end-i > 8 {
		near, _ := slices.BinarySearch(p.values[i:end], s)
		i += near
	}
	for i < end && p.values[i] < s {
		i++
	}
	below = int(p.before[i])
	if i < end && p.values[i] == s {
		equal = int(p.before[i+1]) - below
	}
	return below, equal
}

// Recovery predicts factors y, rows of k numbers, from codes z by an affine map h (Zhang and Sugiyama 2024, equation 26
// and definition 8). Its methods return an error of the best map, and this error for every factor.
type Recovery struct {
	Fit              geometry.Regression
	X, Y             []float64 // codes and factors, in row-major order
	Columns, Factors int
}

// MeanError is the mean over n rows and k factors of the squared (mse) or absolute (mae) error:
//
//	min_h 1/(nk) sum_ij |y_ij - h_j(z_i)|^p,  p = 2 (mse) or 1 (mae)
func (r *Recovery) MeanError(squared bool) (mean float64, perFactor []float64, err error) {
	if squared {
		err = r.Fit.LeastSquares(r.X, r.Columns, r.Y, r.Factors, 0)
	} else {
		err = r.Fit.LeastAbsolute(r.X, r.Columns, r.Y, r.Factors)
	}
	return factor.Mean.Of(r.Fit.Errors), r.Fit.Errors, err
}

// MinimaxError is the minimum over h of the largest length of an error:
//
//	min_h max_i |y_i - h(z_i)|
func (r *Recovery) MinimaxError() (largest float64, perFactor []float64, err error) {
	err = r.Fit.JointMinimax(r.X, r.Columns, r.Y, r.Factors)
	return r.Fit.Largest, r.Fit.Errors, err
}

// MinimaxByFactor is the root of the sum of the squares of the factors' largest errors:
//
//	(sum_j e_j^2)^(1/2),  e_j = min_h max_i |y_ij - h_j(z_i)|
func (r *Recovery) MinimaxByFactor() (largest float64, perFactor []float64, err error) {
	err = r.Fit.Minimax(r.X, r.Columns, r.Y, r.Factors)
	var square float64
	for _, e := range r.Fit.Errors {
		square += e * e
	}
	return math.Sqrt(square), r.Fit.Errors, err
}

// BallError is the radius of the smallest ball around the errors of least squares:
//
//	min_c max_i |y_i - h(z_i) - c|
func (r *Recovery) BallError() (radius float64, perFactor []float64, err error) {
	if err := r.Fit.LeastSquares(r.X, r.Columns, r.Y, r.Factors, 0); err != nil {
		return 0, nil, err
	}
	ball := geometry.Ball{Interrupt: r.Fit.Interrupt}
	if err := ball.Enclose(r.Fit.Residuals, r.Factors); err != nil {
		return 0, nil, fmt.Errorf("ball around the errors: %w", err)
	}
	perFactor = make([]float64, r.Factors)
	for i, e := range r.Fit.Residuals {
		j := i % r.Factors
		// the ball's centre becomes part of the intercept of h
		perFactor[j] = max(perFactor[j], math.Abs(e-ball.Centre[j]))
	}
	return ball.Radius, perFactor, nil
}
