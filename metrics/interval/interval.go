// Package interval computes confidence intervals of a value by repeated measurements on subsets of the rows, or with
// other random numbers.
package interval

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/graph/rng"
)

// Interval is a confidence interval of a metric.
//
// With Way rows, the interval is for the value of infinitely many similar images. It comes from random halves of the
// rows. A half has twice the bias of order 1/n, and deviates from the value of all rows as much as that value deviates
// from the true value. Let v be the value, and v' and s the mean and the standard deviation of the values of the
// halves. The interval is
//
//	estimate = v - (v' - v),  interval = estimate +- t s
//
// where t is the quantile of Student's distribution; it has half as many degrees of freedom as there are halves. Shares
// of mutual information have a large bias. For their metrics, quarters of the rows are measured too, and a parabola
// extrapolates to 1/n = 0. No half contains a row twice: repeated rows, as in the bootstrap, would add mutual
// information and pairs at distance 0.
//
// With Way draws, the interval is for the mean over the metric's random numbers, on the same rows: mean of repeated
// draws +- t s/sqrt(repeats).
//
// Extreme values, such as a diameter, have no interval. Most subsets contain the very rows that attain the extreme, and
// its growth with the number of rows is too uncertain to extrapolate.
type Interval struct {
	Percent  float64 `json:"percent"` // 95
	Low      float64 `json:"low"`
	High     float64 `json:"high"`
	Estimate float64 `json:"estimate"` // rows: corrected for the bias of a finite number of rows; draws: the mean
	Error    float64 `json:"error"`    // standard error of the estimate
	Way      Way     `json:"way"`
	Repeats  int     `json:"repeats"` // number of repeats
}

// Way is a method of repeating a measurement.
type Way string

// The ways.
const (
	Rows  Way = "rows"
	Draws Way = "draws"
	None  Way = "none" // there is no interval
)

// Settings holds the settings of intervals.
type Settings struct {
	Percent float64 // 50 to 99.9
	Repeats int     // for a metric; 0: depends on the metric. Halves and Draws take the number from their Value
	Rows    int     // maximum number of rows of a repeat; 0: 5000

	Watch func(name string, done, of int) // called before every repeat, if not nil
}

const (
	repeatRows    = 5000
	fewestRepeats = 8
	mostRepeats   = 100000

	// FewestRows is the minimum number of rows for an interval: a quarter then has 8.
	FewestRows = 32
)

func (s Settings) Validate() error {
	switch {
	case s.Percent >= 0.5 && s.Percent < 1:
		return config.Invalid("percent", "%v is out of range; want %v, of 50 to 99.9",
			s.Percent, math.Round(1000*s.Percent)/10)
	case !(s.Percent >= 50 && s.Percent <= 99.9):
		return config.Invalid("percent", "%v is out of range; want 50 to 99.9", s.Percent)
	case s.Repeats != 0 && (s.Repeats < fewestRepeats || s.Repeats > mostRepeats):
		return config.Invalid("repeats", "%d is out of range; want %d to %d, or 0 (as suits the metric)",
			s.Repeats, fewestRepeats, mostRepeats)
	case s.Rows != 0 && s.Rows < FewestRows/2:
		return config.Invalid("rows", "%d is out of range; want at least %d, or 0", s.Rows, FewestRows/2)
	}
	return nil
}

// check checks the settings and the number of repeats of a value.
func (s Settings) check(v Value) error {
	if v.Repeats < 2 {
		return fmt.Errorf("interval: the value has %d repeats; want at least 2", v.Repeats)
	}
	return s.Validate()
}

// Value is a value with the facts that its interval needs.
type Value struct {
	Name        string // for Watch
	Value       float64
	Least, Most float64 // bounds; infinite if there are none

	Repeats int // at least 2; a pair of halves counts as two repeats

	// For Way rows:
	Rows     int  // number of rows
	Used     int  // number of rows that the value is computed from
	Quarters bool // the bias is large: extrapolate from quarters too
}

