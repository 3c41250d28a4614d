package metrics

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/metrics/interval"
	"github.com/unravel-ml/unravel/metrics/mutual"
)

// Intervals holds the settings of confidence intervals (see [interval.Interval]).
type Intervals interval.Settings

func (s Intervals) Validate() error { return interval.Settings(s).Validate() }

// Add repeats the metrics of [Evaluate] and adds an interval to each result, or a note with the reason why there is
// none. in, seed and choices are the arguments of Evaluate. The same seed gives the same intervals. If the context
// ends, the current metric gets an interval from its finished repeats, if there are enough, and the error wraps
// ctx.Err().
func (s Intervals) Add(ctx context.Context, in *Input, seed uint64, choices []Choice, results []Result) error {
	if err := cmp.Or(s.Validate(), addable(ctx, in, choices, results)); err != nil {
		return err
	}
	for i, c := range choices {
		if err := s.add(ctx, in, seed, c, &results[i]); err != nil {
			return fmt.Errorf("interval of %s: %w", results[i].Name, err)
		}
	}
	return nil
}

// addable checks that Add has the arguments of Evaluate, and its results.
func addable(ctx context.Context, in *Input, choices []Choice, results []Result) error {
	if ctx == nil || len(results) != len(choices) {
		return fmt.Errorf("metrics: %d results of %d metrics; want the results of Evaluate, and a context",
			len(results), len(choices))
	}
	return cmp.Or(chosen(choices), in.Validate())
}

func (s Intervals) add(ctx context.Context, in *Input, seed uint64, c Choice, r *Result) error {
	x := &repeatedMeasurement{in: in, seed: seed, choice: c, result: r}
	measured, err := inputsFor(c.Value, in)
	if err == nil && !measured.perFactor {
		x.in = measured.list[0] // rows that the metric leaves out do not affect bins
	}
	t := traitsOf(c.Value)
	way, reason := t.way, t.reason
	if n := x.in.Codes.Rows; way != interval.None && way != interval.Draws && n < interval.FewestRows {
		way, reason = interval.None, fmt.Sprintf("%d rows are too few; want at least %d", n, interval.FewestRows)
	}
	if tooFew := x.tooFewRows(); way == interval.Rows && tooFew != "" {
		way, reason = interval.None, tooFew
	}
	if math.IsNaN(r.Value) || math.IsInf(r.Value, 0) {
		way, reason = interval.None, fmt.Sprintf("the value is %v", r.Value)
	}
	switch way {
	case interval.Rows:
		if r.Interval, err = x.halves(ctx, interval.Settings(s)); err == nil { // it takes rows for independent
			r.Notes = append(r.Notes, x.in.repeatedRowsNote("so the interval is too narrow")...)
		}
	case interval.Draws:
		v := x.boundedValue(s.Repeats, fastRepeats/4)
		r.Interval, err = interval.Settings(s).Draws(ctx, v, func(b int) (float64, error) {
			return x.value(ctx, x.in, b, "draws")
		})
	default:
		err = noInterval(reason)
	}
	var none noInterval
	if errors.As(err, &none) {
		r.Notes = append(r.Notes, "no interval: "+string(none))
		return nil
	}
	return err
}

// minRowsPerLevel is the mean number of rows with a level from which halves show the bias of a deviation.
const minRowsPerLevel = 10

// tooFewRows names a factor with too few rows for each level, if the metric is a deviation of rows with one level. It
// returns "" if there is none.
func (x *repeatedMeasurement) tooFewRows() string {
	names := factor.Names(x.in.Factors)
	switch m := x.choice.Value.(type) {
	case *SubCodeDeviation:
		if len(m.Codes) > 0 {
			names = slices.Collect(maps.Keys(m.Codes))
		}
	case *Logic:
		names = m.Sentence.Compared()
	default:
		return ""
	}
	for j, f := range x.in.Factors {
		if !slices.Contains(names, f.Name) {
			continue
		}
		rows, levels := 0, 0
		for _, n := range x.in.table().Counts(j) {
			rows, levels = rows+n, levels+min(n, 1)
		}
		if rows < minRowsPerLevel*levels {
			return fmt.Sprintf("%d rows are too few for %d levels of %s; want at least %d",
				rows, levels, f.Name, minRowsPerLevel*levels)
		}
	}
	return ""
}

