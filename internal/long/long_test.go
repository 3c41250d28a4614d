package long

import (
	"slices"
	"testing"
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
		if got := Sample(cases, c.n); !slices.Equal(got, c.want) {
			t.Errorf("Sample(7 cases, %d) with -long=%t is %v, want %v", c.n, c.complete, got, c.want)
		}
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
		if ran != all {
			t.Errorf("a complete test with -long=%t: it ran: %t", all, ran)
		}
	}
}
