// Package monitor watches a model during training: it measures metrics, and ends training by a metric or a loss.
package monitor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/metrics/matrix"
	"github.com/unravel-ml/unravel/train/engine"
	"github.com/unravel-ml/unravel/train/internal/watch"
)

// Monitor measures the model during training.
type Monitor struct {
	Choices []metrics.Choice
	Data    datasets.Dataset
	Images  []int // the images to measure
	Every   int   // interval in epochs
	Seed    uint64
	Coder   Encoder
	InputOf func(codes matrix.Matrix, images []int) *metrics.Input

	Results    []metrics.Result
	Codes      matrix.Matrix // codes of Images
	MeasuredAt int           // epoch of Results and Codes
}

// Encoder encodes images of a data set.
type Encoder interface {
	Width() int
	Encode(ctx context.Context, d datasets.Dataset, images []int) ([]float32, error)
}

// Direction returns whether larger or smaller values of a result are better.
func (m *Monitor) Direction(result string) metrics.Direction {
	for i, name := range metrics.ResultNames(m.Choices) {
		if name == result {
			return m.Choices[i].Value.Better()
		}
	}
	return metrics.HigherIsBetter // the metric does not suit the data
}

func (m *Monitor) Measure(ctx context.Context) ([]metrics.Result, error) {
	codes, err := m.Coder.Encode(ctx, m.Data, m.Images)
	if err != nil {
		return nil, err
	}
	m.Codes = metrics.NewMatrix(len(m.Images), m.Coder.Width(), codes)
	results, err := metrics.Evaluate(ctx, m.InputOf(m.Codes, m.Images), m.Seed, m.Choices)
	if err != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		err = engine.ErrStopped
	}
	return results, err
}

// Hook evaluates the model every m.Every epochs.
func (m *Monitor) Hook(priority int, g *watch.Logs, c *watch.Console) engine.Hook {
	measure := func(ctx context.Context, _ *engine.Loop, r *engine.EpochReport) error {
		begun := time.Now()
		results, err := m.Measure(ctx)
		if err != nil {
			return err
		}
		m.Results, m.MeasuredAt = results, r.Epoch
		if err := g.Metrics(r.Epoch, r.Step, time.Since(begun), results); err != nil {
			return err
		}
		line, values := fmt.Sprintf("epoch %d", r.Epoch), []any{"epoch", r.Epoch, "step", r.Step}
		for _, m := range results {
			line += fmt.Sprintf("  %s %.4g", m.Name, m.Value)
			values = append(values, m.Name, m.Value)
		}
		c.Info("measured", line, values...)
		return nil
	}
	return engine.Hook{Name: "evaluation", Priority: priority, OnEpoch: engine.EveryEpochs(m.Every, measure)}
}

// maxAlbum is the maximum number of evaluations with pictures in TensorBoard's file; TensorBoard shows ten by default.
const maxAlbum = 10

// Pictured returns the number of evaluations with pictures in the given number of epochs.
func (m *Monitor) Pictured(epochs int) int { return min(epochs/m.Every, maxAlbum) }

// Pictures is a hook that draws after some evaluations: all of them, or the last one and evenly spaced ones before it.
func (m *Monitor) Pictures(priority int, draw func(step int) error) engine.Hook {
	picture := func(_ context.Context, _ *engine.Loop, r *engine.EpochReport) error {
		all, this := r.Of/m.Every, r.Epoch/m.Every
		if m.MeasuredAt != r.Epoch || (all-this)%((all+maxAlbum-1)/maxAlbum) != 0 {
			return nil
		}
		return draw(r.Step)
	}
	return engine.Hook{Name: "pictures", Priority: priority, OnEpoch: picture}
}

// Improves reports whether a result is better than another value of the same metric.
func Improves(r metrics.Result, than float64) bool {
	if r.Better == metrics.LowerIsBetter {
		return r.Value < than
	}
	return r.Value > than
}
