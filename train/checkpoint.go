package train

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"time"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/internal/safetensors"
	"github.com/unravel-ml/unravel/internal/version"
	"github.com/unravel-ml/unravel/internal/wording"
	"github.com/unravel-ml/unravel/train/engine"
	"github.com/unravel-ml/unravel/train/internal/checkpoint"
	"github.com/unravel-ml/unravel/train/internal/monitor"
	"github.com/unravel-ml/unravel/train/rundir"
)

// saveHook saves a checkpoint every given number of seconds (0: only at the end), and when training ends or is stopped.
func (s *session) saveHook(every float64) engine.Hook {
	s.saved = time.Now()
	due := func(l *engine.Loop) error {
		if every <= 0 || l.Stopped() != "" || time.Since(s.saved).Seconds() < every {
			return nil
		}
		return s.save(false)
	}
	return engine.Hook{Name: "checkpoint", Priority: savePriority, NoParams: true,
		OnStep:  func(_ context.Context, l *engine.Loop, _ *engine.StepReport) error { return due(l) },
		OnEpoch: func(_ context.Context, l *engine.Loop, _ *engine.EpochReport) error { return due(l) },
		OnEnd: func(_ context.Context, l *engine.Loop, reason error) error {
			switch {
			case reason == nil:
				return s.save(true)
			case errors.Is(reason, ErrStopped):
				if err := s.save(false); err != nil {
					return err
				}
				dir := s.store.Dir()
				s.console.Info("saved", fmt.Sprintf("saved after step %d in %s", l.Step(), dir), "step", l.Step(), "dir", dir)
			}
			return nil
		}}
}

// save writes a checkpoint and keeps the number of earlier checkpoints that the config sets.
func (s *session) save(done bool) error {
	if err := s.store.Present(); err != nil {
		return err
	}
	f, text, err := s.checkpoint(done)
	if err != nil {
		return err
	}
	if err := s.logs.Sync(); err != nil {
		return err
	}
	err = writeCheckpoint(s.store, s.experiment.Config.Train.Keep.Last, f, text)
	s.saved = time.Now()
	return err
}

// writeCheckpoint writes a checkpoint and its state, and keeps the last checkpoints.
func writeCheckpoint(store *rundir.Run, last int, f *safetensors.File, state []byte) error {
	tensors := func(w io.Writer) error { return safetensors.Write(w, f) }
	if err := store.WriteLast(rundir.CheckpointFile, last, tensors); err != nil {
		return err
	}
	return store.Write(rundir.StateFile, rundir.Bytes(append(state, '\n')))
}

// checkpoint collects everything that the run needs to continue.
func (s *session) checkpoint(done bool) (*safetensors.File, []byte, error) {
	state := checkpoint.State{Watch: s.watch, Best: (*checkpoint.Best)(s.best), Done: done, Config: s.config,
		Kernels: s.kernels, Start: s.experiment.Start, History: s.trainedBy()}
	if s.stop.Enough() == "" { // otherwise the next session decides for itself
		state.Stopped = s.loop.Stopped()
	}
	return checkpoint.Encode(s.loop, state)
}

// Best is the best evaluation of a metric during training.
type Best struct {
	Metric string  `json:"metric"`
	Value  float64 `json:"value"`
	Epoch  int     `json:"epoch"` // epochs finished
	Step   int     `json:"step"`
}

// bestHook keeps the checkpoint of the best evaluation. A continued run repeats the same comparisons.
func (s *session) bestHook(m *monitor.Monitor) engine.Hook {
	return engine.Hook{Name: "best checkpoint", Priority: bestPriority, OnEpoch: func(_ context.Context, _ *engine.Loop, r *engine.EpochReport) error {
		if m.MeasuredAt != r.Epoch {
			return nil
		}
		for _, x := range m.Results {
			if x.Name != s.experiment.Config.Train.Keep.Best || math.IsNaN(x.Value) ||
				s.best != nil && !monitor.Improves(x, s.best.Value) {
				continue
			}
			s.best = &Best{Metric: x.Name, Value: x.Value, Epoch: r.Epoch, Step: r.Step}
			f, _, err := s.checkpoint(false)
			if err == nil {
				err = s.store.Write(rundir.BestFile, func(w io.Writer) error { return safetensors.Write(w, f) })
			}
			if err != nil {
				return err
			}
		}
		return nil
	}}
}

// HashParameters hashes the parameters in the newest checkpoint of a run's folder: SHA-256 of names, shapes and bits
// of the values, in the order of the file.
func HashParameters(dir string) (string, error) {
	c, err := checkpoint.Read(dir)
	if err != nil {
		return "", err
	}
	return c.HashParameters()
}

// trainingConfig returns the training config of a checkpoint, or of its folder if the checkpoint has none.
func trainingConfig(s *checkpoint.State, dir string) (Config, error) {
	if s.Config == "" {
		return ReadConfig(dir)
	}
	c, err := LoadWhole(filepath.Join(dir, rundir.CheckpointFile), []byte(s.Config))
	if err != nil {
		return c, fmt.Errorf("the config in the checkpoint: %w", err)
	}
	return c, nil
}

