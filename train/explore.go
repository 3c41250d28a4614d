package train

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/internal/decode"
	"github.com/unravel-ml/unravel/internal/report"
	"github.com/unravel-ml/unravel/internal/report/web"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/metrics/matrix"
	"github.com/unravel-ml/unravel/train/weights"
)

// Numbers of images on a page with an interactive decoder: images to start from, and images whose codes give the
// ranges of controls.
const (
	exploreStarts = 24
	exploreRanged = 5000
)

// explore returns the data of a page with the model's interactive decoder. codes has a row for each image in images;
// nil images mean all, in order. It returns nil for a model without a decoder.
func (e *Experiment) explore(images []int, codes matrix.Matrix) (*web.Explore, error) {
	if !e.Coder.Decodes() || codes.Rows == 0 {
		return nil, nil
	}
	ranged, starts := apart(codes.Rows, exploreRanged), apart(codes.Rows, exploreStarts)
	known, shown := selected(codes, ranged), gathered(images, starts)
	x := report.Explored{Codes: decode.Of(e.Model, known), At: selected(codes, starts), Starts: gathered(e.images, shown), Names: report.FileNames(e.Data, shown), Decoder: e.decoder(),
		Followed: report.FollowedBy(e.InputOf(known, gathered(images, ranged)))}
	d := x.Decoder
	x.Pixels = make([]float32, len(shown)*d.Height*d.Width*d.Channels)
	datasets.Fill(e.Data, shown, x.Pixels)
	source := weights.Source{Model: e.Model, Data: e.modelData(), Views: e.Config.Views}
	var err error
	if x.Network, err = source.Operations(weights.Decoder); err != nil {
		x.Network, x.Reason = nil, err.Error()
	}
	return report.Explore(x)
}

// Explore returns the data of a page with the model's interactive decoder, as JSON. It encodes at most count images,
// from the whole data set. It returns nil for a model without a decoder.
func (e *Experiment) Explore(ctx context.Context, count int) ([]byte, error) {
	x, err := e.exploreSome(ctx, count)
	if x == nil || err != nil {
		return nil, err
	}
	return json.Marshal(x)
}

// exploreSome is explore for at most count images from the whole data set; it encodes them.
func (e *Experiment) exploreSome(ctx context.Context, count int) (*web.Explore, error) {
	if !e.Coder.Decodes() {
		return nil, nil
	}
	images := apart(e.Data.Len(), count)
	codes, err := e.Coder.Encode(ctx, e.Data, images)
	if err != nil {
		return nil, err
	}
	return e.explore(images, metrics.NewMatrix(len(images), e.Coder.Width(), codes))
}

// gathered returns the elements of a list at some places. A nil list stands for 0, 1, 2, ...
func gathered(list, at []int) []int {
	if list == nil {
		return at
	}
	some := make([]int, len(at))
	for i, k := range at {
		some[i] = list[k]
	}
	return some
}

// apart returns count of n indices, in order, that do not follow the grid of factors; or all n.
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
func selected(m matrix.Matrix, rows []int) matrix.Matrix {
	some := matrix.Matrix{Rows: len(rows), Cols: m.Cols, Data: make([]float64, 0, len(rows)*m.Cols)}
	for _, i := range rows {
		some.Data = append(some.Data, m.Row(i)...)
	}
	return some
}
