package metrics

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/internal/gbt"
	"github.com/unravel-ml/unravel/metrics/internal/predict"
	"github.com/unravel-ml/unravel/metrics/matrix"
	"github.com/unravel-ml/unravel/metrics/mutual"
)

// DCI is disentanglement, completeness and informativeness of Eastwood and Williams
// 2018, section 2, with the gradient-boosted classifiers of disentanglement_lib.
//
// For every factor j a classifier (boosted trees: 100 rounds, depth 3) predicts the factor's level from all code
// columns. R(c, j) is the importance of column c to the classifier. With the rows and columns of R + 1e-11 divided by
// their sums,
//
//	disentanglement = sum over columns c of w(c) (1 - entropy of row c, base k)
//	completeness    = sum over factors j of v(j) (1 - entropy of column j, base d)
//	informativeness = mean over factors of the accuracy on test rows
//
// for d columns and k factors. w(c) and v(j) are the shares of column c and factor j in the sum of R, or all equal if R
// is 0. All three are 0 to 1. Disentanglement is 1 if every important column is important for one factor only;
// completeness is 1 if every factor needs one column. Log and Floor (the 1e-11) change the entropy of rows.
//
// Trees do not see differences of 1e-7 and less in a column.
//
// With random ties, columns that split equally well share importance; with ties first, the first of them takes all of
// it, and completeness is larger. Bins are an approximation for large tables. With few rows per level, importance moves
// between columns (1000 rows, a factor of 30 levels, 128 bins: disentanglement 0.82 instead of 0.89).
type DCI struct {
	knownLevels

	Score          DCIScore `yaml:"score" doc:"score reported as value: disentanglement, completeness or informativeness (test accuracy); the other scores are parts"`
	TrainTest      `yaml:",inline"`
	mutual.Entropy `yaml:",inline"`
	Rounds         int  `yaml:"rounds" doc:"boosting rounds: trees for every level of a factor"`
	Bins           int  `yaml:"bins" doc:"equal-count bins for splits, 2 to 256, for large tables; 0: exact splits"`
	Ties           Ties `yaml:"ties" doc:"choice among columns that split equally well: random (as in scikit-learn) or first"`
}

// DCIScore names one of the three scores.
type DCIScore string

// The scores.
const (
	Disentanglement DCIScore = "disentanglement"
	Completeness    DCIScore = "completeness"
	Informativeness DCIScore = "informativeness"
)

func (s DCIScore) validate() error {
	return oneOf("score", "score", s, Disentanglement, Completeness, Informativeness)
}

// Ties is a tree's rule for choosing among equally good columns.
type Ties string

// The ways to break ties.
const (
	tiesRandom Ties = "random"
	tiesFirst  Ties = "first"
)

// NewDCI returns the metric with the defaults of disentanglement_lib, except that test rows are held out.
func NewDCI() *DCI {
	return &DCI{Score: Disentanglement, TrainTest: apartTrainTest(), Entropy: mutual.LibraryEntropy(), Rounds: gbt.Defaults().Rounds, Ties: tiesRandom}
}

// maxBoosted bounds the rounds of trees.
const maxBoosted = 10000

// Better returns HigherIsBetter.
func (*DCI) Better() Direction { return HigherIsBetter }

// Range implements Bounded.
func (m *DCI) Range() (least, most float64) { return m.Entropy.Least(), 1 }

// Validate checks the settings.
func (m *DCI) Validate() error {
	return cmp.Or(
		m.Score.validate(),
		within("rounds", m.Rounds, 1, maxBoosted),
		rule(m.Bins == 0 || m.Bins >= 2 && m.Bins <= 256, "bins", "%d is out of range; want 2 to 256, or 0 (exact splits)", m.Bins),
		oneOf("ties", "ties", m.Ties, tiesRandom, tiesFirst),
		m.Entropy.Check(),
		m.TrainTest.validate(),
	)
}

// Suits implements Selective.
func (m *DCI) Suits(in *Input) error {
	if err := m.TrainTest.suits(in); err != nil {
		return err
	}
	if err := m.wantVarying(in); err != nil {
		return err
	}
	switch {
	case m.Score == Disentanglement && m.varying(in) < 2:
		return fmt.Errorf("one factor varies in the training rows; want at least two, for columns to be disentangled")
	case m.Score == Completeness && in.Codes.Cols < 2:
		return fmt.Errorf("there is one code column; want at least two, for a factor to be complete in one")
	}
	return nil
}

