package rehearsal

import (
	"errors"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// Time grows with a power of the rows between 1 and 2.
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
		if got := grown(c.before, c.last, c.k, c.n); !(math.Abs(got-c.want) <= 1e-6) {
			t.Errorf("%v, then %v of %d rows: %v s of %d, want %v", c.before, c.last, c.k, got, c.n, c.want)
		}
	}
}

// Rehearsals use more and more rows, up to all, until two sizes are known and the time suffices. Work that fails on few
// rows is tried on more.
func TestGrow(t *testing.T) {
	for _, c := range []struct {
		name  string
		rows  int
		fails int // fails on fewer rows
		begin time.Duration
		row   time.Duration
		tried []int
		want  float64
	}{
		{"few rows", 1000, 0, 0, time.Millisecond, []int{1000}, 1},
		{"fast", 5000, 0, 0, time.Microsecond, []int{1024, 2048, 4096, 5000}, 0.005},
		{"begins slowly", 5000, 0, 4 * growTime / 2, time.Microsecond, []int{1024, 2048}, 0.005},
		{"begins less slowly", 5000, 0, 4*growTime/3 - time.Millisecond, time.Microsecond, []int{1024, 2048, 4096}, 0.005},
		{"slow", 8192, 0, 0, time.Second, []int{1024, 2048}, 8192},
		{"as long as enough", 8192, 0, 0, growTime / 2048, []int{1024, 2048, 4096}, 8192 * (growTime / 2048).Seconds()},
		{"longer than enough", 8192, 0, 0, growTime/2048 + 1, []int{1024, 2048}, 8192 * (growTime/2048 + 1).Seconds()},
		{"fails on few", 5000, 2000, 0, time.Second, []int{1024, 2048, 4096}, 5000},
		{"fails until all", 3000, 3000, 0, time.Second, []int{1024, 2048, 3000}, 3000},
	} {
		synctest.Test(t, func(t *testing.T) {
			var tried []int
			got, err := Grow(t.Context(), c.rows, func(k int) (time.Time, error) {
				tried = append(tried, k)
				time.Sleep(c.begin)
				begin := time.Now()
				if k < c.fails {
					return begin, errors.New("too few")
				}
				time.Sleep(time.Duration(k) * c.row)
				return begin, nil
			})
			if err != nil || !slices.Equal(tried, c.tried) || !(math.Abs(got-c.want) <= 1e-6*c.want) {
				t.Errorf("%s: tried %v, %v s, %v; want %v, %v s", c.name, tried, got, err, c.tried, c.want)
			}
		})
	}
}
