package datasets_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	. "github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/catalog"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/internal/must"
)

// The images of a sample are the images at its indices, with all properties.
func TestSample(t *testing.T) {
	for _, name := range []string{"square", "chopsticks"} {
		e := must.Get(catalog.Registry.Lookup(name))(t)
		d := must.Get(e.New().Build(1))(t)
		indices := []int{7, 3, d.Len() - 1}
		s := Sample(d, indices)
		if s.Len() != 3 || RealValued(s) != RealValued(d) || s.Name() != d.Name() {
			t.Errorf("%s: %d images", name, s.Len())
		}
		h, w, c := d.ImageShape()
		k := len(d.Factors())
		want, got := make([]float32, h*w*c), make([]float32, h*w*c)
		levels, same := make([]int, k), make([]int, k)
		for row, i := range indices {
			d.Image(i, want)
			s.Image(row, got)
			d.FactorsAt(i, levels)
			s.FactorsAt(row, same)
			if !slices.Equal(got, want) || !slices.Equal(same, levels) {
				t.Errorf("%s: row %d is not image %d", name, row, i)
			}
			whole, ok := d.(Hierarchical)
			part, is := s.(Hierarchical)
			if ok != is {
				t.Fatalf("%s: a hierarchy: %v, want %v", name, is, ok)
			}
			if !ok {
				continue
			}
			a, b := make([]float64, whole.Hierarchy().Continuous()), make([]float64, whole.Hierarchy().Continuous())
			whole.Values(i, a)
			part.Values(row, b)
			p, q := make([]int, len(whole.Hierarchy().Categoricals())), make([]int, len(whole.Hierarchy().Categoricals()))
			whole.Choices(i, p)
			part.Choices(row, q)
			if !slices.Equal(a, b) || !slices.Equal(p, q) {
				t.Errorf("%s: row %d has other dimensions than image %d", name, row, i)
			}
		}
	}
}

// The levels of another set's factors have the same names, values or angles.
func TestLike(t *testing.T) {
	size := factor.Factor{Name: "size", Size: 3, Kind: factor.Ordinal, Values: []float64{1, 2, 10}}
	animal := factor.Factor{Name: "animal", Size: 3, Kind: factor.Categorical, Names: []string{"cat", "dog", "owl"}}
	hour := factor.Factor{Name: "hour", Size: 24, Kind: factor.Circular}
	small, pets, shift := size, animal, hour
	small.Size, small.Values = 2, []float64{2, 10}
	pets.Size, pets.Names = 2, []string{"dog", "newt"}
	shift.Size, shift.Angles = 2, []float64{math.Pi / 12, 11 * math.Pi / 6}
	d, err := FromPixels("few", make([]uint8, 3), 1, 1, 1, []factor.Factor{small, pets, shift},
		[][]int{{0, 0, 1}, {1, Unknown, 0}, {1, 0, Unknown}})
	must.OK(t, err)
	like, err := Like(d, []factor.Factor{animal, size, hour}, []string{"size", "animal", "hour"})
	if err != nil || like.Len() != 3 {
		t.Fatal(err)
	}
	if got := fmt.Sprint(Levels(like), factor.Names(like.Factors())); got != "[1 1 22 2 -1 1 2 1 -1] [size animal hour]" ||
		like.Factors()[0].Values[2] != 10 {
		t.Errorf("levels and factors %s", got)
	}
	must.Equal(t, must.Get(Like(d, []factor.Factor{animal, size}, nil))(t), d, "without names")
	pets.Names = []string{"newt", "owl"}
	if d, err = FromPixels("few", make([]uint8, 1), 1, 1, 1, []factor.Factor{pets}, [][]int{{0}}); err != nil {
		t.Fatal(err)
	}
	if _, err = Like(d, []factor.Factor{animal}, []string{"animal"}); err == nil ||
		!strings.Contains(err.Error(), "image 0 has a level of factor animal, newt, that the other data set lacks") {
		t.Errorf("another animal: %v", err)
	}
}
