package metrics

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/metrics/mutual"
)

// Dialect is the list of metrics that a library or paper defines, with its values for all options, and no others.
type Dialect []Choice

// Dialects lists the sources that the key `like` and `unravel eval --like` accept. Sub-codes are a property of the
// codes, not of a dialect.
var Dialects = &registry.Registry[Dialect]{Kind: "dialect", Entries: []registry.Entry[Dialect]{
	{
		Name:   "disentanglement_lib",
		Doc:    "google-research/disentanglement_lib with the settings of its study unsupervised_study_v1",
		Source: "Locatello et al. 2019, section 4 and appendix C", New: func() Dialect { return library(0.05) },
	},
	{
		Name: "disent", Doc: "nmichlo/disent: four supervised metrics of disentanglement_lib, and three without factors; factor-vae keeps columns that hardly vary",
		Source: "disent 0.8, disent/metrics", New: disent,
	},
	{
		Name: "enriching", Doc: "properties as quantities; the existing metrics in the form of table 2's printed values, dci in the form of their other tables",
		Source: "Zhang and Sugiyama 2024, table 2", New: enriching,
	},
	{
		Name: "lsbd-metric", Doc: "the workshop form of D_LSBD, with principal components of variance 1",
		Source: "Pérez Rey et al. 2020, equations 6-12 and section 5", New: func() Dialect {
			return Dialect{{"dlsbd-workshop", &DLSBDWorkshop{Omega: 10, Aggregate: factor.Sum, Whiten: true}}}
		},
	},
	{
		Name: "lsbd-vae", Doc: "D_LSBD of the authors' code (the paper's tables print sums over subgroups), and metrics of disentanglement_lib",
		Source: "Tonnaer et al. 2022, section 4.3 and table 5", New: lsbdVAE,
	},
	{
		Name: "hierarchical", Doc: "R4, R4_c and metrics of hierarchies, SAP and DCI of values, and two metrics of disentanglement_lib",
		Source: "Ross and Doshi-Velez 2021, sections 6.2 and 6.3", New: hierarchical,
	},
	{
		Name: "negative-free", Doc: "MED and metrics of disentanglement_lib; mig and sap of ten principal components",
		Source: "Cao et al. 2022, section 3 and appendix A.2", New: negativeFree,
	},
}}

// subset returns the metrics of a dialect with the given names, in the order of the names.
func (d Dialect) subset(names ...string) Dialect {
	var list Dialect
	for _, name := range names {
		for _, c := range d {
			if c.Name == name {
				list = append(list, c)
			}
		}
	}
	return list
}

// library returns the metrics of disentanglement_lib. factor-vae leaves out columns that deviate by less than prune.
func library(prune float64) Dialect {
	points := TrainTest{Train: 10000, Test: 5000}
	bins := mutual.Histogram{Bins: 20, Binning: mutual.EqualWidth}
	return Dialect{
		{"beta-vae", &BetaVAE{Batch: 64, Train: 10000, Test: 5000}},
		{"factor-vae", &FactorVAE{Batch: 64, Train: 10000, Test: 5000, Prune: prune}},
		{"mig", &MIG{Histogram: bins, Gap: gapColumns}},
		{"modularity", &Modularity{Histogram: bins}},
		{"explicitness", &Explicitness{C: 1, Iterations: 1000, TrainTest: points}},
		{"dci", &DCI{
			Score: Disentanglement, TrainTest: points, Entropy: mutual.Entropy{Log: mutual.LogFactors, Floor: 1e-11},
			Rounds: 100, Ties: tiesRandom,
		}},
		{"sap", &SAP{Score: scoreSVM, Cost: 0.01, TrainTest: points}},
		{"irs", &IRS{Quantile: 0.99, Bins: 20}},
		{"mutual-information", &MutualInformation{Histogram: bins}},
		{"total-correlation", &TotalCorrelation{}},
		{"wasserstein-correlation", &WassersteinCorrelation{}},
		{"downstream", &Downstream{Predictor: logisticCV, Sizes: []int{10, 100, 1000, 10000}, Test: 5000, C: 1,
			Choose: chooseTrain}},
	}
}

