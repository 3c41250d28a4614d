// Package drawn has the data sets that we draw ourselves: from a moving square to cars, robot arms and rooms. Several
// are twins of public sets, with the same factors. Other sets, such as [Entangled] and [Bumps], consist of numbers
// instead of images.
package drawn

import (
	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/factor"
)

// Square is a white block on black that moves over the image and around its edges (the Square set of Tonnaer et al.
// 2022). Image (i, j) is the block in the top left corner, cyclically shifted down by i*Step rows and right by j*Step
// columns. The factors row and column are circular with Size/Step levels each.
type Square struct {
	Size int `yaml:"size" doc:"height and width of the images, pixels"`
	Side int `yaml:"side" doc:"side of the white square, pixels; less than size"`
	Step int `yaml:"step" doc:"pixels between neighbouring positions; divides size"`
}

func (s *Square) Validate() error {
	switch {
	case s.Size < 2 || s.Size > 4096:
		return config.Invalid("size", "%d is out of range; want 2 to 4096", s.Size)
	case s.Side < 1 || s.Side >= s.Size:
		return config.Invalid("side", "%d is out of range; want 1 to %d (less than size)", s.Side, s.Size-1)
	case s.Step < 1 || s.Step > s.Size/2 || s.Size%s.Step != 0:
		return config.Invalid("step", "%d does not fit; want a divisor of size %d, at most its half", s.Step, s.Size)
	}
	return nil
}

func (s *Square) Build(uint64) (datasets.Dataset, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	levels := s.Size / s.Step
	values := make([]float64, levels)
	for i := range values {
		values[i] = float64(i * s.Step)
	}
	return &square{
		Square: *s,
		gridSet: gridSet{name: "square", shape: [3]int{s.Size, s.Size, 1}, grid: factor.Grid{
			{Name: "row", Size: levels, Kind: factor.Circular, Values: values},
			{Name: "column", Size: levels, Kind: factor.Circular, Values: values},
		}},
	}, nil
}

type square struct {
	Square
	gridSet
}

func (s *square) Image(i int, dst []float32) {
	dst = dst[:s.Size*s.Size]
	clear(dst)
	levels := s.grid[1].Size
	top, left := i/levels*s.Step, i%levels*s.Step
	for r := range s.Side {
		row := dst[(top+r)%s.Size*s.Size:][:s.Size]
		for c := range s.Side {
			row[(left+c)%s.Size] = 1
		}
	}
}
