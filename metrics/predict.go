package metrics

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/internal/linear"
	"github.com/unravel-ml/unravel/metrics/internal/levels"
	"github.com/unravel-ml/unravel/metrics/internal/predict"
	"github.com/unravel-ml/unravel/metrics/internal/trees"
	"github.com/unravel-ml/unravel/metrics/matrix"
	"github.com/unravel-ml/unravel/metrics/mutual"
)

// Explicitness is the explicitness score of Ridgeway and Mozer 2018, section 2, as disentanglement_lib computes it, 0
// to 1. It is the mean over factors of the mean over levels of the area under the ROC curve on the test rows. The
// classifier's score for a level is the probability by multinomial logistic regression on all code columns. 1/2 is
// chance level and 1 is perfect. Columns are standardised with statistics of the train rows; constant columns become 0.
//
// Levels without train or test rows are left out, and so are factors with fewer than two levels in the train rows.
type Explicitness struct {
	eachLevel
	share

	C          float64 `yaml:"c" doc:"inverse L2 strength (scikit-learn's C)"`
	Iterations int     `yaml:"iterations" doc:"largest number of iterations of a fit"`
	TrainTest  `yaml:",inline"`
}

func (m *Explicitness) Validate() error {
	return cmp.Or(
		positive("c", m.C),
		rule(m.Iterations >= 1, "iterations", "%d is too few; want at least 1", m.Iterations),
		m.TrainTest.validate(),
	)
}

func (m *Explicitness) Suits(in *Input) error {
	if err := m.TrainTest.suits(in); err != nil {
		return err
	}
	if m.TestShare > 0 && m.TrainRows == 0 && m.testCount(in) < 2 {
		return fmt.Errorf("%d of %d rows are test rows; want two with different levels, or train_rows",
			m.testCount(in), in.Codes.Rows)
	}
	return m.wantVarying(in)
}

// Compute returns the parts per_factor (areas on the test rows) and train (areas on the train rows).
func (m *Explicitness) Compute(ctx context.Context, in *Input) (Result, error) {
	if err := ready(ctx, m, in); err != nil {
		return Result{}, err
	}
	train, test, err := m.TrainTest.rows(in)
	if err != nil {
		return Result{}, err
	}
	var r Result
	r.Basis.recordSplit(train, test)
	x, y := predict.Standardise(in.Codes, train, test)
	inputs, err := linear.NewInputs(x, in.Codes.Cols)
	if err != nil {
		return Result{}, err
	}
	fit, check := in.table().ByFactor(train), in.table().ByFactor(test)
	tested, trained := Part{Name: "per_factor"}, Part{Name: "train"}
	for j, f := range in.Factors {
		if !predict.Vary(fit[j]) {
			r.note("factor %s has only one level and is left out", f.Name)
			continue
		}
		model, err := inputs.Fit(ctx, fit[j], m.C, m.Iterations)
		if err != nil {
			return Result{}, fmt.Errorf("factor %q: %w", f.Name, err)
		}
		if !model.Converged {
			r.note("the regression of %s has not converged", f.Name)
		}
		area, levels, err := predict.ROCAreas(ctx, model, y, check[j])
		if err != nil {
			return Result{}, err
		}
		if levels == 0 {
			r.note("factor %s has no two levels in the test rows and is left out", f.Name)
			continue
		}
		if levels < len(model.Classes) {
			r.note("%d of %d levels of %s are not in the test rows", len(model.Classes)-levels, len(model.Classes), f.Name)
		}
		tested.add(f.Name, area)
		if area, _, err = predict.ROCAreas(ctx, model, x, fit[j]); err != nil {
			return Result{}, err
		}
		trained.Values = append(trained.Values, area)
	}
	if len(tested.Values) == 0 {
		return Result{}, fmt.Errorf("no factor has two levels both in the train rows and in the test rows; want a factor that varies")
	}
	trained.Labels = tested.Labels
	r.Value, r.Parts = factor.Mean.Of(tested.Values), []Part{tested, trained}
	return r, nil
}

// Probe is the mean quality of linear probes of the codes (Alain and Bengio 2017), one for each factor, 0 to 1. Codes
// are standardised with statistics of the train rows. For a factor with levels, the quality is the accuracy of
// multinomial logistic regression on the test rows (as in Cao et al. 2022, appendix G). For a continuous factor it is
// the R^2 of ridge regression of its values, or 0 if R^2 is negative. Both minimise C times a sum over rows plus the
// penalty |W|^2/2. For levels the sum is of cross-entropies; for values it is half the sum of squared errors.
//
// Factors with only one level are left out.
type Probe struct {
	eachLevel
	share

	C          float64 `yaml:"c" doc:"inverse L2 strength (scikit-learn's C, and 1/alpha of its Ridge)"`
	Iterations int     `yaml:"iterations" doc:"largest number of iterations of a fit"`
	Apart      `yaml:",inline"`
}

