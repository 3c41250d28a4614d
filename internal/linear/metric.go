package linear

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/unravel-ml/unravel/internal/kernel"
)

// setBound sets the metric to the upper bound of the second derivatives: n/2 per weight for several logits, n/4 for one
// logit, plus the second derivatives of the penalty. With many columns, the metric is diagonal.
func (f *logisticLoss) setBound() error {
	curvature := 0.5 * f.c * float64(f.in.rows.Count)
	if f.outputs == 1 {
		curvature /= 2
	}
	if f.in.rank > maxSampledColumns {
		f.metric = []block{{size: f.in.rows.Columns, diagonal: make([]float64, f.in.rows.Columns)}}
		f.units = make([]float64, f.in.rows.Columns)
		for a := range f.units {
			f.metric[0].diagonal[a] = curvature
			if a < f.in.rank {
				f.metric[0].diagonal[a] += f.in.diagonal[a]
			}
			f.units[a] = math.Sqrt(curvature / f.metric[0].diagonal[a])
		}
		return nil
	}
	s := mat.NewSymDense(f.in.rows.Columns, nil)
	f.addPenaltyCurvature(s, curvature)
	if norm := mat.Norm(s, 1); !math.IsInf(norm, 0) && !math.IsNaN(norm) {
		if b, ok := newBlock(s); ok {
			f.metric = []block{b}
			return nil
		}
	}
	return fmt.Errorf("logistic regression: the inputs' columns differ too much in size")
}

// addPenaltyCurvature adds the second derivatives of the penalty, and a constant to the diagonal.
func (f *logisticLoss) addPenaltyCurvature(s *mat.SymDense, diagonal float64) {
	for a := range f.in.rank {
		for b := a; b < f.in.rank; b++ {
			s.SetSym(a, b, s.At(a, b)+f.in.penalty.At(a, b))
		}
	}
	for a := range f.in.rows.Columns {
		s.SetSym(a, a, s.At(a, a)+diagonal)
	}
}

// setCurvature sets the metric to the second derivatives at w, separately for each output, from the sample.
func (f *logisticLoss) setCurvature(w []float64) {
	if f.in.sample == nil {
		return
	}
	in, width := f.in, f.in.rows.Columns
	s := f.scratch()
	defer func() { f.free <- s }()
	forward := kernel.NewLinear(in.sample, f.outputs)
	size, weights := forward.Outputs*kernel.PairLanes, f.toFloat32(w)
	tiles := make([]float32, in.sample.Blocks()*size)
	for b := range in.sample.Blocks() {
		tile := tiles[b*size : (b+1)*size]
		forward.Forward(tile, weights, b)
		f.toProbabilities(tile, 0, s) // its sums are not needed
		for i, p := range tile {
			tile[i] = p * (1 - p)
		}
	}
	slopes := make([]float32, forward.Outputs*in.products.Stride)
	kernel.NewLinear(in.products, f.outputs).Gradient(slopes, tiles, 0, in.sample.Blocks())
	scale := f.c * float64(in.rows.Count) / float64(in.sample.Count)
	blocks := make([]block, f.outputs)
	for j := range blocks {
		h, offset := mat.NewSymDense(width, nil), j*in.products.Stride
		for a := range width {
			for b := a; b < width; b++ {
				h.SetSym(a, b, scale*float64(slopes[offset]))
				offset++
			}
		}
		// The constant keeps h positive definite even if all probabilities are 0 or 1.
		f.addPenaltyCurvature(h, 1e-6*f.c*float64(in.rows.Count))
		var ok bool
		if blocks[j], ok = newBlock(h); !ok {
			return
		}
	}
	f.metric = blocks
}

// gradientNorm returns the largest absolute derivative with respect to the weights of uncorrelated inputs. With many
// columns it scales the weights: in these units, the bound of the second derivatives equals the bound for the loss
// alone.
func (f *logisticLoss) gradientNorm(g []float64) (norm float64) {
	for i, v := range g {
		if f.units != nil {
			v *= f.units[i%len(f.units)]
		}
		norm = max(norm, math.Abs(v))
	}
	return norm
}

// precondition replaces g by the inverse of the metric times g.
func (f *logisticLoss) precondition(g []float64) {
	width := f.in.rows.Columns
	for j := range f.outputs {
		f.metric[min(j, len(f.metric)-1)].solve(g[j*width : (j+1)*width])
	}
}

// block is U of a matrix U'U in row-major order, or the diagonal of a diagonal matrix. solve is handwritten, because
// blocks are too small for library calls.
type block struct {
	size     int
	u        []float64
	diagonal []float64
}

func newBlock(s *mat.SymDense) (block, bool) {
	var c mat.Cholesky
	if !c.Factorize(s) {
		return block{}, false
	}
	n := s.SymmetricDim()
	raw := c.RawU().(mat.RawTriangular).RawTriangular()
	b := block{size: n, u: make([]float64, n*n)}
	for i := range n {
		copy(b.u[i*n+i:(i+1)*n], raw.Data[i*raw.Stride+i:i*raw.Stride+n])
	}
	return b, true
}

// solve replaces v by the inverse of the matrix times v.
func (b *block) solve(v []float64) {
	n := b.size
	if b.diagonal != nil {
		for i, d := range b.diagonal {
			v[i] /= d
		}
		return
	}
	for i, x := range v { // U'y = v
		row := b.u[i*n : (i+1)*n]
		x /= row[i]
		v[i] = x
		for j := i + 1; j < n; j++ {
			v[j] -= row[j] * x
		}
	}
	for i := n - 1; i >= 0; i-- { // U z = y
		row := b.u[i*n : (i+1)*n]
		x := v[i]
		for j := i + 1; j < n; j++ {
			x -= row[j] * v[j]
		}
		v[i] = x / row[i]
	}
}
