package train

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"reflect"
	"time"

	"github.com/unravel-ml/unravel/internal/safetensors"
	"github.com/unravel-ml/unravel/internal/tfevents"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/runs"
)

// session is one sitting of a run: its folder, its logs and the hooks that fill them.
type session struct {
	experiment *Experiment
	trainer    *Trainer
	monitor    *monitor // nil: nothing is measured during training
	store      *runs.Run
	config     string
	log        io.Writer
	clear      func() // makes room in log for text, if it shows progress
	progress   func(done, all int)
	finishing  time.Time // when training ended
	lines      *runs.Log
	events     *tfevents.Writer
	saved      time.Time   // of the last checkpoint
	done       bool        // training has ended
	last       runs.Losses // of the last epoch in the log
	fitted     *Fit
	measured   runs.Line // the last evaluation in the log
}

func (s *session) say(format string, args ...any) {
	if s.log != nil {
		if s.clear != nil {
			s.clear()
		}
		fmt.Fprintf(s.log, format+"\n", args...)
	}
}

// restore continues from the folder's checkpoint; without one, from the beginning.
func (s *session) restore() error {
	stored, err := storedConfig(s.store)
	if err != nil {
		return err
	}
	if err := stored.sameTraining(s.experiment.Config); err != nil {
		return &ConfigError{err}
	}
	f, state, warning, err := readCheckpoint(s.store.Dir())
	if errors.Is(err, errNoCheckpoint) {
		s.say("there is no checkpoint yet: starting from the beginning")
		return nil
	}
	if err != nil {
		return err
	}
	if warning != "" {
		s.say("%s", warning)
		if err := s.store.Restore(runs.CheckpointFile); err != nil {
			return err
		}
	}
	if err := s.trainer.restore(f, state); err != nil {
		return fmt.Errorf("%s: %w: %w", s.store.Dir(), errOtherModel, err)
	}
	s.done = state.Done && (s.trainer.epoch >= s.trainer.settings.Epochs || s.enough() != "")
	return nil
}

// openLogs opens the logs and drops what they hold of the epoch under way and
// later ones, which will be logged again.
func (s *session) openLogs() (err error) {
	step := int64(s.trainer.step - s.trainer.inEpoch)
	if !s.store.Has(runs.LogFile) {
		if s.lines, err = s.store.CreateLog(runs.LogFile); err != nil {
			return err
		}
	} else if s.lines, err = s.store.ResumeLog(runs.LogFile, step); err != nil {
		return err
	}
	if err := s.store.ReadLog(func(line runs.Line) {
		if line.Losses != nil {
			s.last = line.Losses
		}
		if line.Metrics != nil {
			s.measured = line
		}
	}); err != nil {
		return err
	}
	old, err := filepath.Glob(s.store.Path("events.out.tfevents.*"))
	if err != nil {
		return err
	}
	if len(old) > 0 {
		s.events, err = tfevents.Resume(old[0], step, time.Now)
	} else {
		s.events, err = tfevents.Create(s.store.Path(fmt.Sprintf("events.out.tfevents.%d.unravel", time.Now().Unix())), time.Now)
	}
	return err
}

func (s *session) close() {
	// What matters was synced when it was written.
	if s.lines != nil {
		_ = s.lines.Close()
	}
	if s.events != nil {
		_ = s.events.Close()
	}
	if s.store != nil {
		_ = s.store.Close()
	}
}

// fit trains to the end and stores a checkpoint, also when it is stopped.
func (s *session) fit(ctx context.Context) error {
	t := s.trainer
	defer func() { s.finishing = time.Now() }()
	if s.done {
		return nil
	}
	if s.progress != nil {
		all := t.settings.Epochs * t.epochSteps()
		s.progress(t.step, all)
		t.AddHook(Hook{Name: "steps", Step: func(r *StepReport) error {
			s.progress(r.Step, all)
			return nil
		}})
	}
	end := func() {}
	if s.log != nil {
		d := newDisplay(t, s.log)
		s.clear, end = d.clear, d.end
		t.AddHook(d.hook)
	}
	t.AddHook(Hook{Name: "log", Epoch: s.logEpoch})
	if s.monitor != nil {
		t.AddHook(Hook{Name: "evaluation", Epoch: func(r *EpochReport) error {
			if r.Epoch%s.monitor.every != 0 {
				return nil
			}
			return s.evaluate(ctx, r)
		}})
	}
	if every := t.settings.Checkpoint; every > 0 {
		t.AddHook(Hook{Name: "checkpoint", Step: func(*StepReport) error {
			if time.Since(s.saved).Seconds() < every {
				return nil
			}
			return s.save(false)
		}, Epoch: func(*EpochReport) error {
			if time.Since(s.saved).Seconds() < every {
				return nil
			}
			return s.save(false)
		}})
	}
	err := t.Fit(ctx)
	end()
	s.clear = nil
	switch {
	case err == nil:
		s.done = true
		return s.save(true)
	case errors.Is(err, ErrStopped):
		if saving := s.save(false); saving != nil {
			return saving
		}
		s.say("saved after step %d in %s", t.step, s.store.Dir())
	}
	return err
}

