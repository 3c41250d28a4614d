package train

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/unravel-ml/unravel/datasets/supervision"
	"github.com/unravel-ml/unravel/internal/parallel"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/metrics/matrix"
	"github.com/unravel-ml/unravel/models"
	"github.com/unravel-ml/unravel/train/engine"
	"github.com/unravel-ml/unravel/train/internal/monitor"
	"github.com/unravel-ml/unravel/train/internal/rehearsal"
)

// Estimate is the estimated time of a run, in seconds, by part. It comes from timing the first steps, and the work
// after training on a small number of images. The rest is extrapolated.
type Estimate struct {
	Steps    int     `json:"timed_steps"`
	Step     float64 `json:"step_seconds"`     // including the work of epochs between steps
	Begin    float64 `json:"begin_seconds"`    // until the first step: data set, programs, folder
	Training float64 `json:"training_seconds"` // all steps, of both stages if there are two, and the last checkpoint
	During   float64 `json:"during_seconds"`   // evaluations during training, with their pictures
	Learn    float64 `json:"learn_seconds"`    // learning from codes in an earlier stage
	Encode   float64 `json:"encode_seconds"`   // the codes at the end, and their fit
	Measure  float64 `json:"measure_seconds"`  // the final metrics
	Draw     float64 `json:"draw_seconds"`     // figures and the page
}

// Seconds returns the time of the whole run.
func (e *Estimate) Seconds() float64 {
	return e.Begin + e.Training + e.During + e.Learn + e.Encode + e.Measure + e.Draw
}

// With returns the estimate, but with the work after training from another estimate.
func (e Estimate) With(o *Estimate) *Estimate {
	e.During, e.Learn, e.Encode, e.Measure, e.Draw = o.During, o.Learn, o.Encode, o.Measure, o.Draw
	return &e
}

func (e *Estimate) add(o *Estimate) {
	e.Begin, e.Training, e.During, e.Learn = e.Begin+o.Begin, e.Training+o.Training, e.During+o.During, e.Learn+o.Learn
	e.Encode, e.Measure, e.Draw = e.Encode+o.Encode, e.Measure+o.Measure, e.Draw+o.Draw
}

// Rehearse estimates how long the run of a config takes, and removes its temporary folder afterwards. It assumes that
// early stopping (train.stop) never ends training. If alone is true, it estimates only Begin and Training. If the
// context ends, it returns ErrStopped.
func Rehearse(ctx context.Context, c Config, alone bool) (*Estimate, error) {
	start := time.Now()
	if err := c.ready(ctx); err != nil {
		return nil, err
	}
	if c.stage() != nil {
		return rehearseStages(ctx, c, alone)
	}
	ctx, unlimit := parallel.Limit(ctx, c.Train.Threads)
	defer unlimit()
	if err := c.prepareData(ctx, nil); err != nil {
		return nil, err
	}
	e, err := NewExperiment(c)
	if err != nil {
		return nil, err
	}
	l, m, err := e.compile()
	if err != nil {
		return nil, c.untrainable(err)
	}
	defer l.Close()
	return e.rehearse(ctx, l, m, start, alone)
}

// rehearseStages is Rehearse for a model that learns from the codes of an earlier stage. The second stage uses the true
// hierarchy instead. If the data set has none, the second stage is assumed to take as long as the first.
func rehearseStages(ctx context.Context, c Config, alone bool) (*Estimate, error) {
	initial, err := c.initialConfig()
	if err != nil {
		return nil, err
	}
	total, err := Rehearse(ctx, initial, alone)
	if err != nil {
		return nil, err
	}
	if !alone {
		if total.Learn, err = rehearseLearning(ctx, c); err != nil {
			return nil, err
		}
	}
	second, err := Rehearse(ctx, c.withTruth(), alone)
	if ctx.Err() != nil {
		return nil, ErrStopped
	}
	if err != nil { // the true hierarchy is unknown
		second = &Estimate{}
		second.add(total)
		second.Learn = 0
	}
	total.add(second)
	return total, nil
}

// rehearseLearning estimates the seconds that the earlier stage needs to learn, from codes of the untrained model.
func rehearseLearning(ctx context.Context, c Config) (float64, error) {
	ctx, unlimit := parallel.Limit(ctx, c.Train.Threads)
	defer unlimit()
	initial, err := c.initialConfig()
	if err != nil {
		return 0, err
	}
	e, err := NewExperiment(initial)
	if err != nil {
		return 0, err
	}
	images := e.TrainingImages()
	return rehearsal.Grow(ctx, len(images), func(k int) (time.Time, error) {
		start := time.Now()
		codes, err := e.Encode(ctx, e.sampleOf(k, e.Config.Seed).sourceIndices())
		if err == nil {
			_, err = c.stage().Learn(ctx, codes, e.Coder.Width(), func(string) {})
		}
		return start, err
	})
}

func (e *Experiment) sourceIndices() []int {
	if e.images != nil {
		return e.images
	}
	return allImages(e.Data)
}

