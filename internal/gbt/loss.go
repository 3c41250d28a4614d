package gbt

import (
	"context"
	"fmt"
	"math"
	"slices"
)

// Classifier is a fitted classifier.
type Classifier struct {
	model   *model
	classes []int
}

// FitClassifier fits a classifier to the classes of rows. There must be two or more different classes. For two classes,
// the score of the trees is the log-odds of the larger class. For more classes, every class has a score, and the
// probabilities are the softmax of the scores. The fit stops when the context ends.
func FitClassifier(ctx context.Context, x *Columns, classes []int, o Options) (c *Classifier, err error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if len(classes) != x.rows {
		return nil, fmt.Errorf("gbt: there are %d classes of rows; want %d", len(classes), x.rows)
	}
	c = &Classifier{classes: slices.Clone(classes)}
	slices.Sort(c.classes)
	c.classes = slices.Compact(c.classes)
	if len(c.classes) < 2 {
		return nil, fmt.Errorf("gbt: all rows have class %d; want two classes or more", c.classes[0])
	}
	index, counts := make([]int, x.rows), make([]float64, len(c.classes))
	for i, v := range classes {
		index[i], _ = slices.BinarySearch(c.classes, v)
		counts[index[i]]++
	}
	prior := priorScores(counts, x.rows)
	if len(prior) == 1 {
		c.model, err = fit(ctx, x, prior, binomial(index), o)
	} else {
		c.model, err = fit(ctx, x, prior, multinomial(index), o)
	}
	return c, err
}

// priorScores returns the initial scores of the outputs, given the counts of two or more classes. Two classes have one
// output: the log-odds of the second class.
func priorScores(counts []float64, rows int) (prior []float64) {
	share := func(n float64) float64 { return min(max(n/float64(rows), 0x1p-23), 1-0x1p-23) }
	if len(counts) == 2 {
		p := share(counts[1])
		return []float64{math.Log(p / (1 - p))}
	}
	for _, n := range counts {
		prior = append(prior, math.Log(share(n)))
	}
	return prior
}

// newtonScale returns the factor of Newton steps for the number of outputs.
func newtonScale(outputs int) float64 {
	if outputs == 1 {
		return 1
	}
	return float64(outputs-1) / float64(outputs)
}

// Importance returns the importance of every column. The sum is 1, or 0 if no tree has a split.
func (c *Classifier) Importance() []float64 { return c.model.importance }

// Fitted returns the most probable class of every training row. For ties, the first class wins.
func (c *Classifier) Fitted() []int { return c.decide(c.model.scores) }

// Predict returns the most probable class of every row of a table. For ties, the first class wins.
func (c *Classifier) Predict(ctx context.Context, x *Columns) ([]int, error) {
	scores, err := c.model.predict(ctx, x)
	if err != nil {
		return nil, err
	}
	return c.decide(scores), nil
}

func (c *Classifier) decide(scores [][]float64) []int {
	classes := bestClasses(scores)
	for i, k := range classes {
		classes[i] = c.classes[k]
	}
	return classes
}

// bestClasses returns the index of the most probable class, given scores by output and row.
func bestClasses(scores [][]float64) []int {
	classes := make([]int, len(scores[0]))
	for i := range classes {
		best := 0
		if len(scores) == 1 {
			if scores[0][i] > 0 {
				best = 1
			}
		} else {
			for k := range scores {
				if scores[k][i] > scores[best][i] {
					best = k
				}
			}
		}
		classes[i] = best
	}
	return classes
}

// binomial is the deviance for two classes. It has the class of each row, 0 or 1.
type binomial []int

func (binomial) expect(scores, expected [][]float64, low, high int) {
	for i := low; i < high; i++ {
		expected[0][i] = 1 / (1 + math.Exp(-scores[0][i]))
	}
}

func (b binomial) residuals(_ int, expected, residual, curvature []float64) {
	for i, p := range expected {
		residual[i], curvature[i] = float64(b[i])-p, p*(1-p)
	}
}

// multinomial is the deviance for three or more classes. It has the class of each row, from 0.
type multinomial []int

func (multinomial) expect(scores, expected [][]float64, low, high int) {
	var largest, sum [blockRows]float64
	maximum, total := largest[:high-low], sum[:high-low]
	copy(maximum, scores[0][low:high])
	for _, row := range scores {
		for i, v := range row[low:high] {
			maximum[i] = max(maximum[i], v)
		}
	}
	for k, row := range scores {
		dst := expected[k][low:high]
		for i, v := range row[low:high] {
			dst[i] = math.Exp(v - maximum[i])
			total[i] += dst[i]
		}
	}
	for _, row := range expected {
		for i := range total {
			row[low+i] /= total[i]
		}
	}
}

func (m multinomial) residuals(output int, expected, residual, curvature []float64) {
	for i, p := range expected {
		r := -p
		if m[i] == output {
			r = 1 - p
		}
		residual[i], curvature[i] = r, p*(1-p)
	}
}

// meanTarget returns the mean of the targets. A target above 1e150 is an error, because sums of squares could overflow.
func meanTarget(targets []float64) (mean float64, err error) {
	for i, v := range targets {
		if math.IsNaN(v) || math.Abs(v) > 1e150 {
			return 0, fmt.Errorf("gbt: target %d is %v; want numbers of at most 1e150", i, v)
		}
		mean += v / float64(len(targets))
	}
	return mean, nil
}

// Regressor is a fitted regressor.
type Regressor struct{ model *model }

// FitRegressor fits a regressor to the targets of rows with the squared error. The fit stops when the context ends.
func FitRegressor(ctx context.Context, x *Columns, targets []float64, o Options) (*Regressor, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if len(targets) != x.rows {
		return nil, fmt.Errorf("gbt: there are %d targets; want %d", len(targets), x.rows)
	}
	mean, err := meanTarget(targets)
	if err != nil {
		return nil, err
	}
	m, err := fit(ctx, x, []float64{mean}, squared(targets), o)
	return &Regressor{m}, err
}

// Importance returns the importance of every column. The sum is 1, or 0 if no tree has a split.
func (r *Regressor) Importance() []float64 { return r.model.importance }

// Fitted returns the estimates of the training rows.
func (r *Regressor) Fitted() []float64 { return r.model.scores[0] }

// squared is the squared error. It has the target of each row.
type squared []float64

func (squared) expect(scores, expected [][]float64, low, high int) {
	copy(expected[0][low:high], scores[0][low:high])
}

func (s squared) residuals(_ int, expected, residual, curvature []float64) {
	for i, v := range expected {
		residual[i], curvature[i] = s[i]-v, 1
	}
}
