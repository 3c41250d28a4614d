package metrics

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/internal/gbt"
	"github.com/unravel-ml/unravel/internal/numeric"
	"github.com/unravel-ml/unravel/metrics/internal/levels"
	"github.com/unravel-ml/unravel/metrics/internal/trees"
	"github.com/unravel-ml/unravel/metrics/matrix"
	"github.com/unravel-ml/unravel/metrics/mutual"
	"github.com/unravel-ml/unravel/models/hierarchy"
)

// DCI measures disentanglement, completeness and informativeness of Eastwood and Williams 2018, section 2, with the
// gradient-boosted classifiers of disentanglement_lib.
//
// For every factor j a classifier (boosted trees: 100 rounds, depth 3) predicts the factor's level from all code
// columns. R(c, j) is the importance of column c to the classifier. Divide the rows and the columns of R + 1e-11 by
// their sums. Then
//
//	disentanglement = sum over columns c of w(c) (1 - entropy of row c, base k)
//	completeness    = sum over factors j of v(j) (1 - entropy of column j, base d)
//	informativeness = mean over factors of the accuracy on test rows
//
// for d columns and k factors. w(c) and v(j) are the fractions of column c and of factor j in the sum of R; they are
// all equal if R is 0. All three scores are 0 to 1. Disentanglement is 1 if every important column is important for
// only one factor; completeness is 1 if every factor needs only one column. Log and Floor (1e-11) change the entropy.
//
// Trees do not see differences of at most 1e-7 in a column.
//
// With random ties, columns that split equally well share the importance; with ties first, the first such column gets
// all of it, and completeness is larger. Bins approximate the splits in large tables. With few rows per level, bins
// shift importance between columns (1000 rows, a factor with 30 levels, 128 bins: disentanglement 0.82 instead of
// 0.89).
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

// Ties says how a tree chooses among equally good columns.
type Ties string

// The ways to break ties.
const (
	tiesRandom Ties = "random"
	tiesFirst  Ties = "first"
)

// NewDCI returns the metric with the defaults of disentanglement_lib, except that it holds out test rows.
func NewDCI() *DCI {
	return &DCI{Score: Disentanglement, TrainTest: apartTrainTest(), Entropy: mutual.LibraryEntropy(),
		Rounds: gbt.Defaults().Rounds, Ties: tiesRandom}
}

// maxBoosted limits the number of boosting rounds.
const maxBoosted = 10000

func (*DCI) Better() Direction              { return HigherIsBetter }
func (m *DCI) Range() (least, most float64) { return m.Entropy.Least(), 1 }

func (m *DCI) Validate() error {
	return cmp.Or(
		m.Score.validate(),
		inRange("rounds", m.Rounds, 1, maxBoosted),
		rule(m.Bins == 0 || m.Bins >= 2 && m.Bins <= 256, "bins",
			"%d is out of range; want 2 to 256, or 0 (exact splits)", m.Bins),
		oneOf("ties", "ties", m.Ties, tiesRandom, tiesFirst),
		m.Entropy.Check(),
		m.TrainTest.validate(),
	)
}

func (m *DCI) Suits(in *Input) error {
	if err := m.TrainTest.suits(in); err != nil {
		return err
	}
	if err := m.wantVarying(in); err != nil {
		return err
	}
	return m.Score.suits(m.varying(in), in.Codes.Cols)
}

// suits returns an error if a score needs more varying factors or more code columns.
func (s DCIScore) suits(varying, columns int) error {
	switch {
	case s == Disentanglement && varying < 2:
		return errOneFactor
	case s == Completeness && columns < 2:
		return errors.New("there is one code column; want at least two for completeness")
	}
	return nil
}

