package train

import (
	"context"
	"math"
	"slices"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/models/decode"
	"github.com/unravel-ml/unravel/report"
	"github.com/unravel-ml/unravel/report/web"
	"github.com/unravel-ml/unravel/weights"
)

// Images of a page that plays with a decoder: those to start from, and those whose codes give the ranges of controls.
const (
	exploreStarts = 24
	exploreRanged = 5000
)

// Explore returns what a page needs to play with the model's decoder, given codes of images of the data set, a row for each; images nil:
// of all in order. It returns nil for a model without a decoder.
func (e *Experiment) Explore(images []int, codes metrics.Matrix) (*web.Explore, error) {
	if !e.Coder.Decodes() || codes.Rows == 0 {
		return nil, nil
	}
	image := func(rows []int) []int {
		if images == nil {
			return rows
		}
		return gathered(images, rows)
	}
	ranged, starts := apart(codes.Rows, exploreRanged), apart(codes.Rows, exploreStarts)
	known := selected(codes, ranged)
	x := report.Explored{Codes: decode.Of(e.Model, known), At: selected(codes, starts), Starts: image(starts), Decoder: e.decoder(),
		Followed: e.followed(known, image(ranged))}
	d := x.Decoder
	x.Pixels = make([]float32, len(starts)*d.Height*d.Width*d.Channels)
	datasets.Fill(e.Data, x.Starts, x.Pixels)
	source := weights.Source{Model: e.Model, Data: e.modelData(), Views: e.Config.Views}
	var err error
	if x.Network, err = source.Operations(weights.Decoder); err != nil {
		x.Network, x.Reason = nil, err.Error()
	}
	return report.Explore(x)
}

// ExploreSome is [Experiment.Explore] with the codes of at most count images all over the data set, which it encodes.
func (e *Experiment) ExploreSome(ctx context.Context, count int) (*web.Explore, error) {
	if !e.Coder.Decodes() {
		return nil, nil
	}
	images := apart(e.Data.Len(), count)
	codes, err := e.Coder.Encode(ctx, e.Data, images)
	if err != nil {
		return nil, err
	}
	return e.Explore(images, metrics.NewMatrix(len(images), e.Coder.Width(), codes))
}

// leastShare is the share of a factor's entropy from which on a column of codes is said to follow the factor.
const leastShare = 0.2

// followed returns for each column of codes of some images the factor about which it has the largest share of information: mutual
// information, less what independent columns would seem to have, over the factor's entropy. Shares below leastShare are left out, and all
// of them where factors are not known.
func (e *Experiment) followed(codes metrics.Matrix, images []int) map[int]report.Followed {
	in := e.InputOf(codes, images)
	entry, err := metrics.Registry.Lookup("modularity")
	if err != nil {
		return nil
	}
	results, err := metrics.Evaluate(context.Background(), in, 0, []metrics.Choice{{Name: "modularity", Value: entry.New()}})
	if err != nil || len(results[0].Grids) == 0 { // the metric does not apply
		return nil
	}
	list, factors := map[int]report.Followed{}, in.Factors
	for column, row := range results[0].Grids[0].Values {
		for k, mutual := range row {
			counts := make([]float64, factors[k].Size)
			for i := range images {
				if level := in.Levels[i*len(factors)+k]; level >= 0 {
					counts[level]++
				}
			}
			const bins = 20
			chance := (bins - 1) * float64(len(counts)-1) / float64(2*len(images))
			if share := (mutual - chance) / entropy(counts); share >= leastShare && share > list[column].Share {
				list[column] = report.Followed{Factor: factors[k].Name, Share: min(share, 1)}
			}
		}
	}
	return list
}

// entropy is that of counts, in nats.
func entropy(counts []float64) (h float64) {
	n := 0.0
	for _, c := range counts {
		n += c
	}
	for _, c := range counts {
		if c > 0 {
			h -= c / n * math.Log(c/n)
		}
	}
	return h
}

// gathered returns the elements of a list at some places.
func gathered(list, at []int) []int {
	some := make([]int, len(at))
	for i, k := range at {
		some[i] = list[k]
	}
	return some
}

// apart returns count indices of n that do not follow the grid of factors, in order, or all n.
func apart(n, count int) []int {
	if n > count {
		list := scattered(n, count)
		slices.Sort(list)
		return slices.Compact(list)
	}
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

// selected returns some rows of a matrix.
func selected(m metrics.Matrix, rows []int) metrics.Matrix {
	some := metrics.Matrix{Rows: len(rows), Cols: m.Cols, Data: make([]float64, 0, len(rows)*m.Cols)}
	for _, i := range rows {
		some.Data = append(some.Data, m.Row(i)...)
	}
	return some
}
