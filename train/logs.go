package train

import (
	"context"
	"reflect"
	"slices"

	"github.com/unravel-ml/unravel/internal/tfevents"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/train/engine"
	"github.com/unravel-ml/unravel/train/rundir"
)

// logs are the log files of a run: log.jsonl and TensorBoard's events.
type logs struct {
	store    *rundir.Run
	lines    *rundir.Log
	settings []tfevents.Setting
	events   *tfevents.Writer
	last     rundir.Losses // losses of the last epoch in the log
	measured []rundir.Line // evaluations in the log at the last evaluated step
}

// open opens the logs. It drops lines of the current epoch and later ones; they will be logged again.
func (g *logs) open(l *engine.Loop) (err error) {
	step := int64(l.Step() - l.InEpoch())
	if !g.store.Has(rundir.LogFile) {
		if g.lines, err = g.store.CreateLog(rundir.LogFile); err != nil {
			return err
		}
	} else if g.lines, err = g.store.ResumeLog(rundir.LogFile, step); err != nil {
		return err
	}
	if err := g.store.ReadLog(func(line rundir.Line) {
		if line.Losses != nil {
			g.last = line.Losses
		}
		if line.Metrics != nil {
			g.remember(line)
		}
	}); err != nil {
		return err
	}
	return g.openEvents(step)
}

// hook logs every epoch.
func (g *logs) hook() engine.Hook {
	return engine.Hook{Name: "log", Priority: logPriority, OnEpoch: func(_ context.Context, _ *engine.Loop, r *engine.EpochReport) error { return g.epoch(r) }}
}

// epoch writes a finished epoch to the logs.
func (g *logs) epoch(r *engine.EpochReport) error {
	if err := g.store.Present(); err != nil {
		return err
	}
	line := rundir.Line{Step: r.Step, Epoch: r.Epoch, Images: r.Images, Seconds: r.Seconds, Losses: rundir.Losses{}}
	var values []tfevents.Value
	for _, l := range r.Losses {
		parts := map[string]float64{}
		for i, name := range l.Names {
			parts[name] = l.Values[i]
			values = append(values, tfevents.Value{Tag: l.Objective + "/" + name, Scalar: float32(l.Values[i])})
		}
		line.Losses[l.Objective] = parts
	}
	g.last = line.Losses
	if err := g.events.Write(int64(r.Step), values...); err != nil {
		return err
	}
	return g.lines.Append(line)
}

// metrics writes an evaluation to the logs, unless they have it already: the last epoch's, or the evaluation of a
// resumed finished run.
func (g *logs) metrics(epoch, step int, results []metrics.Result) error {
	if len(results) == 0 {
		return nil
	}
	line := rundir.Line{Step: step, Epoch: epoch, Metrics: map[string]float64{}}
	for _, m := range results {
		line.Metrics[m.Name] = m.Value
	}
	if slices.ContainsFunc(g.measured, func(old rundir.Line) bool { return reflect.DeepEqual(line, old) }) {
		return nil
	}
	g.remember(line)
	for _, m := range results {
		if err := g.events.Scalar("metrics/"+m.Name, int64(step), float32(m.Value)); err != nil {
			return err
		}
	}
	return g.lines.Append(line)
}

// remember records an evaluation that the log already has.
func (g *logs) remember(line rundir.Line) {
	if len(g.measured) > 0 && g.measured[0].Step != line.Step {
		g.measured = nil
	}
	g.measured = append(g.measured, line)
}

// sync waits until open logs are on disk.
func (g *logs) sync() error {
	if g.lines == nil {
		return nil
	}
	if err := g.lines.Sync(); err != nil {
		return err
	}
	return g.events.Flush()
}

func (g *logs) close() {
	if g.lines != nil {
		_ = g.lines.Close()
	}
	if g.events != nil {
		_ = g.events.Close()
	}
}
