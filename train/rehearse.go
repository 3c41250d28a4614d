package train

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/models"
	"github.com/unravel-ml/unravel/train/engine"
)

// Estimate is the time that a run would take, by its parts in seconds, found by a rehearsal: some first steps, and what follows training on as
// many of the images as little time allows, with the rest in proportion to how it grew.
type Estimate struct {
	Steps    int     `json:"timed_steps"`
	Step     float64 `json:"step_seconds"`     // with what epochs need beside their steps
	Begin    float64 `json:"begin_seconds"`    // until the first step: data set, programs, folder
	Training float64 `json:"training_seconds"` // all steps, of both stages where there are two, and the checkpoint at the end
	During   float64 `json:"during_seconds"`   // evaluations during training, with their pictures
	Learn    float64 `json:"learn_seconds"`    // what an earlier stage learns from codes
	Encode   float64 `json:"encode_seconds"`   // the codes at the end, and how well they fit
	Measure  float64 `json:"measure_seconds"`  // the final metrics
	Draw     float64 `json:"draw_seconds"`     // figures and the page
}

// Seconds is the time of the whole run.
func (e *Estimate) Seconds() float64 {
	return e.Begin + e.Training + e.During + e.Learn + e.Encode + e.Measure + e.Draw
}

// With returns the estimate with what follows training of another one.
func (e Estimate) With(o *Estimate) *Estimate {
	e.During, e.Learn, e.Encode, e.Measure, e.Draw = o.During, o.Learn, o.Encode, o.Measure, o.Draw
	return &e
}

// add adds the parts of another stage.
func (e *Estimate) add(o *Estimate) {
	e.Begin, e.Training, e.During, e.Learn = e.Begin+o.Begin, e.Training+o.Training, e.During+o.During, e.Learn+o.Learn
	e.Encode, e.Measure, e.Draw = e.Encode+o.Encode, e.Measure+o.Measure, e.Draw+o.Draw
}

// Bounds of a rehearsal. Steps are timed for stepsTime and fewestSteps, but not longer than mostStepsTime if one was timed; what follows them is tried
// on rehearsed images, then on twice as many, until it takes growTime.
const (
	stepsTime     = 300 * time.Millisecond
	mostStepsTime = 4 * time.Second
	fewestSteps   = 10
	rehearsed     = 1024
	growTime      = 250 * time.Millisecond
)

// Rehearse estimates how long the run of a config takes, in a folder that is removed afterwards. Training that ends early (train.stop) is
// estimated as if it did not. With alone, it estimates the parts Begin and Training only. If the context ends, it returns ErrStopped.
func Rehearse(ctx context.Context, c Config, alone bool) (*Estimate, error) {
	begin := time.Now()
	if err := c.Validate(); err != nil {
		return nil, config.AsError(err)
	}
	if c.stage() != nil {
		return rehearseStages(ctx, c, alone)
	}
	if c.Train.Threads > 0 {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(c.Train.Threads))
	}
	if err := c.prepareData(ctx, nil); err != nil {
		return nil, err
	}
	e, err := NewExperiment(c)
	if err != nil {
		return nil, err
	}
	if err := e.begin(); err != nil {
		return nil, err
	}
	l, m, err := e.ready()
	if err != nil {
		return nil, c.untrainable(err)
	}
	defer l.Close()
	return e.rehearse(ctx, l, m, begin, alone)
}

// rehearseStages is Rehearse of a model that learns something from codes of an earlier stage. The truth stands for that in the second stage; where there is
// none, it counts as long as the first.
func rehearseStages(ctx context.Context, c Config, alone bool) (*Estimate, error) {
	initial, err := c.InitialConfig()
	if err != nil {
		return nil, err
	}
	all, err := Rehearse(ctx, initial, alone)
	if err != nil {
		return nil, err
	}
	if !alone {
		if all.Learn, err = rehearseLearning(ctx, c); err != nil {
			return nil, err
		}
	}
	second, err := Rehearse(ctx, c.withTruth(), alone)
	if ctx.Err() != nil {
		return nil, ErrStopped
	}
	if err != nil { // there is no truth
		second = &Estimate{}
		second.add(all)
		second.Learn = 0
	}
	all.add(second)
	return all, nil
}

