package train

import (
	"bytes"
	"slices"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/datasets/supervision"
	"github.com/unravel-ml/unravel/losses"
	"github.com/unravel-ml/unravel/metrics"
)

// lossesOf names the loss for the property that a metric measures.
var lossesOf = map[string]string{
	"variance": "variance", "mad": "mad", "radius": "radius", "diameter": "diameter", "mpd": "mpd",
	"separation": "separation", "contraction-mean": "contraction", "contraction-max": "contraction",
	"mse": "left-inverse", "mae": "left-inverse", "me": "left-inverse",
	"hsic": "hsic", "conditional-tc": "conditional-tc", "dlsbd": "lsbd", "dlsbd-workshop": "lsbd", "logic": "logic",
}

// Inherit returns metrics with the settings of the run's losses for the same property, such as the code columns of
// each factor. A metric then measures what its loss trained. A metric keeps its own explicit settings: explicit
// reports whether key was set for metric i. If several losses match a metric, it becomes one metric for each loss,
// unless its columns were set. Losses with labels from a file give no settings, because they name the factors of the
// file and not of the data set.
func (c *Config) Inherit(choices []metrics.Choice, explicit func(i int, key string) bool) ([]metrics.Choice, error) {
	if c.ownLabels() {
		return choices, nil
	}
	var list []metrics.Choice
	for i, choice := range choices {
		variants, err := c.variants(choice, func(keys ...string) bool {
			return slices.ContainsFunc(keys, func(key string) bool { return explicit(i, key) })
		})
		if err != nil {
			return nil, err
		}
		for _, v := range variants {
			if len(variants) == 1 || !has(list, v) {
				list = append(list, v)
			}
		}
	}
	return list, nil
}

// variants returns the metric of a choice with the settings of each loss that it measures, or as it is without such a
// loss. set reports whether a choice gives one of some keys itself.
func (c *Config) variants(choice metrics.Choice, set func(keys ...string) bool) (list []metrics.Choice, err error) {
	for _, loss := range c.Losses {
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
		if !has(list, own) {
			list = append(list, own)
		}
	}
	if len(list) == 0 {
		list = []metrics.Choice{choice}
	}
	return list, nil
}

// inherits reports whether a final metric can take settings from a loss.
func (c *Config) inherits() bool {
	return slices.ContainsFunc(c.Metrics.Final, func(m metrics.Choice) bool {
		return slices.ContainsFunc(c.Losses, func(l losses.Choice) bool { return l.Name == lossesOf[m.Name] })
	})
}

// ownLabels reports whether the losses use labels from a file.
func (c *Config) ownLabels() bool {
	return slices.ContainsFunc(c.Supervision, func(s supervision.Choice) bool {
		labels, ok := s.Value.(*supervision.FactorLabels)
		return ok && labels.File != ""
	})
}

// oneMetric is a metric in a config.
type oneMetric struct {
	Metric metrics.Choice `yaml:"metric"`
}

// copyOf returns a deep copy of a metric.
func copyOf(c metrics.Choice) (metrics.Choice, error) {
	text, err := config.Encode(oneMetric{c})
	if err != nil {
		return c, err
	}
	var read oneMetric
	err = config.Load("metric", text, &read)
	return read.Metric, err
}

// sameText reports whether two metrics have the same settings in a config.
func sameText(a, b metrics.Choice) (bool, error) {
	x, err := config.Encode(oneMetric{a})
	if err != nil {
		return false, err
	}
	y, err := config.Encode(oneMetric{b})
	return bytes.Equal(x, y), err
}

// inherit gives a metric the settings of a loss and keeps the explicit ones. It reports whether the loss trains the
// metric's property.
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

// unless sets a setting to a loss's value, unless the metric has its own.
func unless[T any](own bool, to *T, value T) {
	if !own {
		*to = value
	}
}

// inheritInverse gives a metric of the error of affine maps the loss's units and kind of largest error.
func inheritInverse(m metrics.Metric, l *losses.LeftInverseLoss, set func(keys ...string) bool) bool {
	switch m := m.(type) {
	case *metrics.LeftInverse:
		if !set("units") {
			m.Units = metrics.Units(l.Units)
		}
	case *metrics.MaxError:
		if !set("units") {
			m.Units = metrics.Units(l.Units)
		}
		if fit, ok := map[losses.Inverse]metrics.Fit{losses.Minimax: metrics.FitMinimax, losses.MinimaxByFactor: metrics.FitMinimaxByFactor}[l.Kind]; ok && !set("fit") {
			m.Fit = fit
		}
	default:
		return false
	}
	return true
}

// inheritSentence gives a metric without a sentence the loss's sentence. A metric with the same sentence takes its
// columns. A sentence about samples has no metric, because codes are posterior means.
func inheritSentence(m *metrics.Logic, l *losses.LogicLoss, set func(keys ...string) bool) bool {
	if l.Sentence == nil || l.On == losses.OnSample || l.Sentence.Sampled {
		return false
	}
	switch {
	case m.Sentence == nil:
		m.Sentence = l.Sentence
	case m.Sentence.String() != l.Sentence.String():
		return false
	}
	if !set("codes", "assign") {
		m.Codes = l.Codes
	}
	return true
}

// planesOf returns the columns of each factor that turns a plane or a sphere of the loss. If it is nil, the metric
// uses the model's own spaces.
func planesOf(l *losses.LSBDLoss) factor.SubCodes {
	codes := factor.SubCodes{}
	for name, columns := range l.Planes {
		codes[name] = columns
	}
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

// inheritAll gives the config's metrics the settings of its losses.
func (c *Config) inheritAll(n *config.Node) (err error) {
	final, during := n.Get("metrics"), (*config.Node)(nil)
	if final != nil && final.IsMap() {
		final, during = final.Get("final"), final.Get("during")
	}
	if c.Metrics.Final, err = c.Inherit(c.Metrics.Final, explicitIn(final)); err != nil {
		return err
	}
	if during != nil && during.IsList() {
		c.Metrics.During.List, err = c.Inherit(c.Metrics.During.List, explicitIn(during))
	}
	return err
}

// explicitIn reports which keys the metrics of a config's list set. The word fast is no metric.
func explicitIn(list *config.Node) func(i int, key string) bool {
	var items []*config.Node
	if list != nil && list.IsList() {
		for _, item := range list.Items() {
			if !item.IsScalar() || item.Text() != fastWord {
				items = append(items, item)
			}
		}
	}
	return func(i int, key string) bool {
		if i >= len(items) || !items[i].IsMap() || len(items[i].Keys()) != 1 {
			return false
		}
		options := items[i].Get(items[i].Keys()[0])
		return options.IsMap() && options.Get(key) != nil
	}
}
