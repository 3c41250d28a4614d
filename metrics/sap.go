package metrics

import (
	"cmp"
	"context"
	"fmt"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/internal/parallel"
	"github.com/unravel-ml/unravel/metrics/internal/information"
	"github.com/unravel-ml/unravel/metrics/internal/levels"
	"github.com/unravel-ml/unravel/metrics/internal/predict"
	"github.com/unravel-ml/unravel/metrics/mutual"
)

// SAP is the separated attribute predictability of Kumar et al. 2018, section 3, 0 to 1, as disentanglement_lib
// computes it: the mean over factors of the largest minus the second largest score of a code column. With Score svm,
// the score is the accuracy on the test rows of a linear support vector machine with one input. The machine (squared
// hinge loss, balanced weights, one against all others, intercept penalised) is fitted exactly to the train rows. With
// Score correlation, it is the squared correlation of column and level number on the train rows, 0 if the variance of
// the column is 1e-12 or less.
//
// With Score linear, all rows both fit and score, as in the code of Ross and Doshi-Velez 2021. A categorical factor
// takes the accuracy of the support vector machine. Any other factor takes R^2 of the linear regression of its values:
// their squared correlation with the column.
type SAP struct {
	eachLevel
	share

	Score     SAPScore `yaml:"score" doc:"svm (for levels of any kind), correlation (for ordinal levels), or linear (on all rows: svm for categorical factors, R^2 for the values of other factors)"`
	Cost      float64  `yaml:"cost" doc:"svm: inverse L2 strength (scikit-learn's C)"`
	TrainTest `yaml:",inline"`
	Reduction `yaml:",inline"`
}

// SAPScore is the score of a column as a predictor of a factor.
type SAPScore string

// The scores.
const (
	scoreSVM         SAPScore = "svm"
	scoreCorrelation SAPScore = "correlation"
	scoreLinear      SAPScore = "linear"
)

// Validate checks the settings.
func (m *SAP) Validate() error {
	return cmp.Or(
		oneOf("score", "score", m.Score, scoreSVM, scoreCorrelation, scoreLinear),
		positive("cost", m.Cost),
		m.Reduction.validate(),
		m.TrainTest.validate(),
	)
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

// Compute returns the part per_factor and the grid score of columns and factors. Factors with one level in the train
// rows are left out.
func (m *SAP) Compute(ctx context.Context, in *Input) (Result, error) {
	if err := ready(ctx, m, in); err != nil {
		return Result{}, err
	}
	all := *m
	if m.Score == scoreLinear {
		all.TrainTest = TrainTest{TrainRows: in.Codes.Rows}
	}
	in, err := m.reduce(in)
	if err != nil {
		return Result{}, err
	}
	return all.compute(ctx, in)
}

// compute measures codes after reduction.
func (m *SAP) compute(ctx context.Context, in *Input) (Result, error) {
	train, test, err := m.TrainTest.rows(in)
	if err != nil {
		return Result{}, err
	}
	var r Result
	r.Basis.fitted(train, test)
	fit, check := in.table().ByFactor(train), in.table().ByFactor(test)
	g := Grid{Name: "score", Values: make([][]float64, in.Codes.Cols)}
	var factors []int
	for j, f := range in.Factors {
		if predict.Vary(fit[j]) {
			factors, g.Columns = append(factors, j), append(g.Columns, f.Name)
		} else {
			r.Notes = append(r.Notes, fmt.Sprintf("factor %s has only one level and is left out", f.Name))
		}
	}
	if len(factors) == 0 {
		return Result{}, fmt.Errorf("every factor has only one level; want a factor that varies")
	}
	g.Rows = in.columnNames(nil)
	values, of := levels.Chosen(m.values(in, fit), factors), levels.Chosen(in.Factors, factors)
	fit, check = levels.Chosen(fit, factors), levels.Chosen(check, factors)
	err = parallel.Each(ctx, in.Codes.Cols, func(c int) (err error) {
		x, y := in.Codes.Column(c, train), in.Codes.Column(c, test)
		g.Values[c], err = predict.Single(ctx, x, y, of, fit, check, values, m.Cost)
		return err
	})
	if err != nil {
		return Result{}, err
	}
	part := Part{Name: "per_factor", Labels: g.Columns}
	for _, scores := range mutual.Transposed(g.Values) {
		_, gap := information.Gap(scores)
		part.Values = append(part.Values, gap)
	}
	r.Value, r.Parts, r.Grids = factor.Mean.Of(part.Values), []Part{part}, []Grid{g}
	return r, nil
}

// values returns the numbers to correlate columns with, by factor, from the labels of the train rows. It returns nil
// for factors that support vector machines predict.
func (m *SAP) values(in *Input, fit [][]int) [][]float64 {
	list, k := make([][]float64, len(in.Factors)), len(in.Factors)
	if m.Score == scoreSVM {
		return list
	}
	scaled := in.factorRows(unitsRange)
	for j, f := range in.Factors {
		if m.Score == scoreLinear && f.Kind == factor.Categorical {
			continue
		}
		list[j] = make([]float64, len(fit[j]))
		for i, l := range fit[j] {
			if list[j][i] = float64(l); m.Score == scoreLinear {
				list[j][i] = scaled[i*k+j]
			}
		}
	}
	return list
}
