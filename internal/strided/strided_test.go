package strided

import (
	"slices"
	"testing"
)

// Copying boxes of all kinds gives the same result as copying them element by element.
func TestCopy(t *testing.T) {
	for _, test := range []struct {
		count, to, from []int
		size            int
	}{
		{nil, nil, nil, 3},
		{[]int{4}, []int{3}, []int{3}, 3},
		{[]int{4}, []int{5}, []int{2}, 2},
		{[]int{3, 4}, []int{4, 1}, []int{4, 1}, 1},
		{[]int{3, 4}, []int{12, 3}, []int{4, 1}, 1},
		{[]int{3, 4}, []int{1, 3}, []int{4, 1}, 1},
		{[]int{2, 4, 4, 1}, []int{60, 15, 3, 1}, []int{16, 4, 1, 1}, 1},
		{[]int{2, 3, 2, 2}, []int{1, 2, 6, 12}, []int{12, 4, 2, 1}, 1},
		{[]int{2, 3, 5}, []int{40, 12, 2}, []int{30, 10, 2}, 2},
		{[]int{0, 3}, []int{3, 1}, []int{3, 1}, 1},
	} {
		src, dst, want := make([]byte, 200), make([]byte, 200), make([]byte, 200)
		for i := range src {
			src[i] = byte(i + 1)
		}
		var walk func(k, to, from int)
		walk = func(k, to, from int) {
			if k == len(test.count) {
				copy(want[to:to+test.size], src[from:])
				return
			}
			for i := range test.count[k] {
				walk(k+1, to+i*test.to[k], from+i*test.from[k])
			}
		}
		walk(0, 0, 0)
		if Copy(dst, src, test.count, test.to, test.from, test.size); !slices.Equal(dst, want) {
			t.Errorf("%+v: %v, want %v", test, dst, want)
		}
	}
}
