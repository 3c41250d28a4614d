package ledger

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/unravel-ml/unravel/internal/version"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/train"
	"github.com/unravel-ml/unravel/train/sweep"
)

// Check checks a run of the file against its plan. The config, hash and bits must be today's, and the run must have all
// metrics and no machine paths.
func (f *File) Check(r *Run, planned sweep.Run) error {
	text := textOf(f.Config(r.Config))
	c, err := text.load(r)
	if err != nil {
		return err
	}
	changed := text.changed(r, version.Changes)
	hash, err := c.Hash()
	switch {
	case err != nil:
		return err
	case r.Hash == "":
		return fmt.Errorf("hash: there is none; want %s", hash)
	case hash != planned.Hash:
		return fmt.Errorf("config: the table plans another one; want the hash %s, got %s", planned.Hash, hash)
	case changed != "":
		return fmt.Errorf("generation: it is %d, and this code's generation is %d: %s",
			r.Generation, version.Generation(), changed)
	case r.Machine == nil || r.Version == "" || r.Begun == nil:
		return errors.New("machine, version or begun: want the values of the run's folder")
	}
	if r.Finished() {
		if r.Codes == "" || r.Parameters == "" {
			return errors.New("codes or parameters: want their hashes")
		}
		if err := checkLength(r, c.Train); err != nil {
			return err
		}
		if err := checkMetrics(r.Metrics, planned.Config.Metrics.Final); err != nil {
			return err
		}
	}
	return Clean(Config{r.Config, text.yaml}, *r)
}

// checkLength checks that a finished run has trained as long as its config says, unless it stopped early.
func checkLength(r *Run, s train.Settings) error {
	switch {
	case r.Epochs > s.Epochs || r.Epochs < s.Epochs && s.Stop == nil:
		return fmt.Errorf("epochs: there are %d; want the %d of its config", r.Epochs, s.Epochs)
	case r.Epochs == 0 && s.Epochs > 0:
		return fmt.Errorf("epochs: there are none; want 1 to %d", s.Epochs)
	case r.Steps < r.Epochs:
		return fmt.Errorf("steps: there are %d in %d epochs; want at least one in each", r.Steps, r.Epochs)
	}
	return nil
}

// checkMetrics checks that there is one result per metric, possibly followed by the same metrics of averaged weights.
func checkMetrics(results []metrics.Result, choices []metrics.Choice) error {
	names := metrics.ResultNames(choices)
	if len(results) < len(names) {
		return fmt.Errorf("metrics: there are %d; want %d", len(results), len(names))
	}
	if len(results) > len(names) { // the run also averaged weights
		for _, name := range names {
			names = append(names, name+train.AverageSuffix)
		}
	}
	if len(results) != len(names) {
		return fmt.Errorf("metrics: there are %d; want the %d of the config", len(results), len(names))
	}
	for i, name := range names {
		if results[i].Name != name {
			return fmt.Errorf("metrics: number %d is %q; want %q", i+1, results[i].Name, name)
		}
		values := []float64{results[i].Value}
		for _, p := range results[i].Parts {
			values = append(values, p.Values...)
		}
		if slices.ContainsFunc(values, func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) }) {
			return fmt.Errorf("metrics: %s has an infinite or NaN number", name)
		}
	}
	return nil
}