// Halves returns the interval of a value from random halves of its rows, or of the maximum number of rows in the
// settings. measure returns the value of some rows in repeat b; of is rows or quarters. If the context ends after
// enough repeats, their interval is returned together with the context's error. All other errors come from measure.
func (s Settings) Halves(
	ctx context.Context, v Value, order *rng.Stream, measure func(rows []int, b int, of string) (float64, error),
) (*Interval, error) {
	if err := s.check(v); err != nil {
		return nil, err
	}
	n, largest := v.Rows, s.Rows
	largest = cmp.Or(largest, repeatRows)
	m := min(n/2, largest)
	var all []int
	quarters := 0.0                                                                  // the sum of the quarters' values
	values, err := s.repeat(v, v.Repeats+v.Repeats%2, func(b int) (float64, error) { // halves come in pairs
		half := n - m // where the other half of the last permutation begins
		if b%2 == 0 {
			all, half = order.Perm(n), 0
		}
		value, err := measure(all[half:half+m], b, "rows")
		if err != nil || !v.Quarters {
			return value, err
		}
		quarter, err := measure(all[half:half+m/2], b, "quarters")
		quarters += quarter
		return value, err
	})
	if err != nil && !partial(ctx, err, values) {
		return nil, err
	}
	part, whole, of := float64(m), float64(n), float64(v.Used)
	mean, deviation := MeanAndDeviation(values)
	sizes, sized := []float64{of, part}, []float64{v.Value, mean}
	if v.Quarters && err == nil {
		sizes, sized = append(sizes, float64(m/2)), append(sized, quarters/float64(len(values)))
	}
	if of <= part { // the value uses no more rows than a repeat
		sizes, sized = sizes[1:], sized[1:]
	}
	e := deviation * math.Sqrt(1/of/(1/part-1/whole))
	return s.interval(v, Rows, endless(sizes, sized), e, float64(len(values)/2), len(values)), err
}

// endless extrapolates values for the given numbers of rows to infinitely many rows, by a polynomial in 1/n.
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

// Draws returns the interval of the mean over random numbers. measure returns the value of repeat b > 0; the value
// itself is repeat 0. If the context ends, Draws behaves like Halves.
func (s Settings) Draws(ctx context.Context, v Value, measure func(b int) (float64, error)) (*Interval, error) {
	if err := s.check(v); err != nil {
		return nil, err
	}
	values, err := s.repeat(v, v.Repeats, func(b int) (float64, error) {
		if b == 0 {
			return v.Value, nil
		}
		return measure(b)
	})
	if err != nil && !partial(ctx, err, values) {
		return nil, err
	}
	mean, deviation := MeanAndDeviation(values)
	n := float64(len(values))
	return s.interval(v, Draws, mean, deviation/math.Sqrt(n), n-1, len(values)), err
}

// repeat collects the values of repeats. After an error it returns the values computed so far.
func (s Settings) repeat(v Value, n int, measure func(b int) (float64, error)) (values []float64, err error) {
	for b := range n {
		if s.Watch != nil {
			s.Watch(v.Name, b, n)
		}
		value, err := measure(b)
		if err != nil {
			return values, err
		}
		values = append(values, value)
	}
	return values, nil
}

// partial reports whether an error is the end of the context after enough values.
func partial(ctx context.Context, err error, values []float64) bool {
	return err != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()) && len(values) >= fewestRepeats
}

// interval returns the interval of an estimate, given its standard error and degrees of freedom, clipped to the bounds.
func (s Settings) interval(v Value, way Way, estimate, e, freedom float64, repeats int) *Interval {
	t := distuv.StudentsT{Sigma: 1, Nu: freedom}.Quantile(0.5 + s.Percent/200)
	within := func(x float64) float64 { return min(max(x, v.Least), v.Most) }
	return &Interval{Percent: s.Percent, Low: within(estimate - t*e), High: within(estimate + t*e),
		Estimate: within(estimate), Error: e, Way: way, Repeats: repeats}
}

// MeanAndDeviation returns the mean of numbers and their standard deviation.
func MeanAndDeviation(values []float64) (mean, deviation float64) {
	const large, small = 0x1p500, 0x1p-500 // the squares of other numbers overflow or lose digits
	n, largest, unit := float64(len(values)), 0.0, 1.0
	for _, v := range values {
		mean += v / n
	}
	for _, v := range values {
		largest = max(largest, math.Abs(v-mean))
	}
	if largest > large || largest > 0 && largest < small {
		_, e := math.Frexp(largest)
		unit = math.Ldexp(1, e-1)
	}
	for _, v := range values {
		d := (v - mean) / unit
		deviation += d * d
	}
	return mean, unit * math.Sqrt(deviation/max(n-1, 1))
}
