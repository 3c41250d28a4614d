package metrics

import (
	"fmt"
	"math"
	"slices"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/metrics/predict"
)

// Apart divides the rows into train and test rows, without overlap: a fraction at random tests, or all rows after the
// first few.
type Apart struct {
	TestShare float64 `yaml:"test_share" doc:"fraction of the rows, chosen at random, to test on; the others train"`
	TrainRows int     `yaml:"train_rows" doc:"instead of choosing: train on this many rows from the first, test on the others; 0: choose"`
}

// quarterApart tests a quarter of the rows.
func quarterApart() Apart { return Apart{TestShare: 0.25} }

func (a Apart) validate() error {
	switch {
	case a.TrainRows < 0:
		return config.Invalid("train_rows", "%d is negative; want 0 (choose rows) or more", a.TrainRows)
	case !(a.TestShare > 0 && a.TestShare < 1):
		return config.Invalid("test_share", "%v is out of range; want a number between 0 and 1", a.TestShare)
	}
	return nil
}

// train returns the number of train rows of n.
func (a Apart) train(n int) int {
	if a.TrainRows > 0 {
		return a.TrainRows
	}
	return n - int(math.Round(a.TestShare*float64(n)))
}

// suits reports too few rows, and factors that do not vary.
func (a Apart) suits(in *Input) error {
	n := in.Codes.Rows
	if train := a.train(n); train < 1 || train >= n {
		return fmt.Errorf("there are %d rows, of which %d are to train; want some to train and others to test with", n, train)
	}
	return TrainTest{TrainRows: a.TrainRows}.wantVarying(in)
}

// rows returns the train and the test rows, both ascending.
func (a Apart) rows(in *Input) (train, test []int, err error) {
	n := in.Codes.Rows
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	if a.TrainRows == 0 {
		if in.Stream == nil {
			return nil, nil, errNoStream
		}
		order = in.Stream.Perm(n)
	}
	train, test = order[:a.train(n)], order[a.train(n):]
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

// varies reports whether a factor has several levels among the train and test rows. A factor with one level is left
// out, with a note.
func (s *factorScores) varies(f factor.Factor, train, test []int) bool {
	if predict.Vary(train) || predict.Vary(test) || train[0] != test[0] {
		return true
	}
	s.notes = append(s.notes, fmt.Sprintf("factor %s has one level only and is left out", f.Name))
	return false
}

// add adds the score of a factor, and the accuracy of always predicting the most frequent of the levels that train.
func (s *factorScores) add(f factor.Factor, score float64, train, test []int) {
	s.scores.Labels, s.scores.Values = append(s.scores.Labels, f.Name), append(s.scores.Values, score)
	s.majority.Labels, s.majority.Values = s.scores.Labels, append(s.majority.Values, predict.Majority(train, test, f.Size))
}

// result is the mean over factors.
func (s *factorScores) result() Result {
	return Result{Value: factor.Mean.Of(s.scores.Values), Parts: []Part{s.scores, s.majority}, Basis: s.basis, Notes: s.notes}
}
