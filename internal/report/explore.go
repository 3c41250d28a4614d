package report

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/draw"
	"math"

	"github.com/unravel-ml/unravel/internal/decode"
	"github.com/unravel-ml/unravel/internal/raster"
	"github.com/unravel-ml/unravel/internal/report/web"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/metrics/matrix"
	"github.com/unravel-ml/unravel/metrics/mutual"
	"github.com/unravel-ml/unravel/train/weights"
)

// Limits of a decoder that a page computes: its weights, two bytes each, and its multiplications for an image. A
// browser does one to three billion multiplications a second. Sheets of pictures replace a larger decoder.
const (
	maxPageWeights  = 2_000_000
	maxPageProducts = 40_000_000
)

// Explored is the data for a page's interactive decoder.
type Explored struct {
	Codes   *decode.Codes // Known has the codes of images that give controls their ranges
	Starts  []int         // numbers of images to start from
	Names   []string      // their files; nil: they have none
	At      matrix.Matrix // their codes
	Pixels  []float32     // pixels of the start images, [n, Height, Width, Channels]
	Decoder Decoder

	Followed map[int]Followed // by code column; columns that follow no factor are missing

	Network *weights.Operations // the decoder as operations; nil: pages show sheets
	Reason  string              // why there is no Network
}

// Explore returns the controls of a decoder, and the decoder itself with weights in half precision if it is small
// enough. For a larger decoder it returns sheets of pictures of its answers.
func Explore(x Explored) (*web.Explore, error) {
	d := x.Decoder
	limits := raster.PicturesOf(d.Height, d.Width, d.Channels, x.Pixels)
	pictures, err := limits.Of(x.Pixels)
	if err != nil {
		return nil, err
	}
	e := &web.Explore{
		Image:    web.Image{Height: d.Height, Width: d.Width, Channels: d.Channels, Low: web.Number(limits.Low), High: web.Number(limits.High), Curves: limits.Curves()},
		Columns:  x.Codes.Width(),
		Controls: x.controls(x.Codes.Controls()),
		Starts:   web.Starts{Rows: web.Integers(x.Starts, len(x.Starts)), Names: x.Names, Codes: web.Floats(x.At.Data, x.At.Rows, x.At.Cols)},
		Known:    borrowed(x.Codes),
	}
	if e.Pictures, err = sheetOf(pictures, startsAcross); err != nil {
		return nil, err
	}
	if e.Note = x.reason(); e.Note == "" {
		e.Decoder = web.NewDecoder(x.Network)
		return e, nil
	}
	s, err := x.sheets(limits)
	if err != nil {
		return nil, err
	}
	e.Sheets, e.Controls = s.out, s.with(e.Controls)
	return e, nil
}

// startsAcross is the number of start images in a row of their sheet.
const startsAcross = 8

// reason says why a page cannot compute the decoder; empty if it can.
func (x *Explored) reason() string {
	if x.Network == nil {
		return x.Reason
	}
	size := 0
	for _, c := range x.Network.Constants {
		size += len(c.Floats)
	}
	switch {
	case size > maxPageWeights:
		return fmt.Sprintf("the decoder has %.1f million weights, and a page holds at most %.0f", millions(size), millions(maxPageWeights))
	case x.Network.Products > maxPageProducts:
		return fmt.Sprintf("the decoder takes %.0f million multiplications for an image, and a page computes at most %.0f", millions(x.Network.Products), millions(maxPageProducts))
	}
	return ""
}

func millions(n int) float64 { return float64(n) / 1e6 }

func (x *Explored) controls(list []decode.Control) []web.Control {
	var all []web.Control
	for _, c := range list {
		w := web.Control{Kind: c.Kind, Name: c.Name, Columns: c.Columns, Low: web.Number(c.Low), High: web.Number(c.High)}
		for _, column := range c.Columns {
			if f := x.Followed[column]; f.Share > float64(w.Share) && c.Kind != decode.Turn {
				w.Factor, w.Share = f.Factor, web.Number(f.Share)
			}
		}
		for _, o := range c.Options {
			w.Options = append(w.Options, web.Option{Share: web.Number(o.Share), Controls: x.controls(o.Controls)})
		}
		all = append(all, w)
	}
	return all
}

// maxBorrowed bounds the known codes for each combination of options.
const maxBorrowed = 24

// borrowed returns known codes of every combination of options. A newly opened dimension takes the value of the nearest
// one.
func borrowed(c *decode.Codes) web.Array {
	var list []float64
	if c.Hierarchy != nil {
		for _, p := range pathsOf(c.Known, len(c.Hierarchy.Categoricals())) {
			for i := range min(len(p.rows), maxBorrowed) {
				list = append(list, c.Known.Row(p.rows[i*len(p.rows)/min(len(p.rows), maxBorrowed)])...)
			}
		}
	}
	return web.Floats(list, len(list)/c.Width(), c.Width())
}

// sheetOf joins pictures of equal size into one picture, with so many across.
func sheetOf(pictures []image.Image, across int) (web.Thumbnails, error) {
	w, h := pictures[0].Bounds().Dx(), pictures[0].Bounds().Dy()
	across = min(across, len(pictures))
	sheet := image.NewRGBA(image.Rect(0, 0, across*w, (len(pictures)+across-1)/across*h))
	for i, p := range pictures {
		at := image.Pt(i%across*w, i/across*h)
		draw.Draw(sheet, image.Rectangle{Min: at, Max: at.Add(image.Pt(w, h))}, p, p.Bounds().Min, draw.Src)
	}
	t := web.Thumbnails{Width: w, Height: h, Across: across, Count: len(pictures)}
	var png bytes.Buffer
	if err := raster.WritePNG(&png, sheet); err != nil {
		return t, fmt.Errorf("report: %w", err)
	}
	t.Source = web.PNG(png.Bytes())
	return t, nil
}

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
