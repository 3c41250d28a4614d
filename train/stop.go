package train

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/losses/logic/syntax"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/train/engine"
	"github.com/unravel-ml/unravel/train/internal/watch"
)

// watchState is the state of early stopping.
type watchState struct {
	Seen  int     `json:"seen"` // evaluations
	Best  float64 `json:"best"`
	Since int     `json:"since"` // number of evaluations since the best

	Columns string `json:"columns,omitempty"` // of the best result: columns that a sentence's metric chose for the factors
}

// observe records a metric's result. A gain of less than delta is no improvement.
func (w *watchState) observe(r metrics.Result, delta float64) {
	than := w.Best + delta
	if r.Better == metrics.LowerIsBetter {
		than = w.Best - delta
	}
	if w.Seen == 0 || improves(r, than) {
		w.Best, w.Since, w.Columns = r.Value, 0, chosenColumns(r)
	} else {
		w.Since++
	}
	w.Seen++
}

// improves reports whether a result is better than another value of its metric.
func improves(r metrics.Result, than float64) bool {
	if r.Better == metrics.LowerIsBetter {
		return r.Value < than
	}
	return r.Value > than
}

// enough returns the reason to end training; empty if there is no reason.
func (w *watchState) enough(s *EarlyStop, better metrics.Direction) string {
	if w.Seen == 0 {
		return ""
	}
	good := s.Reach != nil && w.Best >= *s.Reach
	if better == metrics.LowerIsBetter {
		good = s.Reach != nil && w.Best <= *s.Reach
	}
	columns := ""
	if w.Columns != "" {
		columns = "; columns of factors: " + w.Columns
	}
	switch {
	case good:
		return fmt.Sprintf("early stop: %s is %.4g, and %.4g was to be reached%s", s.name(), w.Best, *s.Reach, columns)
	case s.Patience > 0 && w.Since >= s.Patience:
		return fmt.Sprintf("early stop: %s has not improved on %.4g in %d evaluations%s", s.name(), w.Best, w.Since, columns)
	}
	return ""
}

// name returns the name of the watched loss or metric.
func (s *EarlyStop) name() string {
	if s.Loss != "" {
		return s.Loss
	}
	return s.Metric
}

// earlyStop ends training when a metric or a loss is good enough or no longer improves.
type earlyStop struct {
	settings *EarlyStop
	result   string // name of the watched result
	better   metrics.Direction
	monitor  *monitor // nil for a loss
	seen     *watchState
}

// newEarlyStop watches the results of a monitor, or losses, and keeps its observations in seen; nil without settings.
func newEarlyStop(s *EarlyStop, m *monitor, seen *watchState) *earlyStop {
	switch {
	case s == nil:
		return nil
	case s.Loss != "":
		return &earlyStop{settings: s, seen: seen, better: metrics.LowerIsBetter}
	}
	result := s.result(m.choices)
	return &earlyStop{settings: s, result: result, monitor: m, seen: seen, better: m.direction(result)}
}

// enough returns the reason to end training; empty if there is no reason.
func (e *earlyStop) enough() string {
	if e == nil {
		return ""
	}
	return e.seen.enough(e.settings, e.better)
}

// hook observes the losses of an epoch, or its evaluation, if any.
func (e *earlyStop) hook(c *watch.Console) engine.Hook {
	return engine.Hook{Name: "early stop", Priority: stopPriority,
		OnEpoch: func(_ context.Context, l *engine.Loop, r *engine.EpochReport) error {
			if r.Epoch <= e.settings.From || !e.look(r) {
				return nil
			}
			if why := e.enough(); why != "" {
				c.Info("stop", why, "epoch", r.Epoch, "step", r.Step)
				l.Stop(why)
			}
			return nil
		}}
}

