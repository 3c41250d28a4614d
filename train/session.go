package train

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/internal/cputime"
	"github.com/unravel-ml/unravel/internal/kernel"
	"github.com/unravel-ml/unravel/internal/wording"
	"github.com/unravel-ml/unravel/losses"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/models"
	"github.com/unravel-ml/unravel/train/engine"
	"github.com/unravel-ml/unravel/train/internal/checkpoint"
	"github.com/unravel-ml/unravel/train/internal/copies"
	"github.com/unravel-ml/unravel/train/internal/monitor"
	"github.com/unravel-ml/unravel/train/internal/watch"
	"github.com/unravel-ml/unravel/train/rundir"
)

// Priorities of a run's hooks. Options.Hooks have priority 0 by default.
const (
	validationPriority = -500
	progressPriority   = -400
	logPriority        = -300
	measurePriority    = -200
	albumPriority      = -150
	stopPriority       = -100
	bestPriority       = -50
	savePriority       = 100
)

// session is the work of one process on a run: its folder, its loop and its hooks' state.
type session struct {
	experiment *Experiment
	loop       *engine.Loop
	store      *rundir.Run
	config     string          // the resolved config
	files      *datasets.Files // files that the run reads; nil: none
	console    *watch.Console
	logs       *watch.Logs
	stop       *monitor.Stop  // nil: training does not end early
	watch      monitor.Seen   // observations of stop
	best       *Best          // the best evaluation so far; nil: none
	trained    bool           // an earlier session ended training
	trainedAt  time.Time      // when training ended
	saved      time.Time      // when the last checkpoint was written
	begun      time.Time      // when the process began to work on the run
	cpu        time.Duration  // core time of the process before begun
	resumed    bool           // the session continues from a checkpoint
	kernels    string         // instruction sets of the sessions so far, in order
	history    rundir.History // history of the training before this session
	startStep  int            // number of steps before this session
}

// openSession creates or opens the run's folder, adds the hooks to the loop, and restores the loop of a resumed run.
func openSession(ctx context.Context, e *Experiment, l *engine.Loop, m *monitor.Monitor, o Options) (s *session, err error) {
	s = &session{experiment: e, loop: l, console: &watch.Console{Log: o.Log, Terminal: o.Terminal}}
	if s.kernels, err = s.instructions(); err != nil {
		return nil, err
	}
	s.stop = stopRule(e.Config.Train.Stop, m, &s.watch)
	defer func(opened *session) {
		if err != nil {
			opened.close()
		}
	}(s)
	resumed, err := s.openFolder(ctx, o)
	if err != nil {
		return nil, err
	}
	s.logs = &watch.Logs{Store: s.store}
	s.addHooks(m, o)
	if resumed {
		if err := s.restore(); err != nil {
			return nil, err
		}
	}
	if s.logs.Settings, err = watch.Settings(s.config); err != nil {
		return nil, err
	}
	if s.best == nil && e.Config.Train.Keep.Best != "" {
		if err := s.store.Remove(rundir.BestFile); err != nil { // left from a run that starts again
			return nil, err
		}
	}
	if e.Start != nil && l.Step() == 0 { // before the folder becomes a run, which can be resumed without the source
		if err := s.save(false); err != nil {
			return nil, err
		}
	}
	if err := s.noteData(ctx); err != nil {
		return nil, err
	}
	if err := s.checkEdited(); err != nil {
		return nil, err
	}
	if err := s.writeConfig(); err != nil {
		return nil, err
	}
	if err := s.logs.Open(l); err != nil {
		return nil, err
	}
	s.introduce(o, resumed)
	return s, nil
}

