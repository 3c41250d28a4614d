package metrics

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/internal/gbt"
	"github.com/unravel-ml/unravel/metrics/internal/levels"
	"github.com/unravel-ml/unravel/metrics/internal/predict"
	"github.com/unravel-ml/unravel/metrics/internal/trees"
	"github.com/unravel-ml/unravel/metrics/matrix"
	"github.com/unravel-ml/unravel/metrics/mutual"
)

// Downstream is the accuracy of predicting the factors from the codes with few and with many labelled rows (Locatello
// et al. 2019, section 5.5), 0 to 1. For every size, a classifier of every factor is fitted to that number of train
// rows; a third of the rows is held out for the test. The value is the mean over factors of the accuracy on the test
// rows, for the largest size. Sizes above the number of train rows are left out. With TestShare 0, train and test rows
// are drawn with replacement, as in disentanglement_lib.
//
// The predictor logistic-cv is multinomial logistic regression of the raw codes. It chooses C among ten values from
// 1e-4 to 1e4, evenly spaced in log C. The choice has the best mean accuracy over five folds of consecutive train rows;
// the smallest of equally good values wins. Fits take at most 200 iterations (scikit-learn stops after 100 iterations
// of a slower solver). The predictor logistic has the given C and codes standardised by the train rows (Cao et al.
// 2022, appendix G: informativeness). The predictor boosted is the classifier of [DCI], with ties first.
//
// With TopK, the classifiers see only the columns that [MED] selects with its defaults, the k best of every factor. All
// selected columns predict each factor (Cao et al. 2022, table 8). By default the train rows of each size select, which
// keeps test rows out of the choice. With Choose all, all rows select once.
type Downstream struct {
	share

	Predictor Predictor `yaml:"predictor" doc:"logistic-cv (cross-validated), logistic (standardised, of weight c) or boosted (trees)"`
	Sizes     []int     `yaml:"sizes" doc:"training-set sizes; sizes larger than the number of train rows are left out"`
	Test      int       `yaml:"test" doc:"number of test rows drawn with replacement, independently of the train rows; setting this key implies test_share 0"`
	TrainRows int       `yaml:"train_rows" doc:"instead of random rows: train on each size's first rows among this many, test on the rows after them (or on the same rows if none follow); 0: random rows"`
	TestShare float64   `yaml:"test_share" doc:"fraction of rows held out at random for testing; each size takes other rows; 0: draw train and test rows with replacement, possibly overlapping"`
	C         float64   `yaml:"c" doc:"logistic: inverse L2 strength (scikit-learn's C)"`
	TopK      int       `yaml:"top" doc:"number of best columns of every factor to keep, chosen as med does; 0: all columns"`
	Choose    Choose    `yaml:"choose" doc:"with top: rows for choosing columns: train (the training rows of each size) or all (also the test rows)"`
}

// Choose names the rows that select columns for Downstream.
type Choose string

// The rows. The zero value is chooseTrain.
const (
	chooseTrain Choose = "train" // the train rows of a size
	chooseAll   Choose = "all"   // all rows, test rows included
)

// Predictor names the classifier of a factor.
type Predictor string

// The predictors.
const (
	logisticCV    Predictor = "logistic-cv"
	plainLogistic Predictor = "logistic"
	boostedTrees  Predictor = "boosted"
)

// Needs returns EachLevel, or AllLevels where columns are selected by all factors.
func (m *Downstream) Needs() Needs {
	if m.TopK > 0 {
		return AllLevels
	}
	return EachLevel
}

// Validate checks the settings.
func (m *Downstream) Validate() error {
	for i, size := range m.Sizes {
		if size < 2 || size > maxDrawn || slices.Contains(m.Sizes[:i], size) {
			return config.Invalid("sizes", "%d is repeated or out of range; want distinct numbers from 2 to %d", size, maxDrawn)
		}
	}
	return cmp.Or(
		oneOf("predictor", "predictor", m.Predictor, logisticCV, plainLogistic, boostedTrees),
		rule(len(m.Sizes) > 0, "sizes", "there are none; want at least one number of train rows"),
		notNegative("top", m.TopK, "all columns"),
		rule(m.Choose == "" || m.Choose == chooseTrain || m.Choose == chooseAll, "choose",
			"unknown rows %q; want train or all", string(m.Choose)),
		positive("c", m.C),
		m.split(1).validate(),
	)
}

// Suits implements Selective.
func (m *Downstream) Suits(in *Input) error {
	if err := m.split(1).suits(in); err != nil {
		return err
	}
	if fitting, _ := m.sizes(in); len(fitting) == 0 {
		return fmt.Errorf("%d rows can train; want at least %d, the smallest of sizes", m.available(in), slices.Min(m.Sizes))
	}
	if m.TopK > 0 {
		return wantFactors(in, 2)
	}
	return nil
}

