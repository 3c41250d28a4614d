package main

import (
	"math"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/factor"
)

// hand is a data set: the hand of a clock, white on black. Factors: its angle (circular) and its length (ordinal).
type hand struct {
	Size    int `yaml:"size" doc:"height and width of the images, pixels"`
	Angles  int `yaml:"angles" doc:"number of angles"`
	Lengths int `yaml:"lengths" doc:"number of lengths"`
}

func (h *hand) Validate() error {
	switch {
	case h.Size < 8 || h.Size > 1024:
		return config.Invalid("size", "%d is out of range; want 8 to 1024", h.Size)
	case h.Angles < 2 || h.Angles > 1000:
		return config.Invalid("angles", "%d is out of range; want 2 to 1000", h.Angles)
	case h.Lengths < 2 || h.Lengths > 1000:
		return config.Invalid("lengths", "%d is out of range; want 2 to 1000", h.Lengths)
	}
	return nil
}

// Build implements datasets.Builder.
func (h *hand) Build(uint64) (datasets.Dataset, error) {
	return &hands{size: h.Size, grid: factor.Grid{
		{Name: "angle", Size: h.Angles, Kind: factor.Circular},
		{Name: "length", Size: h.Lengths, Kind: factor.Ordinal},
	}}, nil
}

// hands is the data set that hand builds.
type hands struct {
	size int
	grid factor.Grid
}

func (d *hands) Name() string               { return "hand" }
func (d *hands) ImageShape() (h, w, c int)  { return d.size, d.size, 1 }
func (d *hands) Factors() []factor.Factor   { return d.grid }
func (d *hands) Len() int                   { return d.grid.Len() }
func (d *hands) FactorsAt(i int, dst []int) { d.grid.At(i, dst) }

// Image draws a bar from the centre. A pixel is as white as it lies within the bar's edge of one pixel.
func (d *hands) Image(i int, dst []float32) {
	angle, length := d.grid[0].Angle(i/d.grid[1].Size), float64(i%d.grid[1].Size+1)/float64(d.grid[1].Size)
	sin, cos := math.Sincos(angle)
	half := float64(d.size) / 2
	reach, width := length*half, float64(d.size)/10
	for row := range d.size {
		for column := range d.size {
			x, y := float64(column)+0.5-half, float64(row)+0.5-half
			along := x*cos + y*sin
			nearest := min(max(along, 0), reach)
			distance := math.Hypot(x-nearest*cos, y-nearest*sin)
			dst[row*d.size+column] = float32(min(max(width-distance+0.5, 0), 1))
		}
	}
}
