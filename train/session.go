package train

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/unravel-ml/unravel/internal/runstore"
	"github.com/unravel-ml/unravel/internal/safetensors"
	"github.com/unravel-ml/unravel/internal/tfevents"
	"github.com/unravel-ml/unravel/metrics"
)

// The files of a run besides those of its checkpoint.
const (
	logFile     = "log.jsonl"
	metricsFile = "metrics.json"
	codesFile   = "codes.npy"
	factorsFile = "factors.npy"
	reportFile  = "report.html"
	figuresDir  = "figures"
)

// session is one sitting of a run: its folder, its logs and the hooks that fill them.
type session struct {
	experiment *Experiment
	trainer    *Trainer
	store      *runstore.Run
	config     string
	log        io.Writer
	lines      *runstore.Log
	events     *tfevents.Writer
	saved      time.Time // of the last checkpoint
	done       bool      // training has ended
	last       []ObjectiveLoss
}

// logLine is a line of log.jsonl: a finished epoch, or an evaluation.
type logLine struct {
	Step    int                           `json:"step"`
	Epoch   int                           `json:"epoch"`
	Images  int                           `json:"images,omitempty"`
	Seconds float64                       `json:"seconds,omitempty"`
	Losses  map[string]map[string]float64 `json:"losses,omitempty"`
	Metrics map[string]float64            `json:"metrics,omitempty"`
}

func (s *session) say(format string, args ...any) {
	if s.log != nil {
		fmt.Fprintf(s.log, format+"\n", args...)
	}
}

// restore continues from the folder's checkpoint; without one, from the beginning.
func (s *session) restore() error {
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
		if err := s.store.Restore(checkpointFile); err != nil {
			return err
		}
	}
	if err := s.trainer.restore(f, state); err != nil {
		return fmt.Errorf("the checkpoint does not fit the config: %w", err)
	}
	s.done = state.Done && s.trainer.epoch >= s.trainer.settings.Epochs
	s.say("continuing after step %d (%d epochs)", state.Step, state.Epoch)
	return nil
}

// openLogs opens the logs and drops what they hold of steps that will be taken again.
func (s *session) openLogs() (err error) {
	step := int64(s.trainer.step)
	if !s.store.Has(logFile) {
		if s.lines, err = s.store.CreateLog(logFile); err != nil {
			return err
		}
	} else if s.lines, err = s.store.ResumeLog(logFile, step); err != nil {
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
	if s.done {
		return nil
	}
	if s.log != nil {
		t.AddHook(progressHook(t, s.log))
	}
	t.AddHook(Hook{Name: "log", Epoch: s.logEpoch})
	if every := t.settings.Evaluate; every > 0 && len(s.experiment.Config.Metrics) > 0 {
		t.AddHook(Hook{Name: "evaluation", Epoch: func(r *EpochReport) error {
			if r.Epoch%every != 0 {
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
	if err := s.store.WriteKeep(checkpointFile, func(w io.Writer) error { return safetensors.Write(w, f) }); err != nil {
		return err
	}
	s.saved = time.Now()
	return s.store.Write(stateFile, writeBytes(append(text, '\n')))
}

// logEpoch writes a finished epoch to the logs.
func (s *session) logEpoch(r *EpochReport) error {
	line := logLine{Step: r.Step, Epoch: r.Epoch, Images: r.Images, Seconds: r.Seconds, Losses: map[string]map[string]float64{}}
	var values []tfevents.Value
	for _, l := range r.Losses {
		parts := map[string]float64{}
		for i, name := range l.Names {
			parts[name] = l.Values[i]
			values = append(values, tfevents.Value{Tag: l.Objective + "/" + name, Scalar: float32(l.Values[i])})
		}
		line.Losses[l.Objective] = parts
	}
	s.last = r.Losses
	if err := s.events.Write(int64(r.Step), values...); err != nil {
		return err
	}
	return s.lines.Append(line)
}

// evaluate measures the model in the middle of training.
func (s *session) evaluate(ctx context.Context, r *EpochReport) error {
	codes, err := s.experiment.Codes(ctx)
	if err != nil {
		return err
	}
	results, err := s.experiment.Evaluate(codes, s.experiment.Config.Metrics)
	if err != nil {
		return err
	}
	if err := s.logMetrics(r.Epoch, r.Step, results); err != nil {
		return err
	}
	stop := s.trainer.settings.Stop
	for _, m := range results {
		s.say("epoch %d  %s %.4g", r.Epoch, m.Name, m.Value)
		if stop == nil || stop.Metric != m.Name {
			continue
		}
		why, err := s.trainer.watch.observe(stop, m)
		if err != nil {
			s.say("%s", why)
			return err
		}
	}
	return nil
}

func (s *session) logMetrics(epoch, step int, results []metrics.Result) error {
	line := logLine{Step: step, Epoch: epoch, Metrics: map[string]float64{}}
	for _, m := range results {
		line.Metrics[m.Name] = m.Value
		if err := s.events.Scalar("metrics/"+m.Name, int64(step), float32(m.Value)); err != nil {
			return err
		}
	}
	return s.lines.Append(line)
}
