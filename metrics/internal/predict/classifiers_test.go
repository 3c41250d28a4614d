package predict

import (
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
)

func TestFoldBounds(t *testing.T) {
	for n, want := range map[int][]int{2: {0, 1, 2}, 5: {0, 1, 2, 3, 4, 5}, 12: {0, 3, 6, 8, 10, 12}, 20: {0, 4, 8, 12, 16, 20}} {
		must.EqualSlices(t, foldBounds(n), want, n, "rows")
	}
}
