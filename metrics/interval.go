package metrics

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/metrics/mutual"
)

// Interval is a confidence interval of a metric.
//
// With Way rows it is one for the value of infinitely many images like these, from the values of random halves of the
// rows. A half has twice the bias of order 1/n, and deviates from the value of all rows as much as this value deviates
// from the true one. With the mean v' and the standard deviation s of the values of the halves, and the value v, the
// interval is
//
//	estimate = v - (v' - v),  interval = estimate +- t s
//
// where t is the quantile of Student's distribution with half as many degrees of freedom as halves. Shares of mutual
// information have a bias that is not small. Their metrics take quarters of the rows too, and extrapolate to 1/n = 0 by
// a parabola. No row is in a half twice: repeated rows, which the bootstrap has, would add mutual information and pairs
// at distance 0.
//
// With Way draws it is an interval for the mean over the metric's random numbers, on the same rows: mean of repeated
// draws +- t s/sqrt(repeats).
//
// Extremes, such as a diameter, have no interval. Most samples of the rows contain the very rows of the extreme, and
// its growth with the number of rows is too uncertain to extrapolate.
type Interval struct {
	Percent  float64  `json:"percent"` // 95
	Low      float64  `json:"low"`
	High     float64  `json:"high"`
	Estimate float64  `json:"estimate"` // rows: without the bias of finitely many rows; draws: the mean
	Error    float64  `json:"error"`    // standard error of the estimate
	Way      Resample `json:"way"`
	Repeats  int      `json:"repeats"` // number of repeats behind it
}

// Resample says how a metric is measured again for an interval.
type Resample string

// The ways.
const (
	ResampleRows  Resample = "rows"
	ResampleDraws Resample = "draws"
	ResampleNone  Resample = "none" // there is no interval
)

// Resampled is implemented by metrics that have intervals.
type Resampled interface {
	// Resample says how to measure the metric again, with its settings. With [ResampleNone], why gives the reason.
	Resample() (way Resample, why string)
}

// Intervals are the settings of intervals.
type Intervals struct {
	Percent float64 // 50 to 99.9
	Repeats int     // repeats of every metric; 0: 200 of fast metrics, 20 of metrics that fit predictors
	Rows    int     // largest number of rows of a repeat; 0: 5000

	Watch func(name string, done, of int) // called before every repeat, if not nil
}

// The repeats of a metric, and the rows of a repeat, unless settings give them.
const (
	fastRepeats = 200
	slowRepeats = 20
	repeatRows  = 5000

	fewestRepeats = 8
	fewestRows    = 32 // 8 in a quarter
)

// Validate checks the settings.
func (s Intervals) Validate() error {
	switch {
	case s.Percent >= 0.5 && s.Percent < 1:
		return config.Invalid("percent", "%v is out of range; want %v, of 50 to 99.9", s.Percent, math.Round(1000*s.Percent)/10)
	case !(s.Percent >= 50 && s.Percent <= 99.9):
		return config.Invalid("percent", "%v is out of range; want 50 to 99.9", s.Percent)
	case s.Repeats != 0 && (s.Repeats < fewestRepeats || s.Repeats > maxBootstrap):
		return config.Invalid("repeats", "%d is out of range; want %d to %d, or 0 (as suits the metric)", s.Repeats, fewestRepeats, maxBootstrap)
	case s.Rows != 0 && s.Rows < fewestRows/2:
		return config.Invalid("rows", "%d is out of range; want at least %d, or 0", s.Rows, fewestRows/2)
	}
	return nil
}

// Add measures the metrics of [Evaluate] again and adds an interval to each result, or a note that says why there is
// none. in, seed and choices are the arguments of Evaluate. The same seed gives the same intervals. If the context
// ends, the current metric keeps the interval of its finished repeats, if they are enough, and the error wraps
// ctx.Err().
func (s Intervals) Add(ctx context.Context, in *Input, seed uint64, choices []Choice, results []Result) error {
	if err := s.Validate(); err != nil {
		return err
	}
	for i, c := range choices {
		if err := s.add(ctx, in, seed, c, &results[i]); err != nil {
			return fmt.Errorf("interval of %s: %w", results[i].Name, err)
		}
	}
	return nil
}

