package dims

import (
	"math"
	"testing"
)

func TestCount(t *testing.T) {
	for _, test := range []struct {
		shape []int
		size  int
		want  int // -1: an error
	}{
		{nil, 8, 1},
		{[]int{2, 3, 4}, 4, 24},
		{[]int{3, 0, 5}, 4, 0},
		{[]int{math.MaxInt}, 1, math.MaxInt},
		{[]int{math.MaxInt}, 2, -1},
		{[]int{math.MaxInt / 8}, 8, math.MaxInt / 8},
		{[]int{1 << 31, 1 << 31}, 2, -1},
		{[]int{0, math.MaxInt, math.MaxInt}, 1, -1},
		{[]int{2, -1}, 1, -1},
	} {
		got, err := Count(test.shape, test.size)
		if (err != nil) != (test.want < 0) || err == nil && got != test.want {
			t.Errorf("%v of %d bytes: %d, %v; want %d", test.shape, test.size, got, err, test.want)
		}
	}
}
