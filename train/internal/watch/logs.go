package watch

import (
	"context"
	"reflect"
	"slices"
	"time"

	"github.com/unravel-ml/unravel/internal/tfevents"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/train/engine"
	"github.com/unravel-ml/unravel/train/rundir"
)

// Logs are the log files of a run: log.jsonl and TensorBoard's events.
type Logs struct {
	Store    *rundir.Run
	lines    *rundir.Log
	Settings []tfevents.Setting
	Events   *tfevents.Writer
	Last     rundir.Losses // losses of the last epoch in the log
	measured []rundir.Line // evaluations that the log has for the last evaluated step
}

// Open opens the logs. It drops the lines of the current epoch and of later ones, which will be logged again.
func (g *Logs) Open(l *engine.Loop) (err error) {
	step := int64(l.Step() - l.InEpoch())
	if g.lines, err = g.Store.ResumeLog(rundir.LogFile, step); err != nil {
		return err
	}
	if err := g.Store.ReadLog(func(line rundir.Line) {
		if line.Losses != nil {
			g.Last = line.Losses
		}
		if line.Metrics != nil {
			g.remember(line)
		}
	}); err != nil {
		return err
	}
	return g.openEvents(step)
}

func (g *Logs) Hook(priority int) engine.Hook {
	return engine.Hook{Name: "log", Priority: priority,
		OnEpoch: func(_ context.Context, _ *engine.Loop, r *engine.EpochReport) error { return g.epoch(r) }}
}

func (g *Logs) epoch(r *engine.EpochReport) error {
	if err := g.Store.Present(); err != nil {
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
	g.Last = line.Losses
	if err := g.Events.Write(int64(r.Step), values...); err != nil {
		return err
	}
	return g.lines.Append(line)
}

// Metrics logs an evaluation unless the logs already have it, such as the last epoch's evaluation. took is the duration
// of an evaluation during training, which counts as training; 0 at the end of a run.
func (g *Logs) Metrics(epoch, step int, took time.Duration, results []metrics.Result) error {
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
	line.Seconds = took.Seconds()
	for _, m := range results {
		if err := g.Events.Scalar("metrics/"+m.Name, int64(step), float32(m.Value)); err != nil {
			return err
		}
	}
	return g.lines.Append(line)
}

func (g *Logs) remember(line rundir.Line) {
	if len(g.measured) > 0 && g.measured[0].Step != line.Step {
		g.measured = nil
	}
	line.Seconds = 0 // a repeated evaluation takes another time
	g.measured = append(g.measured, line)
}

func (g *Logs) Sync() error {
	if g.lines == nil {
		return nil
	}
	if err := g.lines.Sync(); err != nil {
		return err
	}
	return g.Events.Flush()
}

func (g *Logs) Close() {
	if g.lines != nil {
		_ = g.lines.Close()
	}
	if g.Events != nil {
		_ = g.Events.Close()
	}
}