// rehearse takes the first steps of the experiment, measures and draws. start is its starting time.
func (e *Experiment) rehearse(ctx context.Context, l *engine.Loop, m *monitor.Monitor, start time.Time,
	alone bool) (*Estimate, error) {
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
	r := &Estimate{Begin: time.Since(start).Seconds()}
	if err := r.train(ctx, s); err != nil || alone {
		return r, err
	}
	if err := r.during(ctx, s, m); err != nil {
		return nil, err
	}
	return r, r.finish(ctx, s)
}

func (r *Estimate) train(ctx context.Context, s *session) error {
	l := s.loop
	t := &rehearsal.Steps{Last: time.Now()}
	l.AddHook(t.Hook())
	if err := s.train(ctx); ctx.Err() != nil || err != nil && !errors.Is(err, ErrStopped) {
		return stopped(ctx, err)
	}
	if t.Count == 0 && l.Step() > 0 { // training is over
		t.Sum, t.Count = t.Warm, l.Step()
	}
	r.Steps, r.Step = t.Count, t.Sum.Seconds()/float64(max(1, t.Count))
	r.Training = r.Step*float64(l.Steps()) + time.Since(t.Last).Seconds()
	return nil
}

// during times one evaluation during training, with its pictures.
func (r *Estimate) during(ctx context.Context, s *session, m *monitor.Monitor) error {
	if m == nil {
		return nil
	}
	evaluations := s.experiment.Config.Train.Epochs / m.Every
	if evaluations == 0 {
		return nil
	}
	images := m.Images
	seconds, err := rehearsal.Grow(ctx, len(images), func(k int) (time.Time, error) {
		m.Images = images[:k]
		start := time.Now()
		_, err := m.Measure(ctx)
		return start, err
	})
	if err != nil {
		return err
	}
	r.During = seconds * float64(evaluations)
	if m.Images = images; m.Codes.Rows == len(images) && s.experiment.Config.Train.Figures &&
		s.experiment.Coder.Decodes() {
		start := time.Now()
		if err := s.drawDecoded(m, 0); err != nil {
			return err
		}
		r.During += time.Since(start).Seconds() * float64(m.Pictured(s.experiment.Config.Train.Epochs))
	}
	return nil
}

// finish times the work after training. If work fails on codes after so few steps, the time until the failure counts.
func (r *Estimate) finish(ctx context.Context, s *session) error {
	e := s.experiment
	encoded := e.encoded()
	if encoded == nil {
		return r.draw(ctx, s, matrix.Matrix{}, nil)
	}
	n := encoded.Data.Len()
	sizes := map[int]matrix.Matrix{}
	codesOf := func(k int) (*Experiment, matrix.Matrix, error) {
		sample := encoded.sampleOf(k, e.Config.Seed)
		var err error
		if sizes[k].Data == nil {
			sizes[k], err = sample.Codes(ctx)
		}
		return sample, sizes[k], err
	}
	var results []metrics.Result
	for _, choice := range e.Final() {
		var measured []metrics.Result
		seconds, err := rehearsal.Grow(ctx, n, func(k int) (start time.Time, err error) {
			sample, codes, err := codesOf(k)
			if start = time.Now(); err == nil {
				measured, err = sample.Evaluate(ctx, codes, []metrics.Choice{choice})
			}
			return start, err
		})
		results = append(results, measured...)
		if err != nil {
			return err
		}
		r.Measure += seconds
	}
	small := encoded.sampleOf(min(n, rehearsal.Images), e.Config.Seed)
	start := time.Now()
	codes, err := small.Codes(ctx)
	if err != nil {
		return stopped(ctx, err)
	}
	r.Encode = time.Since(start).Seconds() * float64(n) / float64(small.Data.Len())
	start = time.Now()
	if _, err := small.fit(ctx, codes); ctx.Err() != nil {
		return stopped(ctx, err)
	}
	r.Encode += time.Since(start).Seconds()
	if e.Config.Train.Average != nil {
		r.Encode, r.Measure = 2*r.Encode, 2*r.Measure
	}
	s.experiment = small
	return r.draw(ctx, s, codes, results)
}

func (r *Estimate) draw(ctx context.Context, s *session, codes matrix.Matrix, results []metrics.Result) error {
	if !s.experiment.Config.Train.Figures {
		return nil
	}
	start := time.Now()
	pictures, err := s.draw(codes, results)
	if err == nil {
		err = s.writeReport(ctx, codes, &Result{Metrics: results}, pictures)
	}
	r.Draw = time.Since(start).Seconds()
	if ctx.Err() != nil {
		return stopped(ctx, err)
	}
	return nil
}

// withTruth returns a config with the data set's true hierarchy and all labels instead of an earlier stage.
func (c Config) withTruth() Config {
	c.Model.Value = c.Model.Value.(models.Staged).Known()
	c.Supervision = supervision.Of("labels", &supervision.FactorLabels{Fraction: 1, Share: 0.5})
	return c
}
