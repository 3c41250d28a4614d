package tables

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/models"
	"github.com/unravel-ml/unravel/train"
	"github.com/unravel-ml/unravel/train/rundir"
	"github.com/unravel-ml/unravel/train/sweep"
)

// values returns the shown values of a column, from results or fits.
func (c *Column) values(d drawn) ([]float64, error) {
	if d.quoted != nil {
		return d.quoted, nil
	}
	var values []float64
	if c.Fit != "" {
		for _, f := range d.fits {
			v, ok := c.Fit.of(f)
			if !ok {
				return nil, fmt.Errorf("the runs have no %s", c.Fit)
			}
			values = append(values, c.Transform.of(v))
		}
		return values, nil
	}
	if c.timed() {
		for _, timings := range d.timings {
			v, err := c.time(timings)
			if err != nil {
				return nil, err
			}
			values = append(values, c.Transform.of(v))
		}
		return values, nil
	}
	for _, r := range d.results {
		v := r.Value
		if c.Part != "" {
			var err error
			if v, err = c.number(r); err != nil {
				return nil, err
			}
		}
		if v = c.Transform.of(v); math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("metric %s is %v%s", c.Metric.Name, v, because(r.Notes))
		}
		values = append(values, v)
	}
	return values, nil
}

// because joins the notes of a result.
func because(notes []string) string {
	if len(notes) == 0 {
		return ""
	}
	return ": " + notes[0]
}

// number returns the column's value in a result.
func (c *Column) number(r metrics.Result) (float64, error) {
	for _, part := range r.Parts {
		if part.Name != c.Part {
			continue
		}
		if at := slices.Index(part.Labels, c.Of); c.Of != "" {
			if at < 0 {
				return 0, fmt.Errorf("metric %s: its part %q has no %q%s", c.Metric.Name, c.Part, c.Of, registry.Suggest(c.Of, part.Labels))
			}
			return part.Values[at], nil
		}
		if len(part.Values) == 1 {
			return part.Values[0], nil
		}
		return 0, fmt.Errorf("metric %s: its part %q has %d numbers; want one, or of: its label", c.Metric.Name, c.Part, len(part.Values))
	}
	return 0, fmt.Errorf("metric %s: its part %q has 0 numbers; want one", c.Metric.Name, c.Part)
}

// better returns whether higher or lower shown values of a column are better.
func (c *Column) better() metrics.Direction {
	direction := metrics.LowerIsBetter // quantities of fits, and times
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

// Transform is a printed function of a metric's value. The transform x<NUMBER, such as x<0.1, is 1 below the number
// and otherwise 0; its mean is the fraction of runs below the number.
type Transform string

// The transforms.
const (
	plain    Transform = "x"
	expMinus Transform = "exp(-x)"
	double   Transform = "2x"
	percent  Transform = "100x"
)

var transforms = []Transform{plain, expMinus, double, percent}

func (t Transform) of(x float64) float64 {
	switch t {
	case expMinus:
		return math.Exp(-x)
	case double:
		return 2 * x
	case percent:
		return 100 * x
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
	if !ok {
		return 0, false
	}
	bound, err := strconv.ParseFloat(text, 64)
	return bound, err == nil && bound-bound == 0
}

// valid reports whether a transform is known.
func (t Transform) valid() bool {
	_, bounded := t.bound()
	return bounded || slices.Contains(transforms, t)
}

// FitValue names a quantity of a run's fit.
type FitValue string

// Known quantities.
const (
	reconstruction FitValue = "reconstruction"
	heldOut        FitValue = "held_out"
	assignment     FitValue = "assignment"
	variance       FitValue = "variance"
)

var fitValues = []FitValue{reconstruction, heldOut, assignment, variance}

// of returns the quantity; false if the run has none.
func (v FitValue) of(f *train.Fit) (float64, bool) {
	if f == nil {
		return 0, false
	}
	at := map[FitValue]*float64{reconstruction: &f.Reconstruction, heldOut: f.HeldOut, assignment: f.Assignment, variance: &f.Variance}[v]
	if at == nil {
		return 0, false
	}
	return *at, true
}

// valid reports an unknown name.
func (v FitValue) valid(key string) error {
	if slices.Contains(fitValues, v) {
		return nil
	}
	return config.Invalid(key, "unknown quantity %q; want reconstruction, held_out, assignment or variance", string(v))
}

// total names the time of all parts of a run together, without the work after training.
const total = "total"

// timingsOf lists how long the parts of runs took.
func timingsOf(runs []sweep.Entry) (list []models.Timing) {
	for _, r := range runs {
		if r.Record != nil {
			list = append(list, r.Record.Timings...)
		}
	}
	return list
}

// unmeasured reports whether the column shows a quantity of runs, not a metric.
func (c *Column) unmeasured() bool { return c.Fit != "" || c.timed() }

// timed reports whether the column shows times.
func (c *Column) timed() bool { return len(c.Seconds)+len(c.Share) > 0 }

// validTimes checks the names of parts. Only a model knows the names of its stages.
func (c *Column) validTimes() error {
	for key, names := range map[string][]string{"seconds": c.Seconds, "share": c.Share} {
		if slices.Contains(names, "") {
			return config.Invalid(key, "column %q names an empty part; want %s, %s, %s or a stage before training", c.Label, total, rundir.TrainingTiming, rundir.FinishingTiming)
		}
	}
	if len(c.Seconds) > 0 && len(c.Share) > 0 {
		return config.Invalid("share", "column %q has seconds, too; want only one", c.Label)
	}
	return nil
}

// time returns the seconds of the column's parts, or their percentage of the total.
func (c *Column) time(timings []models.Timing) (float64, error) {
	all := secondsOf(timings, func(name string) bool { return name != rundir.FinishingTiming })
	sum := 0.0
	for _, part := range append(c.Seconds[:len(c.Seconds):len(c.Seconds)], c.Share...) {
		if part == total {
			sum += all
			continue
		}
		if !slices.ContainsFunc(timings, func(t models.Timing) bool { return t.Name == part }) {
			return 0, fmt.Errorf("the runs do not say how long %s took", part)
		}
		sum += secondsOf(timings, func(name string) bool { return name == part })
	}
	if len(c.Share) > 0 {
		return 100 * sum / all, nil
	}
	return sum, nil
}

// secondsOf adds up the timings of some names.
func secondsOf(timings []models.Timing, named func(string) bool) (sum float64) {
	for _, t := range timings {
		if named(t.Name) {
			sum += t.Seconds
		}
	}
	return sum
}
