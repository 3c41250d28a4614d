package search

import (
	"fmt"
	"math"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/internal/wording"
)

// Method chooses the next step of a search. It has no state: the choice only depends on its settings and the arguments.
type Method interface {
	// Next returns the next step after the given trials. If fresh is false, no new trial may begin. It returns false if
	// there is nothing to do at present.
	Next(trials []Trial, fresh bool) (Step, bool)

	// Rungs lists the epochs at the ends of rungs; nil: a trial trains for the epochs in its config.
	Rungs() []int

	// Common returns the settings that all methods share.
	Common() *Settings
}

// Trial is a point of a search with the results of its run.
type Trial struct {
	Point   Point
	Values  []float64 // objective at the end of each finished rung, lower is better; without rungs, one value
	Running bool      // the run has started its next rung and has not ended
	Failed  bool      // the run failed: its next rung has no value
}

func (t Trial) ended() bool { return t.Failed || len(t.Values) > 0 }

// loss returns the value of a trial that has ended, or +Inf if it failed or its value is NaN.
func (t Trial) loss() float64 {
	if t.Failed {
		return math.Inf(1)
	}
	return nanAsWorst(t.Values[len(t.Values)-1])
}

func nanAsWorst(v float64) float64 {
	if math.IsNaN(v) {
		return math.Inf(1)
	}
	return v
}

// Step is a unit of work: a trial trains up to the end of a rung. An index after the existing trials means a new trial.
type Step struct {
	Trial int
	Rung  int
	Point Point
}

// Settings are the settings that all methods share.
type Settings struct {
	Metric    string  `yaml:"metric" doc:"metric to improve, measured at the end; its direction is known"`
	Loss      string  `yaml:"loss" doc:"instead of metric: training loss to minimise, averaged over the last epoch: loss (total) or a part such as reconstruction; OBJECTIVE/LOSS with several objectives"`
	Space     Space   `yaml:"space" doc:"key.path: {KIND: [low, high]} with KIND linear, log, integer or log-integer, or key.path: {choice: [values]}"`
	Runs      int     `yaml:"runs" doc:"number of trials; 0: limited only by core_hours"`
	CoreHours float64 `yaml:"core_hours" doc:"limit in core hours (run time times threads), after which no run starts or continues; 0: no limit"`
	Seed      uint64  `yaml:"seed" doc:"seed of the trials' settings; the runs use the config's seed"`
}

// Common returns the settings.
func (s *Settings) Common() *Settings { return s }

// Validate checks the settings.
func (s *Settings) Validate() error {
	switch {
	case s.Metric == "" && s.Loss == "":
		return config.Invalid("metric", "the objective is missing; want the name of a metric, or the key loss")
	case s.Metric != "" && s.Loss != "":
		return config.Invalid("loss", "want metric or loss, got both")
	case len(s.Space) == 0:
		const want = "{train.optimizer.adam.lr: {log: [1e-4, 0.1]}}"
		return config.Invalid("space", "there is no setting to vary; want a range, such as %s", want)
	case s.Runs < 0:
		return config.Invalid("runs", "%d is out of range; want 1 or more", s.Runs)
	case !(s.CoreHours >= 0) || math.IsInf(s.CoreHours, 1):
		return config.Invalid("core_hours", "%v is out of range; want a number above 0", s.CoreHours)
	case s.Runs == 0 && s.CoreHours == 0:
		return config.Invalid("runs", "the budget is missing; want runs: N, or core_hours: N")
	}
	return nil
}

// Budget returns the budget in words.
func (s *Settings) Budget() string {
	switch {
	case s.CoreHours == 0:
		return wording.Count(s.Runs, "trial")
	case s.Runs == 0:
		return fmt.Sprintf("%v core-hours", s.CoreHours)
	}
	return fmt.Sprintf("%s or %v core-hours", wording.Count(s.Runs, "trial"), s.CoreHours)
}

// Objective returns the name of the metric or loss.
func (s *Settings) Objective() string {
	if s.Loss != "" {
		return s.Loss
	}
	return s.Metric
}

// randomStep returns the step to a new random trial.
func (s *Settings) randomStep(trials []Trial, fresh bool) (Step, bool) {
	if !fresh {
		return Step{}, false
	}
	p := s.Space.Draw(s.Seed, len(trials), trials)
	return Step{Trial: len(trials), Point: p}, p != nil
}

// Methods lists the methods that a search can name.
var Methods = &registry.Registry[Method]{Kind: "search", Entries: []registry.Entry[Method]{
	{Name: "random", Doc: "independent random settings",
		Source: "Bergstra and Bengio 2012", New: func() Method { return &Random{} }},
	{Name: "tpe", Doc: "settings frequent among good trials and rare among other trials, by Parzen estimators",
		Source: "Bergstra et al. 2011, section 4, with the bandwidths and weights of Optuna 4",
		New:    func() Method { return NewTPE() }},
	{Name: "asha", Doc: "random settings; after each rung of epochs, the best trials continue to the next",
		Source: "Li et al. 2020, algorithm 2", New: func() Method { return &ASHA{Min: 1, Eta: 4} }},
}}

// MethodChoice is a method in a config: {tpe: {metric: dlsbd, runs: 64, space: ...}}.
type MethodChoice struct {
	Name  string
	Value Method
}

// DecodeConfig reads the choice from a config.
func (c *MethodChoice) DecodeConfig(n *config.Node) error {
	return config.DecodeChoice(n, Methods, c)
}

// EncodeConfig writes the choice into a config.
func (c MethodChoice) EncodeConfig() (any, error) { return config.EncodeChoice(c) }

// ConfigForms implements config.Former.
func (MethodChoice) ConfigForms() []any { return []any{config.ChoicesOf(Methods)} }

// Random is random search: it draws independent points.
type Random struct{ Settings }

// Next draws a random point.
func (r *Random) Next(trials []Trial, fresh bool) (Step, bool) { return r.randomStep(trials, fresh) }

// Rungs returns nil.
func (*Random) Rungs() []int { return nil }

// Validate accepts all settings that the common settings accept.
func (*Random) Validate() error { return nil }

func atLeast(key string, v, least int) error {
	if v < least {
		return config.Invalid(key, "%d is out of range; want %d or more", v, least)
	}
	return nil
}