// stopRule returns the rule that ends training, or nil without settings. It stores its observations in seen.
func stopRule(s *EarlyStop, m *monitor.Monitor, seen *monitor.Seen) *monitor.Stop {
	if s == nil {
		return nil
	}
	r := &monitor.Stop{Name: s.Metric, Reach: s.Reach, Patience: s.Patience, MinDelta: s.MinDelta, From: s.From,
		Seen: seen}
	if s.Loss != "" {
		r.Name, r.Loss, r.Better = s.Loss, true, metrics.LowerIsBetter
		return r
	}
	r.Monitor, r.Result = m, s.result(m.Choices)
	r.Better = m.Direction(r.Result)
	return r
}

// instructions names the hardware in use: the instruction set of the kernels, and the GPU.
func (s *session) instructions() (string, error) {
	set, err := kernel.InstructionSet()
	if gpu := s.loop.GPU(); gpu != "" {
		set += " + " + gpu
	}
	return set, err
}

func (s *session) openFolder(ctx context.Context, o Options) (resumed bool, err error) {
	if err := s.encodeConfig(); err != nil {
		return false, err
	}
	open := rundir.Create
	if o.resumes() {
		open, resumed = rundir.Open, true
		if o.Wait {
			open = func(dir string) (*rundir.Run, error) { return rundir.OpenPatiently(ctx, dir) }
		}
	}
	s.store, err = open(o.Dir)
	if errors.Is(err, rundir.ErrExists) {
		return false, folderExists(o.Dir)
	}
	if err == nil && o.Once {
		if record, _ := rundir.ReadRecord(o.Dir); record != nil { // a damaged record is written again
			return false, fmt.Errorf("%s: %w, and has ended it", o.Dir, rundir.ErrLocked)
		}
	}
	return resumed, err
}

func (s *session) encodeConfig() error {
	text, err := s.experiment.Config.Encode()
	s.config = string(text)
	return err
}

func folderExists(dir string) error {
	return fmt.Errorf("%s: %w; want it resumed, or another folder", dir, rundir.ErrExists)
}

func (s *session) addHooks(m *monitor.Monitor, o Options) {
	if o.Progress != nil {
		s.loop.AddHook(watch.Steps(o.Progress, progressPriority))
	}
	if o.Log != nil || o.Terminal != nil {
		s.loop.AddHook(s.console.Hook(progressPriority))
	}
	s.loop.AddHook(s.logs.Hook(logPriority))
	if m != nil {
		s.loop.AddHook(m.Hook(measurePriority, s.logs, s.console))
		if s.experiment.Config.Train.Figures && s.experiment.Coder.Decodes() {
			s.loop.AddHook(m.Pictures(albumPriority, func(step int) error { return s.drawDecoded(m, step) }))
		}
	}
	if s.stop != nil {
		s.loop.AddHook(s.stop.Hook(stopPriority, s.console))
	}
	if m != nil && s.experiment.Config.Train.Keep.Best != "" {
		s.loop.AddHook(s.bestHook(m))
	}
	s.loop.AddHook(s.saveHook(s.experiment.Config.Train.Checkpoint))
	s.loop.AddHook(o.Hooks...)
}

// checkEdited warns about edited files of a finished run that is resumed. Checkpoints have checksums.
func (s *session) checkEdited() error {
	list, err := rundir.Check(s.store.Dir())
	if err != nil && !errors.Is(err, rundir.ErrNoHashes) {
		return err
	}
	for _, d := range list {
		if rundir.Learned(d.File) {
			return fmt.Errorf("%s: %s; want the original file, or the run repeated in another folder",
				s.store.Path(d.File), d.What)
		}
		if strings.HasPrefix(d.File, rundir.CheckpointFile) {
			continue
		}
		s.console.Warn("edited", fmt.Sprintf("%s: %s, and not as the run wrote it", s.store.Path(d.File), d.What),
			"file", d.File)
	}
	return nil
}

// writeConfig writes the files before training. From here until the end, the run has no record.
func (s *session) writeConfig() error {
	if err := s.store.Write(rundir.Config, rundir.Bytes([]byte(s.config))); err != nil {
		return err
	}
	if err := s.store.Remove(rundir.RecordFile); err != nil {
		return err
	}
	e := s.experiment
	if e.Learned == nil {
		return nil
	}
	if err := s.store.WriteLearned(e.Config.stage().Name, e.Learned); err != nil {
		return err
	}
	return s.keepComponents()
}

