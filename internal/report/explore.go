package report

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"image"
	"image/draw"
	"math"
	"slices"

	"github.com/unravel-ml/unravel/internal/decode"
	"github.com/unravel-ml/unravel/internal/raster"
	"github.com/unravel-ml/unravel/internal/report/web"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/metrics/matrix"
	"github.com/unravel-ml/unravel/metrics/mutual"
	"github.com/unravel-ml/unravel/train/weights"
)

// Limits of a decoder that a page computes: its weights, two bytes each, and its multiplications per image. A browser
// does one to three billion multiplications per second. A page shows sheets of pictures instead of a larger decoder.
const maxPageWeights, maxPageProducts = 2_000_000, 40_000_000

// Explored is the data for a page's interactive decoder.
type Explored struct {
	Codes   *decode.Codes // Known has the codes of images from which controls get their ranges
	Starts  []int         // numbers of the start images
	Names   []string      // files of the start images; nil: none
	At      matrix.Matrix // codes of the start images
	Pixels  []float32     // pixels of the start images, [n, Height, Width, Channels]
	Decoder Decoder

	Followed map[int]Followed // by code column; missing: the column follows no factor

	Network *weights.Operations // decoder as operations; nil: pages show sheets
	Reason  string              // reason for a nil Network
}

// Explore returns the controls of a decoder. If the decoder is small enough, it also returns the decoder with
// half-precision weights. For a larger decoder, it returns sheets of decoded pictures.
func Explore(x Explored) (*web.Explore, error) {
	d := x.Decoder
	limits := raster.PicturesOf(d.Height, d.Width, d.Channels, x.Pixels)
	pictures, err := limits.Of(x.Pixels)
	if err != nil {
		return nil, err
	}
	e := &web.Explore{
		Image: web.Image{Height: d.Height, Width: d.Width, Channels: d.Channels, Low: web.Number(limits.Low),
			High: web.Number(limits.High), Curves: limits.Curves()},
		Columns:  x.Codes.Width(),
		Controls: x.controls(x.Codes.Controls()),
		Starts: web.Starts{Rows: web.Integers(x.Starts, len(x.Starts)), Names: x.Names,
			Codes: web.Floats(x.At.Data, x.At.Rows, x.At.Cols)},
		Known: knownCodes(x.Codes),
	}
	if e.Pictures, err = joinPictures(pictures, startsAcross); err != nil {
		return nil, err
	}
	if e.Note = x.whyNoDecoder(); e.Note == "" {
		e.Decoder = web.NewDecoder(x.Network)
		return e, nil
	}
	s, err := x.sheets(limits)
	if err != nil {
		return nil, err
	}
	e.Sheets, e.Controls = s.out, s.steppedControls(e.Controls)
	return e, nil
}

const startsAcross = 8 // number of start images per row of their sheet

