package drawn_test

import (
	"slices"
	"testing"

	"github.com/unravel-ml/unravel/datasets"
	. "github.com/unravel-ml/unravel/datasets/drawn"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/numeric"
)

func TestHoldOut(t *testing.T) {
	held := datasets.HoldOut(1009, 0.1, 0)
	if len(held) != 101 || !slices.IsSorted(held) || len(slices.Compact(slices.Clone(held))) != 101 || held[0] < 0 || held[100] > 1008 {
		t.Fatal(held)
	}
	if !slices.Equal(held, datasets.HoldOut(1009, 0.1, 0)) || slices.Equal(held, datasets.HoldOut(1009, 0.1, 1)) || held[100] == 100 {
		t.Error("the images do not depend on the seed alone, or are not random")
	}
	if none := datasets.HoldOut(4, 0.1, 0); none != nil {
		t.Errorf("%v of a tenth of four images", none)
	}
}

func TestDimensionsAndLevels(t *testing.T) {
	d := hierarchical(t, &Chopsticks{Variant: "either", Depth: 2, Samples: 300, Overwrite: "none"})
	images := append(numeric.UpTo(d.Len()), 5)
	k := len(d.Factors())
	rows := datasets.Dimensions(d, images)
	if k != 9 || len(rows) != 301*k || !slices.Equal(rows[5*k:6*k], rows[300*k:]) {
		t.Fatalf("%d dimensions, %v", k, rows)
	}
	for n, i := range images {
		choice, values, levels := make([]int, 3), make([]float64, 6), make([]int, k)
		d.Choices(i, choice)
		d.Values(i, values)
		d.FactorsAt(i, levels)
		row := rows[n*k : (n+1)*k]
		for j, o := range choice {
			if row[j] != float64(o+1) || levels[j] != o+1 {
				t.Errorf("image %d: choice %d is %v and level %d", i, o, row[j], levels[j])
			}
		}
		for j, v := range values {
			f := d.Factors()[3+j]
			width := f.Values[1] - f.Values[0]
			if row[3+j] != v || v < f.Value(levels[3+j])-width/2-1e-12 || !(v <= f.Value(levels[3+j])+width/2+1e-12) {
				t.Errorf("image %d: value %v is %v and level %d around %v", i, v, row[3+j], levels[3+j], f.Value(levels[3+j]))
			}
		}
	}
}

func TestExact(t *testing.T) {
	d := hierarchical(t, &Spaceshapes{Samples: 40})
	columns, values := datasets.Exact(d, numeric.UpTo(d.Len())), make([]float64, 6)
	if len(columns) != 8 || columns[0] != nil || columns[1] != nil || len(columns[2]) != 40 {
		t.Fatalf("%d columns", len(columns))
	}
	for i := range 40 {
		d.Values(i, values)
		for j, v := range values {
			must.Equal(t, columns[2+j][i], v, "image", i, "column", 2+j)
		}
	}
}

func TestPathsOf(t *testing.T) {
	d := hierarchical(t, &Chopsticks{Variant: "either", Depth: 2, Samples: 300, Overwrite: "none"})
	images := []int{9, 3, 200, 201, 202, 203, 204, 205, 206, 207, 208, 209, 210}
	path, choices := datasets.PathsOf(d, images)
	choice := make([]int, 3)
	for n, i := range images {
		d.Choices(i, choice)
		must.EqualSlices(t, choices[path[n]], choice, "image", i, "path", path[n])
	}
	if !slices.IsSortedFunc(choices, slices.Compare) || len(slices.CompactFunc(slices.Clone(choices), slices.Equal)) != len(choices) {
		t.Errorf("paths %v", choices)
	}
	if all := pathsOfAll(d); len(all) != 6 || !slices.Equal(all[0], []int{0, 0, -1}) || !slices.Equal(all[5], []int{1, -1, 2}) {
		t.Error(all)
	}
}
