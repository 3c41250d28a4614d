package train

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/unravel-ml/unravel/internal/parallel"
	"github.com/unravel-ml/unravel/internal/report"
	"github.com/unravel-ml/unravel/train/engine"
)

// RateTest is a learning-rate range test (Smith 2017, section 3.3). The rate grows by a constant factor at each update
// until the loss diverges.
type RateTest struct {
	Low, High float64 // learning rates of the first and the last update
	Steps     int     // number of updates
}

// NewRateTest returns a test of 200 rates from 1e-6 to 1.
func NewRateTest() RateTest { return RateTest{Low: 1e-6, High: 1, Steps: 200} }

const maxRateSteps = 100_000 // maximum number of updates of a test

func (t *RateTest) check() error {
	switch {
	case !(t.Low > 0) || !finite(t.High) || !(t.High > t.Low):
		return fmt.Errorf("rates from %v to %v; want 0 < low < high", t.Low, t.High)
	case t.Steps < 20 || t.Steps > maxRateSteps:
		return fmt.Errorf("%d steps; want 20 to %d", t.Steps, maxRateSteps)
	}
	return nil
}

// RatePoint is one update of a range test.
type RatePoint struct {
	Step      int     `json:"step"`
	Rate      float64 `json:"rate"`
	Objective string  `json:"objective"`
	Loss      float64 `json:"loss"`     // weighted sum, mean over the batches of the update
	Smoothed  float64 `json:"smoothed"` // moving average with factor 0.9, bias-corrected
}

// Rates is the result of a range test.
type Rates struct {
	Optimizer  string      `json:"optimizer"`
	Objective  string      `json:"objective"`          // objective with the most updates; its curve gives the rate
	Suggested  float64     `json:"suggested"`          // rate at the steepest decrease over log rate; 0: none
	Lowest     RatePoint   `json:"lowest"`             // point with the lowest smoothed loss
	Configured float64     `json:"configured"`         // the rate of the config
	Diverged   string      `json:"diverged,omitempty"` // why the test ended early; empty: it did not
	Points     []RatePoint `json:"points"`
}

