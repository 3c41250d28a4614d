package losses

import (
	"errors"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/losses/internal/check"
	"github.com/unravel-ml/unravel/losses/internal/dependence"
	"github.com/unravel-ml/unravel/losses/internal/total"
)

// HSIC returns the Hilbert-Schmidt independence criterion of the rows of x [n, D] and y [n, E]:
//
//	1/n^2 trace(K H L H),  H = 1 - 1/n
//
// for the kernel matrices K and L of the rows of x and y. groups may be nil; otherwise it
// has the shape [n] or [n, 1], and rows with a negative number are skipped.
//
// The default bandwidth of a Gaussian kernel is the lower median of the distances between rows, or 1 if that median is
// 0. Up to 362 rows, the median is over all pairs; larger batches use at most 65536 pairs of nearby rows. The gradient
// includes the derivative of the median.
//
// The result is a scalar, differentiable in arrays with Gaussian kernels (with the median: if a single pair attains
// it). It is at least 0. For independent x and y it is about (1 - k)(1 - l)/n for the mean similarities k and l of
// two rows, or 0.2/n for a normal column each. It tends to 0 only if x and y are independent.
//
// Source: Gretton et al. 2005, definition 2 (with 1/n^2 for 1/(n-1)^2).
func HSIC(x, y, groups *gorgonia.Node, kx, ky Kernel) (*gorgonia.Node, error) {
	convert := func(k Kernel) dependence.Kernel {
		return dependence.Kernel{Kind: dependence.Kind(k.Kind), Columns: k.Columns, Bandwidth: k.Bandwidth}
	}
	return dependence.HSIC(x, y, groups, convert(kx), convert(ky))
}

// Kernel is a similarity between rows of an array.
type Kernel struct {
	Kind      KernelKind
	Columns   []int   // columns to compare; nil: all
	Bandwidth float64 // s; 0: the median distance between rows
}

// KernelKind is the kind of a kernel, a similarity of rows.
type KernelKind uint8

// The kinds of kernels.
const (
	GaussianKernel KernelKind = iota // exp(-|a - b|^2/(2 s^2))
	EqualKernel                      // 1 if a = b, otherwise 0
	CircularKernel                   // Gaussian kernel of chords in a circle of circumference 1; the numbers are turns
)

// HSICLoss is the sum of [HSIC] over pairs of sub-codes, or over pairs of a sub-code and another sub-code's factor.
type HSICLoss struct {
	Weight    Weight          `yaml:"weight" doc:"factor in the total"`
	Codes     factor.SubCodes `yaml:"codes" doc:"code columns of each factor, such as {shape: [0, 1], x: [2]}; none: equal shares, or single columns if factors are unknown"`
	Between   Between         `yaml:"between" doc:"codes: pairs of sub-codes; factors: a sub-code and the other factors"`
	Bandwidth float64         `yaml:"bandwidth" doc:"bandwidth of the codes' Gaussian kernels; 0: the median distance. Kernels of factors use the median"`
	On        On              `yaml:"on" doc:"codes (posterior mean mu) or sample (reparameterised z, as decoded)"`
}

// NewHSIC returns the default settings.
func NewHSIC() *HSICLoss { return &HSICLoss{Weight: Constant(1), Between: betweenCodes, On: OnCodes} }

func (l *HSICLoss) Validate() error   { return notNegative("bandwidth", l.Bandwidth) }
func (l *HSICLoss) Weighting() Weight { return l.Weight }

// Optimum implements [Optimal]: codes are constant.
func (*HSICLoss) Optimum(x *Example) bool {
	x.constantCodes()
	return true
}

func (*HSICLoss) Variants() []Loss {
	factors, wide := NewHSIC(), NewHSIC()
	factors.Between, wide.Bandwidth = betweenFactors, 1.5
	return []Loss{factors, wide}
}

func (l *HSICLoss) Add(in *Input) (*gorgonia.Node, error) {
	z, err := l.On.node(in)
	if err != nil {
		return nil, err
	}
	var blocks []factor.Block
	if l.Between == betweenCodes && in.Labels == nil && len(l.Codes) == 0 {
		blocks = check.Shares(z.Shape()[1], z.Shape()[1])
	} else if blocks, err = subCodes(l.Codes, in); err != nil {
		return nil, err
	}
	var parts gorgonia.Nodes
	if l.Between == betweenFactors {
		parts, err = l.subCodesWithFactors(in, z, blocks)
	} else {
		parts, err = l.betweenSubCodes(z, blocks)
	}
	switch {
	case err != nil:
		return nil, err
	case len(parts) == 0:
		return nil, errors.New("there is one sub-code; want at least two for independence")
	}
	return total.Sum(parts...)
}

func (l *HSICLoss) betweenSubCodes(z *gorgonia.Node, blocks []factor.Block) (gorgonia.Nodes, error) {
	var parts gorgonia.Nodes
	for i, a := range blocks {
		for _, b := range blocks[:i] {
			n, err := HSIC(z, z, nil, l.kernel(b), l.kernel(a))
			if err != nil {
				return nil, err
			}
			parts = append(parts, n)
		}
	}
	return parts, nil
}

// subCodesWithFactors compares every sub-code with every other factor.
func (l *HSICLoss) subCodesWithFactors(in *Input, z *gorgonia.Node, blocks []factor.Block) (gorgonia.Nodes, error) {
	y, known, err := in.Labels.Values(UnitsRange)
	if err != nil {
		return nil, err
	}
	var parts gorgonia.Nodes
	for j, f := range in.Labels.Factors {
		rows, err := graph.SliceColumns(known, j, j+1)
		if err != nil {
			return nil, err
		}
		factorKernel := Kernel{Kind: GaussianKernel, Columns: []int{j}}
		switch f.Kind {
		case factor.Categorical:
			factorKernel.Kind = EqualKernel
		case factor.Circular:
			factorKernel.Kind = CircularKernel
		}
		for _, b := range blocks {
			if b.Factor == j {
				continue
			}
			n, err := HSIC(z, y, rows, l.kernel(b), factorKernel)
			if err != nil {
				return nil, err
			}
			parts = append(parts, n)
		}
	}
	return parts, nil
}

func (l *HSICLoss) kernel(b factor.Block) Kernel {
	return Kernel{Kind: GaussianKernel, Columns: b.Columns, Bandwidth: l.Bandwidth}
}

// Between names, in a config, the pairs that should be independent.
type Between string

// The pairs that can be independent.
const (
	betweenCodes   Between = "codes"   // the sub-codes of different factors
	betweenFactors Between = "factors" // the sub-code of a factor and the other factors
)

func (b *Between) UnmarshalText(text []byte) error {
	return parseName(b, "partners", text, betweenCodes, betweenFactors)
}
