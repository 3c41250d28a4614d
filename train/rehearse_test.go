package train

import (
	"context"
	"errors"
	"math"
	"os"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unravel-ml/unravel/internal/long"
)

func TestRehearse(t *testing.T) {
	long.NotShort(t)
	t.Setenv("TMPDIR", t.TempDir())
	one, err := Rehearse(t.Context(), loadRecorded(t), false)
	if err != nil || one.Begin <= 0 || one.Training <= 0 || one.Step <= 0 || one.Steps < 1 || one.Encode <= 0 || one.Learn != 0 {
		t.Fatalf("%+v, %v", one, err)
	}
	many, err := Rehearse(t.Context(), loadRecorded(t, "train.epochs=300000"), true)
	if err != nil || many.Training < 100*one.Training || many.Encode != 0 || many.Measure != 0 || many.Draw != 0 {
		t.Errorf("%+v for 100000 times as many epochs as in %+v, %v", many, one, err)
	}
	drawn, err := Rehearse(t.Context(), loadRecorded(t, "train.figures=true", "metrics.final=[mig]", "metrics.during=fast", "metrics.every=1"), false)
	if err != nil || drawn.Draw <= 0 || drawn.Measure <= 0 || drawn.During <= 0 {
		t.Errorf("with figures and metrics: %+v, %v", drawn, err)
	}
	if with := many.With(drawn); with.Training != many.Training || with.Draw != drawn.Draw || with.Seconds() <= many.Training {
		t.Errorf("%+v with what follows training of %+v: %+v", many, drawn, with)
	}
	if _, err := Rehearse(t.Context(), loadRecorded(t, "losses=[lsbd]"), false); err == nil {
		t.Error("a loss that does not fit")
	}
	if r, err := Rehearse(t.Context(), seenConfig(t, "byol"), false); err != nil || r.Training <= 0 {
		t.Errorf("of views: %+v, %v", r, err)
	}
	if r, err := Rehearse(t.Context(), seenConfig(t, "byol", "train.epochs=0"), false); err != nil || r.Step != 0 {
		t.Errorf("without training: %+v, %v", r, err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Rehearse(ended, loadRecorded(t), false); !errors.Is(err, ErrStopped) {
		t.Errorf("ended: %v", err)
	}
	if left, err := os.ReadDir(os.Getenv("TMPDIR")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

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

// Work is tried on more and more rows, up to all, until two sizes are known and the time is enough. Work that fails on few
// rows is tried on more.
func TestGrow(t *testing.T) {
	for _, c := range []struct {
		name  string
		rows  int
		fails int // on fewer rows
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
			got, err := grow(t.Context(), c.rows, func(k int) (time.Time, error) {
				tried = append(tried, k)
				time.Sleep(c.begin)
				begin := time.Now()
				if k < c.fails {
					return begin, errors.New("too few")
				}
				time.Sleep(time.Duration(k) * c.row)
				return begin, nil
			})
			if err != nil || !slices.Equal(tried, c.tried) || math.Abs(got-c.want) > 1e-6*c.want {
				t.Errorf("%s: tried %v, %v s, %v; want %v, %v s", c.name, tried, got, err, c.tried, c.want)
			}
		})
	}
}
