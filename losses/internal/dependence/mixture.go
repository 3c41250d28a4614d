package dependence

import (
	"math"

	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/internal/kernel"
	"github.com/unravel-ml/unravel/internal/numeric"
	"github.com/unravel-ml/unravel/losses/internal/pairs"
)

// mixture is the log density of the samples of a batch under the mixture of their posteriors. For selected rows j, i
// and columns d it is
//
//	L_j = log sum_i w_ji exp(sum_d log N(x_jd; mean_id, variance_id))
//
// and its gradient. Memory grows with rows times columns.
type mixture[T graph.Float] struct {
	x, dx    *kernel.Points[T]
	g        kernel.Gaussians[T]
	lse      []T     // L_j without the constant of the weights
	factor   []T     // weight of L_j in the sum
	w        weights // weights of the components
	blocks   []pairs.Block[T]
	pieces   []moments[T]
	forward  *numeric.Loop
	backward *numeric.Loop
}

// load copies the given rows and columns of a batch. Factors are set to 0.
func (m *mixture[T]) load(b *gaussians[T], rows, columns []int, w weights) {
	m.w = w
	for _, p := range []*kernel.Points[T]{m.x, m.dx, m.g.Mean, m.g.Precision} {
		p.Columns = len(columns)
		p.Resize(len(rows))
	}
	clear(m.g.Constant)
	for k, c := range columns {
		x, mean, precision := m.x.Column(k), m.g.Mean.Column(k), m.g.Precision.Column(k)
		for i, r := range rows {
			offset := r*b.width + c
			x[i], mean[i], precision[i] = b.z[offset], b.mean[offset], b.precision[offset]
			m.g.Constant[i] += b.constant[offset]
		}
	}
	clear(m.factor)
	for i := range m.lse { // lanes without a point: e^(l - lse) is 0
		m.lse[i] = math.MaxFloat32
	}
}

// density computes L, and returns the weighted sum of L.
func (m *mixture[T]) density() float64 {
	m.forward.Resize(m.x.Rows)
	return m.forward.Run()
}

func (m *mixture[T]) densityBlock(lo, hi int) float64 {
	b, infinity := &m.blocks[lo/kernel.PairLanes], T(math.Inf(1))
	top, sums := b.Squares, b.Lanes
	for i := range top {
		top[i] = -infinity
	}
	for t := range pairs.All(m.x.Rows) {
		m.tile(b.Z, lo, hi, t)
		kernel.MaxLanes(top, b.Z, t.N)
	}
	clear(sums)
	for t := range pairs.All(m.x.Rows) {
		m.tile(b.Z, lo, hi, t)
		kernel.SumExp(sums, b.Z, top, t.N)
	}
	total := 0.0
	for j := lo; j < hi; j++ {
		l := float64(top[j-lo]) + math.Log(float64(sums[j-lo]))
		m.lse[j] = T(l)
		if m.factor[j] != 0 {
			total += float64(m.factor[j]) * (l + m.w.base)
		}
	}
	clear(sums)
	return total
}

// tile sets a tile to the logarithms of weighted densities, without the base.
func (m *mixture[T]) tile(tile []T, lo, hi int, t pairs.Tile) {
	m.g.LogDensities(tile, m.x, lo, t.Source, t.N)
	if m.w.self == 0 && m.w.next == 0 {
		return
	}
	for j := lo; j < hi; j++ {
		if k := j - t.Source; k >= 0 && k < t.N {
			tile[k*kernel.PairLanes+j-lo] += T(m.w.self)
		}
		if k := (j+1)%m.x.Rows - t.Source; k >= 0 && k < t.N {
			tile[k*kernel.PairLanes+j-lo] += T(m.w.next)
		}
	}
}

