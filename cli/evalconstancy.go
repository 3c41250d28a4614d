package cli

import (
	"context"
	"io"
	"math"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/internal/report"
	"github.com/unravel-ml/unravel/metrics"
)

// writeConstancy draws, for every factor, the radius and the standard deviation of its sub-code at each level. If one
// level has the larger radius and another the larger variance, the metrics radius and variance rank codes differently
// (Zhang and Sugiyama 2024, figure 8).
func (e *evaluation) writeConstancy(ctx context.Context, write func(name string, content func(io.Writer) error) error) error {
	if !varies(e.in) {
		return nil
	}
	var of [2][]metrics.Part
	for i, d := range []factor.Deviation{factor.Radius, factor.Variance} {
		m := metrics.NewSubCodeDeviation(d)
		m.SetCodes(e.codes, e.assign)
		var err error
		if of[i], err = m.Levels(ctx, e.in); ctx.Err() != nil {
			return ctx.Err()
		} else if err != nil { // for example, fewer columns than factors; the remark for approximation.png says so
			return nil
		}
	}
	var rows []report.SpaceRow
	for f := 0; f < len(of[0]) && len(rows) < maxSpaceRows; f++ {
		radius, variance := of[0][f], of[1][f]
		if len(radius.Values) < 2 {
			continue
		}
		level, deviation := make([]float64, len(radius.Values)), make([]float64, len(radius.Values))
		for v := range level {
			level[v], deviation[v] = float64(v), math.Sqrt(variance.Values[v])
		}
		rows = append(rows, report.SpaceRow{
			Factors: []report.Column{{Name: radius.Name, Values: level}},
			Spaces:  []report.Space{{Name: radius.Name, Axes: []report.Column{{Name: "radius", Values: radius.Values}, {Name: "deviation", Values: deviation}}}},
		})
	}
	if rows == nil {
		return nil
	}
	return write("constancy.png", func(w io.Writer) error {
		return report.Spaces(w, "Levels by their sub-codes", rows)
	})
}
