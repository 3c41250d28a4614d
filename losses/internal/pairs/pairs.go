// Package pairs visits all pairs of rows in tiles, for losses that compare all rows with each other. A block of
// kernel.PairLanes rows is one item of parallel work; see package kernel.
package pairs

import (
	"iter"
	"math"

	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/internal/kernel"
	"github.com/unravel-ml/unravel/internal/numeric"
)

// Block is the scratch memory for a block of rows.
type Block[T graph.Float] struct {
	Z, Y           []T // tiles
	Lanes, Squares []T
}

// NewBlocks returns scratch memory for the blocks of up to maxRows rows.
func NewBlocks[T graph.Float](maxRows int) []Block[T] {
	blocks := make([]Block[T], (maxRows+kernel.PairLanes-1)/kernel.PairLanes)
	for i := range blocks {
		blocks[i] = Block[T]{NewTile[T](), NewTile[T](), make([]T, kernel.PairLanes), make([]T, kernel.PairLanes)}
	}
	return blocks
}

// NewTile returns memory for the values of a tile's pairs.
func NewTile[T graph.Float]() []T { return make([]T, kernel.PairLanes*kernel.PairSources) }

// NewLoop runs a body for every block of lanes.
func NewLoop(maxRows int, body func(lo, hi int) float64) *numeric.Loop {
	return numeric.NewLoop(maxRows, kernel.PairLanes, body)
}

// Tile is a tile of N sources, from Source on. Each of its pairs has the weight Times.
type Tile struct {
	Source, N int
	Times     float64
}

// All yields tiles that pair each lane of a block with every row.
func All(rows int) iter.Seq[Tile] { return tiles(rows, 0, math.MaxInt) }

// Half yields tiles for the block at lo. Over all blocks, the weights count every ordered pair once: pairs within a
// block occur in both orders, and all other pairs occur once with weight 2.
func Half(rows, lo int) iter.Seq[Tile] { return tiles(rows, lo, lo+kernel.PairLanes) }

// tiles yields the tiles of the sources from start on. Pairs with sources from twice on have weight 2.
func tiles(rows, start, twice int) iter.Seq[Tile] {
	return func(yield func(Tile) bool) {
		for s := start; s < rows; s += kernel.PairSources {
			t := Tile{s, min(kernel.PairSources, rows-s), 1}
			if s >= twice {
				t.Times = 2
			}
			if !yield(t) {
				return
			}
		}
	}
}

// SumLanes sums the first n lanes and clears all lanes.
func SumLanes[T graph.Float](lanes []T, n int) float64 {
	sum := 0.0
	for _, v := range lanes[:n] {
		sum += float64(v)
	}
	clear(lanes)
	return sum
}

// HasNaN reports whether an element is NaN, which vector maxima would ignore.
func HasNaN[T graph.Float](x []T) bool {
	for _, v := range x {
		if v != v {
			return true
		}
	}
	return false
}

// Search finds the first pair of rows with the largest value.
type Search[T graph.Float] struct {
	blocks  []Block[T]
	values  func(b *Block[T], lo int, t Tile)
	loop    *numeric.Loop
	rows    int
	largest []T // the largest value for a row and a later row, or a row of the same block
}

// NewSearch returns a search over up to maxRows rows. The function values sets b.Z to the values of a tile's pairs,
// which must not be negative.
func NewSearch[T graph.Float](blocks []Block[T], maxRows int, values func(b *Block[T], lo int, t Tile)) *Search[T] {
	s := &Search[T]{blocks: blocks, values: values, largest: make([]T, maxRows)}
	s.loop = NewLoop(maxRows, s.block)
	return s
}

// Run returns the pair with the largest value; of equal pairs it returns the first.
func (s *Search[T]) Run(rows int) (i, j int) {
	s.rows = rows
	s.loop.Resize(rows)
	s.loop.Run()
	for r, v := range s.largest[:rows] {
		if v > s.largest[i] {
			i = r
		}
	}
	lo := i / kernel.PairLanes * kernel.PairLanes
	b := &s.blocks[lo/kernel.PairLanes]
	for t := range All(rows) {
		s.values(b, lo, t)
		for k := range t.N {
			if b.Z[k*kernel.PairLanes+i-lo] == s.largest[i] {
				return i, t.Source + k
			}
		}
	}
	return i, i
}

func (s *Search[T]) block(lo, hi int) float64 {
	b := &s.blocks[lo/kernel.PairLanes]
	clear(b.Lanes)
	for t := range Half(s.rows, lo) {
		s.values(b, lo, t)
		kernel.MaxLanes(b.Lanes, b.Z, t.N)
	}
	copy(s.largest[lo:hi], b.Lanes)
	return 0
}
