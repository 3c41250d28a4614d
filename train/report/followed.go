package report

import (
	"context"
	"math"

	"github.com/unravel-ml/unravel/metrics"
)

// Followed is the factor about which a column of codes has the largest share of information.
type Followed struct {
	Factor string
	Share  float64 // of the factor's entropy, 0 to 1
}

// A column is said to follow a factor from this share on, with its values in so many bins.
const (
	leastShare   = 0.2
	followedBins = 20
)

// FollowedBy returns, for each column of codes, the factor about which it has the largest share of information: the mutual information
// of the column in bins and the factor, less what independent ones would seem to have, over the factor's entropy. Columns with a share
// below 0.2 are left out, and all where levels are not known.
func FollowedBy(in *metrics.Input) map[int]Followed {
	m := &metrics.Modularity{Histogram: metrics.Histogram{Bins: followedBins, Binning: metrics.EqualWidth}}
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

// entropyOf returns the entropy of counts in nats, and the mutual information that an independent column would seem to have: the first
// term of its bias, (bins - 1)(levels - 1)/2n.
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
