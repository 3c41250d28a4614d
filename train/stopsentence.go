package train

import (
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/losses/logic"
	"github.com/unravel-ml/unravel/metrics"
)

// resultLetters are the characters of the names of results.
const resultLetters = "abcdefghijklmnopqrstuvwxyz0123456789-"

// sentence returns the sentence that is watched in place of the name of a metric; nil: there is none.
func (s *EarlyStop) sentence() (*logic.Sentence, error) {
	if s == nil || strings.Trim(s.Metric, resultLetters) == "" {
		return nil, nil
	}
	parsed, err := logic.Parse(s.Metric)
	return &parsed, err
}

// withSentence adds the metric of the watched sentence to a list that does not have it, with whatever settings. It returns the
// list and the place of the metric, -1 if no sentence is watched.
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

// result returns the name of the watched result among those of the metrics that are measured during training.
func (s *EarlyStop) result(choices []metrics.Choice) string {
	if list, at := s.withSentence(choices); at >= 0 {
		return metrics.ResultNames(list)[at]
	}
	return s.Metric
}
