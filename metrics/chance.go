package metrics

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/metrics/interval"
)

// Chance is the chance level of a metric: its values when the rows of the codes are shuffled, so they carry no
// information about the factors.
type Chance struct {
	Mean      float64 `json:"mean"`
	Deviation float64 `json:"deviation"` // standard deviation between shuffles
	Shuffles  int     `json:"shuffles"`
	Rows      int     `json:"rows"` // rows of each shuffle; slow metrics use fewer rows than the value itself

	// Differs says whether the value is better than chance. Either it lies beyond the mean by more than the quantile of
	// Student's distribution that one shuffle in a hundred exceeds. Or its distance from the best possible value is at
	// most a third of the best shuffle's distance.
	Differs bool `json:"differs"`
}

// DefaultShuffles is the default number of shuffles of a chance level.
const DefaultShuffles = 5

// Chances holds the settings of chance levels.
type Chances struct {
	Shuffles int // shuffles of every metric, 2 to 1000

	Watch func(name string, done, of int) // called before every shuffle, if not nil
}

// Limits on the work for chance levels. A chance level annotates a value, and should not cost more than the value.
const (
	chanceRows   = 2000 // minimum number of rows of a shuffle, if the input has them
	slowRows     = 100
	slowPart     = 25 // a shuffle of a slow metric has 1/slowPart of the rows
	cheapPart    = 20 // or 1/cheapPart, if the metric uses fewer draws or rounds
	cheaperBy    = 5
	nearer       = 1.0 / 3
	mostShuffles = 1000
	chanceLevel  = 0.99
)

func (s Chances) Validate() error { return within("shuffles", s.Shuffles, 2, mostShuffles) }

// Add measures the metrics of [Evaluate] on shuffled rows. It adds a chance level to each result that depends on
// factors. Other results get a note with the reason. in, seed and choices are the arguments of Evaluate. The same seed
// gives the same levels.
func (s Chances) Add(ctx context.Context, in *Input, seed uint64, choices []Choice, results []Result) error {
	if err := s.Validate(); err != nil {
		return err
	}
	for i, c := range choices {
		if err := s.add(ctx, in, seed, c, &results[i]); err != nil {
			return fmt.Errorf("chance level of %s: %w", results[i].Name, err)
		}
	}
	return nil
}

// add adds the chance level of one result.
func (s Chances) add(ctx context.Context, in *Input, seed uint64, c Choice, r *Result) error {
	if needs, _ := needsOf(c.Value); needs == NoLevels {
		return nil
	}
	x, err := inputsFor(c.Value, in)
	if err != nil {
		return err
	}
	t, metric, part, least := traitsOf(c.Value), c.Value, s.Shuffles, chanceRows
	if t.slow {
		part, least = slowPart, slowRows
	}
	if few, ok := cheaper(metric, cheaperBy); ok {
		if metric = few; least == slowRows {
			part = cheapPart
		}
	}
	values := make([]float64, s.Shuffles)
	level := &Chance{Shuffles: s.Shuffles}
	for b := range values {
		if s.Watch != nil {
			s.Watch(r.Name, b, s.Shuffles)
		}
		stream := fmt.Sprintf("chance/%s/%d", c.Name, b)
		mixed := *x
		mixed.list = make([]*Input, len(x.list))
		for i, one := range x.list {
			rows := one.Codes.Rows
			if !t.whole {
				rows = min(rows, max(least, rows/part))
			}
			level.Rows = max(level.Rows, rows)
			mixed.list[i] = one.shuffled(rows, rng.New(seed, stream+"/rows"))
		}
		of, err := mixed.compute(ctx, metric, seed, stream)
		if err != nil {
			if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
				return err
			}
			r.note("no chance level: shuffled rows: %v", err)
			return nil
		}
		values[b] = of.Value
	}
	level.Mean, level.Deviation = interval.MeanAndDeviation(values)
	level.Differs = differs(c.Value, r.Value, values)
	r.Chance = level
	return nil
}

// differs reports whether a value is better than the values for shuffled rows. The value must lie beyond their
// distribution. Alternatively it is so much closer to the best possible value that no distribution of chance values
// explains it.
func differs(m Metric, value float64, shuffled []float64) bool {
	sign := 1.0 // larger is better
	if m.Better() == LowerIsBetter {
		sign = -1
	}
	mean, deviation := interval.MeanAndDeviation(shuffled)
	n := float64(len(shuffled))
	t := distuv.StudentsT{Sigma: 1, Nu: n - 1}.Quantile(chanceLevel)
	if sign*(value-mean) > t*deviation*math.Sqrt(1+1/n)+1e-9*math.Abs(mean) {
		return true
	}
	least, most := bounds(m)
	perfect, best := most, slices.Max(shuffled)
	if sign < 0 {
		perfect, best = least, slices.Min(shuffled)
	}
	return !math.IsInf(perfect, 0) && math.Abs(perfect-value) < nearer*math.Abs(perfect-best)
}
