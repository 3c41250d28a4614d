package tables

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/internal/wording"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/models"
	"github.com/unravel-ml/unravel/train"
	"github.com/unravel-ml/unravel/train/rundir"
	"github.com/unravel-ml/unravel/train/sweep"
)

// values returns the shown values of a column, from results or fits.
func (c *Column) values(d cellValues) ([]float64, error) {
	if d.quoted != nil {
		return d.quoted, nil
	}
	values := make([]float64, d.count(c))
	for i := range values {
		v, err := c.value(&d, i)
		if err != nil {
			return nil, err
		}
		if values[i] = c.Transform.of(v); c.unmeasured() || values[i]-values[i] == 0 {
			continue
		}
		because := ""
		if notes := d.results[i].Notes; len(notes) > 0 {
			because = ": " + notes[0]
		}
		return nil, fmt.Errorf("metric %s is %v%s", c.Metric.Name, values[i], because)
	}
	return values, nil
}

func (c *Column) value(d *cellValues, i int) (float64, error) {
	switch {
	case c.Fit != "":
		v, ok := c.Fit.of(d.fits[i])
		if !ok {
			return 0, fmt.Errorf("the runs have no %s", c.Fit)
		}
		return v, nil
	case c.timed():
		return c.time(d.timings[i])
	}
	return c.number(d.results[i])
}

func (c *Column) number(r metrics.Result) (float64, error) {
	if c.Part == "" {
		return r.Value, nil
	}
	for _, part := range r.Parts {
		if part.Name != c.Part {
			continue
		}
		if index := slices.Index(part.Labels, c.Of); c.Of != "" {
			if index < 0 {
				return 0, fmt.Errorf("metric %s: its part %q has no %q%s",
					c.Metric.Name, c.Part, c.Of, registry.Suggest(c.Of, part.Labels))
			}
			return part.Values[index], nil
		}
		if len(part.Values) == 1 {
			return part.Values[0], nil
		}
		return 0, fmt.Errorf("metric %s: its part %q has %s; want one, or of: its label",
			c.Metric.Name, c.Part, wording.Count(len(part.Values), "number"))
	}
	return 0, fmt.Errorf("metric %s: its part %q has 0 numbers; want one", c.Metric.Name, c.Part)
}

// Better returns which values of the column are better.
func (c *Column) Better() metrics.Direction {
	direction := metrics.LowerIsBetter // fits and times
	if c.Metric.Value != nil {
		direction = c.Metric.Value.Better()
	}
	if _, bounded := c.Transform.bound(); !bounded && c.Transform != expMinus {
		return direction
	}
	if direction == metrics.LowerIsBetter {
		return metrics.HigherIsBetter
	}
	return metrics.LowerIsBetter
}

// Transform is a function of a metric's value that the paper prints. The transform x<NUMBER, such as x<0.1, is 1 below
// the number and otherwise 0. Its mean is the fraction of runs below the number.
type Transform string

// Transforms without a parameter.
const (
	plain    Transform = "x"
	expMinus Transform = "exp(-x)"
)

var transforms = map[Transform]func(x float64) float64{
	plain:    func(x float64) float64 { return x },
	expMinus: func(x float64) float64 { return math.Exp(-x) },
	"2x":     func(x float64) float64 { return 2 * x },
	"100x":   func(x float64) float64 { return 100 * x },
}

func (t Transform) of(x float64) float64 {
	if f := transforms[t]; f != nil {
		return f(x)
	}
	switch bound, ok := t.bound(); {
	case !ok || math.IsNaN(x):
		return x
	case x < bound:
		return 1
	}
	return 0
}

// bound returns the number of a transform x<NUMBER.
func (t Transform) bound() (bound float64, ok bool) {
	text, ok := strings.CutPrefix(string(t), "x<")
	bound, err := strconv.ParseFloat(text, 64)
	return bound, ok && err == nil && bound-bound == 0
}

func (t Transform) valid() bool {
	_, bounded := t.bound()
	return bounded || transforms[t] != nil
}

// FitValue names a quantity of a run's fit.
type FitValue string

// Known quantities of a fit.
const (
	reconstruction FitValue = "reconstruction"
	heldOut        FitValue = "held_out"
	assignment     FitValue = "assignment"
	variance       FitValue = "variance"
)

var fitValues = []FitValue{reconstruction, heldOut, assignment, variance}

func (v FitValue) of(f *train.Fit) (float64, bool) {
	if f == nil {
		return 0, false
	}
	var value *float64
	switch v {
	case reconstruction:
		value = &f.Reconstruction
	case heldOut:
		value = f.HeldOut
	case assignment:
		value = f.Assignment
	case variance:
		value = &f.Variance
	}
	if value == nil {
		return 0, false
	}
	return *value, true
}

func (v FitValue) check(key string) error {
	if slices.Contains(fitValues, v) {
		return nil
	}
	return config.Invalid(key, "unknown quantity %q; want reconstruction, held_out, assignment or variance", string(v))
}

const total = "total" // time of all parts of a run, without the work after training

func timingsOf(runs []sweep.Entry) (list []models.Timing) {
	for _, r := range runs {
		if r.Record != nil {
			list = append(list, r.Record.Timings...)
		}
	}
	return list
}

// unmeasured reports whether the column shows a quantity of runs instead of a metric.
func (c *Column) unmeasured() bool { return c.Fit != "" || c.timed() }

func (c *Column) timed() bool { return len(c.Seconds)+len(c.Share) > 0 }

// checkTimes checks the names of parts. Only a model knows the names of its stages, so these are not checked.
func (c *Column) checkTimes() error {
	for key, names := range map[string][]string{"seconds": c.Seconds, "share": c.Share} {
		if slices.Contains(names, "") {
			return config.Invalid(key, "column %q names an empty part; want %s, %s, %s or a stage before training",
				c.Label, total, rundir.TrainingTiming, rundir.FinishingTiming)
		}
	}
	if len(c.Seconds) > 0 && len(c.Share) > 0 {
		return config.Invalid("share", "column %q has seconds, too; want only one", c.Label)
	}
	return nil
}

// time returns the seconds of the column's parts, or their percentage of the total.
func (c *Column) time(timings []models.Timing) (float64, error) {
	seconds := map[string]float64{total: 0}
	for _, t := range timings {
		seconds[t.Name] += t.Seconds
		if t.Name != rundir.FinishingTiming {
			seconds[total] += t.Seconds
		}
	}
	sum := 0.0
	for _, part := range slices.Concat(c.Seconds, c.Share) {
		took, ok := seconds[part]
		if !ok {
			return 0, fmt.Errorf("the runs do not say how long %s took", part)
		}
		sum += took
	}
	if len(c.Share) > 0 {
		return 100 * sum / seconds[total], nil
	}
	return sum, nil
}