// introduce logs a summary of the training, and notes on unexpected settings.
func (s *session) introduce(o Options, resumed bool) {
	e, c, l, log := s.experiment, &s.experiment.Config, s.loop, s.console
	epochs := wording.Count(c.Train.Epochs, "epoch")
	log.Info("run", fmt.Sprintf("%s: %s on %s, seed %d, %s, into %s", c.Name, c.Model.Name, c.Dataset.Name, c.Seed, epochs,
		o.Dir),
		"run", c.Name, "model", c.Model.Name, "dataset", c.Dataset.Name, "seed", c.Seed, "epochs", c.Train.Epochs, "dir",
		o.Dir)
	if d, ok := s.experiment.Data.(datasets.Noted); ok {
		for _, note := range d.Notes() {
			log.Info("data", c.Dataset.Name+": "+note, "dataset", c.Dataset.Name)
		}
	}
	if known := s.experiment.Split.Known; known != nil {
		for _, note := range known.Notes {
			log.Info("supervision", "supervision: "+note)
		}
	}
	for _, loss := range c.Losses {
		if e, ok := loss.Value.(losses.Explained); ok {
			log.Info("loss", loss.Name+": "+e.Explain(), "loss", loss.Name)
		}
	}
	if s := s.experiment.Start; s != nil && l.Step() == 0 {
		for _, line := range startLines(s) {
			log.Info("start", line)
		}
	}
	if names := l.Frozen(); len(names) > 0 {
		log.Info("freeze", fmt.Sprintf("freeze: %d of the %d parameters do not train: %s",
			len(names), len(l.Params().Names()), registry.Some(names, maxNames)), "parameters", names)
	}
	log.Notes("training", l.Notes())
	if n := l.LeftOut(); n > 0 {
		log.Note("left out", wording.Count(n, "image")+" in no labelled group: all losses need groups", "images", n)
	}
	log.Notes("copies", copies.Notes(e.Data, e.TrainingImages(), e.HeldOut, e.validated))
	if note := BatchNote(c.Train.Batch, scheduleOf(c, l)); note != "" {
		log.Note("batch", note)
	}
	if names := l.Untrained(); len(names) > 0 {
		log.Note("untrained", fmt.Sprintf("no loss depends on %d of the %d parameters, such as %s; "+
			"they keep their initial values", len(names), len(l.Params().Names()), names[0]), "parameters", names)
	}
	if resumed {
		log.Info("resumed", fmt.Sprintf("continuing after step %d (%s)", l.Step(), wording.Count(l.Epoch(), "epoch")),
			"step", l.Step(), "epoch", l.Epoch())
	}
}