func (m *Probe) Validate() error {
	return cmp.Or(
		positive("c", m.C),
		rule(m.Iterations >= 1, "iterations", "%d is too few; want at least 1", m.Iterations),
		m.Apart.validate(),
	)
}

func (m *Probe) Suits(in *Input) error { return m.Apart.suits(in) }

// Compute returns the parts per_factor, majority (accuracy of always predicting the most frequent train level) and r2.
// The part r2 also covers ordinal and circular factors: it is the R^2 of ridge regression of the level, or of the
// cosine and sine of the angle. It shows whether codes preserve the order of levels, which accuracy ignores.
func (m *Probe) Compute(ctx context.Context, in *Input) (Result, error) {
	if err := ready(ctx, m, in); err != nil {
		return Result{}, err
	}
	train, test, err := m.Apart.rows(in)
	if err != nil {
		return Result{}, err
	}
	x, y := predict.Standardise(in.Codes, train, test)
	fits, err := predict.Ridge(ctx, in.table(), in.Exact, x, y, in.Codes.Cols, train, test, m.C)
	if err != nil {
		return Result{}, err
	}
	inputs, err := linear.NewInputs(x, in.Codes.Cols)
	if err != nil {
		return Result{}, err
	}
	fit, check := in.table().ByFactor(train), in.table().ByFactor(test)
	scores, r2 := newFactorScores(), Part{Name: "r2"}
	scores.basis.recordSplit(train, test)
	for j, f := range in.Factors {
		if !scores.varies(f, fit[j], check[j]) {
			continue
		}
		if f.Kind != factor.Categorical {
			r2.add(f.Name, fits[j])
		}
		if in.continuous(j) {
			scores.add(f, max(fits[j], 0), fit[j], check[j])
			continue
		}
		predicted, converged, err := m.classify(ctx, inputs, fit[j], y, in.Codes.Cols)
		if err != nil {
			return Result{}, fmt.Errorf("factor %q: %w", f.Name, err)
		}
		if !converged {
			scores.notes = append(scores.notes, fmt.Sprintf("the regression of %s has not converged", f.Name))
		}
		scores.add(f, predict.Accuracy(predicted, check[j]), fit[j], check[j])
	}
	r := scores.result()
	if len(r2.Values) > 0 {
		r.Parts = append(r.Parts, r2)
	}
	return r, nil
}

// classify predicts the levels of rows y by logistic regression fitted to the train rows.
func (m *Probe) classify(
	ctx context.Context, inputs *linear.Inputs, levels []int, y []float64, columns int,
) (predicted []int, converged bool, err error) {
	if !predict.Vary(levels) {
		return slices.Repeat(levels[:1], len(y)/columns), true, nil
	}
	model, err := inputs.Fit(ctx, levels, m.C, m.Iterations)
	if err != nil {
		return nil, false, err
	}
	predicted, err = predict.Labels(ctx, model, y, columns)
	return predicted, model.Converged, err
}

// continuous reports whether a factor has exact values.
func (in *Input) continuous(j int) bool { return in.Exact != nil && in.Exact[j] != nil }

// KNN is the accuracy of predicting the level of every factor by a weighted vote of the K nearest train rows (Wu et al.
// 2018, section 3.4), 0 to 1. It is the mean over factors. By default the nearest rows have the largest cosine
// similarity s; a neighbour has the weight exp(s/Temperature). With the Euclidean distance of unnormalised codes, every
// neighbour has one vote. Of equally near rows, the first ones are taken; of levels with equal votes, the smallest
// wins. A zero code has similarity 0 to all codes.
//
// The neighbours are exact in double precision; single precision only finds candidates. Continuous factors are
// predicted by their bins. Factors with one level are left out.
//
// The time grows with the square of the number of rows; a larger table is subsampled at random to Samples rows.
type KNN struct {
	eachLevel
	share

	K           int      `yaml:"k" doc:"number of neighbours"`
	Temperature float64  `yaml:"temperature" doc:"cosine: T in the weight exp(s/T) of a neighbour with similarity s; 0: equal weights"`
	Samples     int      `yaml:"samples" doc:"largest number of rows to split into train and test rows, chosen at random unless train_rows is set; 0: all rows"`
	Distance    Distance `yaml:"metric" doc:"cosine (of L2-normalised codes) or euclidean (every neighbour has one vote)"`
	Apart       `yaml:",inline"`
}

