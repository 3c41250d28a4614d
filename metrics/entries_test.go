package metrics_test

import (
	"fmt"
	"slices"

	"github.com/unravel-ml/unravel/configs/registry"
	. "github.com/unravel-ml/unravel/metrics"
)

// entries lists the metrics of the registry. If a metric measures nothing by default, it has the settings of its first
// variant.
func entries() []registry.Entry[Metric] {
	list := slices.Clone(Registry.Entries)
	for i, e := range list {
		if _, ok := e.New().(Varied); ok {
			list[i].New = func() Metric { return e.New().(Varied).Variants()[0] }
		}
	}
	return list
}

func choice(name string) Choice {
	for _, e := range entries() {
		if e.Name == name {
			return Choice{Name: name, Value: e.New()}
		}
	}
	panic(fmt.Sprintf("there is no metric %s", name))
}