// Compute returns the parts disentanglement, completeness, informativeness_train and informativeness_test. It adds
// per_column (disentanglement), per_factor (completeness), per_factor_train and per_factor_test (accuracy), and the
// grid importance. Factors with only one level in the train rows are left out.
func (m *DCI) Compute(ctx context.Context, in *Input) (Result, error) {
	if err := ready(ctx, m, in); err != nil {
		return Result{}, err
	}
	if in.Stream == nil && m.Ties == tiesRandom {
		return Result{}, fmt.Errorf("%w, or ties: first", errNoStream)
	}
	in = in.rescaled(matrix.Matrix.ForTrees)
	f := &fittedDCI{Importances: trees.Importances{Of: make([][]float64, in.Codes.Cols)}, notes: in.coarseNote()}
	for _, p := range in.knownParts() {
		if err := errors.Join(m.TrainTest.suits(p.Input), m.wantVarying(p.Input)); err != nil {
			f.notes = append(f.notes, fmt.Sprintf("factor %s is left out: %v", p.Factors[0].Name, err))
		} else if err := m.fit(ctx, p, f); err != nil {
			return Result{}, err
		}
	}
	if len(f.Factors) == 0 {
		return Result{}, errors.New("every factor has only one known level; want a factor that varies")
	}
	return m.result(in, f)
}

type fittedDCI struct {
	trees.Importances
	basis Basis
	notes []string
}

// fit adds the classifiers for the factors of one part of the input.
func (m *DCI) fit(ctx context.Context, p knownPart, f *fittedDCI) error {
	train, test, err := m.TrainTest.rows(p.Input)
	if err != nil {
		return err
	}
	options := gbt.Defaults()
	options.Rounds = m.Rounds
	if m.Ties == tiesRandom {
		options.Ties = p.Stream
	}
	x, err := trees.Classify(ctx, p.Codes, p.table(), train, test, m.Bins, options)
	if err == nil && len(x.Factors) == 0 {
		err = fmt.Errorf("every factor has only one level in the %d train rows; want a factor that varies", len(train))
	}
	if err != nil {
		if p.rows != nil {
			err = fmt.Errorf("factor %q: %w", p.Factors[0].Name, err)
		}
		return err
	}
	var basis Basis
	basis.recordSplit(train, test)
	f.basis.join(basis)
	f.Join(x, p.factors)
	for _, j := range x.Single {
		f.notes = append(f.notes, fmt.Sprintf("factor %s has only one level in the train rows and is left out",
			p.Factors[j].Name))
	}
	return nil
}

func (m *DCI) result(in *Input, f *fittedDCI) (Result, error) {
	if err := m.Score.suits(len(f.Factors), in.Codes.Cols); err != nil {
		return Result{}, err
	}
	r := Result{Value: factor.Mean.Of(f.Test), Basis: f.basis, Notes: f.notes}
	g := r.concentrations(in, &f.Importances, m.Entropy, m.Score)
	r.addScores("informativeness_train", "per_factor_train", g.Columns, factor.Mean.Of(f.Train), f.Train)
	r.addScores("informativeness_test", "per_factor_test", g.Columns, factor.Mean.Of(f.Test), f.Test)
	if slices.Max(slices.Concat(g.Values...)) == 0 {
		r.Notes = append(r.Notes, "no column helps to predict a factor: all importances are 0")
	}
	return r, nil
}

var errOneFactor = errors.New("one factor varies in the train rows; want at least two for disentanglement")

// concentrations adds disentanglement and completeness, and the grid of importances, which it returns.
func (r *Result) concentrations(in *Input, x *trees.Importances, rows mutual.Entropy, value DCIScore) Grid {
	g := in.byFactor("importance", x.Of)
	g.Columns = levels.Chosen(g.Columns, x.Factors)
	r.Grids = []Grid{g}
	if len(g.Columns) > 1 {
		mean, scores := rows.OfRows(x.Of)
		r.addScores(string(Disentanglement), "per_column", g.Rows, mean, scores)
	}
	if len(g.Rows) > 1 {
		mean, scores := mutual.LibraryEntropy().OfRows(mutual.Transposed(x.Of))
		r.addScores(string(Completeness), "per_factor", g.Columns, mean, scores)
	}
	if score := r.Part(string(value)); score != nil {
		r.Value = score[0]
	}
	return g
}

