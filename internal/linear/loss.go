package linear

import (
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"

	"github.com/unravel-ml/unravel/internal/kernel"
	"github.com/unravel-ml/unravel/internal/parallel"
)

// logisticLoss is the objective of a logistic regression on uncorrelated inputs. The weights are in the order of the
// outputs. Intercepts come last.
type logisticLoss struct {
	in        *Inputs
	outputs   int
	c         float64
	labelSums []float64 // by output: sum of the rows with its label
	metric    []block   // blocks of the second derivatives: one per output, or one for all outputs
	units     []float64 // with many columns: scale factors of the derivatives in gradientNorm
	parts     []lossPart
	free      chan *lossScratch
}

// lossPart is the sum over a part of the rows. The parts are added in order.
type lossPart struct {
	value, magnitude float64
	slope            []float64
}

// lossScratch is the scratch memory of one goroutine.
type lossScratch struct {
	linear              *kernel.Linear
	tiles, slopes       []float32
	maximum, sum, scale []float32 // by lane
	ones, zeros         []float32 // by lane, and by output
}

// Limits of the parts: the number of parts, and the number of blocks in memory at a time.
const (
	lossParts  = 32
	blockBatch = 4
)

func newLogisticLoss(in *Inputs, classes []int, outputs int, labels []int) *logisticLoss {
	f := &logisticLoss{in: in, outputs: outputs}
	width := in.rows.Columns
	f.labelSums = make([]float64, outputs*width)
	index := make(map[int]int, len(classes))
	for k, label := range classes {
		index[label] = k
	}
	for i, label := range labels {
		k := index[label]
		if outputs == 1 {
			if k--; k < 0 { // the first class has logit 0
				continue
			}
		}
		for c, v := range in.rows.Row(i) {
			f.labelSums[k*width+c] += float64(v)
		}
	}
	f.parts = make([]lossPart, min(lossParts, (in.rows.Blocks()+blockBatch-1)/blockBatch))
	for i := range f.parts {
		f.parts[i].slope = make([]float64, outputs*width)
	}
	f.free = make(chan *lossScratch, lossParts)
	return f
}

// scratch returns unused or new scratch memory.
func (f *logisticLoss) scratch() *lossScratch {
	select {
	case s := <-f.free:
		return s
	default:
	}
	s := &lossScratch{linear: kernel.NewLinear(f.in.rows, f.outputs)}
	size := s.linear.Outputs * kernel.PairLanes
	s.tiles, s.slopes = make([]float32, blockBatch*size), make([]float32, s.linear.Outputs*f.in.rows.Stride)
	s.maximum, s.sum, s.scale = make([]float32, kernel.PairLanes), make([]float32, kernel.PairLanes),
		make([]float32, kernel.PairLanes)
	s.ones, s.zeros = slices.Repeat([]float32{1}, kernel.PairLanes), make([]float32, s.linear.Outputs)
	return s
}

// toFloat32 returns weights in single precision, padded to a complete tile.
func (f *logisticLoss) toFloat32(w []float64) []float32 {
	s := make([]float32, (f.outputs+7)/8*8*f.in.rows.Columns)
	for i, v := range w {
		s[i] = float32(v)
	}
	return s
}

// evaluate returns the objective at w and the size of its rounding errors, and sets the gradient.
func (f *logisticLoss) evaluate(ctx context.Context, w, gradient []float64) (value, noise float64) {
	w32 := f.toFloat32(w)
	parallel.For(len(f.parts), func(_, part int) {
		if ctx.Err() != nil {
			return
		}
		s := f.scratch()
		f.addRows(part, w32, s)
		f.free <- s
	})
	for i, v := range f.labelSums {
		gradient[i] = -v
		value -= v * float64(w32[i])
	}
	for i := range f.parts {
		p := &f.parts[i]
		value += p.value
		noise += p.magnitude
		for j, v := range p.slope {
			gradient[j] += v
		}
	}
	value *= f.c
	for i := range gradient {
		gradient[i] *= f.c
	}
	return value + f.addPenalty(w, gradient), 1e-7 * f.c * noise
}