// Compute returns the parts disentanglement, completeness, informativeness_train and informativeness_test. It adds
// per_column (disentanglement), per_factor (completeness), per_factor_train and per_factor_test (accuracy), and the
// grid importance. Factors that have one level in the training rows are left out.
func (m *DCI) Compute(ctx context.Context, in *Input) (Result, error) {
	if err := ready(ctx, m, in); err != nil {
		return Result{}, err
	}
	if in.Stream == nil && m.Ties == tiesRandom {
		return Result{}, fmt.Errorf("%w, or ties: first", errNoStream)
	}
	in = in.sized(matrix.Matrix.ForTrees)
	fitted, err := m.fitAll(ctx, in)
	if err != nil {
		return Result{}, err
	}
	return m.result(in, fitted)
}

// fitAll fits the classifiers of all factors to the same rows. With unknown levels, each classifier has separate rows,
// in which its factor is known.
func (m *DCI) fitAll(ctx context.Context, in *Input) (*fittedDCI, error) {
	if in.table().Unknown() == nil {
		train, test, err := m.TrainTest.rows(in)
		if err != nil {
			return nil, err
		}
		return m.fit(ctx, in, train, test)
	}
	f := &fittedDCI{importance: make([][]float64, in.Codes.Cols)}
	for j, factor := range in.Factors {
		one := in.restrict([]int{j})
		if err := errors.Join(m.TrainTest.suits(one), m.wantVarying(one)); err != nil {
			f.notes = append(f.notes, fmt.Sprintf("factor %s is left out: %v", factor.Name, err))
			continue
		}
		train, test, err := m.TrainTest.rows(one)
		if err != nil {
			return nil, err
		}
		fitted, err := m.fit(ctx, one, train, test)
		if err != nil {
			return nil, fmt.Errorf("factor %q: %w", factor.Name, err)
		}
		f.basis.join(fitted.basis)
		f.factors, f.train, f.test, f.notes = append(f.factors, j), append(f.train, fitted.train...), append(f.test, fitted.test...), append(f.notes, fitted.notes...)
		for c, v := range fitted.importance {
			f.importance[c] = append(f.importance[c], v...)
		}
	}
	if len(f.factors) == 0 {
		return nil, errors.New("every factor has only one known level; want a factor that varies")
	}
	return f, nil
}

// fittedDCI holds importances and accuracies of the fitted classifiers.
type fittedDCI struct {
	factors     []int
	importance  [][]float64 // by column and factor
	train, test []float64   // accuracy, by factor
	basis       Basis
	notes       []string
}

func (m *DCI) fit(ctx context.Context, in *Input, train, test []int) (*fittedDCI, error) {
	x, err := boostedColumns(in, train, m.Bins)
	if err != nil {
		return nil, err
	}
	y, err := boostedColumns(in, test, 0)
	if err != nil {
		return nil, err
	}
	options := gbt.Defaults()
	options.Rounds = m.Rounds
	if m.Ties == tiesRandom {
		options.Ties = in.Stream
	}
	f := &fittedDCI{importance: make([][]float64, in.Codes.Cols)}
	f.basis.fitted(train, test)
	for j, factor := range in.Factors {
		levels := in.table().Of(j, train)
		if !predict.Vary(levels) {
			f.notes = append(f.notes, fmt.Sprintf("factor %s has one level only in the training rows and is left out", factor.Name))
			continue
		}
		classifier, err := gbt.FitClassifier(ctx, x, levels, options)
		if err != nil {
			return nil, fmt.Errorf("factor %q: %w", factor.Name, err)
		}
		predicted, err := classifier.Predict(ctx, y)
		if err != nil {
			return nil, fmt.Errorf("factor %q: %w", factor.Name, err)
		}
		f.factors = append(f.factors, j)
		f.train = append(f.train, predict.Accuracy(classifier.Fitted(), levels))
		f.test = append(f.test, predict.Accuracy(predicted, in.table().Of(j, test)))
		for c, v := range classifier.Importance() {
			f.importance[c] = append(f.importance[c], v)
		}
	}
	if len(f.factors) == 0 {
		return nil, fmt.Errorf("every factor has only one level in the %d training rows; want a factor that varies", len(train))
	}
	return f, nil
}