// disent returns the metrics of disent, which prunes no column (threshold 0).
func disent() Dialect {
	return library(0).subset("factor-vae", "mig", "dci", "sap",
		"mutual-information", "total-correlation", "wasserstein-correlation")
}

// enriching returns the metrics of table 2 of Zhang and Sugiyama 2024, on all rows and pairs.
func enriching() Dialect {
	var list Dialect
	for _, d := range []struct {
		name      string
		deviation factor.Deviation
		aggregate factor.Aggregate
	}{
		{"radius", factor.Radius, factor.Max}, {"mad", factor.MAD, factor.Mean}, {"variance", factor.Variance, factor.Mean},
		{"diameter", factor.Diameter, factor.Max}, {"mpd", factor.MPD, factor.Mean},
	} {
		list = append(list, Choice{d.name, &SubCodeDeviation{Deviation: d.deviation, Aggregate: d.aggregate}})
	}
	return append(list, Dialect{
		{"me", &MaxError{Fit: FitLeastSquares, Units: unitsAsGiven}},
		{"mae", &LeftInverse{Error: MeanAbsoluteError, Units: unitsAsGiven}},
		{"mse", &LeftInverse{Error: MeanSquaredError, Units: unitsAsGiven}},
		{"contraction-max", &Contraction{Max: true, Units: unitsAsGiven}},
		{"contraction-mean", &Contraction{Units: unitsAsGiven}},
		{"beta-vae", &BetaVAE{Batch: 8, Train: 4000, Test: 4000, Standardise: true}},
		{"factor-vae", &FactorVAE{Batch: 8, Train: 4000, Test: 4000, Direct: true, Raw: true}},
		{"mig", &MIG{Histogram: mutual.Histogram{Bins: 20, Binning: mutual.EqualWidth}, Gap: gapFactors}},
		{"dci", &DCI{
			Score: Disentanglement, TrainTest: TrainTest{Train: 10000, Test: 5000, TestShare: 0.2},
			Entropy: mutual.Entropy{Log: mutual.LogFactors, Floor: 1e-11}, Rounds: 40, Ties: tiesRandom,
		}},
	}...)
}

// lsbdVAE returns the metrics of table 5 of Tonnaer et al. 2022. D_LSBD measures each object in all columns.
func lsbdVAE() Dialect {
	return append(Dialect{{"dlsbd", &DLSBD{Omega: 10, Aggregate: factor.Mean, Spaces: spacesNever, Objects: objectsEach}}},
		library(0.05).subset("beta-vae", "factor-vae", "sap", "dci", "mig", "modularity")...)
}

// hierarchical returns the metrics of Ross and Doshi-Velez 2021.
func hierarchical() Dialect {
	trees := Predictions{Splits: 5}
	return append(Dialect{
		{"r4", &R4{Predictions: trees}}, {"r4c", &R4C{Predictions: trees, Weights: weightsGroup}},
		{"h-error", &HError{}}, {"purity", &Purity{}}, {"coverage", &Coverage{}},
		{"sap", &SAP{Score: scoreLinear, Cost: 0.01, TrainTest: TrainTest{Train: 10000, Test: 5000}}},
		{"dci-regression", newDCIRegression()},
	}, library(0.05).subset("mig", "factor-vae")...)
}

// negativeFree returns the metrics of Cao et al. 2022.
func negativeFree() Dialect {
	const components = 10 // 40 on CelebA
	points := TrainTest{Train: 10000, Test: 5000}
	bins := mutual.Histogram{Bins: 20, Binning: mutual.EqualWidth}
	return append(Dialect{
		{"med", &MED{Histogram: bins, Entropy: mutual.Entropy{Log: mutual.LogFactors, Floor: 1e-11}, Samples: 10000}},
		{"co-occurrence", &CoOccurrence{Histogram: bins, TopK: 2}},
		{"mig", &MIG{Histogram: bins, Gap: gapColumns, Reduction: Reduction{components}}},
		{"sap", &SAP{Score: scoreSVM, Cost: 0.01, TrainTest: points, Reduction: Reduction{components}}},
		{"downstream", &Downstream{Predictor: plainLogistic, Sizes: []int{10000}, Test: 5000, TestShare: 1.0 / 3, C: 1,
			Choose: chooseTrain}},
	}, library(0.06).subset("beta-vae", "factor-vae", "dci")...)
}

