package rehearsal

import (
	"errors"
	"math"
	"testing"
	"time"
)

// Time grows by a power of the rows between the first and the second power.
func TestGrown(t *testing.T) {
	for _, c := range []struct {
		before, last time.Duration
		k, n         int
		want         float64
	}{
		{0, 3 * time.Second, 100, 100, 3},
		{0, 3 * time.Second, 100, 200, 6},
		{time.Second, 2 * time.Second, 100, 400, 8},
		{time.Second, 4 * time.Second, 100, 400, 64},
		{time.Second, 16 * time.Second, 100, 200, 64},
		{time.Second, time.Second, 100, 200, 1},
		{time.Second, 1500 * time.Millisecond, 100, 400, 4.5},
		{2 * time.Second, time.Second, 100, 400, 1},
		{4 * time.Second, 10 * time.Second, 50, 200, 62.5},
	} {
		if got := grown(c.before, c.last, c.k, c.n); math.Abs(got-c.want) > 1e-6 {
			t.Errorf("%v, then %v of %d rows: %v s of %d, want %v", c.before, c.last, c.k, got, c.n, c.want)
		}
	}
}

// Work is tried on more and more rows, up to all. Work that fails on few rows is tried on more.
func TestGrow(t *testing.T) {
	var tried []int
	_, err := Grow(t.Context(), 5000, func(k int) (time.Time, error) {
		if tried = append(tried, k); k < 2000 {
			return time.Now(), errors.New("too few")
		}
		return time.Now(), nil
	})
	if err != nil || len(tried) != 4 || tried[0] != 1024 || tried[3] != 5000 {
		t.Errorf("tried %v, %v", tried, err)
	}
}
