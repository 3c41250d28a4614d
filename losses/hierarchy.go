package losses

import (
	"errors"
	"fmt"
	"slices"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/losses/internal/likelihood"
)

// Assignment returns the squared error between option weights, [batch, K], and one-hot labels, [batch, L]. It is the
// sum over categorical dimensions c of the mean over the batch of
//
//	sum_o (1[label_c = 1 + o] - weight_co)^2
//
// sizes holds the number of options of each dimension, and columns each dimension's column of the labels. Label 0 means
// that the dimension is inactive: the target of all its weights is 0. Label -1 means unknown: the row adds 0, and the
// mean still divides by all rows of the batch. The result is a scalar, differentiable in the weights, and 0 where the
// weights equal the one-hot labels.
//
// Source: Ross and Doshi-Velez 2021, section 5.2 (the loss L_a), as in their code.
func Assignment(weights, labels *gorgonia.Node, sizes, columns []int) (*gorgonia.Node, error) {
	return likelihood.Assignment(weights, labels, sizes, columns)
}

// AssignmentLoss computes [Assignment], the squared error between option weights and one-hot labels. The i-th
// categorical factor in the supervision (or in MIMOSA's assignments) labels the i-th categorical dimension of the
// model's hierarchy. If the hierarchy has no categorical dimensions, which can happen with MIMOSA, the loss is 0, with
// a note.
type AssignmentLoss struct {
	Weight Weight `yaml:"weight" doc:"factor in the total"`
}

// NewAssignment returns COFHAE's settings.
func NewAssignment() *AssignmentLoss { return &AssignmentLoss{Weight: Constant(1000)} }

func (l *AssignmentLoss) Weighting() Weight { return l.Weight }

// Optimum implements [Optimal]: the weight is 1 for the label's option and 0 for all others.
func (*AssignmentLoss) Optimum(x *Example) bool {
	fill(x.Options, 0)
	for row := range len(x.Options) / 2 {
		if l := int(x.Levels[3*row]); l > 0 {
			x.Options[2*row+l-1] = 1
		}
	}
	return true
}

func (l *AssignmentLoss) Add(in *Input) (*gorgonia.Node, error) {
	switch {
	case in.Hierarchy == nil:
		return nil, missing("a hierarchy of codes", "joint-vae", "cofhae")
	case in.Options == nil:
		in.Note(fmt.Sprintf("the loss %s is 0: the hierarchy of the codes has no categorical dimension, and there is nothing to assign", in.Name))
		return zeroLoss(in)
	case in.Labels == nil:
		return nil, errNoLabels
	}
	sizes := in.Hierarchy.Categoricals()
	var columns []int
	for k, f := range in.Labels.Factors {
		assigned := f.Kind == factor.Categorical
		if in.Labels.Assigned != nil {
			assigned = slices.Contains(in.Labels.Assigned, k)
		}
		if !assigned {
			continue
		}
		if dimension := len(columns); dimension < len(sizes) && f.Size != 1+sizes[dimension] {
			return nil, fmt.Errorf("factor %q has %d levels, but categorical dimension %d of the hierarchy has %d options; want a level for each option, and level 0 for inactive",
				f.Name, f.Size, dimension+1, sizes[dimension])
		}
		columns = append(columns, k)
	}
	if len(columns) != len(sizes) {
		return nil, fmt.Errorf("the supervision has labels of %d categorical factors; want one for each of the hierarchy's %d categorical dimensions", len(columns), len(sizes))
	}
	_, labels, err := in.Labels.Values(UnitsRange)
	if err != nil {
		return nil, err
	}
	return Assignment(in.Options, labels, sizes, columns)
}

// zeroLoss returns a constant loss of 0.
func zeroLoss(in *Input) (*gorgonia.Node, error) {
	dt := in.Sample.Dtype()
	value := gorgonia.WithValue(float32(0))
	if dt == tensor.Float64 {
		value = gorgonia.WithValue(0.0)
	}
	zero := gorgonia.NewScalar(in.Sample.Graph(), dt, gorgonia.WithName("losses/"+in.Name+"/nothing"), value)
	return graph.StopGradient(zero)
}

// RegressionLoss is the mean over the batch of the squared distance between a hierarchical model's masked values and
// the true values of the continuous dimensions. Each dimension is divided by the largest absolute value among its
// levels. This is the variant H + A + Z of Ross and Doshi-Velez 2021, figure 5. The hierarchy must be the true hierarchy
// of the data set. A dimension without a label adds 0, and the mean still divides by all rows of the batch.
type RegressionLoss struct {
	Weight Weight `yaml:"weight" doc:"factor in the total"`
}

// NewRegression returns the default settings.
func NewRegression() *RegressionLoss { return &RegressionLoss{Weight: Constant(1000)} }

func (l *RegressionLoss) Weighting() Weight { return l.Weight }

// Optimum implements [Optimal]: codes equal the true values.
func (*RegressionLoss) Optimum(x *Example) bool {
	copy(x.Sample, x.Exact)
	return true
}

func (l *RegressionLoss) Add(in *Input) (*gorgonia.Node, error) {
	switch {
	case in.Hierarchy == nil:
		return nil, missing("a hierarchy of codes", "joint-vae", "cofhae")
	case in.Labels == nil:
		return nil, errNoLabels
	case in.Labels.Exact == nil:
		return nil, errors.New("it needs exact values, which this data set does not have; want a hierarchical data set, such as chopsticks")
	}
	values, known, err := in.Labels.Exact()
	if err != nil {
		return nil, err
	}
	codeColumns, err := columnsOf("samples of the codes", in.Sample)
	if err != nil {
		return nil, err
	}
	valueColumns, err := columnsOf("exact values", values)
	if err != nil {
		return nil, err
	}
	if codeColumns != valueColumns {
		return nil, fmt.Errorf("the codes have %d continuous dimensions, the data %d; want the hierarchy of the data set",
			codeColumns, valueColumns)
	}
	sample, err := gorgonia.HadamardProd(in.Sample, known)
	if err != nil {
		return nil, err
	}
	return GaussianReconstruction(values, sample, Gaussian{Linear: true})
}