// add adds the interval of one result.
func (s Intervals) add(ctx context.Context, in *Input, seed uint64, c Choice, r *Result) error {
	x := &repeating{Intervals: s, in: in, seed: seed, choice: c, result: r}
	some, err := inputsFor(c.Value, in)
	if err == nil && !some.each {
		x.in = some.list[0] // rows that the metric leaves out set no bins
	}
	way, why := ResampleNone, "the metric does not say how to measure it again"
	if m, ok := c.Value.(Resampled); ok {
		way, why = m.Resample()
	}
	if n := x.in.Codes.Rows; way != ResampleNone && way != ResampleDraws && n < fewestRows {
		way, why = ResampleNone, fmt.Sprintf("%d rows are too few; want at least %d", n, fewestRows)
	}
	if math.IsNaN(r.Value) || math.IsInf(r.Value, 0) {
		way, why = ResampleNone, fmt.Sprintf("the value is %v", r.Value)
	}
	switch way {
	case ResampleRows:
		err = x.rows(ctx)
	case ResampleDraws:
		err = x.draws(ctx)
	default:
		err = noInterval(why)
	}
	var none noInterval
	if errors.As(err, &none) {
		r.Notes = append(r.Notes, "no interval: "+string(none))
		return nil
	}
	return err
}

// noInterval says why there is no interval.
type noInterval string

func (e noInterval) Error() string { return string(e) }

// repeating measures one metric again and again.
type repeating struct {
	Intervals
	in     *Input
	seed   uint64
	choice Choice
	result *Result
}

// repeats returns the number of repeats, or least if settings do not give it.
func (x *repeating) repeats(usual int) int {
	if x.Repeats > 0 {
		return x.Repeats + x.Repeats%2 // halves come in pairs
	}
	if s, ok := x.choice.Value.(slowly); ok && s.slow() {
		return slowRepeats
	}
	return usual
}

// slowly is implemented by metrics that may take seconds.
type slowly interface{ slow() bool }

// value measures the metric on an input, with the stream of repeat b; sub names the kind of repeat.
func (x *repeating) value(ctx context.Context, in *Input, b int, sub string) (float64, error) {
	some, err := inputsFor(x.choice.Value, in)
	if err != nil {
		return 0, noInterval(fmt.Sprintf("some of the rows cannot be measured: %v", err))
	}
	r, err := some.compute(ctx, x.choice.Value, x.seed, fmt.Sprintf("interval/%s/%s/%d", x.choice.Name, sub, b))
	switch {
	case ctx.Err() != nil:
		return 0, ctx.Err()
	case err != nil:
		return 0, noInterval(fmt.Sprintf("some of the rows cannot be measured: %v", err))
	case math.IsNaN(r.Value) || math.IsInf(r.Value, 0):
		return 0, noInterval(fmt.Sprintf("of some of the rows the value is %v", r.Value))
	}
	return r.Value, nil
}

// each collects the values of repeats. If the context ends, it returns the finished values.
func (x *repeating) each(ctx context.Context, n int, value func(b int) (float64, error)) ([]float64, error) {
	var values []float64
	for b := range n {
		if x.Watch != nil {
			x.Watch(x.result.Name, b, n)
		}
		v, err := value(b)
		if err != nil {
			return values, err
		}
		values = append(values, v)
	}
	return values, nil
}

// partial reports whether an error is the end of the context after enough values.
func partial(ctx context.Context, err error, values []float64) bool {
	return err != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()) && len(values) >= fewestRepeats
}

// rows sets the interval from halves of the rows.
func (x *repeating) rows(ctx context.Context) error {
	in, value, err := x.corrected(ctx)
	if err != nil {
		return err
	}
	n := in.Codes.Rows
	largest := x.Rows
	if largest == 0 {
		largest = repeatRows
	}
	m := min(n/2, largest)
	order := rng.New(x.seed, "interval/rows")
	var all []int
	quarters := 0.0 // the sum of their values
	values, err := x.each(ctx, x.repeats(fastRepeats), func(b int) (float64, error) {
		half := n - m // where the other half of the last permutation begins
		if b%2 == 0 {
			all, half = order.Perm(n), 0
		}
		v, err := x.value(ctx, in.part(all[half:half+m]), b, "rows")
		if err != nil || !in.shared.Masks() {
			return v, err
		}
		quarter, err := x.value(ctx, in.part(all[half:half+m/2]), b, "quarters")
		quarters += quarter
		return v, err
	})
	if err != nil && !partial(ctx, err, values) {
		return err
	}
	part, whole, of := float64(m), float64(n), float64(x.measuredRows())
	mean, deviation := meanAndDeviation(values)
	sizes, sized := []float64{of, part}, []float64{value, mean}
	if in.shared.Masks() && err == nil {
		sizes, sized = append(sizes, float64(m/2)), append(sized, quarters/float64(len(values)))
	}
	if of <= part { // the value has as few rows as a repeat
		sizes, sized = sizes[1:], sized[1:]
	}
	e := deviation * math.Sqrt(1/of/(1/part-1/whole))
	x.set(ResampleRows, endless(sizes, sized), e, float64(len(values)/2), len(values))
	return err
}