// addPenalty adds the gradient of the penalty, and returns the penalty.
func (f *logisticLoss) addPenalty(w, gradient []float64) (value float64) {
	r, width := f.in.rank, f.in.rows.Columns
	if r == 0 {
		return 0
	}
	if f.in.diagonal != nil {
		for j := range f.outputs {
			for a, d := range f.in.diagonal {
				v := w[j*width+a]
				gradient[j*width+a] += d * v
				value += d * v * v / 2
			}
		}
		return value
	}
	q := f.in.penalty.RawSymmetric()
	x := blas64.General{Rows: f.outputs, Cols: r, Stride: width, Data: w}
	g := blas64.General{Rows: f.outputs, Cols: r, Stride: r, Data: make([]float64, f.outputs*r)}
	blas64.Symm(blas.Right, 1, q, x, 0, g)
	for j := range f.outputs {
		for a, v := range g.Data[j*r : (j+1)*r] {
			gradient[j*width+a] += v
			value += w[j*width+a] * v / 2
		}
	}
	return value
}

// addRows computes, for a part of the rows, the sum of log-sum-exp of the logits and its gradient.
func (f *logisticLoss) addRows(part int, w []float32, s *lossScratch) {
	p := &f.parts[part]
	p.value, p.magnitude = 0, 0
	clear(p.slope)
	blocks := f.in.rows.Blocks()
	from, to := part*blocks/len(f.parts), (part+1)*blocks/len(f.parts)
	size, width := s.linear.Outputs*kernel.PairLanes, f.in.rows.Columns
	for first := from; first < to; first += blockBatch {
		n := min(blockBatch, to-first)
		for b := range n {
			tile := s.tiles[b*size : (b+1)*size]
			s.linear.Forward(tile, w, first+b)
			value, magnitude := f.toProbabilities(tile, min(kernel.PairLanes, f.in.rows.Count-(first+b)*kernel.PairLanes), s)
			p.value += value
			p.magnitude += magnitude
		}
		s.linear.Gradient(s.slopes, s.tiles, first, n)
		for j := range f.outputs {
			for c, v := range s.slopes[j*f.in.rows.Stride:][:width] {
				p.slope[j*width+c] += float64(v)
			}
		}
	}
}

// toProbabilities replaces the logits of rows by probabilities. It returns the sum over the rows of log-sum-exp, and
// the sum of its absolute values.
func (f *logisticLoss) toProbabilities(tile []float32, rows int, s *lossScratch) (value, magnitude float64) {
	if f.outputs == 1 {
		copy(s.sum, tile[:kernel.PairLanes])
		kernel.Softplus(s.sum, s.sum)
		kernel.Sigmoid(tile[:kernel.PairLanes], tile[:kernel.PairLanes])
		for _, v := range s.sum[:rows] {
			value += float64(v)
			magnitude += float64(v) + 1
		}
		return value, magnitude
	}
	for i := range s.maximum {
		s.maximum[i] = float32(math.Inf(-1))
	}
	kernel.MaxLanes(s.maximum, tile, f.outputs)
	kernel.ScaledExp(tile, s.maximum, s.ones, f.outputs)
	clear(s.sum)
	kernel.SumLanes(s.sum, tile, f.outputs)
	for i, v := range s.sum {
		s.scale[i] = -1 / v
	}
	kernel.CentredProduct(tile, tile, tile, 0, s.scale, s.zeros, f.outputs) // tile times -scale
	kernel.Log(s.sum, s.sum)
	for i, v := range s.sum[:rows] {
		value += float64(s.maximum[i]) + float64(v)
		magnitude += math.Abs(float64(s.maximum[i])) + 1
	}
	return value, magnitude
}
