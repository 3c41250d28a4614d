package losses

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph"
)

// Separation penalises sub-codes that are close where a factor is known to differ:
//
//	sum over blocks i of the aggregate, over pairs of rows r, s known to differ in factor i, of
//	max(margin - |z_i(r) - z_i(s)|, 0)
//
// It is [Contraction] when only the answer different is known. The margin stands for the unknown d_Y, as with the
// discrete distance. |.| is the Euclidean norm of the block's columns.
//
// z has the shape [n, d]. different has the shape [n, K], or [n] for one factor. It holds the row that differs in a
// factor from this one; a number that names no other row says that no such row is known. A pair counts once if both
// rows name each other. A factor without pairs adds 0. Blocks are as in [Modularity].
//
// The result is a scalar, at least 0. It is 0 if all these pairs are at least the margin apart. It is differentiable in
// z except for a pair at the margin or with equal sub-codes; the gradient of such a pair is 0. The maximum takes the
// gradient of the first of equal pairs.
//
// Source: Zhang and Sugiyama 2024, definition 9, equation 27; the hinge of Hadsell et al. 2006.
func Separation(a factor.Aggregate, margin float64, z, different *gorgonia.Node, blocks ...factor.Block) (*gorgonia.Node, error) {
	if len(blocks) == 0 {
		var err error
		if blocks, err = evenBlocks(z, different); err != nil {
			return nil, fmt.Errorf("separation: %w", err)
		}
	}
	blocks = slices.Clone(blocks)
	for i, b := range blocks {
		blocks[i].Columns = slices.Clone(b.Columns)
	}
	return graph.Apply(graph.Spec{
		Name: "separation",
		Key:  graph.Key(a, margin, blocks),
		Shape: func(in []tensor.Shape) (tensor.Shape, error) {
			if !a.Known() || !(margin > 0) || math.IsInf(margin, 0) {
				return nil, graph.Wanted("a known aggregate and a positive margin", fmt.Sprintf("%v and %v", a, margin))
			}
			return tensor.ScalarShape(), checkBlocks(blocks, in)
		},
		New:  graph.Bodies(newSeparation[float32](a, margin, blocks), newSeparation[float64](a, margin, blocks)),
		Diff: []bool{true, false},
	}, z, different)
}

// separation is the operation of [Separation].
type separation[T graph.Float] struct {
	aggregate        factor.Aggregate
	margin           float64
	blocks           []factor.Block
	columns, factors int

	pairs  []rowPair // of all blocks
	starts []int     // by block: its first pair; at the end their number
	hinges []float64
	slopes []float64
}

// rowPair is a pair of rows that differ, and their distance.
type rowPair struct {
	a, b     int
	distance float64
}

func newSeparation[T graph.Float](a factor.Aggregate, margin float64, blocks []factor.Block) func([]tensor.Shape) *separation[T] {
	return func(in []tensor.Shape) *separation[T] {
		most := in[0][0] * len(blocks)
		return &separation[T]{aggregate: a, margin: margin, blocks: blocks, columns: in[0][1], factors: factorsOf(in[1]),
			pairs: make([]rowPair, 0, most), starts: make([]int, 0, len(blocks)+1), hinges: make([]float64, 0, most), slopes: make([]float64, most)}
	}
}

func (s *separation[T]) Forward(in [][]T, out []T) {
	z, different := in[0], in[1]
	s.pairs, s.starts, s.hinges = s.pairs[:0], s.starts[:0], s.hinges[:0]
	rows, sum := len(z)/s.columns, 0.0
	partner := func(row, factor int) int {
		other := float64(different[row*s.factors+factor])
		if !(other >= 0 && other < float64(rows)) || int(other) == row {
			return -1
		}
		return int(other)
	}
	for _, b := range s.blocks {
		first := len(s.pairs)
		s.starts = append(s.starts, first)
		for r := range rows {
			o := partner(r, b.Factor)
			if o < 0 || o < r && partner(o, b.Factor) == r {
				continue
			}
			square := 0.0
			for _, c := range b.Columns {
				d := float64(z[r*s.columns+c]) - float64(z[o*s.columns+c])
				square += d * d
			}
			p := rowPair{r, o, math.Sqrt(square)}
			s.pairs, s.hinges = append(s.pairs, p), append(s.hinges, hinge(s.margin-p.distance))
		}
		sum += s.aggregate.Of(s.hinges[first:])
	}
	s.starts = append(s.starts, len(s.pairs))
	out[0] = T(sum)
}

