package main

import (
	"context"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/results/tables"
)

// noisy is a source of codes for the rows of a table: two factors with noise.
type noisy struct {
	Sigma float64 `yaml:"sigma" doc:"standard deviation of the noise of a code, levels"`
}

func (n *noisy) Validate() error {
	if !(n.Sigma >= 0 && n.Sigma <= 100) {
		return config.Invalid("sigma", "%v is out of range; want 0 to 100", n.Sigma)
	}
	return nil
}

// Random implements tables.Source.
func (n *noisy) Random() bool { return n.Sigma > 0 }

// Sample implements tables.Sampled.
func (n *noisy) Sample(_ context.Context, seed uint64) (*tables.Sample, error) {
	grid := factor.Grid{{Name: "row", Size: 8}, {Name: "column", Size: 8}}
	s := rng.New(seed, "noisy")
	var codes [][]float64
	var all [][]int
	for i := range grid.Len() {
		levels := make([]int, len(grid))
		grid.At(i, levels)
		all = append(all, levels)
		codes = append(codes, []float64{float64(levels[0]) + n.Sigma*s.NormFloat64(),
			float64(levels[1]) + n.Sigma*s.NormFloat64()})
	}
	m, err := metrics.FromRows(codes)
	if err != nil {
		return nil, err
	}
	in, err := metrics.NewInput(m, all, grid)
	return &tables.Sample{Input: in}, err
}
