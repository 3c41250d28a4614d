// Package datatest builds data sets for tests.
package datatest

import (
	"testing"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/factor"
)

// Build builds a data set from the seed 0.
func Build(t testing.TB, b datasets.Builder) datasets.Dataset {
	t.Helper()
	d, err := b.Build(0)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// All lists the indices of all images.
func All(d datasets.Dataset) []int {
	list := make([]int, d.Len())
	for i := range list {
		list[i] = i
	}
	return list
}

// Toy is a data set of 1 x 1 images with any factors. The pixel of image i is i/Grid.Len().
type Toy struct {
	Grid    factor.Grid
	Missing int // number of images that are missing at the end
}

func (d *Toy) Name() string                  { return "toy" }
func (d *Toy) ImageShape() (h, w, c int)     { return 1, 1, 1 }
func (d *Toy) Factors() []factor.Factor      { return d.Grid }
func (d *Toy) Len() int                      { return d.Grid.Len() - d.Missing }
func (d *Toy) Image(i int, dst []float32)    { dst[0] = float32(i) / float32(d.Grid.Len()) }
func (d *Toy) FactorsAt(i int, levels []int) { d.Grid.At(i, levels) }

// ToyOf returns a Toy with the given factors.
func ToyOf(factors ...factor.Factor) *Toy { return &Toy{Grid: factors} }

// ImageAt returns the image with the given levels.
func ImageAt(d datasets.Dataset, levels ...int) []float32 {
	h, w, c := d.ImageShape()
	pixels := make([]float32, h*w*c)
	d.Image(factor.Grid(d.Factors()).Index(levels), pixels)
	return pixels
}