// addScores adds a part with a mean, and a part with the numbers behind the mean.
func (r *Result) addScores(name, partName string, labels []string, mean float64, values []float64) {
	r.Parts = append(r.Parts, Part{Name: name, Values: []float64{mean}},
		Part{Name: partName, Labels: labels, Values: values})
}

// DCIRegression measures disentanglement, completeness and informativeness of Eastwood and Williams 2018, section 2,
// with boosted regressors instead of the classifiers of [DCI]. Every factor is mapped to [0, 1], and trees predict it
// from all code columns by squared error. Disentanglement and completeness follow from the importances of the columns
// as in DCI. Informativeness is the mean over factors of the coefficient of determination
//
//	R^2 = 1 - sum_i (y_i - h(z_i))^2 / sum_i (y_i - mean y)^2
//
// on the rows that the trees are fitted to, which are all rows. It is 0 for codes without information, where an
// accuracy would be at chance level. Levels of a categorical factor count as numbers.
//
// Columns that split equally well are chosen at random, as in scikit-learn. Trees do not see differences of at most
// 1e-7 in a column.
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

// maxBoostedDepth limits the depth of trees.
const maxBoostedDepth = 16

func (m *DCIRegression) Validate() error {
	return cmp.Or(m.Score.validate(), inRange("rounds", m.Rounds, 1, maxBoosted),
		inRange("depth", m.Depth, 1, maxBoostedDepth))
}

func (m *DCIRegression) Suits(in *Input) error {
	if len(in.Factors) == 0 {
		return errors.New("there are no factors; want at least one")
	}
	if err := (TrainTest{}).wantVarying(in); err != nil {
		return err
	}
	return m.Score.suits(TrainTest{}.varying(in), in.Codes.Cols)
}

// Compute returns the parts disentanglement, completeness and informativeness. It adds per_column (disentanglement),
// per_factor (completeness), per_factor_informativeness, and the grid importance. Factors with only one level are left
// out.
func (m *DCIRegression) Compute(ctx context.Context, in *Input) (Result, error) {
	if err := ready(ctx, m, in); err != nil {
		return Result{}, err
	}
	if in.Stream == nil {
		return Result{}, errNoStream
	}
	in = in.rescaled(matrix.Matrix.ForTrees)
	options := gbt.Options{Rounds: m.Rounds, Depth: m.Depth, Rate: gbt.Defaults().Rate, Ties: in.Stream}
	x, err := trees.Regress(ctx, in.Codes, in.table(), in.factorRows(unitsRange), options)
	if err != nil {
		return Result{}, err
	}
	informative := factor.Mean.Of(x.Train)
	r := Result{Value: informative, Basis: Basis{Shared: true}, Notes: in.coarseNote()}
	g := r.concentrations(in, x, mutual.LibraryEntropy(), m.Score)
	r.addScores(string(Informativeness), "per_factor_informativeness", g.Columns, informative, x.Train)
	if len(x.Factors) < len(in.Factors) {
		r.Notes = append(r.Notes, "factors with only one level are left out")
	}
	return r, nil
}

// coarseNote returns a note on columns with few steps for trees. Numbers that differ by at most 1e-7 are equal to trees.
func (in *Input) coarseNote() []string {
	example, coarse, rows := "", 0, numeric.UpTo(in.Codes.Rows)
	for c := range in.Codes.Cols {
		deviation, step, joined := trees.Coarse(in.Codes.Column(c, rows))
		if !joined {
			continue
		}
		if coarse++; coarse == 1 {
			example = fmt.Sprintf("%s (standard deviation %.0e, steps of %.0e)", in.columnName(c), deviation, step)
		}
	}
	if coarse == 0 {
		return nil
	}
	return []string{fmt.Sprintf("in single precision, %d of %d columns have few distinct numbers, such as %s; want codes around 0, of size 1",
		coarse, in.Codes.Cols, example)}
}

