// Package choices handles the metrics of a config: it compares them, and lets them inherit settings from losses.
package choices

import (
	"bytes"
	"maps"
	"reflect"
	"slices"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/losses"
	"github.com/unravel-ml/unravel/metrics"
)

// Has reports whether a list has a metric with the same options.
func Has(list []metrics.Choice, c metrics.Choice) bool {
	return slices.ContainsFunc(list, func(o metrics.Choice) bool {
		return o.Name == c.Name && reflect.DeepEqual(o.Value, c.Value)
	})
}

// lossesOf maps a metric to the loss of the same property.
var lossesOf = map[string]string{
	"variance": "variance", "mad": "mad", "radius": "radius", "diameter": "diameter", "mpd": "mpd",
	"separation": "separation", "contraction-mean": "contraction", "contraction-max": "contraction",
	"mse": "left-inverse", "mae": "left-inverse", "me": "left-inverse",
	"hsic": "hsic", "conditional-tc": "conditional-tc", "dlsbd": "lsbd", "dlsbd-workshop": "lsbd", "logic": "logic",
}

// Inherit copies settings from losses to metrics of the same property, such as the code columns of each factor.
// Explicit settings of a metric are kept: explicit reports whether key was set for metric i. If several losses match a
// metric, it becomes one metric for each loss, unless its columns were set.
func Inherit(choices []metrics.Choice, from []losses.Choice, explicit func(i int, key string) bool) (
	list []metrics.Choice, err error) {
	for i, choice := range choices {
		variants, err := variants(choice, from, func(keys ...string) bool {
			return slices.ContainsFunc(keys, func(key string) bool { return explicit(i, key) })
		})
		if err != nil {
			return nil, err
		}
		for _, v := range variants {
			if len(variants) == 1 || !Has(list, v) {
				list = append(list, v)
			}
		}
	}
	return list, nil
}

// variants returns a metric once for each loss of the same property, or unchanged. set reports its own keys.
func variants(choice metrics.Choice, from []losses.Choice, set func(keys ...string) bool) (
	list []metrics.Choice, err error) {
	for _, loss := range from {
		if loss.Name != lossesOf[choice.Name] {
			continue
		}
		own, err := copyOf(choice)
		if err != nil {
			return nil, err
		}
		if !inherit(own.Value, loss.Value, set) {
			continue
		}
		if same, err := sameText(own, choice); err != nil {
			return nil, err
		} else if same {
			own = choice
		}
		if !Has(list, own) {
			list = append(list, own)
		}
	}
	if len(list) == 0 {
		list = []metrics.Choice{choice}
	}
	return list, nil
}

// Inherits reports whether a metric can take settings from a loss.
func Inherits(choices []metrics.Choice, from []losses.Choice) bool {
	return slices.ContainsFunc(choices, func(m metrics.Choice) bool {
		return slices.ContainsFunc(from, func(l losses.Choice) bool { return l.Name == lossesOf[m.Name] })
	})
}

type oneMetric struct {
	Metric metrics.Choice `yaml:"metric"`
}

func copyOf(c metrics.Choice) (metrics.Choice, error) {
	text, err := config.Encode(oneMetric{c})
	if err != nil {
		return c, err
	}
	var read oneMetric
	err = config.Load("metric", text, &read)
	return read.Metric, err
}

func sameText(a, b metrics.Choice) (bool, error) {
	x, err := config.Encode(oneMetric{a})
	if err != nil {
		return false, err
	}
	y, err := config.Encode(oneMetric{b})
	return bytes.Equal(x, y), err
}

