package losses

import (
	"errors"
	"fmt"
	"math"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/config"
	"github.com/unravel-ml/unravel/factor"
	"github.com/unravel-ml/unravel/graph"
)

// Kernel says how similar rows of an array are to [HSIC]: GaussianKernel with a
// bandwidth s, exp(-|a - b|^2/(2 s^2)), EqualKernel, 1 for equal rows and 0 for others,
// or CircularKernel, Gaussian on the circle for numbers of turns. Without columns, all
// columns count.
type Kernel = graph.Kernel

// The similarities of rows.
const (
	GaussianKernel = graph.GaussianKernel
	EqualKernel    = graph.EqualKernel
	CircularKernel = graph.CircularKernel
)

// HSIC returns the Hilbert-Schmidt independence criterion of the rows of x [n, D]
// and y [n, E],
//
//	1/n^2 trace(K H L H),  H = 1 - 1/n
//
// for the matrices K and L of similarities of rows of x and of y. groups may be nil;
// of shape [n] or [n, 1], rows with a negative number take no part.
//
// A Gaussian kernel without a bandwidth takes the median distance of pairs of rows,
// the lower of two, or 1 if that is 0: of all pairs of up to 362 rows, of 65536 or
// less pairs of rows that follow each other closely of more. The gradient includes
// that of the median.
//
// The result is a scalar, differentiable in the arrays with Gaussian kernels (with
// the median: where one pair has it). It is at least 0; for infinitely many rows it is
// 0 exactly where x and y are independent, for n rows it is about 1/n then.
//
// Source: Gretton et al. 2005, definition 2 (with 1/n^2 for 1/(n-1)^2).
func HSIC(x, y, groups *gorgonia.Node, kx, ky Kernel) (*gorgonia.Node, error) {
	return graph.HSIC(x, y, groups, kx, ky)
}

// Between says in a config what should be independent.
type Between string

// What can be independent.
const (
	BetweenCodes   Between = "codes"   // the sub-codes of different factors
	BetweenFactors Between = "factors" // the sub-code of a factor and the other factors
)

// UnmarshalText accepts a known name.
func (b *Between) UnmarshalText(text []byte) error {
	if *b = Between(text); *b != BetweenCodes && *b != BetweenFactors {
		return fmt.Errorf("unknown partners %q; known: codes, factors", text)
	}
	return nil
}

// HSICLoss is the sum of [HSIC] over pairs of sub-codes, or over pairs of a sub-code
// and a factor that is not its own.
type HSICLoss struct {
	Weight    float64    `yaml:"weight" doc:"factor in the total"`
	Codes     CodeBlocks `yaml:"codes" doc:"code columns of each factor, such as {shape: [0, 1], x: [2]}; none: equal shares, or single columns where factors are unknown"`
	Between   Between    `yaml:"between" doc:"codes: pairs of sub-codes; factors: a sub-code and the other factors"`
	Bandwidth float64    `yaml:"bandwidth" doc:"of the codes' Gaussian kernels; 0: the median distance. That of factors is the median"`
	On        On         `yaml:"on" doc:"codes, the posteriors' locations, or sample, the draws that are decoded"`
}

// NewHSIC returns the default settings.
func NewHSIC() *HSICLoss { return &HSICLoss{Weight: 1, Between: BetweenCodes, On: OnCodes} }

// Validate checks the settings.
func (l *HSICLoss) Validate() error {
	if !(l.Bandwidth >= 0) || math.IsInf(l.Bandwidth, 0) {
		return config.Invalid("bandwidth", "want 0 or more, got %v", l.Bandwidth)
	}
	return validWeight(l.Weight)
}

// Weighting implements [Loss].
func (l *HSICLoss) Weighting() float64 { return l.Weight }

// Add implements [Loss].
func (l *HSICLoss) Add(o *Outputs) (*gorgonia.Node, error) {
	z, err := l.On.node(o)
	if err != nil {
		return nil, err
	}
	var blocks []Block
	if l.Between == BetweenCodes && o.Labels == nil && len(l.Codes) == 0 {
		blocks = shareOut(z.Shape()[1], z.Shape()[1])
	} else if blocks, err = l.Codes.blocks(o); err != nil {
		return nil, err
	}
	var parts gorgonia.Nodes
	if l.Between == BetweenFactors {
		parts, err = l.withFactors(o, z, blocks)
	} else {
		parts, err = l.withCodes(z, blocks)
	}
	switch {
	case err != nil:
		return nil, err
	case len(parts) == 0:
		return nil, errors.New("there is one sub-code, and nothing that it should be independent of")
	}
	ones := make([]float64, len(parts))
	for i := range ones {
		ones[i] = 1
	}
	return graph.WeightedSum(ones, parts...)
}

// withCodes compares every two sub-codes.
func (l *HSICLoss) withCodes(z *gorgonia.Node, blocks []Block) (gorgonia.Nodes, error) {
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

// withFactors compares every sub-code with every other factor.
func (l *HSICLoss) withFactors(o *Outputs, z *gorgonia.Node, blocks []Block) (gorgonia.Nodes, error) {
	y, known, err := o.Labels.Values(UnitsRange)
	if err != nil {
		return nil, err
	}
	var parts gorgonia.Nodes
	for j, f := range o.Labels.Factors {
		rows, err := graph.SliceColumns(known, j, j+1)
		if err != nil {
			return nil, err
		}
		of := Kernel{Kind: GaussianKernel, Columns: []int{j}}
		switch f.Kind {
		case factor.Categorical:
			of.Kind = EqualKernel
		case factor.Circular:
			of.Kind = CircularKernel
		}
		for _, b := range blocks {
			if b.Factor == j {
				continue
			}
			n, err := HSIC(z, y, rows, l.kernel(b), of)
			if err != nil {
				return nil, err
			}
			parts = append(parts, n)
		}
	}
	return parts, nil
}

func (l *HSICLoss) kernel(b Block) Kernel {
	return Kernel{Kind: GaussianKernel, Columns: b.Columns, Bandwidth: l.Bandwidth}
}
