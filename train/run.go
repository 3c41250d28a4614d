package train

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/internal/cputime"
	"github.com/unravel-ml/unravel/internal/pages"
	"github.com/unravel-ml/unravel/internal/parallel"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/train/engine"
	"github.com/unravel-ml/unravel/train/rundir"
)

// Options say where and how to run an experiment.
type Options struct {
	Dir    string // the run's folder; empty: a folder in runs/ named after the config
	Resume bool   // continue an existing run in Dir
	Once   bool   // with Resume: return rundir.ErrLocked if another process ends the run before this process locks it
	Wait   bool   // with Resume: wait to see whether the machine of a foreign claim is alive

	// Log receives the events of the run: a sentence for people, the attribute "event", and values. Notes have the
	// level slog.LevelInfo+2. Unless Terminal is set, a progress event follows every ten seconds. nil: silent.
	Log *slog.Logger

	Terminal *os.File // a terminal to draw bars of progress on; nil: no bars

	// Progress, if set, is called at the start and after each step, with the numbers of finished steps and of all
	// steps.
	Progress func(done, all int)

	// Hooks are called during training, in addition to the run's own hooks. A hook of priority 0 is called after an
	// epoch was logged and measured, and before the checkpoint of the step or epoch.
	Hooks []engine.Hook

	// If Codes is true, the result contains the codes of the images encoded at the end; see metrics.sample and
	// metrics.encode.
	Codes bool
}

// Codes are codes of images with their factors: a row for each image, in the data set's order.
type Codes struct {
	Codes   [][]float32 // [n, d], as in codes.npy
	Factors []factor.Factor
	Levels  [][]int // [n, k], by the factors
}

// ErrStopped is the error of [Run], and of other functions here, when their context ends. Run has saved a checkpoint,
// and continues with Options.Resume.
var ErrStopped = engine.ErrStopped

// Result is the result of a run.
type Result struct {
	Name    string           `json:"name"`
	Dir     string           `json:"dir"`
	Seed    uint64           `json:"seed"`
	Epochs  int              `json:"epochs"`
	Steps   int              `json:"steps"`
	Seconds float64          `json:"seconds"` // duration of this session, including figures
	Losses  rundir.Losses    `json:"losses"`  // means over the last epoch
	Fit     *Fit             `json:"fit,omitempty"`
	Metrics []metrics.Result `json:"metrics"`
	Best    *Best            `json:"best,omitempty"` // the evaluation of the kept checkpoint, see Keep
	Codes   *Codes           `json:"-"`              // nil: Options.Codes is false, or the run encodes no image
}

// Run trains, measures and stores an experiment. When the context ends, it saves a checkpoint and returns ErrStopped.
// If a run fails, its [rundir.Record] contains the error. Parts of a config that do not fit together give a
// *config.Error.
func Run(ctx context.Context, c Config, o Options) (r *Result, err error) {
	defer pages.Recover(&err)
	start, cpu := time.Now(), cputime.Process()
	if err := c.ready(ctx); err != nil {
		return nil, err
	}
	o.Dir = cmp.Or(o.Dir, filepath.Join("runs", c.Name))
	ctx, unlimit := parallel.Limit(ctx, c.Train.Threads)
	defer unlimit()
	if err := c.prepareData(ctx, NewActivity(o.Log, o.Terminal)); err != nil {
		return nil, err
	}
	e, err := prepare(ctx, c, o)
	if err != nil {
		return nil, err
	}
	l, m, err := e.compile()
	if err != nil {
		return nil, err
	}
	defer l.Close()
	s, err := openSession(ctx, e, l, m, o)
	if err != nil {
		return nil, err
	}
	defer s.close()
	s.begun, s.cpu = start, cpu
	ctx, release := s.store.Holding(ctx)
	defer release()
	result := &Result{Name: c.Name, Dir: o.Dir, Seed: c.Seed}
	if err := s.run(ctx, result, o.Codes); err != nil {
		return nil, s.fail(ctx, err, o.Dir)
	}
	result.Best, result.Epochs, result.Steps, result.Losses = s.best, l.Epoch(), l.Step(), s.logs.Last
	result.Seconds = time.Since(start).Seconds()
	return result, nil
}

// ready checks the context and the config.
func (c *Config) ready(ctx context.Context) error {
	if ctx == nil {
		return errors.New("train: the context is nil; want one, such as context.Background()")
	}
	return config.AsError(c.Validate())
}

// run trains, finishes and records the run.
func (s *session) run(ctx context.Context, r *Result, codes bool) error {
	if err := s.train(ctx); err != nil {
		return err
	}
	if err := s.finish(ctx, r, codes); err != nil {
		return err
	}
	if err := s.logs.End(s.loop.Step(), nil); err != nil {
		return err
	}
	return s.record() // last, because it contains the hashes of the logs
}

// fail ends the logs and records the failure, unless the session can continue. It returns the error of the run.
func (s *session) fail(ctx context.Context, err error, dir string) error {
	if errors.Is(err, ErrStopped) {
		err = fmt.Errorf("%w; the run in %s can be resumed", ErrStopped, dir)
	} else {
		err = s.logs.End(s.loop.Step(), err)
	}
	if lost := context.Cause(ctx); errors.Is(lost, rundir.ErrLocked) {
		return lost
	}
	if ctx.Err() == nil && !errors.Is(err, ErrStopped) {
		_ = s.recordFailure(err) // the cause, such as a full disk, may prevent this record too
	}
	return err
}

// prepare builds the experiment, after training an earlier stage. A resumed run does not load its start again.
func prepare(ctx context.Context, c Config, o Options) (*Experiment, error) {
	resumed := o.resumes()
	if stored, err := ReadConfig(o.Dir); resumed && err == nil {
		c = c.Continuing(stored)
		if resolved, err := c.Resolve(); err == nil { // the source may have moved or disappeared
			c = resolved
		}
	} else if c.stage() != nil && c.Init != nil && !resumed {
		if _, err := c.Resolve(); err != nil { // check before an hour of training
			return nil, err
		}
	}
	e, err := afterStage(ctx, c, o)
	if err != nil || resumed {
		return e, err
	}
	return e, e.loadStart()
}

func (o *Options) resumes() bool {
	_, missing := os.Stat(filepath.Join(o.Dir, rundir.Config))
	return o.Resume && missing == nil
}
