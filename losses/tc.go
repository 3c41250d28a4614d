package losses

import (
	"errors"
	"fmt"
	"slices"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/losses/internal/dependence"
)

// TotalCorrelation estimates the total correlation of the aggregate posterior. Its inputs are samples z of Gaussian
// posteriors and the posteriors' means and log variances, all of shape [n, D]:
//
//	1/n sum_j [log q(z_j) - sum_d log q(z_jd)]
//	q(z_j)  = sum_i w_ji prod_d N(z_jd; mean_id, variance_id)
//	q(z_jd) = sum_i w_ji N(z_jd; mean_id, variance_id)
//
// For images of a data set of size N, w_ji is
//
//	minibatch    1
//	weighted     1/(n N)
//	stratified   1/N for i = j, (N-M)/(N M) for the row after j, cyclically, and
//	             1/M for the others, M = n-1; 1 if n = 1
//
// The minibatch estimate therefore differs from the weighted one by the constant (D-1) log(n N), and needs no N. The
// result is a scalar, in nats, differentiable everywhere in z, means and log variances. The total correlation is 0 if
// the columns are independent; its estimates can be negative.
//
// Source: Chen et al. 2018, equation 3 and appendix C.
func TotalCorrelation(z, mean, logVariance *gorgonia.Node, e TCEstimator, dataSize int) (*gorgonia.Node, error) {
	return dependence.TotalCorrelation(z, mean, logVariance, nil, dependence.Estimator(e), dataSize)
}

// BlockCorrelation is [TotalCorrelation] between blocks of columns instead of single columns. It estimates KL(q(z_1,
// ..., z_B) || prod_b q(z_b)) for disjoint blocks z_b.
func BlockCorrelation(z, mean, logVariance *gorgonia.Node, blocks [][]int, e TCEstimator, dataSize int) (*gorgonia.Node, error) {
	if len(blocks) < 2 || slices.ContainsFunc(blocks, func(b []int) bool { return len(b) == 0 }) {
		return nil, fmt.Errorf("block correlation: %w", graph.Wanted("two blocks of columns or more", blocks))
	}
	return dependence.TotalCorrelation(z, mean, logVariance, nil, dependence.Estimator(e), dataSize, blocks...)
}

// ConditionalTotalCorrelation is [TotalCorrelation] for codes with inactive columns: the mask active, [n, D], is 1 if a
// column is active in a row, and otherwise 0.
//
// Only the active columns of row j are used. q(z_j) is estimated from the rows with the same active columns. q(z_jd) is
// estimated from the rows where column d is active. With m such rows, m and N m/n replace n and N in the weights. A row
// with fewer than two active columns contributes 0. The result is a scalar, in nats, differentiable in z, means and log
// variances. If all columns are active, it equals [TotalCorrelation].
//
// Source: Ross and Doshi-Velez 2021, section 5.2, who use a discriminator; the closed form is ours.
func ConditionalTotalCorrelation(z, mean, logVariance, active *gorgonia.Node, e TCEstimator,
	dataSize int) (*gorgonia.Node, error) {
	if active == nil {
		return nil, fmt.Errorf("conditional tc: %w", graph.Wanted("a mask of active columns", "nothing"))
	}
	return dependence.TotalCorrelation(z, mean, logVariance, active, dependence.Estimator(e), dataSize)
}

// TCEstimator is an estimator of code densities from a batch (Chen et al. 2018, section 4.1 and appendix C).
type TCEstimator uint8

// The estimators.
const (
	TCMinibatch  TCEstimator = iota // sum_i q(z|x_i), as in disentanglement_lib
	TCWeighted                      // minibatch weighted sampling
	TCStratified                    // minibatch stratified sampling
)

func (e TCEstimator) String() string { return dependence.Estimator(e).String() }

// TCLoss is the total correlation of a model's samples, in nats. With the estimator minibatch and weight beta-1 it
// turns a VAE's loss into beta-TCVAE; with adversarial and weight gamma, into FactorVAE.
type TCLoss struct {
	Weight        Weight         `yaml:"weight" doc:"factor in the total"`
	Estimator     Estimator      `yaml:"estimator" doc:"adversarial (a discriminator), or from the posteriors of the batch: minibatch, weighted or stratified"`
	Discriminator *Discriminator `yaml:"discriminator" doc:"discriminator of the estimator adversarial"`
}

// NewTC returns the default settings, with FactorVAE's discriminator.
func NewTC() *TCLoss {
	return &TCLoss{Weight: Constant(1), Estimator: "minibatch",
		Discriminator: NewDiscriminator()}
}

func (l *TCLoss) Validate() error {
	if l.Estimator == Adversarial && l.Discriminator == nil {
		return config.Invalid("discriminator",
			"the estimator adversarial needs a discriminator; want settings, such as {hidden: [1000, 1000]}")
	}
	if l.Estimator != Adversarial && l.Discriminator != nil && l.Discriminator.SecondBatch {
		return config.Invalid("discriminator.second_batch",
			"the estimator %s has no discriminator; want estimator adversarial, or no second_batch", l.Estimator)
	}
	return nil
}

func (l *TCLoss) Weighting() Weight { return l.Weight }

func (*TCLoss) Variants() []Loss {
	var variants []Loss
	for _, e := range []Estimator{"weighted", "stratified", Adversarial} {
		l := NewTC()
		l.Estimator = e
		variants = append(variants, l)
	}
	return variants
}

func (l *TCLoss) Add(in *Input) (*gorgonia.Node, error) { return l.add(in, nil) }