func (m *DCI) result(in *Input, f *fittedDCI) (Result, error) {
	r := Result{Value: factor.Mean.Of(f.test), Basis: f.basis, Notes: f.notes}
	var columns, factors []string
	for c := range f.importance {
		columns = append(columns, in.columnName(c))
	}
	for _, j := range f.factors {
		factors = append(factors, in.Factors[j].Name)
	}
	add := func(name, item string, score DCIScore, labels []string, value float64, parts []float64) {
		r.Parts = append(r.Parts, Part{Name: name, Values: []float64{value}}, Part{Name: item, Labels: labels, Values: parts})
		if m.Score == score {
			r.Value = value
		}
	}
	if len(factors) > 1 {
		value, parts := m.OfRows(f.importance)
		add("disentanglement", "per_column", Disentanglement, columns, value, parts)
	} else if m.Score == Disentanglement {
		return Result{}, fmt.Errorf("one factor varies in the training rows; want at least two, for columns to be disentangled")
	}
	if len(columns) > 1 {
		value, parts := mutual.LibraryEntropy().OfRows(mutual.Transposed(f.importance))
		add("completeness", "per_factor", Completeness, factors, value, parts)
	}
	add("informativeness_train", "per_factor_train", "", factors, factor.Mean.Of(f.train), f.train)
	add("informativeness_test", "per_factor_test", Informativeness, factors, factor.Mean.Of(f.test), f.test)
	if total(f.importance) == 0 {
		r.Notes = append(r.Notes, "no column helps to tell any factor: all importances are 0"+in.tinyForTrees())
	}
	r.Grids = []Grid{{Name: "importance", Rows: columns, Columns: factors, Values: f.importance}}
	return r, nil
}

func total(matrix [][]float64) (sum float64) {
	for _, row := range matrix {
		for _, v := range row {
			sum += v
		}
	}
	return sum
}

// boostedColumns returns the codes of some rows in the layout of boosted trees.
func boostedColumns(in *Input, rows []int, bins int) (*gbt.Columns, error) {
	data := make([]float64, 0, len(rows)*in.Codes.Cols)
	for _, i := range rows {
		data = append(data, in.Codes.Row(i)...)
	}
	if bins > 0 {
		return gbt.NewBinned(len(rows), in.Codes.Cols, data, bins)
	}
	return gbt.NewColumns(len(rows), in.Codes.Cols, data)
}

// DCIRegression is disentanglement, completeness and informativeness of Eastwood and Williams 2018, section 2, with
// boosted regressors instead of the classifiers of [DCI]. For every factor, mapped to [0, 1], trees fitted by squared
// error predict it from all code columns. Disentanglement and completeness follow from the importances of the columns
// as in DCI. Informativeness is the mean over factors of the coefficient of determination
//
//	R^2 = 1 - sum_i (y_i - h(z_i))^2 / sum_i (y_i - mean y)^2
//
// on the rows that the trees were fitted to, which are all rows. It is 0 for codes that tell nothing; an accuracy would
// be at guessing level. Levels of a categorical factor count as numbers.
//
// Columns that split equally well are taken at random, as in scikit-learn. Trees do not see differences of 1e-7 and
// less in a column.
type DCIRegression struct {
	allLevels
	share

	Score  DCIScore `yaml:"score" doc:"score reported as value: disentanglement, completeness or informativeness; the other scores are parts"`
	Rounds int      `yaml:"rounds" doc:"boosting rounds: trees for every factor"`
	Depth  int      `yaml:"depth" doc:"levels of splits of a tree"`
}

// newDCIRegression returns the metric with the defaults of scikit-learn's regressor.
func newDCIRegression() *DCIRegression {
	return &DCIRegression{Score: Disentanglement, Rounds: gbt.Defaults().Rounds, Depth: gbt.Defaults().Depth}
}

// maxBoostedDepth bounds the depth of trees.
const maxBoostedDepth = 16

// Validate checks the settings.
func (m *DCIRegression) Validate() error {
	return cmp.Or(m.Score.validate(), within("rounds", m.Rounds, 1, maxBoosted), within("depth", m.Depth, 1, maxBoostedDepth))
}

