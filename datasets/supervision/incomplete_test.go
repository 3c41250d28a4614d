package supervision_test

import (
	"slices"
	"testing"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/datasets/internal/datatest"
	. "github.com/unravel-ml/unravel/datasets/supervision"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/must"
)

// incomplete returns the grid of an angle of 6 levels, an object of 3 and a size of 2. Unknown are the angle of image
// 0, the object of every sixth image, and the size of all images.
func incomplete(t *testing.T) (d datasets.Dataset, levels [][]int) {
	t.Helper()
	grid := factor.Grid{
		{Name: "angle", Size: 6, Kind: factor.Circular}, {Name: "object", Size: 3, Kind: factor.Categorical}, {Name: "size", Size: 2, Kind: factor.Ordinal},
	}
	for i, at := range grid.All() {
		row := slices.Clone(at)
		row[2] = datasets.Unknown
		if i%6 == 5 {
			row[1] = datasets.Unknown
		}
		if i == 0 {
			row[0] = datasets.Unknown
		}
		levels = append(levels, row)
	}
	d = must.Get(datasets.FromPixels("some", make([]uint8, grid.Len()), 1, 1, 1, grid, levels))(t)
	return d, levels
}

func TestIncomplete(t *testing.T) {
	d, levels := incomplete(t)
	must.EqualSlices(t, datasets.Missing(d), []int{1, 6, 36}, "missing")
	must.EqualSlices(t, datasets.Levels(d), slices.Concat(levels...), "levels")
	some := datasets.Sample(d, []int{0, 5, 11, 3})
	must.EqualSlices(t, datasets.Missing(some), []int{1, 2, 4}, "missing of a sample")
	must.EqualSlices(t, datasets.Missing(datasets.Sample(d, []int{1, 2})), []int{0, 0, 2}, "missing of a sample")
	whole, err := datasets.FromPixels("all", make([]uint8, 2), 1, 1, 1, []factor.Factor{{Name: "a", Size: 2}}, [][]int{{1}, {0}})
	if err != nil || datasets.Missing(whole) != nil {
		t.Errorf("missing of a whole set %v, %v", datasets.Missing(whole), err)
	}
	if _, err := datasets.NewIndex(d); err != nil { // no image has all levels
		t.Error(err)
	}
}

// TestIncompleteSupervision checks that an unknown level is no label, is not shared and gives no angle.
func TestIncompleteSupervision(t *testing.T) {
	d, levels := incomplete(t)
	s := datatest.Split(t, &FactorLabels{Fraction: 1}, d)
	want := make([]int32, 3)
	for i, row := range levels {
		known := s.Known.At(i, want)
		if int(want[0]) != row[0] || int(want[1]) != row[1] || want[2] != -1 || known != (row[0] >= 0 || row[1] >= 0) {
			t.Errorf("image %d has labels %v, %v; want %v", i, want, known, row)
		}
	}
	s = datatest.Split(t, &FactorLabels{Fraction: 0.5, Share: 0.5, Factors: []string{"object"}}, d)
	if len(s.Known.Images) != 15 || slices.ContainsFunc(s.Known.Images, func(i int) bool { return levels[i][1] < 0 }) {
		t.Errorf("labelled images %v", s.Known.Images)
	}
	s = datatest.Split(t, &Similarity{Count: 500, Share: 0.5, Factors: []string{"angle", "object"}}, d)
	for _, p := range s.Known.Pairs {
		if a, b := levels[p.A][p.Factor], levels[p.B][p.Factor]; a < 0 || a != b {
			t.Fatalf("a pair shares the levels %d and %d", a, b)
		}
	}
	s = datatest.Split(t, &Pairs{Count: 14, Hold: []string{"object"}}, held(d))
	used := map[int]bool{}
	for _, g := range s.Groups {
		for _, i := range g {
			if used[i] || levels[i][0] < 0 || levels[i][1] < 0 || levels[g[0]][1] != levels[i][1] {
				t.Errorf("pair %v has the levels %v and %v", g, levels[g[0]], levels[g[1]])
			}
			used[i] = true
		}
	}
	for want, supervision := range map[string]Kind{
		"dataset some has no image with labels":                                &FactorLabels{Fraction: 1, Factors: []string{"size"}},
		`no two images of dataset some agree in factor "size"`:                 &Similarity{Count: 1, Share: 0.5},
		"15 pairs of distinct images cannot be drawn from the 29 images":       &Pairs{Count: 15, Hold: []string{"object"}},
		"paths: dataset some has no image with all levels known":               &Paths{Count: 1, Length: 2, Step: 1},
		"walks: dataset some has no image with all levels known":               NewWalks(),
		"whose levels are known, of 36; want at most":                          &Pairs{Count: 20, Hold: []string{"object"}},
		"group 0 has image 0 of dataset some, with unknown level of \"angle\"": joins{0, 1},
	} {
		set := d
		if _, ok := supervision.(*Pairs); ok {
			set = held(d)
		}
		must.ErrorOf(supervision.Split(set, rng.New(1, "test")))(t, want)
	}
}

// joins is a supervision with one group.
type joins []int

func (j joins) Split(d datasets.Dataset, _ *rng.Stream) (*Split, error) {
	return NewSplit(d, len(j), [][]int{j}, true)
}

// held returns a data set without its last factor.
func held(d datasets.Dataset) datasets.Dataset { return fewer{d} }

type fewer struct{ datasets.Dataset }

func (f fewer) Factors() []factor.Factor { return f.Dataset.Factors()[:2] }
func (f fewer) Missing() []int           { return datasets.Missing(f.Dataset)[:2] }

func (f fewer) FactorsAt(i int, dst []int) {
	var all [3]int
	f.Dataset.FactorsAt(i, all[:])
	copy(dst, all[:2])
}