// R4 is the right-representation R^2 of Ross and Doshi-Velez 2021, equations 2 and 3, 0 to 1. It is the mean over
// factors V of the maximum over code columns Z of
//
//	R2(V <-> Z) = sqrt(max(0, R2(V -> Z)) max(0, R2(Z -> V)))
//
// where R2(X -> Y) is the coefficient of determination on a quarter of the rows, averaged over random splits. Boosted
// trees, fitted to the other rows, predict Y from X alone. If Y is categorical (at most 10 values, all whole numbers),
// the trees are a classifier and R2 is its accuracy. The trees have 100 rounds and depth 3; they do not see differences
// of at most 1e-7 in X. A factor with fewer than 100 steps of single precision, or of 1e-7, in its standard deviation
// is mapped to [0, 1]. As in the authors' code, R2 is 1 if Y has a single value in either part, and 0 with fewer than
// two rows.
//
// R4 is 1 if for every factor some code column is a bijection of the factor.
type R4 struct {
	eachLevel
	share

	Predictions `yaml:",inline"`
}

func newR4() *R4 { return &R4{Predictions: Predictions{Splits: 5, Samples: 10000}} }

// R4C is R4 for hierarchical codes (Ross and Doshi-Velez 2021, equation 5), 0 to 1. It is the mean over factors V of
// S(V, g), where g is the outermost group of code columns. It uses the rows where V is active (its absolute value is
// above 1e-10). On a set of rows,
//
//	S(V, g) = the largest, over columns Z of g, of R2(V <-> Z) and, if Z is categorical,
//	          sum over options o of Z of S(V, o), on the rows that chose o, weighted by their number
//
// and 0 for an empty group. The weights are fractions of the rows that chose an option of Z, as in the authors' code.
// With Weights printed they are fractions of all rows where V is active, as in the printed equation 4. A column at
// depth k is then weighted by the product of the fractions of all k options above it. That lowers the score of factors
// in nested options. For flat codes and factors without inactive values, both variants equal R4.
//
// Input.Hierarchy gives the layout of the code columns (see [hierarchy.Hierarchy.Row]).
type R4C struct {
	eachLevel
	share

	Predictions `yaml:",inline"`
	Weights     OptionWeights `yaml:"weights" doc:"weight of an option: its share of the rows that chose an option of its column (group, authors' code) or of all rows with an active factor (printed, equation 4)"`
}

// OptionWeights names the denominator of an option's share of the rows.
type OptionWeights string

// The weights.
const (
	weightsGroup   OptionWeights = "group"
	weightsPrinted OptionWeights = "printed"
)

func (m *R4C) Validate() error {
	return cmp.Or(oneOf("weights", "weights", m.Weights, weightsGroup, weightsPrinted), m.Predictions.Validate())
}

// Predictions sets the number of splits and of rows for boosted trees.
type Predictions struct {
	Splits  int `yaml:"splits" doc:"number of random splits of the rows, 3/4 to train and 1/4 to test"`
	Samples int `yaml:"samples" doc:"largest number of rows to measure, chosen at random; 0: all rows"`
}

// The largest settings.
const maxPredictionSplits = 1000

func (p *Predictions) Validate() error {
	return cmp.Or(inRange("splits", p.Splits, 1, maxPredictionSplits), notNegative("samples", p.Samples, "all rows"))
}

func (*R4C) Suits(in *Input) error { return fits(in.Hierarchy, "code", in.Codes.Cols) }

// Compute returns the part per_factor, and three grids of columns by factors: r2 (both directions), r2_from_factor and
// r2_from_code.
func (m *R4) Compute(ctx context.Context, in *Input) (Result, error) {
	if err := ready(ctx, m, in); err != nil {
		return Result{}, err
	}
	return m.compute(ctx, in, make(hierarchy.Hierarchy, in.Codes.Cols), in.columnNames(nil), nil)
}

// Compute returns the part per_factor, and four grids of columns by factors: r2 (both directions), r2_from_factor,
// r2_from_code and rows. A column is compared with a factor on the rows where the factor is active and the column's
// group is chosen.
func (m *R4C) Compute(ctx context.Context, in *Input) (Result, error) {
	if err := ready(ctx, m, in); err != nil {
		return Result{}, err
	}
	if err := in.optionsFit(); err != nil {
		return Result{}, err
	}
	return m.compute(ctx, in, in.Hierarchy, in.Hierarchy.Names(), m)
}