// addSlopes adds the gradient of the weighted sum of L to the rows and columns. It uses the lse that density computed.
func (m *mixture[T]) addSlopes(b *gaussians[T], rows, columns []int, dz, dMean, dLogVariance []T) {
	m.dx.Zero(len(rows))
	m.backward.Run()
	n := len(rows)
	for k, c := range columns {
		x, precision := m.dx.Column(k), m.g.Precision.Column(k)
		for i, r := range rows {
			zero, first, second := 0.0, 0.0, 0.0
			for p := range m.pieces {
				zero += float64(m.pieces[p].zero[i])
				first += float64(m.pieces[p].first[k*n+i])
				second += float64(m.pieces[p].second[k*n+i])
			}
			offset, h := r*b.width+c, float64(precision[i])
			if dz != nil {
				dz[offset] += 2 * x[i]
			}
			if dMean != nil {
				dMean[offset] += T(-2 * h * first)
			}
			if dLogVariance != nil {
				dLogVariance[offset] += T(h*second - zero/2)
			}
		}
	}
}

func (m *mixture[T]) slopePiece(lo, hi int) float64 {
	n := m.x.Rows
	blocks := (n + kernel.PairLanes - 1) / kernel.PairLanes
	for i := lo; i < hi; i++ {
		p := &m.pieces[i]
		clear(p.zero[:n])
		clear(p.first[:n*m.x.Columns])
		clear(p.second[:n*m.x.Columns])
		for block := i * blocks / len(m.pieces); block < (i+1)*blocks/len(m.pieces); block++ {
			m.slopeBlock(block, p)
		}
	}
	return 0
}

func (m *mixture[T]) slopeBlock(block int, p *moments[T]) {
	n, lo := m.x.Rows, block*kernel.PairLanes
	hi, tile := min(lo+kernel.PairLanes, n), m.blocks[block].Z
	lse, factor := m.lse[lo:lo+kernel.PairLanes], m.factor[lo:lo+kernel.PairLanes]
	for t := range pairs.All(n) {
		m.tile(tile, lo, hi, t)
		kernel.ScaledExp(tile, lse, factor, t.N)
		kernel.SumRows(p.zero[t.Source:], tile, t.N)
		for c := range m.x.Columns {
			m.g.AddMoments(m.dx, m.x, p.first[c*n:], p.second[c*n:], tile, c, lo, t.Source, t.N)
		}
	}
}

// weights are the logarithms of the weights w_ji. base applies to all components, self is added for the row's own
// component, and next for the next row's component.
type weights struct{ base, self, next float64 }

// moments are the contribution of a block of rows to the gradient with respect to the components. The number of blocks
// is fixed, so sums do not depend on the number of threads.
type moments[T graph.Float] struct{ zero, first, second []T }

const mixturePieces = 8

func newMixture[T graph.Float](rows, columns int) *mixture[T] {
	m := &mixture[T]{x: kernel.NewPoints[T](rows, columns), dx: kernel.NewPoints[T](rows, columns)}
	m.g = kernel.Gaussians[T]{
		Mean:      kernel.NewPoints[T](rows, columns),
		Precision: kernel.NewPoints[T](rows, columns),
		Constant:  kernel.NewConstants[T](rows),
	}
	m.lse, m.factor = kernel.NewConstants[T](rows), kernel.NewConstants[T](rows)
	m.blocks = pairs.NewBlocks[T](rows)
	m.pieces = make([]moments[T], min(mixturePieces, len(m.blocks)))
	for i := range m.pieces {
		m.pieces[i] = moments[T]{make([]T, rows), make([]T, rows*columns), make([]T, rows*columns)}
	}
	m.forward = pairs.NewLoop(rows, m.densityBlock)
	m.backward = numeric.NewLoop(len(m.pieces), 1, m.slopePiece)
	return m
}

// gaussians are a batch of codes and their posteriors, [rows, width].
type gaussians[T graph.Float] struct {
	width               int
	z, mean             []T
	precision, constant []T // 1/(2 sigma^2), log(1/sqrt(2 pi sigma^2))
}
