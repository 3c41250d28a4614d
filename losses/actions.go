package losses

import (
	"errors"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/losses/internal/symmetry"
)

// RotationWalk returns the codes of episodes of m images with actions that rotate R^n. Episode e starts from z_e:
//
//	y_e,0 = g_e,0 z_e,  y_e,t = g_e,t y_e,t-1,  t = 1 ... m-1,
//	g_a = R_12(angle_a,1) R_13(angle_a,2) ... R_n-1,n(angle_a,n(n-1)/2),
//
// where R_ij is the identity except [i,i] = [j,j] = cos, [i,j] = sin, [j,i] = -sin, and the pairs i < j are in
// lexicographic order. The rotations preserve norms.
//
// z is [episodes, n] with n of 2 or more. angles, in radians, are [actions, n(n-1)/2]. actions, [episodes*m, actions],
// is one-hot: it marks the action that leads to each image. A row of zeros, such as the first row of an episode, means
// no action. The result is [episodes*m, n], differentiable in z and angles. A step takes time quadratic in n, because
// the matrix is never formed.
//
// Source: Quessard et al. 2020, equation 6.
func RotationWalk(z, angles, actions *gorgonia.Node, m int) (*gorgonia.Node, error) {
	return symmetry.RotationWalk(z, angles, actions, m)
}

// Planes returns n(n-1)/2: the coordinate planes of R^n, and the angles of a rotation in [RotationWalk].
func Planes(n int) int { return symmetry.Planes(n) }

// Entanglement returns |L - target|. L is the mean over actions of the squared angles, excluding the largest,
//
//	L = 1/A sum_a ( sum_p angle_a,p^2 - max_p angle_a,p^2 ),
//
// which is 0 if every action rotates only one coordinate plane. angles, in radians, is [actions, planes], as in
// [RotationWalk]; the result is a scalar in squared radians. It is differentiable except at ties of the largest angle,
// where the first one counts as the largest, and at L = target, where the gradient is 0.
//
// Source: Quessard et al. 2020, equation 7; their public code gives the target.
func Entanglement(angles *gorgonia.Node, target float64) (*gorgonia.Node, error) {
	return symmetry.Entanglement(angles, target)
}

// EntanglementLoss computes [Entanglement] for a model's actions.
type EntanglementLoss struct {
	Weight Weight  `yaml:"weight" doc:"factor in the total: lambda"`
	Target float64 `yaml:"target" doc:"value at which the loss is 0, squared radians"`
}

// NewEntanglement returns the default settings.
func NewEntanglement() *EntanglementLoss { return &EntanglementLoss{Weight: Constant(0.01)} }

func (l *EntanglementLoss) Validate() error   { return notNegative("target", l.Target) }
func (l *EntanglementLoss) Weighting() Weight { return l.Weight }

// Optimum implements [Optimal]: only one angle of each action is nonzero.
func (l *EntanglementLoss) Optimum(x *Example) bool {
	fill(x.ActionAngles, 0)
	x.ActionAngles[1] = 2
	return l.Target == 0
}

func (*EntanglementLoss) Variants() []Loss {
	return []Loss{&EntanglementLoss{Weight: Constant(1), Target: 100}}
}

func (l *EntanglementLoss) Add(in *Input) (*gorgonia.Node, error) {
	if in.ActionAngles == nil {
		return nil, missing("actions that rotate the codes", "quessard")
	}
	return Entanglement(in.ActionAngles, l.Target)
}

// PredictByBlocks predicts codes from the previous images by linear actions: row i is A_a z_i-1 for the action a that
// leads to image i. A_a is the identity except for a 2 x 2 block M_a in columns 2b and 2b+1, where b = columns[a]. A
// row without an action is 0.
//
// z is [rows, d]; blocks are [actions, 4], each in row-major order. actions, [rows, actions], has a 1 for the action
// that leads from the previous row's image to this row's image. A row without an action is all zeros, as for the first
// image of an episode. The result is [rows, d], differentiable in z and blocks.
//
// Source: Caselles-Dupré et al. 2019, section 4 (ForwardVAE).
func PredictByBlocks(z, blocks, actions *gorgonia.Node, columns []int) (*gorgonia.Node, error) {
	return symmetry.PredictByBlocks(z, blocks, actions, columns)
}

// Prediction returns the mean squared difference between codes and the predictions of [PredictByBlocks]. The mean runs
// over columns and over rows with an action; it is 0 if no row has an action. predicted and codes are [rows, d],
// actions [rows, actions]; the result is a scalar, differentiable in predicted and codes.
//
// Source: Caselles-Dupré et al. 2019, section 4.
func Prediction(predicted, codes, actions *gorgonia.Node) (*gorgonia.Node, error) {
	return symmetry.Prediction(predicted, codes, actions)
}

// PredictionLoss computes [Prediction] for a model's codes.
type PredictionLoss struct {
	Weight Weight `yaml:"weight" doc:"factor in the total"`
}

// NewPrediction returns the default settings.
func NewPrediction() *PredictionLoss { return &PredictionLoss{Weight: Constant(1)} }

func (l *PredictionLoss) Weighting() Weight { return l.Weight }
func (*PredictionLoss) Supervised()         {}

// Optimum implements [Optimal]: it sets the codes to their predictions.
func (l *PredictionLoss) Optimum(x *Example) bool {
	copy(x.Predicted, x.Codes)
	return true
}

func (l *PredictionLoss) Add(in *Input) (*gorgonia.Node, error) {
	if in.Predicted == nil {
		return nil, missing("codes predicted by actions", "forward-vae")
	}
	if in.Actions == nil {
		return nil, errors.New("it needs the actions between images; want the supervision walks")
	}
	actions, err := in.Actions()
	if err != nil {
		return nil, err
	}
	return Prediction(in.Predicted, in.Codes, actions)
}
