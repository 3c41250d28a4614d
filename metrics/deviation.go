package metrics

import (
	"context"
	"math"
	"slices"

	"github.com/unravel-ml/unravel/factor"
	"github.com/unravel-ml/unravel/internal/geometry"
)

// deviation measures points, row by row; of a group of count rows they may be only
// some, chosen at random. It may reorder them.
type deviation func(points []float64, count int) (float64, error)

// newDeviation returns the measure of points with so many columns.
func newDeviation(ctx context.Context, d factor.Deviation, columns int) deviation {
	switch d {
	case factor.MAD:
		if columns == 1 {
			return madOfLine
		}
		median := &geometry.Median{Interrupt: ctx.Err}
		return func(points []float64, _ int) (float64, error) {
			err := median.Fit(points, columns)
			return median.MeanDistance, err
		}
	case factor.Radius:
		if columns == 1 {
			return func(points []float64, _ int) (float64, error) {
				return slices.Max(points)/2 - slices.Min(points)/2, nil
			}
		}
		ball := &geometry.Ball{Interrupt: ctx.Err}
		return func(points []float64, _ int) (float64, error) {
			err := ball.Enclose(points, columns)
			return ball.Radius, err
		}
	case factor.Diameter:
		if columns == 1 {
			return func(points []float64, _ int) (float64, error) { return slices.Max(points) - slices.Min(points), nil }
		}
		pairs := &geometry.Pairs{Interrupt: ctx.Err}
		return func(points []float64, _ int) (float64, error) {
			if err := pairs.Set(points, columns); err != nil {
				return 0, err
			}
			distance, _, _, err := pairs.Diameter()
			return distance, err
		}
	case factor.MPD:
		if columns == 1 {
			return mpdOfLine
		}
		pairs := &geometry.Pairs{Interrupt: ctx.Err}
		return func(points []float64, count int) (float64, error) {
			if err := pairs.Set(points, columns); err != nil {
				return 0, err
			}
			// of a group of which the points are a sample: the distances of a point from
			// itself, 0, would be more frequent in the sample
			mean, err := pairs.Mean()
			return mean / 2 * float64(count-1) / float64(count), err
		}
	}
	return func(points []float64, _ int) (float64, error) { return variance(points, columns), nil }
}

// variance is the sum over columns of the variance.
func variance(points []float64, columns int) (sum float64) {
	n := float64(len(points) / columns)
	for c := range columns {
		var mean, square, rest float64
		for i := c; i < len(points); i += columns {
			mean += (points[i] - points[c]) / n // from the first point: less rounding
		}
		for i := c; i < len(points); i += columns {
			d := points[i] - points[c] - mean
			square += d * d
			rest += d
		}
		sum += (square - rest*rest/n) / n
	}
	return sum
}

// madOfLine is the mean absolute deviation of numbers from their median.
func madOfLine(x []float64, _ int) (float64, error) {
	slices.Sort(x)
	median, n := x[len(x)/2], float64(len(x))
	var sum float64
	for _, v := range x {
		sum += math.Abs(v-median) / n
	}
	return sum, nil
}

// mpdOfLine is half the mean distance of numbers: with x sorted, the pairs add up to
// sum_i (2i - n + 1) x_i.
func mpdOfLine(x []float64, _ int) (float64, error) {
	slices.Sort(x)
	n := float64(len(x))
	var sum float64
	for i, v := range x {
		sum += (float64(2*i+1) - n) / n * (v - x[0]) / n
	}
	return sum, nil
}
