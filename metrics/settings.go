package metrics

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/internal/numeric"
	"github.com/unravel-ml/unravel/metrics/internal/predict"
)

// Checks of settings. Validate combines them with cmp.Or, so the first error counts.

// rule returns an error for a setting that violates a rule.
func rule(valid bool, key, format string, args ...any) error {
	if valid {
		return nil
	}
	return config.Invalid(key, format, args...)
}

// oneOf returns an error if the list lacks the value.
func oneOf[S ~string](key, kind string, value S, values ...S) error {
	last := len(values) - 1
	firstValues := strings.ReplaceAll(strings.Trim(fmt.Sprint(values[:last]), "[]"), " ", ", ")
	return rule(slices.Contains(values, value), key, "unknown %s %q; want %s or %s", kind, value, firstValues,
		values[last])
}

// oneOfOrNone is oneOf for a setting that may be empty.
func oneOfOrNone[S ~string](key, kind string, value S, values ...S) error {
	if value == "" {
		return nil
	}
	return oneOf(key, kind, value, values...)
}

func inRange(key string, n, low, high int) error {
	return rule(n >= low && n <= high, key, "%d is out of range; want %d to %d", n, low, high)
}

// notNegative returns an error for a negative number; zero says what 0 means.
func notNegative(key string, n int, zero string) error {
	return rule(n >= 0, key, "%d is negative; want 0 (%s) or more", n, zero)
}

func positive(key string, v float64) error {
	return rule(v > 0 && !math.IsInf(v, 0), key, "%v is not a positive number", v)
}

// TrainTest sets the train and the test rows of metrics that fit a predictor.
//
// With TestShare, a random fraction of the rows is held out for testing, so train and test rows do not overlap. With
// TestShare 0, train and test rows are drawn independently and with replacement, as disentanglement_lib draws its
// points. A row may then be in both, and more rows may be drawn than the table has. TrainRows splits the table in order
// and overrides the other fields.
type TrainTest struct {
	Train     int `yaml:"train" doc:"number of train rows drawn with replacement; setting this key implies test_share 0"`
	Test      int `yaml:"test" doc:"number of test rows drawn with replacement, independently of the train rows; setting this key implies test_share 0"`
	TrainRows int `yaml:"train_rows" doc:"instead of random rows: train on this many first rows, test on the other rows (or on the same rows if none are left); 0: random rows"`

	TestShare float64 `yaml:"test_share" doc:"fraction of rows held out at random for testing; the other rows train; 0: draw train and test rows with replacement, possibly overlapping"`
}

// maxDrawn limits the number of drawn rows.
const maxDrawn = 1 << 24

const heldOut = 1.0 / 3 // default fraction of test rows

func apartTrainTest() TrainTest { return TrainTest{Train: 10000, Test: 5000, TestShare: heldOut} }

// splits is implemented by metrics that hold out test rows unless a config sets numbers of rows to draw.
type splits interface{ draw() }

func (s *TrainTest) draw()  { s.TestShare = 0 }
func (m *Downstream) draw() { m.TestShare = 0 }

// drawsRows reports whether options set a number of rows to draw, but no TestShare.
func drawsRows(options *config.Node) bool {
	return options.IsMap() && (options.Get("train") != nil || options.Get("test") != nil) &&
		options.Get("test_share") == nil
}

// draws reports whether rows are drawn with replacement.
func (s TrainTest) draws() bool { return s.TestShare == 0 && s.TrainRows == 0 }

func (s TrainTest) validate() error {
	err := cmp.Or(
		notNegative("train_rows", s.TrainRows, "draw rows"),
		rule(s.TestShare >= 0 && s.TestShare < 1, "test_share",
			"%v is out of range; want 0 (draw rows) or more, and less than 1", s.TestShare),
	)
	if err != nil || !s.draws() {
		return err
	}
	return cmp.Or(inRange("train", s.Train, 1, maxDrawn), inRange("test", s.Test, 1, maxDrawn))
}

func (s TrainTest) suits(in *Input) error {
	if s.TrainRows > in.Codes.Rows {
		return fmt.Errorf("there are %d rows; want at least the %d of train_rows", in.Codes.Rows, s.TrainRows)
	}
	if test := s.testCount(in); s.TestShare > 0 && s.TrainRows == 0 && (test < 1 || in.Codes.Rows-test < 2) {
		return fmt.Errorf("test_share %.3g takes %d of %d rows; want at least one test row and two train rows, or train_rows",
			s.TestShare, test, in.Codes.Rows)
	}
	return nil
}

// varying counts the factors with several levels in the train rows, or in all rows if the train rows are drawn.
func (s TrainTest) varying(in *Input) int {
	rows := in.Codes.Rows
	if s.TrainRows > 0 {
		rows = min(rows, s.TrainRows)
	}
	return len(in.table().Varying(rows))
}