// Unlike returns the history of an unfinished run, from the state in its checkpoint. It also says why the run differs
// from a run of its config c, or returns "" if the run agrees so far. text is the text of c. A run without a readable
// checkpoint has taken no step.
func Unlike(dir string, c Config, text []byte) (h rundir.History, why string) {
	s := checkpoint.ReadState(dir)
	if s == nil {
		return nil, ""
	}
	if why = s.History.Other(); why != "" || s.Config == string(text) {
		return s.History, why
	}
	original, err := trainingConfig(s, dir)
	if err == nil {
		err = original.sameTraining(c)
	}
	if err == nil && s.Step > 0 && watchesDiffer(original, c) {
		why = watchedChanged
	}
	if err == nil && s.Epoch > c.Train.Epochs {
		err = config.Invalid("train.epochs", "%w", tooFewEpochs(c.Train.Epochs, s.Epoch))
	}
	if err != nil {
		why = err.Error()
	}
	return s.History, why
}

// tooFewEpochs returns the error for a config with fewer epochs than a run has trained.
func tooFewEpochs(epochs, trained int) error {
	return fmt.Errorf("%d: the run has trained %s; want %d or more, or another folder for a shorter run",
		epochs, wording.Count(trained, "epoch"), trained)
}

// continueHistory adds a state's history to a continued run. It rejects a length that the run has already exceeded.
func (s *session) continueHistory(state *checkpoint.State, original Config) error {
	l := s.loop
	epochs := s.experiment.Config.Train.Epochs
	if steps := l.EpochSteps(); l.Step() > epochs*steps {
		trained := int(math.Ceil(float64(l.Step()) / float64(steps)))
		return s.experiment.Config.mistake("train.epochs", tooFewEpochs(epochs, trained))
	}
	s.startStep, s.history = l.Step(), state.History
	if s.history == nil {
		s.history = s.legacyHistory(state, original)
	}
	if err := s.history.Check(l.Step()); err != nil {
		return fmt.Errorf("%s: the checkpoint's %w", s.store.Dir(), err)
	}
	difference := s.otherTraining(original)
	if n := len(s.history); difference != "" && s.history[n-1].Other == "" {
		s.history[n-1].Other = difference
		s.console.Note("history", fmt.Sprintf("up to step %d %s: the run no longer matches its config, "+
			"so sweeps and tables do not count it; train the config in another folder", l.Step(), difference), "step", l.Step())
	}
	return nil
}

// legacyHistory returns one segment for a checkpoint from a version of the program that recorded no history.
func (s *session) legacyHistory(state *checkpoint.State, original Config) rundir.History {
	segment := rundir.Segment{To: state.Step, Kernels: state.Kernels}
	segment.Config, _ = original.Hash() // a config that was loaded can be encoded
	if r, err := rundir.ReadRecord(s.store.Dir()); err == nil && r != nil && r.Steps == state.Step {
		segment.Version, segment.Generation = r.Version, r.Generation
	}
	return rundir.History{segment}
}

// otherTraining says how this session's config would have changed the training so far, or returns "".
func (s *session) otherTraining(original Config) string {
	current := &s.experiment.Config
	if s.loop.Step() == 0 {
		return ""
	}
	if difference := s.loop.ByLength(original.Train.Epochs); difference != "" {
		return difference
	}
	if watchesDiffer(original, *current) {
		return watchedChanged
	}
	if oldDevice, newDevice := original.Train.Device.String(), current.Train.Device.String(); oldDevice != newDevice {
		return fmt.Sprintf("train.device was %s, and is %s now", oldDevice, newDevice)
	}
	return ""
}

// watchedChanged says why a run differs from its config when training watched other results.
const watchedChanged = "train.stop, train.keep.best or the metrics that they watch were others"

// watchesDiffer reports whether two configs stop training or keep checkpoints by different results.
func watchesDiffer(original, current Config) bool {
	before, errBefore := original.watches()
	after, errAfter := current.watches()
	return errBefore == nil && errAfter == nil && after != "" && before != after
}

// watches returns the settings that decide when training stops and which checkpoint is kept, or "".
func (c *Config) watches() (string, error) {
	t, m := &c.Train, c.Metrics
	if t.Stop == nil && t.Keep.Best == "" {
		return "", nil
	}
	watched := struct {
		Stop  *EarlyStop `yaml:"stop"`
		Best  string     `yaml:"best"`
		Looks int        `yaml:"looks"`
		On    *Measures  `yaml:"on"`
	}{Stop: t.Stop, Best: t.Keep.Best}
	if t.Keep.Best != "" || t.Stop.Metric != "" {
		if !m.During.empty() {
			m.Final = nil
		}
		watched.On = &m
		if m.Every == 0 && t.Stop.bySentence(m.listed(t.Stop)) {
			watched.Looks = max(1, t.Epochs/minEvaluations)
		}
	}
	text, err := config.Encode(watched)
	return string(text), err
}

// attribute records which configs, versions and kernels trained the model.
func (s *session) attribute(r *rundir.Record) {
	history := append(slices.Clone(s.history), s.segment()) // the last one did the measuring, even if it took no step
	r.History, r.Version, r.Machine.Kernels = s.trainedBy(), history.Versions(), s.kernels
	r.Generation = r.History.Generation()
}

func (s *session) recordFailure(failure error) error {
	r := rundir.NewRecord(s.begun)
	s.attribute(r)
	r.Error = failure.Error()
	return r.Write(s.store)
}

func (s *session) trainedBy() rundir.History { return s.history.Add(s.segment()) }

// segment returns this session's part of the training.
func (s *session) segment() rundir.Segment {
	part := rundir.Segment{From: s.startStep, To: s.loop.Step(), Version: version.Code(), Generation: version.Generation()}
	part.Config, _ = s.experiment.Config.Hash() // the config was encoded when the session began
	part.Kernels, _ = s.instructions()          // as openSession has asked
	if s.files != nil {
		if text, err := json.Marshal(s.files); err == nil {
			part.Data = rundir.FileHash(text)
		}
	}
	return part
}
