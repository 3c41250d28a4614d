package report

import (
	"context"
	"math"

	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/metrics/mutual"
)

// Followed is the factor about which a code column has the largest share of information.
type Followed struct {
	Factor string
	Share  float64 // fraction of the factor's entropy, 0 to 1
}

// The least share for a column to follow a factor, and the number of bins for its values.
const (
	leastShare   = 0.2
	followedBins = 20
)

// FollowedBy returns, for each code column, the factor about which it has the largest share of information. The share
// is the mutual information of the binned column and the factor, minus the chance level of an independent column,
// divided by the factor's entropy. It drops columns with a share below 0.2, and returns none if levels are unknown.
func FollowedBy(in *metrics.Input) map[int]Followed {
	m := &metrics.Modularity{Histogram: mutual.Histogram{Bins: followedBins, Binning: mutual.EqualWidth}}
	results, err := metrics.Evaluate(context.Background(), in, 0, []metrics.Choice{{Name: "modularity", Value: m}})
	if err != nil || len(results[0].Grids) == 0 { // it does not apply to these codes or factors
		return nil
	}
	grid, entropies, chances := results[0].Grids[0], map[string]float64{}, map[string]float64{}
	for k, f := range in.Factors {
		levels := make([]float64, f.Size)
		for i := range in.Codes.Rows {
			if level := in.Levels[i*len(in.Factors)+k]; level >= 0 {
				levels[level]++
			}
		}
		entropies[f.Name], chances[f.Name] = entropyOf(levels)
	}
	list := map[int]Followed{}
	for column, row := range grid.Values {
		for k, mutual := range row {
			name := grid.Columns[k]
			if share := (mutual - chances[name]) / entropies[name]; share >= leastShare && share > list[column].Share {
				list[column] = Followed{Factor: name, Share: min(share, 1)}
			}
		}
	}
	return list
}

// entropyOf returns the entropy of counts in nats, and the mutual information with an independent column by chance. The
// latter is the first term of the bias, (bins - 1)(levels - 1)/2n.
func entropyOf(counts []float64) (entropy, chance float64) {
	n, used := 0.0, 0.0
	for _, c := range counts {
		n += c
		if c > 0 {
			used++
		}
	}
	for _, c := range counts {
		if c > 0 {
			entropy -= c / n * math.Log(c/n)
		}
	}
	return entropy, (followedBins - 1) * (used - 1) / (2 * n)
}