// save writes a checkpoint and keeps the one before.
func (s *session) save(done bool) error {
	if err := s.store.Present(); err != nil {
		return err
	}
	f, text, err := s.trainer.checkpoint(s.config, done)
	if err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	if err := s.lines.Sync(); err != nil {
		return err
	}
	if err := s.events.Flush(); err != nil {
		return err
	}
	if err := s.store.WriteKeep(runs.CheckpointFile, func(w io.Writer) error { return safetensors.Write(w, f) }); err != nil {
		return err
	}
	s.saved = time.Now()
	return s.store.Write(runs.StateFile, runs.Bytes(append(text, '\n')))
}

// logEpoch writes a finished epoch to the logs.
func (s *session) logEpoch(r *EpochReport) error {
	if err := s.store.Present(); err != nil {
		return err
	}
	line := runs.Line{Step: r.Step, Epoch: r.Epoch, Images: r.Images, Seconds: r.Seconds, Losses: runs.Losses{}}
	var values []tfevents.Value
	for _, l := range r.Losses {
		parts := map[string]float64{}
		for i, name := range l.Names {
			parts[name] = l.Values[i]
			values = append(values, tfevents.Value{Tag: l.Objective + "/" + name, Scalar: float32(l.Values[i])})
		}
		line.Losses[l.Objective] = parts
	}
	s.last = line.Losses
	if err := s.events.Write(int64(r.Step), values...); err != nil {
		return err
	}
	return s.lines.Append(line)
}

// evaluate measures the model in the middle of training.
func (s *session) evaluate(ctx context.Context, r *EpochReport) error {
	results, err := s.monitor.measure(ctx)
	if err != nil {
		return err
	}
	if err := s.logMetrics(r.Epoch, r.Step, results); err != nil {
		return err
	}
	stop := s.trainer.settings.Stop
	line := fmt.Sprintf("epoch %d", r.Epoch)
	for _, m := range results {
		line += fmt.Sprintf("  %s %.4g", m.Name, m.Value)
		if stop != nil && stop.Metric == m.Name {
			s.trainer.watch.observe(m)
		}
	}
	s.say("%s", line)
	if why := s.enough(); why != "" {
		s.say("%s", why)
		return errEnough
	}
	return nil
}

// record notes that the run is finished.
func (s *session) record(begun time.Time) error {
	r := runs.NewRecord(begun)
	r.Epochs, r.Steps, r.Seconds = s.trainer.epoch, s.trainer.step, time.Since(s.finishing).Seconds()
	if err := s.store.ReadLog(func(line runs.Line) { r.Seconds += line.Seconds }); err != nil {
		return err
	}
	return r.Write(s.store)
}

// enough says why training should end early, and nothing if it should not.
func (s *session) enough() string {
	stop := s.trainer.settings.Stop
	if stop == nil {
		return ""
	}
	for i, name := range metrics.ResultNames(s.monitor.choices) {
		if name == stop.Metric {
			return s.trainer.watch.enough(stop, s.monitor.choices[i].Value.Better())
		}
	}
	return ""
}

// logMetrics writes an evaluation to the logs, unless it is there already: that
// of the last epoch, or that of a finished run which is resumed.
func (s *session) logMetrics(epoch, step int, results []metrics.Result) error {
	if len(results) == 0 {
		return nil
	}
	line := runs.Line{Step: step, Epoch: epoch, Metrics: map[string]float64{}}
	for _, m := range results {
		line.Metrics[m.Name] = m.Value
	}
	if reflect.DeepEqual(line, s.measured) {
		return nil
	}
	s.measured = line
	for _, m := range results {
		if err := s.events.Scalar("metrics/"+m.Name, int64(step), float32(m.Value)); err != nil {
			return err
		}
	}
	return s.lines.Append(line)
}
