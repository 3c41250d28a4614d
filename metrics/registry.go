package metrics

import (
	"fmt"
	"slices"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/metrics/mutual"
	"github.com/unravel-ml/unravel/models/hierarchy"
)

// Registry lists the metrics that a config can name.
var Registry = &registry.Registry[Metric]{Kind: "metric", Entries: []registry.Entry[Metric]{
	{Name: "dlsbd", New: func() Metric { return &DLSBD{Omega: 10, Aggregate: factor.Mean} },
		Doc:    "linear symmetry-based disentanglement: whether each circular factor or rotation in space rotates the code exactly in a separate subspace (0 is perfect)",
		Units:  "none: dispersions of codes of variance 1; 0 (perfect) to about 1",
		Source: "Tonnaer et al. 2022, section 4.3"},
	{Name: "dlsbd-workshop", New: func() Metric { return &DLSBDWorkshop{Omega: 10, Aggregate: factor.Sum} },
		Doc:    "the earlier form of dlsbd: standardised code columns, summed over subgroups; whiten makes it invariant under linear maps and at most 1 per subgroup, as the paper says; without whiten equation 8 literally",
		Units:  "none: dispersions of codes of variance 1, summed over subgroups",
		Source: "Pérez Rey et al. 2020, equations 6-12, for whiten section 5 and equation 18"},
	{Name: "mig", New: func() Metric { return &MIG{Histogram: mutual.Library(), Gap: gapColumns} },
		Doc:    "mutual information gap: mutual information of a factor with the best code column minus the second best, over the factor's entropy",
		Units:  "none: a fraction of the entropy of the factor; mutual_information in nats",
		Source: "Chen et al. 2018, section 4.1"},
	{Name: "dci", New: func() Metric { return NewDCI() },
		Doc:   "disentanglement, completeness and informativeness, from the importance of code columns to gradient-boosted classifiers of the factors",
		Units: "none: 0 to 1", Source: "Eastwood and Williams 2018, section 2; disentanglement_lib"},
	{Name: "dci-regression", New: func() Metric { return newDCIRegression() },
		Doc:   "disentanglement, completeness and informativeness, from the importance of code columns to gradient-boosted regressors of the factors",
		Units: "none: 0 to 1", Source: "Eastwood and Williams 2018, section 2; scikit-learn's GradientBoostingRegressor"},
	{Name: "variance", New: func() Metric { return NewSubCodeDeviation(factor.Variance) },
		Doc:   "modularity: the variance of each factor's sub-code while the factor is fixed, summed over factors",
		Units: "squared units of the codes", Source: "Zhang and Sugiyama 2024, example 4 and table 2"},
	{Name: "mad", New: func() Metric { return NewSubCodeDeviation(factor.MAD) },
		Doc:   "modularity: the mean distance of each factor's sub-code from its geometric median while the factor is fixed",
		Units: "units of the codes", Source: "Zhang and Sugiyama 2024, example 3 and table 2"},
	{Name: "radius", New: func() Metric { return NewSubCodeDeviation(factor.Radius) },
		Doc:   "modularity: the radius of the smallest ball around each factor's sub-code while the factor is fixed",
		Units: "units of the codes", Source: "Zhang and Sugiyama 2024, example 2 and table 2"},
	{Name: "diameter", New: func() Metric { return NewSubCodeDeviation(factor.Diameter) },
		Doc:   "modularity: the largest distance within each factor's sub-code while the factor is fixed",
		Units: "units of the codes", Source: "Zhang and Sugiyama 2024, example 7 and table 2"},
	{Name: "mpd", New: func() Metric { return NewSubCodeDeviation(factor.MPD) },
		Doc:   "modularity: half the mean distance within each factor's sub-code while the factor is fixed",
		Units: "units of the codes", Source: "Zhang and Sugiyama 2024, section 3.2 and table 2"},
	{Name: "logic", New: func() Metric { return NewLogic() },
		Doc:   "your property, as a sentence of logic about codes and factors (docs/sentences.md), such as: forall[mean] i, j: y.shape(i) = y.shape(j) -> z.shape(i) =[squared] z.shape(j)",
		Units: "units of the sentence's distances: codes as given, levels mapped to [0, 1], continuous factors by the option units", Source: "Zhang and Sugiyama 2024, section 2, table 1 and appendix B"},
	{Name: "contraction-mean", New: func() Metric { return &Contraction{Pairs: 1 << 23, Units: unitsAsGiven} },
		Doc:   "informativeness: how much closer codes are to each other than their factors, the mean over pairs",
		Units: "continuous factors as given (units: range maps them to [0, 1]), other factors mapped to [0, 1], codes as given; the value is a difference of such distances", Source: "Zhang and Sugiyama 2024, equation 27 and table 2"},
	{Name: "contraction-max", New: func() Metric { return &Contraction{Max: true, Pairs: 1 << 23, Units: unitsAsGiven} },
		Doc:   "informativeness: how much closer codes are to each other than their factors, the maximum over pairs",
		Units: "continuous factors as given (units: range maps them to [0, 1]), other factors mapped to [0, 1], codes as given; the value is a difference of such distances", Source: "Zhang and Sugiyama 2024, equation 27 and table 2"},
	{Name: "separation", New: func() Metric { return &Separation{Margin: 1, Aggregate: factor.Mean, Pairs: 1 << 20} },
		Doc:   "informativeness from pairs that differ in a factor: how much closer than a margin their sub-codes are, summed over factors",
		Units: "units of the codes", Source: "Zhang and Sugiyama 2024, definition 9 and equation 27; Hadsell et al. 2006"},
	{Name: "mse", New: func() Metric { return &LeftInverse{Error: MeanSquaredError, Units: unitsAsGiven} },
		Doc:   "informativeness: the mean squared error of the best affine map from codes to factors",
		Units: "squared units of the factors: continuous ones as given (units: range maps them to [0, 1]), others mapped to [0, 1]", Source: "Zhang and Sugiyama 2024, equation 26 and table 2"},
	{Name: "mae", New: func() Metric {
		return &LeftInverse{Error: MeanAbsoluteError, Samples: 10000,
			Units: unitsAsGiven}
	},
		Doc:    "informativeness: the least mean absolute error of an affine map from codes to factors",
		Units:  "units of the factors: continuous ones as given (units: range maps them to [0, 1]), others mapped to [0, 1]",
		Source: "Zhang and Sugiyama 2024, equation 26 and table 2"},
	{Name: "me", New: func() Metric { return &MaxError{Fit: FitLeastSquares, Units: unitsAsGiven} },
		Doc:    "informativeness: the largest error of an affine map from codes to factors",
		Units:  "units of the factors: continuous ones as given (units: range maps them to [0, 1]), others mapped to [0, 1]",
		Source: "Zhang and Sugiyama 2024, equation 26 and table 2"},
	{Name: "projected", New: func() Metric { return &Projected{Project: projectLinear} },
		Doc:   "another metric on codes with one column per factor: the factor's best affine prediction from all columns, or the column with most mutual information",
		Units: "units of the other metric; columns are in units of the factors mapped to [0, 1] (linear) or of the codes (best)", Source: "Zhang and Sugiyama 2024, appendix F.3"},
	{Name: "best-columns", New: func() Metric { return &BestColumns{K: 2} },
		Doc:   "another metric on the k best columns of every factor, as ranked by med",
		Units: "units of the other metric", Source: "Cao et al. 2022, section 3.3"},
	{Name: "sampled", New: func() Metric { return &Sampled{Rows: 1000, Draws: 1} },
		Doc:    "another metric on rows drawn at random with replacement, to see its value on a small sample",
		Units:  "units of the other metric",
		Source: "printed values of Tonnaer et al. 2022, table 5, close to values of 100 rows"},
	{Name: "modularity", New: func() Metric { return &Modularity{Histogram: mutual.Library()} },
		Doc:   "whether each code column has mutual information with only one factor",
		Units: "none: 0 to 1; mutual_information in nats", Source: "Ridgeway and Mozer 2018, section 2"},
	{Name: "mutual-information", New: func() Metric { return &MutualInformation{Histogram: mutual.Library()} },
		Doc:   "the mean mutual information between pairs of code columns",
		Units: "nats", Source: "Locatello et al. 2019, section 5.2"},
	{Name: "total-correlation", New: func() Metric { return &TotalCorrelation{} },
		Doc:   "the total correlation of a normal distribution with the codes' covariance",
		Units: "nats", Source: "Locatello et al. 2019, section 5.2"},
	{Name: "conditional-tc", New: func() Metric { return &ConditionalTC{} },
		Doc:   "the total correlation of codes with inactive columns, over columns active together",
		Units: "nats", Source: "Ross and Doshi-Velez 2021, section 5.2, of normal distributions"},
	{Name: "hsic", New: func() Metric { return newHSIC() },
		Doc:   "dependence of sub-codes on each other, or on the other factors, by kernels",
		Units: "none: a mean of products of centred similarities", Source: "Gretton et al. 2005, definition 2"},
	{Name: "wasserstein-correlation", New: func() Metric { return &WassersteinCorrelation{} },
		Doc:   "the squared Wasserstein distance of a normal distribution with the codes' covariance from one without correlations",
		Units: "squared units of the codes; normalised: none", Source: "Locatello et al. 2019, section 5.2"},
	{Name: "code-spread", New: func() Metric { return &CodeSpread{} },
		Doc:   "collapse diagnostic: standard deviation of the normalised codes times sqrt(width); 0 when collapsed, about 1 when uniform",
		Units: "none: a fraction of the deviation of uniform directions", Source: "Chen and He 2021, section 4.1"},
	{Name: "med", New: func() Metric { return &MED{Histogram: mutual.Library(), Entropy: mutual.LibraryEntropy()} },
		Doc:    "whether each code column has mutual information with only one factor, weighted by the information; over all columns or each factor's best k",
		Units:  "none: entropies to the base of the number of factors; with log natural: nats",
		Source: "Cao et al. 2022, section 3.2, with k section 3.3"},
	{Name: "co-occurrence", New: func() Metric { return &CoOccurrence{Histogram: mutual.Library()} },
		Doc:   "cosine between factors' vectors of mutual information with the code columns: 0 if no column is shared",
		Units: "none: a cosine, 0 to 1", Source: "Cao et al. 2022, section 4.2, equation 4"},
	{Name: "principal-med", New: func() Metric {
		return &PrincipalMED{MED: MED{Histogram: mutual.Library(), Entropy: mutual.LibraryEntropy()},
			Reduction: Reduction{Components: 10}}
	},
		Doc:    "med on the first principal components of the codes instead of the columns",
		Units:  "none: entropies to the base of the number of factors; with log natural: nats",
		Source: "Cao et al. 2022, appendix B.4"},
	{Name: "responses", New: func() Metric { return &Responses{Histogram: mutual.Library(), Threshold: 0.1} },
		Doc:   "of the code columns that respond to any factor, the fraction that responds to exactly one; counts as a part",
		Units: "none: a fraction of columns", Source: "Cao et al. 2022, section 5.4 and figure 5"},
	{Name: "manipulation", New: func() Metric { return &Manipulated{} },
		Doc:    "whether one code column alone moves while one factor varies and the others are fixed: its share of the variance",
		Units:  "none: a share of the variance, 1 over the number of columns to 1",
		Source: "Cao et al. 2022, section 4.3 and appendix B.4"},
	{Name: "irs", New: func() Metric { return &IRS{Quantile: 0.99, Bins: 20} },
		Doc:   "interventional robustness: 1 minus the relative movement of a code column while its factor is fixed and the others vary",
		Units: "none: at most 1, and about 0 or more", Source: "Suter et al. 2019, section 4"},
	{Name: "sap", New: func() Metric { return &SAP{Score: scoreSVM, Cost: 0.01, TrainTest: apartTrainTest()} },
		Doc:    "separated attribute predictability: score of the best code column as a factor's predictor minus the score of the second best",
		Units:  "none: a difference of accuracies, or of squared correlations (R^2 of one column)",
		Source: "Kumar et al. 2018, section 3"},
	{Name: "explicitness", New: func() Metric {
		return &Explicitness{C: 1, Iterations: 1000,
			TrainTest: apartTrainTest()}
	},
		Doc:   "area under the ROC curve of logistic regressions from codes to factor levels",
		Units: "none: an area under the ROC curve, 0 to 1", Source: "Ridgeway and Mozer 2018, section 2"},
	{Name: "downstream", New: func() Metric {
		return &Downstream{Predictor: plainLogistic, Sizes: []int{10, 100, 1000, 10000}, Test: 5000, TestShare: heldOut, C: 1,
			Choose: chooseTrain}
	},
		Doc:   "the accuracy of predicting factors from codes, with few and with many labelled rows",
		Units: "none: accuracy, 0 to 1", Source: "Locatello et al. 2019, section 5.5"},
	{Name: "probe", New: func() Metric { return &Probe{C: 1, Iterations: 1000, Apart: quarterApart()} },
		Doc:   "linear probes: test accuracy of logistic regression from codes to each factor; for continuous factors R^2 of ridge regression",
		Units: "none: accuracy or R^2, 0 to 1", Source: "Alain and Bengio 2017, section 3; Cao et al. 2022, appendix G"},
	{Name: "knn", New: func() Metric {
		return &KNN{K: 20, Temperature: 0.07, Samples: 100000, Distance: cosineDistance, Apart: quarterApart()}
	},
		Doc:   "the accuracy of predicting every factor by a weighted vote of the nearest train rows, by cosine similarity of the codes",
		Units: "none: accuracy, 0 to 1", Source: "Wu et al. 2018, section 3.4"},
	{Name: "beta-vae", New: func() Metric { return &BetaVAE{Batch: 64, Train: 10000, Test: 5000} },
		Doc:   "accuracy of a linear classifier that predicts, from differences of codes, which factor two images share",
		Units: "none: accuracy, 0 to 1", Source: "Higgins et al. 2017, section 3"},
	{Name: "factor-vae", New: func() Metric { return &FactorVAE{Batch: 64, Train: 10000, Test: 5000, Prune: 0.05} },
		Doc:   "accuracy of predicting which factor images share from the code column that varies least",
		Units: "none: accuracy, 0 to 1", Source: "Kim and Mnih 2018, section 4"},
	{Name: "r4", New: func() Metric { return newR4() },
		Doc:   "how well a code column and a factor predict each other, by boosted trees: the best column of every factor",
		Units: "none: 0 to 1", Source: "Ross and Doshi-Velez 2021, equations 2 and 3"},
	{Name: "r4c", New: func() Metric { return &R4C{Predictions: newR4().Predictions, Weights: weightsGroup} },
		Doc:   "r4 of hierarchical codes: over rows with both column and factor active, and by the options of categorical codes",
		Units: "none: 0 to 1", Source: "Ross and Doshi-Velez 2021, equation 5"},
	{Name: "h-error", New: func() Metric { return &HError{} },
		Doc:   "the edit distance between the codes' hierarchy and the true hierarchy",
		Units: "edits of a tree", Source: "Ross and Doshi-Velez 2021, section 6.2 and appendix A.3"},
	{Name: "purity", New: func() Metric { return &Purity{} },
		Doc:   "fraction of rows in components with the true path of their component's majority",
		Units: "none: a fraction of the rows", Source: "Ross and Doshi-Velez 2021, section 6.2"},
	{Name: "coverage", New: func() Metric { return &Coverage{} },
		Doc:   "fraction of rows in a component, not discarded",
		Units: "none: a fraction of the rows", Source: "Ross and Doshi-Velez 2021, section 6.2"},
	{Name: "description-length", New: func() Metric { return &DescriptionLength{Bits: hierarchy.FloatBits} },
		Doc:   "mean bits of a code in the codes' hierarchy: options on the code's path and active dimensions",
		Units: "bits of a code", Source: "Ross and Doshi-Velez 2021, section 8.1"},
}, Hints: map[string]string{
	"mic": "", "mcc": "", // different metrics, although the names are similar
	"sap-score": didYouMean("sap"), "mig-score": didYouMean("mig"), "dci-score": didYouMean("dci"),
	"beta-vae-sklearn": didYouMean("beta-vae"), "beta-vae-metric": didYouMean("beta-vae"), "beta-vae-score": didYouMean("beta-vae"),
	"factor-vae-metric": didYouMean("factor-vae"), "factor-vae-score": didYouMean("factor-vae"),
	"disentanglement": byDCI, "completeness": byDCI, "informativeness": byDCI,
	"dci-disentanglement": byDCI, "dci-completeness": byDCI, "dci-informativeness": byDCI,
	"modularity-explicitness": "they are two metrics: [modularity, explicitness]",
	"dataset":                 "metrics of another data set belong under the key metrics.on",
	"unsupervised":            "want [mutual-information, total-correlation, wasserstein-correlation]",
	"unsupervised-metrics":    "want [mutual-information, total-correlation, wasserstein-correlation]",
}}

