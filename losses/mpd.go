package losses

import (
	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/factor"
	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/internal/kernel"
	"github.com/unravel-ml/unravel/internal/numeric"
)

// MPD is [Modularity] with the mean over values of half the mean Euclidean distance
// over all ordered pairs, [Unbiased]: of different points. (The half is that of the source's
// tables; it parallels the variance, half the mean squared distance.) It is differentiable
// where no two points of a group are equal. Modularity(factor.MPD, factor.Mean, Plain, ...)
// is the MPD of the rows themselves, with pairs of a point and itself.
//
// Source: Zhang and Sugiyama 2024, equation 24 with the mean.
func MPD(z, groups *gorgonia.Node, blocks ...factor.Block) (*gorgonia.Node, error) {
	return Modularity(factor.MPD, factor.Mean, Unbiased, z, groups, blocks...)
}

// NewMPD returns the default settings of [MPD].
func NewMPD() *ModularityLoss { return newModularityLoss(factor.MPD, factor.Mean) }

// mpd is half the mean Euclidean distance over all ordered pairs of points, a point
// and itself counted:
//
//	1/(2 n^2) sum_ij |x_i - x_j|
//
// (Zhang and Sugiyama 2024, equation 24 with the mean; the half is that of its
// tables). The gradient of a distance of 0 is 0.
type mpd[T graph.Float] struct {
	pairs[T]
	values, gradients *numeric.Loop
}

func newMPD[T graph.Float](maxRows, columns int) deviation[T] {
	m := &mpd[T]{pairs: newPairs[T](maxRows, columns)}
	m.values = newPairLoop(maxRows, m.sumBlock)
	m.gradients = newPairLoop(maxRows, m.slopeBlock)
	return m
}

func (m *mpd[T]) value(x []T, rows int) float64 {
	m.points.Set(x, rows)
	m.values.Resize(rows)
	return m.values.Run() / 2 / float64(rows) / float64(rows)
}

func (m *mpd[T]) sumBlock(lo, hi int) float64 {
	b, sum := &m.blocks[lo/kernel.PairLanes], 0.0
	for t := range m.half(lo) {
		m.points.Squares(b.z, lo, t.source, t.n)
		kernel.SumRoots(b.lanes, b.z, t.n)
		sum += t.times * sumLanes(b.lanes, hi-lo)
	}
	return sum
}

func (m *mpd[T]) gradient(_ []T, rows int, scale float64, dx []T) {
	m.slope.Zero(rows)
	m.gradients.Resize(rows)
	m.gradients.Run()
	m.writeSlope(dx, scale/float64(rows)/float64(rows))
}

func (m *mpd[T]) slopeBlock(lo, _ int) float64 {
	b := &m.blocks[lo/kernel.PairLanes]
	for t := range m.all() {
		m.points.Squares(b.z, lo, t.source, t.n)
		kernel.InverseRoots(b.z, t.n)
		m.points.AddWeighted(m.slope, b.z, lo, t.source, t.n)
	}
	return 0
}