// hinge is max(x, 0), and not a number where x is not.
func hinge(x float64) float64 {
	if x < 0 {
		return 0
	}
	return x
}

func (s *separation[T]) Backward(in [][]T, _, dout []T, din [][]T) {
	clear(din[0])
	for k, b := range s.blocks {
		from, to := s.starts[k], s.starts[k+1]
		if from == to {
			continue
		}
		s.aggregate.Slope(s.hinges[from:to], s.slopes[from:to])
		for n := from; n < to; n++ {
			p := s.pairs[n]
			if s.hinges[n] == 0 || p.distance == 0 || s.slopes[n] == 0 {
				continue
			}
			scale := -float64(dout[0]) * s.slopes[n] / p.distance
			for _, c := range b.Columns {
				at, other := p.a*s.columns+c, p.b*s.columns+c
				d := T(scale * (float64(in[0][at]) - float64(in[0][other])))
				din[0][at] += d
				din[0][other] -= d
			}
		}
	}
}

// SeparationLoss is [Separation] of a model's codes, for pairs of images that are known to differ.
type SeparationLoss struct {
	Weight    Weight           `yaml:"weight" doc:"factor in the total"`
	Margin    float64          `yaml:"margin" doc:"distance required between sub-codes of images that differ, in units of the codes"`
	Aggregate factor.Aggregate `yaml:"aggregate" doc:"aggregate over the pairs of a factor: mean, max, sum or mean-square"`
	Codes     factor.SubCodes  `yaml:"codes" doc:"code columns of each factor, such as {shape: [0, 1], x: [2]}; none: equal shares"`
	On        On               `yaml:"on" doc:"codes (posterior mean mu) or sample (reparameterised z, as decoded)"`
}

// NewSeparation returns the default settings.
func NewSeparation() *SeparationLoss {
	return &SeparationLoss{Weight: Constant(1), Margin: 1, Aggregate: factor.Mean, On: OnCodes}
}

// Validate checks the settings.
func (l *SeparationLoss) Validate() error {
	if !(l.Margin > 0 && l.Margin <= 1e6) {
		return config.Invalid("margin", "want more than 0 and at most 1e6, got %v", l.Margin)
	}
	return nil
}

// Weighting implements [Loss].
func (l *SeparationLoss) Weighting() Weight { return l.Weight }

// Optimum implements [Optimal]: codes are far apart.
func (l *SeparationLoss) Optimum(x *Example) bool {
	for i := range x.Codes {
		x.Codes[i] = 10 * l.Margin * float64(i)
	}
	copy(x.Sample, x.Codes)
	return true
}

// Variants implements [Varied].
func (*SeparationLoss) Variants() []Loss {
	square, most := NewSeparation(), NewSeparation()
	square.Aggregate, square.Margin, square.On = factor.MeanSquare, 2.5, OnSample
	most.Aggregate, most.Codes = factor.Max, factor.SubCodes{"size": {4, 0, 1}, "angle": {2}}
	return []Loss{square, most}
}

// Add implements [Loss].
func (l *SeparationLoss) Add(in *Input) (*gorgonia.Node, error) {
	blocks, err := subCodes(l.Codes, in)
	if err != nil {
		return nil, err
	}
	z, err := l.On.node(in)
	if err != nil {
		return nil, err
	}
	if in.Labels.Different == nil {
		return nil, errors.New("it needs pairs of images known to differ; want a supervision with such pairs, such as {similarity: {different: 0.5}} or {answers: {file: pairs.csv}}")
	}
	different, err := in.Labels.Different()
	if err != nil {
		return nil, err
	}
	return Separation(l.Aggregate, l.Margin, z, different, blocks...)
}