// wantVarying returns an error if no factor varies.
func (s TrainTest) wantVarying(in *Input) error {
	switch {
	case s.varying(in) > 0:
		return nil
	case s.TrainRows > 0:
		return fmt.Errorf("every factor has only one level in the first %d rows (train_rows); want a factor that varies",
			s.TrainRows)
	}
	return fmt.Errorf("every factor has only one level in the %d rows; want a factor that varies", in.Codes.Rows)
}

// testCount returns the number of test rows for TestShare.
func (s TrainTest) testCount(in *Input) int {
	return int(math.Round(s.TestShare * float64(in.Codes.Rows)))
}

func (s TrainTest) rows(in *Input) (train, test []int, err error) {
	n := in.Codes.Rows
	switch {
	case s.TrainRows == n:
		return numeric.UpTo(n), numeric.UpTo(n), nil
	case s.TrainRows > 0:
		return numeric.UpTo(n)[:s.TrainRows], numeric.UpTo(n)[s.TrainRows:], nil
	case in.Stream == nil:
		return nil, nil, errNoStreamOrRows
	case s.TestShare > 0:
		order := in.Stream.Perm(n)
		test, train = order[:s.testCount(in)], order[s.testCount(in):]
		slices.Sort(test)
		slices.Sort(train)
		return train, test, nil
	}
	draw := func(count int) []int {
		rows := make([]int, count)
		for i := range rows {
			rows[i] = in.Stream.IntN(n)
		}
		return rows
	}
	return draw(s.Train), draw(s.Test), nil
}

var (
	errNoStream       = errors.New(`the input's Stream is nil, and the metric draws random numbers; want a stream such as rng.New(1, "metric")`)
	errNoStreamOrRows = fmt.Errorf("%w, or train_rows", errNoStream)
)

// Apart splits the rows without overlap: a random fraction, or all rows after the first TrainRows, are for testing.
type Apart struct {
	TestShare float64 `yaml:"test_share" doc:"fraction of rows chosen at random for testing; the other rows train"`
	TrainRows int     `yaml:"train_rows" doc:"instead of random rows: train on this many first rows, test on the other rows; 0: random rows"`
}

func quarterApart() Apart { return Apart{TestShare: 0.25} }

func (a Apart) validate() error {
	return cmp.Or(
		notNegative("train_rows", a.TrainRows, "choose rows"),
		rule(a.TestShare > 0 && a.TestShare < 1, "test_share",
			"%v is out of range; want a number between 0 and 1", a.TestShare),
	)
}

// trainCount returns the number of train rows, out of n.
func (a Apart) trainCount(n int) int {
	if a.TrainRows > 0 {
		return a.TrainRows
	}
	return n - int(math.Round(a.TestShare*float64(n)))
}

// suits returns an error for too few rows, or if no factor varies.
func (a Apart) suits(in *Input) error {
	n := in.Codes.Rows
	if train := a.trainCount(n); train < 1 || train >= n {
		return fmt.Errorf("%d of %d rows are train rows; want at least one train row and one test row", train, n)
	}
	return TrainTest{TrainRows: a.TrainRows}.wantVarying(in)
}

// rows returns the train and the test rows, both ascending.
func (a Apart) rows(in *Input) (train, test []int, err error) {
	n := in.Codes.Rows
	order := numeric.UpTo(n)
	if a.TrainRows == 0 {
		if in.Stream == nil {
			return nil, nil, errNoStreamOrRows
		}
		order = in.Stream.Perm(n)
	}
	train, test = order[:a.trainCount(n)], order[a.trainCount(n):]
	slices.Sort(train)
	slices.Sort(test)
	return train, test, nil
}

// factorScores collects a score for each factor that varies.
type factorScores struct {
	scores, majority Part
	basis            Basis
	notes            []string
}

func newFactorScores() *factorScores {
	return &factorScores{scores: Part{Name: "per_factor"}, majority: Part{Name: "majority"}}
}

// varies reports whether a factor has several levels among the train and test rows together. If it has only one, the
// factor is left out, with a note.
func (s *factorScores) varies(f factor.Factor, train, test []int) bool {
	if predict.Vary(train) || predict.Vary(test) || train[0] != test[0] {
		return true
	}
	s.notes = append(s.notes, fmt.Sprintf("factor %s has only one level and is left out", f.Name))
	return false
}

// add adds the score of a factor, and the accuracy of always predicting the most frequent train level.
func (s *factorScores) add(f factor.Factor, score float64, train, test []int) {
	s.scores.Labels, s.scores.Values = append(s.scores.Labels, f.Name), append(s.scores.Values, score)
	s.majority.Labels, s.majority.Values = s.scores.Labels,
		append(s.majority.Values, predict.Majority(train, test, f.Size))
}

// result returns the mean over factors.
func (s *factorScores) result() Result {
	return Result{Value: factor.Mean.Of(s.scores.Values), Parts: []Part{s.scores, s.majority}, Basis: s.basis,
		Notes: s.notes}
}
