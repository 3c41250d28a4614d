package datasets_test

import (
	"slices"
	"testing"

	. "github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/catalog"
)

// The images of a sample are the images at its indices, with all properties.
func TestSample(t *testing.T) {
	for _, name := range []string{"square", "chopsticks"} {
		e, err := catalog.Registry.Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		d, err := e.New().Build(1)
		if err != nil {
			t.Fatal(err)
		}
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