// FindRate tests learning rates on the first updates of a config's training. It uses the config's data, losses,
// optimiser, gradient clipping and accumulation, but not its schedule and warm-up. Rates of parameter groups keep their
// ratio to the optimiser's rate. FindRate writes no files.
func FindRate(ctx context.Context, c Config, t RateTest) (*Rates, error) {
	if err := t.check(); err != nil {
		return nil, fmt.Errorf("range test: %w", err)
	}
	if err := c.ready(ctx); err != nil {
		return nil, err
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
	rising := &risingRate{Low: t.Low / base, Factor: math.Pow(t.High/t.Low, 1/float64(t.Steps-1)), Steps: t.Steps}
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
	x := &rateRun{Rates: &Rates{Optimizer: c.Train.Optimizer.Name, Configured: base}, steps: t.Steps,
		curves: map[string]*rateCurve{}}
	l.AddHook(engine.Hook{Name: "range test", NoParams: true, OnStep: x.step})
	err = l.Run(ctx)
	switch {
	case errors.Is(err, engine.ErrStopped) || err != nil && len(x.Points) == 0:
		return nil, err
	case err != nil: // a rate that is too high for a step is a result
		x.Diverged = err.Error()
	}
	x.suggest()
	return x.Rates, nil
}

const (
	rateSmoothing = 0.9 // weight of the previous smoothed loss
	rateSettling  = 10  // number of updates before an objective's smoothed loss is used
	rateRise      = 3   // a larger relative rise above the lowest loss is divergence
)

// risingRate is the schedule of a range test: multipliers of the optimiser's rate, from Low, growing by Factor.
type risingRate struct {
	Low, Factor float64
	Steps       int
}

// Rate implements engine.Schedule. The engine uses RateAt instead.
func (r *risingRate) Rate(_, _ float64) float64 { return r.Low }

// RateAt implements engine.Timed.
func (r *risingRate) RateAt(t engine.Time) float64 {
	return r.Low * math.Pow(r.Factor, float64(min(t.Update, r.Steps-1)))
}

type rateRun struct {
	*Rates
	steps  int // number of updates
	curves map[string]*rateCurve
	sum    float64 // sum of the losses of batches since the last update
	count  int
}

type rateCurve struct {
	mean   float64 // without bias correction
	count  int
	lowest RatePoint
}

// step records an update. It ends the test when the loss diverges, or after the last rate.
func (x *rateRun) step(_ context.Context, l *engine.Loop, s *engine.StepReport) error {
	x.sum += s.Values[0]
	x.count++
	if s.Accumulating {
		return nil
	}
	c := x.curves[s.Objective]
	if c == nil {
		c = &rateCurve{}
		x.curves[s.Objective] = c
	}
	loss := x.sum / float64(x.count)
	x.sum, x.count = 0, 0
	c.count++
	c.mean = rateSmoothing*c.mean + (1-rateSmoothing)*loss
	p := RatePoint{Step: len(x.Points) + 1, Rate: x.Configured * s.Rate, Objective: s.Objective, Loss: loss,
		Smoothed: c.mean / (1 - math.Pow(rateSmoothing, float64(c.count)))}
	x.Points = append(x.Points, p)
	if c.count == 1 || p.Smoothed < c.lowest.Smoothed {
		c.lowest = p
	}
	low := c.lowest.Smoothed
	switch {
	case c.count > rateSettling && p.Smoothed > low+rateRise*math.Abs(low):
		x.Diverged = fmt.Sprintf("the smoothed loss of %s is %.4g, and was %.4g at a rate of %.3g",
			s.Objective, p.Smoothed, low, c.lowest.Rate)
		l.Stop(x.Diverged)
	case len(x.Points) == x.steps:
		l.Stop("all rates were tried")
	}
	return nil
}

// suggest chooses the steepest decrease before the lowest point, of the objective with the most points; 0: no decrease.
func (x *rateRun) suggest() {
	maxCount := 0
	for _, p := range x.Points { // in order, so ties have a defined winner
		if n := x.curves[p.Objective].count; n > maxCount {
			maxCount, x.Objective = n, p.Objective
		}
	}
	x.Lowest = x.curves[x.Objective].lowest
	var points []RatePoint
	for _, p := range x.Points {
		if p.Objective == x.Objective && p.Step <= x.Lowest.Step {
			points = append(points, p)
		}
	}
	steepest := 0.0
	for i := rateSettling; i < len(points); i++ {
		fall := (points[i-1].Smoothed - points[i].Smoothed) / math.Log(points[i].Rate/points[i-1].Rate)
		if fall > steepest {
			steepest, x.Suggested = fall, points[i].Rate
		}
	}
}

// WriteCSV writes the points as a table.
func (r *Rates) WriteCSV(w io.Writer) error {
	t := csv.NewWriter(w)
	_ = t.Write([]string{"step", "rate", "objective", "loss", "smoothed"}) // t.Error reports the error
	for _, p := range r.Points {
		row := []string{strconv.Itoa(p.Step)}
		number := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
		_ = t.Write(append(row, number(p.Rate), p.Objective, number(p.Loss), number(p.Smoothed)))
	}
	t.Flush()
	return t.Error()
}

// Draw draws the smoothed losses over the rate, with the suggested rate and the config's rate.
func (r *Rates) Draw(w io.Writer, title string) error {
	var list []report.Series
	for _, p := range r.Points {
		index := slices.IndexFunc(list, func(s report.Series) bool { return s.Name == p.Objective })
		if index < 0 {
			index, list = len(list), append(list, report.Series{Name: p.Objective})
		}
		s := &list[index]
		s.X, s.Y = append(s.X, p.Rate), append(s.Y, p.Smoothed)
	}
	o := report.CurveOptions{Title: title, XLabel: "learning rate", YLabel: "loss, smoothed", LogX: true}
	if r.Suggested > 0 {
		o.Marks = append(o.Marks, report.Mark{Name: fmt.Sprintf("suggested  %.2g", r.Suggested), X: r.Suggested})
	}
	if low, high := r.Points[0].Rate, r.Points[len(r.Points)-1].Rate; r.Configured >= low && r.Configured <= high {
		o.Marks = append(o.Marks, report.Mark{Name: fmt.Sprintf("in the config  %.2g", r.Configured), X: r.Configured})
	}
	return report.Curves(w, o, list)
}
