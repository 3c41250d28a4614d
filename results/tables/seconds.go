package tables

import (
	"fmt"
	"slices"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/models"
	"github.com/unravel-ml/unravel/train/rundir"
	"github.com/unravel-ml/unravel/train/sweep"
)

// Total names the time of all parts of a run together, without the work after training.
const Total = "total"

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
			return config.Invalid(key, "column %q names an empty part; want %s, %s, %s or those of a stage before training", c.Label, Total, rundir.TrainingTiming, rundir.FinishingTiming)
		}
	}
	if len(c.Seconds) > 0 && len(c.Share) > 0 {
		return config.Invalid("share", "column %q has seconds, too; want one of the two", c.Label)
	}
	return nil
}

// time returns the seconds of the column's parts, or their percentage of the total.
func (c *Column) time(timings []models.Timing) (float64, error) {
	all := secondsOf(timings, func(name string) bool { return name != rundir.FinishingTiming })
	sum := 0.0
	for _, part := range append(c.Seconds[:len(c.Seconds):len(c.Seconds)], c.Share...) {
		if part == Total {
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