// look records the watched quantity of an epoch, and reports whether the epoch has it.
func (e *earlyStop) look(r *engine.EpochReport) bool {
	if e.settings.Loss != "" {
		v, err := findLoss(r.Losses, e.settings.Loss)
		if err != nil { // the objective has no images in this epoch
			return false
		}
		e.seen.observe(metrics.Result{Name: e.settings.Loss, Value: v, Better: e.better}, e.settings.MinDelta)
		return true
	}
	if e.monitor.measuredAt != r.Epoch {
		return false
	}
	for _, m := range e.monitor.results {
		if m.Name == e.result {
			e.seen.observe(m, e.settings.MinDelta)
		}
	}
	return true
}

// findLoss returns a loss by its name, or by the names of its objective and the loss.
func findLoss(all []engine.ObjectiveLoss, name string) (value float64, err error) {
	var found, known []string
	for _, o := range all {
		for i, n := range o.Names {
			path := o.Objective + "/" + n
			known = append(known, path)
			if name != n && name != path {
				continue
			}
			found = append(found, path)
			if o.Values != nil {
				value = o.Values[i]
			}
		}
	}
	switch len(found) {
	case 1:
		return value, nil
	case 0:
		return 0, fmt.Errorf("there is no loss %q; want one of %s", name, strings.Join(known, ", "))
	}
	return 0, fmt.Errorf("%q is of %d objectives; want one of %s", name, len(found), strings.Join(found, ", "))
}

// resultLetters are the characters in names of results.
const resultLetters = "abcdefghijklmnopqrstuvwxyz0123456789-"

// sentence returns the sentence to watch; nil if a metric's name is watched instead.
func (s *EarlyStop) sentence() (*syntax.Sentence, error) {
	if s == nil || strings.Trim(s.Metric, resultLetters) == "" {
		return nil, nil
	}
	parsed, err := syntax.Parse(s.Metric)
	return &parsed, err
}

// withSentence adds the metric of the watched sentence, unless the list has that metric with any settings. It returns
// the list and the metric's index; -1 if no sentence is watched.
func (s *EarlyStop) withSentence(list []metrics.Choice) ([]metrics.Choice, int) {
	sentence, err := s.sentence()
	if sentence == nil || err != nil { // Validate has found it
		return list, -1
	}
	at := slices.IndexFunc(list, func(c metrics.Choice) bool {
		l, ok := c.Value.(*metrics.Logic)
		return ok && l.Sentence != nil && l.Sentence.String() == sentence.String()
	})
	if at >= 0 {
		return list, at
	}
	l := metrics.NewLogic()
	l.Sentence = sentence
	return append(slices.Clone(list), metrics.Choice{Name: "logic", Value: l}), len(list)
}

// bySentence reports whether a sentence is watched: as text, or by the name of its metric in a list.
func (s *EarlyStop) bySentence(list []metrics.Choice) bool {
	if s == nil || s.Loss != "" {
		return false
	}
	at := slices.Index(metrics.ResultNames(list), s.result(list))
	if at < 0 {
		return false
	}
	_, ok := list[at].Value.(*metrics.Logic)
	return ok
}

// stopByText returns an error for a metric with settings. A name or a sentence is wanted.
func stopByText(n *config.Node) error {
	for _, key := range []string{"train", "stop", "metric"} {
		if n = n.Get(key); n == nil {
			return nil
		}
	}
	if !n.IsMap() {
		return nil
	}
	return n.Errorf("want the name of a metric, or a sentence in quotes, got a mapping; a sentence with settings stands in metrics.during, such as {logic: {name: modular, sentence: ...}}, and train.stop names it: metric: modular")
}

// chosenColumns returns the code columns of a watched sentence for each factor if its metric chose them; otherwise
// empty.
func chosenColumns(r metrics.Result) string {
	if r.Sentence == "" {
		return ""
	}
	var list []string
	for _, p := range r.Parts {
		for i, factor := range p.Labels {
			if p.Name == "columns" {
				list = append(list, fmt.Sprintf("%s %v", factor, p.Values[i]))
			}
		}
	}
	return strings.Join(list, ", ")
}

// result returns the name of the watched result among the results of the metrics during training.
func (s *EarlyStop) result(choices []metrics.Choice) string {
	if list, at := s.withSentence(choices); at >= 0 {
		return metrics.ResultNames(list)[at]
	}
	return s.Metric
}