// compute scores every factor against the hierarchy of code columns; R4C uses the rows where the factor is active.
func (p *Predictions) compute(
	ctx context.Context, in *Input, h hierarchy.Hierarchy, names []string, c *R4C,
) (Result, error) {
	if in.Stream == nil {
		return Result{}, errNoStream
	}
	in = in.rescaled(matrix.Matrix.ForTrees)
	n, sampleSize := in.Codes.Rows, 0
	rows := numeric.UpTo(n)
	if p.Samples > 0 && n > p.Samples {
		n, sampleSize, rows = p.Samples, p.Samples, in.Stream.Perm(n)[:p.Samples]
	}
	factors, codes, err := in.predictors(rows)
	if err != nil {
		return Result{}, err
	}
	active, denominators, notes := make([][]bool, len(factors)), make([]int, len(factors)), in.coarseNote()
	for j, v := range factors {
		active[j] = make([]bool, len(rows))
		anyActive := false
		for i, value := range v.Values {
			active[j][i] = c == nil || math.Abs(value) > inactive
			if active[j][i] && c != nil && c.Weights == weightsPrinted {
				denominators[j]++
			}
			anyActive = anyActive || active[j][i]
		}
		if !anyActive {
			notes = append(notes,
				fmt.Sprintf("factor %s is inactive in all rows and counts as 0; leave it out if it should not", in.Factors[j].Name))
		}
	}
	orders := make([][]int, p.Splits) // the first quarter of any subset is for testing
	for s := range orders {
		orders[s] = in.Stream.Perm(n)
	}
	list, groups, err := trees.Compare(ctx, factors, codes, h, active, orders)
	if err != nil {
		return Result{}, err
	}
	r := Result{Grids: comparisonGrids(in, names, list), Basis: Basis{Rows: sampleSize, Train: n - n/4, Test: n / 4},
		Notes: notes}
	if c == nil {
		r.Grids, r.Notes = r.Grids[:3], append(r.Notes, in.constantNotes()...)
	}
	perFactor := in.perFactor(nil)
	for j, group := range groups {
		perFactor.Values = append(perFactor.Values, trees.Best(group, denominators[j]))
	}
	r.Value, r.Parts = factor.Mean.Of(perFactor.Values), []Part{perFactor}
	return r, nil
}

// comparisonGrids returns the grids of comparisons, by column and factor.
func comparisonGrids(in *Input, names []string, list []*trees.Comparison) (grids []Grid) {
	for _, show := range []struct {
		name  string
		value func(c *trees.Comparison) float64
	}{
		{"r2", (*trees.Comparison).Both},
		{"r2_from_factor", func(c *trees.Comparison) float64 { return c.ToCode }},
		{"r2_from_code", func(c *trees.Comparison) float64 { return c.ToFactor }},
		{"rows", func(c *trees.Comparison) float64 { return float64(c.Count) }},
	} {
		values := numeric.Zeros(len(names), len(in.Factors))
		g := Grid{Name: show.name, Rows: names, Columns: factor.Names(in.Factors), Values: values}
		for i, c := range list {
			g.Values[c.Column][i/len(names)] = show.value(c)
		}
		grids = append(grids, g)
	}
	return grids
}

// predictors returns the factors and the code columns, restricted to some rows.
func (in *Input) predictors(rows []int) (factors, codes []*trees.Column, err error) {
	for j, f := range in.Factors {
		p, err := trees.NewFactor(levels.Chosen(in.FactorValues(j), rows))
		if err != nil {
			return nil, nil, fmt.Errorf("factor %q: %w", f.Name, err)
		}
		factors = append(factors, p)
	}
	for c := range in.Codes.Cols {
		p, err := trees.NewColumn(in.Codes.Column(c, rows))
		if err != nil {
			return nil, nil, fmt.Errorf("codes: column %d: %w", c, err)
		}
		codes = append(codes, p)
	}
	return factors, codes, nil
}
