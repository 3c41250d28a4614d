package train

import (
	"context"
	"io"
	"math"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/internal/safetensors"
	"github.com/unravel-ml/unravel/train/engine"
	"github.com/unravel-ml/unravel/train/internal/monitor"
	"github.com/unravel-ml/unravel/train/rundir"
)

// Keep says which checkpoints a run keeps.
type Keep struct {
	Best string `yaml:"best" doc:"metric measured during training; its best evaluation is kept in best.safetensors; empty: none"`
	Last int    `yaml:"last" doc:"number of newest checkpoints to keep: checkpoint.safetensors, the previous one (.prev), the one before (.prev2) and so on"`
}

// maxKept is the largest number of kept checkpoints.
const maxKept = 1000

// Validate checks the settings' ranges.
func (k *Keep) Validate() error {
	if k.Last < 1 || k.Last > maxKept {
		return config.Invalid("last", "%d is out of range; want 1 to %d", k.Last, maxKept)
	}
	return nil
}

// Best is the best evaluation of a metric during training.
type Best struct {
	Metric string  `json:"metric"`
	Value  float64 `json:"value"`
	Epoch  int     `json:"epoch"` // epochs finished
	Step   int     `json:"step"`
}

// keeper keeps the checkpoint of the best evaluation.
type keeper struct {
	session *session
	monitor *monitor.Monitor
}

// hook compares an epoch's evaluation, if any, with the best. A run that continues from an earlier step finds and
// writes the same again.
func (k *keeper) hook() engine.Hook {
	return engine.Hook{Name: "best checkpoint", Priority: bestPriority, OnEpoch: func(_ context.Context, _ *engine.Loop, r *engine.EpochReport) error {
		if k.monitor.MeasuredAt != r.Epoch {
			return nil
		}
		for _, m := range k.monitor.Results {
			best := k.session.best
			if m.Name != k.session.experiment.Config.Train.Keep.Best || math.IsNaN(m.Value) || best != nil && !monitor.Improves(m, best.Value) {
				continue
			}
			k.session.best = &Best{Metric: m.Name, Value: m.Value, Epoch: r.Epoch, Step: r.Step}
			if err := k.write(); err != nil {
				return err
			}
		}
		return nil
	}}
}

// write replaces the best checkpoint by the state of the session.
func (k *keeper) write() error {
	f, _, err := k.session.checkpoint(false)
	if err != nil {
		return err
	}
	return k.session.store.Write(rundir.BestFile, func(w io.Writer) error { return safetensors.Write(w, f) })
}
