package metrics

import (
	"context"
	"fmt"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/internal/gbt"
	"github.com/unravel-ml/unravel/metrics/matrix"
	"github.com/unravel-ml/unravel/metrics/mutual"
	"github.com/unravel-ml/unravel/metrics/predict"
)

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
	Score  DCIScore `yaml:"score" doc:"which score is the value: disentanglement, completeness or informativeness; the others are parts"`
	Rounds int      `yaml:"rounds" doc:"boosting rounds: trees for every factor"`
	Depth  int      `yaml:"depth" doc:"levels of splits of a tree"`
}

// newDCIRegression returns the metric with the defaults of scikit-learn's regressor.
func newDCIRegression() *DCIRegression {
	return &DCIRegression{Score: Disentanglement, Rounds: gbt.Defaults().Rounds, Depth: gbt.Defaults().Depth}
}

// maxBoostedDepth bounds the depth of trees.
const maxBoostedDepth = 16

// Needs returns AllLevels.
func (*DCIRegression) Needs() Needs { return AllLevels }

// Better returns HigherIsBetter.
func (*DCIRegression) Better() Direction { return HigherIsBetter }

// Range implements Bounded.
func (*DCIRegression) Range() (least, most float64) { return 0, 1 }

// Validate checks the settings.
func (m *DCIRegression) Validate() error {
	switch {
	case m.Score != Disentanglement && m.Score != Completeness && m.Score != Informativeness:
		return config.Invalid("score", "unknown score %q; want disentanglement, completeness or informativeness", string(m.Score))
	case m.Rounds < 1 || m.Rounds > maxBoosted:
		return config.Invalid("rounds", "%d is out of range; want 1 to %d", m.Rounds, maxBoosted)
	case m.Depth < 1 || m.Depth > maxBoostedDepth:
		return config.Invalid("depth", "%d is out of range; want 1 to %d", m.Depth, maxBoostedDepth)
	}
	return nil
}

// Suits implements Selective.
func (m *DCIRegression) Suits(in *Input) error {
	switch n := len(varyingFactors(in)); {
	case len(in.Factors) == 0:
		return fmt.Errorf("there are no factors; want at least one")
	case n == 0:
		return fmt.Errorf("every factor has one level only in the %d rows; want one that varies", in.Codes.Rows)
	case m.Score == Disentanglement && n < 2:
		return fmt.Errorf("one factor varies; want at least two, for columns to be disentangled")
	case m.Score == Completeness && in.Codes.Cols < 2:
		return fmt.Errorf("there is one code column; want at least two, for a factor to be complete in one")
	}
	return nil
}

// varyingFactors lists the factors with more than one level.
func varyingFactors(in *Input) (list []int) {
	k := len(in.Factors)
	for j := range in.Factors {
		for i := j; i < len(in.Levels); i += k {
			if in.Levels[i] != in.Levels[j] {
				list = append(list, j)
				break
			}
		}
	}
	return list
}

// Compute returns the parts disentanglement, completeness and informativeness. It adds per_column (disentanglement),
// per_factor (completeness), per_factor_informativeness, and the grid importance. Factors with one level are left out.
func (m *DCIRegression) Compute(ctx context.Context, in *Input) (Result, error) {
	if err := ready(ctx, m, in); err != nil {
		return Result{}, err
	}
	if in.Stream == nil {
		return Result{}, fmt.Errorf("there is no stream of random numbers to break ties; want one")
	}
	in = in.sized(matrix.LeastTrees, matrix.MostTrees)
	x, err := gbt.NewColumns(in.Codes.Rows, in.Codes.Cols, in.Codes.Data)
	if err != nil {
		return Result{}, err
	}
	f := &fittedDCI{factors: varyingFactors(in), importance: make([][]float64, in.Codes.Cols)}
	values, k := in.factorRows(UnitsRange), len(in.Factors)
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
