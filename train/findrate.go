package train

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/internal/parallel"
	"github.com/unravel-ml/unravel/internal/report"
	"github.com/unravel-ml/unravel/train/engine"
	"github.com/unravel-ml/unravel/train/internal/ratetest"
)

// RateTest is a learning-rate range test (Smith 2017, section 3.3). The rate rises by the same factor at each update,
// until the loss diverges.
type RateTest struct {
	Low, High float64 // learning rates of the first and the last update
	Steps     int     // updates
}

// NewRateTest returns a test of 200 rates from 1e-6 to 1.
func NewRateTest() RateTest { return RateTest{Low: 1e-6, High: 1, Steps: 200} }

// maxRateSteps bounds the steps of a test.
const maxRateSteps = 100_000

func (t *RateTest) check() error {
	switch {
	case !(t.Low > 0) || !finite(t.High) || !(t.High > t.Low):
		return fmt.Errorf("rates from %v to %v; want 0 < low < high", t.Low, t.High)
	case t.Steps < 20 || t.Steps > maxRateSteps:
		return fmt.Errorf("%d steps; want 20 to %d", t.Steps, maxRateSteps)
	}
	return nil
}

// RatePoint is an update of a range test.
type RatePoint struct {
	Step      int     `json:"step"`
	Rate      float64 `json:"rate"`
	Objective string  `json:"objective"`
	Loss      float64 `json:"loss"`     // weighted sum, mean over the batches of the update
	Smoothed  float64 `json:"smoothed"` // mean of the losses of the objective so far, with weights that fall by 0.9 a step
}

// Rates is the result of a range test.
type Rates struct {
	Optimizer  string      `json:"optimizer"`
	Objective  string      `json:"objective"`          // the objective with most updates; its curve suggests the rate
	Suggested  float64     `json:"suggested"`          // rate of the steepest fall of the smoothed loss, by the logarithm of the rate; 0: it never fell
	Lowest     RatePoint   `json:"lowest"`             // point with the lowest smoothed loss
	Configured float64     `json:"configured"`         // the rate of the config
	Diverged   string      `json:"diverged,omitempty"` // why the test ended before the highest rate; empty: it did not
	Points     []RatePoint `json:"points"`
}

// FindRate tests learning rates on the first updates of a config's training. It uses the config's data, losses,
// optimiser, gradient clipping and accumulation, without its schedule and warm-up. Rates of parts keep their ratio to
// the optimiser's rate. FindRate leaves no files.
func FindRate(ctx context.Context, c Config, t RateTest) (*Rates, error) {
	if err := t.check(); err != nil {
		return nil, fmt.Errorf("range test: %w", err)
	}
	if err := c.Validate(); err != nil {
		return nil, config.AsError(err)
	}
	base, err := engine.LearningRate(c.Train.Optimizer.Value)
	if err != nil {
		return nil, c.mistake("train.optimizer", err)
	}
	if c.stage() != nil {
		c = c.withTruth()
	}
	ctx, unlimit := parallel.Limit(ctx, c.Train.Threads)
	defer unlimit()
	c.Train.Epochs = max(c.Train.Epochs, t.Steps) // an epoch has at least one update
	c.Train.Warmup, c.Train.Average = engine.Span{}, nil
	rising := &ratetest.Rising{Low: t.Low / base, Factor: math.Pow(t.High/t.Low, 1/float64(t.Steps-1)), Steps: t.Steps}
	c.Train.Schedule = engine.ScheduleChoice{Name: "rising", Value: rising}
	e, err := NewExperiment(c)
	if err != nil {
		return nil, err
	}
	l, err := e.Loop()
	if err != nil {
		return nil, c.untrainable(err)
	}
	defer l.Close()
	r := &Rates{Optimizer: c.Train.Optimizer.Name, Configured: base}
	x := ratetest.Test{Base: base, Steps: t.Steps}
	l.AddHook(engine.Hook{Name: "range test", NoParams: true, OnStep: x.Step})
	err = l.Run(ctx)
	switch {
	case errors.Is(err, engine.ErrStopped) || err != nil && len(x.Points) == 0:
		return nil, err
	case err != nil: // a rate too high for a step is a result
		x.Diverged = err.Error()
	}
	for _, p := range x.Points {
		r.Points = append(r.Points, RatePoint(p))
	}
	objective, lowest, rate := x.Suggest()
	r.Objective, r.Lowest, r.Suggested, r.Diverged = objective, RatePoint(lowest), rate, x.Diverged
	return r, nil
}

// WriteCSV writes the points as a table.
func (r *Rates) WriteCSV(w io.Writer) error {
	t := csv.NewWriter(w)
	_ = t.Write([]string{"step", "rate", "objective", "loss", "smoothed"}) // Error reports it
	for _, p := range r.Points {
		row := []string{strconv.Itoa(p.Step)}
		number := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
		_ = t.Write(append(row, number(p.Rate), p.Objective, number(p.Loss), number(p.Smoothed)))
	}
	t.Flush()
	return t.Error()
}

// Draw writes a picture: smoothed losses over the rate, with the suggested rate and the config's rate.
func (r *Rates) Draw(w io.Writer, title string) error {
	var names []string
	curves := map[string]*report.Series{}
	for _, p := range r.Points {
		s := curves[p.Objective]
		if s == nil {
			s = &report.Series{Name: p.Objective}
			curves[p.Objective], names = s, append(names, p.Objective)
		}
		s.X, s.Y = append(s.X, p.Rate), append(s.Y, p.Smoothed)
	}
	o := report.CurveOptions{Title: title, XLabel: "learning rate", YLabel: "loss, smoothed", LogX: true}
	if r.Suggested > 0 {
		o.Marks = append(o.Marks, report.Mark{Name: fmt.Sprintf("suggested  %.2g", r.Suggested), X: r.Suggested})
	}
	if low, high := r.Points[0].Rate, r.Points[len(r.Points)-1].Rate; r.Configured >= low && r.Configured <= high {
		o.Marks = append(o.Marks, report.Mark{Name: fmt.Sprintf("in the config  %.2g", r.Configured), X: r.Configured})
	}
	var list []report.Series
	for _, name := range names {
		list = append(list, *curves[name])
	}
	return report.Curves(w, o, list)
}
