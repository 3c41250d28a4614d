package metrics

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/unravel-ml/unravel/config"
	"github.com/unravel-ml/unravel/factor"
	"github.com/unravel-ml/unravel/internal/linear"
)

// BetaVAE is the score of Higgins et al. 2017, section 3, as disentanglement_lib
// computes it. A point is made from Batch pairs of rows that share the level of a
// factor, which is random, and its input is the mean over the pairs of |z - z'|, column by column. The
// value is the part of Test points whose factor a logistic regression (L2 penalty, C = 1)
// predicts that was fitted to Train points.
//
// The rows of a pair are drawn from the table: the first is any, the second any with
// its level. If the rows are a full grid of levels, all other factors are
// uniform and independent, as in the paper. With Standardise, inputs are divided by
// their standard deviation first, as in table 2 of Zhang and Sugiyama 2024, where Batch is 8.
type BetaVAE struct {
	Batch       int  `yaml:"batch" doc:"pairs of images averaged for one point"`
	Train       int  `yaml:"train" doc:"number of training points"`
	Test        int  `yaml:"test" doc:"number of test points"`
	Standardise bool `yaml:"standardise" doc:"divide the differences of every column by their standard deviation"`
}

// FactorVAE is the score of Kim and Mnih 2018, section 4, as disentanglement_lib computes
// it. A vote is made from Batch rows with one level of a factor, which is random:
// the column whose variance over these rows, divided by that over all rows, is the
// least; of variances that differ by a millionth or less the first. Columns with a
// standard deviation below Prune do not take part. Every column stands for the factor
// that it had most of Train votes for, and the value is the part of Test votes for which
// that is right. If no column takes part, it is 0.
//
// The rows are drawn from the table: the level is that of any row, and the others are
// any with that level.
//
// Table 2 of Zhang and Sugiyama 2024 has another score by the name: Direct (the
// column's number must be the factor's, without Train votes), Raw (variances are not
// divided), Batch 8 and Prune 0.
type FactorVAE struct {
	Batch  int     `yaml:"batch" doc:"rows of one vote"`
	Train  int     `yaml:"train" doc:"number of training votes, which assign a factor to every column"`
	Test   int     `yaml:"test" doc:"number of test votes"`
	Prune  float64 `yaml:"prune" doc:"smallest standard deviation of a column that takes part"`
	Direct bool    `yaml:"direct" doc:"assign factor i to column i, without training votes"`
	Raw    bool    `yaml:"raw" doc:"compare variances without dividing by the variance over all rows"`
}

// Better says that higher values are better.
func (*BetaVAE) Better() Direction { return HigherIsBetter }

// Range implements Bounded.
func (*BetaVAE) Range() (least, most float64) { return 0, 1 }

// Better says that higher values are better.
func (*FactorVAE) Better() Direction { return HigherIsBetter }

// Range implements Bounded.
func (*FactorVAE) Range() (least, most float64) { return 0, 1 }

func validDraws(batch, least, train, test int) error {
	switch {
	case batch < least || batch > maxDrawn:
		return config.Invalid("batch", "%d is out of range; want %d to %d", batch, least, maxDrawn)
	case train < 1 || train > maxDrawn:
		return config.Invalid("train", "%d is out of range; want 1 to %d", train, maxDrawn)
	case test < 1 || test > maxDrawn:
		return config.Invalid("test", "%d is out of range; want 1 to %d", test, maxDrawn)
	}
	return nil
}

// Validate checks the settings.
func (m *BetaVAE) Validate() error { return validDraws(m.Batch, 1, m.Train, m.Test) }

// Validate checks the settings.
func (m *FactorVAE) Validate() error {
	if !(m.Prune >= 0) || math.IsInf(m.Prune, 0) {
		return config.Invalid("prune", "%v is not a number of at least 0", m.Prune)
	}
	return validDraws(m.Batch, 2, m.Train, m.Test)
}

// Suits implements Selective.
func (*BetaVAE) Suits(in *Input) error { return wantFactors(in, 2) }

// Suits implements Selective.
func (*FactorVAE) Suits(in *Input) error { return wantFactors(in, 2) }

// Compute returns the parts train, the accuracy on the points fitted to, and per_factor, that
// on the test points of each factor.
func (m *BetaVAE) Compute(ctx context.Context, in *Input) (Result, error) {
	if err := m.Validate(); err != nil {
		return Result{}, err
	}
	draw, err := newDrawing(ctx, in, m)
	if err != nil {
		return Result{}, err
	}
	d := in.Codes.Cols
	x, labels, err := m.points(ctx, draw, m.Train)
	if err != nil {
		return Result{}, err
	}
	y, answers, err := m.points(ctx, draw, m.Test)
	if err != nil {
		return Result{}, err
	}
	var scales []float64
	if m.Standardise {
		scales = make([]float64, d)
		unit := make([]float64, m.Train)
		for c := range scales {
			if scales[c] = unitColumn(Matrix{Rows: m.Train, Cols: d, Data: x}, c, unit); scales[c] == 0 {
				scales[c] = 1
			}
		}
		for i := range x {
			x[i] /= scales[i%d]
		}
		for i := range y {
			y[i] /= scales[i%d]
		}
	}
	model, err := linear.FitLogistic(ctx, x, d, labels, 1, 1000)
	if err != nil {
		return Result{}, err
	}
	part, value := predicted(in, model, y, answers)
	_, fitted := predicted(in, model, x, labels)
	r := Result{Value: value, Parts: []Part{part, {Name: "train", Values: []float64{fitted}}}}
	if !model.Converged {
		r.Notes = append(r.Notes, "the regression has not converged")
	}
	return r, nil
}

