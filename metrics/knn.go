package metrics

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"github.com/unravel-ml/unravel/metrics/internal/predict"
)

// KNN is the accuracy of predicting the level of every factor by a weighted vote of the K nearest train rows (Wu et al.
// 2018, section 3.4), 0 to 1, the mean over factors. Nearest are, by cosine similarity s, the rows of L2-normalised
// codes; a neighbour has the weight exp(s/Temperature). By euclidean distance of the codes as given every neighbour has
// one vote. Among equally near rows the first count; among levels with equal votes the smallest wins. A code of zeros
// has similarity 0 to all.
//
// Neighbours are exact in double precision; single precision only finds the candidates. Continuous factors are
// predicted by their bins. Factors with one level are left out.
//
// The time grows with the square of the number of rows; a table with more than Samples rows is reduced to Samples rows,
// chosen at random.
type KNN struct {
	eachLevel
	share

	K           int      `yaml:"k" doc:"number of neighbours"`
	Temperature float64  `yaml:"temperature" doc:"cosine: T in the weight exp(s/T) of a neighbour with similarity s; 0: equal weights"`
	Samples     int      `yaml:"samples" doc:"largest number of rows to split into train and test rows, chosen at random unless train_rows is set; 0: all rows"`
	Distance    Distance `yaml:"metric" doc:"cosine (of L2-normalised codes) or euclidean (every neighbour has one vote)"`
	Apart       `yaml:",inline"`
}

// Distance says which rows are near.
type Distance string

// The distances.
const (
	cosineDistance    Distance = "cosine"
	euclideanDistance Distance = "euclidean"
)

// newKNN returns the defaults: 20 neighbours by cosine similarity, at a temperature of 0.07. At most 100,000 rows
// count, and a quarter of them tests.
func newKNN() *KNN {
	return &KNN{K: 20, Temperature: 0.07, Samples: 100000, Distance: cosineDistance, Apart: quarterApart()}
}

// Validate checks the settings.
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

// rows returns the number of rows that are measured of n.
func (m *KNN) rows(n int) int {
	if m.Samples > 0 && m.TrainRows == 0 {
		n = min(n, m.Samples)
	}
	return n
}

// Suits implements Selective.
func (m *KNN) Suits(in *Input) error {
	if err := m.Apart.suits(in); err != nil {
		return err
	}
	if train := m.Apart.train(m.rows(in.Codes.Rows)); train < m.K {
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
	in, drawn, err := in.reduced(m.rows(in.Codes.Rows))
	if err != nil {
		return Result{}, err
	}
	scores.basis.Rows = drawn
	train, test, err := m.Apart.rows(in)
	if err != nil {
		return Result{}, err
	}
	scores.basis.fitted(train, test)
	near, err := predict.Nearest(ctx, in.Codes, train, test, m.K, m.Distance == cosineDistance)
	if err != nil {
		return Result{}, err
	}
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
		right := 0
		for i := range test {
			for a, row := range near.Rows[i*m.K : (i+1)*m.K] {
				levels[a] = fit[j][row]
			}
			if predict.Vote(levels, near.Scores[i*m.K:(i+1)*m.K], temperature, sums) == check[j][i] {
				right++
			}
		}
		scores.add(f, float64(right)/float64(len(test)), fit[j], check[j])
	}
	return scores.result(), nil
}