// repeatedMeasurement measures one metric repeatedly.
type repeatedMeasurement struct {
	in     *Input
	seed   uint64
	choice Choice
	result *Result
}

// The default numbers of repeats.
const (
	fastRepeats = 200
	slowRepeats = 20 // for metrics that fit predictors
)

// boundedValue returns the value with its bounds and the number of repeats; 0 means the metric's usual number.
func (x *repeatedMeasurement) boundedValue(repeats, defaultRepeats int) interval.Value {
	v := interval.Value{Name: x.result.Name, Value: x.result.Value, Repeats: defaultRepeats}
	v.Least, v.Most = bounds(x.choice.Value)
	switch {
	case repeats > 0:
		v.Repeats = repeats + repeats%2
	case traitsOf(x.choice.Value).slow:
		v.Repeats = slowRepeats
	}
	return v
}

// halves returns the interval from halves of the rows.
func (x *repeatedMeasurement) halves(ctx context.Context, s interval.Settings) (*interval.Interval, error) {
	in, value, err := x.withoutBias(ctx)
	if err != nil {
		return nil, err
	}
	v := x.boundedValue(s.Repeats, fastRepeats)
	v.Value, v.Rows, v.Used, v.Quarters = value, in.Codes.Rows, x.measuredRows(), in.shared.Masks()
	i, err := s.Halves(ctx, v, rng.New(x.seed, "interval/rows"), func(rows []int, b int, kind string) (float64, error) {
		return x.value(ctx, in.withRows(rows), b, kind)
	})
	if err != nil || !v.Quarters {
		return i, err
	}
	// the pairs that count as independent may have information, too
	undetected := *in
	undetected.shared = in.shared.Undetected()
	independent, err := x.value(ctx, &undetected, 0, "rows")
	if err != nil {
		return nil, err
	}
	i.Low, i.High = max(min(i.Low, i.Low+independent-value), v.Least), min(max(i.High, i.High+independent-value), v.Most)
	return i, nil
}

// value measures the metric on an input, with the random stream of repeat b of this kind.
func (x *repeatedMeasurement) value(ctx context.Context, in *Input, b int, kind string) (float64, error) {
	measured, err := inputsFor(x.choice.Value, in)
	if err != nil {
		return 0, noInterval(fmt.Sprintf("a part of the rows cannot be measured: %v", err))
	}
	r, err := measured.compute(ctx, x.choice.Value, x.seed, fmt.Sprintf("interval/%s/%s/%d", x.choice.Name, kind, b))
	switch {
	case ctx.Err() != nil:
		return 0, ctx.Err()
	case err != nil:
		return 0, noInterval(fmt.Sprintf("a part of the rows cannot be measured: %v", err))
	case math.IsNaN(r.Value) || math.IsInf(r.Value, 0):
		return 0, noInterval(fmt.Sprintf("the value of a part of the rows is %v", r.Value))
	}
	return r.Value, nil
}

// withoutBias returns the input with the halves' common bins, and the value without the bias of mutual information.
func (x *repeatedMeasurement) withoutBias(ctx context.Context) (*Input, float64, error) {
	t := traitsOf(x.choice.Value)
	if mig, ok := x.choice.Value.(*MIG); t.bins == nil || ok && mig.reduces(x.in) { // principal components have bins
		return x.in, x.result.Value, nil
	}
	in := *x.in
	var err error
	if _, ofColumns := x.choice.Value.(*MutualInformation); ofColumns {
		in.shared, err = mutual.Share(in.Codes, *t.bins)
	} else {
		null := rng.New(x.seed, "interval/null")
		in.shared, err = mutual.ShareWithFactors(ctx, in.Codes, in.Factors, in.Levels, *t.bins, t.informed, null)
	}
	switch {
	case ctx.Err() != nil:
		return nil, 0, ctx.Err()
	case err != nil:
		return nil, 0, noInterval(err.Error())
	}
	if n := in.shared.Independent; n > 0 {
		x.result.Notes = append(x.result.Notes, fmt.Sprintf(
			"interval: %d of %d pairs of a column and a factor have no more information than chance and count as independent",
			n, in.shared.Pairs))
	}
	value, err := x.value(ctx, &in, 0, "rows")
	return &in, value, err
}