// points draws points and their factors.
func (m *BetaVAE) points(ctx context.Context, draw *drawing, n int) (x []float64, labels []int, err error) {
	d := draw.in.Codes.Cols
	x, labels = make([]float64, n*d), make([]int, n)
	for i := range labels {
		if err := stops(ctx, i, 64); err != nil {
			return nil, nil, err
		}
		j := draw.factor()
		labels[i] = j
		point := x[i*d : (i+1)*d]
		for range m.Batch {
			first := draw.row()
			a, b := draw.in.Codes.Row(first), draw.in.Codes.Row(draw.like(first, j))
			for c, v := range a {
				point[c] += math.Abs(v-b[c]) / float64(m.Batch)
			}
		}
	}
	return x, labels, nil
}

// predicted is the part of points whose factor is predicted, for every factor and in all.
func predicted(in *Input, model *linear.Logistic, x []float64, factors []int) (Part, float64) {
	d := in.Codes.Cols
	scratch := make([]float64, len(in.Factors))
	right, all := make([]float64, len(in.Factors)), make([]float64, len(in.Factors))
	for i, j := range factors {
		all[j]++
		if model.Predict(x[i*d:(i+1)*d], scratch) == j {
			right[j]++
		}
	}
	return perFactor(in, right, all), factor.Sum.Of(right) / float64(len(factors))
}

// perFactor is the part per_factor of factors that have points.
func perFactor(in *Input, right, all []float64) Part {
	part := Part{Name: "per_factor"}
	for j, f := range in.Factors {
		if all[j] > 0 {
			part.Labels = append(part.Labels, f.Name)
			part.Values = append(part.Values, right[j]/all[j])
		}
	}
	return part
}

// Compute returns the parts per_factor, the part of its test votes that are right, and
// train, that of the Train votes (without Direct). The grid votes has the Train votes, or the
// Test votes with Direct, of columns for factors.
func (m *FactorVAE) Compute(ctx context.Context, in *Input) (Result, error) {
	if err := m.Validate(); err != nil {
		return Result{}, err
	}
	draw, err := newDrawing(ctx, in, m)
	if err != nil {
		return Result{}, err
	}
	var r Result
	d, k := in.Codes.Cols, len(in.Factors)
	active, scales := m.active(in)
	if len(active) < d {
		r.Notes = append(r.Notes, fmt.Sprintf("%d of %d columns are left out: their standard deviation is too small", d-len(active), d))
	}
	if len(active) == 0 {
		return r, nil
	}
	columns := blocksOf(in, active, scales)
	stands := make([]int, d) // the factor of a column
	g := Grid{Name: "votes"}
	for c := range stands {
		stands[c] = c
	}
	if !m.Direct {
		if g.Values, err = m.votes(ctx, draw, columns, m.Train); err != nil {
			return Result{}, err
		}
		var right float64
		for c, row := range g.Values {
			most := slices.Max(row)
			stands[c] = slices.Index(row, most)
			right += most
		}
		r.Parts = append(r.Parts, Part{Name: "train", Values: []float64{right / float64(m.Train)}})
	}
	test, err := m.votes(ctx, draw, columns, m.Test)
	if err != nil {
		return Result{}, err
	}
	if m.Direct {
		g.Values = test
	}
	right, all := make([]float64, k), make([]float64, k)
	for c, row := range test {
		g.Rows = append(g.Rows, columnName(c))
		for j, v := range row {
			if all[j] += v; stands[c] == j {
				right[j] += v
			}
		}
	}
	for _, f := range in.Factors {
		g.Columns = append(g.Columns, f.Name)
	}
	r.Value = factor.Sum.Of(right) / float64(m.Test)
	r.Parts = append([]Part{perFactor(in, right, all)}, r.Parts...)
	r.Grids = []Grid{g}
	return r, nil
}

// active lists the columns that take part, and the scales of all.
func (m *FactorVAE) active(in *Input) (active []int, scales []float64) {
	d := in.Codes.Cols
	scales = make([]float64, d)
	column := make([]float64, in.Codes.Rows)
	for c := range d {
		deviation := unitColumn(in.Codes, c, column)
		if n := float64(in.Codes.Rows); n > 1 {
			deviation *= math.Sqrt(n / (n - 1))
		}
		scales[c] = 1
		if !m.Raw {
			scales[c] = deviation
		}
		if deviation >= m.Prune && (m.Raw || deviation > 0) {
			active = append(active, c)
		}
	}
	return active, scales
}

// drawing draws rows of a table by the levels of factors.
type drawing struct {
	in     *Input
	levels []*groups
}

func newDrawing(ctx context.Context, in *Input, m Selective) (*drawing, error) {
	if err := in.Validate(); err != nil {
		return nil, err
	}
	if err := m.Suits(in); err != nil {
		return nil, err
	}
	if in.Stream == nil {
		return nil, fmt.Errorf("there is no stream of random numbers to draw rows; want one")
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	d := &drawing{in: in}
	for j := range in.Factors {
		d.levels = append(d.levels, groupRows(in, j, nil))
	}
	return d, nil
}

// factor draws a factor, and row a row.
func (d *drawing) factor() int { return d.in.Stream.IntN(len(d.in.Factors)) }
func (d *drawing) row() int    { return d.in.Stream.IntN(d.in.Codes.Rows) }

// like draws a row with the level of factor j that a row has.
func (d *drawing) like(row, j int) int {
	members := d.levels[j].members(d.in.Levels[row*len(d.in.Factors)+j])
	return members[d.in.Stream.IntN(len(members))]
}
