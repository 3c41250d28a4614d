package program

import (
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
)

// The next rows take the largest batch that is not mostly empty, and the last program serves single rows.
func TestPoolFor(t *testing.T) {
	s := must.Get(NewPools(func(n int) (*Program, error) { return &Program{Images: n}, nil }))(t)
	for rows, want := range map[int]int{1: 1, 3: 1, 4: 8, 127: 8, 128: 128, 1000: 128} {
		must.Equal(t, s.poolFor(rows).images, want, rows, "rows: a batch")
	}
}
