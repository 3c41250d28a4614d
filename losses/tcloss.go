package losses

import (
	"errors"
	"fmt"
	"slices"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/config"
	"github.com/unravel-ml/unravel/factor"
	"github.com/unravel-ml/unravel/registry"
)

// Estimator says in a config how a total correlation is estimated: adversarial, by
// a discriminator, or by one of the [TCEstimator]s from the posteriors of a batch.
type Estimator string

// Adversarial is the estimator that trains a discriminator; see [DensityRatio].
const Adversarial Estimator = "adversarial"

// UnmarshalText accepts the name of an estimator.
func (e *Estimator) UnmarshalText(text []byte) error {
	*e = Estimator(text)
	if *e == Adversarial {
		return nil
	}
	if _, err := ParseTCEstimator(string(text)); err != nil {
		return fmt.Errorf("unknown estimator %q; known: adversarial, minibatch, weighted, stratified", text)
	}
	return nil
}

// TCLoss is the total correlation of a model's samples, in nats: with the estimator
// minibatch and the weight beta-1 what beta-TCVAE adds to a VAE, with adversarial
// and the weight gamma what FactorVAE adds.
type TCLoss struct {
	Weight        float64        `yaml:"weight" doc:"factor in the total"`
	Estimator     Estimator      `yaml:"estimator" doc:"adversarial (a discriminator), or from the posteriors of the batch: minibatch, weighted or stratified"`
	Discriminator *Discriminator `yaml:"discriminator" doc:"discriminator of the estimator adversarial"`
}

// NewTC returns the default settings; the discriminator's are those of FactorVAE.
func NewTC() *TCLoss {
	return &TCLoss{Weight: 1, Estimator: "minibatch",
		Discriminator: &Discriminator{Hidden: slices.Repeat([]int{1000}, 6), Logits: 2, LR: 1e-4, Beta1: 0.5, Beta2: 0.9}}
}

// Validate checks the settings.
func (l *TCLoss) Validate() error {
	if l.Estimator == Adversarial && l.Discriminator == nil {
		return config.Invalid("discriminator", "the estimator adversarial needs its settings")
	}
	if l.Estimator != Adversarial && l.Discriminator != nil && l.Discriminator.SecondBatch {
		return config.Invalid("discriminator.second_batch", "the estimator %s has no discriminator; want estimator adversarial, or no second_batch", l.Estimator)
	}
	return validWeight(l.Weight)
}

// Weighting implements [Loss].
func (l *TCLoss) Weighting() float64 { return l.Weight }

// Variants implements [Varied].
func (*TCLoss) Variants() []Loss {
	var all []Loss
	for _, e := range []Estimator{"weighted", "stratified", Adversarial} {
		l := NewTC()
		l.Estimator = e
		all = append(all, l)
	}
	return all
}

// Add implements [Loss].
func (l *TCLoss) Add(in *Input) (*gorgonia.Node, error) { return l.add(in, nil) }

func (l *TCLoss) add(in *Input, active *gorgonia.Node) (*gorgonia.Node, error) {
	if l.Estimator == Adversarial {
		return l.Discriminator.densityRatio(in, active)
	}
	e, err := ParseTCEstimator(string(l.Estimator))
	if err != nil {
		return nil, err
	}
	return closedTC(in, e, active)
}

// ActiveCodes says that columns of the codes are active where a factor has one of
// some levels, and inactive elsewhere, also where the factor is not known.
type ActiveCodes struct {
	Columns []int  `yaml:"columns" doc:"columns of the codes"`
	Factor  string `yaml:"factor" doc:"name of the factor"`
	Levels  []int  `yaml:"levels" doc:"levels of the factor at which the columns are active"`
}

// ConditionalTCLoss is the total correlation of a model's samples where they are
// active: by the masks of a hierarchical model, or by levels of known factors.
type ConditionalTCLoss struct {
	TCLoss
	Active []ActiveCodes `yaml:"active" doc:"which columns are active at which levels of a factor; other columns always are. If absent, the model's own masks"`
}

// NewConditionalTC returns the default settings; the discriminator's are those of
// COFHAE (Ross and Doshi-Velez 2021).
func NewConditionalTC() *ConditionalTCLoss {
	l := &ConditionalTCLoss{TCLoss: *NewTC()}
	l.Estimator = Adversarial
	l.Discriminator = &Discriminator{Hidden: []int{1000, 1000, 1000}, Logits: 1, LR: 1e-3, Beta1: 0.9, Beta2: 0.999, Renew: true}
	return l
}

// Variants implements [Varied].
func (*ConditionalTCLoss) Variants() []Loss {
	closed, known := NewConditionalTC(), NewConditionalTC()
	closed.Estimator, known.Estimator = "stratified", "minibatch"
	known.Active = []ActiveCodes{{Columns: []int{0, 1}, Factor: "shape", Levels: []int{1, 2}}}
	return []Loss{closed, known}
}

// Add implements [Loss].
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
	groups, err := in.Labels.Groups()
	if err != nil {
		return nil, err
	}
	width, err := columnsOf("samples of the codes", in.Sample)
	if err != nil {
		return nil, err
	}
	active, err := maskOf(groups, width, rules)
	if err != nil {
		return nil, err
	}
	if l.Estimator != Adversarial {
		return l.add(in, active)
	}
	// The discriminator must not see what is inactive.
	masked := *in
	if masked.Sample, err = gorgonia.HadamardProd(in.Sample, active); err != nil {
		return nil, err
	}
	return l.add(&masked, active)
}

// rules finds the factors and levels that the settings name.
func (l *ConditionalTCLoss) rules(in *Input) ([]activity, error) {
	switch {
	case in.Labels == nil:
		return nil, errNoLabels
	case in.Sample == nil:
		return nil, missing("samples of the codes")
	}
	var rules []activity
	names := factor.Names(in.Labels.Factors)
	for i, a := range l.Active {
		k := slices.Index(names, a.Factor)
		if k < 0 {
			return nil, fmt.Errorf("active.%d: there is no factor %q%s", i, a.Factor, registry.Suggest(a.Factor, names))
		}
		if len(a.Columns) == 0 || len(a.Levels) == 0 {
			return nil, fmt.Errorf("active.%d: want at least one column and one level", i)
		}
		for _, level := range a.Levels {
			if size := in.Labels.Factors[k].Size; level < 0 || level >= size {
				return nil, fmt.Errorf("active.%d: factor %q has no level %d; want 0 to %d", i, a.Factor, level, size-1)
			}
		}
		rules = append(rules, activity{Columns: a.Columns, Factor: k, Levels: a.Levels})
	}
	return rules, nil
}
