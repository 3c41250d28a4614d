package factor

import (
	"fmt"
	"iter"
	"strings"

	"github.com/unravel-ml/unravel/graph/rng"
)

// Grid is the Cartesian product of the levels of factors. Items count in row-major order, with the last factor fastest.
type Grid []Factor

// Len returns the number of combinations of levels.
func (g Grid) Len() int {
	n := 1
	for _, f := range g {
		n *= f.Size
	}
	return n
}

// Combinations returns Len as a float64, for grids that are larger than the maximum int.
func (g Grid) Combinations() float64 {
	n := 1.0
	for _, f := range g {
		n *= float64(f.Size)
	}
	return n
}

// At sets dst to the levels of item i. It panics if i is out of range, like the index of a slice.
func (g Grid) At(i int, dst []int) {
	rest := i
	for k := len(g) - 1; k >= 0; k-- {
		dst[k] = rest % g[k].Size
		rest /= g[k].Size
	}
	if i < 0 || rest != 0 {
		panic(fmt.Sprintf("factor: item %d is out of range of a grid of %d", i, g.Len()))
	}
}

// Index is the inverse of [Grid.At]. It panics if a level is out of range, like the index of a slice; [Grid.Find] and
// [Grid.Check] do not panic.
func (g Grid) Index(levels []int) int {
	i, ok := g.Find(levels)
	if !ok {
		panic("factor: " + g.Check(levels).Error())
	}
	return i
}

// Find returns the item with the given levels, one for each factor, and reports whether it exists.
func (g Grid) Find(levels []int) (i int, ok bool) {
	if len(levels) != len(g) {
		return 0, false
	}
	for k := range g {
		size := g[k].Size
		if uint(levels[k]) >= uint(size) {
			return 0, false
		}
		i = i*size + levels[k]
	}
	return i, true
}

// Check returns an error for the first level that is out of range, and for a wrong number of levels.
func (g Grid) Check(levels []int) error {
	if len(levels) != len(g) {
		return fmt.Errorf("there are %d levels; want %d, one for each factor", len(levels), len(g))
	}
	for k, f := range g {
		if levels[k] < 0 || levels[k] >= f.Size {
			return fmt.Errorf("factor %q has no level %d; want 0 to %d", f.Name, levels[k], f.Size-1)
		}
	}
	return nil
}

// All yields every item and its levels, in order. The levels are valid until the next item.
func (g Grid) All() iter.Seq2[int, []int] {
	return func(yield func(int, []int) bool) {
		levels := make([]int, len(g))
		for i := range g.Len() {
			if !yield(i, levels) {
				return
			}
			for k := len(g) - 1; k >= 0; k-- { // count up, with the last factor fastest
				if levels[k]++; levels[k] < g[k].Size {
					break
				}
				levels[k] = 0
			}
		}
	}
}

// Sample draws the level of every factor independently and uniformly.
func (g Grid) Sample(s *rng.Stream, dst []int) {
	for k, f := range g {
		dst[k] = s.IntN(f.Size)
	}
}

// Resample draws new levels of the given factors independently and uniformly, and keeps the other levels.
func (g Grid) Resample(s *rng.Stream, levels []int, factors ...int) {
	for _, k := range factors {
		levels[k] = s.IntN(g[k].Size)
	}
}

// Describe returns levels with the names of their factors, as text: "row 3, column 5".
func Describe(factors []Factor, levels []int) string {
	var b strings.Builder
	for k, f := range factors {
		if k > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%s %d", f.Name, levels[k])
	}
	return b.String()
}