// Distance names the distance between rows.
type Distance string

// The distances.
const (
	cosineDistance    Distance = "cosine"
	euclideanDistance Distance = "euclidean"
)

func (m *KNN) Validate() error {
	return cmp.Or(
		rule(m.K >= 1, "k", "%d is out of range; want 1 or more", m.K),
		rule(m.Temperature >= 0 && !math.IsInf(m.Temperature, 0), "temperature",
			"%v is out of range; want 0 (equal weights) or more", m.Temperature),
		oneOf("metric", "metric", m.Distance, cosineDistance, euclideanDistance),
		notNegative("samples", m.Samples, "all"),
		m.Apart.validate(),
	)
}

// rows returns the number of measured rows, out of n.
func (m *KNN) rows(n int) int {
	if m.Samples > 0 && m.TrainRows == 0 {
		n = min(n, m.Samples)
	}
	return n
}

func (m *KNN) Suits(in *Input) error {
	if err := m.Apart.suits(in); err != nil {
		return err
	}
	if train := m.Apart.trainCount(m.rows(in.Codes.Rows)); train < m.K {
		return fmt.Errorf("there are %d train rows; want at least the %d neighbours of k", train, m.K)
	}
	return nil
}

// Compute returns the parts per_factor (accuracy on the test rows) and majority (accuracy of the most frequent train
// level).
func (m *KNN) Compute(ctx context.Context, in *Input) (Result, error) {
	if err := ready(ctx, m, in); err != nil {
		return Result{}, err
	}
	scores := newFactorScores()
	in, sampleSize, err := in.atMostRows(m.rows(in.Codes.Rows))
	if err != nil {
		return Result{}, err
	}
	scores.basis.Rows = sampleSize
	train, test, err := m.Apart.rows(in)
	if err != nil {
		return Result{}, err
	}
	scores.basis.recordSplit(train, test)
	neighbours, err := predict.Nearest(ctx, in.Codes, train, test, m.K, m.Distance == cosineDistance)
	if err != nil {
		return Result{}, err
	}
	scores.notes = append(scores.notes, neighbours.Notes...)
	temperature := m.Temperature
	if m.Distance == euclideanDistance {
		temperature = 0
	}
	fit, check := in.table().ByFactor(train), in.table().ByFactor(test)
	levels := make([]int, m.K)
	for j, f := range in.Factors {
		if !scores.varies(f, fit[j], check[j]) {
			continue
		}
		sums := make([]float64, f.Size)
		correct := 0
		for i := range test {
			for a, row := range neighbours.Rows[i*m.K : (i+1)*m.K] {
				levels[a] = fit[j][row]
			}
			if predict.Vote(levels, neighbours.Scores[i*m.K:(i+1)*m.K], temperature, sums) == check[j][i] {
				correct++
			}
		}
		scores.add(f, float64(correct)/float64(len(test)), fit[j], check[j])
	}
	return scores.result(), nil
}

// Downstream is the accuracy of predicting the factors from the codes when few or many rows are labelled (Locatello et
// al. 2019, section 5.5), 0 to 1. For every size, one classifier per factor is fitted to that number of train rows; a
// third of the rows is held out for testing. The value is the mean over factors of the accuracy on the test rows, for
// the largest size. Sizes larger than the number of train rows are left out. With TestShare 0, train and test rows are
// drawn with replacement, as in disentanglement_lib.
//
// The predictor logistic-cv is multinomial logistic regression on unscaled codes. Of ten values of C from 1e-4 to 1e4,
// evenly spaced in log C, it takes the one with the best mean accuracy over five folds of consecutive train rows. Ties
// go to the smallest C. Fits stop after at most 200 iterations (scikit-learn stops after 100 iterations of a slower
// solver). The predictor logistic uses the given C, on codes standardised with statistics of the train rows (Cao et al.
// 2022, appendix G: informativeness). The predictor boosted is the classifier of [DCI] with ties first.
//
// With TopK, the classifiers only see the columns that [MED] selects with its default settings, the k best columns of
// every factor. Every classifier sees all selected columns (Cao et al. 2022, table 8). By default the selection uses
// the train rows of each size, so it never sees the test rows. With Choose all, it uses all rows once.
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

// Choose names the rows that Downstream uses to select columns.
type Choose string

// The rows. The zero value is chooseTrain.
const (
	chooseTrain Choose = "train" // the train rows of a size
	chooseAll   Choose = "all"   // all rows, test rows included
)

// Predictor names the classifier.
type Predictor string

// The predictors.
const (
	logisticCV    Predictor = "logistic-cv"
	plainLogistic Predictor = "logistic"
	boostedTrees  Predictor = "boosted"
)

