package metrics

import (
	"context"
	"fmt"
	"math"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/internal/linear"
)

// attributeGap is the SAP of one factor (Kumar et al. 2018, section 3), from the score S of every code column as its
// predictor, largest for column a and second largest for b:
//
//	S_a - S_b
func attributeGap(scores []float64) float64 {
	_, gap := topGap(scores)
	return gap
}

// squaredCorrelation is the score cov(x, y)^2 / (var x var y) of numbers x and labels y, which vary; 0 if var x (n-1
// degrees of freedom) is at most 1e-12.
func squaredCorrelation(x []float64, labels []int) float64 {
	column := make([]float64, len(x))
	n := float64(len(x))
	scale := unitColumn(Matrix{Rows: len(x), Cols: 1, Data: x}, 0, column)
	if scale*scale*n/(n-1) <= 1e-12 {
		return 0
	}
	var mean, square, product float64
	for _, l := range labels {
		mean += float64(l) / n
	}
	for i, l := range labels {
		v := float64(l) - mean
		square += v * v
		product += v * column[i]
	}
	return product / square * product / n
}

// SAP is the separated attribute predictability of Kumar et al. 2018, section 3, 0 to 1, as disentanglement_lib
// computes it: the mean over factors of the largest minus the second largest score of a code column. With Score svm,
// the score is the accuracy on the test rows of a linear support vector machine with one input (squared hinge loss,
// balanced weights, one against all others, intercept penalised), fitted exactly to the train rows. With Score
// correlation, it is the squared correlation of column and level number on the train rows, 0 if the variance of the
// column is 1e-12 or less.
type SAP struct {
	Score     SAPScore `yaml:"score" doc:"svm (for levels of any kind) or correlation (for ordinal levels)"`
	Cost      float64  `yaml:"cost" doc:"svm: inverse L2 strength (scikit-learn's C)"`
	TrainTest `yaml:",inline"`
	Reduction `yaml:",inline"`
}

// SAPScore is the score of a column as a predictor of a factor.
type SAPScore string

// The scores.
const (
	ScoreSVM         SAPScore = "svm"
	ScoreCorrelation SAPScore = "correlation"
)

// Needs returns EachLevel.
func (*SAP) Needs() Needs { return EachLevel }

// Better returns HigherIsBetter.
func (*SAP) Better() Direction { return HigherIsBetter }

// Range implements Bounded.
func (*SAP) Range() (least, most float64) { return 0, 1 }

// Validate checks the settings.
func (m *SAP) Validate() error {
	if m.Score != ScoreSVM && m.Score != ScoreCorrelation {
		return config.Invalid("score", "unknown score %q; want svm or correlation", string(m.Score))
	}
	if !(m.Cost > 0) || math.IsInf(m.Cost, 0) {
		return config.Invalid("cost", "%v is not a positive number", m.Cost)
	}
	if err := m.Reduction.validate(); err != nil {
		return err
	}
	return m.TrainTest.validate()
}

// Suits implements Selective.
func (m *SAP) Suits(in *Input) error {
	if m.columns(in) < 2 {
		return fmt.Errorf("there is %d code column; want at least two, to have a gap between them", m.columns(in))
	}
	if err := m.TrainTest.suits(in); err != nil {
		return err
	}
	return m.wantVarying(in)
}

// Compute returns the part per_factor and the grid score of columns and factors.
// Factors that have one level in the train rows are left out.
func (m *SAP) Compute(ctx context.Context, in *Input) (Result, error) {
	if err := ready(ctx, m, in); err != nil {
		return Result{}, err
	}
	return m.reduced(in, func(in *Input) (Result, error) { return m.compute(ctx, in) })
}

// compute measures codes after reduction.
func (m *SAP) compute(ctx context.Context, in *Input) (Result, error) {
	train, test, err := m.TrainTest.rows(in)
	if err != nil {
		return Result{}, err
	}
	var r Result
	r.Basis.fitted(train, test)
	fit, check := labelsOf(in, train), labelsOf(in, test)
	g := Grid{Name: "score", Values: make([][]float64, in.Codes.Cols)}
	var factors []int
	for j, f := range in.Factors {
		if varies(fit[j]) {
			factors, g.Columns = append(factors, j), append(g.Columns, f.Name)
		} else {
			r.Notes = append(r.Notes, fmt.Sprintf("factor %s has one level only and is left out", f.Name))
		}
	}
	if len(factors) == 0 {
		return Result{}, fmt.Errorf("every factor has one level only; want one that varies")
	}
	for c := range g.Values {
		g.Rows = append(g.Rows, columnName(c))
	}
	err = each(ctx, in.Codes.Cols, func(c int) (err error) {
		g.Values[c], err = m.column(ctx, in, c, train, test, fit, check, factors)
		return err
	})
	if err != nil {
		return Result{}, err
	}
	part := Part{Name: "per_factor", Labels: g.Columns}
	for _, scores := range transposed(g.Values) {
		part.Values = append(part.Values, attributeGap(scores))
	}
	r.Value, r.Parts, r.Grids = factor.Mean.Of(part.Values), []Part{part}, []Grid{g}
	return r, nil
}

// column returns the scores of column c for some factors, with the labels fit of the train rows and check of the test
// rows.
func (m *SAP) column(ctx context.Context, in *Input, c int, train, test []int, fit, check [][]int, factors []int) ([]float64, error) {
	x, row := columnOf(in.Codes, c, train), make([]float64, len(factors))
	if m.Score == ScoreCorrelation {
		for i, j := range factors {
			row[i] = squaredCorrelation(x, fit[j])
		}
		return row, nil
	}
	y, column := columnOf(in.Codes, c, test), linear.NewColumn(x)
	for i, j := range factors {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		row[i] = accuracyOf(column.Classify(fit[j], in.Factors[j].Size, m.Cost), y, check[j])
	}
	return row, nil
}

// labelsOf returns the levels of some rows, by factor.
func labelsOf(in *Input, rows []int) [][]int {
	labels := make([][]int, len(in.Factors))
	for j := range labels {
		labels[j] = make([]int, len(rows))
		for at, i := range rows {
			labels[j][at] = in.Levels[i*len(in.Factors)+j]
		}
	}
	return labels
}

func varies(labels []int) bool {
	for _, l := range labels {
		if l != labels[0] {
			return true
		}
	}
	return false
}

// columnOf copies some rows of a code column.
func columnOf(codes Matrix, c int, rows []int) []float64 {
	x := make([]float64, len(rows))
	for at, i := range rows {
		x[at] = codes.Data[i*codes.Cols+c]
	}
	return x
}

// accuracyOf returns the accuracy of predict on numbers x.
func accuracyOf(predict func(x float64) int, x []float64, labels []int) float64 {
	predicted := make([]int, len(x))
	for i, v := range x {
		predicted[i] = predict(v)
	}
	return accuracy(predicted, labels)
}