// measuredRows returns the number of rows that the value uses.
func (x *repeatedMeasurement) measuredRows() int {
	n, limit := x.in.Codes.Rows, traitsOf(x.choice.Value).rows
	if s, ok := x.choice.Value.(*SubCodeDeviation); ok {
		blocks, err := planBlocks(x.in, s.Codes, s.Assign)
		if err != nil || !slices.ContainsFunc(blocks, func(b factor.Block) bool { return len(b.Columns) > 1 }) {
			return n
		}
	}
	if limit > 0 {
		return min(n, limit)
	}
	return n
}

type noInterval string

func (e noInterval) Error() string { return string(e) }

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
	chanceRows        = 2000 // minimum number of rows of a shuffle, if the input has them
	slowRows          = 500  // fewer rows spread so widely that weak but real information counts as chance
	slowPart          = 25   // a shuffle of a slow metric has 1/slowPart of the rows
	fewerDrawsPart    = 20   // or 1/fewerDrawsPart, if the metric uses fewer draws or rounds
	fewerDrawsDivisor = 5
	maxDistanceRatio  = 1.0 / 3
	maxShuffles       = 1000
	chanceLevel       = 0.99
)

func (s Chances) Validate() error { return inRange("shuffles", s.Shuffles, 2, maxShuffles) }

// Add measures the metrics of [Evaluate] on shuffled rows. It adds a chance level to each result that depends on
// factors. Other results get a note with the reason. in, seed and choices are the arguments of Evaluate. The same seed
// gives the same levels.
func (s Chances) Add(ctx context.Context, in *Input, seed uint64, choices []Choice, results []Result) error {
	if err := cmp.Or(s.Validate(), addable(ctx, in, choices, results)); err != nil {
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
	if l, ok := c.Value.(*Logic); ok && !slices.ContainsFunc(r.Parts, func(p Part) bool { return p.Name == "columns" }) {
		if factors, _ := l.Sentence.Mentions(); !factors {
			return nil // factors only divide the columns among sub-codes
		}
	}
	x, err := inputsFor(c.Value, in)
	if err != nil {
		return err
	}
	t, metric, part, minRows := traitsOf(c.Value), c.Value, s.Shuffles, chanceRows
	if t.slow {
		part, minRows = slowPart, slowRows
	}
	if reduced, ok := withFewerDraws(metric, fewerDrawsDivisor); ok {
		if metric = reduced; minRows == slowRows {
			part = fewerDrawsPart
		}
	}
	values, level := make([]float64, s.Shuffles), &Chance{Shuffles: s.Shuffles}
	for b := range values {
		if s.Watch != nil {
			s.Watch(r.Name, b, s.Shuffles)
		}
		stream := fmt.Sprintf("chance/%s/%d", c.Name, b)
		shuffled := *x
		shuffled.list = make([]*Input, len(x.list))
		for i, input := range x.list {
			rows := input.Codes.Rows
			if !t.allRows {
				rows = min(rows, max(minRows, rows/part))
			}
			level.Rows = max(level.Rows, rows)
			shuffled.list[i] = input.shuffledSample(rows, rng.New(seed, stream+"/rows"))
		}
		result, err := shuffled.compute(ctx, metric, seed, stream)
		if err != nil {
			if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
				return err
			}
			r.note("no chance level: shuffled rows: %v", err)
			return nil
		}
		values[b] = result.Value
	}
	level.Mean, level.Deviation = interval.MeanAndDeviation(values)
	level.Differs, r.Chance = differs(c.Value, r.Value, values), level
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
	return !math.IsInf(perfect, 0) && math.Abs(perfect-value) < maxDistanceRatio*math.Abs(perfect-best)
}
