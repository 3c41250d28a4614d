package metrics

import (
	"github.com/unravel-ml/unravel/internal/config"
	"github.com/unravel-ml/unravel/internal/registry"
)

// Table lists the metrics that a config can name.
var Table = &registry.Table[Metric]{Kind: "metric", Entries: []registry.Entry[Metric]{
	{
		Name: "dlsbd", Doc: "linear symmetry-based disentanglement: how far the codes are from turning with every circular factor in a plane of its own",
		Source: "Tonnaer et al. 2022, section 4.3", New: func() Metric { return &DLSBD{Omega: 10, Aggregate: Mean} },
	},
	{
		Name: "dlsbd-workshop", Doc: "the earlier form of dlsbd: standardised code columns, no whitening, summed over subgroups",
		Source: "Pérez Rey et al. 2020, equations 6-12", New: func() Metric { return &DLSBDWorkshop{Omega: 10, Aggregate: Sum} },
	},
}}

// Choice is a metric in a config: `dlsbd`, or `{dlsbd: {omega: 5}}`.
type Choice registry.Choice[Metric]

// DecodeConfig reads the choice from a config.
func (c *Choice) DecodeConfig(n *config.Node) error {
	return config.DecodeChoice(n, Table, (*registry.Choice[Metric])(c))
}

// EncodeConfig writes the choice into a config.
func (c Choice) EncodeConfig() (any, error) {
	return config.EncodeChoice(registry.Choice[Metric](c))
}

// ConfigType says what can be chosen.
func (c Choice) ConfigType() string { return config.ChoiceType(Table) }
