package losses

import (
	"errors"
	"fmt"
	"slices"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph"
)

// ConditionalTotalCorrelation is [TotalCorrelation] for codes with inactive columns: the
// mask active, [n, D], is 1 where a column of a row is active and 0 elsewhere.
//
// Only the active columns of row j enter. The rows with the same active columns estimate q(z_j). The rows with an
// active column d estimate q(z_jd). With m such rows, m and N m/n replace n and N in the weights. A row with fewer than
// two active columns contributes 0. The result is a scalar, in nats, differentiable in z, means and log variances.
// Where all columns are active it equals [TotalCorrelation].
//
// Source: Ross and Doshi-Velez 2021, section 5.2, with a discriminator of codes and
// permuted codes; the closed form is ours.
func ConditionalTotalCorrelation(z, mean, logVariance, active *gorgonia.Node, e TCEstimator, dataSize int) (*gorgonia.Node, error) {
	if active == nil {
		return nil, fmt.Errorf("conditional tc: want active columns")
	}
	return minibatchTC(z, mean, logVariance, active, e, dataSize)
}

// ActiveCodes is a rule: its code columns are active in rows where a factor has one of the given levels. They are
// inactive in all other rows, including rows where the factor is unknown.
type ActiveCodes struct {
	Columns []int  `yaml:"columns" doc:"columns of the codes"`
	Factor  string `yaml:"factor" doc:"name of the factor"`
	Levels  []int  `yaml:"levels" doc:"levels of the factor at which the columns are active"`
}

// ConditionalTCLoss is [ConditionalTotalCorrelation] of a model's samples, or its
// adversarial estimate. Active columns come from the masks of a hierarchical model or from
// levels of known factors.
type ConditionalTCLoss struct {
	TCLoss
	Active []ActiveCodes `yaml:"active" doc:"factor levels at which columns are active; columns not listed are always active. If absent, the model's masks"`
}

// NewConditionalTC returns the default settings; the discriminator has COFHAE's (Ross and Doshi-Velez 2021).
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
	// Inactive columns are hidden from the discriminator.
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

// activity is [ActiveCodes] with the factor's column. A column with several rules is active where all of them hold.
type activity struct {
	Columns []int
	Factor  int   // a column of labels
	Levels  []int // at which the columns are active
}

// maskOf returns the mask [rows, width] of active columns, 1 or 0, from the levels of factors [rows, K]. A negative
// level is unknown and satisfies no rule. It has no gradient.
func maskOf(labels *gorgonia.Node, width int, rules []activity) (*gorgonia.Node, error) {
	return graph.Apply(graph.Spec{
		Name: "active mask",
		Key:  graph.Key(width, rules),
		Shape: func(in []tensor.Shape) (tensor.Shape, error) {
			rows, factors, err := graph.Matrix("labels", in[0])
			if err != nil {
				return nil, err
			}
			for _, r := range rules {
				if r.Factor < 0 || r.Factor >= factors {
					return nil, graph.Wanted(fmt.Sprintf("a factor below %d", factors), r.Factor)
				}
				for _, c := range r.Columns {
					if c < 0 || c >= width {
						return nil, graph.Wanted(fmt.Sprintf("columns below %d", width), c)
					}
				}
			}
			return tensor.Shape{rows, width}, nil
		},
		New: graph.Bodies(
			func(in []tensor.Shape) graph.Body[float32] { return activeMask[float32]{width, in[0][1], rules} },
			func(in []tensor.Shape) graph.Body[float64] { return activeMask[float64]{width, in[0][1], rules} }),
		Diff: []bool{false},
	}, labels)
}

type activeMask[T graph.Float] struct {
	width, factors int
	rules          []activity
}

func (f activeMask[T]) Forward(in [][]T, out []T) {
	for i := range out {
		out[i] = 1
	}
	for row := range len(out) / f.width {
		for _, r := range f.rules {
			level := in[0][row*f.factors+r.Factor]
			if level >= 0 && slices.Contains(r.Levels, int(level)) {
				continue
			}
			for _, c := range r.Columns {
				out[row*f.width+c] = 0
			}
		}
	}
}

func (activeMask[T]) Backward(_ [][]T, _, _ []T, _ [][]T) {}
