package cli

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/internal/parallel"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/metrics/matrix"
	"github.com/unravel-ml/unravel/train"
)

// waiting is a metric that runs a test's function.
type waiting func() (metrics.Result, error)

func (waiting) Better() metrics.Direction { return metrics.HigherIsBetter }
func (w waiting) Compute(context.Context, *metrics.Input) (metrics.Result, error) {
	return w()
}

func TestMeasure(t *testing.T) {
	e := func(w waiting) *evaluation {
		return &evaluation{chosen: []metrics.Choice{{Name: "waiting", Value: w}}, in: &metrics.Input{
			Codes: matrix.Matrix{Rows: 1, Cols: 1, Data: []float64{1}}, Levels: []int{0}, Factors: []factor.Factor{{Name: "x", Size: 1}}}}
	}
	never := func() { t.Error("a fast metric was called slow") }
	r, err := e(func() (metrics.Result, error) { return metrics.Result{Value: 3}, nil }).measure(t.Context(), 0, time.Hour, never)
	if err != nil || len(r) != 1 || r[0].Value != 3 || r[0].Name != "waiting" {
		t.Errorf("%v, %v", r, err)
	}
	if _, err = e(func() (metrics.Result, error) { return metrics.Result{}, errors.New("too few") }).measure(t.Context(), 0, time.Hour, never); err == nil || err.Error() != "metric waiting: too few" {
		t.Error(err)
	}
	// slow must be called, because only slow lets the computation end
	release := make(chan struct{})
	slow := e(func() (metrics.Result, error) { <-release; return metrics.Result{}, nil })
	if _, err = slow.measure(t.Context(), 0, time.Nanosecond, func() { close(release) }); err != nil {
		t.Error(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	held := make(chan struct{})
	defer close(held)
	stopped := e(func() (metrics.Result, error) { stop(); <-held; return metrics.Result{}, nil })
	if _, err = stopped.measure(ctx, 0, time.Hour, never); !errors.Is(err, train.ErrStopped) {
		t.Errorf("stopped: %v", err)
	}
	defer func() {
		if p, ok := recover().(*parallel.Panic); !ok || p.Value != "broken" {
			t.Errorf("the panic of a metric became %v", p)
		}
	}()
	_, _ = e(func() (metrics.Result, error) { panic("broken") }).measure(t.Context(), 0, time.Hour, never)
	t.Error("the panic of a metric was lost")
}