// restore continues from the folder's checkpoint, or starts from the beginning if there is none.
func (s *session) restore() error {
	c, err := checkpoint.Read(s.store.Dir())
	if errors.Is(err, checkpoint.ErrMissing) {
		return s.restart()
	}
	if err != nil {
		return err
	}
	state := c.State
	original, err := trainingConfig(state, s.store.Dir())
	if err != nil {
		return err
	}
	if err := original.sameTraining(s.experiment.Config); err != nil {
		if stored, readErr := ReadConfig(s.store.Dir()); readErr == nil && stored.sameTraining(s.experiment.Config) == nil { // it agrees
			return fmt.Errorf("%s: %w: %w", s.store.Dir(), checkpoint.ErrOtherModel, err)
		}
		return config.AsError(err)
	}
	s.resumed = true
	s.experiment.Start = state.Start
	if c.Warning != "" {
		s.console.Warn("checkpoint", c.Warning)
	}
	if c.Newer > 0 {
		if err := s.store.RestoreVersion(rundir.CheckpointFile, c.Newer); err != nil {
			return err
		}
	}
	if err := c.Load(s.loop.Model().Params()); err != nil {
		return fmt.Errorf("%s: %w", s.store.Dir(), err)
	}
	if err := s.loop.Restore(&state.State, c.File); err != nil {
		return fmt.Errorf("%s: %w: %w", s.store.Dir(), checkpoint.ErrOtherModel, err)
	}
	if err := s.continueHistory(state, original); err != nil {
		return err
	}
	s.noteKernels(state.Kernels)
	s.watch = state.Watch
	if b := state.Best; b != nil && b.Metric == s.experiment.Config.Train.Keep.Best {
		s.best = (*Best)(b)
	}
	text := []byte(c.Metadata[checkpoint.StateKey] + "\n")
	if stored, err := s.store.Read(rundir.StateFile); err != nil || !bytes.Equal(stored, text) { // a process was killed
		if err := s.store.Write(rundir.StateFile, rundir.Bytes(text)); err != nil {
			return err
		}
	}
	s.trained = state.Done && (s.loop.Epoch() >= s.loop.Settings().Epochs || s.stop.Enough() != "" || state.Stopped != "")
	return nil
}

// restart starts a run again if its folder has no checkpoint.
func (s *session) restart() error {
	stored, err := ReadConfig(s.store.Dir())
	if err != nil {
		return err
	}
	if err := stored.sameTraining(s.experiment.Config); err != nil {
		return config.AsError(err)
	}
	s.console.Info("restart", "there is no checkpoint yet: starting from the beginning")
	if err := s.experiment.loadStart(); err != nil {
		return err
	}
	return s.encodeConfig()
}

// noteKernels lists this session's kernels, and logs a note if the previous session used others.
func (s *session) noteKernels(earlier string) {
	list := strings.Split(earlier, ", ")
	if last := list[len(list)-1]; last != "" && last != s.kernels {
		s.console.Note("kernels", fmt.Sprintf("the run began with %s kernels and continues with %s: "+
			"last digits may differ", earlier, s.kernels), "before", earlier, "now", s.kernels)
		earlier += ", " + s.kernels
	}
	s.kernels = cmp.Or(earlier, s.kernels)
}

// train trains to the end, unless an earlier session has done so.
func (s *session) train(ctx context.Context) error {
	defer func() { s.trainedAt = time.Now() }()
	if s.trained {
		return nil
	}
	err := s.loop.Run(ctx)
	if err == nil {
		s.console.Notes("training", s.loop.Notes())
	}
	return err
}

// close closes the logs and unlocks the folder. Important files were synced when they were written.
func (s *session) close() {
	if s.logs != nil {
		s.logs.Close()
	}
	if s.store != nil {
		_ = s.store.Close()
	}
}

func (s *session) record() error {
	r, err := s.newRecord()
	if err != nil {
		return err
	}
	return r.Write(s.store)
}

// newRecord returns the record of the run as if it ended now.
func (s *session) newRecord() (*rundir.Record, error) {
	r := rundir.NewRecord(s.begun)
	r.Epochs, r.Steps, r.Seconds = s.loop.Epoch(), s.loop.Step(), time.Since(s.trainedAt).Seconds()
	if !s.resumed {
		r.CPU = (cputime.Process() - s.cpu).Seconds()
	}
	s.attribute(r)
	r.Start, r.Data = s.experiment.Start, s.files
	finishing := r.Seconds
	if err := s.store.ReadLog(func(line rundir.Line) { r.Seconds += line.Seconds }); err != nil {
		return nil, err
	}
	if l := s.experiment.Learned; l != nil {
		r.Timings = slices.Clone(l.Timings)
	}
	r.Timings = append(r.Timings, models.Timing{Name: rundir.TrainingTiming, Seconds: r.Seconds - finishing},
		models.Timing{Name: rundir.FinishingTiming, Seconds: finishing})
	return r, nil
}
