package metrics

import (
	"context"
	"math"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/models/hierarchy"
)

// DescriptionLength is the mean length, in bits, of the description of a code by the hierarchy of the codes (Ross and
// Doshi-Velez 2021, section 8.1), 0 or more. Each categorical dimension on the code's path costs log2 K for its choice
// among K options; each active continuous dimension costs Bits. Of two models that reconstruct images equally well, the
// model with fewer active dimensions describes its codes in fewer bits. It uses no factors, and no values of continuous
// columns.
//
// Input.Hierarchy names the code columns, laid out for metrics (see [hierarchy.Hierarchy.Row]).
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

// Compute returns four parts. options and values are the bits of a code that each takes. flat is the bits of a code as
// a flat vector as long as the longest code. tree is the bits of the hierarchy, once; the value excludes them.
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