// Needs returns EachLevel, or AllLevels if all factors together select columns.
func (m *Downstream) Needs() Needs {
	if m.TopK > 0 {
		return AllLevels
	}
	return EachLevel
}

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
		oneOfOrNone("choose", "rows", m.Choose, chooseTrain, chooseAll),
		positive("c", m.C),
		m.split(1).validate(),
	)
}

func (m *Downstream) Suits(in *Input) error {
	if err := cmp.Or(m.Validate(), m.split(1).suits(in)); err != nil {
		return err
	}
	if fitting, _ := m.sizes(in); len(fitting) == 0 {
		return fmt.Errorf("there are %d rows for training; want at least %d, the smallest of sizes",
			m.trainRows(in), slices.Min(m.Sizes))
	}
	if m.TopK > 0 {
		return wantFactors(in, 2)
	}
	return nil
}

// accuracy returns the accuracy of each factor's classifier on the train and on the test rows.
func (m *Downstream) accuracy(
	ctx context.Context, codes matrix.Matrix, t levels.Table, train, test []int,
) (onTrain, onTest []float64, err error) {
	switch m.Predictor {
	case boostedTrees:
		codes, _ = codes.ForTrees()
		return trees.Accuracies(ctx, codes, t, train, test)
	case logisticCV:
		return predict.LogisticCV(ctx, codes, t, train, test)
	}
	return predict.Logistic(ctx, codes, t, train, test, m.C)
}

func (m *Downstream) split(size int) TrainTest {
	return TrainTest{Train: size, Test: m.Test, TrainRows: m.TrainRows, TestShare: m.TestShare}
}

// trainRows returns the number of possible train rows.
func (m *Downstream) trainRows(in *Input) int {
	if m.TrainRows > 0 {
		return m.TrainRows
	}
	return in.Codes.Rows - m.split(1).testCount(in)
}

// sizes divides Sizes into fitting ones, which do not exceed the number of train rows, and larger ones. Both ascend.
func (m *Downstream) sizes(in *Input) (fitting, tooLarge []int) {
	sorted := slices.Clone(m.Sizes)
	slices.Sort(sorted)
	end, found := slices.BinarySearch(sorted, m.trainRows(in))
	if found {
		end++
	}
	return sorted[:end], sorted[end:]
}

// Compute returns the parts per_factor (for the largest size), per_size (means over factors) and train_per_size (the
// same on the train rows). TopK adds the part selected (numbers of the columns for the largest size). The grid accuracy
// is sizes by factors.
func (m *Downstream) Compute(ctx context.Context, in *Input) (Result, error) {
	if err := ready(ctx, m, in); err != nil {
		return Result{}, err
	}
	r := Result{Notes: in.constantNotes()}
	if m.Predictor == boostedTrees {
		r.Notes = append(r.Notes, in.rescaled(matrix.Matrix.ForTrees).coarseNote()...)
	}
	fitting, tooLarge := m.sizes(in)
	if len(tooLarge) > 0 {
		r.note("there are %d rows for training: the sizes %s are left out",
			m.trainRows(in), strings.Trim(strings.ReplaceAll(fmt.Sprint(tooLarge), " ", ", "), "[]"))
	}
	var top selection
	if m.TopK > 0 && m.Choose == chooseAll {
		var err error
		if top, err = m.choose(ctx, in); err != nil {
			return Result{}, err
		}
		r.Notes = append(r.Notes, top.notes...)
	}
	g := Grid{Name: "accuracy", Columns: factor.Names(in.Factors)}
	tested, trained := Part{Name: "per_size"}, Part{Name: "train_per_size"}
	for _, size := range fitting {
		train, test, err := m.rows(in, size)
		if err != nil {
			return Result{}, fmt.Errorf("%d train rows: %w", size, err)
		}
		if m.TopK > 0 && m.Choose != chooseAll {
			if top, err = m.choose(ctx, in.withRows(train)); err != nil {
				return Result{}, err
			}
			for _, note := range top.notes {
				r.note("%d train rows: %s", size, note)
			}
		}
		r.Basis.recordSplit(train, test)
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
		r.Parts = append(r.Parts, in.columnNumbers("selected", top.columns))
	}
	r.Grids = []Grid{g}
	return r, nil
}

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
		return selection{notes: []string{"no code column has information about any factor: all columns are used"}}, nil
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
	if m.TestShare > 0 && m.TrainRows == 0 { // the train rows are ascending, so shuffle them
		train = levels.Chosen(train, in.Stream.Perm(len(train)))
	}
	return train[:size], test, nil
}
