package train

import (
	"slices"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets/supervision"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/train/internal/choices"
)

// Inherit returns metrics with the settings of the run's losses for the same property, such as the code columns of
// each factor. A metric then measures what its loss trained. A metric keeps its own explicit settings: explicit
// reports whether key was set for metric i. If several losses match a metric, it becomes one metric for each loss,
// unless its columns were set. Losses with labels from a file give no settings, because they name the factors of the
// file and not of the data set.
func (c *Config) Inherit(list []metrics.Choice, explicit func(i int, key string) bool) ([]metrics.Choice, error) {
	if c.ownLabels() {
		return list, nil
	}
	return choices.Inherit(list, c.Losses, explicit)
}

// ownLabels reports whether the losses use labels from a file.
func (c *Config) ownLabels() bool {
	return slices.ContainsFunc(c.Supervision, func(s supervision.Choice) bool {
		labels, ok := s.Value.(*supervision.FactorLabels)
		return ok && labels.File != ""
	})
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