// accuracy returns the accuracy of a classifier of each factor on the train and on the test rows.
func (m *Downstream) accuracy(
	ctx context.Context, codes matrix.Matrix, t levels.Table, train, test []int,
) (onTrain, onTest []float64, err error) {
	switch m.Predictor {
	case boostedTrees:
		x, err := trees.Classify(ctx, codes, t, train, test, 0, gbt.Defaults())
		if err != nil {
			return nil, nil, err
		}
		onTrain, onTest = make([]float64, len(t.Factors)), make([]float64, len(t.Factors))
		for at, j := range x.Factors {
			onTrain[j], onTest[j] = x.Train[at], x.Test[at]
		}
		for _, j := range x.Single {
			onTrain[j], onTest[j] = 1, predict.Majority(t.Of(j, train), t.Of(j, test), t.Factors[j].Size)
		}
		return onTrain, onTest, nil
	case logisticCV:
		return predict.LogisticCV(ctx, codes, t, train, test)
	}
	return predict.Logistic(ctx, codes, t, train, test, m.C)
}

// split returns the split into train and test rows for one size.
func (m *Downstream) split(size int) TrainTest {
	return TrainTest{Train: size, Test: m.Test, TrainRows: m.TrainRows, TestShare: m.TestShare}
}

// available returns the number of rows that may train.
func (m *Downstream) available(in *Input) int {
	if m.TrainRows > 0 {
		return m.TrainRows
	}
	return in.Codes.Rows - m.split(1).tested(in)
}

// sizes splits Sizes into sizes that the table can supply, ascending, and the others.
func (m *Downstream) sizes(in *Input) (fitting, others []int) {
	sorted := slices.Clone(m.Sizes)
	slices.Sort(sorted)
	at, found := slices.BinarySearch(sorted, m.available(in))
	if found {
		at++
	}
	return sorted[:at], sorted[at:]
}

// Compute returns the parts per_factor (for the largest size), per_size (means over factors) and train_per_size (the
// same on the train rows). With TopK it adds selected (numbers of the columns for the largest size). The grid accuracy
// has sizes and factors.
func (m *Downstream) Compute(ctx context.Context, in *Input) (Result, error) {
	if err := ready(ctx, m, in); err != nil {
		return Result{}, err
	}
	var r Result
	fitting, others := m.sizes(in)
	if len(others) > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("%d rows can train: the sizes %s are left out", m.available(in), strings.Trim(strings.ReplaceAll(fmt.Sprint(others), " ", ", "), "[]")))
	}
	var top selection
	if m.TopK > 0 && m.Choose == chooseAll {
		var err error
		if top, err = m.choose(ctx, in); err != nil {
			return Result{}, err
		}
		r.Notes = append(r.Notes, top.notes...)
	}
	g := Grid{Name: "accuracy"}
	g.Columns = factor.Names(in.Factors)
	tested, trained := Part{Name: "per_size"}, Part{Name: "train_per_size"}
	for _, size := range fitting {
		train, test, err := m.rows(in, size)
		if err != nil {
			return Result{}, fmt.Errorf("%d train rows: %w", size, err)
		}
		if m.TopK > 0 && m.Choose != chooseAll {
			if top, err = m.choose(ctx, in.part(train)); err != nil {
				return Result{}, err
			}
			for _, note := range top.notes {
				r.Notes = append(r.Notes, fmt.Sprintf("%d train rows: %s", size, note))
			}
		}
		r.Basis.fitted(train, test)
		onTrain, onTest, err := m.accuracy(ctx, in.Codes.Columns(top.columns), in.table(), train, test)
		if err != nil {
			return Result{}, fmt.Errorf("%d train rows: %w", size, err)
		}
		g.Rows, g.Values = append(g.Rows, strconv.Itoa(size)), append(g.Values, onTest)
		tested.Values = append(tested.Values, factor.Mean.Of(onTest))
		trained.Values = append(trained.Values, factor.Mean.Of(onTrain))
	}
	tested.Labels, trained.Labels = g.Rows, g.Rows
	last := len(g.Values) - 1
	r.Value = tested.Values[last]
	r.Parts = []Part{{Name: "per_factor", Labels: g.Columns, Values: g.Values[last]}, tested, trained}
	if m.TopK > 0 {
		r.Parts = append(r.Parts, in.selected("selected", top.columns))
	}
	r.Grids = []Grid{g}
	return r, nil
}

// selection is a list of code columns.
type selection struct {
	columns []int // ascending; nil: all
	notes   []string
}

// choose returns the TopK best columns of every factor.
func (m *Downstream) choose(ctx context.Context, in *Input) (selection, error) {
	x, err := in.information(ctx, mutual.Library())
	if err != nil {
		return selection{}, err
	}
	relative, _ := mutual.Shares(x.Mutual)
	columns, tied := mutual.Best(relative, mutual.LibraryEntropy(), m.TopK, false)
	switch {
	case len(columns) == 0:
		return selection{notes: []string{"no code column has information on a factor: all columns are taken"}}, nil
	case tied:
		return selection{columns, []string{tiedNote}}, nil
	}
	return selection{columns: columns}, nil
}

// rows returns size train rows, and the test rows.
func (m *Downstream) rows(in *Input, size int) (train, test []int, err error) {
	train, test, err = m.split(size).rows(in)
	if err != nil {
		return nil, nil, err
	}
	if m.TestShare > 0 && m.TrainRows == 0 { // the train rows are ascending: shuffle them
		order := in.Stream.Perm(len(train))
		for i, at := range order {
			order[i] = train[at]
		}
		train = order
	}
	return train[:size], test, nil
}
