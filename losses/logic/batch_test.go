package logic

import (
	"gorgonia.org/gorgonia"
	"maps"
	"slices"

	"github.com/unravel-ml/unravel/graph/rng"
)

// batch is data for sentences.
type batch struct {
	z, y, labels        [][]float64
	means, logVariances [][]float64 // posteriors of the samples z, in sentences about samples
}

// of returns a batch for a sentence. z holds its codes or its samples.
func (b batch) of(q *Quantity) Batch {
	r := Batch{Codes: b.z, Values: b.y, Labels: b.labels, LogVariances: b.logVariances}
	if q.sentence.Sampled {
		r.Codes, r.Samples = b.means, b.z
	}
	return r
}

// nodes returns the inputs of a sentence from nodes of z, y, labels, log variances and means.
func nodes(q *Quantity, in []*gorgonia.Node) Inputs {
	r := Inputs{Codes: in[0], Values: in[1], Labels: in[2]}
	if len(in) > 3 {
		r.LogVariances = in[3]
	}
	if q.sentence.Sampled {
		r.Codes, r.Samples = in[4], in[0]
	}
	return r
}

// batches returns data of all kinds: continuous, on a coarse grid, codes as functions or copies of factors, constant
// codes, and factors with one value.
func batches(seed, rows int) map[string]batch {
	r := rng.New(uint64(seed), "batch")
	kinds := map[string]func(i, k int, level []float64) float64{
		"continuous": func(i, k int, level []float64) float64 { return r.NormFloat64() },
		"grid":       func(i, k int, level []float64) float64 { return float64(r.IntN(3)) / 2 },
		"function":   func(i, k int, level []float64) float64 { return []float64{1, 0, -0.5, 1}[(k+int(level[k%3]))%4] },
		"copy":       func(i, k int, level []float64) float64 { return level[k%3] / 2 },
		"constant":   func(i, k int, level []float64) float64 { return 0.25 },
		"zero":       func(i, k int, level []float64) float64 { return 0 },
		"one":        func(i, k int, level []float64) float64 { return 1 },
		"minus half": func(i, k int, level []float64) float64 { return -0.5 },
		"far":        func(i, k int, level []float64) float64 { return float64(10 + 100*i*(k+1)) },
		"one level":  func(i, k int, level []float64) float64 { return 0 },
		"negative":   func(i, k int, level []float64) float64 { return float64(-8 * (i + 1)) },
	}
	all := map[string]batch{}
	for _, name := range slices.Sorted(maps.Keys(kinds)) {
		var b batch
		for i := range rows {
			level := []float64{float64(r.IntN(3)), float64(r.IntN(2)), float64(r.IntN(3))}
			if name == "zero" || name == "one" || name == "one level" {
				level = []float64{0, 0, 0}
			}
			b.labels = append(b.labels, append([]float64{}, level...))
			y := []float64{level[0], level[1] / 2, level[2] / 2}
			if name == "one" {
				y = []float64{1, 1, 1}
			}
			b.y = append(b.y, y)
			for _, to := range []*[][]float64{&b.z, &b.means, &b.logVariances} {
				row := make([]float64, 4)
				for k := range row {
					row[k] = float64(float32(kinds[name](i, k, level)))
					if to == &b.logVariances {
						row[k] = max(min(row[k], 3), -3)
					}
				}
				*to = append(*to, row)
			}
			if name != "one level" && r.IntN(8) == 0 {
				b.labels[i][r.IntN(3)] = -1
			}
		}
		all[name] = b
	}
	return all
}