// inherit copies a loss's settings to a metric, except explicit settings. It reports whether the properties match.
func inherit(m metrics.Metric, l losses.Loss, set func(keys ...string) bool) bool {
	switch l := l.(type) {
	case *losses.ModularityLoss:
		if m, ok := m.(*metrics.SubCodeDeviation); ok {
			own := len(l.Codes) == 0 || set("codes", "assign", "project")
			unless(own, &m.Codes, l.Codes)
			unless(own, &m.Assign, metrics.AssignAuto)
			unless(set("aggregate"), &m.Aggregate, l.Aggregate)
			return true
		}
	case *losses.ContractionLoss:
		if m, ok := m.(*metrics.Contraction); ok {
			unless(set("columns"), &m.Columns, l.Columns)
			unless(set("factors"), &m.Factors, l.Factors)
			unless(set("units"), &m.Units, metrics.Units(l.Units))
			return true
		}
	case *losses.SeparationLoss:
		if m, ok := m.(*metrics.Separation); ok {
			own := len(l.Codes) == 0 || set("codes", "assign")
			unless(own, &m.Codes, l.Codes)
			unless(own, &m.Assign, metrics.AssignAuto)
			unless(set("margin"), &m.Margin, l.Margin)
			unless(set("aggregate"), &m.Aggregate, l.Aggregate)
			return true
		}
	case *losses.LeftInverseLoss:
		return inheritInverse(m, l, set)
	case *losses.LSBDLoss:
		if m, ok := m.(*metrics.DLSBD); ok {
			codes := planesOf(l)
			unless(codes == nil || set("codes"), &m.Codes, codes)
			return true
		}
	case *losses.HSICLoss:
		if m, ok := m.(*metrics.HSIC); ok {
			unless(len(l.Codes) == 0 || set("codes", "assign"), &m.Codes, l.Codes)
			unless(set("between"), &m.Between, metrics.Between(l.Between))
			unless(set("bandwidth"), &m.Bandwidth, l.Bandwidth)
			return true
		}
	case *losses.ConditionalTCLoss:
		if m, ok := m.(*metrics.ConditionalTC); ok {
			var active []metrics.ActiveCodes
			for _, a := range l.Active {
				active = append(active, metrics.ActiveCodes(a))
			}
			unless(set("active"), &m.Active, active)
			return true
		}
	case *losses.LogicLoss:
		if m, ok := m.(*metrics.Logic); ok {
			return inheritSentence(m, l, set)
		}
	}
	return false
}

// unless sets a setting to the value of a loss, unless the metric has set it.
func unless[T any](own bool, to *T, value T) {
	if !own {
		*to = value
	}
}

// inheritInverse copies the units and the kind of the largest error from a loss to a metric.
func inheritInverse(m metrics.Metric, l *losses.LeftInverseLoss, set func(keys ...string) bool) bool {
	switch m := m.(type) {
	case *metrics.LeftInverse:
		unless(set("units"), &m.Units, metrics.Units(l.Units))
	case *metrics.MaxError:
		unless(set("units"), &m.Units, metrics.Units(l.Units))
		switch {
		case set("fit"):
		case l.Kind == losses.Minimax:
			m.Fit = metrics.FitMinimax
		case l.Kind == losses.MinimaxByFactor:
			m.Fit = metrics.FitMinimaxByFactor
		}
	default:
		return false
	}
	return true
}

// inheritSentence copies the sentence of a loss to a metric without a sentence. If the metric has the same sentence, it
// copies the columns. A sentence about samples is not copied, because metrics measure posterior means.
func inheritSentence(m *metrics.Logic, l *losses.LogicLoss, set func(keys ...string) bool) bool {
	if l.Sentence == nil || l.On == losses.OnSample || l.Sentence.Sampled() {
		return false
	}
	switch {
	case m.Sentence == nil:
		m.Sentence = l.Sentence
	case m.Sentence.String() != l.Sentence.String():
		return false
	}
	unless(set("codes", "assign"), &m.Codes, l.Codes)
	return true
}

// planesOf returns the columns of each factor that rotates a plane or a sphere of the loss; nil: the model's spaces.
func planesOf(l *losses.LSBDLoss) factor.SubCodes {
	codes := factor.SubCodes{}
	maps.Copy(codes, l.Planes)
	for _, s := range l.Spheres {
		if s.Factor != "" {
			codes[s.Factor] = s.Columns
		}
	}
	if len(codes) == 0 {
		return nil
	}
	return codes
}
