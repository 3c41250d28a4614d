package long

import (
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
)

func TestSample(t *testing.T) {
	defer func(before bool) { *complete = before }(*complete)
	cases := []int{0, 1, 2, 3, 4, 5, 6}
	for _, c := range []struct {
		n        int
		complete bool
		want     []int
	}{
		{1, false, []int{0}}, {2, false, []int{0, 6}}, {3, false, []int{0, 3, 6}}, {4, false, []int{0, 2, 4, 6}},
		{7, false, cases}, {100, false, cases}, {2, true, cases},
	} {
		*complete = c.complete
		must.EqualSlices(t, Sample(cases, c.n), c.want, "Sample(7 cases", c.n, "with -long", c.complete)
	}
}

func TestOnly(t *testing.T) {
	defer func(before bool) { *complete = before }(*complete)
	for _, all := range []bool{false, true} {
		*complete = all
		ran := false
		t.Run("inner", func(t *testing.T) {
			Only(t)
			ran = true
		})
		must.Equal(t, ran, all, "a complete test with -long", all, "it ran")
	}
}