// FastNames lists the metrics that take a few milliseconds for 10,000 codes, like training on a few hundred images.
func FastNames() []string { return []string{"dlsbd", "variance", "mig", "modularity", "med"} }

// Fast returns the metrics of FastNames that suit an input, with their defaults.
func Fast(in *Input) []Choice {
	var list []Choice
	for _, name := range FastNames() { // a test checks that all of them are registered
		if c, err := Named(name); err == nil && Suits(in, []Choice{c}) == nil {
			list = append(list, c)
		}
	}
	return list
}

const byDCI = "it is a part of the metric dci: [dci]"

func didYouMean(name string) string { return fmt.Sprintf("did you mean %q?", name) }

// Choice is a metric in a config: `dlsbd`, or `{dlsbd: {omega: 5}}`. The option like replaces the default options by
// the options of one of the [Dialects]: `{mig: {like: disent}}`. Other options override these.
type Choice struct {
	Name  string
	Value Metric
}

func (c *Choice) DecodeConfig(n *config.Node) error {
	name, like := likeOf(n)
	if like != nil {
		return c.decodeLike(n, name, like)
	}
	if err := config.DecodeChoice(n, Registry, c); err != nil {
		return err
	}
	if m, ok := c.Value.(splits); ok && name != "" && drawsRows(n.Get(name)) {
		m.draw()
	}
	return nil
}

func (c Choice) EncodeConfig() (any, error) { return config.EncodeChoice(c) }

func (Choice) ConfigForms() []any {
	c := config.ChoicesOf(Registry)
	for i, p := range c.Parts {
		var like config.Words
		for _, d := range Dialects.Entries {
			if slices.Contains(d.New().Names(), p.Name) {
				like = append(like, d.Name)
			}
		}
		if like != nil {
			c.Parts[i].More = map[string]any{likeKey: like}
		}
	}
	return []any{c}
}

// Register adds a metric that configs can name. Call it before reading a config. It returns an error for a taken name.
func Register(e registry.Entry[Metric]) error { return Registry.Register(e) }

// Named returns a metric with its defaults; an unknown name is an error.
func Named(name string) (Choice, error) {
	c, err := Registry.Named(name)
	return Choice(c), err
}
