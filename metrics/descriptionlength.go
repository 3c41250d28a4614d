package metrics

import (
	"context"
	"math"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/models/hierarchy"
)

// DescriptionLength is the mean length of the description of a code by the hierarchy of the codes, in bits (Ross and Doshi-Velez
// 2021, section 8.1), 0 or more: log2 K for the option of each categorical dimension on the code's path, of K options, and Bits for each of
// its active continuous dimensions. Of two models that reconstruct images equally well, the one whose codes have fewer active dimensions
// describes them in fewer bits. It uses no factors, and no values of continuous columns.
//
// The code columns are those of Input.Hierarchy, laid out for metrics (see [hierarchy.Hierarchy.Row]).
type DescriptionLength struct {
	Bits float64 `yaml:"bits" doc:"bits of a number"`
}

// The longest number.
const maxNumberBits = 1024

// Needs returns NoLevels.
func (*DescriptionLength) Needs() Needs { return NoLevels }

// Better returns LowerIsBetter.
func (*DescriptionLength) Better() Direction { return LowerIsBetter }

// Range implements Bounded.
func (*DescriptionLength) Range() (least, most float64) { return 0, math.Inf(1) }

// Validate checks the settings.
func (m *DescriptionLength) Validate() error {
	if !(m.Bits > 0 && m.Bits <= maxNumberBits) {
		return config.Invalid("bits", "%v is out of range; want more than 0 and at most %d", m.Bits, maxNumberBits)
	}
	return nil
}

// Suits implements Selective.
func (*DescriptionLength) Suits(in *Input) error { return fits(in.Hierarchy, "code", in.Codes.Cols) }

// Compute returns the parts options and values, the bits of a code that each takes; flat, the bits of a code as a flat vector that is as
// long as the longest code; and tree, the bits of the hierarchy, once, which the value leaves out.
func (m *DescriptionLength) Compute(ctx context.Context, in *Input) (Result, error) {
	if err := ready(ctx, m, in); err != nil {
		return Result{}, err
	}
	if err := in.optionsFit(); err != nil {
		return Result{}, err
	}
	d := in.Hierarchy.Describe(in.Codes.Rows, in.Codes.Cols, m.Bits, func(code int, choice []int) bool {
		for c := range choice {
			choice[c] = int(in.Codes.Row(code)[c]) - 1
		}
		return true
	})
	n := float64(d.Codes)
	return Result{Value: d.PerCode(), Parts: []Part{
		{Name: "options", Values: []float64{d.Options / n}}, {Name: "values", Values: []float64{d.Values / n}},
		{Name: "flat", Values: []float64{d.FlatPerCode()}}, {Name: "tree", Values: []float64{d.Tree}},
	}}, nil
}

// newDescriptionLength returns the metric with the numbers of the paper.
func newDescriptionLength() *DescriptionLength { return &DescriptionLength{Bits: hierarchy.FloatBits} }