func (l *TCLoss) add(in *Input, active *gorgonia.Node) (*gorgonia.Node, error) {
	if in.Shared {
		in.Note(fmt.Sprintf("the loss %s assumes independent images, but the images of a pair share columns of their codes: its estimate is biased", in.Name))
	}
	if l.Estimator == Adversarial {
		return l.Discriminator.densityRatio(in, active)
	}
	e, err := dependence.ParseEstimator(string(l.Estimator))
	if err != nil {
		return nil, err
	}
	switch {
	case in.Sample == nil:
		return nil, missing("samples of the codes")
	case in.Codes == nil:
		return nil, missing("codes")
	case in.LogVariance == nil:
		return nil, missing("log variances of Gaussian posteriors")
	case e != dependence.Minibatch && in.Population == 0:
		return nil, fmt.Errorf("the estimator %v needs the number of images in the data set, which is unknown; want estimator minibatch", e)
	}
	return dependence.TotalCorrelation(in.Sample, in.Codes, in.LogVariance, active, e, in.Population)
}

// Estimator names, in a config, an estimator of total correlation: adversarial, which trains a discriminator, or a
// [TCEstimator], which uses the posteriors of a batch.
type Estimator string

// Adversarial is the estimator that trains a discriminator; see [DensityRatio].
const Adversarial Estimator = "adversarial"

func (e *Estimator) UnmarshalText(text []byte) error {
	return parseName(e, "estimator", text, Adversarial, "minibatch", "weighted", "stratified")
}

// ConditionalTCLoss computes [ConditionalTotalCorrelation] for a model's samples, or its adversarial estimate. The mask
// of a hierarchical model, or the levels of known factors, determine the active columns.
type ConditionalTCLoss struct {
	TCLoss
	Active []ActiveCodes `yaml:"active" doc:"factor levels at which columns are active; columns not listed are always active. If absent, the model's masks"`
}

// NewConditionalTC returns the default settings, with COFHAE's discriminator (Ross and Doshi-Velez 2021).
func NewConditionalTC() *ConditionalTCLoss {
	l := &ConditionalTCLoss{TCLoss: *NewTC()}
	l.Estimator = Adversarial
	l.Discriminator = &Discriminator{Hidden: []int{1000, 1000, 1000}, Logits: 1, LR: 1e-3, Beta1: 0.9, Beta2: 0.999,
		Renew: true}
	return l
}

func (*ConditionalTCLoss) Variants() []Loss {
	closed, byLevels := NewConditionalTC(), NewConditionalTC()
	closed.Estimator, byLevels.Estimator = "stratified", "minibatch"
	byLevels.Active = []ActiveCodes{{Columns: []int{0, 1}, Factor: "shape", Levels: []int{1, 2}}}
	return []Loss{closed, byLevels}
}

func (l *ConditionalTCLoss) Add(in *Input) (*gorgonia.Node, error) {
	if len(l.Active) == 0 {
		if in.Active == nil {
			return nil, errors.New("it needs masks of active codes, which this model does not have; want active, such as [{columns: [2, 3], factor: shape, levels: [0]}]")
		}
		return l.add(in, in.Active)
	}
	rules, err := l.rules(in)
	if err != nil {
		return nil, err
	}
	_, levels, err := in.Labels.Values(UnitsRange)
	if err != nil {
		return nil, err
	}
	width, err := columnsOf("samples of the codes", in.Sample)
	if err != nil {
		return nil, err
	}
	active, err := dependence.Mask(levels, width, rules)
	if err != nil {
		return nil, err
	}
	if l.Estimator != Adversarial {
		return l.add(in, active)
	}
	// Mask inactive columns, so the discriminator does not see them.
	masked := *in
	if masked.Sample, err = gorgonia.HadamardProd(in.Sample, active); err != nil {
		return nil, err
	}
	return l.add(&masked, active)
}

// rules returns the factors and levels that the settings name.
func (l *ConditionalTCLoss) rules(in *Input) ([]dependence.Active, error) {
	switch {
	case in.Labels == nil:
		return nil, errNoLabels
	case in.Sample == nil:
		return nil, missing("samples of the codes")
	}
	var rules []dependence.Active
	names := factor.Names(in.Labels.Factors)
	for i, a := range l.Active {
		k := slices.Index(names, a.Factor)
		if k < 0 {
			return nil, fmt.Errorf("active.%d: there is no factor %q%s", i, a.Factor, registry.Suggest(a.Factor, names))
		}
		if len(a.Columns) == 0 || len(a.Levels) == 0 {
			return nil, fmt.Errorf("active.%d: columns or levels are empty; want at least one of each", i)
		}
		for _, level := range a.Levels {
			if size := in.Labels.Factors[k].Size; level < 0 || level >= size {
				return nil, fmt.Errorf("active.%d: factor %q has no level %d; want 0 to %d", i, a.Factor, level, size-1)
			}
		}
		rules = append(rules, dependence.Active{Columns: a.Columns, Factor: k, Levels: a.Levels})
	}
	return rules, nil
}

// ActiveCodes is a rule: the code columns are active in the rows where a factor has one of the given levels. In all
// other rows, including rows where the factor is unknown, the columns are inactive.
type ActiveCodes struct {
	Columns []int  `yaml:"columns" doc:"columns of the codes"`
	Factor  string `yaml:"factor" doc:"name of the factor"`
	Levels  []int  `yaml:"levels" doc:"levels of the factor at which the columns are active"`
}