// endless extrapolates the values for numbers of rows n to infinitely many rows, by a polynomial in 1/n.
func endless(sizes, values []float64) (sum float64) {
	for i, n := range sizes {
		weight := 1.0
		for j, other := range sizes {
			if j != i {
				weight *= n / (n - other)
			}
		}
		sum += weight * values[i]
	}
	return sum
}

// corrected returns the input with the bins that halves share, and the value without the bias of mutual information.
func (x *repeating) corrected(ctx context.Context) (*Input, float64, error) {
	m, ok := x.choice.Value.(interface {
		Metric
		informed(in *Input) (h mutual.Histogram, masked, ok bool)
	})
	if !ok {
		return x.in, x.result.Value, nil
	}
	h, masked, ok := m.informed(x.in)
	_, between := m.(*MutualInformation)
	if !ok {
		return x.in, x.result.Value, nil
	}
	in := *x.in
	var err error
	if between {
		in.shared, err = mutual.Share(in.Codes, h)
	} else {
		in.shared, err = mutual.ShareWithFactors(ctx, in.Codes, in.Factors, in.Levels, h, masked, rng.New(x.seed, "interval/null"))
	}
	switch {
	case ctx.Err() != nil:
		return nil, 0, ctx.Err()
	case err != nil:
		return nil, 0, noInterval(err.Error())
	}
	if n := in.shared.Independent; n > 0 {
		x.result.Notes = append(x.result.Notes, fmt.Sprintf("interval: %d of %d pairs of a column and a factor tell no more than chance and count as independent", n, in.shared.Pairs))
	}
	value, err := x.value(ctx, &in, 0, "rows")
	return &in, value, err
}

// draws sets the interval from repeated draws on the same rows.
func (x *repeating) draws(ctx context.Context) error {
	values, err := x.each(ctx, x.repeats(fastRepeats/4), func(b int) (float64, error) {
		if b == 0 {
			return x.result.Value, nil
		}
		return x.value(ctx, x.in, b, "draws")
	})
	if err != nil && !partial(ctx, err, values) {
		return err
	}
	mean, deviation := meanAndDeviation(values)
	n := float64(len(values))
	x.set(ResampleDraws, mean, deviation/math.Sqrt(n), n-1, len(values))
	return err
}

// set sets an interval from an estimate, its standard error and degrees of freedom, within the range of the metric.
func (x *repeating) set(way Resample, estimate, e, freedom float64, repeats int) {
	t := distuv.StudentsT{Sigma: 1, Nu: freedom}.Quantile(0.5 + x.Percent/200)
	x.result.Interval = &Interval{Percent: x.Percent, Low: x.within(estimate - t*e), High: x.within(estimate + t*e),
		Estimate: x.within(estimate), Error: e, Way: way, Repeats: repeats}
}

// within moves a number into the range of the metric.
func (x *repeating) within(v float64) float64 {
	if b, ok := x.choice.Value.(Bounded); ok {
		least, most := b.Range()
		return min(max(v, least), most)
	}
	return v
}

// meanAndDeviation returns the mean of numbers and their standard deviation.
func meanAndDeviation(values []float64) (mean, deviation float64) {
	n := float64(len(values))
	for _, v := range values {
		mean += v / n
	}
	for _, v := range values {
		deviation += (v - mean) * (v - mean)
	}
	return mean, math.Sqrt(deviation / max(n-1, 1))
}

// part returns the input of some rows with all knowledge of them, and continuous factors in units of all rows.
func (in *Input) part(rows []int) *Input {
	rows = slices.Sorted(slices.Values(rows))
	k := len(in.Factors)
	some := *in
	some.Codes = Matrix{Rows: len(rows), Cols: in.Codes.Cols, Data: in.Codes.Take(rows)}
	some.Levels = make([]int, 0, len(rows)*k)
	for _, i := range rows {
		some.Levels = append(some.Levels, in.Levels[i*k:(i+1)*k]...)
	}
	if in.Exact != nil {
		some.Exact, some.spans = make([][]float64, k), make([]span, k)
		for j, values := range in.Exact {
			some.Exact[j], some.spans[j] = chosen(values, rows), spanOf(values)
		}
	}
	some.Components, some.Paths, some.Differ = chosen(in.Components, rows), chosen(in.Paths, rows), among(in.Differ, rows)
	return &some
}

// measuredRows returns the number of rows that the value uses.
func (x *repeating) measuredRows() int {
	n := x.in.Codes.Rows
	if s, ok := x.choice.Value.(interface{ sampled(in *Input) int }); ok {
		if limit := s.sampled(x.in); limit > 0 {
			return min(n, limit)
		}
	}
	return n
}
