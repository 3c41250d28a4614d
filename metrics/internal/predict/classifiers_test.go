package predict

import (
	"slices"
	"testing"
)

func TestFoldBounds(t *testing.T) {
	for n, want := range map[int][]int{2: {0, 1, 2}, 5: {0, 1, 2, 3, 4, 5}, 12: {0, 3, 6, 8, 10, 12}, 20: {0, 4, 8, 12, 16, 20}} {
		if got := foldBounds(n); !slices.Equal(got, want) {
			t.Errorf("%d rows: %v", n, got)
		}
	}
}