// rehearseLearning returns the seconds of what the stage before the training of a config learns, from codes of its model as it is initialised.
func rehearseLearning(ctx context.Context, c Config) (float64, error) {
	if c.Train.Threads > 0 {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(c.Train.Threads))
	}
	initial, err := c.InitialConfig()
	if err != nil {
		return 0, err
	}
	e, err := NewExperiment(initial)
	if err != nil {
		return 0, err
	}
	images := e.TrainingImages()
	return grow(ctx, len(images), func(k int) (time.Time, error) {
		begin := time.Now()
		codes, err := e.Encode(ctx, e.some(k, e.Config.Seed).chosen())
		if err == nil {
			_, err = c.stage().Learn(ctx, codes, e.Coder.Width(), func(string) {})
		}
		return begin, err
	})
}

// chosen lists the images of a sample by their numbers in the whole data set.
func (e *Experiment) chosen() []int {
	if e.images != nil {
		return e.images
	}
	return all(e.Data)
}

// rehearse takes first steps of the experiment, measures and draws. begin is when it began.
func (e *Experiment) rehearse(ctx context.Context, l *engine.Loop, m *monitor, begin time.Time, alone bool) (*Estimate, error) {
	dir, err := os.MkdirTemp("", "unravel-rehearsal-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	e.Config.Train.Stop, e.Config.Train.Keep.Best = nil, ""
	s, err := openSession(ctx, e, l, nil, Options{Dir: filepath.Join(dir, "run")})
	if err != nil {
		return nil, err
	}
	defer s.close()
	r := &Estimate{Begin: time.Since(begin).Seconds()}
	if err := r.train(ctx, s); err != nil || alone {
		return r, err
	}
	if err := r.during(ctx, s, m); err != nil {
		return nil, err
	}
	return r, r.finish(ctx, s)
}

// train times steps of a session.
func (r *Estimate) train(ctx context.Context, s *session) error {
	l := s.loop
	t := &stepTimes{last: time.Now()}
	l.AddHook(t.hook())
	if err := s.train(ctx); ctx.Err() != nil || err != nil && !errors.Is(err, ErrStopped) {
		return stopped(ctx, err)
	}
	if t.steps == 0 && l.Step() > 0 { // there are no more
		t.sum, t.steps = t.warm, l.Step()
	}
	r.Steps, r.Step = t.steps, t.sum.Seconds()/float64(max(1, t.steps))
	r.Training = r.Step*float64(l.Steps()) + time.Since(t.last).Seconds()
	return nil
}

// warmSteps are the steps of an objective that are not timed: memory is touched for the first time.
const warmSteps = 2

// stepTimes times steps of training, of each objective those after the first ones.
type stepTimes struct {
	warm, sum time.Duration // of the first steps, and of those that count
	steps     int           // that count
	last      time.Time     // the end of a step
}

// hook stops training when enough steps are timed.
func (t *stepTimes) hook() engine.Hook {
	count := map[string]int{}
	return engine.Hook{Name: "rehearsal", OnStep: func(l *engine.Loop, r *engine.StepReport) error {
		took := time.Since(t.last)
		t.last = t.last.Add(took)
		if count[r.Objective]++; count[r.Objective] > warmSteps {
			t.sum += took
			t.steps++
		} else {
			t.warm += took
		}
		if t.sum > mostStepsTime || t.sum > stepsTime && t.steps >= fewestSteps {
			l.Stop("rehearsed")
		}
		return nil
	}}
}

// during times an evaluation and its pictures.
func (r *Estimate) during(ctx context.Context, s *session, m *monitor) error {
	if m == nil {
		return nil
	}
	looks := s.experiment.Config.Train.Epochs / m.every
	if looks == 0 {
		return nil
	}
	images := m.images
	seconds, err := grow(ctx, len(images), func(k int) (time.Time, error) {
		m.images = images[:k]
		begin := time.Now()
		_, err := m.measure(ctx)
		return begin, err
	})
	if err != nil {
		return err
	}
	r.During = seconds * float64(looks)
	if m.images = images; m.codes.Rows == len(images) && s.experiment.Config.Train.Figures && s.experiment.Coder.Decodes() {
		begin := time.Now()
		if err := (&album{session: s, monitor: m}).draw(0); err != nil {
			return err
		}
		r.During += time.Since(begin).Seconds() * float64(min(looks, maxAlbum))
	}
	return nil
}

// finish times what follows training. What fails on codes of so few steps takes the time until then.
func (r *Estimate) finish(ctx context.Context, s *session) error {
	e := s.experiment
	kept := e.kept()
	if kept == nil {
		return r.draw(ctx, s, metrics.Matrix{}, nil)
	}
	n := kept.Data.Len()
	sizes := map[int]metrics.Matrix{}
	codesOf := func(k int) (*Experiment, metrics.Matrix, error) {
		some := kept.some(k, e.Config.Seed)
		var err error
		if sizes[k].Data == nil {
			sizes[k], err = some.Codes(ctx)
		}
		return some, sizes[k], err
	}
	var results []metrics.Result
	for _, choice := range e.Final() {
		var found []metrics.Result
		seconds, err := grow(ctx, n, func(k int) (begin time.Time, err error) {
			some, codes, err := codesOf(k)
			if begin = time.Now(); err == nil {
				found, err = some.Evaluate(ctx, codes, []metrics.Choice{choice})
			}
			return begin, err
		})
		results = append(results, found...)
		if err != nil {
			return err
		}
		r.Measure += seconds
	}
	few := kept.some(min(n, rehearsed), e.Config.Seed)
	begin := time.Now()
	codes, err := few.Codes(ctx)
	if err != nil {
		return stopped(ctx, err)
	}
	r.Encode = time.Since(begin).Seconds() * float64(n) / float64(few.Data.Len())
	begin = time.Now()
	if _, err := few.fit(ctx, codes); ctx.Err() != nil {
		return stopped(ctx, err)
	}
	r.Encode += time.Since(begin).Seconds()
	if e.Config.Train.Average != nil {
		r.Encode, r.Measure = 2*r.Encode, 2*r.Measure
	}
	s.experiment = few
	return r.draw(ctx, s, codes, results)
}

// draw times figures and page.
func (r *Estimate) draw(ctx context.Context, s *session, codes metrics.Matrix, results []metrics.Result) error {
	if !s.experiment.Config.Train.Figures {
		return nil
	}
	begin := time.Now()
	drawn, err := s.draw(codes, results)
	if err == nil {
		err = s.writeReport(ctx, codes, &Result{Metrics: results}, drawn)
	}
	r.Draw = time.Since(begin).Seconds()
	if ctx.Err() != nil {
		return stopped(ctx, err)
	}
	return nil
}

// grow times work on more and more of n rows, from when it says that it began, and returns its seconds on all. What was not tried grows as it did from the
// last size but one to the last one, at most by the second power. Work may fail on a few rows; if the context ends, the error is ErrStopped.
func grow(ctx context.Context, n int, work func(k int) (time.Time, error)) (float64, error) {
	var last, before time.Duration
	all := time.Now()
	for k := min(n, rehearsed); ; k = min(n, 2*k) {
		begin, err := work(k)
		if ctx.Err() != nil {
			return 0, ErrStopped
		}
		before, last = last, time.Since(begin)
		if k == n || err == nil && before > 0 && (last > growTime || time.Since(all) > 4*growTime) {
			return grown(before, last, k, n), nil
		}
		if err != nil {
			last = 0
		}
	}
}

// grown extrapolates from the times of k/2 and k rows to n: by a power where twice the rows took twice the time or more, else by a line, as work that draws a number
// of rows of its own takes about the same of any n.
func grown(before, last time.Duration, k, n int) float64 {
	a, b, times := before.Seconds(), last.Seconds(), float64(n)/float64(k)
	switch {
	case before == 0:
		return b * times
	case b < 2*a:
		return b + 2*max(b-a, 0)*(times-1)
	}
	return b * math.Pow(times, min(math.Log2(b/a), 2))
}

// withTruth is a config whose model learns nothing in an earlier stage but has it from the data set, with all labels.
func (c Config) withTruth() Config {
	c.Model.Value = c.Model.Value.(models.Staged).Known()
	c.Supervision = datasets.Supervised("labels", &datasets.FactorLabels{Fraction: 1, Share: 0.5})
	return c
}
