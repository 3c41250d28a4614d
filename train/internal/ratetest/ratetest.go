// Package ratetest has the curves of a learning-rate range test (Smith 2017, section 3.3).
package ratetest

import (
	"context"
	"fmt"
	"math"

	"github.com/unravel-ml/unravel/train/engine"
)

// Point has the fields of train.RatePoint.
type Point struct {
	Step      int
	Rate      float64
	Objective string
	Loss      float64
	Smoothed  float64
}

const (
	smoothing = 0.9 // weight of the previous smoothed loss
	settling  = 10  // updates of an objective before its smoothed loss is usable
	diverged  = 3   // a rise above the lowest smoothed loss by more than this multiple of its size is divergence
)

// Rising is the schedule of a range test: factors of the optimiser's rate, from Low on, each Factor times the one
// before.
type Rising struct {
	Low, Factor float64
	Steps       int
}

// Rate implements engine.Schedule. The engine uses RateAt instead.
func (r *Rising) Rate(_, _ float64) float64 { return r.Low }

// RateAt implements engine.Timed.
func (r *Rising) RateAt(t engine.Time) float64 {
	return r.Low * math.Pow(r.Factor, float64(min(t.Update, r.Steps-1)))
}

// Test is a running range test.
type Test struct {
	Base     float64 // learning rate of the config
	Steps    int     // updates
	Points   []Point
	Diverged string // why the test ended early; empty: it did not

	curves map[string]*curve
	sum    float64 // sum of the losses of batches that wait for an update
	count  int
}

// curve is the loss of an objective so far.
type curve struct {
	mean   float64 // without correction
	count  int
	lowest Point
}

// Step records an update, and ends the test when the loss diverges or after the last rate.
func (x *Test) Step(_ context.Context, l *engine.Loop, s *engine.StepReport) error {
	x.sum += s.Values[0]
	x.count++
	if s.Accumulating {
		return nil
	}
	c := x.curves[s.Objective]
	if x.curves == nil {
		x.curves = map[string]*curve{}
	}
	if c == nil {
		c = &curve{}
		x.curves[s.Objective] = c
	}
	loss := x.sum / float64(x.count)
	x.sum, x.count = 0, 0
	c.count++
	c.mean = smoothing*c.mean + (1-smoothing)*loss
	p := Point{Step: len(x.Points) + 1, Rate: x.Base * s.Rate, Objective: s.Objective, Loss: loss,
		Smoothed: c.mean / (1 - math.Pow(smoothing, float64(c.count)))}
	x.Points = append(x.Points, p)
	if c.count == 1 || p.Smoothed < c.lowest.Smoothed {
		c.lowest = p
	}
	low := c.lowest.Smoothed
	switch {
	case c.count > settling && p.Smoothed > low+diverged*math.Abs(low):
		x.Diverged = fmt.Sprintf("the smoothed loss of %s is %.4g, and was %.4g at a rate of %.3g",
			s.Objective, p.Smoothed, low, c.lowest.Rate)
		l.Stop(x.Diverged)
	case len(x.Points) == x.Steps:
		l.Stop("all rates were tried")
	}
	return nil
}

// Suggest chooses the rate from the curve of the objective with the most points: the rate of the steepest fall before
// the lowest point. A curve that never falls has the rate 0.
func (x *Test) Suggest() (objective string, lowest Point, rate float64) {
	most := 0
	for _, p := range x.Points { // in order, for ties
		if n := x.curves[p.Objective].count; n > most {
			most, objective = n, p.Objective
		}
	}
	lowest = x.curves[objective].lowest
	var points []Point
	for _, p := range x.Points {
		if p.Objective == objective && p.Step <= lowest.Step {
			points = append(points, p)
		}
	}
	steepest := 0.0
	for i := settling; i < len(points); i++ {
		fall := (points[i-1].Smoothed - points[i].Smoothed) / math.Log(points[i].Rate/points[i-1].Rate)
		if fall > steepest {
			steepest, rate = fall, points[i].Rate
		}
	}
	return objective, lowest, rate
}
