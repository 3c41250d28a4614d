package losses

import (
	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/internal/numeric"
)

// MPD is [Modularity] with the mean over values of half the mean Euclidean distance over ordered pairs of different
// points, [Unbiased]. (The tables of the source include the half; it parallels the variance, half the mean squared
// distance.) It is differentiable where no two points of a group are equal. Modularity(factor.MPD, factor.Mean, Plain,
// ...) is the MPD of the rows themselves, which includes pairs of a point with itself.
//
// Source: Zhang and Sugiyama 2024, equation 24 with the mean.
func MPD(z, groups *gorgonia.Node, blocks ...factor.Block) (*gorgonia.Node, error) {
	return Modularity(factor.MPD, factor.Mean, Unbiased, z, groups, blocks...)
}

// NewMPD returns the default settings of [MPD].
func NewMPD() *ModularityLoss { return newModularityLoss(factor.MPD, factor.Mean) }

// mpd is half the mean Euclidean distance over all ordered pairs of points, including a
// point with itself:
//
//	1/(2 n^2) sum_ij |x_i - x_j|
//
// (Zhang and Sugiyama 2024, equation 24 with the mean; the paper's tables include the half). The gradient of a distance
// of 0 is 0.
type mpd[T graph.Float] struct{ *numeric.Distances[T] }

func newMPD[T graph.Float](maxRows, columns int) deviation[T] {
	return mpd[T]{numeric.NewDistances[T](maxRows, columns, false)}
}

func (m mpd[T]) value(x []T, rows int) float64 {
	m.Points.Set(x, rows)
	return m.Sum() / 2 / float64(rows) / float64(rows)
}

func (m mpd[T]) gradient(_ []T, rows int, scale float64, dx []T) {
	m.Slopes()
	columns, share := m.Slope.Columns, scale/float64(rows)/float64(rows)
	for c := range columns {
		for r, v := range m.Slope.Column(c) {
			dx[r*columns+c] = T(share * float64(v))
		}
	}
}
