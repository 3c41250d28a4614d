package datasets_test

import (
	"slices"
	"testing"

	. "github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/datasets/internal/datatest"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/numeric"
)

// An index finds every image of a set, in memory for all positions of the grid and in a map for few of them. It finds
// no image at a position without one, and refuses two images with the same levels.
func TestIndex(t *testing.T) {
	grid := datatest.ToyOf(factor.Factor{Name: "x", Size: 8}, factor.Factor{Name: "y", Size: 8})
	for name, images := range map[string][]int{
		"whole, in another order": append([]int{63, 0}, numeric.UpTo(63)[1:]...),
		"a few":                   {5, 0, 63, 17},
		"three":                   {40, 0, 9},
	} {
		x := must.Get(NewIndex(Sample(grid, images)))(t)
		levels := make([]int, 2)
		for position := range grid.Len() {
			grid.FactorsAt(position, levels)
			i, ok := x.Find(levels)
			if want := slices.Index(images, position); ok != (want >= 0) || ok && i != want {
				t.Errorf("%s: levels %v are image %d (%t); want %d", name, levels, i, ok, want)
			}
		}
		if _, ok := x.Find([]int{0, 8}); ok {
			t.Errorf("%s: there is an image outside the grid", name)
		}
		first := slices.Concat(images, images[:1])
		must.ErrorOf(NewIndex(Sample(grid, first)))(t, "images 0 and", name)
	}
}