// likeKey is the key in a metric's config that names a dialect; the dialect's options replace the defaults.
const likeKey = "like"

// In returns the named metric with the options of a dialect. It returns an error if the dialect lacks the metric.
func (d Dialect) In(dialect, name string) (Choice, error) {
	i := slices.IndexFunc(d, func(c Choice) bool { return c.Name == name })
	if i < 0 {
		return Choice{}, fmt.Errorf("%s is not in %s; it has %s", name, dialect, strings.Join(d.Names(), ", "))
	}
	return d[i], nil
}

// Names lists the metrics of a dialect.
func (d Dialect) Names() []string {
	names := make([]string, len(d))
	for i, c := range d {
		names[i] = c.Name
	}
	return names
}

// Like returns a metric as a dialect defines it. Errors: an unknown dialect, and a metric that the dialect lacks.
func Like(dialect, name string) (Choice, error) {
	entry, err := Dialects.Lookup(dialect)
	if err != nil {
		return Choice{}, err
	}
	return entry.New().In(dialect, name)
}

// decodeLike reads a choice that starts from a dialect's options: {mig: {like: disent, bins: 10}}.
func (c *Choice) decodeLike(n *config.Node, name string, like *config.Node) error {
	if _, err := Registry.Lookup(name); err != nil { // returns the error for an unknown name
		return config.DecodeChoice(n, Registry, c)
	}
	if _, err := Like(like.Text(), name); err != nil {
		return like.Errorf("%w", err)
	}
	entry := registry.Entry[Metric]{Name: name, New: func() Metric {
		choice, _ := Like(like.Text(), name)
		return choice.Value
	}}
	withDialect := &registry.Registry[Metric]{Kind: Registry.Kind, Entries: []registry.Entry[Metric]{entry}}
	return config.DecodeChoice(n.Without(name, likeKey), withDialect, c)
}

// likeOf returns the metric of a choice in a config and the dialect that its options name, or nil.
func likeOf(n *config.Node) (name string, like *config.Node) {
	if !n.IsMap() || len(n.Keys()) != 1 {
		return "", nil
	}
	name = n.Keys()[0]
	if options := n.Get(name); options.IsMap() {
		return name, options.Get(likeKey)
	}
	return name, nil
}

// define sets the options of a result, and lists the dialects that define the metric with these options. An external
// metric gets no options if its settings cannot be written in a config.
func (r *Result) define(c Choice) {
	var err error
	if r.Options, err = optionsOf(c.Value); err != nil {
		return
	}
	definition := withoutCodes(c.Value, r.Options)
	for _, entry := range Dialects.Entries {
		candidate, err := entry.New().In(entry.Name, c.Name)
		if err != nil {
			continue
		}
		options, err := optionsOf(candidate.Value)
		if err == nil && reflect.DeepEqual(definition, withoutCodes(candidate.Value, options)) {
			r.Like = append(r.Like, entry.Name)
		}
	}
}

// withoutCodes drops the assignment of code columns to factors, which is not part of a metric's definition.
func withoutCodes(m Metric, options map[string]any) map[string]any {
	if _, ok := m.(SubCoded); !ok {
		return options
	}
	rest := maps.Clone(options)
	delete(rest, "codes")
	delete(rest, "assign")
	return rest
}

// optionsOf returns all options of a metric by key, as JSON has them.
func optionsOf(m Metric) (map[string]any, error) {
	text, err := config.Encode(m)
	if err != nil {
		return nil, err
	}
	if text, err = yaml.YAMLToJSON(text); err != nil {
		return nil, err
	}
	var options map[string]any
	if err := json.Unmarshal(text, &options); err != nil {
		return nil, err
	}
	return options, nil
}