// Suits implements Selective.
func (m *DCIRegression) Suits(in *Input) error {
	switch n := len(in.table().Varying(in.Codes.Rows)); {
	case len(in.Factors) == 0:
		return fmt.Errorf("there are no factors; want at least one")
	case n == 0:
		return fmt.Errorf("every factor has only one level in the %d rows; want a factor that varies", in.Codes.Rows)
	case m.Score == Disentanglement && n < 2:
		return fmt.Errorf("one factor varies; want at least two, for columns to be disentangled")
	case m.Score == Completeness && in.Codes.Cols < 2:
		return fmt.Errorf("there is one code column; want at least two, for a factor to be complete in one")
	}
	return nil
}

// Compute returns the parts disentanglement, completeness and informativeness. It adds per_column (disentanglement),
// per_factor (completeness), per_factor_informativeness, and the grid importance. Factors with one level are left out.
func (m *DCIRegression) Compute(ctx context.Context, in *Input) (Result, error) {
	if err := ready(ctx, m, in); err != nil {
		return Result{}, err
	}
	if in.Stream == nil {
		return Result{}, errNoStream
	}
	in = in.sized(matrix.Matrix.ForTrees)
	x, err := gbt.NewColumns(in.Codes.Rows, in.Codes.Cols, in.Codes.Data)
	if err != nil {
		return Result{}, err
	}
	f := &fittedDCI{factors: in.table().Varying(in.Codes.Rows), importance: make([][]float64, in.Codes.Cols)}
	values, k := in.factorRows(unitsRange), len(in.Factors)
	options := gbt.Options{Rounds: m.Rounds, Depth: m.Depth, Rate: gbt.Defaults().Rate, Ties: in.Stream}
	for _, j := range f.factors {
		targets := make([]float64, in.Codes.Rows)
		for i := range targets {
			targets[i] = values[i*k+j]
		}
		r, err := gbt.FitRegressor(ctx, x, targets, options)
		if err != nil {
			return Result{}, fmt.Errorf("factor %q: %w", in.Factors[j].Name, err)
		}
		f.train = append(f.train, max(0, predict.Determination(targets, r.Fitted(), 1, 0, 1)))
		for c, v := range r.Importance() {
			f.importance[c] = append(f.importance[c], v)
		}
	}
	return m.result(in, f), nil
}

func (m *DCIRegression) result(in *Input, f *fittedDCI) Result {
	r := Result{Value: factor.Mean.Of(f.train), Basis: Basis{Shared: true}}
	var columns, factors []string
	for c := range f.importance {
		columns = append(columns, in.columnName(c))
	}
	for _, j := range f.factors {
		factors = append(factors, in.Factors[j].Name)
	}
	if len(f.factors) < len(in.Factors) {
		r.Notes = append(r.Notes, "factors with one level only are left out")
	}
	add := func(score DCIScore, item string, labels []string, value float64, parts []float64) {
		r.Parts = append(r.Parts, Part{Name: string(score), Values: []float64{value}}, Part{Name: item, Labels: labels, Values: parts})
		if m.Score == score {
			r.Value = value
		}
	}
	if len(factors) > 1 {
		value, parts := mutual.LibraryEntropy().OfRows(f.importance)
		add(Disentanglement, "per_column", columns, value, parts)
	}
	if len(columns) > 1 {
		value, parts := mutual.LibraryEntropy().OfRows(mutual.Transposed(f.importance))
		add(Completeness, "per_factor", factors, value, parts)
	}
	add(Informativeness, "per_factor_informativeness", factors, factor.Mean.Of(f.train), f.train)
	r.Grids = []Grid{{Name: "importance", Rows: columns, Columns: factors, Values: f.importance}}
	return r
}

// tinyForTrees is the end of a note about trees that found nothing in codes too small for them, or "" for other codes.
func (in *Input) tinyForTrees() string {
	const least = -20
	if e := in.Codes.Exponent(); e < least {
		return fmt.Sprintf("; trees take codes that differ by less than 1e-7 for the same, and the largest is about %.0e: want codes nearer to 1", math.Ldexp(1, e-1))
	}
	return ""
}
