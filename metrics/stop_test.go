package metrics_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/internal/long"
	. "github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/models/hierarchy"
)

// looks is a context that counts calls of Err and ends after a number of calls.
type looks struct {
	context.Context
	seen  atomic.Int64
	until int64 // negative: never
}

func (l *looks) Err() error {
	if n := l.seen.Add(1); l.until >= 0 && n > l.until {
		return context.Canceled
	}
	return nil
}

// largeInput suits every metric: 16,500 rows of 24 columns, with circles, a hierarchy and components.
func largeInput() *Input {
	in := wide(16500, 24)
	for _, j := range []int{2, 3} {
		in.Factors[j].Kind = factor.Circular
	}
	in.Hierarchy, in.TrueHierarchy = make(hierarchy.Hierarchy, 24), make(hierarchy.Hierarchy, 5)
	for i := range in.Codes.Rows {
		in.Components, in.Paths = append(in.Components, i%3), append(in.Paths, i%2)
	}
	return in
}

// quick lists metrics that read each row at most once, and end quickly without checks.
var quick = map[string]bool{"purity": true, "coverage": true, "h-error": true, "description-length": true,
	"total-correlation": true, "wasserstein-correlation": true}

// Every metric ends with its context: at once if the context has ended, otherwise at the next check. Checks are
// frequent: the work between two checks is a small fraction of the total.
func TestStop(t *testing.T) {
	long.NotShort(t)
	in := largeInput()
	for _, e := range entries() {
		t.Run(e.Name, func(t *testing.T) {
			choices := []Choice{{Name: e.Name, Value: e.New()}}
			if err := Suits(in, choices); err != nil {
				if e.Name != "dlsbd-workshop" { // dlsbd-workshop needs a full grid
					t.Error(err)
				}
				return
			}
			for _, until := range long.Sample([]int64{0, 1, 7, 30, 2}, 2) {
				ctx := &looks{Context: context.Background(), until: until}
				_, err := Evaluate(ctx, in, 1, choices)
				seen := ctx.seen.Load()
				if seen <= until {
					if !quick[e.Name] && until < 7 {
						t.Errorf("it looks %d times in all, which is too seldom", seen)
					}
					return
				}
				if !errors.Is(err, context.Canceled) {
					t.Errorf("the context ended after %d looks: error %v", until, err)
				}
				if after := seen - until; after > 40 {
					t.Errorf("the context ended after %d looks, and %d follow", until, after)
				}
			}
		})
	}
}