// whyNoDecoder says why a page cannot compute the decoder, or returns "" if it can.
func (x *Explored) whyNoDecoder() string {
	if x.Network == nil {
		return x.Reason
	}
	size := 0
	for _, c := range x.Network.Constants {
		size += len(c.Floats)
	}
	switch {
	case size > maxPageWeights:
		return fmt.Sprintf("the decoder has %.1f million weights, and a page holds at most %.0f",
			millions(size), millions(maxPageWeights))
	case x.Network.Products > maxPageProducts:
		return fmt.Sprintf("the decoder takes %.0f million multiplications for an image, and a page computes at most %.0f",
			millions(x.Network.Products), millions(maxPageProducts))
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

const maxKnownCodes = 24 // maximum number of known codes per combination of options

// knownCodes returns known codes for every combination of options. An opened dimension takes the value of the nearest
// code.
func knownCodes(c *decode.Codes) web.Array {
	var list []float64
	if c.Hierarchy != nil {
		for _, p := range groupByOptions(c.Known, len(c.Hierarchy.Categoricals())) {
			for i := range min(len(p.rows), maxKnownCodes) {
				list = append(list, c.Known.Row(p.rows[i*len(p.rows)/min(len(p.rows), maxKnownCodes)])...)
			}
		}
	}
	return web.Floats(list, len(list)/c.Width(), c.Width())
}

// joinPictures joins pictures of equal size into one picture, with across pictures per row.
func joinPictures(pictures []image.Image, across int) (web.Thumbnails, error) {
	w, h := pictures[0].Bounds().Dx(), pictures[0].Bounds().Dy()
	across = min(across, len(pictures))
	sheet := image.NewRGBA(image.Rect(0, 0, across*w, (len(pictures)+across-1)/across*h))
	for i, p := range pictures {
		corner := image.Pt(i%across*w, i/across*h)
		draw.Draw(sheet, image.Rectangle{Min: corner, Max: corner.Add(image.Pt(w, h))}, p, p.Bounds().Min, draw.Src)
	}
	t := web.Thumbnails{Width: w, Height: h, Across: across, Count: len(pictures)}
	var png bytes.Buffer
	if err := raster.WritePNG(&png, sheet); err != nil {
		return t, fmt.Errorf("report: %w", err)
	}
	t.Source = web.PNG(png.Bytes())
	return t, nil
}

// Followed is the factor with which a code column shares the largest fraction of information.
type Followed struct {
	Factor string
	Share  float64 // fraction of the factor's entropy, 0 to 1
}

// Minimum share for a column to follow a factor, and the number of bins for the column's values.
const minShare, shareBins = 0.2, 20

// FollowedBy returns, for each code column, the factor with which it shares the largest fraction of information. The
// share is the mutual information of the binned column and the factor, minus the chance level of an independent column,
// divided by the factor's entropy. FollowedBy omits columns with a share below 0.2. If levels are unknown, it returns
// none.
func FollowedBy(in *metrics.Input) map[int]Followed {
	m := &metrics.Modularity{Histogram: mutual.Histogram{Bins: shareBins, Binning: mutual.EqualWidth}}
	results, err := metrics.Evaluate(context.Background(), in, 0, []metrics.Choice{{Name: "modularity", Value: m}})
	if err != nil || len(results[0].Grids) == 0 { // not applicable to these codes or factors
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
			if share := (mutual - chances[name]) / entropies[name]; share >= minShare && share > list[column].Share {
				list[column] = Followed{Factor: name, Share: min(share, 1)}
			}
		}
	}
	return list
}

// entropyOf returns the entropy of counts in nats, and the mutual information that an independent column has by chance.
// The latter is the first term of the bias, (bins - 1)(levels - 1)/2n.
func entropyOf(counts []float64) (entropy, chance float64) {
	n, usedLevels := 0.0, 0.0
	for _, c := range counts {
		n += c
		if c > 0 {
			usedLevels++
		}
	}
	for _, c := range counts {
		if c > 0 {
			entropy -= c / n * math.Log(c/n)
		}
	}
	return entropy, (shareBins - 1) * (usedLevels - 1) / (2 * n)
}

// Sizes of sheets: the steps of a line or a circle, the steps of a sphere, and the limits on the total number of
// pictures, pixels and characters of URLs. If a pair of controls does not fit with all steps, its sheet has every
// coarse-th step.
const (
	sheetSteps       = 9
	latitudes        = 7
	longitudes       = 12
	maxSheetPictures = 1000
	maxSheetPixels   = 4_000_000
	maxSheetBytes    = 2_400_000
	coarse           = 2
)

// sheets decodes single controls, and then pairs of the controls that change the picture most, up to the limits.
func (x *Explored) sheets(limits raster.Pictures) (*sheets, error) {
	s := &sheets{Explored: x, limits: limits, out: &web.Sheets{}}
	var moving []*steppedControl
	for _, c := range flattened(x.Codes.Controls()) {
		if c.Kind == decode.Turn { // each sphere also has a control of kind Ball
			continue
		}
		m := &steppedControl{Control: c, values: stepsOf(c)}
		if s.remaining() < len(m.values) {
			break
		}
		if err := s.add(m, nil, 1); err != nil {
			return nil, err
		}
		if c.Kind != decode.Ball {
			moving = append(moving, m)
		}
	}
	slices.SortStableFunc(moving, func(a, b *steppedControl) int { return cmp.Compare(b.change, a.change) })
	for j := 1; j < len(moving); j++ {
		for i := range j {
			every := 1
			if s.remaining() < moving[i].stepCount(every)*moving[j].stepCount(every) {
				every = coarse
			}
			if s.remaining() < moving[i].stepCount(every)*moving[j].stepCount(every) {
				return s, nil
			}
			if err := s.add(moving[i], moving[j], every); err != nil {
				return nil, err
			}
		}
	}
	return s, nil
}

// steppedControls returns the controls with steps in sheets.
func (s *sheets) steppedControls(list []web.Control) (shown []web.Control) {
	for _, c := range list {
		if !slices.ContainsFunc(s.out.Steps, func(steps web.Steps) bool { return steps.Name == c.Name }) {
			continue
		}
		for i := range c.Options {
			c.Options[i].Controls = s.steppedControls(c.Options[i].Controls)
		}
		shown = append(shown, c)
	}
	return shown
}

// flattened lists controls, including the controls under options.
func flattened(list []decode.Control) (all []decode.Control) {
	for _, c := range list {
		all = append(all, c)
		for _, o := range c.Options {
			all = append(all, flattened(o.Controls)...)
		}
	}
	return all
}

// sheets collects sheets until the limits are reached.
type sheets struct {
	*Explored
	limits                  raster.Pictures
	out                     *web.Sheets
	pictures, pixels, bytes int // totals so far
}

// remaining returns the number of pictures that still fit if they are as large as the previous ones.
func (s *sheets) remaining() int {
	if s.pictures == 0 {
		return maxSheetPictures
	}
	byPixels, byBytes := (maxSheetPixels-s.pixels)*s.pictures/s.pixels, (maxSheetBytes-s.bytes)*s.pictures/s.bytes
	return min(maxSheetPictures-s.pictures, byPixels, byBytes)
}

type steppedControl struct {
	decode.Control
	values [][]float64 // values of its columns at each step
	change float64     // mean change of pixels along this control
}

// stepsOf returns the values of a control's columns at its steps.
func stepsOf(c decode.Control) (values [][]float64) {
	switch c.Kind {
	case decode.Choose:
		for o := range c.Options {
			values = append(values, []float64{float64(o + 1)})
		}
	case decode.Ball:
		return spherePoints(len(c.Columns))
	case decode.Circle:
		for i := range sheetSteps + 1 {
			sin, cos := math.Sincos(2 * math.Pi * float64(i) / (sheetSteps + 1))
			values = append(values, []float64{cos, sin})
		}
	default:
		for i := range sheetSteps {
			values = append(values, []float64{c.Low + (c.High-c.Low)*float64(i)/(sheetSteps-1)})
		}
	}
	return values
}

// stepCount returns the number of steps of a control if only every every-th step has a picture.
func (m *steppedControl) stepCount(every int) int {
	if m.Kind == decode.Choose {
		every = 1
	}
	return (len(m.values) + every - 1) / every
}

// moveControl returns a code at some steps of a control. Without the control, every step has the unchanged code.
func (s *sheets) moveControl(code []float64, m *steppedControl, every int) (codes [][]float64) {
	first := m.Columns[0]
	if !s.Codes.Uses(code, first) {
		return slices.Repeat([][]float64{code}, m.stepCount(every))
	}
	if m.Kind == decode.Choose {
		return s.Codes.Options(code, first)
	}
	for i := 0; i < len(m.values); i += every {
		moved := slices.Clone(code)
		copy(moved[first:], m.values[i])
		codes = append(codes, moved)
	}
	return codes
}

// spherePoints returns points on a unit sphere. In three dimensions they are on a grid of latitude and longitude. In
// other dimensions they are on the great circles from the first axis to every other axis.
func spherePoints(n int) (points [][]float64) {
	if n == 3 {
		for i := range latitudes {
			sinLat, cosLat := math.Sincos(math.Pi * ((float64(i)+0.5)/latitudes - 0.5))
			for j := range longitudes {
				sin, cos := math.Sincos(2 * math.Pi * float64(j) / longitudes)
				points = append(points, []float64{cosLat * sin, sinLat, cosLat * cos})
			}
		}
		return points
	}
	for axis := 1; axis < n; axis++ {
		for j := range longitudes {
			p := make([]float64, n)
			p[axis], p[0] = math.Sincos(2 * math.Pi * float64(j) / longitudes)
			points = append(points, p)
		}
	}
	return points
}

// add decodes a control alone, or a pair of controls, at some steps.
func (s *sheets) add(a, b *steppedControl, every int) error {
	codes, columns := s.moveControl(s.At.Row(0), a, every), ""
	if b != nil {
		var both [][]float64
		for _, code := range codes {
			both = append(both, s.moveControl(code, b, every)...)
		}
		codes, columns = both, b.Name
	}
	var flat []float32
	for _, code := range codes {
		flat = appendRow(flat, code)
	}
	pixels, err := s.Decoder.Decode(flat)
	if err != nil {
		return err
	}
	if b == nil {
		a.change = pixelChange(pixels, len(codes))
		s.out.Steps = append(s.out.Steps,
			web.Steps{Name: a.Name, Values: web.Floats(slices.Concat(a.values...), len(a.values), len(a.values[0]))})
	}
	pictures, err := s.limits.Of(pixels)
	if err != nil {
		return err
	}
	sheet, err := joinPictures(pictures, int(math.Ceil(math.Sqrt(float64(len(pictures))))))
	s.pictures += len(pictures)
	s.pixels += len(pictures) * sheet.Width * sheet.Height
	s.bytes += len(sheet.Source)
	m := web.Sheet{Rows: a.Name, Columns: columns, Pictures: sheet}
	if every > 1 {
		m.Every = every
	}
	s.out.Maps = append(s.out.Maps, m)
	return err
}

// pixelChange returns the mean absolute difference between consecutive images.
func pixelChange(pixels []float32, n int) (sum float64) {
	size := len(pixels) / n
	for i := size; i < len(pixels); i++ {
		sum += math.Abs(float64(pixels[i] - pixels[i-size]))
	}
	return sum / float64(max(len(pixels)-size, 1))
}
