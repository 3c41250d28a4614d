package informative

import (
	"fmt"
	"math"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/losses/internal/check"
)

// Separation adds the node that losses.Separation documents.
func Separation(a factor.Aggregate, margin float64, z, different *gorgonia.Node, blocks ...factor.Block) (*gorgonia.Node, error) {
	blocks, err := check.OrEven(blocks, z, different)
	if err != nil {
		return nil, fmt.Errorf("separation: %w", err)
	}
	return graph.Apply(graph.Spec{
		Name: "separation",
		Key:  graph.Key(a, margin, blocks),
		Shape: func(in []tensor.Shape) (tensor.Shape, error) {
			if !a.Known() || !(margin > 0) || math.IsInf(margin, 0) {
				return nil, graph.Wanted("a known aggregate and a positive margin", fmt.Sprintf("%v and %v", a, margin))
			}
			return tensor.ScalarShape(), check.Blocks(blocks, in)
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
	starts []int     // by block: index of its first pair; at the end the number of pairs
	hinges []float64
	slopes []float64
}

func newSeparation[T graph.Float](a factor.Aggregate, margin float64, blocks []factor.Block) func([]tensor.Shape) *separation[T] {
	return func(in []tensor.Shape) *separation[T] {
		maxPairs := in[0][0] * len(blocks)
		s := &separation[T]{aggregate: a, margin: margin, blocks: blocks, columns: in[0][1], factors: check.Factors(in[1])}
		s.pairs, s.starts = make([]rowPair, 0, maxPairs), make([]int, 0, len(blocks)+1)
		s.hinges, s.slopes = make([]float64, 0, maxPairs), make([]float64, maxPairs)
		return s
	}
}

func (s *separation[T]) Forward(in [][]T, out []T) {
	z, different := in[0], in[1]
	s.pairs, s.starts, s.hinges = s.pairs[:0], s.starts[:0], s.hinges[:0]
	rows, sum := len(z)/s.columns, 0.0
	partner := func(row, factor int) int {
		value := float64(different[row*s.factors+factor])
		if !(value >= 0 && value < float64(rows)) || int(value) == row {
			return -1
		}
		return int(value)
	}
	for _, b := range s.blocks {
		start := len(s.pairs)
		s.starts = append(s.starts, start)
		for r := range rows {
			other := partner(r, b.Factor)
			if other < 0 || other < r && partner(other, b.Factor) == r {
				continue
			}
			square := 0.0
			for _, c := range b.Columns {
				d := float64(z[r*s.columns+c]) - float64(z[other*s.columns+c])
				square += d * d
			}
			p := rowPair{r, other, math.Sqrt(square)}
			s.pairs, s.hinges = append(s.pairs, p), append(s.hinges, max(s.margin-p.distance, 0))
		}
		sum += s.aggregate.Of(s.hinges[start:])
	}
	s.starts = append(s.starts, len(s.pairs))
	out[0] = T(sum)
}

func (s *separation[T]) Backward(in [][]T, _, dout []T, din [][]T) {
	clear(din[0])
	for k, b := range s.blocks {
		start, end := s.starts[k], s.starts[k+1]
		if start == end {
			continue
		}
		s.aggregate.Slope(s.hinges[start:end], s.slopes[start:end])
		for n := start; n < end; n++ {
			p := s.pairs[n]
			if s.hinges[n] == 0 || p.distance == 0 || s.slopes[n] == 0 {
				continue
			}
			scale := -float64(dout[0]) * s.slopes[n] / p.distance
			for _, c := range b.Columns {
				a, b := p.a*s.columns+c, p.b*s.columns+c
				d := T(scale * (float64(in[0][a]) - float64(in[0][b])))
				din[0][a] += d
				din[0][b] -= d
			}
		}
	}
}

// rowPair is a pair of rows that differ, with their distance.
type rowPair struct {
	a, b     int
	distance float64
}
