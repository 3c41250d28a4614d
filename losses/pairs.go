package losses

import (
	"iter"
	"math"

	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/internal/kernel"
	"github.com/unravel-ml/unravel/internal/numeric"
)

// pairs visits all pairs of points in tiles; see package kernel. A block of
// kernel.PairLanes points is one item of parallel work.
type pairs[T graph.Float] struct {
	points *kernel.Points[T]
	slope  *kernel.Points[T] // sums that become a gradient
	blocks []pairBlock[T]
}

// pairBlock is the scratch of a block.
type pairBlock[T graph.Float] struct {
	z, y           []T // tiles
	lanes, squares []T
}

func newPairs[T graph.Float](maxRows, columns int) pairs[T] {
	return pairs[T]{kernel.NewPoints[T](maxRows, columns), kernel.NewPoints[T](maxRows, columns), newPairBlocks[T](maxRows)}
}

func newPairBlocks[T graph.Float](maxRows int) []pairBlock[T] {
	const tile = kernel.PairLanes * kernel.PairSources
	blocks := make([]pairBlock[T], (maxRows+kernel.PairLanes-1)/kernel.PairLanes)
	for i := range blocks {
		blocks[i] = pairBlock[T]{make([]T, tile), make([]T, tile), make([]T, kernel.PairLanes), make([]T, kernel.PairLanes)}
	}
	return blocks
}

// newPairLoop runs a body for every block of lanes.
func newPairLoop(maxRows int, body func(lo, hi int) float64) *numeric.Loop {
	return numeric.NewLoop(maxRows, kernel.PairLanes, body)
}

// pairTile is a tile of n sources, starting at source. Each of its pairs counts times times.
type pairTile struct {
	source, n int
	times     float64
}

// all yields the tiles of all pairs of a block's lanes with any point.
func (p *pairs[T]) all() iter.Seq[pairTile] { return tilesFrom(p.points.Rows, 0, math.MaxInt) }

// half yields tiles of the block at lo. Over all blocks, they cover every ordered pair once. Pairs within a block occur
// in both orders; a pair with a later point occurs once and counts twice.
func (p *pairs[T]) half(lo int) iter.Seq[pairTile] {
	return tilesFrom(p.points.Rows, lo, lo+kernel.PairLanes)
}

// tilesFrom yields the tiles of the sources, starting at source first. Pairs with sources at or after twice count
// twice.
func tilesFrom(rows, first, twice int) iter.Seq[pairTile] {
	return func(yield func(pairTile) bool) {
		for s := first; s < rows; s += kernel.PairSources {
			t := pairTile{s, min(kernel.PairSources, rows-s), 1}
			if s >= twice {
				t.times = 2
			}
			if !yield(t) {
				return
			}
		}
	}
}

// sumLanes adds up the first n lanes and clears all.
func sumLanes[T graph.Float](lanes []T, n int) float64 {
	sum := 0.0
	for _, v := range lanes[:n] {
		sum += float64(v)
	}
	clear(lanes)
	return sum
}

// hasNaN reports whether an element is not a number; vector maxima would miss it.
func hasNaN[T graph.Float](x []T) bool {
	for _, v := range x {
		if v != v {
			return true
		}
	}
	return false
}

// rowDistance is the Euclidean distance of two rows.
func rowDistance[T graph.Float](a, b []T) float64 { return math.Sqrt(numeric.SquaredError(a, b)) }
