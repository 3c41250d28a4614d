package train

import (
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/losses/logic/syntax"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/train/internal/monitor"
)

// stopRule returns the rule that ends training by the results of a monitor or by losses; nil without settings. The rule
// keeps its observations in seen.
func stopRule(s *EarlyStop, m *monitor.Monitor, seen *monitor.Seen) *monitor.Stop {
	if s == nil {
		return nil
	}
	r := &monitor.Stop{Name: s.Metric, Reach: s.Reach, Patience: s.Patience, MinDelta: s.MinDelta, From: s.From, Seen: seen}
	if s.Loss != "" {
		r.Name, r.Loss, r.Better = s.Loss, true, metrics.LowerIsBetter
		return r
	}
	r.Monitor, r.Result = m, s.result(m.Choices)
	r.Better = m.Direction(r.Result)
	return r
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

// result returns the name of the watched result among the results of the metrics during training.
func (s *EarlyStop) result(choices []metrics.Choice) string {
	if list, at := s.withSentence(choices); at >= 0 {
		return metrics.ResultNames(list)[at]
	}
	return s.Metric
}
