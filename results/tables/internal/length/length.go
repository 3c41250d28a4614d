// Package length compares the training lengths of runs, measured in images.
package length

import (
	"fmt"
	"math"
	"reflect"

	"github.com/unravel-ml/unravel/datasets/catalog"
	drawnsets "github.com/unravel-ml/unravel/datasets/drawn"
	"github.com/unravel-ml/unravel/train"
)

// Sizes caches the sizes of opened data sets.
type Sizes struct{ sizes []size }

// size is the number of images of a data set.
type size struct {
	data   catalog.Choice
	images float64
}

// Share returns the images that a run sees, divided by the images at the scale full; NaN without training or data set.
func (x *Sizes) Share(run, full train.Config) float64 {
	a, b := float64(run.Train.Epochs), float64(full.Train.Epochs)
	if h, f := run.Train, full.Train; h.EpochSteps != f.EpochSteps || h.Batch != f.Batch ||
		!reflect.DeepEqual(run.Dataset, full.Dataset) {
		a, b = a*x.epochImages(run), b*x.epochImages(full)
	}
	if !(a > 0 && b > 0) {
		return math.NaN()
	}
	return a / b
}

// images returns the number of images in a config's data set, or NaN if the data set cannot be opened.
func (x *Sizes) images(c train.Config) float64 {
	switch d := c.Dataset.Value.(type) { // data sets that draw their images when opened
	case *drawnsets.Chopsticks:
		return float64(d.Samples)
	case *drawnsets.Spaceshapes:
		return float64(d.Samples)
	case *drawnsets.Cars:
		return float64(d.Elevations * d.Azimuths * d.Objects)
	case *drawnsets.Room: // Room has four shapes
		return float64(d.Hues * d.Hues * d.Hues * d.Scales * 4 * d.Orientations)
	}
	for _, known := range x.sizes {
		if reflect.DeepEqual(known.data, c.Dataset) {
			return known.images
		}
	}
	images := math.NaN()
	if set, err := c.Dataset.Build(c.Seed); err == nil {
		images = float64(set.Len())
	}
	x.sizes = append(x.sizes, size{c.Dataset, images})
	return images
}

// epochImages returns the number of images in an epoch: all of the data set, or the images of the epoch's steps.
func (x *Sizes) epochImages(c train.Config) float64 {
	n := x.images(c)
	if steps := c.Train.EpochSteps * c.Train.Batch; steps > 0 {
		n = min(n, float64(steps))
	}
	return n
}

// Least returns the smaller of two shares, ignoring NaN.
func Least(a, b float64) float64 {
	switch {
	case math.IsNaN(a):
		return b
	case math.IsNaN(b):
		return a
	}
	return min(a, b)
}

// Percents formats a range of shares in percent, with two digits.
func Percents(low, high float64) string {
	from, to := fmt.Sprintf("%.2g", 100*low), fmt.Sprintf("%.2g", 100*min(high, 1))
	if high >= 0.995 {
		to = "100"
	}
	if from == to {
		return from + " %"
	}
	return from + " to " + to + " %"
}
